"""How often a true claim is refuted at any time, and how soon a false one is.

A method that refutes a true claim with probability 5 % or less fails a test here with
probability below 1e-6 (binomial tail, stated limit).
"""

import math

import numpy as np
import pytest
from scipy import stats

from tellapart.audit import Wager, epsilon_sequence


def _most(runs, level=0.05):
    return stats.binom.isf(1e-6, runs, level)


def _pairs(rng, p1, p0, count, coupled=False):
    u = rng.random(count)
    v = u if coupled else rng.random(count)
    return u < p1, v < p0


BOUNDARY = {
    "the null boundary": (1.0, 0.0, 0.2, False),
    "coupled runs": (1.0, 0.0, 0.2, True),
    "nothing leaks": (0.0, 0.0, 0.5, False),
    "with delta": (0.5, 0.05, 0.1, False),
    "delta alone": (1.0, 0.1, 0.0, False),
    "a rare event": (1.0, 0.0, 2e-3, False),
    "a large epsilon": (4.0, 0.0, math.exp(-4.5), False),
}


@pytest.mark.parametrize("both_orders", [False, True])
@pytest.mark.parametrize(
    ("epsilon", "delta", "p0", "coupled"), BOUNDARY.values(), ids=list(BOUNDARY)
)
def test_true_claims_are_refuted_rarely_at_any_time(epsilon, delta, p0, coupled, both_orders):
    """The auditor looks after each of 3000 pairs and stops at the first refutation."""
    rng = np.random.default_rng(11)
    runs, p1 = 600, math.exp(epsilon) * p0 + delta
    wager = Wager(epsilon, delta, both_orders=both_orders)
    refuted = sum(wager.update(*_pairs(rng, p1, p0, 3000, coupled)).refuted for _ in range(runs))
    assert refuted <= _most(runs)


@pytest.mark.slow
@pytest.mark.parametrize("both_orders", [False, True])
def test_true_claims_over_long_horizons(both_orders):
    rng = np.random.default_rng(12)
    runs, wager = 1500, Wager(1.0, both_orders=both_orders)
    refuted = sum(
        wager.update(*_pairs(rng, 0.2 * math.e, 0.2, 60_000)).refuted for _ in range(runs)
    )
    assert refuted <= _most(runs)


def test_the_experiment_sees_false_claims():
    """The same pairs against half of the true ε are refuted nearly always."""
    rng = np.random.default_rng(13)
    runs, wager = 300, Wager(0.5)
    refuted = sum(wager.update(*_pairs(rng, 0.2 * math.e, 0.2, 3000)).refuted for _ in range(runs))
    assert refuted > 0.9 * runs


def test_events_chosen_from_the_past():
    """Randomised response over five answers; each event is the answer most in excess so far."""
    rng = np.random.default_rng(14)
    epsilon, runs, refuted = 1.0, 600, 0
    truth = math.exp(epsilon) / (math.exp(epsilon) + 4)
    law = np.full((2, 5), (1 - truth) / 4)
    law[0, 0] = law[1, 1] = truth
    for _ in range(runs):
        first, second = (rng.choice(5, size=400, p=p) for p in law)
        answers = np.arange(5)
        excess = np.cumsum(
            (first[:, None] == answers) - math.exp(epsilon) * (second[:, None] == answers), axis=0
        )
        events = np.append(0, np.argmax(excess[:-1], axis=1))
        refuted += Wager(epsilon).update(first == events, second == events).refuted
    assert refuted <= _most(runs)


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_the_epsilon_shown_exceeds_the_truth_rarely(delta):
    rng = np.random.default_rng(15)
    runs, p0, p1 = 120, 0.1, 0.4
    true = math.log((p1 - delta) / p0)
    over = sum(
        epsilon_sequence(*_pairs(rng, p1, p0, 300), delta=delta)[-1] > true for _ in range(runs)
    )
    assert over <= _most(runs)


@pytest.mark.parametrize(("both_orders", "soon"), [(False, 85), (True, 103)])
def test_too_little_noise_is_found_soon(both_orders, soon):
    """Laplace noise of half the scale that ε = 1 needs; the event is an output above 1.

    The means are near 80 and 98 pairs, with standard deviations of 49 and 56 between audits: the
    limits are more than 5 standard errors of 4000 audits away.
    """
    rng = np.random.default_rng(16)
    wager, needed = Wager(1.0, both_orders=both_orders), []
    for _ in range(4000):
        x, y = 1 + rng.laplace(scale=0.5, size=1000) > 1, rng.laplace(scale=0.5, size=1000) > 1
        needed.append(wager.update(x, y).refuted_after)
    assert None not in needed
    assert np.mean(needed) < soon
