"""Tests of conformance: each has the law it says, and finds what it is for."""

import numpy as np
import pytest
from scipy.stats import binom, kstest

import tellapart as ta
from tellapart.audit.trainings.conformance import (
    ConformanceCheck,
    StatedTraining,
    TrainingSums,
    central_sizes,
    checks,
    corrected,
    fact,
)
from tellapart.audit.trainings.conformance import _sketch as sketch

LAYERS = (40, 24, 8)
CLAIM = ta.dp_sgd(1.0, 0.25, 20)
STATED = StatedTraining(CLAIM, 1.0, 0.25, 20, 40, LAYERS, ("first", "second", "last"))


def summed(rng, spoil=None, rate=0.25, steps=20):
    """The sums of a training, whose noise ``spoil`` may change."""
    sums = TrainingSums(STATED)
    for step in range(steps):
        batch = np.flatnonzero(rng.random(40) < rate)
        noise = rng.normal(size=sum(LAYERS))
        if spoil is not None:
            noise = spoil(noise, step, len(batch))
        sums.add_gain("in one coordinate", rng.normal(size=10))
        sums.add(noise, len(batch), batch)
    return sums


def p_of(sums, name):
    return next(check.p_value for check in checks(sums) if check.name == name)


@pytest.mark.parametrize(("size", "kept"), [(10, 4), (12, 4), (4, 4), (9, 1)])
def test_sketches_have_orthonormal_rows(size, kept):
    rows = np.array([sketch(unit, kept) for unit in np.eye(size)]).T
    assert rows @ rows.T == pytest.approx(np.eye(kept), abs=1e-6)


@pytest.mark.parametrize(
    ("records", "rate"), [(400, 0.125), (100, 0.01), (10**6, 0.001), (5, 1.0), (3, 0.5)]
)
def test_central_sizes_are_as_likely_as_they_say(records, rate):
    middle, reach, chance = central_sizes(records, rate)
    sizes = np.arange(middle - reach, middle + reach + 1)
    assert chance == pytest.approx(binom.pmf(sizes, records, rate).sum(), rel=1e-9)
    assert 0.2 < chance <= 1


def test_p_values_of_one_number_are_uniform():
    """Noise of a single layer and the gain have exact laws."""
    rng = np.random.default_rng(1)
    one = StatedTraining(CLAIM, 1.0, 0.25, 20, 40, (72,), ("all",))
    gains, noises = [], []
    for _ in range(120):
        sums = TrainingSums(one)
        for _ in range(5):
            sums.add(rng.normal(size=72), 10, range(10))
        sums.add_gain("in one coordinate", rng.normal(size=8))
        noises.append(p_of(sums, "noise of a layer"))
        gains.append(p_of(sums, "canaries in one coordinate"))
    assert kstest(noises, "uniform").pvalue > 1e-3
    assert kstest(gains, "uniform").pvalue > 1e-3


def test_a_right_training_is_spared():
    rng = np.random.default_rng(2)
    least = [min(corrected(checks(summed(rng)))) for _ in range(60)]
    assert sum(p <= 0.05 for p in least) <= binom.isf(0.01, 60, 0.05)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("noise of a layer", lambda noise, step, size: noise * 0.7),
        ("noise of a layer", lambda noise, step, size: np.r_[noise[:64], noise[64:] * 0.3]),
        ("noise of a step", lambda noise, step, size: noise * (step != 7)),
        ("noise of two steps alike", lambda noise, step, size: SAME if step % 9 == 0 else noise),
        (
            "noise of two steps alike",
            lambda noise, step, size: np.r_[SAME[:40], noise[40:]] if step % 9 == 0 else noise,
        ),
        ("batch size shows in the noise", lambda noise, step, size: noise * 10 / max(size, 1)),
    ],
    ids=["all", "one layer", "one step", "again", "again in one layer", "actual batch"],
)
def test_noise_that_is_not_as_stated_is_found(name, spoil):
    p_value = p_of(summed(np.random.default_rng(3), spoil), name)
    assert p_value < 1e-4


SAME = np.random.default_rng(9).normal(size=sum(LAYERS))


def test_batches_that_are_not_as_stated_are_found():
    rng = np.random.default_rng(4)
    assert p_of(summed(rng, rate=0.4), "sampling rate") < 1e-4
    even, always = TrainingSums(STATED), TrainingSums(STATED)
    for _ in range(20):
        even.add(rng.normal(size=72), 10, rng.permutation(40)[:10])
        often = np.union1d([3], np.flatnonzero(rng.random(40) < 0.25))
        always.add(rng.normal(size=72), len(often), often)
    assert p_of(even, "batch sizes") < 1e-4
    assert p_of(always, "a record drawn too often") < 1e-4


def test_facts_need_no_correction():
    tests = [
        fact("steps", "more"),
        ConformanceCheck("one", "", 0.01),
        ConformanceCheck("two", "", 0.6),
    ]
    assert corrected(tests) == [0.0, 0.02, 1.0]


def test_more_steps_than_stated_and_nan_are_facts():
    rng = np.random.default_rng(5)
    names = [check.name for check in checks(summed(rng, steps=21)) if check.fact]
    assert names == ["steps"]
    broken = summed(rng, lambda noise, step, size: noise * np.nan)
    assert [check.name for check in checks(broken) if check.fact] == ["numbers"]
