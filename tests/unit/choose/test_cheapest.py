"""The least total cost: accuracy against what people may lose, against formulas and brute force."""

import math
import re

import numpy as np
import pytest
from scipy import optimize

import tellapart as ta
from tellapart import choose, risk
from tellapart.choose.least_cost import cheapest


def deviation_costs(price):
    return lambda mechanism: price * mechanism.deviation()


@pytest.mark.parametrize(("people", "price"), [(100, 50.0), (10, 200.0), (5_000, 3.0)])
def test_laplace_noise_by_its_formula(people, price):
    """At a small chance κ the TPR is κ·e^ε, so the total is price·√2/ε + n·c·κ·(e^ε − 1)."""
    chance, harm = 1e-4, 1e4

    def total(epsilon):
        return price * math.sqrt(2) / epsilon + people * harm * chance * math.expm1(epsilon)

    answer = optimize.minimize_scalar(total, bounds=(1e-3, 9), method="bounded")
    assert chance < math.exp(-answer.x) / 2  # where the formula holds
    found = cheapest(
        ta.Laplace,
        costs={chance: harm},
        people=people,
        accuracy=deviation_costs(price),
        tolerance=1e-5,
    )
    assert found.everywhere
    assert found.total == pytest.approx(answer.fun, rel=2e-5)
    assert found.total == pytest.approx(total(1 / found.parameter), rel=1e-9)
    assert found.lower_bound <= answer.fun <= found.total * (1 + 1e-9)
    by_epsilon = cheapest(
        ta.Laplace.with_epsilon,
        costs={chance: harm},
        people=people,
        accuracy=deviation_costs(price),
        grows_private=False,
        tolerance=1e-5,
    )
    assert by_epsilon.total == pytest.approx(found.total, rel=3e-5)
    assert 1 / by_epsilon.parameter == pytest.approx(found.parameter, rel=0.02)


def stairs(mechanism):
    """Accuracy is worth much up to a few thresholds: a total with several valleys."""
    return sum(300.0 * (mechanism.sigma > edge) for edge in (0.8, 2.5, 9.0)) + mechanism.sigma


SEVERAL = {
    "stairs": (ta.Gaussian, stairs, {0.01: 1000, 0.2: 50}, 10),
    "whole errors": (ta.DiscreteLaplace, lambda m: 20.0 * m.margin(), {0.05: 200}, 40),
    "square errors": (ta.Gaussian, lambda m: m.sigma**2, {0.001: 1e5}, 30),
    "a rare and a common harm": (ta.Laplace, lambda m: 9 * m.scale, {1e-6: 1e6, 0.5: 10}, 20),
    "saturating": (ta.Gaussian, lambda m: 100 * (1 - math.exp(-m.sigma)), {0.1: 30}, 5),
}


@pytest.mark.parametrize(("family", "accuracy", "costs", "people"), SEVERAL.values(), ids=SEVERAL)
@pytest.mark.parametrize("tolerance", [0.05, 1e-3])
def test_no_parameter_on_a_fine_grid_is_cheaper(family, accuracy, costs, people, tolerance):
    low, high = 0.05, 200.0
    found = cheapest(
        family,
        costs=costs,
        people=people,
        accuracy=accuracy,
        between=(low, high),
        tolerance=tolerance,
    )
    grid = np.geomspace(low, high, 4001)
    totals = [
        accuracy(family(x)) + people * risk.extra_cost(family(x).curve(), costs=costs)
        for x in grid.tolist()
    ]
    assert min(totals) >= found.lower_bound
    assert found.total <= min(totals) / (1 - tolerance) * (1 + 1e-12)
    assert found.lower_bound >= (1 - tolerance) * found.total
    assert low <= found.parameter <= high
    assert not found.everywhere
    parts = found.accuracy_cost + found.people * found.extra_cost
    assert found.total == pytest.approx(parts, rel=1e-12)
    assert found.extra_cost == pytest.approx(risk.extra_cost(found.curve, costs=costs), rel=1e-12)


