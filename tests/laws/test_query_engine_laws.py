"""Query engines: the bound on sparse vector is a fixed point, and no questions beat it."""

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.mechanisms.query_engines import sparse_vector

EPSILONS = np.linspace(0, 1.2, 25)


def comparisons(shift):
    """P- and Q-probability of "noise above x", for many x: all tests that matter."""
    x = np.linspace(-shift - 8, 8, 1501)
    above = [np.where(y > 0, np.exp(-abs(y)) / 2, 1 - np.exp(-abs(y)) / 2) for y in (x, x + shift)]
    return np.array(above)


@pytest.mark.parametrize(("threshold", "queries"), [(0.7, 0.9), (0.1, 3.0), (2.0, 0.05)])
def test_no_question_improves_the_value_of_the_game(threshold, queries):
    """Tv ≤ v, between the nodes, too: so v bounds every number of questions."""
    p, q = comparisons(queries)
    y, value = sparse_vector._value(threshold, queries, 1)
    at = np.exp(np.linspace(-threshold - queries, queries, 97))[:, None]
    hit = p * np.maximum(1 - at * q / p, 0)
    missed = (1 - p) * np.interp(at * (1 - q) / (1 - p), y, value)
    bound = np.interp(at[:, 0], y, value)
    assert np.all(np.max(hit + missed, axis=1) <= bound + 1e-12)
    assert np.all(np.maximum(1 - at[:, 0], 0) <= bound + 1e-12)
    assert np.all(bound <= np.maximum(1 - at[:, 0] * math.exp(-queries), 0) + 1e-3)


def said(answers, mechanism):
    """The law of what is said about fixed answers: which are above, until so many were."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.unique(np.concatenate([np.linspace(-30, 30, 61), answers]))
    half = np.diff(edges)[:, None] / 2
    noise = (edges[:-1, None] + half * (1 + nodes)).ravel()
    mass = (half * weights).ravel() * np.exp(-np.abs(noise) / mechanism.threshold_scale)
    states = {(): mass / mass.sum()}
    for answer in answers:
        away = (noise - answer) / mechanism.query_scale
        above = np.where(away > 0, np.exp(-abs(away)) / 2, 1 - np.exp(-abs(away)) / 2)
        following = {}
        for heard, given in states.items():
            if sum(heard) == mechanism.answers:
                following[heard] = given
                continue
            following[(*heard, 1)] = given * above
            following[(*heard, 0)] = given * (1 - above)
        states = following
    return {heard: float(given.sum()) for heard, given in states.items()}


@pytest.mark.parametrize("seed", range(8))
def test_no_questions_beat_the_curve(seed):
    rng = np.random.default_rng(seed)
    answers, monotone = int(rng.integers(1, 3)), bool(seed % 2)
    mechanism = ta.AboveThreshold(2.0, 4.0 * answers, answers=answers, monotone=monotone)
    curve = mechanism.curve()
    start = rng.normal(0, 4, 7)
    move = np.sign(rng.normal(0.3, 1, 7)) if not monotone else np.ones(7)
    absent, present = said(start, mechanism), said(start + move, mechanism)
    for p, q in ((absent, present), (present, absent)):
        reached = [
            sum(max(q[heard] - math.exp(e) * p[heard], 0.0) for heard in p) for e in EPSILONS
        ]
        assert np.all(reached <= curve.delta(EPSILONS) + 1e-9)
    assert max(reached) > 0


def test_more_answers_at_the_same_epsilon_leak_less_at_every_delta():
    deltas = np.array([1e-9, 1e-6, 1e-3, 0.05])
    few, many = (
        ta.AboveThreshold(2.0, 4.0 * c, answers=c).curve().epsilon(deltas) for c in (1, 20)
    )
    assert np.all(many < few)
    assert many[1] < 0.93


@pytest.mark.parametrize("keys", [1, 4, 16, 40])
def test_the_worst_number_of_new_keys_is_never_more_than_the_sum(keys):
    counts = ta.ThresholdedHistogram(ta.Gaussian(sigma=8), threshold=40, keys=keys)
    curve = counts.curve(ta.Order.PRESENT)
    assert curve.bound is (ta.Bound.EXACT if keys <= 16 else ta.Bound.LOWER)
    epsilons = np.linspace(0, 3, 13)
    naive = keys * counts.new_key() + ta.Gaussian(8).repeated(keys).curve().delta(epsilons)
    assert np.all(curve.delta(epsilons) <= naive * (1 + 1e-12))
    shown = -math.expm1(keys * math.log1p(-counts.new_key()))
    assert np.all(curve.delta(epsilons) >= shown * (1 - 1e-12))


def test_selected_keys_are_shown_no_more_often_than_the_promise_allows():
    for epsilon, delta in ((0.1, 1e-4), (1.0, 1e-5), (5.0, 1e-9), (30.0, 0.01)):
        chosen = ta.PartitionSelection(epsilon, delta)
        promise = ta.guarantee(epsilon, delta)
        curve = chosen.curve()
        alphas = np.linspace(0, 1, 201)
        assert np.all(curve.beta(alphas) >= promise.beta(alphas) - 1e-12)
        assert curve.delta(epsilon) == pytest.approx(delta, rel=1e-6)
        assert [chosen.shown(n) for n in (0, 1)] == [0.0, pytest.approx(delta)]
