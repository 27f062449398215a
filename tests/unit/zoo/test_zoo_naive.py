"""Mechanisms without a written law, against loops copied from the papers' pseudo-code."""

import math

import numpy as np
import pytest

from tellapart import zoo

# Loops are slow, so they draw few; the DKW inequality on both samples at half this risk each.
RISK = 1e-9
LOOPS, BATCH = 4_000, 20_000


def sparse_vector_3(queries, rng):
    """Lyu, Su and Li 2017, algorithm 3, with c = 1, T = 1, ε = 1."""
    rho = rng.laplace(0, 2)
    answers = [math.nan] * len(queries)
    for i, query in enumerate(queries):
        nu = rng.laplace(0, 2)
        if query + nu >= 1 + rho:
            answers[i] = query + nu
            break
    return answers


def numerical(queries, rng):
    """Dwork and Roth 2014, algorithm 3 (NumericSparse), with c = 2, T = 1, ε = 1, δ = 0."""
    epsilon_1, epsilon_2, c = 8 / 9, 2 / 9, 2

    def sigma(epsilon):
        return 2 * c / epsilon

    bar, answers = 1 + rng.laplace(0, sigma(epsilon_1)), []
    for i, query in enumerate(queries):
        if query + rng.laplace(0, 2 * sigma(epsilon_1)) >= bar:
            answers.append((i, query + rng.laplace(0, sigma(epsilon_2))))
            bar = 1 + rng.laplace(0, sigma(epsilon_1))
            if len(answers) == c:
                break
    return answers


def noisy_mean(values, rng):
    total = sum(values) + rng.laplace(0, 2)
    return total / max(len(values) + rng.laplace(0, 2), 1)


def place(answers):
    shown = [i for i, value in enumerate(answers) if not math.isnan(value)]
    return shown[0] if shown else -1


def value(answers):
    shown = [value for value in answers if not math.isnan(value)]
    return shown[0] if shown else -1e3


READINGS = {
    "sparse-vector-3": (sparse_vector_3, [place, value]),
    "numerical-sparse-vector": (
        numerical,
        [
            len,
            lambda y: sum((i + 1) * 20**k for k, (i, _) in enumerate(y)),
            lambda y: y[0][1] if y else -1e6,
            lambda y: y[-1][1] if y else -1e6,
        ],
    ),
    "mean-by-noisy-size": (noisy_mean, [float]),
}


@pytest.mark.parametrize("name", READINGS)
@pytest.mark.parametrize("side", [0, 1])
def test_the_zoo_and_the_loop_agree_in_law(name, side):
    one, (loop, readings) = zoo.find(name), READINGS[name]
    data = one.pairs[0][side]
    rng = np.random.default_rng(60 + side)
    slow = [loop(data, rng) for _ in range(LOOPS)]
    fast = one.mechanism(data, rng, size=BATCH)
    share = RISK / len(readings)
    margin = sum(math.sqrt(math.log(4 / share) / (2 * n)) for n in (LOOPS, BATCH))
    for reading in readings:
        a, b = (np.sort([reading(y) for y in outputs]) for outputs in (slow, fast))
        at = np.concatenate([a, b])
        ranks = [np.searchsorted(x, at, side="right") / x.size for x in (a, b)]
        assert np.abs(ranks[0] - ranks[1]).max() <= margin


def test_memoised_noise_outlives_the_call():
    one = zoo.find("laplace-memoised")
    first = one.mechanism(0.0, np.random.default_rng(1))
    second = one.mechanism(1.0, np.random.default_rng(2), size=3)
    assert (second == 1.0 + first).all()
