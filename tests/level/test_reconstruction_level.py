"""Counts of reconstructed targets: no true claim is refuted more often than stated, by enumeration.

Every outcome is listed, at rates on the boundary of the claim; nothing is simulated.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart import audit

CLAIMS = [ta.guarantee(epsilon=1), ta.guarantee(epsilon=0.5, delta=0.01), ta.guarantee(mu=1)]
LEVEL = 0.1


def shown(**counts):
    return audit.reconstruction(**counts, confidence=1 - LEVEL)


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("baseline", [0.01, 0.1, 0.5])
def test_with_a_known_baseline(claim, baseline):
    n, success = 25, float(claim.tpr(baseline))
    p = np.array(
        [_p_value(shown(successes=k, trials=n, baseline=baseline), claim) for k in range(n + 1)]
    )
    chances = binom.pmf(np.arange(n + 1), n, success)
    for level in (LEVEL, 0.05, 0.01, 0.001):
        assert chances[p <= level].sum() <= level * (1 + 1e-9)
    assert chances[p <= LEVEL].sum() > 0.01  # it does refute, so that this says something


@pytest.mark.parametrize("claim", CLAIMS)
def test_with_a_blind_control(claim):
    n, m = 16, 12
    p = np.array(
        [
            [_p_value(shown(successes=k, trials=n, control=(j, m)), claim) for j in range(m + 1)]
            for k in range(n + 1)
        ]
    )
    for blind in (0.001, 0.01, 0.05, 0.2, 0.5, 0.8):
        success = float(claim.tpr(blind))
        chances = np.outer(
            binom.pmf(np.arange(n + 1), n, success), binom.pmf(np.arange(m + 1), m, blind)
        )
        for level in (LEVEL, 0.05, 0.01):
            assert chances[p <= level].sum() <= level * (1 + 1e-9)


def test_the_gain_is_covered():
    n, m = 16, 12
    gains = np.array(
        [
            [shown(successes=k, trials=n, control=(j, m)).gain_lower.value for j in range(m + 1)]
            for k in range(n + 1)
        ]
    )
    for blind in (0.01, 0.2, 0.5):
        for gain in (0.0, 0.1, 0.4):
            chances = np.outer(
                binom.pmf(np.arange(n + 1), n, blind + gain), binom.pmf(np.arange(m + 1), m, blind)
            )
            assert chances[gains > gain + 1e-12].sum() <= LEVEL * (1 + 1e-9)


@pytest.mark.parametrize("claim", CLAIMS)
def test_in_one_model_whatever_the_dependence(claim):
    """Of all laws of the count with this mean, k or nothing reaches k most often."""
    n, baseline = 50, 0.002
    success = float(claim.tpr(baseline))
    for k in range(1, n + 1):
        evidence = shown(successes=k, trials=n, baseline=baseline, independent=False)
        if evidence.refutes(claim):
            assert min(n * success / k, 1.0) <= _p_value(evidence, claim) * (1 + 1e-9)
    assert evidence.refutes(claim)


def _p_value(evidence, claim):
    finding = evidence.finding(claim)
    return 1.0 if finding is None else finding.p_value
