"""NumPy as tutorials write it, with global generators and one answer a call: right and wrong.

Seeds are fixed; over seeds, the tests of releases that keep their promise would fail together with
probability below 1e-6.
"""

import math
import random

import numpy as np
import pytest
from audited import Release, pure

import tellapart as ta

AGES, ONE_MORE = [30.0, 40.0, 50.0], [30.0, 40.0, 50.0, 90.0]
OPTIONS = ["red", "green", "blue"]


def noisy_count(data, epsilon=1.0):
    return len(data) + np.random.laplace(loc=0, scale=1 / epsilon)


def clipped_sum(data, epsilon=1.0, bound=60.0):
    return np.clip(data, 0, bound).sum() + np.random.laplace(0, bound / epsilon)


def coin_flips(answer):
    """Two flips of a fair coin: ε = ln 3."""
    if random.random() < 0.5:  # noqa: S311
        return answer
    return random.random() < 0.5  # noqa: S311


def votes(data):
    return np.array([data.count(option) for option in OPTIONS])


def most_voted(data, epsilon=1.0):
    weights = np.exp(epsilon * votes(data) / 2)
    return np.random.choice(OPTIONS, p=weights / weights.sum())


def noisy_votes(data, epsilon=1.0):
    return votes(data) + np.random.laplace(0, 1 / epsilon, size=len(OPTIONS))


def gaussian_sum(data, epsilon=1.0, delta=0.01):
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return np.clip(data, 0, 1).sum() + np.random.normal(0, sigma)


def scale_upside_down(data, epsilon=0.5):
    return len(data) + np.random.laplace(0, epsilon)


def unclipped_sum(data, epsilon=1.0, bound=60.0):
    return np.sum(data) + np.random.laplace(0, bound / epsilon)


def mean_of_true_length(data, epsilon=1.0, bound=60.0):
    """The length is not noisy, and its noise tells it."""
    return (np.clip(data, 0, bound).sum() + np.random.laplace(0, bound / epsilon)) / len(data) ** 4


def bounds_of_the_data(data, epsilon=1.0):
    spread = max(data) - min(data)
    return np.mean(data) + np.random.laplace(0, spread / len(data) / epsilon)


def gaussian_without_delta(data, epsilon=1.0):
    return np.clip(data, 0, 1).sum() + np.random.normal(0, 1 / epsilon)


def counts_of_the_seen(data, epsilon=1.0):
    names, counts = np.unique(data, return_counts=True)
    return dict(
        zip(names.tolist(), counts + np.random.laplace(0, 1 / epsilon, len(names)), strict=True)
    )


def noisy_max_shown(data, epsilon=1.0):
    return max(votes(data) + np.random.laplace(0, 0.5 / epsilon, len(OPTIONS)))


def rounded_noise(data, epsilon=1.0):
    return len(data) + round(np.random.laplace(0, 0.3 / epsilon))


VOTED, MOVED = ["red", "green"], ["red", "green", "blue"]
KEPT = [
    Release("count", noisy_count, AGES, ONE_MORE, pure(1)),
    Release("sum", clipped_sum, AGES, ONE_MORE, pure(1)),
    Release("coin-flips", coin_flips, False, True, pure(math.log(3))),
    Release("exponential", most_voted, VOTED, ["green", "green"], pure(1)),
    Release("histogram", noisy_votes, VOTED, MOVED, pure(1)),
    Release("gaussian", gaussian_sum, [0.2], [0.2, 1.0], ta.guarantee(1, 0.01)),
]
BROKEN = [
    Release("scale-upside-down", scale_upside_down, AGES, ONE_MORE, pure(0.5)),
    Release("unclipped", unclipped_sum, AGES, [*AGES, 500.0], pure(1)),
    Release("true-length", mean_of_true_length, AGES, ONE_MORE, pure(1)),
    Release("bounds-of-the-data", bounds_of_the_data, AGES, ONE_MORE, pure(1)),
    Release(
        "gaussian-without-delta", gaussian_without_delta, [0.2], [0.2, 1.0], ta.guarantee(1, 0.01)
    ),
    Release("counts-of-the-seen", counts_of_the_seen, VOTED, MOVED, pure(1)),
    Release("noisy-max-shown", noisy_max_shown, ["red"], ["red", "red"], pure(1)),
    Release("rounded", rounded_noise, AGES, ONE_MORE, pure(1)),
    Release("two-votes", noisy_votes, VOTED, ["green", "blue", "blue"], pure(1)),
]


@pytest.mark.parametrize("release", KEPT, ids=lambda one: one.name)
def test_textbook_code_that_is_right_is_not_refuted(release):
    assert not release.probed(10_000, 1 - 1e-7).refuted


@pytest.mark.parametrize("release", BROKEN, ids=lambda one: one.name)
def test_textbook_code_that_is_wrong_is_refuted(release):
    assert release.probed(10_000, 0.9999).refuted


@pytest.mark.slow
@pytest.mark.parametrize("release", KEPT, ids=lambda one: one.name)
def test_textbook_code_that_is_right_is_not_refuted_by_many_calls(release):
    assert not release.probed(100_000, 1 - 1e-7).refuted
