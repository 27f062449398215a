"""Verdicts: what they say, and whether the power they state is there."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart import audit
from tellapart.audit.alternatives import alternative
from tellapart.audit.summary import summarise
from tellapart.curve.guarantees import gaussian


def _normal(mu, n=300, seed=0, orientation=audit.Orientation.HIGHER):
    draw = np.random.default_rng(seed)
    return audit.Scores(draw.normal(mu, 1, n), draw.normal(0, 1, n), orientation)


METHODS = [audit.Ranks(), audit.Split(), audit.Band(), audit.Fixed(0.5)]
each_method = pytest.mark.parametrize("method", METHODS, ids=["ranks", "split", "band", "fixed"])


@each_method
@pytest.mark.parametrize("mu", [1.2, 1.8])
def test_the_best_attack_refutes_at_least_as_often_as_power_says(method, mu):
    """Normal scores rank by likelihood. With the looks of the first audit, or the same FPR.

    A correct power fails this with probability below 1e-6.
    """
    claim, truth, tries = gaussian(0.6), gaussian(mu), 120
    if isinstance(method, audit.Fixed):
        # Power is stated at the FPR observed; the true one is 0.3085.
        counts = audit.Counts(150, 300, round(300 * 0.3085), 300)
        power = audit.from_counts(counts).power(claim, truth)
    else:
        seeds = range(1, 41) if isinstance(method, audit.Split) else [0]
        power = min(
            audit.many_runs(_normal(mu, seed=k), method=method).power(claim, truth) for k in seeds
        )
    assert power > 0.2
    found = sum(
        audit.many_runs(_normal(mu, seed=k), method=method).refutes(claim)
        for k in range(1, tries + 1)
    )
    assert binom.cdf(found, tries, power) > 1e-6


@each_method
def test_power_grows_with_the_leak_and_never_reaches_a_true_claim(method):
    evidence = audit.many_runs(_normal(1.0), method=method)
    powers = [evidence.power(gaussian(0.5), gaussian(mu)) for mu in (0.5, 1.0, 2.0, 4.0)]
    assert powers[0] <= 0.05
    assert powers == sorted(powers)
    assert powers[-1] > 0.9


@each_method
def test_no_power_against_what_not_even_a_perfect_attack_refutes(method):
    """All members above all others: nothing that could be seen shows more."""
    perfect = audit.Scores(np.arange(1.0, 201.0), -np.arange(200.0))
    evidence = audit.many_runs(perfect, method=method)
    bound, truth = evidence.epsilon_lower().value, ta.attack([(0.0, 1.0)])
    assert evidence.power(ta.guarantee(epsilon=bound / 2), truth) > 0.5
    assert evidence.power(ta.guarantee(epsilon=bound + 1e-3), truth) == 0


def test_verdicts_say_what_was_claimed_and_shown():
    verdict = audit.judge(ta.guarantee(epsilon=0.5, delta=1e-5), audit.many_runs(_normal(1.5)))
    assert verdict.refuted
    assert verdict.samples_needed == 1
    lines = str(verdict).splitlines()
    assert lines[0] == "REFUTED: the claim ε = 0.5, δ = 1e-5, at 95 % confidence"
    assert lines[1].startswith("Lower bound: ε ≥ ")
    assert "at δ = 1e-5 (95 % confidence" in lines[1]
    assert lines[2].startswith("p-value: p ≤ ")
    assert "(threshold after correction: " in lines[2]
    assert lines[3].startswith("Where: score ")
    assert "the claim allows" in lines[3]
    assert lines[4].startswith(
        "Power: with these sample sizes an optimal attack on a mechanism that truly leaks all that"
    )


@each_method
@pytest.mark.parametrize(
    "claim",
    [
        ta.guarantee(epsilon=2.0),
        gaussian(2.0),
        ta.Gaussian(sigma=0.5),
        ta.Laplace(scale=0.5),
        ta.RandomizedResponse(2.0),
    ],
    ids=str,
)
def test_no_verdict_says_private(claim, method):
    verdict = audit.judge(claim, audit.many_runs(_normal(0.5, n=100), method=method))
    said = str(verdict)
    assert not verdict.refuted
    assert said.startswith("NOT REFUTED: the claim ")
    assert "Not refuted does not mean that the claim is true." in said
    assert "is private" not in said
    assert "safe" not in said


def _outcomes(members, others):
    """Scores of so many of each, from wholly apart to wholly the wrong way round."""
    draw = np.random.default_rng(members)
    apart = draw.random(members) + 1, draw.random(others) - 1
    yield audit.Scores(*apart)
    yield audit.Scores(draw.random(members), draw.random(others))
    yield audit.Scores(*(-side for side in apart))
    yield audit.Scores(np.full(members, 0.5), np.full(others, 0.75))


@each_method
@pytest.mark.parametrize("claim", [ta.guarantee(0.1), ta.guarantee(1, 0.1), gaussian(1.0)], ids=str)
@pytest.mark.parametrize("counts", [(3, 3), (8, 8), (12, 12), (5, 200), (200, 5), (40, 40)])
def test_a_claim_is_judged_where_some_outcome_of_so_many_samples_could_refute_it(
    method, claim, counts
):
    """Whatever the scores, asking whether any could is asking whether perfect ones do."""
    if isinstance(method, audit.Fixed):
        method = audit.Fixed(0.0)
    verdicts = [
        audit.judge(claim, audit.many_runs(one, method=method)) for one in _outcomes(*counts)
    ]
    could = {verdict.could_refute for verdict in verdicts}
    assert len(could) == 1
    if isinstance(method, audit.Split):  # perfect scores set aside may choose a lesser rank
        assert not verdicts[0].refuted or could == {True}
    else:
        assert could == {verdicts[0].refuted}
    assert {verdict.outcome[0] == "NO VERDICT" for verdict in verdicts} == {not could.pop()}


@pytest.mark.parametrize("method", [None, audit.Split(), audit.Guessing(2, 2)], ids=str)
@pytest.mark.parametrize(
    "claim", [ta.guarantee(0.1), ta.guarantee(1), ta.guarantee(1, 0.1)], ids=str
)
@pytest.mark.parametrize("count", [3, 5, 8, 12, 40])
def test_one_run_is_judged_where_some_outcome_of_its_canaries_could_refute(method, claim, count):
    verdicts = [
        audit.judge(claim, audit.one_run(one, method=method)) for one in _outcomes(count, count)
    ]
    could = {verdict.could_refute for verdict in verdicts}
    assert not verdicts[0].refuted or could == {True}
    if method is None:
        assert could == {verdicts[0].refuted}


def test_no_outcome_of_so_few_samples_is_no_verdict():
    verdict = audit.judge(ta.guarantee(1), audit.many_runs(audit.Scores([1, 2, 3], [0, 0.5, 0.7])))
    assert verdict.headline == (
        "NO VERDICT: the claim ε = 1, δ = 0, as no outcome of so few samples could refute it at "
        "95 % confidence"
    )
    *_, more = verdict.reasons()
    assert more == (
        "More samples: with about 2.4 times as many, the best outcome could refute the claim."
    )
    assert not verdict.refuted
    assert summarise(verdict).refuted is None


def test_a_claim_that_no_samples_refute_is_no_verdict():
    verdict = audit.judge(ta.guarantee(0, 1), audit.many_runs(_normal(3.0)))
    assert verdict.outcome[0] == "NO VERDICT"
    assert verdict.headline.endswith("as it allows everything (δ = 1): no mechanism can break it")
    assert "samples" not in str(verdict)
    assert "does not show that the claim is true" not in str(verdict)
    assert verdict.samples_to_judge == np.inf


def _apart(count):
    return audit.Scores(np.arange(count) + 2.0 * count, np.arange(count))


@pytest.mark.parametrize("claim", [ta.guarantee(0.5), ta.guarantee(1), ta.guarantee(2)], ids=str)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_so_many_times_the_canaries_can_be_judged(claim, count):
    """With more canaries another number is guessed, which the claim fixes."""
    verdict = audit.judge(claim, audit.one_run(_apart(count), claim=claim))
    if verdict.could_refute:
        return
    enough = math.ceil(count * verdict.samples_to_judge)
    assert audit.judge(claim, audit.one_run(_apart(enough + 1), claim=claim)).could_refute
    assert not audit.judge(claim, audit.one_run(_apart(int(enough / 1.5)))).could_refute


def test_fixed_guesses_are_said_to_need_more_of_them():
    """Of twelve times the canaries, the same two guesses show no more."""
    verdict = audit.judge(ta.guarantee(1), audit.one_run(_apart(50), method=audit.Guessing(1, 1)))
    *_, more = verdict.reasons()
    assert more == (
        "More samples: with about 4.8 times as many guesses, of as many times the canaries, the "
        "best outcome could refute the claim."
    )
    same = audit.Guessing(1, 1)
    assert not audit.judge(ta.guarantee(1), audit.one_run(_apart(600), method=same)).could_refute
    more = audit.Guessing(5, 5)
    assert audit.judge(ta.guarantee(1), audit.one_run(_apart(250), method=more)).could_refute


@pytest.mark.parametrize("samples", [20, 2_000])
@pytest.mark.parametrize("until_decided", [False, True])
def test_a_probe_of_few_calls_is_no_verdict(samples, until_decided):
    def noisy(data, rng, size):
        return data + rng.laplace(0, 1, size)

    claim = ta.guarantee(2)
    verdict = audit.probe(noisy, 0, 1, claim=claim, samples=samples, until_decided=until_decided)
    few = samples == 20
    assert verdict.outcome[0] == ("NO VERDICT" if few else "NOT REFUTED")
    assert summarise(verdict).refuted is (None if few else False)


def test_a_bayesian_bound_is_no_verdict():
    verdict = audit.judge(
        ta.guarantee(0.1), audit.many_runs(_normal(2.0), method=audit.Credible(1))
    )
    assert verdict.outcome == ("NO VERDICT", "as a Bayesian bound cannot refute")
    assert summarise(verdict).refuted is None


def test_too_few_samples_say_what_they_would_miss():
    verdict = audit.judge(
        ta.guarantee(epsilon=1.0), audit.many_runs(audit.Scores([1, 2], [0, 0.5]))
    )
    assert verdict.detectable is None
    assert (
        "not even an optimal attack on a mechanism that truly leaks all that ε ≥ 64"
        in verdict.power
    )
    assert "too few samples" in verdict.power


def test_a_claim_of_nothing_is_held_against_leaks_that_would_be_found():
    verdict = audit.judge(ta.guarantee(epsilon=0.0), audit.many_runs(_normal(0.0, n=1000)))
    assert verdict.detectable is not None
    found = alternative(verdict.claim).curve(verdict.detectable)
    assert 0.1 < found.claimed_epsilon < 1
    assert verdict.evidence.power(verdict.claim, found) >= 0.9


def test_the_strength_found_is_found_and_hardly_less_is_not():
    verdict = audit.judge(gaussian(0.5), audit.many_runs(_normal(0.2)))
    strength = verdict.detectable
    powers = [
        verdict.evidence.power(gaussian(0.5), gaussian(0.5 * s))
        for s in (strength - 0.02, strength)
    ]
    assert powers[0] < 0.9 <= powers[1]
    assert f"μ ≥ {0.5 * strength:.3g}" in verdict.power


def test_samples_needed_refute_and_much_fewer_do_not():
    verdict = audit.judge(gaussian(1.0), audit.many_runs(_normal(1.3, seed=1), 1 - 1e-6))
    needed = verdict.samples_needed
    assert 1 < needed < 1000
    assert verdict.evidence.scaled(needed).refutes(verdict.claim)
    assert not verdict.evidence.scaled(needed / 2).refutes(verdict.claim)


def _hinted(mu, confidence, tries):
    """How many audits of Gaussian scores say of μ = 1 that more samples would refute it."""
    verdicts = [
        audit.judge(gaussian(1.0), audit.many_runs(_normal(mu, seed=k), confidence))
        for k in range(tries)
    ]
    standing = [one for one in verdicts if not one.refuted]
    said = [one.samples_needed not in (None, math.inf) for one in standing]
    for one, promised in list(zip(standing, said, strict=True))[:3]:
        assert ("times as many would refute it" in str(one)) == promised
    return sum(said), len(standing)


def test_true_claims_are_not_said_to_need_more_samples():
    """A tight claim, whose best look lies beyond it in nine of ten audits by luck alone.

    Stated: one true claim in ten at most; 22 looks that share the level say so less often.
    """
    said, standing = _hinted(1.0, 0.95, 200)
    assert standing > 180
    assert said <= 10


def test_broken_claims_short_of_samples_are_said_to_need_more():
    said, standing = _hinted(1.5, 1 - 1e-6, 20)
    assert standing > 10
    assert said > 0.9 * standing


@pytest.mark.parametrize("method", [audit.Ranks(), audit.Split(), audit.Fixed(0.5)], ids=str)
def test_evidence_at_its_own_level_is_itself_and_at_a_larger_shows_more(method):
    evidence = audit.many_runs(_normal(1.0), method=method)
    same, weaker = (evidence.at_level(level) for level in (evidence.ledger.level, 0.3))
    assert same.epsilon_lower().value == evidence.epsilon_lower().value
    assert weaker.confidence == pytest.approx(0.7)
    assert weaker.epsilon_lower().value > evidence.epsilon_lower().value
    assert sum(one.spent for one in weaker.ledger.entries) == pytest.approx(0.3)


def test_no_number_of_samples_refutes_what_the_rates_allow():
    verdict = audit.judge(ta.guarantee(epsilon=4.0), audit.many_runs(_normal(0.5)))
    assert verdict.samples_needed == math.inf
    assert "only a better attack could" in str(verdict)


def test_scaled_evidence_keeps_its_rates_and_its_level():
    evidence = audit.many_runs(_normal(1.0))
    twice = evidence.scaled(2.0)
    assert twice.ledger == evidence.ledger
    assert [(a.rank, a.beyond, a.tested) for a in twice.looks] == [
        (2 * a.rank, 2 * a.beyond, 2 * a.tested) for a in evidence.looks
    ]
    assert twice.epsilon_lower().value > evidence.epsilon_lower().value


@pytest.mark.parametrize(
    ("claim", "delta"),
    [
        (ta.guarantee(epsilon=1.0, delta=0.01), 0.01),
        (ta.guarantee(epsilon=1.0), 0.0),
        (ta.Laplace(scale=1.0), 0.0),
        (ta.RandomizedResponse(2.0), 0.0),
        (gaussian(1.0), 1e-5),
        (ta.Gaussian(sigma=2.0), 1e-5),
    ],
    ids=str,
)
def test_epsilon_is_told_at_the_smallest_delta_at_which_the_claim_has_one(claim, delta):
    evidence = audit.many_runs(_normal(1.5))
    verdict = audit.judge(claim, evidence)
    assert verdict.delta == delta
    assert verdict.epsilon_lower() == evidence.epsilon_lower(delta)
    assert verdict.epsilon_lower(0.1) == evidence.epsilon_lower(0.1)


def test_judge_takes_evidence_and_claims():
    with pytest.raises(ta.InvalidArgument, match="evidence must be evidence"):
        audit.judge(gaussian(1.0), 3)
    with pytest.raises(ta.InvalidArgument, match="claim must"):
        audit.judge("ε = 1", audit.many_runs(_normal(1.0)))
