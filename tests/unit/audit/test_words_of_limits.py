"""What a verdict says of its numbers: observed or a limit, computed or not, and whose level."""

import math
import re

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit.verdict import describe
from tellapart.notebook import card

DRAW = np.random.default_rng(7)
SCORES = audit.Scores(members=DRAW.normal(2, 1, 400), non_members=DRAW.normal(0, 1, 400))


def all_right(canaries):
    half = canaries // 2
    return audit.Scores(members=np.arange(half) + half, non_members=np.arange(half))


def test_a_rank_is_said_to_be_observed_and_the_claim_is_read_at_exactly_that_rate():
    finding = audit.many_runs(SCORES).finding(ta.guarantee(epsilon=1))
    said = re.search(
        r"against at most (\d+) of 400 (?:non-)?members \((.*) %, observed\)", str(finding)
    )
    assert float(said[2]) == pytest.approx(100 * int(said[1]) / 400)
    assert re.search(r"at exactly this F[PN]R the claim allows", str(finding))


def test_where_nothing_was_observed_the_rate_is_named_at_which_the_claim_is_read():
    counts = audit.Counts(true_positives=90, members=100, false_positives=0, non_members=100)
    finding = audit.from_counts(counts).finding(ta.guarantee(epsilon=1))
    assert "against 0 of 100 non-members (0 %, observed)" in str(finding)
    allowed = f"{100 * math.e / 100:.3g}"
    assert f"at an FPR of 1 in 100 the claim allows {allowed} %" in str(finding)
    assert "(of 2 tests together, which share the level 0.05)" in finding.significance


def test_one_run_computes_the_p_value_of_a_claim_of_gaussian_dp():
    """The least level at which the same test refutes, from above."""
    method = audit.Guessing(guesses_in=50, guesses_out=50)
    evidence = audit.one_run(all_right(100), method=method)
    finding = evidence.finding(ta.guarantee(mu=0.01))
    assert finding.computed
    assert finding.p_value < 1e-20
    assert evidence.at_level(finding.p_value * 1.01).refutes(ta.guarantee(mu=0.01))
    assert not evidence.at_level(finding.p_value * 0.99).refutes(ta.guarantee(mu=0.01))


def test_a_p_value_that_is_not_computed_says_so():
    finding = audit.many_runs(SCORES, method=audit.Band()).finding(ta.guarantee(epsilon=0.5))
    assert not finding.computed
    assert finding.significance == "p below the level 0.05 (not computed for this test)"


def test_a_curve_of_evidence_says_at_which_confidence_it_holds():
    curve = audit.many_runs(SCORES, confidence=0.9).curve()
    words = "the attack shown by many runs at 90 % confidence"
    assert repr(curve) == f"<curve of {words}, attack (f from above)>"
    assert words in curve.mirrored().label
    assert words in card(curve).title


def test_for_one_epsilon_the_bound_is_at_least_that_of_the_curve():
    evidence = audit.many_runs(SCORES)
    shown = evidence.curve()
    most = max(one.epsilon(1e-5) for one in (shown, shown.mirrored()))
    assert evidence.epsilon_lower(1e-5).value >= most


def test_a_reconstruction_names_its_baseline():
    guessed = audit.reconstruction(successes=40, trials=100, baseline=0.1)
    said = card(audit.judge(ta.guarantee(epsilon=1), guessed)).html()
    assert "baseline (given)" in said
    assert "success observed" in said
    assert "≤ 0.2719" in said
    assert "FPR observed" not in said


def test_no_verdict_says_that_nothing_was_tested():
    few = audit.Counts(true_positives=2, members=2, false_positives=0, non_members=2)
    said = str(audit.judge(ta.guarantee(epsilon=5), audit.from_counts(few)))
    assert said.startswith("NO VERDICT")
    assert "The claim was not tested, as no outcome could have refuted it; the lower bound" in said
    assert "Nothing was tested" not in said  # the bound was shown
    assert "Not refuted" not in said


def test_a_bound_of_zero_shows_nothing():
    none = audit.Counts(true_positives=5, members=10, false_positives=5, non_members=10)
    assert str(audit.from_counts(none).epsilon_lower()).startswith("≥ 0 (nothing shown, 95 % ")


def test_a_probe_says_that_more_calls_may_choose_another_event():
    def noisy(data, rng, size=None):
        return len(data) + rng.laplace(0, 1, size)

    verdict = audit.probe(noisy, [1], [1, 2], claim=ta.guarantee(epsilon=1.5), samples=2_000)
    said = str(verdict)
    assert "only a better attack" not in said
    assert "may choose another, rarer event: events rarer than about 1 in 200 calls" in said


TRAINING = "DP-SGD with noise multiplier 1, sampling rate 0.1, 20 steps"


def test_a_training_has_one_name_in_every_verdict_and_plan():
    claim = ta.dp_sgd(noise_multiplier=1, sampling_rate=0.1, steps=20)
    watch = audit.watch_updates([30], claim=claim, clip=1.0, records=100, expected_batch=10)
    step = np.zeros(30)
    watch.canaries()
    watch.saw(step, np.zeros((0, 30)), [])
    for said in (
        audit.judge(claim, audit.many_runs(SCORES)).headline,
        watch.verdict().headline,
        str(audit.plan(claim, seconds=1.0)),
    ):
        assert TRAINING in said


@pytest.mark.parametrize(
    "claim",
    [
        ta.Gaussian(1).sampled(0.1),  # one step, which nobody calls a training
        ta.dp_sgd(1, 0.1, 20, neighbours=ta.Neighbours.ZERO_OUT),
        ta.dp_sgd(1, 0.1, 20, scheme=ta.Sampling.WITHOUT_REPLACEMENT),
    ],
    ids=repr,
)
def test_what_those_words_would_hide_is_named_as_it_is_typed(claim):
    assert describe(claim) == repr(claim)
