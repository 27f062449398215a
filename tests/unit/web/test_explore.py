"""Explore: what the view says is what the library says, and code for it says the same."""

import re

import pytest
from copied_code import printed

import tellapart as ta
from tellapart import risk
from tellapart.web.html.answers import answer as html_answer
from tellapart.web.views.explore import VIEW

TEXTS = [
    "laplace:epsilon=1",
    "any:epsilon=0.5,delta=1e-6",
    "gaussian:sigma=2,sampled=0.1,repeated=9+laplace:epsilon=0.2",
]


@pytest.mark.parametrize("text", TEXTS)
def test_copied_code_says_what_the_screen_says(run, text):
    state = VIEW.read({"mechanism": text, "prior": 0.01, "fpr": 0.002, "at_delta": 1e-6})
    shown = VIEW.answer(state)
    words, table = shown.parts
    python = printed(shown.python)
    command = " ".join(run(shown.command.removeprefix("tellapart "))[1].split())
    for name, blind, value, gain, meaning in table.rows:
        assert f"{name} {blind} {value} {gain}" in python
        assert f"{name} {blind} {value} {gain}" in command
        assert f"{name}: {meaning}" in command
    for sentence in words.sentences:
        assert sentence in python
        assert sentence in command


def test_dials_settle_the_numbers_of_the_text():
    values = {"mechanism": "gaussian:sigma=2+laplace:epsilon=1", "mechanism.0.sigma": 3}
    values |= {"mechanism.1.repeated": 5, "mechanism.0.repeated": 1}
    state = VIEW.read(values, changed="mechanism.0.sigma")
    assert state.mechanism == "gaussian:sigma=3+laplace:epsilon=1,repeated=5"
    assert VIEW.read(values, changed="mechanism").mechanism == values["mechanism"]
    added = {**values, "mechanism.add": "laplace:epsilon=2"}
    assert VIEW.read(added, changed="mechanism.add").mechanism.endswith("+laplace:epsilon=2")
    dropped = VIEW.read({**values, "mechanism.drop": "0"}, changed="mechanism.drop")
    assert dropped.mechanism == "laplace:epsilon=1,repeated=5"


def test_the_report_is_of_what_is_on_screen():
    state = VIEW.read({"mechanism": "laplace:epsilon=2", "prior": 0.1, "fpr": 0.03})
    found, (words, table) = VIEW.report(state), VIEW.answer(state).parts
    assert found.made.command.startswith("tellapart report laplace:epsilon=2 report.html")
    assert found.meaning.words == words.sentences
    shown = {row[0]: row[1:4] for row in table.rows}
    for one in found.meaning.risks:
        assert (one.without, one.words, one.gain) == tuple(shown[one.what])


@pytest.mark.parametrize("kind", ["roc", "roc-log", "tradeoff", "profile", "precision"])
def test_every_picture_is_that_of_the_curve(kind):
    state = VIEW.read({"mechanism": "laplace:epsilon=1", "picture": kind, "prior": 0.2})
    drawing = VIEW.answer(state).drawing
    assert drawing.kind == kind
    line = next(one for one in drawing.traces if one.name == "Laplace, ε = 1")
    curve = ta.Laplace(1).curve()
    for x, y in list(zip(line.x, line.y, strict=True))[3:30]:
        if kind in ("roc", "roc-log"):
            assert y == pytest.approx(curve.tpr(x), abs=1e-12)
        elif kind == "profile":
            assert y == pytest.approx(curve.delta(x), abs=1e-12)
        elif kind == "precision":
            assert y == pytest.approx(risk.precision(curve, recall=x, prior=0.2), abs=1e-12)
        else:
            assert y == pytest.approx(curve.beta(x), abs=1e-12)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"prior": "often"}, "prior must be a number"),
        ({"prior": 0}, "prior must"),
        ({"mechanism": "laplace:epsilon=-1"}, "epsilon must"),
        ({"picture": "pie"}, "picture must be one of"),
        ({"mechanism": "laplace:epsilon=1" + "0" * 3000}, "at most 2,000 letters"),
        ({"mechanism": "laplace:epsilon=1" + "0" * 400}, "epsilon that a double can hold"),
        ({"mechanism": "laplace:epsilon=1e999"}, "epsilon that a double can hold"),
    ],
)
def test_what_cannot_be_shown_is_said(values, message):
    with pytest.raises(ta.TellapartError, match=message):
        VIEW.answer(VIEW.read(values))


def test_both_ends_are_said_where_they_do_not_meet():
    schedule = "dpsgd:noise_multiplier=1,sampling_rate=0.01,steps=100"
    shuffled = VIEW.answer(VIEW.read({"mechanism": f"{schedule},scheme=shuffled"}))
    assert shuffled.scope.startswith("Assumes batches cut from a random order of the records")
    reached = "The other end, which some attack surely reaches: ε ≥ 4.0"
    assert shuffled.sentences[2].startswith(reached)
    # The cards do not pass a guarantee for what is known, nor hide the other end.
    assert all(card.value.startswith("≤ ") for card in shuffled.cards)
    assert re.fullmatch(r"some attack surely reaches 4\.0\d+", shuffled.cards[-1].beside)
    poisson = VIEW.answer(VIEW.read({"mechanism": schedule}))
    assert len(poisson.sentences) == 2
    assert not any("≤" in card.value for card in poisson.cards)
    assert poisson.cards[-1].beside == "0 without the output"
    assert poisson.scope.startswith("Assumes Poisson-sampled batches")


@pytest.mark.parametrize("fpr", [1e-6, 0.003, 0.01, 0.3])
@pytest.mark.parametrize("prior", [1e-5, 0.1, 0.5])
@pytest.mark.parametrize("text", TEXTS[:2])
def test_the_sentence_counts_people_against_whoever_publishes(text, prior, fpr):
    """Whole people, never fewer found than the curve allows, and one denominator."""
    answer = VIEW.answer(VIEW.read({"mechanism": text, "prior": prior, "fpr": fpr}))
    said = [int(x.replace(",", "")) for x in re.findall(r"\d[\d,]*(?![\d.])", answer.headline)]
    found, members = said[:2]
    assert answer.headline.startswith(f"An attack finds at most {found:,} of {members:,} members")
    people = int(re.search("These ([\\d,]+) people", answer.people.title)[1].replace(",", ""))
    others = f"of {people - members:,} non-members."
    assert answer.headline.endswith(others)
    tpr = float(ta.parse(text).curve().tpr(fpr)) if "any" not in text else float(
        ta.parse(text).tpr(fpr))  # fmt: skip
    assert members == pytest.approx(people * prior)
    assert people * prior * tpr <= found + 1e-9 < people * prior * tpr + 1 + 1e-6
    assert found >= 1
    shown = str(html_answer(VIEW, answer, {}))
    assert f'An attack finds at most <b class="number">{found:,}</b> of {members:,}' in shown
    first, *_ = answer.cards
    assert float(first.value.removeprefix("≤ ").replace(",", "")) >= people * prior * tpr - 1e-9
    assert all(card.beside for card in answer.cards)
    assert sum(array.dots for array in answer.people.arrays) in (1000, 1100)
