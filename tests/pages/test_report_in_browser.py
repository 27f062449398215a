"""Reports in a real browser: on a phone, on paper, and without asking anybody for anything."""

import datetime
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

import tellapart as ta
from tellapart import choose, decision, report
from tellapart.worlds import MarkovChain, Sum
from tellapart.worlds.frameworks import compare_frameworks

DECISIONS = Path(__file__).parents[2] / "examples" / "decisions"
CASES = ("census", "cohort", "training")

PAGES = {
    "plain": report.of(ta.Gaussian(2), name="Cardiology counts", unit="one patient", prior=0.001),
    "training": report.of(
        ta.dp_sgd(noise_multiplier=1.1, sampling_rate=0.01, steps=1_000),
        command="tellapart report dpsgd --noise-multiplier 1.1 --sampling-rate 0.01",
    ),
}


CHAIN = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=10)
BOTH = {"Laplace, as of today": ta.Laplace(1), "Gaussian, as of next year": ta.Gaussian(1)}
PAGES |= {
    "comparison": report.of_comparison(BOTH, command="tellapart compare laplace:epsilon=1 …"),
    "attack": report.of_attack(ta.guarantee(epsilon=1), fpr=0.01, tpr=0.05),
    "correlated": report.of_correlated(
        noise=choose.noise_table(CHAIN, Sum(), 1),
        frameworks=compare_frameworks(CHAIN, Sum(), ta.Laplace(1)),
    ),
}


LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2


@cache
def decided(case):
    text = (DECISIONS / f"{case.partition(' ')[0]}.toml").read_text(encoding="utf-8")
    if "long words" in case:  # whatever people write
        text = re.sub(r'= "an? (employer|customer)', rf'= "\1 {LONG}', text)
        text = re.sub(r'^(title|unit|owner|data) = "', rf'\1 = "{LONG} ', text, flags=re.M)
    record, today = decision.parse(text), None
    if "many alerts" in case:  # and more attackers than a page has room for
        record, today = _crowded(record), datetime.date(2029, 1, 1)
    return report.page(report.of_decision(record, today=today))


def _crowded(record):
    knows = "a list of people who were ill, from a leak, with their names and places of birth"
    reason = "a newspaper prints nothing that is four times more likely wrong than right"
    more = [
        decision.record.Attacker(f"journalist {k}", knows, {"prior": 1e-3, "fpr": 0.01})
        for k in range(4)
    ]
    limits = [decision.record.RiskLimit(x.name, "ppv", at_most=0.2, reason=reason) for x in more]
    return replace(
        record,
        privacy=replace(record.privacy, unit="one patient, all photographs"),
        release=replace(record.release, population=record.release.people),
        mechanism=replace(record.mechanism, configured=0.8),
        attackers=(*record.attackers, *more),
        limits=(*record.limits, *limits),
    )


# What sheets of A4 and US Letter have room for between the margins of @page, in pixels of CSS.
ACROSS, DOWN = round((210 - 30) / 25.4 * 96), round((297 - 34) / 25.4 * 96)
LETTER = round((215.9 - 30) / 25.4 * 96), round((279.4 - 34) / 25.4 * 96)
WIDER = """() => [...document.querySelectorAll('body *')]
    .filter(each => !each.closest('.picture'))
    .filter(each => each.getBoundingClientRect().right > innerWidth + 1)
    .map(each => each.outerHTML.slice(0, 80))"""


@pytest.fixture
def open_page(browser):
    """A page as a file would show it, at some width; whatever it asks for fails the test."""
    contexts, asked = [], []

    def opened(text, width):
        context = browser.new_context(viewport={"width": width, "height": 844})
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: asked.append(message.text))
        page.set_content(text)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert asked == []


