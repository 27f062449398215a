"""The page under a hand: everything is large enough, and settings wait in a sheet on a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tellapart.web.views import VIEWS

PHONE = {"width": 390, "height": 844}
SMALLER = """() => [...document.querySelectorAll("nav a, select, button, .button, input")]
  .filter((one) => one.offsetParent && !["radio", "checkbox", "file"].includes(one.type))
  .filter((one) => !one.classList.contains("term"))
  .filter((one) => one.getBoundingClientRect().height < 31.5).map((one) => one.outerHTML)"""


def test_fingers_find_what_they_need(visit):
    screen = visit(**PHONE)
    for path in VIEWS:
        screen.open(path)
        assert screen.page.evaluate(SMALLER) == []


def test_on_a_phone_one_dial_is_at_hand_and_the_rest_in_a_sheet(visit):
    screen = visit(**PHONE).open("/explore?mechanism=gaussian:sigma=1")
    assert not screen.page.locator("#controls").is_visible()
    dial = screen.page.locator('#bar [data-field="mechanism.0.sigma"] input[data-exact]')
    dial.fill("2")
    screen.settle()
    assert "sigma%3D2" in screen.url
    screen.page.click("#all-settings")
    assert screen.number("mechanism.0.sigma").input_value() == "2"
    screen.number("fpr").fill("0.2")
    screen.settle()
    screen.page.keyboard.press("Escape")
    assert not screen.page.locator("#controls").is_visible()
    assert screen.page.evaluate("document.activeElement.id") == "all-settings"
    assert "fpr=0.2" in screen.url
    screen.page.locator("label.menu").click()
    screen.page.click('header nav a[data-view="compare"]')
    screen.settle()
    assert screen.number("mechanism.0.sigma").input_value() == "2"


def test_while_scores_are_awaited_a_phone_says_where_they_are_picked(visit):
    """A dial of the claim was at hand, which changes nothing yet."""
    screen = visit(**PHONE).open("/audit")
    bar = screen.page.locator("#bar-dial")
    assert bar.inner_text() == "First the scores: pick a file, or the example, in All settings."
    screen.page.click("#all-settings")
    screen.page.get_by_label("use the example scores").check()
    screen.settle()
    assert "First the scores" not in bar.inner_text()
    assert screen.page.locator("#bar-dial input").count() > 0


@pytest.mark.parametrize("path", ["/explore", "/compare", "/audit", "/correlated"])
def test_the_sheet_is_modal(visit, path):
    """The focus goes in and stays in, Escape closes it, and the focus returns to its button."""
    screen = visit(390, 844).open(path)
    page = screen.page
    page.locator("#all-settings").focus()
    page.keyboard.press("Enter")
    form = page.get_by_role("dialog", name="Settings")
    assert form.get_attribute("aria-modal") == "true"
    assert page.evaluate("document.activeElement.closest('#settings') !== null")
    behind = "[...document.querySelectorAll('header, .skip, .shown, #bar')]"
    assert page.evaluate(f"{behind}.every((one) => one.inert)")
    count = page.locator("#settings :is(input, select, button, summary, textarea)").count()
    for key in ("Tab", "Shift+Tab"):
        reached = set()
        for _ in range(count + 3):
            page.keyboard.press(key)
            inside = "document.activeElement.closest('#settings') !== null"
            assert page.evaluate(inside), key
            reached.add(page.evaluate("document.activeElement.id"))
        assert "done" in reached
    assert Axe().run(page).response["violations"] == []
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "all-settings"
    assert page.evaluate(f"{behind}.every((one) => !one.inert)")
    assert page.locator("[role=dialog]").count() == 0
    # What is wide enough needs no sheet.
    page.click("#all-settings")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function("() => !document.documentElement.classList.contains('sheet')")
    assert page.evaluate(f"{behind}.every((one) => !one.inert)")
