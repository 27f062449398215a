"""Does a hosted page hold a team? Visitors at once, heavy questions at once, and memory over a day.

Visitors ask one question every five seconds each, of mechanisms with a formula, and each checks
that the answer is about its own question. Targets: 200 visitors on two cores have 95 % of answers
within a second and none that is another's; while eight questions that take minutes are asked at
once, a light visitor waits at most three seconds; memory is flat over 20,000 requests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

import psutil
from _timing import print_rows, told, versions

EVERY = 5.0  # seconds between two questions of one visitor
P95, WAIT, GROWTH = 1.0, 3.0, 32.0
# Five of these are compared, which takes more than a minute: one alone is explored in ten seconds,
# and may be answered.
HEAVY = "dpsgd:noise_multiplier={},sampling_rate=0.01,steps=10000000"
FORMULAS = ("laplace:epsilon={}", "gaussian:sigma={}", "any:epsilon={},delta=1e-5")


@dataclass
class Line:
    """One connection of a visitor, kept open: HTTP/1.1 without a library that takes its time."""

    port: int
    cookie: str = ""
    reader: asyncio.StreamReader | None = field(default=None, repr=False)
    writer: asyncio.StreamWriter | None = field(default=None, repr=False)

    async def get(self, path: str) -> tuple[int, bytes]:
        """A page."""
        return await self._sent(f"GET {path} HTTP/1.1\r\n", b"")

    async def ask(self, values: dict[str, object], view: str = "explore") -> tuple[int, bytes]:
        """An answer."""
        body = json.dumps(values).encode()
        head = f"POST /api/{view} HTTP/1.1\r\nContent-Type: application/json\r\n"
        return await self._sent(f"{head}Content-Length: {len(body)}\r\n", body)

    async def _sent(self, head: str, body: bytes) -> tuple[int, bytes]:
        if self.writer is None or self.writer.is_closing():
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        cookie = f"Cookie: {self.cookie}\r\n" if self.cookie else ""
        self.writer.write(f"{head}Host: 127.0.0.1:{self.port}\r\n{cookie}\r\n".encode() + body)
        assert self.reader is not None  # noqa: S101
        raw = await self.reader.readuntil(b"\r\n\r\n")
        first, *rest = raw.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in rest if ": " in line)
        if "set-cookie" in headers:
            line = next(line for line in rest if line.lower().startswith("set-cookie: "))
            self.cookie = line[12:].partition(";")[0]
        found = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(first.split()[1]), found

    def close(self) -> None:
        """Go."""
        if self.writer is not None:
            self.writer.close()


@contextmanager
def serving() -> Iterator[tuple[int, psutil.Process]]:
    """The page as a team hosts it: its port, and the process behind it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tellapart", "serve", "--port", str(port)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as server:
        if server.stdout is not None:
            server.stdout.readline()
        try:
            yield port, psutil.Process(server.pid)
        finally:
            server.terminate()


async def visit(port: int, who: int, questions: int, found: list[float], wrong: list[str]) -> None:
    """Open the page, and ask every few seconds about numbers that nobody else asks about."""
    line = Line(port)
    await asyncio.sleep(EVERY * (who * 0.618 % 1))
    status, _ = await line.get("/explore")
    if status != 200:
        wrong.append(f"page {status}")
    await asyncio.sleep(EVERY)
    for turn in range(questions):
        own = repr(round(1.5 + who / 1000 + turn / 1e6, 6))
        mechanism = FORMULAS[(who + turn) % len(FORMULAS)].format(own)
        due = time.monotonic() + EVERY
        start = time.monotonic()
        status, body = await line.ask({"mechanism": mechanism})
        found.append(time.monotonic() - start)
        if status != 200 or own not in str(json.loads(body).get("query")):
            wrong.append(f"{mechanism}: {status} {body[:80]!r}")
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    line.close()


@dataclass(frozen=True)
class Refusal:
    """How a heavy question ended: its status, whether the command for it came along, and when."""

    status: int
    command: bool
    seconds: float

    def __str__(self) -> str:
        command = "the command" if self.command else "no command"
        return f"{self.status} and {command} after {self.seconds:.1f} s"


async def heavy(port: int, number: int) -> Refusal:
    """A question that takes minutes, a little different each time."""
    line, start = Line(port), time.monotonic()
    await line.get("/compare")
    fields = ("mechanism", "m2", "m3", "m4", "m5")
    noises = [round(0.3 + number / 1e4 + k / 1e3, 4) for k in range(len(fields))]
    asked = {field: HEAVY.format(noise) for field, noise in zip(fields, noises, strict=True)}
    status, body = await line.ask(asked, "compare")
    line.close()
    given = json.loads(body).get("command", "")
    command = given.startswith("tellapart explore ") and HEAVY.format(noises[0]) in unquote(given)
    return Refusal(status, command, time.monotonic() - start)


