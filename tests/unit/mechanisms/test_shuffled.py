"""Shuffled answers: the clones' bound against every shuffle that can be listed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart.curve.composition.shuffling import shuffled_curve

FPRS = np.concatenate([[0.0], 10.0 ** -np.arange(12.0, 1, -2), np.linspace(0.05, 1, 20)])
EPSILONS = np.array([0.0, 0.1, 0.5, 1.0])


def histogram(rows):
    """The law of the counts of all answers, from each person's law: one axis per answer."""
    size = len(rows)
    table = np.zeros((size + 1,) * (len(rows[0]) - 1))
    table[(0,) * table.ndim] = 1.0
    for row in rows:
        grown = row[0] * table
        for k, chance in enumerate(row[1:]):
            shifted = np.roll(table, 1, axis=k)
            shifted[(slice(None),) * k + (0,)] = 0.0
            grown = grown + chance * shifted
        table = grown
    return table.ravel()


def truths(rows, others):
    """The curve of the shuffle, the first person's value the first or the second."""
    worlds = [histogram([rows[x], *(rows[k] for k in others)]) for x in (0, 1)]
    return ta.from_pmfs(*(one / one.sum() for one in worlds))


def holds(bound, truth):
    for one, other in ((bound, truth), (bound.mirrored(), truth.mirrored())):
        assert np.all(one.beta(FPRS) <= other.beta(FPRS) + 1e-12)
        assert np.all(one.delta(EPSILONS) >= other.delta(EPSILONS) - 1e-12)


def response(epsilon, kinds):
    table = np.ones((kinds, kinds)) + np.expm1(epsilon) * np.eye(kinds)
    return table / table.sum(axis=1, keepdims=True)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 5), st.integers(1, 30), st.data())
def test_no_shuffle_of_yes_and_no_beats_the_bound(epsilon, users, data):
    ones = data.draw(st.integers(0, users - 1))
    others = [1] * ones + [0] * (users - 1 - ones)
    bound = ta.RandomizedResponse(epsilon).shuffled(users).curve()
    assert bound.bound is ta.Bound.LOWER
    holds(bound, truths(response(epsilon, 2), others))


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 4), st.lists(st.integers(0, 2), min_size=1, max_size=9))
def test_no_shuffle_of_three_answers_beats_the_bound(epsilon, others):
    bound = ta.RandomizedResponse(epsilon, categories=3).shuffled(len(others) + 1).curve()
    holds(bound, truths(response(epsilon, 3), others))


@settings(max_examples=40, deadline=None)
@given(st.floats(0.1, 2), st.lists(st.integers(0, 2), min_size=1, max_size=8), st.data())
def test_no_shuffle_of_any_randomiser_beats_the_bound(epsilon, others, data):
    """Rows within e^ε of each other, drawn at random: the third person need not be like the two."""
    draw = st.lists(st.floats(-epsilon / 4, epsilon / 4), min_size=3, max_size=3)
    rows = np.exp([data.draw(draw) for _ in range(3)])
    rows /= rows.sum(axis=1, keepdims=True)
    logs = np.log(rows)
    local = max(float(np.abs(a - b).max()) for a in logs for b in logs)
    if local == 0:
        return
    holds(shuffled_curve(local, len(others), np.exp(-local)), truths(rows, others))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("others", [1, 3, 8])
def test_the_bound_holds_where_clones_are_fewest(share, others):
    """The two values agree on an answer that the others hardly ever give."""
    e = np.exp(1.0)
    first, second = np.array([e, 1.0, 0.0]), np.array([1.0, e, 0.0])
    rows = np.stack(
        [(1 - share) * one / (1 + e) + share * np.array([0, 0, 1]) for one in (first, second)]
    )
    third = np.maximum(rows[0], rows[1]) / e
    third[:2] += (1 - third.sum()) / 2
    table = np.stack([*rows, third])
    local = max(float(np.abs(np.log(a / b)).max()) for a in table for b in table)
    holds(shuffled_curve(local, others, np.exp(-local)), truths(table, [2] * others))


def test_alone_nobody_is_hidden():
    alone = ta.RandomizedResponse(1.5).shuffled(1).curve()
    np.testing.assert_allclose(alone.beta(FPRS), ta.RandomizedResponse(1.5).curve().beta(FPRS))


@pytest.mark.parametrize("users", [140, 300, 2000])
def test_rounding_clones_down_costs_little_and_on_the_safe_side(users):
    """Against the sum over every number of clones."""
    epsilon, chance = 1.0, 2 / (np.e + 1)
    count = np.arange(users)
    logs = np.cumsum(
        np.log(np.append(1.0, (users - count[1:]) / count[1:] * chance / (1 - chance)))
    )
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    grid = np.array([0.0, 0.01, 0.05, 0.1, 0.3])
    want = np.zeros(grid.size)
    for c, weight in zip(count, weights, strict=True):
        if weight < 1e-18:
            continue
        a = np.arange(c + 2.0)
        ways = np.cumsum(np.log(np.append(1.0, (c + 2 - a[1:]) / a[1:]))) - (c + 1) * np.log(2)
        even = np.exp(ways) * 2 / (c + 1) / (1 + np.e)
        present, absent = even * (a + (c + 1 - a) * np.e), even * (a * np.e + (c + 1 - a))
        gaps = present - np.multiply.outer(np.exp(grid), absent)
        want += weight * np.maximum(gaps, 0).sum(axis=1)
    found = ta.RandomizedResponse(epsilon).shuffled(users).curve().delta(grid)
    assert np.all(found >= want * (1 - 1e-10))
    np.testing.assert_allclose(found, want, rtol=0.05, atol=1e-12)


def test_the_bound_is_better_than_its_closed_form():
    """Feldman, McMillan and Talwar 2021, Theorem 3.1, for ε₀ ≤ log(n/(16·log(2/δ)))."""
    for local, users, delta in ((1.0, 10_000, 1e-6), (2.0, 100_000, 1e-8), (3.0, 10**6, 1e-9)):
        e = np.exp(local)
        inside = 8 * np.sqrt(e * np.log(4 / delta) / users) + 8 * e / users
        closed = np.log1p((e - 1) / (e + 1) * inside)
        for step in (
            ta.RandomizedResponse(local),
            ta.Laplace.with_epsilon(local, neighbours=ta.Neighbours.REPLACE),
        ):
            curve = step.shuffled(users).curve()
            assert curve.epsilon(delta) < closed
            assert curve.epsilon(0.0) == pytest.approx(local)


def test_shuffles_compose():
    step = ta.RandomizedResponse(2).shuffled(10_000)
    one, many = step.curve().epsilon(1e-6), step.repeated(20).bracket(1e-6)
    assert one < many.lower.epsilon(1e-6) < 20 * one
    assert many.upper.epsilon(1e-6) == 0


def test_what_cannot_be_shuffled():
    with pytest.raises(ta.Unsupported, match=r"^answers are shuffled that each person gives"):
        ta.Laplace(1).shuffled(10)
    with pytest.raises(ta.Unsupported, match=r"^shuffling is understood for pure ε"):
        ta.Gaussian(1, neighbours=ta.Neighbours.REPLACE).shuffled(10).curve()
    with pytest.raises(ta.InvalidArgument, match=r"^users must be at least 1, got 0$"):
        ta.RandomizedResponse(1).shuffled(0)
    assert ta.RandomizedResponse(0.0).shuffled(5).curve().delta(0.0) == 0
