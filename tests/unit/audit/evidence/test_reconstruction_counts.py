"""Counts of reconstruction attacks as evidence: bounds, verdicts, words and odd input."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scipy.stats import binom, norm

import tellapart as ta
from tellapart import audit, plot, report, risk
from tellapart._numeric.text import fixed
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


TRAINED = ta.Gaussian(sigma=0.3).sampled(0.3)


def test_a_claim_is_read_in_the_order_of_absent_against_present():
    """The bound on a guess needs no more; the other order would refute, or spare, another claim."""
    curve, absent = TRAINED.curve(), TRAINED.curve(ta.Order.ABSENT)
    baseline = 0.7
    allowed = risk.reconstruction(curve, baseline)
    assert allowed < curve.tpr(baseline) - 0.05  # the curve of both orders allows more
    evidence = audit.reconstruction(successes=8_500, trials=10_000, baseline=baseline)
    assert allowed < evidence.success_lower.value < curve.tpr(baseline)
    for claim in (TRAINED, curve, absent, absent.mirrored()):
        assert evidence.refutes(claim)
    assert evidence.finding(TRAINED).allowed == pytest.approx(allowed)
    # Who does not say which relation is meant gets the benefit of the doubt.
    bare = curve.with_provenance(ta.guarantee(epsilon=1)._provenance)
    replaced = ta.worst_case([curve, curve.mirrored()]).stated(ta.Neighbours.REPLACE)
    assert not evidence.refutes(bare)
    assert not evidence.refutes(replaced)


def test_pictures_cards_and_reports_show_what_the_claim_is_read_as():
    verdict = audit.judge(TRAINED, replace(SHOWN, successes=60))
    assert verdict.refuted
    success = risk.reconstruction(TRAINED.curve(), 0.1)
    filed = report.of(verdict)
    assert dict(filed.curves["claim"].points)[0.1] == pytest.approx(float(success))
    assert "gain over the baseline (0.1)" in [row.what for row in filed.shown]
    card = verdict._repr_html_()
    assert "gain over the baseline (0.1)" in card
    assert fixed(float(success), up=True) in card
    axes = plot.audit(verdict).axes[0]
    assert axes.get_xlabel() == "baseline: success of the best blind guess"
    assert axes.get_ylabel() == "success with the output"


def test_several_attacks_on_targets_are_read_together():
    each = audit.reconstruction(successes=40, trials=100, baseline=0.1, confidence=0.975)
    by_control = audit.reconstruction(
        successes=40, trials=100, control=(8, 100), confidence=0.975, independent=False
    )
    both = audit.together({"gradient": each, "prior": by_control})
    assert both.assumptions == tuple(dict.fromkeys(each.assumptions + by_control.assumptions))
    assert [what for what, _ in both.own_bounds()][:2] == [
        "gradient: success",
        "gradient: gain over the baseline (0.1)",
    ]
    verdict = audit.judge(ta.guarantee(epsilon=1), both)
    assert verdict.refuted
    assert report.of(verdict).refuted
    assert "REFUTED" in verdict._repr_html_()
    plot.audit(verdict)
    scores = audit.Scores(members=range(50, 150), non_members=range(100))
    with pytest.raises(ta.InvalidArgument, match="parts must have one design"):
        audit.together({"targets": each, "scores": audit.many_runs(scores, 0.975)})


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


def test_a_report_reads_the_claim_at_the_baseline_of_the_targets():
    filed = report.of(audit.judge(ta.guarantee(epsilon=1), SHOWN))
    assert "reconstruction, baseline 0.1" in [row.what for row in filed.meaning.risks]
    by_control = audit.reconstruction(successes=9, trials=10, control=(10, 10))
    certain = report.of(audit.judge(ta.guarantee(epsilon=1), by_control))
    assert not any("reconstruction" in row.what for row in certain.meaning.risks)
