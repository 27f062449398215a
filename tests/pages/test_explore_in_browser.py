"""Explore as a person uses it, against what the library says."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

import tellapart as ta
from tellapart import risk
from tellapart.mechanisms.catalogue import KINDS as MECHANISMS
from tellapart.mechanisms.catalogue import parse
from tellapart.mechanisms.subject import curve_of
from tellapart.web.controls import first_text
from tellapart.web.views.explore import KINDS, MEMBERS

TF_PRIVACY = "dpsgd:noise_multiplier=1.12,epochs=60,batch_size=256,data_size=60000"


def readings(mechanism, **given):
    """What the table must say."""
    summary = risk.summary(curve_of(parse(mechanism)), **{"prior": MEMBERS, **given})
    return [[one.name, *one.columns] for one in summary]


def told(screen):
    return [row[:4] for row in screen.rows]


def asked(screen):
    return {name: one[0] for name, one in parse_qs(urlsplit(screen.url).query).items()}


def test_exact_values_are_taken_exactly(visit):
    screen = visit().open()
    assert told(screen) == readings("laplace:epsilon=1")
    screen.number("mechanism.0.epsilon").fill("1.23456789")
    screen.settle()
    assert asked(screen) == {"mechanism": "laplace:epsilon=1.23456789"}
    for field, value in (("prior", "0.003"), ("fpr", "1e-5"), ("at_delta", "0.001")):
        screen.number(field).fill(value)
        screen.settle()
    found = readings("laplace:epsilon=1.23456789", prior=0.003, fpr=1e-5, delta=1e-3)
    assert told(screen) == found
    words = risk.words(ta.Laplace.with_epsilon(1.23456789).curve(), prior=0.003, fpr=1e-5)
    assert screen.sentences == words.splitlines()
    assert screen.slider("prior").get_attribute("aria-valuetext") == "0.003"
    assert screen.number("fpr").input_value() == "1e-5"


def test_what_cannot_be_is_said_at_its_field_and_the_last_picture_stays(visit):
    screen = visit().open()
    url, picture, headline = screen.url, screen.lines, screen.headline
    exact = screen.number("mechanism.0.epsilon")
    exact.fill("-1")
    screen.settle()
    assert screen.page.inner_text('[data-field="mechanism.0.epsilon"] .at-field').startswith(
        "epsilon must"
    )
    assert exact.get_attribute("aria-invalid") == "true"
    assert screen.page.locator("#answer.stale").count() == 1
    assert screen.page.evaluate("document.querySelector('[data-kind=report]').closest('[inert]')")
    assert (screen.url, screen.lines, screen.headline) == (url, picture, headline)
    exact.fill("one")
    assert "one is not a number" in screen.trouble
    exact.fill("")
    assert "This is empty" in screen.trouble
    exact.fill("2")
    screen.settle()
    assert (screen.trouble, exact.get_attribute("aria-invalid")) == ("", None)
    assert screen.page.locator("#answer.stale").count() == 0
    assert screen.page.locator("#answer [inert]").count() == 0
    assert screen.lines != picture

    screen.number("prior").fill("1.5")
    screen.settle()
    assert "prior must" in screen.trouble
    screen.number("prior").fill("0.1")
    screen.settle()
    assert told(screen) == readings("laplace:epsilon=2", prior=0.1)


@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_no_number_is_refused_and_no_answer_to_it_shown(visit, width):
    dp_sgd = "dpsgd:noise_multiplier=1,sampling_rate=0.01,steps=1000"
    screen = visit(width=width).open(f"/explore?mechanism={dp_sgd}")
    if width == 390:  # its dial is in the bar, the others are out of sight
        screen.page.locator("#bar input[data-exact]").fill("0,125")
        assert "write 0.125 or 125" in screen.page.inner_text("#trouble")
    noise, steps = (screen.number(f"mechanism.0.{one}") for one in ("noise_multiplier", "steps"))
    if width == 390:
        screen.page.click("#all-settings")
    for text, said in {
        "0,125": "write 0.125 or 125",
        "1,125": "write 1.125 or 1125",
        "abc": "abc is not a number",
        "": "This is empty",
    }.items():
        noise.fill(text)
        assert said in screen.settle().trouble
        assert screen.page.locator("#answer.stale").count() == 1
        assert "noise_multiplier%3D1%2C" in screen.url
    noise.fill("2")
    assert (screen.settle().trouble, screen.page.locator("#answer.stale").count()) == ("", 0)
    steps.fill("0,200")
    assert "write 0.200 or 200" in screen.settle().trouble
    steps.fill("2,000")
    assert "steps%3D2000" in screen.settle().url
    assert screen.trouble == ""


def test_a_mechanism_can_be_typed_and_mistyped(visit):
    screen = visit().open()
    screen.page.locator("summary", has_text="Composition").click()
    typed = screen.page.locator('#controls [data-field="mechanism"] input[type="text"]')
    typed.fill("laplce:epsilon=1")
    typed.press("Enter")
    screen.settle()
    assert "mechanism must be one of any, laplace" in screen.trouble
    typed.fill("gaussian:sigma=2+laplace:epsilon=0.1,repeated=5")
    typed.press("Enter")
    screen.settle()
    assert told(screen) == readings("gaussian:sigma=2+laplace:epsilon=0.1,repeated=5")
    assert screen.number("mechanism.1.repeated").input_value() == "5"

    # A step more, and one less.
    add = '[data-field="mechanism.add"] select'
    screen.page.select_option(add, first_text("staircase"))
    screen.settle()
    assert asked(screen)["mechanism"].endswith(
        "+laplace:epsilon=0.1,repeated=5+staircase:epsilon=1"
    )
    screen.page.select_option('[data-field="mechanism.drop"] select', "0")
    screen.settle()
    assert asked(screen)["mechanism"] == "laplace:epsilon=0.1,repeated=5+staircase:epsilon=1"


@pytest.mark.parametrize("query", ["mechanism=nobody", "prior=7", "fpr=two", "nonsense=1"])
def test_a_url_that_cannot_be_is_said_and_the_page_goes_on(visit, query):
    screen = visit().open(f"/explore?{query}")
    assert "must" in screen.trouble
    which = screen.page.get_by_label("Mechanism", exact=True)
    assert which.input_value() == first_text("laplace")
    screen.page.click(".brand")
    screen.page.locator(".question-card a").first.click()
    screen.settle()
    assert told(screen) == readings("laplace:epsilon=1")


def test_a_url_is_text_and_never_markup(visit):
    screen = visit().open("/explore?mechanism=<img src=x onerror=alert(1)>")
    assert "<img src=x" in screen.trouble
    assert screen.page.locator("main img, main script").count() == 0


def test_dp_sgd_is_set_by_records_batch_and_epochs_and_a_preset(visit):
    screen = visit().open()
    screen.page.get_by_label("Start from").select_option(TF_PRIVACY)
    screen.settle()
    assert screen.cards == ["3.9 of 100", "30.2 of 100", "21.9 points", "2.311"]
    assert "the tutorial reports 2.92" in screen.said
    assert "14,063 steps, each on 0.43 % of the records" in screen.page.inner_text("#controls")
    screen.number("mechanism.0.batch_size").fill("512")
    screen.settle()
    assert "7,032 steps, each on 0.85 % of the records" in screen.page.inner_text("#controls")
    screen.page.get_by_label("Sampling scheme").select_option("shuffled")
    screen.settle()
    assert asked(screen)["mechanism"].endswith("batch_size=512,data_size=60000,scheme=shuffled")
    assert "Assumes batches cut from a random order" in screen.page.inner_text(".scope")


@pytest.mark.slow
def test_every_mechanism_has_dials_and_keys_choose_it(visit):
    """Down the list by keyboard alone; the focus stays on it while the controls change."""
    screen = visit().open("/explore?mechanism=any:epsilon=1,delta=1e-5")
    screen.tab_to("#controls select")
    listed = screen.tab_to("#controls select")
    texts = [first_text(name) for name in MECHANISMS]
    for text in texts[1:]:
        screen.page.keyboard.press("ArrowDown")
        screen.settle()
        assert asked(screen).get("mechanism", "laplace:epsilon=1") == text
        assert screen.page.evaluate("document.activeElement.id") == listed
        assert screen.slider("mechanism.0." + text.split(":")[1].split("=")[0]).count() == 1
        assert len(screen.lines) == 2


def test_a_key_on_a_dial_of_whole_numbers_goes_to_the_next_one(visit):
    screen = visit().open("/explore?mechanism=laplace:epsilon=0.1,repeated=2")
    screen.slider("mechanism.0.repeated").focus()
    keys = [("ArrowRight", "3"), ("ArrowRight", "4"), *(("ArrowLeft", x) for x in "3211")]
    for key, wanted in keys:
        screen.page.keyboard.press(key)
        screen.settle()
        assert screen.number("mechanism.0.repeated").input_value() == wanted
    assert asked(screen) == {"mechanism": "laplace:epsilon=0.1"}


def test_dials_say_which_way_is_more_private(visit):
    screen = visit().open("/explore?mechanism=gaussian:sigma=1,sensitivity=2")
    sigma, sensitivity = (
        screen.page.inner_text(f'#controls [data-field="mechanism.0.{one}"] .ends').split("\n")
        for one in ("sigma", "sensitivity")
    )
    assert sigma == ["← less private", "more private →"]
    assert sensitivity == ["← more private", "less private →"]
    for dial in screen.page.locator("#controls .dial").all():
        label = dial.locator("label").text_content()
        named_by = dial.locator("input[type=range]").get_attribute("aria-labelledby")
        assert screen.page.locator(f"#{named_by}").text_content() == label != ""


def test_all_pictures_and_what_pointer_keys_and_table_read_off_them(visit):
    screen = visit().open("/explore?mechanism=gaussian:sigma=1&prior=0.2")
    curve = ta.Gaussian(1).curve()
    truths = {
        "roc": curve.tpr,
        "roc-log": curve.tpr,
        "tradeoff": curve.beta,
        "profile": curve.delta,
        "precision": lambda x: risk.precision(curve, recall=x, prior=0.2),
    }
    drawn = set()
    legend = screen.page.locator("#chart .legend li", has_text="Gaussian, σ = 1")
    reader = screen.page.locator("#chart .reader")
    for kind, words in KINDS:
        screen.page.locator(".thumbs button", has_text=words).first.click() if kind != "roc" else 0
        screen.settle()
        assert asked(screen).get("picture", "roc") == kind
        assert screen.page.inner_text("#chart h2") == words
        drawn.add(tuple(screen.lines.values()))
        box = screen.page.locator("#chart .plot svg").bounding_box()
        screen.page.mouse.move(box["x"] + 0.43 * box["width"], box["y"] + box["height"] / 2)
        by_pointer = legend.locator(".read").inner_text()
        screen.page.mouse.move(box["x"], box["y"] - 5)
        assert legend.locator(".read").inner_text() == ""
        reader.focus()
        screen.page.keyboard.press("ArrowRight")
        by_key = legend.locator(".read").inner_text()
        assert by_key.split(" at ")[1] in reader.get_attribute("aria-valuetext")
        for read in (by_pointer, by_key):
            value, place = (number(one) for one in re.fullmatch(r" ?≈ (.+) at (.+)", read).groups())
            # Two numbers of three digits, on the line as it is drawn.
            assert value == pytest.approx(float(truths[kind](place)), rel=0.02)
        cells = screen.page.locator("#chart .astable tbody tr").nth(4).locator("th, td")
        place, *values = map(number, cells.all_text_contents())
        assert values[-1] == pytest.approx(float(truths[kind](place)), rel=0.05)
    assert len(drawn) == len(KINDS)


def number(shown):
    """A number of the picture: 0.012 or 3.4·10⁻⁵."""
    digits, _, power = shown.rpartition("10") if "⁻" in shown else (shown, "", "")
    plain = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float(digits.removesuffix("·") or 1) * 10.0 ** int(plain or 0)


def test_the_attack_is_moved_by_keys_and_the_picture_zoomed(visit):
    screen = visit().open()
    spot = screen.page.locator('#chart [data-reads="spot"]')
    spot.focus()
    for _ in range(2):
        screen.page.keyboard.press("ArrowRight")
        screen.settle()
    fpr = float(asked(screen)["fpr"])
    assert fpr == pytest.approx(0.05)
    assert screen.number("fpr").input_value() == asked(screen)["fpr"]
    assert screen.page.evaluate("document.activeElement.dataset.reads") == "spot"
    whole = screen.lines
    screen.page.get_by_role("button", name="Zoom in").click()
    assert screen.lines != whole
    screen.page.get_by_role("button", name="Zoom out").click()
    assert screen.lines == whole
    box = screen.page.locator("#chart .plot svg").bounding_box()
    screen.page.mouse.move(box["x"] + 100, box["y"] + 40)
    screen.page.mouse.down()
    screen.page.mouse.move(box["x"] + 200, box["y"] + 140, steps=3)
    screen.page.mouse.up()
    assert screen.lines != whole
    screen.page.mouse.dblclick(box["x"] + 200, box["y"] + 60)
    assert screen.lines == whole


def test_what_is_copied_is_what_the_clipboard_holds(visit):
    screen = visit().open("/explore?mechanism=laplace:epsilon=3")
    for label in ("Python", "Command"):
        screen.page.locator(".codes summary", has_text=label).focus()
        screen.page.keyboard.press("Enter")
        screen.page.keyboard.press("Tab")
        screen.page.keyboard.press("Enter")
        screen.page.get_by_role("button", name="Copied").wait_for()
        clipboard = screen.page.evaluate("navigator.clipboard.readText()")
        assert clipboard == screen.code(label.lower())
        screen.page.get_by_role("button", name=f"Copy {label}").wait_for()
    screen.page.click("#copy-link")
    screen.page.get_by_role("button", name="Copied").wait_for()
    assert screen.page.evaluate("navigator.clipboard.readText()") == screen.page.url


def test_files_to_keep_are_of_what_is_on_screen(visit):
    screen = visit().open("/explore?mechanism=laplace:epsilon=3&picture=tradeoff")
    wanted = {
        "Report": (b"<!DOCTYPE html>", "tellapart-report.html"),
        "JSON": (b'"mechanism": "laplace:epsilon=3"', "tellapart.json"),
        "CSV": (b"line,false-positive rate (FPR),false-negative rate (FNR)", "trade-off.csv"),
        "SVG": (b"<title>Trade-off</title>", "trade-off.svg"),
        "PNG": (b"\x89PNG", "tellapart.png"),
    }
    for label, (said, name) in wanted.items():
        with screen.page.expect_download() as found:
            screen.page.locator(".take .buttons").get_by_text(label, exact=True).click()
        assert found.value.suggested_filename == name
        with open(found.value.path(), "rb") as file:
            assert said in file.read(), label


def test_two_visitors_do_not_see_each_other(visit):
    one, other = visit().open(), visit().open("/explore?mechanism=gaussian:sigma=1")
    for epsilon, sigma in (("2", "3"), ("0.5", "0.7")):
        one.number("mechanism.0.epsilon").fill(epsilon)  # both ask before either is answered
        other.number("mechanism.0.sigma").fill(sigma)
        assert told(one.settle()) == readings(f"laplace:epsilon={epsilon}")
        assert told(other.settle()) == readings(f"gaussian:sigma={sigma}")
    assert told(visit().open()) == readings("laplace:epsilon=1")


def test_what_changes_while_an_answer_is_on_its_way_is_asked_afterwards(visit):
    """A hand that moves fast ends where it stops, in number, picture, answer and URL."""
    screen = visit().open()
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
  one.value = value;
  one.dispatchEvent(new Event(kind, { bubbles: true }));
}"""
EPSILON = ('[data-field="mechanism.0.epsilon"] input[type=range]', 620, "input")
GAUSSIAN = ("#c-mechanism", "gaussian:sigma=1", "change")
PRIOR = ('[data-field="prior"] input[data-exact]', "0.25", "input")


@pytest.mark.parametrize("first", [[EPSILON], []], ids=["choice waits", "choice is asked"])
def test_what_is_set_after_a_choice_neither_undoes_it_nor_is_lost(visit, first):
    """All while an answer is on its way: dials of the mechanism before say nothing of the next."""
    screen = visit().open()
    screen.page.evaluate(f"(all) => all.forEach({SET})", [*first, GAUSSIAN, PRIOR])
    screen.settle()
    assert screen.number("prior").input_value() == "0.25"
    assert asked(screen) == {"mechanism": "gaussian:sigma=1", "prior": "0.25"}


def test_the_url_follows_once_the_hand_rests(visit):
    """Browsers allow few changes of it: a long drag changes it once, a link takes it along."""
    screen = visit().open()
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
    screen.page.wait_for_selector(".start")
    screen.page.go_back()
    screen.settle()
    assert screen.url != first
    assert told(screen) == readings(asked(screen)["mechanism"])