def test_several_valleys_and_the_deepest_one():
    """A descent from most starts ends in the wrong one of these valleys."""
    family, accuracy, costs, people = SEVERAL["stairs"]
    grid = np.geomspace(0.05, 200, 2001).tolist()
    totals = np.array(
        [
            accuracy(family(x)) + people * risk.extra_cost(family(x).curve(), costs=costs)
            for x in grid
        ]
    )
    inner = range(1, len(grid) - 1)
    valleys = [k for k in inner if totals[k] < totals[k - 1] and totals[k] <= totals[k + 1]]
    assert len(valleys) >= 3
    found = cheapest(family, costs=costs, people=people, accuracy=accuracy)
    assert found.everywhere
    assert found.total <= totals.min() * (1 + 1e-3)


def test_both_costs_jump_and_the_bound_stays_honest():
    """At the jump neither side is as cheap as the bound, which is all that is known."""

    def family(x):
        return ta.guarantee(epsilon=3.0 if x < 2 else 0.1)

    found = cheapest(
        family,
        costs={0.01: 100},
        people=10,
        accuracy=lambda curve: 0.0 if curve.claimed_epsilon > 1 else 500.0,
        between=(0.5, 8),
    )
    before, after = (10 * risk.extra_cost(family(x), costs={0.01: 100}) for x in (1, 3))
    assert found.total == pytest.approx(min(before, 500 + after))
    assert found.lower_bound == pytest.approx(after)


def test_a_training_run():
    found = cheapest(
        lambda noise: ta.dp_sgd(noise, sampling_rate=0.01, steps=1000),
        costs={0.01: 1000},
        people=1_000,
        accuracy=lambda training: 4_000 * training.base.base.sigma,
        tolerance=0.02,
    )
    assert found.everywhere
    for noise in (0.5, 0.9, 1.2, 1.5, 2, 4):
        curve = ta.dp_sgd(noise, sampling_rate=0.01, steps=1000).curve()
        assert found.lower_bound <= 4_000 * noise + 1000 * risk.extra_cost(
            curve, costs={0.01: 1000}
        )


def test_where_no_noise_pays_the_range_is_said():
    """A person can lose 10 at most; noise that helps costs more than that."""
    found = cheapest(
        ta.Gaussian, costs={0.1: 10}, people=1, accuracy=lambda m: 1e6 * min(m.sigma, 1e3)
    )
    assert not found.everywhere
    assert found.parameter == found.searched[0]
    assert found.total <= 10 * (1 + 1e-3)
    assert re.search(r"any from \S+ to \S+ has at least", str(found))


def test_it_agrees_with_what_is_allowed():
    """At the least total, the choice by the same extra cost as a limit is the same parameter."""
    found = cheapest(
        ta.Gaussian, costs={0.01: 1000}, people=50, accuracy=deviation_costs(10), tolerance=1e-6
    )
    limit = choose.by_cost(costs={0.01: 1000}, allowed=found.extra_cost)
    assert choose.least(ta.Gaussian, [limit]).parameter == pytest.approx(found.parameter, rel=1e-6)


USUAL = {"costs": {0.01: 1000}, "people": 10, "accuracy": lambda mechanism: mechanism.sigma}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": {}}, "costs must not be empty"),
        ({"people": 0}, "people must be"),
        ({"accuracy": 3}, "accuracy must be"),
        ({"accuracy": lambda mechanism: -1.0}, "the cost of accuracy must be finite and at least"),
        ({"between": (2, 1)}, "between must rise, got (2, 1)"),
        ({"between": 3}, "between must be two parameters, as (0.1, 10), got 3"),
        ({"tolerance": 0}, "tolerance must lie strictly between 0 and 1, got 0"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ta.InvalidArgument, match="^" + re.escape(message)):
        cheapest(ta.Gaussian, **(USUAL | options))


@pytest.mark.parametrize(
    "options",
    [{"accuracy": lambda mechanism: 1 / mechanism.sigma}, {"grows_private": False}],
    ids=["accuracy", "direction"],
)
def test_costs_that_move_the_wrong_way_are_refused(options):
    with pytest.raises(ta.NotCertified, match=r"^cannot find the least total: the cost of acc"):
        cheapest(ta.Gaussian, **(USUAL | options))
