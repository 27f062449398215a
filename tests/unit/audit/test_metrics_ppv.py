"""PPV of an attack observed on one model: exact intervals, also where the threshold was chosen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

import tellapart as ta
from tellapart import audit
from tellapart.audit.summary import summarise


def ppv(tpr, fpr, prior):
    return prior * tpr / (prior * tpr + (1 - prior) * fpr)


def test_at_a_settled_threshold_it_is_that_of_two_exact_intervals():
    scores = audit.Scores(members=[1] * 60 + [0] * 40, non_members=[1] * 10 + [0] * 90)
    seen = audit.metrics(scores, prior=0.01, threshold=0.5)
    low, high = (audit.intervals.clopper_pearson(k, 100, confidence=0.975) for k in (60, 10))
    told = seen.at_threshold.ppv
    assert told.value == pytest.approx(ppv(0.6, 0.1, 0.01))
    assert told.low == pytest.approx(ppv(low[0], high[1], 0.01))
    assert told.high == pytest.approx(ppv(low[1], high[0], 0.01))
    assert list(seen.predictive_values) == ["score > 0.5"]  # elsewhere the level is not spent


def test_coverage_at_a_settled_threshold_by_enumeration():
    n, m, prior, level = 9, 11, 0.2, 0.2
    bounds = np.empty((n + 1, m + 1, 2))
    for k in range(n + 1):
        for j in range(m + 1):
            scores = audit.Scores(
                members=[1] * k + [0] * (n - k), non_members=[1] * j + [0] * (m - j)
            )
            told = audit.metrics(scores, prior=prior, threshold=0.5, confidence=1 - level)
            bounds[k, j] = told.at_threshold.ppv.low, told.at_threshold.ppv.high
    for tpr, fpr in ((0.5, 0.1), (0.2, 0.2), (0.9, 0.01), (0.05, 0.6)):
        chances = np.outer(binom.pmf(np.arange(n + 1), n, tpr), binom.pmf(np.arange(m + 1), m, fpr))
        truth = ppv(tpr, fpr, prior)
        missed = (bounds[..., 0] > truth) | (bounds[..., 1] < truth)
        assert chances[missed].sum() <= level


def test_thresholds_chosen_on_the_scores_are_paid_for():
    """Normal scores, whose rates at any threshold are known; all intervals must hold at once."""
    rng, missed, audits = np.random.default_rng(0), 0, 200
    for _ in range(audits):
        scores = audit.Scores(
            rng.normal(0.5, 1, 60), rng.normal(0, 1, 80), audit.Orientation.EITHER
        )
        seen = audit.metrics(scores, fprs=[0.02, 0.2], prior=0.1, confidence=0.8)
        sign = 1 if seen.direction is audit.Orientation.HIGHER else -1
        for at in (*seen.at_fpr.values(), seen.largest_advantage):
            if np.isfinite(at.threshold):
                tpr, fpr = (norm.sf(sign * (at.threshold - mean)) for mean in (0.5, 0))
                if not at.ppv.low <= ppv(tpr, fpr, 0.1) <= at.ppv.high:
                    missed += 1
                    break
    assert missed <= binom.ppf(1 - 1e-6, audits, 0.2)


def test_it_is_wider_than_at_a_settled_threshold_and_said_to_be_of_this_attack():
    rng = np.random.default_rng(1)
    scores = audit.Scores(rng.normal(1, 1, 500), rng.normal(0, 1, 500))
    chosen = audit.metrics(scores, fprs=[0.1], prior=0.01)
    at = chosen.at_fpr[0.1]
    settled = audit.metrics(scores, prior=0.01, threshold=at.threshold).at_threshold.ppv
    assert at.ppv.low < settled.low < settled.value < settled.high < at.ppv.high
    assert "this attack on this population alone" in str(chosen)
    summary = summarise(chosen)
    assert any(row.what.startswith("PPV at FPR") for row in summary.shown)
    assert any("this attack on this population alone" in reason for reason in summary.reasons)


def test_without_a_prior_nothing_changes():
    seen = audit.metrics(audit.Scores([3, 4, 5, 1], [0, 1, 2, 3]))
    assert seen.predictive_values == {}
    assert "PPV" not in str(seen)


def test_refused_with_a_reason():
    either = audit.Scores([1, 2], [0, 1], audit.Orientation.EITHER)
    with pytest.raises(ta.InvalidArgument, match="threshold must come with a stated orientation"):
        audit.metrics(either, prior=0.1, threshold=1)
    for prior in (0, 1, -1, "x"):
        with pytest.raises(ta.InvalidArgument, match="prior must"):
            audit.metrics(audit.Scores([1, 2], [0, 1]), prior=prior)
