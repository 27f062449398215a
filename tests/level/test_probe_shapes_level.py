"""Outputs in arrays without axes, beside others: read alike, or true claims are refuted."""

import math

import numpy as np
from scipy import stats

import tellapart as ta
from tellapart.audit import probe


def _flag_or_none(data, rng):
    if rng.random() < 0.004 * (math.e if data else 1.0):
        return None
    return np.array(bool(rng.random() < 0.5))


def test_flags_in_arrays_beside_none_keep_the_level():
    claim, runs, confidence = ta.guarantee(epsilon=1), 150, 0.8
    refuted = 0
    for seed in range(runs):
        found = probe(
            _flag_or_none, 0, 1, claim=claim, samples=100, confidence=confidence, seed=seed
        )
        refuted += found.refuted
    # More happen with probability below 1e-6 if the level is kept.
    assert refuted <= stats.binom.isf(1e-6, runs, 1 - confidence)
