"""Scores of outputs: what they are, in numbers and in words."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from tellapart.audit.probing import scorers
from tellapart.audit.probing.calling.outputs import packed
from tellapart.audit.probing.classifiers import AdditiveScorer, combined, logistic
from tellapart.audit.probing.events import EventSearch
from tellapart.audit.probing.features.columns import Column, What
from tellapart.audit.probing.features.extract import Features
from tellapart.audit.probing.scorers import by_cell, plain

X, Y = Column(What.VALUE, (0,)), Column(What.VALUE, (1,))


def features(*columns, kinds=None):
    matrix = np.column_stack(columns).astype(float)
    return Features(kinds or (X, Y)[: matrix.shape[1]], matrix)


def reading(place=0):
    return list(scorers.readings((X, Y)))[place]


def test_a_number_that_is_missing_comes_first_or_last_and_is_said():
    given = features([1.0, np.nan, 3.0])
    first, last = plain(reading(), given, given)
    assert np.argsort(first(given)).tolist() == [1, 0, 2]
    assert np.argsort(last(given)).tolist() == [0, 2, 1]
    assert first.beyond(2.0, higher=True) == "output[0] > 2"
    assert first.beyond(2.0, higher=False) == "output[0] < 2 or is not a number"
    assert last.beyond(2.0, higher=True) == "output[0] > 2 or is not a number"
    lowest = float(first(given).min())
    assert first.beyond(lowest, higher=True) == "output[0] is a number"
    assert last.beyond(-lowest, higher=False) == "output[0] is a number"
    assert first.within(2.0, higher=True) == "output[0] ≤ 2 or is not a number"
    assert last.within(2.0, higher=True) == "output[0] ≤ 2"
    assert first.within(lowest, higher=True) == "output[0] is not a number"
    (only,) = plain(reading(), features([1.0]), features([2.0]))
    assert only.beyond(2.0, higher=False) == "output[0] < 2"


def test_words_and_scores_speak_of_the_same_event(monkeypatch):
    """An event in words, read back as numbers, holds for exactly the outputs beyond the cut."""
    monkeypatch.setattr(scorers, "_MOST_WORDS", 1000)
    rng = np.random.default_rng(0)
    one, two = (features(np.round(rng.normal(shift, 1, 4000), 1)) for shift in (0.0, 1.0))
    scorer = by_cell(reading(), one, two)
    cut = float(np.median(scorer(one)))
    for higher, inside in itertools.product((True, False), (True, False)):
        scores = scorer(two)
        happened = (scores > cut if higher else scores < cut) != inside
        words = scorer.within(cut, higher) if inside else scorer.beyond(cut, higher)
        words = words.replace("output[0] is not a number", "False")
        for told, code in (
            ("output[0] is ", "x == "),
            ("output[0]", "x"),
            ("≤", "<="),
            ("≥", ">="),
        ):
            words = words.replace(told, code)
        said = [eval(words, {"x": x}) for x in two.matrix[:, 0]]  # noqa: S307
        assert np.array_equal(happened, said)


def test_long_unions_are_cut_short():
    rng = np.random.default_rng(0)
    one, two = (features(rng.integers(0, 40, 4000)) for _ in range(2))
    words = by_cell(reading(), one, two).beyond(0.0, higher=True)
    assert words.count(" or ") == 5
    assert words.endswith(" more such events")


def test_cells_say_how_much_likelier_one_input_made_them():
    one, two = features([0.0] * 300 + [1.0] * 100), features([0.0] * 100 + [1.0] * 300)
    low, high = by_cell(reading(), one, two)(features([0.0, 1.0]))
    assert high == pytest.approx(np.log(300.5 / 100.5))
    assert low == -high


@pytest.mark.parametrize("ridge", [0.1, 1.0, 10.0])
def test_weights_are_those_of_penalised_likelihood(ridge):
    rng = np.random.default_rng(1)
    design = rng.normal(size=(400, 3))
    label = (rng.random(400) < 1 / (1 + np.exp(-design @ [1.0, -2.0, 0.0]))).astype(float)

    def loss(weights):
        odds = design @ weights[:3] + weights[3]
        fit = np.logaddexp(0, odds).sum() - label @ odds
        return fit + ridge / 2 * weights[:3] @ weights[:3]

    naive = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert logistic(design, label, ridge) == pytest.approx(naive.x[:3], abs=1e-5)


def test_perfectly_separated_samples_have_finite_weights():
    weights = logistic(np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([0.0, 0.0, 1.0, 1.0]))
    assert 0 < weights[0] < 5


def test_many_weak_numbers_add_up():
    """Two independent numbers: their sum ranks as the likelihood ratio does, nearly."""
    rng = np.random.default_rng(2)
    one, two = (features(*rng.normal(shift, 1, (2, 20_000))) for shift in (0.0, 1.0))
    cells = [by_cell(reading(place), one, two) for place in range(2)]
    found = list(combined(cells, one, two))
    assert [type(each).__name__ for each in found] == ["AdditiveScorer", "LinearScorer"]
    best = two.matrix.sum(axis=1)
    for scorer in found:
        ranks = np.argsort(np.argsort(scorer(two)))
        assert np.corrcoef(ranks, np.argsort(np.argsort(best)))[0, 1] > 0.98
    additive = found[0]
    assert isinstance(additive, AdditiveScorer)
    parts = zip(additive.weights, additive.parts, strict=True)
    assert np.allclose(additive(two), sum(weight * part(two) for weight, part in parts))
    assert "output[0]" in additive.name
    assert "output[1]" in additive.name


def test_numbers_that_say_nothing_are_left_out():
    rng = np.random.default_rng(3)
    one, two = (
        features(rng.normal(shift, 1, 5_000), rng.normal(0, 1, 5_000)) for shift in (0.0, 1.0)
    )
    cells = [by_cell(reading(place), one, two) for place in range(2)]
    fresh = [features(rng.normal(shift, 1, 5_000), rng.normal(0, 1, 5_000)) for shift in (0.0, 1.0)]
    assert list(combined(cells, *fresh)) == []


def test_a_plain_event_is_preferred_where_it_says_as_much():
    rng = np.random.default_rng(4)
    first, second = (packed(rng.laplace(shift, 1, 8_000)) for shift in (0.0, 1.0))
    event = EventSearch(delta=0.0)((first, second), 0.05, 80_000)
    assert event.scorer.name == "output"
    assert event.by_rank
    assert 0.5 < event.promise < 1.2


def test_what_was_expected_is_preferred_unless_another_number_plainly_promises_more():
    """Twins are chosen by luck; one of them may be preferred, and no plainly better one."""
    rng = np.random.default_rng(5)

    def drawn(means):
        first, second = rng.normal(size=(2, 100))
        return packed(np.column_stack([first, first + 0.3 * second]) + np.array(means))

    def chosen(better, expected=None):
        search = EventSearch(delta=0.0, expected=expected)
        names = [
            search((drawn((0.0, 0.0)), drawn((1.0, better))), 0.05, 900).scorer.name
            for _ in range(40)
        ]
        return names.count("output[0]") / 40

    assert chosen(1.0) < 0.6
    assert chosen(1.0, expected=(0,)) > 0.9
    assert chosen(3.0, expected=(0,)) < 0.1
