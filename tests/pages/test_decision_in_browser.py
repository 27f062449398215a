"""A decision file in a browser: opened, set by hand, carried by the link and saved again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tellapart import decision

COHORT = Path(__file__).parents[2] / "examples" / "decisions" / "cohort.toml"


def open_file(screen, path):
    asked = screen.page.evaluate("document.documentElement.dataset.asked")
    screen.page.set_input_files("input[type=file]", path)  # which is read a moment later
    waited = "(before) => document.documentElement?.dataset.asked !== before"
    screen.page.wait_for_function(waited, arg=asked)
    return screen.settle()


def saved(screen):
    screen.page.locator("#file-decision-toml").evaluate("(one) => { one.open = true; }")
    with screen.page.expect_download() as download:
        screen.page.locator("button[data-saves]").click()
    assert download.value.suggested_filename == "decision.toml"
    return decision.read(download.value.path())


@pytest.mark.parametrize("width", [1280, 390])
def test_a_decision_is_opened_set_and_saved_with_all_that_it_says(visit, width):
    screen = open_file(visit(width=width).open("/choose"), COHORT)
    assert screen.headline.startswith("✓ Add noise with a scale of 6.1215 or more")
    assert "Binding constraint: an insurer, PPV ≤ 0.02 at FPR 0.001." in screen.said
    assert "Limits: a relative" in screen.said
    assert screen.overflow == 0
    assert Axe().run(screen.page).response["violations"] == []
    given = decision.read(COHORT)
    assert saved(screen) == given

    # The second attacker's prior, by hand: the first one's limits stay, and bind as before.
    if width < 500:
        screen.page.click("#all-settings")
    screen.page.select_option('[data-field="who"] select', "2")
    screen.settle()
    screen.number("a2.prior").fill("0.3")
    screen.settle()
    screen.page.keyboard.press("Escape")
    second = replace(given.attackers[1], about={"prior": 0.3, "fpr": 0.05})
    moved = replace(given, attackers=(given.attackers[0], second))
    assert saved(screen) == moved

    # The link brings another visitor the same, and opening the file again what it was.
    other = visit(width=width).open(screen.url)
    assert other.everything == screen.everything
    assert saved(other) == moved
    assert saved(open_file(other, COHORT)) == given


def test_words_make_a_decision_of_dials_and_a_report_of_it(visit):
    screen = visit().open("/choose")
    screen.page.locator("summary", has_text="Release, unit, owner and dates").click()
    title = screen.page.locator('[data-field="title"] input')
    title.fill("Counts by district")
    title.press("Enter")
    screen.settle()
    assert "Counts by district" in screen.said
    assert "Still to fill in" in screen.said
    with screen.page.expect_download() as download:
        screen.page.locator("a[data-kind=report]").click()
    assert "Counts by district" in Path(download.value.path()).read_text(encoding="utf-8")


def test_the_text_of_a_file_is_pasted(visit):
    screen = visit().open("/choose")
    box = screen.page.get_by_label("Or paste its text here")
    asked = screen.page.evaluate("document.documentElement.dataset.asked")
    box.fill('title = "half a file"')
    box.blur()
    screen.page.wait_for_selector("#trouble:not(:empty)")
    assert "pasted.toml: [release] must be given" in screen.settle().trouble
    box.fill(COHORT.read_text(encoding="utf-8"))
    box.blur()
    waited = "(before) => document.documentElement?.dataset.asked !== before"
    screen.page.wait_for_function(waited, arg=asked)
    screen.page.wait_for_selector('h1:has-text("6.1215")')
    assert screen.settle().headline.startswith("✓ Add noise with a scale of 6.1215 or more")
    assert saved(screen) == decision.read(COHORT)


def test_a_file_that_is_no_decision_is_told_of_and_the_next_one_is_read(visit, tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text("title = <script>", encoding="utf-8")
    screen = visit().open("/choose")
    screen.page.set_input_files("input[type=file]", bad)
    screen.page.wait_for_selector("#trouble:not(:empty)")
    assert "bad.toml: a decision file must be TOML" in screen.settle().trouble
    assert open_file(screen, COHORT).headline.startswith("✓ Add noise with a scale of 6.1215")


def test_what_is_still_to_be_said_is_no_text_to_delete_first(visit):
    screen = visit().open("/choose")
    page = screen.page
    page.get_by_text("Release, unit, owner and dates").click()
    title = page.get_by_label("What people call the release")
    owner = page.get_by_label("Who answers for it")
    assert (title.input_value(), owner.input_value()) == ("", "")
    assert owner.get_attribute("placeholder") == "who answers for it"
    title.fill("Visits by district")
    title.press("Enter")
    screen.settle()
    # The next answer can be typed: what was open is open, and nothing else is.
    assert owner.is_visible()
    opened = page.locator("#controls details[open] > summary").all_inner_texts()
    assert opened == ["Release, unit, owner and dates"]
    assert title.input_value() == "Visits by district"
    assert owner.input_value() == ""
    assert "who answers for it (decided.owner)" in screen.said
    title.fill("")
    title.press("Enter")
    screen.settle()
    assert "what people call the release (title); what is published (release.what)" in screen.said
