"""Clones beyond what is listed: the bound against every number of clones and every outcome.

What is left out of a long list must be charged for, so that the bound is never below the whole
sum, however small δ is. Logarithms of whole numbers and sums of positive terms: no digit is lost.
"""

import math
from functools import lru_cache

import numpy as np
import pytest

from tellapart.curve.atomic import from_atoms
from tellapart.curve.base import Bound
from tellapart.curve.composition.shuffling import _levels, _outcomes, shuffled_curve

# What logarithms of counts, and sums of a million terms, lose in doubles; nothing else is allowed.
ROUNDING = 1e-11
SHARES = np.array([0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 0.5, 0.8, 0.97, 0.999])


@lru_cache
def factorials(most):
    """log 0!, log 1!, … from whole numbers: each is right to its last digit or two."""
    logs, product = [0.0], 1
    for k in range(1, most + 1):
        product *= k
        logs.append(math.log(product))
    return np.array(logs)


def log_binomial(total, chance):
    logs, k = factorials(total), np.arange(total + 1)
    ways = logs[total] - logs - logs[::-1]
    return ways + k * math.log(chance) + (total - k) * math.log1p(-chance)


def profile(local, count, epsilon):
    """δ among so many clones: C + 1 fair coins, one of which is the person's own."""
    size = count + 1
    a, logs = np.arange(size + 1.0), factorials(size)
    even = np.exp(logs[size] - logs - logs[::-1] - size * math.log(2)) * 2 / size
    rare, likely = 1 / (1 + math.exp(local)), 1 / (1 + math.exp(-local))
    present, absent = a * rare + (size - a) * likely, a * likely + (size - a) * rare
    gain = present - np.multiply.outer(np.exp(epsilon), absent)
    return np.maximum(gain, 0.0) @ even


def chance_of(local):
    return 2 / (math.exp(local) + 1)


CASES = [(151, 0.5), (151, 3.0), (400, 0.05), (400, 0.5), (400, 2.0), (5000, 1.0), (6000, 2.2)]


@pytest.mark.parametrize(("others", "local"), CASES)
def test_the_bound_is_never_below_the_sum_over_all_clones(others, local):
    epsilon = SHARES * local
    want = np.zeros(epsilon.size)
    for count, log_mass in enumerate(log_binomial(others, chance_of(local))):
        if log_mass > -700:
            want += math.exp(log_mass) * profile(local, count, epsilon)
    curve = shuffled_curve(local, others, chance_of(local))
    for side in (curve, curve.mirrored()):
        delta = side.delta(epsilon)
        assert np.all(delta >= want * (1 - ROUNDING))
        # It is not bought by giving everything away: where δ is of use, it is nearly reached.
        used = want > 1e-12
        np.testing.assert_allclose(delta[used], want[used], rtol=0.05)


@pytest.mark.parametrize(
    ("others", "local"), [*CASES, (152, 0.01), (5000, 0.3), (100_000, 1.0), (100_000, 5.0)]
)
def test_no_number_of_clones_is_taken_for_a_larger_one(others, local):
    """At most so many clones are at least as likely as they are in truth, for every number."""
    levels, masses = _levels(others, chance_of(local))
    order = np.argsort(levels, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(masses[order])])
    at_most = np.arange(others + 1)
    sums = sums[np.searchsorted(levels[order], at_most, side="right")]
    with np.errstate(under="ignore"):
        want = np.cumsum(np.exp(log_binomial(others, chance_of(local))))
    # An error of 1e-16 in the chance is one of 1e-11 in the likelihood of 100,000 clones.
    assert np.all(sums >= np.minimum(want, 1.0) * (1 - 10 * ROUNDING))


@pytest.mark.parametrize("count", [0, 1, 200, 234, 260, 400, 1000, 3000])
@pytest.mark.parametrize("local", [0.05, 1.0, 4.0])
def test_outcomes_that_are_left_out_are_charged_for(count, local):
    """For each number of clones alone, down to where all messages are alike."""
    losses, present = _outcomes(local, count)
    curve = from_atoms(losses, present * np.exp(-losses), present, Bound.LOWER)
    epsilon = SHARES * local
    delta, want = curve.delta(epsilon), profile(local, count, epsilon)
    assert np.all(delta >= want * (1 - ROUNDING))
    assert np.all(curve.mirrored().delta(epsilon) >= want * (1 - ROUNDING))
    # What is charged is too little to see elsewhere.
    assert np.all(delta <= want * (1 + ROUNDING) + 1e-47)
