"""Counts of reconstruction attacks as evidence: bounds, verdicts, words and odd input."""

from __future__ import annotations

import pytest
from scipy.stats import binom, norm

import tellapart as ta
from tellapart import audit
from tellapart.audit.summary import summarise

SHOWN = audit.reconstruction(successes=40, trials=100, baseline=0.1)


def test_success_and_gain_are_those_of_clopper_and_pearson():
    low = audit.intervals.clopper_pearson(40, 100, confidence=0.9)[0]  # 5 % on this side
    assert SHOWN.success_lower.value == pytest.approx(low)
    assert SHOWN.gain_lower.value == pytest.approx(low - 0.1)
    assert SHOWN.confidence == pytest.approx(0.95)


def test_bounds_are_where_claims_stop_being_refuted():
    epsilon, mu = SHOWN.epsilon_lower().value, SHOWN.mu_lower().value
    assert mu == pytest.approx(norm.ppf(SHOWN.success_lower.value) - norm.ppf(0.1))
    for bound, claim in (
        (epsilon, lambda e: ta.guarantee(epsilon=e)),
        (mu, lambda m: ta.guarantee(mu=m)),
    ):
        assert SHOWN.refutes(claim(bound * (1 - 1e-6)))
        assert not SHOWN.refutes(claim(bound * (1 + 1e-6)))


def test_the_p_value_is_the_binomial_tail():
    claim = ta.guarantee(epsilon=1)
    tail = binom.sf(39, 100, claim.tpr(0.1))
    assert SHOWN.finding(claim).p_value == pytest.approx(tail, rel=1e-4)
    assert SHOWN.finding(claim).p_value >= tail


def test_a_control_costs_half_the_level_and_its_upper_limit():
    by_control = audit.reconstruction(successes=40, trials=100, control=(10, 100))
    half = audit.intervals.clopper_pearson(40, 100, confidence=0.95)
    blind = audit.intervals.clopper_pearson(10, 100, confidence=0.95)
    assert by_control.success_lower.value == pytest.approx(half[0])
    assert by_control.baseline_upper == pytest.approx(blind[1])
    assert by_control.gain_lower < SHOWN.gain_lower
    assert sum(entry.spent for entry in by_control.ledger.entries) == pytest.approx(0.05)


def test_an_ordered_claim_is_read_in_both_orders():
    """What refutes one order alone need not refute the claim."""
    curve = ta.dp_sgd(noise_multiplier=1, sampling_rate=0.01, steps=100).curve()
    evidence = audit.reconstruction(successes=12, trials=400, baseline=0.01)
    assert evidence.refutes(curve) == evidence.refutes(curve.mirrored())


def test_a_verdict_with_power_and_assumptions():
    verdict = audit.judge(ta.guarantee(epsilon=1), SHOWN)
    assert verdict.refuted
    assert verdict.detectable == pytest.approx(1.44, abs=0.02)
    summary = summarise(verdict)
    assert summary.design == "targets"
    assert any("best blind success" in sentence for sentence in summary.assumptions)
    assert any("model (or release) of its own" in sentence for sentence in summary.assumptions)
    assert "40 of 100 targets guessed right" in str(verdict)
    assert "without the output 0.1" in str(SHOWN)


def test_in_one_model_only_the_mean_counts():
    one_model = audit.reconstruction(successes=60, trials=100, baseline=0.01, independent=False)
    claim = ta.guarantee(epsilon=1)
    assert one_model.success_lower.value == pytest.approx(0.05 * 0.6)
    assert one_model.finding(claim).p_value == pytest.approx(claim.tpr(0.01) / 0.6, rel=1e-4)
    assert "Power: not stated" in str(audit.judge(claim, one_model))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"successes": 5, "trials": 4, "baseline": 0.1}, "successes must be at most trials = 4"),
        ({"successes": 5, "trials": 10}, "baseline must be given, or control="),
        ({"successes": 5, "trials": 10, "baseline": 0.1, "control": (1, 2)}, "one of the two"),
        ({"successes": 5, "trials": 10, "baseline": 1}, "baseline must"),
        ({"successes": 5, "trials": 10, "baseline": 0}, "baseline must"),
        ({"successes": 5, "trials": 10, "control": 3}, "control must be the pair"),
        ({"successes": 5, "trials": 10, "control": (3, 2)}, "control successes must be at most"),
    ],
)
def test_refused_with_a_reason(counts, message):
    with pytest.raises(ta.InvalidArgument, match=message):
        audit.reconstruction(**counts)


def test_nothing_beyond_the_baseline_shows_nothing():
    nothing = audit.reconstruction(successes=0, trials=10, baseline=0.1)
    assert (nothing.gain_lower, nothing.epsilon_lower(), nothing.mu_lower()) == (0, 0, 0)
    assert not nothing.refutes(ta.guarantee(epsilon=0))
