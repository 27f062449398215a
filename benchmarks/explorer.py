"""Is the explorer quick enough to drag? A slider in a real browser, from its event to the paint.

A move is timed in the page: from the slider's input event until picture and numbers have changed
and the next frame is painted; the URL follows when the hand rests. Targets: a median of at most
60 ms for mechanisms with a formula, 120 ms for DP-SGD of 100,000 steps, a first visit that is
painted within 0.4 s, answer and picture included, and at most 100 KB of scripts and styles, as they
are sent.
CPU times beside it, of the server and of the browser, tell where the time goes; wall times depend
on what else the machine does.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
from _timing import print_rows, told, versions
from playwright.sync_api import Browser, Page, sync_playwright

from tellapart.web import static

MOVES, VISITS = 60, 9
CLOSED_MS, TRAINING_MS, PAINT_MS, KILOBYTES = 60.0, 120.0, 400.0, 100.0
CLOSED = {
    "any (ε, δ)": "any:epsilon=1,delta=1e-5",
    "Laplace": "laplace:epsilon=1",
    "Gaussian": "gaussian:sigma=1",
    "exponential": "exponential:epsilon=1",
    "randomised response": "randomized-response:epsilon=1",
    "staircase": "staircase:epsilon=1",
    "discrete Laplace": "discrete-laplace:epsilon=1",
}
TRAINING = {
    "DP-SGD, 100,000 steps": "dpsgd:noise_multiplier=1,sampling_rate=0.001,steps=100000",
    "DP-SGD, 100,000 steps of 1 %": "dpsgd:noise_multiplier=4,sampling_rate=0.01,steps=100000",
}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

# From a slider's event to the first frame painted after all that was asked is shown.
MOVE = """([selector, place]) => new Promise((then) => {
  const html = document.documentElement, before = html.dataset.asked;
  const slider = document.querySelector(selector), start = performance.now();
  const watch = new MutationObserver(() => {
    if (html.dataset.asked === before || html.dataset.asked !== html.dataset.shown) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => then(performance.now() - start), 0));
  });
  watch.observe(html, { attributes: true });
  slider.value = place;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
})"""
# The first paint that has contents: the page comes with its answer and its picture.
PAINT = """() => new Promise((then) => {
  const told = (list) => {
    const paint = list.getEntries().find((one) => one.name === "first-contentful-paint");
    if (paint) then(document.querySelector("#answer svg") ? paint.startTime : Infinity);
  };
  new PerformanceObserver(told).observe({ type: "paint", buffered: true });
})"""


@dataclass(frozen=True)
class Moves:
    """Milliseconds of each move, and the CPU time of one on both sides."""

    wall: Sequence[float]
    server: float
    browser: float

    @property
    def median(self) -> float:
        """The move in the middle."""
        return statistics.median(self.wall)

    @property
    def slow(self) -> float:
        """Nine of ten moves are quicker."""
        return statistics.quantiles(self.wall, n=10)[-1]


@contextmanager
def serving() -> Iterator[tuple[str, psutil.Process]]:
    """The page as anyone starts it: its address, and the process behind it."""
    command = [sys.executable, "-m", "tellapart", "explore", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as server:
        words = server.stdout.readline().split() if server.stdout else []
        yield next(word for word in words if word.startswith("http")), psutil.Process(server.pid)
        server.terminate()


def cpu(processes: Sequence[psutil.Process]) -> float:
    """CPU milliseconds that these processes have spent."""
    times = [process.cpu_times() for process in processes if process.is_running()]
    return 1e3 * sum(time.user + time.system for time in times)


def chromium_processes() -> list[psutil.Process]:
    """The browser that this process started, all of it."""
    below = psutil.Process().children(recursive=True)
    return [process for process in below if "chrom" in process.name()]


def moved(page: Page, url: str, server: psutil.Process) -> Moves:
    """The first dial, pulled to and fro."""
    page.goto(url)
    page.wait_for_selector("html.script")
    selector = "#controls input[type=range]"
    middle = int(page.locator(selector).first.input_value())
    places = [middle + (7 * k if k % 2 else -7 * k) % 150 - 75 for k in range(MOVES + 5)]
    for place in places[:5]:  # caches are filled
        page.evaluate(MOVE, [selector, place])
    seen = chromium_processes()
    answering = [server, *server.children(recursive=True)]  # answers are worked out in processes
    before = cpu(answering), cpu(seen)
    wall = [page.evaluate(MOVE, [selector, place]) for place in places[5:]]
    return Moves(wall, (cpu(answering) - before[0]) / MOVES, (cpu(seen) - before[1]) / MOVES)


def first_visits(browser: Browser, address: str) -> list[float]:
    """Milliseconds from the start of a navigation to the paint, with nothing cached."""
    seconds = []
    for _ in range(VISITS):
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{address}explore")
        seconds.append(page.evaluate(PAINT))
        context.close()
    return seconds


def row(name: str, moves: Moves, target: float) -> list[str]:
    """A line of the table."""
    numbers = (moves.median, moves.slow, moves.server, moves.browser)
    return [name, *(f"{number:.1f}" for number in numbers), f"≤ {target:g}"]


def main() -> int:
    """Print every time; 1 if a target is missed."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("Chromium is missing: `make chromium` installs it")
        return 1
    with serving() as (address, server), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        print(versions("tellapart", "starlette", "uvicorn", "numpy"), end=", ")
        print(f"Chromium {browser.version}")
        load = os.getloadavg()[0]
        print(f"{os.cpu_count()} cores, load average {load:.1f} when this began\n")
        visits = first_visits(browser, address)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(30_000)
        kinds = ((CLOSED, CLOSED_MS), (TRAINING, TRAINING_MS))
        times = {
            name: (moved(page, f"{address}explore?mechanism={text}", server), target)
            for mechanisms, target in kinds
            for name, text in mechanisms.items()
        }
        browser.close()
    print(f"A slider's move to its paint, ms over {MOVES} moves")
    head = ["mechanism", "median", "p90", "server CPU", "browser CPU", "target"]
    print_rows(head, [row(name, *measured) for name, measured in times.items()])
    paint = statistics.median(visits)
    print(
        f"First paint: median {paint:.0f} ms, slowest {max(visits):.0f} ms of {VISITS} first visits"
    )
    missed = told(f"first paint in {PAINT_MS:g} ms", paint < PAINT_MS)
    for mechanisms, target in kinds:
        worst = max(times[name][0].median for name in mechanisms)
        missed |= told(f"every median at most {target:g} ms ({worst:.1f})", worst <= target)
    sent = sum(len(file.squeezed or file.body) for file in static.assets().values()) / 1e3
    what = f"scripts and styles at most {KILOBYTES:g} KB compressed ({sent:.1f})"
    missed |= told(what, sent <= KILOBYTES)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
