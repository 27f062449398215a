"""Alternative hypotheses begin at the claim, and leak more and more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellapart as ta
from tellapart.audit.alternatives import STRONGEST, alternative, leaking_more, weakest_found

FPR = np.concatenate([np.geomspace(1e-9, 0.3, 40), 1 - np.geomspace(1e-9, 0.5, 30)])
CLAIMS = [
    ta.Laplace(1.0),
    ta.dp_sgd(2.0, 0.1, 10),
    ta.DiscreteGaussian(3.0),
    ta.UniformNoise(5.0),
    ta.AboveThreshold(4.0, 8.0),
    ta.ExponentialMechanism(1.0),
    ta.PermuteAndFlip(0.5),
    ta.ReportNoisyMax(1.0),
    ta.RandomizedResponse(1.0, categories=5),
    ta.UnaryEncoding.optimised(1.0),
    ta.Staircase(1.0),
    ta.compose([ta.Gaussian(1.0, neighbours=ta.Neighbours.REPLACE), ta.RandomizedResponse(1.0)]),
    ta.Laplace(1.0).curve(),
    ta.Gaussian(2.0).sampled(0.1).curve(),
    ta.guarantee(1.0, 1e-5),
    ta.guarantee(0.0),
    ta.guarantee(mu=1.0),
    ta.guarantee(zcdp=0.5),
    ta.guarantee(rdp=[(2, 0.5), (10, 2)]),
    ta.guarantee(pairs=[(1, 0.01), (3, 1e-4)]),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@given(strength=st.floats(1.0, 4.0), more=st.floats(1.0, 4.0))
def test_strength_one_is_the_claim_and_more_leaks_more(claim, strength, more):
    family = alternative(claim)
    curve = claim if isinstance(claim, ta.TradeoffCurve) else claim.curve()
    claimed = (
        curve.symmetrised().tpr(FPR) if isinstance(claim, ta.TradeoffCurve) else curve.tpr(FPR)
    )
    assert family.curve(1.0).tpr(FPR) == pytest.approx(claimed, rel=2e-3, abs=1e-9)
    less, larger = (family.curve(each).tpr(FPR) for each in (strength, strength * more))
    if not isinstance(claim, ta.DiscreteGaussian):  # which is sparse where its noise is small
        assert np.all(larger >= less * (1 - 1e-9))
        assert np.all(less >= claimed * (1 - 1e-9))


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (ta.dp_sgd(2.0, 0.1, 10), "the claimed mechanism with its noise divided by 1.5"),
        (ta.ExponentialMechanism(1.0), "the claimed mechanism with its ε multiplied by 1.5"),
        (
            ta.compose([ta.Laplace(1.0), ta.ExponentialMechanism(1.0)]),
            "the claimed mechanism with its noise divided, and every ε multiplied, by 1.5",
        ),
        (ta.guarantee(1), "a mechanism that truly leaks all that ε ≥ 1.5 allows"),
        (
            ta.guarantee(zcdp=1),
            "a mechanism that truly leaks all that the claim allows with every ε multiplied by 1.5",
        ),
    ],
)
def test_families_are_named(claim, words):
    assert alternative(claim).words(1.5) == words


def test_noise_is_divided_and_a_promise_left_alone():
    assert leaking_more(ta.dp_sgd(2.0, 0.1, 10), 2.0) == ta.dp_sgd(1.0, 0.1, 10)
    assert leaking_more(ta.AboveThreshold(4.0, 8.0), 2.0) == ta.AboveThreshold(2.0, 4.0)
    assert leaking_more(ta.PermuteAndFlip(0.5), 2.0) == ta.PermuteAndFlip(1.0)
    assert leaking_more(ta.UnaryEncoding.optimised(1.0), 2.0) == ta.UnaryEncoding.optimised(1.0)


def test_the_weakest_found_is_the_least_of_power_ninety():
    detected, strength = weakest_found(lambda strength: min(strength - 1, 1.0))
    assert detected
    assert strength == pytest.approx(1.9, rel=0.02)
    assert weakest_found(lambda strength: 0.5) == (False, STRONGEST)
    detected, strength = weakest_found(lambda strength: strength >= 63)
    assert detected
    assert 63 <= strength <= 63 * 1.01


@pytest.mark.parametrize("known", [1.0, 1.3, 5.0])
def test_where_no_curve_is_known_nothing_is_found(known):
    def power(strength):
        if strength > known:
            raise ta.NotCertified("too little noise")
        return 0.0

    found, strength = weakest_found(power, power)
    assert not found
    assert strength <= known
