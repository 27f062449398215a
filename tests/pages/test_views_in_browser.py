"""Every view in a browser: by mouse and by keyboard, as a URL, as code, for everyone, anywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from axe_playwright_python.sync_playwright import Axe
from screens import numbers, plain, unsaid

from tellapart.web import static
from tellapart.web.views import VIEWS

# More than a view's first state: what is typed into its URL.
STATES = {
    "/explore": [
        "",
        "mechanism=dpsgd:noise_multiplier=1.1,sampling_rate=0.02,steps=300&prior=0.001&fpr=1e-5"
        "&picture=roc-log",
        "mechanism=laplace:epsilon=0.5,repeated=3%2Bany:epsilon=0.25,delta=1e-6&at_delta=1e-7",
    ],
}
SET = [path for path, one in VIEWS.items() if one.state_shown]
# Views that have nothing to show before they are given a file are tried with one, elsewhere.
OWN = [path for path in SET if not VIEWS[path].takes_file]


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


def test_the_first_screen_asks_what_one_came_for_and_leads_there(visit):
    screen = visit().open("/")
    links = screen.page.locator(".question-card a").evaluate_all(
        "all => all.map((a) => a.pathname)"
    )
    assert links == [path for path in VIEWS if VIEWS[path].listed]
    assert screen.page.locator(".releases li").count() == 12
    screen.page.get_by_role("link", name="US Census, redistricting").click()
    screen.settle()
    assert screen.url == "/explore?mechanism=any%3Azcdp%3D2.63"
    screen.page.go_back()
    screen.page.get_by_role("link", name="DP-SGD on MNIST").click()
    screen.settle()
    assert "of 100" in screen.cards[0]


def test_one_state_goes_through_all_views_and_to_another_visitor(visit):
    screen = visit().open("/explore?mechanism=laplace:epsilon=2&prior=0.2")
    screen.number("fpr").fill("0.03")
    screen.settle()
    listed = [path for path in VIEWS if VIEWS[path].listed]
    for path in [*listed[1:], listed[0]]:
        screen.page.click(f'header nav a[data-view="{path[1:]}"]')
        screen.settle()
        assert screen.page.inner_text("nav a[aria-current=page]") == VIEWS[path].title
        assert screen.page.inner_text(".question") == VIEWS[path].question
        assert screen.trouble == ""
        if path in ("/compare", "/check", "/audit"):  # what choose has found goes on from there
            assert screen.number("mechanism.0.epsilon").input_value() == "0.2107"
    assert (screen.number("prior").input_value(), screen.number("fpr").input_value()) == (
        "0.2",
        "0.03",
    )
    assert visit().open(screen.url).everything == screen.everything


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
    screen.page.wait_for_selector(".start")
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
    program.write_text(screen.code("python"), encoding="utf-8")
    values = [
        cell for row in screen.rows for cell in row[1:] if re.match(r"[≤≥≈=<>±∞−-]? ?\d", cell)
    ]
    assert values
    printed = plain(shell(f"python {program}"))
    assert unsaid(values, printed) == []
    commanded = plain(shell(screen.code("command")))
    if path == "/explore":  # the same words in the same order
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
    """Sentence and cards above the fold, no word cut off, and nothing that axe minds."""
    screen = visit(height=900).open(path)
    found = {}
    for name, width, height, colours in (
        ("light", 1280, 900, "light"),
        ("phone", 390, 844, "light"),
        ("dark phone", 360, 800, "dark"),
        ("dark", 1280, 900, "dark"),
    ):
        screen.page.set_viewport_size({"width": width, "height": height})
        screen.page.emulate_media(color_scheme=colours)
        screen.page.wait_for_timeout(120)  # the picture is drawn anew for its new room
        if path in SET and width != 360:
            bar = 150 if width == 390 else 0
            assert screen.bottom("#answer .cards, #answer h1") < height - bar, name
        assert screen.overflow <= 0, name
        folded = "all => all.forEach((one) => { one.open = true; })"
        screen.page.locator("details").evaluate_all(folded)
        found[name] = [one["id"] for one in Axe().run(screen.page).response["violations"]]
    assert found == {"light": [], "dark": [], "phone": [], "dark phone": []}


def test_it_is_painted_without_a_script_and_prints(visit, browser, address):
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": 1280, "height": 900}
    )
    page = context.new_page()
    page.goto(f"{address}explore?mechanism=gaussian:sigma=1")
    assert page.locator("#chart .plot path.trace").count() == 2
    assert page.locator(".card").count() == 4
    assert page.locator(".people svg").count() == 2
    page.emulate_media(media="print")
    assert not page.locator("form, .take .buttons, header nav").first.is_visible()
    assert page.locator(".card").first.is_visible()
    assert page.pdf()[:4] == b"%PDF"
    context.close()


def test_terms_open_their_sentence_by_keys(visit):
    screen = visit().open()
    screen.tab_to(".card .term")
    screen.page.keyboard.press("Enter")
    meaning = screen.page.locator(".meaning:popover-open")
    assert "The share of members that an attack flags" in meaning.inner_text()
    meaning.get_by_role("link").click()
    screen.page.wait_for_selector("#g-TPR")
    screen.page.go_back()
    screen.settle()


def test_nothing_on_the_page_is_from_elsewhere_or_against_its_policy(visit):
    screen = visit().open()
    named = screen.page.evaluate(
        """() => [...document.querySelectorAll("[src], link[href]")]
                 .map((one) => one.src || one.href)"""
    )
    assert named
    assert [one for one in named if not one.startswith(screen.address)] == []
    policy = screen.page.context.request.get(screen.address).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    health = screen.page.context.request.get(f"{screen.address}health").json()
    assert health["csp_reports"] == 0  # whatever was opened before
    light = sum(len(file.squeezed or file.body) for file in static.assets().values())
    assert light < 100_000


def test_a_page_that_asks_elsewhere_would_be_noticed(visit):
    screen = visit().open()
    screen.page.evaluate("() => { const one = new Image(); one.src = 'http://127.0.0.2/x.png'; }")
    screen.page.wait_for_timeout(100)
    assert screen.errors or screen.elsewhere  # its own policy forbids it, or the network does
    screen.errors.clear()
    screen.elsewhere.clear()


LINES = """() => {
  const range = document.createRange();
  range.selectNodeContents(document.querySelector("#answer h1"));
  return new Set([...range.getClientRects()].map((one) => Math.round(one.bottom / 8))).size;
}"""

TRAINING = "dpsgd:noise_multiplier=1.1,epochs=15,batch_size=256,data_size=60000"
# What is said longest: large crowds, names that are long, orders that are open.
LONG = [
    f"/explore?mechanism={TRAINING}&prior=0.001&fpr=1e-6",
    f"/compare?mechanism={TRAINING}&m2=any:epsilon=9",
    f"/compare?mechanism=gaussian:sigma=0.5&m2={TRAINING},scheme=shuffled",
    f"/compare?mechanism={TRAINING}&m2={TRAINING},scheme=shuffled",
    "/compare?mechanism=laplace:epsilon=1&m2=staircase:epsilon=3&m3=any:epsilon=6",
]


@pytest.mark.parametrize("link", LONG)
def test_no_sentence_is_longer_than_four_lines_on_a_phone(visit, link):
    screen = visit(390, 844).open(link)
    assert screen.trouble == ""
    assert screen.page.evaluate(LINES) <= 4, screen.headline
    assert screen.bottom("#answer .card") < 844 - 130  # above the bar with its dial


def test_the_sentence_is_short_on_a_phone_and_four_cards_follow(visit):
    screen = visit(390, 844)
    longest = {"/explore": 3, "/choose": 4}
    for path in SET:
        screen.open(path)
        assert len(screen.cards) >= (2 if path == "/compare" else 4), path
        assert screen.page.evaluate(LINES) <= longest.get(path, 2), path
        screen.page.locator("#answer button.term").first.click()
        meaning = screen.page.locator(".meaning:popover-open")
        assert len(meaning.inner_text().split()) > 5, path
        screen.page.keyboard.press("Escape")
