"""Batches: as many outputs as asked for, the same from the same seed, in law as single calls."""

import copy
import math

import numpy as np
import pytest

from tellapart import zoo
from tellapart.zoo.specimen import Flaw

specimens = pytest.mark.parametrize("one", zoo.SPECIMENS, ids=lambda one: one.name)
# Each comparison below fails for a correct mechanism with at most this probability.
RISK = 1e-9
SINGLE, BATCH = 1_000, 5_000


def plain(value):
    """Data or outputs as nested lists, NaN as a word, so that == compares them."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def editable(data):
    """The same data in a form that a careless mechanism could change."""
    if isinstance(data, dict):
        return dict(data)
    return np.array(data, dtype=float) if isinstance(data, tuple) else data


@specimens
def test_a_batch_has_the_size_asked_for(one):
    for data in one.pairs[0]:
        assert len(one.mechanism(data, np.random.default_rng(1), size=7)) == 7
        assert np.shape(one.mechanism(data, np.random.default_rng(1), size=1)[:1])[0] == 1


@specimens
def test_the_same_seed_gives_the_same_outputs(one):
    for data in one.pairs[0]:
        first, again = (one.mechanism(data, np.random.default_rng(5), size=20) for _ in "ab")
        assert plain(first) == plain(again)
        first, again = (one.mechanism(data, np.random.default_rng(5)) for _ in "ab")
        assert plain(first) == plain(again)


@specimens
def test_other_seeds_give_other_outputs_unless_calls_share_noise(one):
    found = [
        plain(one.mechanism(data, np.random.default_rng(seed), size=50))
        for seed in (1, 2)
        for data in one.pairs[0]
    ]
    assert (found[:2] == found[2:]) == (one.flaw is Flaw.CALLS)


@specimens
def test_the_data_is_left_alone(one):
    for data in one.pairs[0]:
        given = editable(data)
        before = copy.deepcopy(given)
        one.mechanism(given, np.random.default_rng(1), size=5)
        one.mechanism(given, np.random.default_rng(1))
        assert plain(given) == plain(before)


def number(output):
    """One number that stands for an output, NaN and missing parts included."""
    if isinstance(output, str):
        return float(sum(map(ord, output)))
    if output is None:
        return -50.0
    if isinstance(output, dict):
        return sum(output.values()) + 100.0 * len(output)
    if isinstance(output, tuple):
        return sum(value + 100.0 * place for place, value in output)
    values = np.ravel(output).astype(float)
    known = np.nan_to_num(values, nan=-50.0)
    return float(known @ (1 + np.arange(known.size) / 7))


def distance(first, second):
    """The largest difference of two empirical distribution functions."""
    places = np.concatenate([first, second])
    ranks = [
        np.searchsorted(np.sort(one), places, side="right") / one.size for one in (first, second)
    ]
    return float(np.abs(ranks[0] - ranks[1]).max())


@specimens
def test_single_calls_have_the_law_of_a_batch(one):
    """By the DKW inequality on either sample; half the risk each."""
    rng = np.random.default_rng(20)
    data = one.pairs[0][1]
    singles = np.array([number(one.mechanism(data, rng)) for _ in range(SINGLE)])
    batch = np.array([number(output) for output in one.mechanism(data, rng, size=BATCH)])
    margin = sum(math.sqrt(math.log(4 / RISK) / (2 * n)) for n in (SINGLE, BATCH))
    assert distance(singles, batch) <= margin
