"""The F-score where its iteration has few digits: tiny priors, weights and leaks."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from examples import examples
from families import CURVE_FAMILIES, any_mechanism, pmf_pairs
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import risk
from tellapart.risk.decisions import f_score_attack

many = settings(max_examples=examples(200), deadline=None)


def tens(low: float, high: float) -> st.SearchStrategy[float]:
    """Sizes of every order of magnitude."""
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


priors = st.one_of(
    tens(-16, -0.1),
    tens(-300, -0.1),
    tens(-16, -1).map(lambda rest: 1 - rest),
    st.sampled_from([0.5, 5e-324, 1e-310, 1 - 2.0**-53]),
)
weights = st.one_of(tens(-4, 1), tens(-140, 140), st.just(1.0))
deltas = st.one_of(tens(-20, -0.01), tens(-300, -0.01), st.sampled_from([0.0, 1.0, 1 - 2.0**-53]))


def best_corner(absent: Any, present: Any, weight: float, prior: float) -> tuple[float, float]:
    """The largest F-score over the corners of a polygon, and 1 less it, in exact arithmetic."""
    p, b2 = Fraction(prior), Fraction(weight) ** 2
    pairs = zip(map(float, absent), map(float, present), strict=True)
    masses = [(Fraction(x), Fraction(y)) for x, y in pairs if x or y]
    masses.sort(key=lambda pair: math.inf if pair[0] == 0 else pair[1] / pair[0], reverse=True)
    fpr = tpr = Fraction(0)
    fnr = sum((y for _, y in masses), Fraction(0))
    best, short = Fraction(0), Fraction(1)
    for x, y in masses:
        fpr, tpr, fnr = fpr + x, tpr + y, fnr - y
        total = p * tpr + (1 - p) * fpr + p * b2
        if (1 + b2) * p * tpr / total > best:
            best = (1 + b2) * p * tpr / total
            short = ((1 - p) * fpr + p * b2 * fnr) / total
    return float(best), float(short)


def check(curve: ta.TradeoffCurve, masses: Any, weight: float, prior: float) -> None:
    attack = f_score_attack(curve, weight=weight, prior=prior)
    score, short = best_corner(*masses, weight, prior)
    assert attack.score == pytest.approx(score, rel=1e-12, abs=1e-305)
    # Sums of masses that are 1 but for rounding are the limit of what a shortfall can be known to.
    assert attack.shortfall == pytest.approx(short, rel=1e-9, abs=1e-14)
    # The attack that is named has that score.
    gamma, b2 = Fraction(1) / Fraction(prior) - 1, Fraction(weight) ** 2
    fpr, tpr = (Fraction(float(rate)) for rate in attack.rates[:2])
    if tpr:
        reached = float((1 + b2) * tpr / (tpr + gamma * fpr + b2))
        assert attack.score == pytest.approx(reached, rel=1e-12, abs=1e-305)


@many
@given(st.floats(0, 40), deltas, weights, priors)
@example(2.0, 1e-16, 0.002, 1e-12)
@example(1.0, 1.5e-13, 0.0012, 8.4e-8)
@example(2.0, 1e-300, 1e-148, 1e-10)
@example(700.0, 0.0, 1.0, 1e-310)
def test_a_promise_has_the_f_score_of_its_best_corner(
    epsilon: float, delta: float, weight: float, prior: float
) -> None:
    # S1: the pair that attains the promise. Its corners are exact; 1 − q is a rate of its own.
    low, high = 1 / (1 + math.exp(epsilon)), 1 / (1 + math.exp(-epsilon))
    absent = [0.0, (1 - delta) * low, (1 - delta) * high, delta]
    check(ta.guarantee(epsilon, delta), (absent, absent[::-1]), weight, prior)


@many
@given(pmf_pairs(), weights, priors)
def test_a_polygon_has_the_f_score_of_its_best_corner(pair: Any, weight: float, prior: float):
    curve = ta.from_pmfs(*pair)
    check(curve, (curve.absent, curve.present), weight, prior)


@many
@given(st.floats(0.01, 30), deltas, st.floats(0.1, 1), weights, priors)
def test_a_leak_beside_flat_losses_is_not_overlooked(
    epsilon: float, leak: float, share: float, weight: float, prior: float
) -> None:
    """Many outcomes whose losses differ by rounding only, and a rare one that tells all."""
    low, high = 1 / (1 + math.exp(epsilon)), 1 / (1 + math.exp(-epsilon))
    parts = np.array([share, 0.5, 0.1, 1e-9])
    parts = parts / parts.sum() * (1 - leak)
    absent = np.concatenate([[0.0], low * parts, high * parts, [leak]])
    present = np.concatenate([[leak], high * parts, low * parts, [0.0]])
    curve = ta.from_pmfs(absent / absent.sum(), present / present.sum())
    check(curve, (curve.absent, curve.present), weight, prior)


curves = st.one_of(
    CURVE_FAMILIES["guarantee"],
    CURVE_FAMILIES["mu"],
    CURVE_FAMILIES["attack"],
    any_mechanism().map(lambda mechanism: mechanism.curve()),
)


@many
@given(curves, weights, priors)
@example(ta.guarantee(mu=1), 1.0, 1e-92)  # hundreds of small steps up a thin tail
def test_no_attack_on_the_curve_scores_more(
    curve: ta.TradeoffCurve, weight: float, prior: float
) -> None:
    """Every threshold of a wide grid, and each prior's start: always accuse, or when certain."""
    losses = np.concatenate([np.linspace(-50, 50, 401), 2.0 ** np.arange(-30, 10)])
    fpr, tpr, fnr, _ = curve.rates(np.concatenate([losses, [-np.inf, np.finfo(float).max]]))
    attack = f_score_attack(curve, weight=weight, prior=prior)
    with np.errstate(all="ignore"):
        cost = ((1 - prior) * fpr / prior + weight**2 * fnr) / tpr
    # An FPR that underflows is no FPR of 0, which only outputs that tell all have.
    seen = ~np.isnan(cost) & ((fpr > 1e-290) | (tpr == tpr[-1]))
    cost = float(np.min(cost[seen]))
    if cost > 1e300:
        return
    assert attack.score >= (1 + weight**2) / (1 + weight**2 + cost) * (1 - 1e-12)
    assert attack.shortfall <= cost / (1 + weight**2 + cost) * (1 + 1e-12)


@pytest.mark.parametrize("prior", [0.0, 1.0])
@settings(max_examples=examples(100), deadline=None)
@given(curve=curves, weight=weights)
def test_a_certain_prior_leaves_nothing_to_score(
    curve: ta.TradeoffCurve, weight: float, prior: float
) -> None:
    assert risk.f_score(curve, weight=weight, prior=prior) == prior
    assert risk.f_score(curve, weight=weight, prior=[prior, prior]).tolist() == [prior, prior]