async def starved(port: int) -> tuple[list[float], list[Refusal]]:
    """The waits of a light visitor while eight heavy questions are at work."""
    light = Line(port)
    await light.get("/explore")
    crowd = [asyncio.create_task(heavy(port, number)) for number in range(8)]
    await asyncio.sleep(0.3)
    waits = []
    while not all(one.done() for one in crowd):
        start = time.monotonic()
        status, _ = await light.ask({"mechanism": f"laplace:epsilon={1 + len(waits) / 100}"})
        waits.append(time.monotonic() - start if status == 200 else float("inf"))
        await asyncio.sleep(0.5)
    light.close()
    return waits, [await one for one in crowd]


async def worn(port: int, server: psutil.Process, requests: int) -> list[float]:
    """MiB of the server after each tenth of so many requests, as fast as they are answered."""
    held = []

    async def ask(who: int, times: int) -> None:
        line = Line(port)
        await line.get("/explore")
        for turn in range(times):
            await line.ask({"mechanism": f"laplace:epsilon={1 + who / 100 + turn / 1e6:.6f}"})
        line.close()

    for _ in range(10):
        await asyncio.gather(*(ask(who, requests // 80) for who in range(8)))
        held.append(mebibytes(server))
    return held


def mebibytes(server: psutil.Process) -> float:
    """What the server and its processes hold, what they share counted once."""
    processes = [server, *server.children(recursive=True)]
    sizes = [one.memory_full_info().pss for one in processes if one.is_running()]
    return sum(sizes) / 2**20


def p95(times: Sequence[float]) -> float:
    """Nineteen of twenty are quicker."""
    return statistics.quantiles(times, n=20)[-1]


async def measured(port: int, server: psutil.Process, asked: argparse.Namespace) -> int:
    """Print everything; 1 if a target is missed."""
    await Line(port).get("/explore")  # until everything is loaded
    times: list[float] = []
    wrong: list[str] = []
    before = cpu(server)
    start = time.monotonic()
    await asyncio.gather(
        *(visit(port, who, asked.questions, times, wrong) for who in range(asked.visitors))
    )
    seconds = time.monotonic() - start
    load = f"load average {os.getloadavg()[0]:.1f}"
    print(f"{asked.visitors} visitors, one question every {EVERY:g} s each ({load} after it)")
    head = ["", "requests", "a second", "median ms", "p95 ms", "slowest ms", "CPU ms each"]
    numbers = (
        f"{len(times)}",
        f"{len(times) / seconds:.1f}",
        *(f"{1e3 * one:.0f}" for one in (statistics.median(times), p95(times), max(times))),
        f"{1e3 * (cpu(server) - before) / len(times):.1f}",
    )
    print_rows(head, [["answers", *numbers]])
    missed = told(f"p95 under {P95:g} s ({p95(times):.2f})", p95(times) < P95)
    missed |= told(f"no answer that is another's, or none ({len(wrong)})", not wrong)
    for line in wrong[:5]:
        print(line)

    waits, refusals = await starved(port)
    ends = "; ".join(map(str, sorted(refusals, key=lambda one: one.seconds)))
    print(f"\nEight heavy questions at once: {ends}")
    later = max(waits[1:], default=0.0)
    print(f"A light visitor meanwhile: first {waits[0]:.2f} s, then at most {later:.2f} s")
    missed |= told(f"a light visitor waits at most {WAIT:g} s", max(waits) <= WAIT)
    handed = [one for one in refusals if one.status in (503, 504) and one.command]
    missed |= told(f"each has the command ({len(handed)} of 8)", len(handed) == 8)

    if asked.requests:
        held = await worn(port, server, asked.requests)
        shown = " ".join(f"{size:.0f}" for size in held)
        print(f"\nMiB after each tenth of {asked.requests:,} requests: {shown}")
        growth = held[-1] - held[1]
        flat = growth < GROWTH
        missed |= told(f"at most {GROWTH:g} MiB more at the end ({growth:+.0f})", flat)
    return int(missed)


def cpu(server: psutil.Process) -> float:
    """CPU seconds of the server and its processes."""
    processes = [server, *server.children(recursive=True)]
    return sum(sum(one.cpu_times()[:2]) for one in processes)


def main() -> int:
    """Serve, visit, and say how it went."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--visitors", type=int, default=200)
    options.add_argument("--questions", type=int, default=12, help="of each visitor")
    options.add_argument("--requests", type=int, default=20_000, help="for memory; 0 for none")
    asked = options.parse_args()
    print(versions("tellapart", "starlette", "uvicorn", "numpy"))
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} when this began\n")
    with serving() as (port, server):
        return asyncio.run(measured(port, server, asked))


if __name__ == "__main__":
    sys.exit(main())
