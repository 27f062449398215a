"""An attack in a browser: red and green as the library says, never told by colour alone."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import numpy as np

import tellapart as ta

CLAIM = "mechanism=any:epsilon=1,delta=0.01&members=0&others=0"  # rates taken as exact
REGION = ta.PrivacyRegion(1, 0.01)


def judged(screen):
    """The headline's sign, the point's, and the words about what fails."""
    spot = screen.page.locator("#chart .plot .spot")
    drawn = "✓" if "good" in spot.get_attribute("class").split() else "✗"
    assert spot.locator(".sign").get_attribute("d") != ""
    return screen.headline[0], drawn, screen.page.locator("#answer .sentences p").first.inner_text()


def expected(fpr, tpr):
    broken = REGION.failures(fpr, tpr=tpr)
    if not broken:
        return "✓", "✓", "✓ Every inequality of the claim holds here."
    return "✗", "✗", f"✗ {broken[0]}."


def test_random_points_are_judged_as_by_the_library(visit):
    screen = visit().open(f"/check?{CLAIM}")
    signs = set()
    for fpr, tpr in np.random.default_rng(9).random((12, 2)).round(4).tolist():
        screen.number("fpr").fill(repr(fpr))
        screen.number("tpr").fill(repr(tpr))
        screen.settle()
        assert judged(screen) == expected(fpr, tpr)
        signs.add(screen.headline[0])
    assert signs == {"✓", "✗"}


def test_a_point_on_the_edge_is_inside_and_a_hair_beyond_it_is_not(visit):
    edge = float(ta.guarantee(1, 0.01).tpr(0.1))
    screen = visit().open(f"/check?{CLAIM}&fpr=0.1&tpr={edge!r}")
    assert judged(screen) == expected(0.1, edge)
    assert screen.headline[0] == "✓"
    screen.number("tpr").fill(repr(edge + 1e-9))
    screen.settle()
    assert judged(screen) == expected(0.1, edge + 1e-9)
    assert screen.headline[0] == "✗"


def test_a_point_can_be_dragged_across(visit):
    screen = visit().open(f"/check?{CLAIM}&fpr=0.5&tpr=0.5")
    assert screen.headline[0] == "✓"
    dot = screen.page.locator("#chart .plot .spot .dot").bounding_box()
    x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    screen.page.mouse.move(x, y)
    screen.page.mouse.down()
    screen.page.mouse.move(x - 200, y - 60, steps=3)
    screen.page.mouse.move(x - 320, y - 100, steps=3)
    screen.page.mouse.up()
    screen.settle()
    asked = {name: one[0] for name, one in parse_qs(urlsplit(screen.url).query).items()}
    fpr, tpr = float(asked["fpr"]), float(asked["tpr"])
    assert (screen.number("fpr").input_value(), screen.number("tpr").input_value()) == (
        asked["fpr"],
        asked["tpr"],
    )
    assert fpr < 0.5 < tpr
    assert judged(screen) == expected(fpr, tpr)
    assert screen.headline[0] == "✗"
