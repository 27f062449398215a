"""Every view in Firefox: above the fold, by keyboard, and the same answers as in Chromium."""

from __future__ import annotations

import pytest
from bidi import Refused

from tellapart.web.views import VIEWS

SET = [path for path, one in VIEWS.items() if one.state_shown]
OWN = [path for path in SET if not VIEWS[path].takes_file]


def answered(screen):
    """What two browsers must show alike; how wide a picture is drawn is theirs."""
    return screen.headline, screen.cards, screen.said, screen.set_to, sorted(screen.lines)


@pytest.mark.parametrize("path", VIEWS)
def test_a_view_opens_with_its_answer_above_the_fold(visit_firefox, path):
    screen = visit_firefox().open(path)
    for width, height, bar in ((1280, 900, 0), (390, 844, 150)):
        screen.page.set_viewport_size({"width": width, "height": height})
        assert screen.overflow <= 0, width
        assert screen.trouble == "", width
        if path in SET:
            assert screen.headline
            assert screen.bottom("#answer .cards, #answer h1") < height - bar, width
        if path in OWN:
            assert len(screen.cards) >= 2, width
            assert screen.lines, width


@pytest.mark.parametrize("path", OWN)
def test_keys_move_a_dial_and_both_browsers_show_the_same(visit_firefox, visit, path):
    screen = visit_firefox().open(path)
    before, first = (screen.said, screen.lines), screen.url
    slider = screen.tab_to("#controls input[type=range]")
    for _ in range(3):
        screen.page.keyboard.press("ArrowLeft")
    screen.settle()
    assert (screen.said, screen.lines) != before
    assert screen.page.evaluate("() => document.activeElement.id") == slider
    assert screen.url != first
    assert answered(visit().open(screen.url)) == answered(screen)


def test_a_link_from_chromium_shows_the_same_in_firefox(visit_firefox, visit):
    link = (
        "/explore?mechanism=dpsgd:noise_multiplier=1.1,sampling_rate=0.02,steps=300"
        "&prior=0.001&fpr=1e-5&picture=roc-log"
    )
    screen = visit().open(link)
    screen.number("fpr").fill("0.0002")
    screen.settle()
    assert answered(visit_firefox().open(screen.url)) == answered(screen)


def test_what_cannot_be_is_said_at_its_field_and_the_last_picture_stays(visit_firefox):
    screen = visit_firefox().open()
    picture, headline = screen.lines, screen.headline
    field = '[data-field="mechanism.0.epsilon"]'
    keys = screen.page.keyboard
    screen.tab_to(f"{field} input[data-exact]")
    keys.press("Control+a")
    keys.type("-1")
    screen.settle()
    said = f"() => document.querySelector('{field} .at-field').innerText"
    assert screen.page.evaluate(said).startswith("epsilon must")
    assert screen.page.evaluate("() => document.querySelectorAll('#answer.stale').length") == 1
    assert (screen.lines, screen.headline) == (picture, headline)
    keys.press("Control+a")
    keys.type("2")
    screen.settle()
    assert screen.trouble == ""
    assert screen.lines != picture


def test_what_a_page_does_wrong_would_be_noticed(visit_firefox):
    """On a page of its own, whose policy tells nobody: the server counts what it is told."""
    screen = visit_firefox()
    policy = "<meta http-equiv=Content-Security-Policy content=\"img-src 'none'\">"
    wrong = "<img src=http://127.0.0.2/x.png><script>throw new Error('of the page')</script>"
    screen.page.goto(f"data:text/html,{policy}{wrong}")
    screen.page.evaluate("() => new Promise((then) => setTimeout(then, 300))")
    refused, thrown = sorted(screen.errors)
    assert refused.startswith("Content-Security-Policy: ")
    assert "img-src" in refused
    assert thrown == "Error: of the page"
    with pytest.raises(Refused, match="PROXY"):
        screen.page.goto("http://elsewhere.invalid/")
    assert screen.elsewhere == ["http://elsewhere.invalid/"]
    screen.errors.clear()
    screen.elsewhere.clear()
