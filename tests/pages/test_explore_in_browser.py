"""Explore as a person uses it, against what the library says."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

import tellapart as ta
from tellapart import risk
from tellapart.mechanisms import catalogue
from tellapart.mechanisms.catalogue import parse
from tellapart.mechanisms.subject import curve_of
from tellapart.pictures import KINDS

STARTS = {kind.name: kind.first_text for kind in catalogue.KINDS.values()}


def readings(mechanism, **given):
    """What the table must say."""
    return [[one.name, *one.columns] for one in risk.summary(curve_of(parse(mechanism)), **given)]


def told(screen):
    return [row[:4] for row in screen.rows]


def asked(screen):
    return {name: one[0] for name, one in parse_qs(urlsplit(screen.url).query).items()}


def test_exact_values_are_taken_exactly(visit):
    screen = visit().open("/")
    assert told(screen) == readings("laplace:epsilon=1")
    screen.number("mechanism.0.epsilon").fill("1.23456789")
    screen.settle()
    assert asked(screen) == {"mechanism": "laplace:epsilon=1.23456789"}
    assert screen.headline == "laplace:epsilon=1.23456789"
    screen.number("prior").fill("0.003")
    screen.settle()
    screen.number("fpr").fill("1e-5")
    screen.settle()
    screen.number("at_delta").fill("0.001")
    screen.settle()
    found = readings("laplace:epsilon=1.23456789", prior=0.003, fpr=1e-5, delta=1e-3)
    assert told(screen) == found
    words = risk.words(ta.Laplace.with_epsilon(1.23456789).curve(), prior=0.003, fpr=1e-5)
    assert screen.sentences == words.splitlines()
    assert screen.slider("prior").get_attribute("aria-valuetext") == "0.003"
    assert screen.number("fpr").input_value() == "1e-5"


def test_what_cannot_be_is_said_and_the_page_goes_on(visit):
    screen = visit().open("/")
    url, picture = screen.url, screen.lines
    exact = screen.number("mechanism.0.epsilon")
    exact.fill("-1")
    screen.settle()
    assert screen.headline == "✗ This cannot be shown"
    assert "epsilon must" in screen.said
    assert screen.url == url
    exact.fill("")  # someone is still typing: nothing is asked
    exact.fill("2")
    screen.settle()
    assert screen.headline == "laplace:epsilon=2"
    assert screen.lines != picture

    screen.number("prior").fill("1.5")
    screen.settle()
    assert "prior must" in screen.said
    screen.number("prior").fill("0.1")
    screen.settle()
    assert told(screen) == readings("laplace:epsilon=2", prior=0.1)


def test_a_mechanism_can_be_typed_and_mistyped(visit):
    screen = visit().open("/")
    typed = screen.page.locator('[data-field="mechanism"] input[type="text"]')
    typed.fill("laplce:epsilon=1")
    typed.press("Enter")
    screen.settle()
    assert "mechanism must be one of any, laplace" in screen.said
    typed.fill("gaussian:sigma=2+laplace:epsilon=0.1,repeated=5")
    typed.press("Enter")
    screen.settle()
    assert told(screen) == readings("gaussian:sigma=2+laplace:epsilon=0.1,repeated=5")
    assert screen.number("mechanism.1.repeated").input_value() == "5"

    # A step more, and one less.
    screen.page.locator('[data-field="mechanism.add"] select').select_option(STARTS["staircase"])
    screen.settle()
    assert screen.headline.endswith("+laplace:epsilon=0.1,repeated=5+staircase:epsilon=1")
    screen.page.locator('[data-field="mechanism.drop"] select').select_option("0")
    screen.settle()
    assert screen.headline == "laplace:epsilon=0.1,repeated=5+staircase:epsilon=1"


@pytest.mark.parametrize(
    "query", ["mechanism=nobody", "mechanism=laplace:epsilon=x", "prior=7", "fpr=two"]
)
def test_a_url_that_cannot_be_is_said_and_the_page_goes_on(visit, query):
    screen = visit().open(f"/?{query}")
    assert screen.headline == "✗ This cannot be shown"
    assert screen.page.locator('[data-field="mechanism"] select').input_value() == STARTS["laplace"]
    screen.page.locator(".brand").click()
    screen.settle()
    assert told(screen) == readings("laplace:epsilon=1")


def test_a_url_is_text_and_never_markup(visit):
    screen = visit().open("/?mechanism=<img src=x onerror=alert(1)>&picture=<script>1</script>")
    assert "<img src=x" in screen.said
    assert screen.page.locator("main img, main script").count() == 0


@pytest.mark.slow
def test_every_mechanism_has_dials_and_keys_choose_it(visit):
    """Down the list by keyboard alone; the focus stays on it while the controls change."""
    screen = visit().open("/?mechanism=any:epsilon=1,delta=1e-5")
    listed = screen.tab_to("#controls select")
    seen = [screen.headline]
    for _ in range(len(STARTS) - 1):
        screen.page.keyboard.press("ArrowDown")
        screen.settle()
        seen.append(screen.headline)
        assert screen.page.evaluate("document.activeElement.id") == listed
        assert screen.slider("mechanism.0." + seen[-1].split(":")[1].split("=")[0]).count() == 1
        assert screen.page.locator("#picture path.trace").count() == 2
    assert seen == list(STARTS.values())


def test_a_key_on_a_dial_of_whole_numbers_goes_to_the_next_one(visit):
    screen = visit().open("/?mechanism=laplace:epsilon=0.1,repeated=2")
    screen.slider("mechanism.0.repeated").focus()
    for wanted in ("3", "4"):
        screen.page.keyboard.press("ArrowRight")
        screen.settle()
        assert screen.number("mechanism.0.repeated").input_value() == wanted
    for wanted in ("3", "2", "1", "1"):
        screen.page.keyboard.press("ArrowLeft")
        screen.settle()
        assert screen.number("mechanism.0.repeated").input_value() == wanted
    assert screen.headline == "laplace:epsilon=0.1"


def test_dials_say_which_way_is_more_private(visit):
    screen = visit().open("/?mechanism=gaussian:sigma=1,sensitivity=2")
    sigma, sensitivity = (
        screen.page.locator(f'[data-field="mechanism.0.{one}"] .ends').inner_text().split("\n")
        for one in ("sigma", "sensitivity")
    )
    assert sigma == ["← less private", "more private →"]
    assert sensitivity == ["← more private", "less private →"]
    for dial in screen.page.locator(".dial").all():
        label = dial.locator("label").text_content()
        named_by = dial.locator("input[type=range]").get_attribute("aria-labelledby")
        assert screen.page.locator(f"#{named_by}").text_content() == label != ""


def test_all_pictures_and_what_a_pointer_reads_off_them(visit):
    screen = visit().open("/?mechanism=gaussian:sigma=1&prior=0.2")
    curve = ta.Gaussian(1).curve()
    truths = {
        "roc": curve.tpr,
        "roc-log": curve.tpr,
        "tradeoff": curve.beta,
        "precision": lambda x: risk.precision(curve, recall=x, prior=0.2),
    }
    drawn = set()
    for kind, words in KINDS:
        screen.page.get_by_role("radio", name=words, exact=True).check()
        screen.settle()
        assert asked(screen).get("picture", "roc") == kind
        drawn.add(tuple(screen.lines.values()))
        legend = screen.page.locator("#picture .legend li")
        spot = [] if kind == "precision" else ["this attack, at FPR 0.01"]
        assert legend.all_inner_texts() == ["guessing", "gaussian:sigma=1", *spot]
        box = screen.page.locator("#picture svg[role=img]").bounding_box()
        screen.page.mouse.move(box["x"] + 0.43 * box["width"], box["y"] + box["height"] / 2)
        read = legend.nth(1).locator(".value").inner_text()
        if kind == "region":
            assert read == ""  # a filled shape has two edges
            continue
        value, place = (number(one) for one in re.fullmatch(r" ?≈ (.+) at (.+)", read).groups())
        # Two numbers of three digits, on the line as it is drawn.
        assert value == pytest.approx(float(truths[kind](place)), rel=0.01)
        screen.page.mouse.move(box["x"], box["y"] - 5)
        spot = [] if kind == "precision" else ["this attack, at FPR 0.01"]
        assert legend.all_inner_texts() == ["guessing", "gaussian:sigma=1", *spot]
    assert len(drawn) == len(KINDS)


def number(shown):
    """A number of the picture: 0.012 or 3.4·10⁻⁵."""
    digits, _, power = shown.rpartition("10") if "⁻" in shown else (shown, "", "")
    plain = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float(digits.removesuffix("·") or 1) * 10.0 ** int(plain or 0)


def test_what_is_copied_is_what_the_clipboard_holds(visit):
    screen = visit().open("/?mechanism=laplace:epsilon=3")
    for label in ("Copy as Python", "Copy as command"):
        summary = screen.page.locator("summary", has_text=label)
        summary.focus()
        screen.page.keyboard.press("Enter")
        screen.page.keyboard.press("Tab")
        screen.page.keyboard.press("Enter")
        screen.page.get_by_role("button", name="Copied").wait_for()
        assert screen.page.evaluate("navigator.clipboard.readText()") == screen.code(label)
        screen.page.get_by_role("button", name=label).wait_for()


def test_two_visitors_do_not_see_each_other(visit):
    one, other = visit().open("/"), visit().open("/?mechanism=gaussian:sigma=1")
    for epsilon, sigma in (("2", "3"), ("0.5", "0.7")):
        one.number("mechanism.0.epsilon").fill(epsilon)  # both ask before either is answered
        other.number("mechanism.0.sigma").fill(sigma)
        assert told(one.settle()) == readings(f"laplace:epsilon={epsilon}")
        assert told(other.settle()) == readings(f"gaussian:sigma={sigma}")
    assert visit().open("/").headline == "laplace:epsilon=1"


def test_what_changes_while_an_answer_is_on_its_way_is_asked_afterwards(visit):
    """A hand that moves fast ends where it stops, in number, picture, answer and URL."""
    screen = visit().open("/")
    screen.slider("mechanism.0.epsilon").evaluate(
        """(one) => {
          for (const place of [620, 640, 660, 300]) {
            one.value = place;
            one.dispatchEvent(new Event("input", { bubbles: true }));
          }
        }"""
    )
    screen.settle()
    epsilon = screen.number("mechanism.0.epsilon").input_value()
    assert told(screen) == readings(f"laplace:epsilon={epsilon}")
    assert asked(screen) == {"mechanism": f"laplace:epsilon={epsilon}"}


SET = """([css, value, kind]) => {
  const one = document.querySelector(css);
  if (one.type === "radio") one.checked = true;
  else one.value = value;
  one.dispatchEvent(new Event(kind, { bubbles: true }));
}"""
EPSILON = ('[data-field="mechanism.0.epsilon"] input[type=range]', 620, "input")
GAUSSIAN = ('[data-field="mechanism"] select', "gaussian:sigma=1", "change")
PRIOR = ('[data-field="prior"] input[type=number]', "0.25", "input")
PICTURE = ("#switches input[value=tradeoff]", "", "change")


@pytest.mark.parametrize("first", [[EPSILON], []], ids=["choice waits", "choice is asked"])
def test_what_is_set_after_a_choice_neither_undoes_it_nor_is_lost(visit, first):
    """All while an answer is on its way: dials of the mechanism before say nothing of the next."""
    screen = visit().open("/")
    every = [*first, GAUSSIAN, PRIOR, PICTURE]
    screen.page.evaluate(f"(all) => all.forEach({SET})", every)
    screen.settle()
    assert screen.headline == "gaussian:sigma=1"
    assert screen.number("prior").input_value() == "0.25"
    wanted = {"mechanism": "gaussian:sigma=1", "prior": "0.25", "picture": "tradeoff"}
    assert asked(screen) == wanted


def test_the_url_follows_once_the_hand_rests(visit):
    """Browsers allow few changes of it: a long drag changes it once, a link takes it along."""
    screen = visit().open("/")
    screen.page.evaluate(
        """() => {
          window.kept = 0;
          const own = history.replaceState.bind(history);
          history.replaceState = (...given) => { window.kept += 1; own(...given); };
        }"""
    )
    screen.slider("mechanism.0.epsilon").evaluate(
        """async (one) => {
          for (let place = 500; place < 530; place++) {
            one.value = place;
            one.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise(requestAnimationFrame);
          }
        }"""
    )
    screen.settle()
    assert 1 <= screen.page.evaluate("window.kept") < 15
    first = screen.url
    screen.slider("mechanism.0.epsilon").press("ArrowRight")
    screen.page.wait_for_function(  # shown, and the URL is still to come
        "() => document.documentElement.dataset.asked === document.documentElement.dataset.shown"
    )
    screen.page.locator(".brand").click()
    screen.settle()
    screen.page.go_back()
    screen.settle()
    assert screen.url != first
    assert asked(screen)["mechanism"] == screen.headline


def test_a_strange_address_is_refused(visit):
    screen = visit()
    answer = screen.page.context.request.get(screen.address, headers={"Host": "evil.example"})
    assert answer.status == 421
    policy = screen.page.context.request.get(screen.address).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
