"""Calls that share something are refused, whatever else their outputs hold."""

import itertools
import random
import time

import numpy as np
import pytest
from scipy import stats

import tellapart as ta
from tellapart.audit import probe
from tellapart.audit.probing.calling.outputs import joined, packed
from tellapart.audit.probing.exchangeability import unlikely
from tellapart.audit.probing.features.extract import learn
from tellapart.errors import Unsupported

pytestmark = pytest.mark.usefixtures("by_value")

_CLAIM = ta.guarantee(epsilon=1)


def _with_clock(data, rng):
    return {"n": data + rng.laplace(), "at": time.perf_counter()}


def _counting():
    calls = itertools.count()
    return lambda data, rng: {"n": data + rng.laplace(), "id": next(calls)}


def _keeping():
    kept = {}

    def mechanism(data):
        if data not in kept:
            kept[data] = data + np.random.laplace()
        return {"n": kept[data], "nonce": random.random()}  # noqa: S311

    return mechanism


def _seeded(data):
    return data + np.random.default_rng(7).laplace(), random.random()  # noqa: S311


def _one_noise_a_batch(data, rng, size):
    return data + 0.95 * rng.laplace() + 0.05 * rng.laplace(size=size)


@pytest.mark.parametrize("until_decided", [False, True])
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: _with_clock, "made later"),
        (_counting, "made later"),
        (_keeping, "a fresh process gives another output"),
        (lambda: _seeded, "the function seeds its generator at each call; remove the seed"),
        (lambda: _one_noise_a_batch, "made later"),
    ],
)
def test_what_calls_share_is_seen_beside_what_they_do_not(make, why, until_decided):
    with pytest.raises(Unsupported, match=f"not independent; .*{why}"):
        probe(make(), 0, 1, claim=_CLAIM, samples=2000, until_decided=until_decided, seed=3)


@pytest.mark.parametrize("until_decided", [False, True])
def test_words_that_never_come_again_are_no_reason_to_refuse(until_decided):
    def named(data, rng):
        return {"n": data + rng.laplace(), "name": rng.bytes(8).hex()}

    found = probe(named, 0, 1, claim=_CLAIM, samples=2000, until_decided=until_decided)
    assert not found.refuted


@pytest.mark.parametrize("until_decided", [False, True])
def test_a_part_that_is_no_noise_is_judged(until_decided):
    def bare(data, rng):
        return {"n": data, "noise": rng.laplace()}

    assert probe(bare, 0, 1, claim=_CLAIM, samples=500, until_decided=until_decided).refuted


def test_the_chance_of_a_draw_is_hypergeometric():
    for found, drawn, marked, count in [(0, 16, 30, 80), (9, 16, 30, 80), (16, 16, 30, 80)]:
        law = stats.hypergeom(count, marked, drawn)
        both = 2 * min(law.cdf(found), law.sf(found - 1))
        assert unlikely(found, drawn, marked, count) == pytest.approx(min(both, 1), rel=1e-9)


_AWKWARD = [
    np.array(True),
    np.array(1.5),
    np.ma.masked_array([1, 2], [False, True]),
    np.array([[1, 2]]).view(np.matrix),  # to make one of it warns
    np.timedelta64(3, "s"),
]


@pytest.mark.parametrize("value", _AWKWARD, ids=repr)
@pytest.mark.parametrize("beside", [None, "a", 2.5, [1, 2, 3], {"k": 1}])
def test_an_output_is_read_alike_whatever_lies_beside_it(value, beside):
    read = learn(packed([value, beside]), packed([beside, value]))
    alone, among = (read(packed(rows)).matrix[0] for rows in ([value], [value, beside]))
    np.testing.assert_array_equal(alone, among)
    apart = joined([packed([value]), packed([beside])])
    np.testing.assert_array_equal(alone, read(apart).matrix[0])


def test_long_rows_are_summed_up_alike_beside_lists_and_by_themselves(monkeypatch):
    monkeypatch.setattr("tellapart.audit.probing.features.reading._MOST_CELLS", 300)
    long = np.arange(200.0)
    read = learn(packed([long, None]), packed([None, long]))
    alone, among = (read(packed([long, other, other])).matrix for other in (long, None))
    np.testing.assert_array_equal(alone[0], among[0])
