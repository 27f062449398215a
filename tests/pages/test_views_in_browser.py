"""Every view in a browser: by mouse and by keyboard, as a URL, as code, for everyone, anywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from axe_playwright_python.sync_playwright import Axe
from screens import numbers, plain, unsaid

from tellapart.web.views import VIEWS

# More than a view's first state: what is typed into its URL.
STATES = {
    "/": [
        "",
        "mechanism=dpsgd:noise_multiplier=1.1,sampling_rate=0.02,steps=300&prior=0.001&fpr=1e-5"
        "&picture=roc-log",
        "mechanism=laplace:epsilon=0.5,repeated=3%2Bany:epsilon=0.25,delta=1e-6&at_delta=1e-7",
    ],
}
# Views that have nothing to show before they are given a file are tried with one, elsewhere.
OWN = [path for path, one in VIEWS.items() if not one.takes_file]


@pytest.fixture(scope="session")
def shell(tmp_path_factory):
    """A shell that knows `tellapart`, and `python`, wherever they are installed."""
    folder = tmp_path_factory.mktemp("bin")
    for name, arguments in (("tellapart", "-m tellapart"), ("python", "")):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -X utf8 {arguments} "$@"\n')
        program.chmod(0o700)
    where = f"{folder}{os.pathsep}{os.environ['PATH']}"
    settings = {**os.environ, "PATH": where, "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"}

    def call(command):
        done = subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", command],
            capture_output=True,
            encoding="utf-8",
            env=settings,
            timeout=120,
            check=False,
        )
        assert done.stderr == ""
        return done.stdout

    return call


@pytest.mark.parametrize("path", VIEWS)
def test_a_view_is_named_and_linked(visit, path):
    screen = visit().open(path)
    assert screen.page.inner_text("h1") == VIEWS[path].question
    current = screen.page.locator("nav a[aria-current=page]")
    assert current.all_inner_texts() == [VIEWS[path].title]
    links = screen.page.locator("nav a").evaluate_all("all => all.map((one) => one.pathname)")
    assert links == list(VIEWS)
    other = links[links.index(path) - 1]  # each is come to from one, and left for another
    screen.page.locator(f'nav a[data-view="{other}"]').click()
    screen.settle()
    assert (screen.url, screen.page.inner_text("h1")) == (other, VIEWS[other].question)


@pytest.mark.parametrize("path", OWN)
def test_keys_and_the_mouse_move_a_dial_and_the_url_brings_it_back(visit, path):
    screen = visit().open(path)
    before, first = screen.everything, screen.url

    # A key: the number, the answer or the picture, and the URL follow; the focus stays.
    slider = screen.tab_to("#controls input[type=range]")
    exact = screen.page.locator(f"#{slider.removesuffix('-slider')}")
    shown = exact.input_value()
    for _ in range(3):
        screen.page.keyboard.press("ArrowLeft")
    screen.settle()
    by_key = screen.everything
    assert exact.input_value() != shown
    assert screen.page.locator(f"#{slider}").get_attribute("aria-valuetext") == exact.input_value()
    assert screen.page.evaluate("document.activeElement.id") == slider
    assert (by_key[1], by_key[3]) != (before[1], before[3])
    assert screen.url != first

    # The mouse: pull the handle a fifth of the way further.
    box = screen.page.locator(f"#{slider}").bounding_box()
    middle = box["y"] + box["height"] / 2
    share = int(screen.page.locator(f"#{slider}").input_value()) / 1000
    inside = box["x"] + 8 + share * (box["width"] - 16)
    screen.page.mouse.move(inside, middle)
    screen.page.mouse.down()
    screen.page.mouse.move(inside - 0.2 * share * box["width"], middle, steps=4)
    screen.page.mouse.up()
    screen.settle()
    by_mouse = screen.everything
    assert (by_mouse[1], by_mouse[3]) != (by_key[1], by_key[3])

    # The URL: another visitor sees the same, and so does whoever comes back.
    assert visit().open(screen.url).everything == by_mouse
    url = screen.url
    screen.page.locator(".brand").click()
    screen.settle()
    assert screen.url == "/"
    screen.page.go_back()
    screen.settle()
    assert (screen.url, screen.everything) == (url, by_mouse)


COPIED = [(path, query) for path in OWN for query in STATES.get(path, [""])]


@pytest.mark.parametrize(
    ("path", "query"), COPIED, ids=[f"{k}{p}" for k, (p, _) in enumerate(COPIED)]
)
def test_what_is_copied_prints_what_is_on_screen(visit, shell, tmp_path, path, query):
    screen = visit().open(f"{path}?{query}")
    program = tmp_path / "copied.py"
    program.write_text(screen.code("Python"), encoding="utf-8")
    values = [
        cell for row in screen.rows for cell in row[1:] if re.match(r"[≤≥≈=<>±∞−-]? ?\d", cell)
    ]
    assert values
    printed = plain(shell(f"python {program}"))
    assert unsaid(values, printed) == []
    commanded = plain(shell(screen.code("command")))
    if path == "/":  # the same words in the same order
        said = [" ".join(row[:4]) for row in screen.rows] + screen.sentences
        assert [one for one in said if one not in printed or one not in commanded] == []
    else:  # a command has words of its own, for one number at least that nobody gave it
        told = [one for one in values if len(re.findall(r"[1-9]", one)) >= 3]
        assert len(unsaid(told, commanded)) < len(numbers(" ".join(told)))


def test_a_number_that_is_not_printed_would_be_noticed():
    assert (
        unsaid(["≤ 0.2719", "0.0797 to 0.1233", "10", "1,234"], "0.27183 (0.0798, 12.33 %) 10 1234")
        == []
    )
    assert unsaid(["≤ 0.2719"], "0.2699") == ["0.2719"]
    assert unsaid(["1,234", "1e-05"], "1235 2.1e-5") == ["1,234", "1e-05"]


@pytest.mark.parametrize("path", VIEWS)
def test_everyone_can_use_it_in_light_and_dark_and_on_a_phone(visit, path):
    screen = visit().open(path)
    screen.page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    found = {}
    for name, width, colours in (
        ("light", 1280, "light"),
        ("dark", 1280, "dark"),
        ("phone", 360, "light"),
    ):
        screen.page.set_viewport_size({"width": width, "height": 800})
        screen.page.emulate_media(color_scheme=colours)
        # The picture is drawn anew for its new room.
        screen.page.wait_for_function(
            """() => [...document.querySelectorAll("#picture svg[role=img]")]
                     .every((one) => one.clientWidth <= one.parentElement.clientWidth)"""
        )
        found[name] = [one["id"] for one in Axe().run(screen.page).response["violations"]]
        assert screen.overflow <= 0, name
    assert found == {"light": [], "dark": [], "phone": []}


def test_nothing_on_the_page_is_from_elsewhere(visit):
    screen = visit().open("/")
    named = screen.page.evaluate(
        """() => [...document.querySelectorAll("[src], link[href]")]
                 .map((one) => one.src || one.href)"""
    )
    assert named
    assert [one for one in named if not one.startswith((screen.address, "data:"))] == []


def test_a_page_that_asks_elsewhere_would_be_noticed(visit):
    screen = visit().open("/")
    screen.page.evaluate("() => { const one = new Image(); one.src = 'http://127.0.0.2/x.png'; }")
    screen.page.wait_for_timeout(100)
    assert screen.errors or screen.elsewhere  # its own policy forbids it, or the network does
    screen.errors.clear()
    screen.elsewhere.clear()
