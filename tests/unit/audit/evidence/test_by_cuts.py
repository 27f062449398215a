"""Counts at several cuts: limits, both orders, words, power; each beside its naive form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

import tellapart as ta
from tellapart.audit import judge
from tellapart.audit.evidence.cuts import CutEvidence, EventCounts, cut_ledger
from tellapart.audit.evidence.thresholds import End

N = 1_000_000
LEDGER, OWN, EACH = cut_ledger(0.05, 3)
CUTS = (
    EventCounts("output > 1", End.FLAG, 501_000, N, 183_000, N, OWN),
    EventCounts("output > 4", End.FLAG, 25_100, N, 9_000, N, EACH),
    EventCounts("output < 0", End.CLEAR, 183_800, N, 66_000, N, EACH),
    EventCounts("output < -9", End.CLEAR, 3, N, 0, N, EACH),
)
EVIDENCE = CutEvidence(CUTS, LEDGER)


def limits(cut, level):
    """Clopper and Pearson's, of the tested from below and the reference from above."""
    low = beta.ppf(level / 2, cut.happened, cut.tested - cut.happened + 1)
    high = beta.ppf(1 - level / 2, cut.against + 1, cut.reference - cut.against)
    return low, high


def naive_epsilon(delta):
    found = [0.0]
    for cut in CUTS:
        low, high = limits(cut, cut.level)
        found += [math.log((low - delta) / high)] if low > delta else []
        found += [math.log((1 - high - delta) / (1 - low))]
    return max(found)


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1])
def test_epsilon_is_the_best_cuts(delta):
    assert EVIDENCE.epsilon_lower(delta).value == pytest.approx(naive_epsilon(delta), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 0.9])
def test_delta_is_the_best_cuts(epsilon):
    found = []
    for cut in CUTS:
        low, high = limits(cut, cut.level)
        found.append(low - math.exp(epsilon) * high)
    assert EVIDENCE.delta_lower(epsilon).value == pytest.approx(max(found), rel=1e-6)


def test_the_ledger_is_spent_and_halved():
    assert pytest.approx(0.05 / 2) == OWN
    assert pytest.approx(0.05 / 6) == EACH
    assert sum(cut.level for cut in CUTS) == pytest.approx(LEDGER.level)
    alone, own, _ = cut_ledger(0.05, 0)
    assert own == 0.05
    assert len(alone.entries) == 1


def test_a_cut_that_clears_speaks_of_the_other_input():
    only = CutEvidence((CUTS[2],), cut_ledger(EACH, 0)[0])
    finding = only.finding(ta.guarantee(epsilon=0.9))
    assert finding.where == (
        "output < 0: 18.4 % of outputs on d0 (183,800 of 1,000,000) "
        "against 66,000 of 1,000,000 outputs on d1 (6.6 %, observed)"
    )
    assert only.curve().tpr(1 - limits(CUTS[2], EACH)[0]) == pytest.approx(
        1 - limits(CUTS[2], EACH)[1]
    )


def test_bounds_and_findings_agree():
    """What is refuted just below the bound is not just above it."""
    bound = EVIDENCE.epsilon_lower().value
    assert EVIDENCE.refutes(ta.guarantee(epsilon=bound - 1e-6))
    assert not EVIDENCE.refutes(ta.guarantee(epsilon=bound + 1e-6))
    mu = EVIDENCE.mu_lower().value
    assert EVIDENCE.refutes(ta.Gaussian(1 / (mu - 1e-6)))
    assert not EVIDENCE.refutes(ta.Gaussian(1 / (mu + 1e-6)))


def test_p_values_are_the_levels_at_which_a_cut_would_just_refute():
    finding = EVIDENCE.finding(ta.guarantee(epsilon=0.99))
    cut = next(one for one in CUTS if finding.where.startswith(one.words))
    for level, refutes in ((finding.p_value * 1.01, True), (finding.p_value * 0.99, False)):
        low, high = limits(cut, level)
        assert (low > math.exp(0.99) * high or 1 - high > math.exp(0.99) * (1 - low)) == refutes


@pytest.mark.parametrize(("epsilon", "sure"), [(1.02, False), (1.05, True)])
def test_power_is_at_most_what_a_simulation_shows(epsilon, sure):
    """One cut at the rate observed, 2,000 audits; it fails by chance with less than 1e-6."""
    claim, truth, rate, n = ta.guarantee(epsilon=1.0), ta.guarantee(epsilon=epsilon), 0.184, 100_000
    cut = EventCounts("x", End.FLAG, 0, n, int(n * rate), n, 0.05)
    stated = CutEvidence((cut,), cut_ledger(0.05, 0)[0]).power(claim, truth)
    rng = np.random.default_rng(0)
    happened, against = (rng.binomial(n, p, 2_000) for p in (float(truth.tpr(rate)), rate))
    low = beta.ppf(0.025, happened, n - happened + 1)
    high = beta.ppf(0.975, against + 1, n - against)
    seen = np.mean((low > math.e * high) | (1 - high > math.e * (1 - low)))
    assert stated <= seen + 5 * math.sqrt(0.25 / 2_000)
    assert (stated > 0.9) == sure


def test_more_samples_of_the_same_rates_show_more():
    assert EVIDENCE.scaled(100).epsilon_lower().value > EVIDENCE.epsilon_lower().value
    verdict = judge(ta.guarantee(epsilon=1.0), EVIDENCE.at_level(1e-9))
    assert verdict.refuted or verdict.samples_needed > 1


def test_an_unseen_event_shows_nothing():
    cut = EventCounts("x", End.FLAG, 0, 100, 0, 100, 0.05)
    nothing = CutEvidence((cut,), cut_ledger(0.05, 0)[0])
    assert nothing.epsilon_lower().value == 0
    assert not nothing.refutes(ta.guarantee(epsilon=0.0))


def test_a_true_claim_is_refuted_no_more_often_than_the_level():
    """At the boundary p1 = e·p0; more than the limit happen with probability below 1e-7."""
    rng, runs = np.random.default_rng(1), 400
    claim, refuted = ta.guarantee(epsilon=1.0), 0
    for _ in range(runs):
        one, two = (rng.binomial(2_000, rate) for rate in (0.1 * math.e, 0.1))
        three, four = (rng.binomial(2_000, rate) for rate in (0.2 * math.e, 0.2))
        cuts = (
            EventCounts("a", End.FLAG, one, 2_000, two, 2_000, 0.1),
            EventCounts("b", End.CLEAR, three, 2_000, four, 2_000, 0.1),
        )
        refuted += CutEvidence(cuts, cut_ledger(0.2, 1)[0]).refutes(claim)
    assert refuted <= binom.isf(1e-7, runs, 0.2)
