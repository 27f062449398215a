"""Probes of bits refute no correct mechanism more often than they may."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart import audit, zoo

LEVEL = 0.05
RUNS = 30
# A method at its level fails with probability below 1e-7.
MOST = int(binom.isf(1e-7, RUNS, LEVEL))


def told_by_its_bits(data, rng, size=None):
    """Randomised response whose two answers differ in their lowest bit: ε = 1 and no less."""
    honest = rng.random(size) < math.e / (1 + math.e)
    return np.where(honest == bool(data), 0.75, 0.5)


def geometric(data, rng, size=None):
    """Whole noise as floats: the true ε is 1, and parity is all that low bits say."""
    return data + (rng.geometric(1 - 1 / math.e, size) - rng.geometric(1 - 1 / math.e, size)) * 1.0


def rounded_once(data, rng, size):
    """Laplace noise with a hundred more bits, added exactly: rounding it once costs nothing."""
    noise = rng.laplace(0, 1 + 2**-30, size).tolist()
    finer = [int.from_bytes(rng.bytes(13), "big") for _ in noise]
    exact = (
        Fraction(data) + Fraction(one) + Fraction(more, 1 << 140)
        for one, more in zip(noise, finer, strict=True)
    )
    return np.array([float(one) for one in exact])


MECHANISMS = {
    "rounded-once": rounded_once,
    "told-by-its-bits": told_by_its_bits,
    "geometric": geometric,
    "laplace-snapped": zoo.find("laplace-snapped").mechanism,
    "laplace-rounded": zoo.find("laplace-rounded").mechanism,
}


def false_alarms(mechanism, runs, samples, **more):
    return sum(
        audit.probe_bits(
            mechanism, 0.0, 1.0, claim=ta.guarantee(epsilon=1), samples=samples, seed=seed, **more
        ).refuted
        for seed in range(runs)
    )


@pytest.mark.parametrize("name", MECHANISMS)
def test_correct_mechanisms_are_spared(name):
    assert false_alarms(MECHANISMS[name], RUNS, samples=500) <= MOST


def test_answers_that_are_given_alarm_no_more():
    known = {"centres": (0.0, 1.0), "scale": 1.0}
    assert false_alarms(MECHANISMS["laplace-rounded"], RUNS, samples=500, **known) <= MOST


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_correct_mechanisms_are_spared_by_many_calls(name):
    """A correct method fails with probability below 1e-7."""
    runs = 150
    assert false_alarms(MECHANISMS[name], runs, samples=4_000) <= binom.isf(1e-7, runs, LEVEL)
