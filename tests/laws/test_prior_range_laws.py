"""An unknown prior: bounds that hold for every prior in the range, and are reached by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import examples
from families import CURVE_FAMILIES, any_mechanism
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import tellapart as ta
from tellapart import risk
from tellapart.worlds.adversary import PriorRange

curves = st.one_of(
    [CURVE_FAMILIES[name] for name in ("guarantee", "pmfs", "mu", "attack")]
    + [any_mechanism().map(lambda mechanism: mechanism.curve())]
)
ranges = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)
MEASURES: dict[Any, dict[str, Any]] = {
    risk.ppv: {"fpr": 0.03},
    risk.precision: {"recall": 0.4},
    risk.f_score: {"weight": 0.7},
    risk.max_posterior: {},
    risk.posterior: {"loss": 0.0},
    risk.accuracy: {},
}


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.__name__)
def test_the_bounds_hold_for_every_prior_and_are_reached(measure: Any) -> None:
    @settings(max_examples=examples(60), deadline=None)
    @given(curves, ranges)
    @example(ta.guarantee(0.01), [0.05, 0.51])
    @example(ta.Laplace(1).curve(), [0.49, 0.9])
    @example(ta.Laplace(1).curve(), [0.3, 0.45])
    def check(curve: ta.TradeoffCurve, ends: list[float]) -> None:
        about, arguments = PriorRange(*ends), MEASURES[measure]
        most = about.defender_bound(curve, measure, **arguments)
        least = about.attacker_guarantee(curve, measure, **arguments)
        values = measure(curve, prior=np.linspace(*ends, 301), **arguments)
        assert values.max() <= most + 1e-15
        assert values.min() >= least - 1e-15
        assert most == pytest.approx(values.max(), abs=1e-12)  # at an end
        smallest = values.min()
        if measure is risk.accuracy:
            start = int(np.argmin(values))
            cell = np.linspace(*ends, 301)[[max(start - 1, 0), min(start + 1, 300)]]
            if cell[0] < cell[1]:
                inner = minimize_scalar(
                    lambda p: risk.accuracy(curve, prior=p), bounds=cell, options={"xatol": 1e-12}
                )
                smallest = min(smallest, inner.fun)
        assert least == pytest.approx(smallest, abs=1e-7)  # the search's own accuracy

    check()


@settings(max_examples=examples(60), deadline=None)
@given(curves, ranges)
def test_one_attack_has_the_guaranteed_success_at_every_prior(
    curve: ta.TradeoffCurve, ends: list[float]
) -> None:
    """What is guaranteed does not need the prior: some mixed attack reaches it at both ends."""
    least = PriorRange(*ends).attacker_guarantee(curve, risk.accuracy)
    fpr = np.concatenate([np.linspace(0, 1, 2001), 10.0 ** np.linspace(-12, 0, 500)])
    fpr = np.concatenate([fpr, curve.rates(np.linspace(-20, 20, 801)).fpr])
    errors = np.array([(1 - p) * fpr + p * curve.beta(fpr) for p in ends]).max(axis=0)
    # No attack reaches more; one does, as far as the grid of attacks is fine.
    assert least - 1e-3 <= 1 - errors.min() <= least + 1e-12
