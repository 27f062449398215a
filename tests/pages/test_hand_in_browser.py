"""The page under a hand: nothing slips away, everything is large enough, the eye is led."""

from tellapart.web.views import VIEWS

PHONE = {"width": 390, "height": 844}
SMALLER = """() => [...document.querySelectorAll("nav a, select, button, .buttons label, input")]
  .filter((one) => one.offsetParent && !["radio", "checkbox", "file"].includes(one.type))
  .filter((one) => one.getBoundingClientRect().height < 31.5).map((one) => one.outerHTML)"""


def top(screen, css):
    return screen.page.locator(css).evaluate("(one) => one.getBoundingClientRect().top + scrollY")


def turn(screen, field, place):
    screen.slider(field).evaluate(
        "(one, to) => { one.value = to; one.dispatchEvent(new Event('input')); }", place
    )
    return screen.settle()


def test_a_slider_stays_where_it_is_when_the_picture_goes(visit):
    screen = visit(**PHONE).open("/choose")
    slider = '[data-field="max_advantage"] input[type="range"]'
    before = top(screen, slider)
    turn(screen, "max_advantage", 1000)
    assert screen.lines == {}
    assert top(screen, slider) == before
    turn(screen, "max_advantage", 500)
    assert screen.lines
    assert top(screen, slider) == before


def test_fingers_find_what_they_need(visit):
    screen = visit(**PHONE)
    for path in VIEWS:
        screen.open(path)
        assert screen.page.evaluate(SMALLER) == []


def test_a_view_begins_with_its_question_and_what_a_newcomer_must_know(visit):
    screen = visit().open("/")
    for path, view in list(VIEWS.items())[1:]:
        screen.page.click(f'nav a[data-view="{path}"]')
        screen.settle()
        assert screen.page.inner_text("#lead") == view.lead
        assert screen.page.evaluate("document.activeElement.id") == "question"
