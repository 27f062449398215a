"""What must hold for every curve, whatever made it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import examples
from families import CURVE_FAMILIES, MECHANISM_FAMILIES, orders
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta

# Rounding: errors of a few ulp in rates near 1, and 1e-11 of the rate itself in the corners.
NEAR_ONE = 1e-13
RELATIVE = 1e-10

SOURCES = [*MECHANISM_FAMILIES, *CURVE_FAMILIES]


def curves_from(source: Any) -> st.SearchStrategy[ta.TradeoffCurve]:
    if source in CURVE_FAMILIES:
        return CURVE_FAMILIES[source]
    family = MECHANISM_FAMILIES[source]
    return st.builds(lambda mechanism, order: mechanism.curve(order), family, orders)


def every_curve(law: Any) -> Any:
    """Run a law once per public mechanism class and once per way to build a curve.

    A number in place of the law says how many examples each gets.
    """
    if isinstance(law, int):
        return lambda test: _over_sources(test, law)
    return _over_sources(law, 25)


def _over_sources(test: Any, most: int) -> Any:
    def over(source: Any) -> None:
        settings(max_examples=examples(most), deadline=None)(given(curves_from(source))(test))()

    over.__name__ = test.__name__
    names = [s if isinstance(s, str) else s.__name__ for s in SOURCES]
    return pytest.mark.parametrize("source", SOURCES, ids=names)(over)


ALPHAS = np.concatenate([[0.0], 10.0 ** -np.arange(300, 1, -23.0), np.linspace(0.013, 1, 41)])
LOSSES = np.concatenate(
    [np.linspace(-12, 12, 49), [-5000.0, -700.0, -90.0, 45.0, 120.0, 800.0, 5000.0]]
)


def test_the_families_cover_the_public_registry() -> None:
    assert set(MECHANISM_FAMILIES) == set(ta.MECHANISMS)


@every_curve
def test_it_falls_from_at_most_one_to_zero(curve: ta.TradeoffCurve) -> None:
    beta = curve.beta(ALPHAS)
    assert np.all(np.isfinite(beta))
    assert beta[-1] == 0
    assert np.all(beta >= 0)
    assert np.all(beta <= 1 - ALPHAS + NEAR_ONE)
    assert np.all(np.diff(beta) <= NEAR_ONE)
    assert curve.beta(0.0) == pytest.approx(1 - curve.delta(np.inf), abs=NEAR_ONE)


@every_curve
def test_it_is_convex(curve: ta.TradeoffCurve) -> None:
    grid = np.linspace(0, 1, 201)
    beta = curve.beta(grid)
    assert np.all(beta[1:-1] <= (beta[:-2] + beta[2:]) / 2 + NEAR_ONE)
    # In the corner of small FPR, TPR/FPR may only fall.
    corner = 10.0 ** np.linspace(-250, -3, 60)
    tpr = curve.tpr(corner)
    slope = tpr - curve.delta(np.inf)
    known = (slope > 0.01 * tpr) & (tpr > 1e-300)
    ratio = np.log(slope[known]) - np.log(corner[known])
    assert np.all(np.diff(ratio) <= 1e-10)


@every_curve
def test_power_and_miss_rate_are_complements(curve: ta.TradeoffCurve) -> None:
    assert np.abs(curve.beta(ALPHAS) + curve.tpr(ALPHAS) - 1).max() <= NEAR_ONE
    rates = curve.rates(LOSSES)
    assert np.abs(rates.fpr + rates.tnr - 1).max() <= NEAR_ONE
    assert np.abs(rates.tpr + rates.fnr - 1).max() <= NEAR_ONE


@every_curve
def test_fpr_inverts_tpr(curve: ta.TradeoffCurve) -> None:
    tprs = np.concatenate([[0.0], 10.0 ** -np.arange(280, 1, -40.0), np.linspace(0.02, 1, 30)])
    fpr = curve.fpr(tprs)
    assert np.all((fpr >= 0) & (fpr <= tprs * (1 + 1e-12)))
    assert np.all(np.diff(fpr) >= -1e-15)
    assert np.all(fpr[tprs <= curve.delta(np.inf)] == 0)
    # An attack of that size reaches the TPR, and none much smaller does.
    underflows = (fpr < 1e-290) & (tprs > curve.delta(np.inf))
    reached = curve.tpr(fpr)
    assert np.all((reached >= tprs * (1 - RELATIVE)) | underflows)
    less = curve.tpr(fpr * (1 - 1e-6))
    assert np.all((less <= tprs * (1 + 1e-12)) | underflows | (fpr == 0))


@every_curve
def test_rates_lie_on_the_curve(curve: ta.TradeoffCurve) -> None:
    rates = curve.rates(LOSSES)
    fpr, tpr = np.asarray(rates.fpr), np.asarray(rates.tpr)
    assert np.all(np.diff(curve.rates(np.sort(LOSSES)).fpr) <= 0)
    on_curve = curve.tpr(fpr)
    inside = fpr > 0  # at FPR 0 the best test may reject more than one at this threshold does
    np.testing.assert_allclose(on_curve[inside], tpr[inside], rtol=RELATIVE, atol=NEAR_ONE * 0.1)


@every_curve
def test_profile_and_curve_are_conjugate(curve: ta.TradeoffCurve) -> None:
    """δ(a) = sup of TPR − e^a·FPR, and β(α) = sup of 1 − δ(a) − e^a·α."""
    losses = LOSSES[np.abs(LOSSES) < 600]
    delta, rates = curve.delta(losses), curve.rates(losses)
    reached = rates.tpr - np.exp(losses) * rates.fpr
    finite = np.exp(losses) * np.asarray(rates.fpr) < 1e6
    assert np.abs(delta - reached)[finite].max() <= 1e-11
    gain = curve.tpr(ALPHAS)[:, None] - np.exp(losses) * ALPHAS[:, None]
    assert np.all(gain <= delta + NEAR_ONE * (1 + np.abs(gain)))
    support = 1 - delta - np.exp(losses) * ALPHAS[:, None]
    assert np.all(support <= curve.beta(ALPHAS)[:, None] + NEAR_ONE * (1 + np.abs(support)))


@every_curve
def test_the_profile_falls_and_flattens(curve: ta.TradeoffCurve) -> None:
    losses = np.linspace(-9, 9, 61)
    delta = curve.delta(losses)
    assert np.all((delta >= 0) & (delta <= 1))
    assert np.all(np.diff(delta) <= NEAR_ONE)
    assert np.all(delta >= -np.expm1(np.minimum(losses, 0)) - NEAR_ONE)  # always accusing
    assert np.all(delta >= curve.delta(np.inf) - NEAR_ONE)
    x = np.exp(losses)
    slope = np.diff(delta) / np.diff(x)
    assert np.all(np.diff(slope) >= -1e-10 - 1e-7 * np.abs(slope[1:]))


@every_curve
def test_epsilon_inverts_delta_from_above(curve: ta.TradeoffCurve) -> None:
    deltas = np.concatenate([[0.0], 10.0 ** -np.arange(280, 0, -20.0), [0.03, 0.3, 0.9, 1.0]])
    epsilon = curve.epsilon(deltas)
    limit = curve.delta(np.inf)
    assert np.all(epsilon >= 0)
    assert np.all(np.diff(epsilon[np.isfinite(epsilon)]) <= 0)
    assert np.all(np.isinf(epsilon[deltas < limit]))
    finite = np.isfinite(epsilon)
    # An attack's ε is a lower bound, so it is not rounded up as a promise's is.
    nudge = 1 + 1e-12 if curve.bound is ta.Bound.UPPER else 1.0
    back = curve.delta(epsilon[finite] * nudge)
    assert np.all(back <= deltas[finite] * (1 + 1e-9) + 1e-300)
    # A smaller ε does not do.
    positive = finite & (epsilon > 1e-6)
    less = curve.delta(epsilon[positive] * (1 - 1e-7))
    assert np.all(less >= deltas[positive] * (1 - 1e-9))


@every_curve
def test_mirroring_is_an_involution_and_inverts(curve: ta.TradeoffCurve) -> None:
    mirror = curve.mirrored()
    np.testing.assert_array_equal(mirror.mirrored().beta(ALPHAS), curve.beta(ALPHAS))
    # T⁻¹(T(α)) is the least size with that miss rate: at most α.
    beta = curve.beta(ALPHAS)
    assert np.all((mirror.beta(beta) <= ALPHAS + 1e-9) | (beta < 1e-290))  # or underflow
    # Off the atoms, rejecting h0 in one order is accepting it in the other.
    off = LOSSES + 0.0123456789
    rates, flipped = curve.rates(off), mirror.rates(-off)
    for rate, other in ((flipped.fpr, rates.fnr), (flipped.tpr, rates.tnr)):
        np.testing.assert_allclose(rate, other, rtol=1e-9, atol=1e-12)
    same = curve.delta(0.0)
    assert mirror.delta(0.0) == pytest.approx(same, rel=1e-11, abs=1e-14)


@every_curve
def test_both_orders_profiles_agree(curve: ta.TradeoffCurve) -> None:
    """H of the mirrored pair at −a is e^−a·H(a) + 1 − e^−a."""
    losses = np.linspace(-6, 6, 25)
    want = np.exp(-losses) * curve.delta(losses) - np.expm1(-losses)
    assert np.abs(curve.mirrored().delta(-losses) - want).max() <= 1e-11 * np.exp(6)


@every_curve
def test_symmetrised_is_the_worst_of_both_orders(curve: ta.TradeoffCurve) -> None:
    both, mirror = curve.symmetrised(), curve.mirrored()
    losses = np.linspace(-6, 6, 25)
    want = np.maximum(curve.delta(losses), mirror.delta(losses))
    assert np.abs(both.delta(losses) - want).max() <= 1e-12
    alphas = np.linspace(0, 1, 31)
    assert np.all(both.beta(alphas) <= np.minimum(curve.beta(alphas), mirror.beta(alphas)) + 1e-12)
    np.testing.assert_allclose(both.mirrored().beta(alphas), both.beta(alphas), atol=1e-12)
    assert both.bound is curve.bound


@every_curve
def test_area_lies_between_tangents_and_chords(curve: ta.TradeoffCurve) -> None:
    alphas = np.linspace(0, 1, 4001)
    beta = curve.beta(alphas)
    chords = float(np.sum((beta[1:] + beta[:-1]) / 2) * alphas[1])
    # A falling convex curve loses at most one cell's worth to its chords.
    assert chords - alphas[1] <= curve.area() <= chords + 1e-12


@every_curve
def test_json_returns_the_same_curve(curve: ta.TradeoffCurve) -> None:
    again = ta.from_json(ta.to_json(curve))
    np.testing.assert_array_equal(again.beta(ALPHAS), curve.beta(ALPHAS))
    np.testing.assert_array_equal(again.delta(LOSSES), curve.delta(LOSSES))
    assert again.bound is curve.bound


@every_curve(8)
def test_it_dominates_itself_and_no_gap_opens(curve: ta.TradeoffCurve) -> None:
    assert ta.dominates(curve, curve)
    assert ta.gap(curve, curve) <= 1e-12
    perfect = ta.guarantee(mu=0.0)
    assert ta.dominates(curve, perfect)
    assert ta.gap(perfect, curve) == pytest.approx(curve.delta(0.0) / 2, abs=1e-9)