@pytest.mark.parametrize("width", [360, 390, 1000])
@pytest.mark.parametrize("told", PAGES.values(), ids=PAGES.keys())
def test_no_page_scrolls_sideways(open_page, told, width):
    page = open_page(report.page(told), width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(WIDER) == []


def test_numbers_of_risks_end_on_one_line_each(open_page):
    """Three columns, on a phone as on paper: the numbers of each end at the same place."""
    for width, media in ((390, "screen"), (1000, "screen"), (700, "print")):
        page = open_page(report.page(PAGES["plain"]), width)
        page.emulate_media(media=media)
        ends = page.evaluate(
            """() => [...document.querySelectorAll('.risks tbody tr')].map(row =>
            [...row.querySelectorAll('.number')].map(cell => {
                const range = document.createRange();
                range.selectNodeContents(cell);
                return Math.round(range.getBoundingClientRect().right);
            }))"""
        )
        assert len(ends) == len(PAGES["plain"].meaning.risks)
        assert {tuple(row) for row in ends} == {tuple(ends[0])}
        assert len(ends[0]) == 3


@pytest.mark.parametrize("width", [360, 390, 1000])
@pytest.mark.parametrize("case", [*CASES, "training of long words"])
def test_no_decision_scrolls_sideways(open_page, case, width):
    page = open_page(decided(case), width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(WIDER) == []


@pytest.mark.parametrize("case", [*CASES, "training with many alerts"])
def test_the_summary_of_a_decision_is_one_printed_page(open_page, case):
    letter = open_page(decided(case), LETTER[0])
    letter.emulate_media(media="print")
    assert letter.locator(".first").bounding_box()["height"] < LETTER[1]
    page = open_page(decided(case), ACROSS)
    page.emulate_media(media="print")
    first = page.locator(".first")
    assert first.evaluate("one => getComputedStyle(one).breakAfter") == "page"
    assert first.bounding_box()["height"] < DOWN
    assert page.locator(".apart").evaluate("one => getComputedStyle(one).breakBefore") == "page"
    # A table never begins at the foot of a page: what leads to it stays with it.
    leads = page.locator(".lead").evaluate_all(
        "all => all.map(x => getComputedStyle(x).breakAfter)"
    )
    assert set(leads) == {"avoid"}
    printed = page.pdf(prefer_css_page_size=True)
    most = 14 if "many alerts" in case else 10
    assert 5 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= most


def test_dots_stand_side_by_side_on_paper_and_below_each_other_on_a_phone(open_page):
    for width, rows in ((390, 2), (1000, 1)):
        page = open_page(decided("census"), width)
        tops = page.locator(".people svg").evaluate_all(
            "all => all.map(x => Math.round(x.getBoundingClientRect().top))"
        )
        assert len(tops) == 2
        assert len(set(tops)) == rows


@pytest.mark.parametrize("name", ["comparison", "attack", "correlated"])
def test_the_report_of_a_result_reads_at_a_desk_on_a_phone_and_on_paper(open_page, name):
    text = report.page(PAGES[name])
    for width, media, beside in ((1000, "screen", 2), (390, "screen", 1), (ACROSS, "print", 2)):
        page = open_page(text, width)
        page.emulate_media(media=media)
        assert page.evaluate(WIDER) == []
        assert Axe().run(page).response["violations"] == [] or media == "print"
        tops = page.locator(".charts figure").evaluate_all(
            "all => all.map(x => Math.round(x.getBoundingClientRect().top))"
        )
        if tops:
            assert len(tops) / len(set(tops)) == beside
        names = page.locator("tbody tr:last-child").evaluate_all(
            "all => all.map(x => getComputedStyle(x).display)"
        )
        assert set(names) == {"block" if width == 390 else "table-row"}


def test_a_draft_is_marked_on_its_first_printed_page(open_page):
    page = open_page(report.page(report.of_decision(decision.parse(decision.template()))), ACROSS)
    page.emulate_media(media="print")
    assert page.locator(".first .draft strong").inner_text() == "DRAFT"
    assert page.locator(".first").bounding_box()["height"] < DOWN
    assert page.locator(".draft").bounding_box()["y"] < DOWN / 4
