"""The page under a hand: everything is large enough, and settings wait in a sheet on a phone."""

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
