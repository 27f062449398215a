"""The cost-based choice: what a person is expected to lose by being in the data."""

import math
import re

import numpy as np
import pytest

import tellapart as ta
from tellapart import choose, risk

LIMIT = choose.by_cost(costs={0.01: 1000}, allowed=5)


def test_values_computed_independently():
    gaussian = choose.largest(lambda mu: ta.guarantee(mu=mu), [LIMIT])
    assert gaussian.parameter == pytest.approx(0.15626, abs=5e-6)
    pure = choose.largest(lambda epsilon: ta.guarantee(epsilon), [LIMIT])
    assert pure.parameter == pytest.approx(math.log(1.5), abs=1e-9)  # (e^ε − 1)·0.01·1000 = 5
    assert pure.parameter <= math.log(1.5)
    assert str(LIMIT) == "extra_cost(costs=((0.01, 1000),)) ≤ 5"


@pytest.mark.parametrize(
    "curve",
    [
        ta.guarantee(epsilon=1),
        ta.guarantee(1, 0.01),
        ta.Gaussian(1).curve(),
        ta.Gaussian(1).sampled(0.1).curve(),
        ta.from_pmfs([0.7, 0.2, 0.1], [0.2, 0.3, 0.5]),
    ],
    ids=["pure", "pairs", "Gaussian", "sampled", "pmfs"],
)
@pytest.mark.parametrize("chance", [1e-6, 0.01, 0.2, 0.5, 0.9, 0.999])
def test_the_worst_chance_up_to_the_one_given_counts(curve, chance):
    """The gain is not monotone in κ: where κ is only an upper bound, a smaller one may be worse."""
    kink = float(curve.symmetrised().rates(-1e-9).fpr), float(curve.rates(0.0).fpr)
    smaller = np.append(chance * np.linspace(1e-4, 1, 2001), [x for x in kink if x <= chance])
    gains = np.asarray(risk.reconstruction(curve, smaller)) - smaller
    cost = risk.extra_cost(curve, costs={chance: 7.0})
    assert cost >= 7 * np.max(gains) - 1e-12
    assert cost == pytest.approx(7 * np.max(gains), rel=1e-4)


def test_costs_add_up_and_never_fall_with_the_chance():
    curve = ta.Gaussian(1).curve()
    parts = [risk.extra_cost(curve, costs={chance: 10.0}) for chance in (0.001, 0.3, 0.9)]
    assert parts == sorted(parts)
    together = risk.extra_cost(curve, costs={0.001: 10, 0.3: 10, 0.9: 10})
    assert together == pytest.approx(sum(parts), rel=1e-12)
    assert risk.extra_cost(ta.guarantee(epsilon=0), costs={0.1: 10}) == 0


def test_a_training_run_is_chosen_by_its_own_order():
    def made(noise):
        return ta.dp_sgd(noise_multiplier=noise, sampling_rate=0.01, steps=1000)

    plain = choose.least(made, [LIMIT])
    sure = choose.least(made, [LIMIT], certified=True)
    assert plain.parameter <= sure.parameter <= plain.parameter * 1.001
    assert risk.extra_cost(sure.curve, costs={0.01: 1000}) <= 5


@pytest.mark.parametrize(
    ("costs", "allowed", "message"),
    [
        (3, 5, "costs must be a mapping from chances to costs, as {0.01: 1000}, or pairs of"),
        ({}, 5, "costs must not be empty"),
        ({0: 10}, 5, "chance in costs must lie"),
        ({1.2: 10}, 5, "chance in costs must lie"),
        ({0.1: -1}, 5, "cost in costs must be"),
        ({0.1: 10}, 0, "allowed must be"),
    ],
)
def test_bad_input_is_refused(costs, allowed, message):
    with pytest.raises(ta.InvalidArgument, match="^" + re.escape(message)):
        choose.by_cost(costs=costs, allowed=allowed)
