"""Who leaks more: domination, crossings and gaps tell one story."""

from __future__ import annotations

from typing import Any

import numpy as np
from examples import examples
from families import CURVE_FAMILIES, any_mechanism
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import choose, risk
from tellapart.curve.algebra import crossings

few = settings(max_examples=examples(60), deadline=None)
curves = st.one_of(
    st.one_of([CURVE_FAMILIES[name] for name in ("guarantee", "pmfs", "mu")]),
    any_mechanism().map(lambda mechanism: mechanism.curve()),
)


@few
@given(curves, curves)
def test_curves_that_cross_do_not_dominate_and_the_others_do(
    a: ta.TradeoffCurve, b: ta.TradeoffCurve
) -> None:
    places = crossings(a, b)
    ordered = ta.dominates(a, b, 1e-9) or ta.dominates(b, a, 1e-9)
    if places:
        assert not (ta.dominates(a, b))
        assert not (ta.dominates(b, a))
    else:
        assert ordered
    for crossing in places:
        assert np.isclose(a.beta(crossing.fpr), b.beta(crossing.fpr), rtol=1e-9, atol=1e-12)
        assert np.isclose(a.beta(crossing.fpr), crossing.fnr, rtol=1e-9, atol=1e-12)


@few
@given(curves, curves)
def test_crossings_do_not_care_who_is_first(a: ta.TradeoffCurve, b: ta.TradeoffCurve) -> None:
    forth, back = crossings(a, b), crossings(b, a)
    assert len(forth) == len(back)
    assert np.allclose(np.array(forth), np.array(back), rtol=1e-9, atol=1e-12)


@few
@given(curves, curves, st.floats(0.01, 0.99))
def test_the_gap_bounds_every_difference_of_errors(
    a: ta.TradeoffCurve, b: ta.TradeoffCurve, prior: float
) -> None:
    """What a comparison calls Δ: no prior lets an attacker gain more by the change."""
    pair = choose.compare({"a": a, "b": b}).pairs[0]
    gain = risk.bayes_error(a, prior=prior) - risk.bayes_error(b, prior=prior)
    assert -pair.gap_back - 1e-12 <= gain <= pair.gap + 1e-12
    assert not (pair.first_leaks and pair.gap > 0)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.one_of(st.just(0.0), st.floats(0, 2000)),
    st.one_of(st.just(0.0), st.floats(0, 2000)),
    st.sampled_from([ta.guarantee, ta.RandomizedResponse, ta.Laplace.with_epsilon]),
)
def test_of_two_pure_promises_the_larger_leaks_more_however_large(
    one: float, other: float, family: Any
) -> None:
    """Also where doubles no longer hold the masses; beyond 700 nothing is told apart."""
    small, large = sorted((one, other))
    a, b = (x.curve() if isinstance(x, ta.Mechanism) else x for x in map(family, (small, large)))
    assert ta.dominates(b, a)
    if small < 600 and large > small + 0.01:
        assert not ta.dominates(a, b)
        assert choose.compare({"a": a, "b": b}).pairs[0].gap > 0
