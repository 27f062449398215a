"""Laws of what objects show in a notebook: escaped, small, quick, without script, never failing."""

import copy
import dataclasses
import re
import time
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from families import CURVE_FAMILIES, MECHANISM_FAMILIES, any_mechanism
from hypothesis import given
from hypothesis import strategies as st

import tellapart as ta
from tellapart import audit, choose, notebook, report, risk, worlds
from tellapart.drawing.card import Bar, Card, Cell
from tellapart.drawing.icons import IconArray, icons
from tellapart.drawing.record import Axis, Drawing, Ink, Mark, Spot, Trace
from tellapart.drawing.svg import svg, table, thumbnail, ticks
from tellapart.worlds.frameworks import compare_frameworks

EVIL = "<script>alert(1)</script> & \"quoted\" 'x'"
SCORES = audit.Scores(members=range(50, 150), non_members=range(100))
EVIDENCE = audit.many_runs(SCORES)
LIMITS = [choose.at_most(0.1, risk.advantage), choose.at_most(0.05, risk.tpr, fpr=0.01)]


def flu(noise=2.0):
    model = worlds.Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1])
    return compare_frameworks(model, worlds.Sum(), ta.Laplace(noise))


OBJECTS = {
    "curve": lambda: ta.dp_sgd(1.1, 0.01, 1000).curve(),
    "ordered curve": lambda: ta.Gaussian(1).sampled(0.1).curve(ta.Order.PRESENT),
    "guarantee": lambda: ta.guarantee(epsilon=1, delta=1e-5),
    "attack": lambda: ta.attack(points=[(0.1, 0.6)]),
    "mechanism": lambda: ta.Laplace(1),
    "composition": lambda: ta.dp_sgd(1.1, 0.01, 1000),
    "choice": lambda: choose.least(ta.Gaussian, LIMITS),
    "certified choice": lambda: choose.largest(
        ta.Laplace.with_epsilon, [choose.at_least(0.4, risk.bayes_error, prior=0.5)], certified=True
    ),
    "map": lambda: choose.training_map(
        data_size=60_000, batches=[256, 1024], epochs=[5, 15], limits=LIMITS
    ),
    "comparison": lambda: choose.compare({"Laplace": ta.Laplace(1), "Gaussian": ta.Gaussian(1)}),
    "refuted": lambda: audit.judge(ta.guarantee(epsilon=0.5), EVIDENCE),
    "not refuted": lambda: audit.judge(ta.guarantee(epsilon=3), EVIDENCE),
    "evidence": lambda: EVIDENCE,
    "report of a claim": lambda: report.of(ta.Laplace(1), unit="one patient"),
    "report of a verdict": lambda: report.of(audit.judge(ta.guarantee(epsilon=0.5), EVIDENCE)),
    "frameworks": flu,
}
# The same with a name that is no name but a program.
NAMED = {
    "curve": lambda: ta.Gaussian(1).curve().made_by(EVIL),
    "mechanism": lambda: ta.CustomMechanism(ta.Gaussian(1).curve().made_by(EVIL)),
    "choice": lambda: choose.least(lambda s: ta.Gaussian(s).curve().made_by(EVIL), LIMITS),
    "limit": lambda: choose.least(ta.Gaussian, [choose.at_most(0.1, evil_measure())]),
    "comparison": lambda: choose.compare({EVIL: ta.Laplace(1), "b": ta.Gaussian(1)}),
    "verdict": lambda: audit.judge(ta.guarantee(epsilon=0.5), EVIDENCE, name=EVIL),
    "evidence": lambda: (
        dataclasses.replace(EVIDENCE, about=EVIL)
        if "about" in getattr(type(EVIDENCE), "__dataclass_fields__", {})
        else named_evidence()
    ),
    "report": lambda: report.of(ta.Laplace(1), unit=EVIL),
    "frameworks": lambda: dataclasses.replace(
        flu(), rows=tuple(dataclasses.replace(row, framework=EVIL) for row in flu().rows)
    ),
    "what fails": lambda: Failing(),
}


def evil_measure():
    def measure(curve):
        return risk.advantage(curve)

    measure.__name__ = EVIL
    return measure


def named_evidence():
    evidence = copy.copy(EVIDENCE)
    object.__setattr__(evidence, "about", EVIL)
    return evidence


