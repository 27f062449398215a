"""Draws are what they say, and depend on the seed, the model and the step alone."""

import numpy as np
import pytest
from scipy import stats

torch = pytest.importorskip("torch")

from tellapart.errors import Unsupported  # noqa: E402
from tellapart.fleet import _random  # noqa: E402
from tellapart.fleet._random import NOISE, SAMPLING, coins, counters, keys, limit_of  # noqa: E402


def drawn(what, models, count, step=0, seed=(5,), purpose=NOISE, **more):
    key = keys(seed, purpose, models, step + 1, "cpu")[step]
    return what(counters(models, count, "cpu"), key[0], key[1], **more).numpy()


def hashed(place: int, first: int, second: int) -> int:
    """The same word by Python's whole numbers."""
    most = 2**32 - 1
    x = (place ^ first) & most
    x = (x ^ x >> 17) * 0xED5AD4BB & most
    x = (x + second) & most
    x = (x ^ x >> 11) * 0xAC4C1B51 & most
    x = (x ^ x >> 15) * 0x31848BAB & most
    return x ^ x >> 14


def test_words_are_those_of_whole_numbers():
    models = np.arange(60, 70)
    key = keys((9, 2), SAMPLING, models, 3, "cpu")[2]
    found = _random.words(counters(models, 50, "cpu"), key[0], key[1]).numpy().view(np.uint32)
    for row, model in enumerate(models):
        state = np.random.SeedSequence(9, spawn_key=(2, SAMPLING, model // 64)).generate_state(6)
        for column in (0, 1, 49):
            place = (model % 64) * 50 + column
            assert found[row, column] == hashed(int(place), int(state[4]), int(state[5]))


def test_draws_do_not_depend_on_who_is_drawn_with():
    every = drawn(_random.normals, np.arange(200), 34, step=2)
    for some in (np.array([3]), np.arange(60, 70), np.array([5, 64, 199])):
        np.testing.assert_array_equal(drawn(_random.normals, some, 34, step=2), every[some])


def test_normals_are_normal():
    # Each p-value is below 1e-7 with probability 1e-7; the seed is fixed.
    sample = drawn(_random.normals, np.arange(128), 4_000).astype(float)
    assert stats.kstest(sample.ravel(), "norm").pvalue > 1e-7
    n = sample.size
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((sample**power).mean() - mean) < 5.5 * np.sqrt(variance / n)
    tail = (np.abs(sample) > 4).sum()
    assert stats.binomtest(int(tail), n, 2 * stats.norm.sf(4)).pvalue > 1e-7


def test_draws_of_steps_models_and_purposes_are_uncorrelated():
    models = np.arange(192)
    one = drawn(_random.normals, models, 2_000).astype(float)
    others = [
        drawn(_random.normals, models, 2_000, step=1),
        drawn(_random.normals, models, 2_000, purpose=SAMPLING),
        drawn(_random.normals, models, 2_000, seed=(6,)),
        np.roll(one, 1, axis=0),
        np.roll(one, 64, axis=0),
        np.roll(one, 1, axis=1),
        np.roll(one, 1_000, axis=1),  # the two numbers of a pair
    ]
    for other in others:
        assert abs((one * other).mean()) < 5.5 / np.sqrt(one.size)
        assert abs(((one**2 - 1) * (other**2 - 1)).mean()) < 5.5 * 2 / np.sqrt(one.size)


@pytest.mark.parametrize("rate", [0.001, 0.07, 0.5, 0.999])
def test_coins_have_their_rate_and_are_independent(rate):
    thrown = drawn(coins, np.arange(320), 1_797, limit=limit_of(rate), purpose=SAMPLING)
    assert stats.binomtest(int(thrown.sum()), thrown.size, rate).pvalue > 1e-7
    # Counts of rows and columns vary as binomial ones do.
    for axis in (0, 1):
        counts, size = thrown.sum(axis), thrown.shape[axis]
        spread = ((counts - size * rate) ** 2 / (size * rate * (1 - rate))).sum()
        assert 1e-7 < stats.chi2.sf(spread, counts.size) < 1 - 1e-7


def test_a_limit_is_the_probability_in_32_bits():
    assert limit_of(0.5) == 0
    assert limit_of(0.25) == -(2**30)
    assert limit_of(1 - 1e-12) == 2**31 - 1


def test_too_many_numbers_are_refused():
    with pytest.raises(Unsupported, match="33,554,433 random numbers at once, more than"):
        counters(np.arange(2), 2**25 + 1, "cpu")


def test_every_purpose_has_keys_of_its_own():
    models = np.arange(3)
    every = [
        keys((7,), purpose, models, 2, "cpu").flatten().tolist()
        for purpose in (_random.START, SAMPLING, NOISE, _random.CANARIES)
    ]
    assert len(set(map(tuple, every))) == 4