class Failing(type(ta.Laplace(1).curve())):
    """A curve of somebody's own, that cannot answer."""

    def __init__(self):
        pass

    def tpr(self, fpr):
        raise TypeError("nothing here")

    def __repr__(self):
        return EVIL


TAGS = {
    *("div", "table", "tr", "th", "td", "span", "wbr", "pre"),
    *("svg", "title", "desc", "g", "path", "text", "circle", "rect"),
}


class Words(HTMLParser):
    """Tags and words of a page, and whether every tag is closed."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.text = set(), [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag != "wbr":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(page):
    words = Words(page)
    assert words.open == []
    assert words.tags <= TAGS
    return "".join(words.text)


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_shows_a_small_card(name):
    page = OBJECTS[name]()._repr_html_()
    assert page.startswith("<div")
    assert 1_400 <= len(page.encode()) <= 6_144
    parsed(page)


@pytest.mark.parametrize("name", OBJECTS)
def test_in_a_terminal_an_object_takes_two_lines(name):
    shown = repr(OBJECTS[name]())
    assert "\n" not in shown
    assert len(shown) <= 160, shown
    assert " at 0x" not in shown


def test_a_limit_shows_itself_as_it_is_typed():
    limits = [
        choose.at_most(0.1, risk.tpr, fpr=0.01),
        choose.at_least(0.4, risk.bayes_error, prior=0.5),
    ]
    shown = [
        "choose.at_most(0.1, risk.tpr, fpr=0.01)",
        "choose.at_least(0.4, risk.bayes_error, prior=0.5)",
    ]
    assert [repr(limit) for limit in limits] == shown
    typed = [eval(text, {"choose": choose, "risk": risk}) for text in shown]  # noqa: S307 (ours)
    assert typed == limits


@pytest.mark.parametrize(
    "name", sorted(set(OBJECTS) - {"choice", "certified choice", "frameworks", "map"})
)
def test_a_card_has_a_chart_that_is_read_out(name):
    page = OBJECTS[name]()._repr_html_()
    (chart,) = re.findall(r"<svg xmlns.*?</svg>", page)
    ET.fromstring(chart)  # noqa: S314 (ours)
    assert 'role="img"' in chart
    assert "<title>ROC" in chart


@pytest.mark.parametrize("name", NAMED)
def test_names_are_escaped_whatever_the_object(name):
    page = NAMED[name]()._repr_html_()
    assert "script" not in Words(page).tags
    assert "&lt;script&gt;" in page
    assert "&amp;" in page
    assert EVIL in parsed(page)


@given(curve=st.one_of(*CURVE_FAMILIES.values()))
def test_every_curve_has_a_card(curve):
    page = notebook.card(curve).html()  # no limit on time, and no way out where it fails
    assert "nan" not in parsed(page)


@given(mechanism=any_mechanism())
def test_every_mechanism_has_a_card(mechanism):
    page = notebook.card(mechanism).html()
    assert len(page.encode()) < 8_192
    parsed(page)


def test_the_laws_are_of_every_mechanism():
    assert set(MECHANISM_FAMILIES) == set(ta.MECHANISMS)


@pytest.mark.parametrize(
    "heavy",
    [
        ta.dp_sgd(0.05, 0.5, 10**6),
        ta.Laplace(0.01).repeated(10**5),
        ta.RandomizedResponse(4, 50).repeated(3000),
        ta.dp_sgd(0.6, 0.001, 10**7).then(ta.Laplace(0.5).repeated(1000)),
    ],
    ids=str,
)
def test_a_card_comes_soon_or_not_at_all(heavy):
    start = time.monotonic()
    parsed(heavy._repr_html_())
    assert time.monotonic() - start < 20  # two seconds, on machines that do nothing else


def test_what_takes_too_long_shows_its_repr(monkeypatch):
    monkeypatch.setattr(notebook, "_PATIENCE", 0.0)
    training = ta.dp_sgd(1.1, 0.01, 1000)
    shown = parsed(training._repr_html_())
    assert shown.startswith(repr(training))
    assert "take longer" in shown


def test_numbers_stand_with_their_side_and_their_baseline():
    shown = parsed(ta.guarantee(epsilon=1)._repr_html_())
    assert "TPR at FPR 0.01≤ 0.02720.0100" in shown
    assert "≥" not in shown
    assert "≈ 0.0272" in parsed(ta.Laplace(1)._repr_html_())
    assert "≥ 0.0600" in parsed(OBJECTS["attack"]()._repr_html_())


texts = st.text(max_size=20)
numbers = st.floats(-2, 2) | st.sampled_from([0.0, 1.0, 1e-300, float("nan"), float("inf")])


@given(texts, texts, st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30), st.booleans())
def test_any_drawing_is_written(title, name, points, log):
    axes = Axis(name, 1e-5 if log else 0.0, 1.0, log)
    x, y = zip(*points, strict=True)
    traces = tuple(Trace(name, x, y, ink, filled=ink is Ink.THIRD) for ink in Ink)
    spot = Spot(name, x[0], y[0], Ink.FIRST, box=(0.1, 0.2, 0.3, 0.4))
    chart = svg(Drawing(title, name, axes, axes, traces, (spot,)))
    if not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", chart):  # no XML has these
        ET.fromstring(chart)  # noqa: S314 (ours)
    assert "nan" not in re.sub(r"<(title|desc|text)[^>]*>[^<]*</\1>", "", chart)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_an_axis_has_a_few_round_numbers(low, width):
    places = ticks(Axis("x", low, low + width)) if low + width > low else [low, low]
    assert 2 <= len(places) <= 7
    assert places == sorted(places)


def test_a_card_says_how_it_is_meant_by_a_sign():
    page = Card("a", (("b", Cell("c"), Bar(float("nan"))),), mark=Mark.BAD).html()
    assert parsed(page).startswith("✗ a")


def test_a_choice_names_its_parameter_and_a_verdict_what_its_lines_are():
    limit = choose.at_most(0.1, risk.advantage)
    card = choose.least(ta.Gaussian, [limit])._repr_html_()
    assert "sigma ≥ 3.979" in card
    assert "for Gaussian(sigma=3.979)" in card
    assert (
        "steps ≤ "
        in (
            choose.largest(lambda steps: ta.Gaussian(9).repeated(steps), [limit], whole=True)
        )._repr_html_()
    )
    counts = audit.Counts(true_positives=90, members=100, false_positives=10, non_members=100)
    verdict = audit.judge(ta.guarantee(epsilon=1), audit.from_counts(counts))._repr_html_()
    for name in ("the claim allows", "shown by the attack", "the attack, observed"):
        assert f"</span>{name}</div>" in verdict


# -- charts for a page and a file -----------------------------------------------------------------


def _crossing():
    line = Trace("falls & rises", (0.0, 0.5, 1.0), (1.0, 0.0, 0.5), Ink.SECOND)
    spot = Spot("<here>", 0.25, 0.5, Ink.FIRST, Mark.GOOD)
    return Drawing("T", "C", Axis("x", 0, 1), Axis("y", 0, 1), (line,), (spot,))


def test_a_chart_as_a_table_reads_its_lines_where_they_are_drawn():
    head, *rows = table(_crossing(), rows=5)
    assert head == ["x", "falls & rises"]
    assert rows[:5] == [["0", "1"], ["0.25", "0.5"], ["0.5", "0"], ["0.75", "0.25"], ["1", "0.5"]]
    assert rows[5:] == [["<here>: 0.25", "0.5"]]


def test_a_chart_in_a_file_names_its_lines_and_points_and_one_on_a_page_has_classes():
    alone = ET.fromstring(svg(_crossing(), 400, 300, legend=True))  # noqa: S314
    texts = ["".join(one.itertext()) for one in alone.iter() if one.tag.endswith("text")]
    assert {"falls & rises", "<here>"} <= set(texts)
    assert float(alone.get("height")) > 300
    shown = ET.fromstring(svg(_crossing(), page=True))  # noqa: S314
    classes = {one.get("class") for one in shown.iter()}
    assert {"trace second", "spot good", "grid"} <= classes
    small = ET.fromstring(thumbnail(_crossing()))  # noqa: S314
    assert small.get("aria-hidden") == "true"


@given(dots=st.integers(1, 1200), share=st.floats(0, 1))
def test_an_icon_array_has_as_many_dots_as_it_says(dots, share):
    """Rows are dashes of no length, so many pixels apart: their number is the number of dots."""
    drawn = ET.fromstring(icons(IconArray("t", "c", dots, share * dots)))  # noqa: S314
    found = 0
    for path in (one for one in drawn.iter() if one.tag.endswith("path")):
        pitch = float(path.get("stroke-dasharray").split()[1])
        found += sum(1 + int(float(x) / pitch) for x in re.findall(r"h([\d.]+)", path.get("d")))
    assert found == dots
