"""Laws of evidence from one run: what must agree with what, and what must not change it."""

import re
from dataclasses import replace

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit.counts.one_run_guesses import epsilon_lower, p_value
from tellapart.audit.evidence.base import promised
from tellapart.audit.evidence.guess import RankedCanaries
from tellapart.audit.evidence.guess_numbers import GuessPlan, precision
from tellapart.audit.many_run_audit import unseen_scores
from tellapart.curve.guarantees import gaussian

LOWER = audit.Orientation.LOWER
METHODS = {
    "by count": None,
    "fixed": audit.Guessing(60, 30),
    "in alone": audit.Guessing(70),
    "read off": audit.Split(delta=1e-3),
}


def _sides(shift=2.0, canaries=600, seed=4):
    """Canaries by fair coins; the leak is larger among the high scores than among the low."""
    draw = np.random.default_rng(seed)
    inside = draw.random(canaries) < 0.5
    noise = draw.normal(0, 1, canaries)
    scores = np.where(inside & (draw.random(canaries) < 0.6), shift, 0.0) + noise
    return scores[inside], scores[~inside]


EVIDENCE = {
    name: audit.one_run(audit.Scores(*_sides(4.0)), 0.9, method) for name, method in METHODS.items()
}
each_evidence = pytest.mark.parametrize("evidence", EVIDENCE.values(), ids=EVIDENCE.keys())
each_fixed = pytest.mark.parametrize("name", ["by count", "fixed", "in alone"])


@each_evidence
def test_all_tries_together_stay_within_the_level(evidence):
    assert sum(one.level for one in evidence.tries) <= evidence.ledger.level * (1 + 1e-12)
    assert sum(one.spent for one in evidence.ledger.entries) == pytest.approx(0.1)
    assert evidence.confidence == pytest.approx(0.9)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("claim", [None, gaussian(1.0), ta.guarantee(epsilon=4, delta=1e-5)])
def test_numbers_of_guesses_fixed_beforehand_as_a_loop_would_try_them(delta, claim):
    members, others = _sides(4.0)
    ranking = RankedCanaries.of(members, others)
    bounds = [
        epsilon_lower(ranking.guesses(inside, outside), delta, level)
        for inside, outside, level in GuessPlan(claim).numbers(600, 0.1)
    ]
    evidence = audit.one_run(audit.Scores(members, others), 0.9, claim=claim)
    assert evidence.epsilon_lower(delta).value == pytest.approx(max(bounds))


@each_evidence
@pytest.mark.parametrize("delta", [0.0, 1e-4, 1e-3])
def test_a_promise_is_refuted_up_to_the_bound_on_epsilon(evidence, delta):
    bound = evidence.epsilon_lower(delta).value
    assert bound > 0.1
    assert evidence.refutes(ta.guarantee(epsilon=bound, delta=delta))
    assert not evidence.refutes(ta.guarantee(epsilon=bound + 1e-6, delta=delta))


@each_evidence
@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_a_promise_is_refuted_up_to_the_bound_on_delta(evidence, epsilon):
    bound = evidence.delta_lower(epsilon).value
    assert bound > 1e-4
    assert evidence.refutes(ta.guarantee(epsilon=epsilon, delta=bound))
    assert not evidence.refutes(ta.guarantee(epsilon=epsilon, delta=bound * (1 + 1e-6)))


@each_fixed
def test_gaussian_dp_is_refuted_just_below_the_bound_on_mu(name):
    bound = EVIDENCE[name].mu_lower().value
    assert bound > 0.1
    assert EVIDENCE[name].refutes(gaussian(bound - 1e-4))
    assert not EVIDENCE[name].refutes(gaussian(bound + 1e-4))


@pytest.mark.parametrize("name", METHODS)
def test_lower_scores_speak_as_turned_ones_would(name):
    members, others = _sides(4.0)
    turned = audit.one_run(audit.Scores(-members, -others, LOWER), 0.9, METHODS[name])
    assert turned.tries == EVIDENCE[name].tries
    wrong_way = audit.one_run(audit.Scores(members, others, LOWER), 0.9, audit.Guessing(60, 30))
    assert wrong_way.epsilon_lower().value == 0


@pytest.mark.parametrize("guesses", [(60, 30), (70, 0), (0, 70)])
def test_exchanging_the_worlds_and_the_direction_changes_nothing(guesses):
    """Whoever was in is out: guesses of "in" become guesses of "out", and curves turn."""
    members, others = _sides(4.0)
    truth = ta.attack([(0.0, 0.4), (0.3, 0.7)])
    assert truth.tpr(0.1) != pytest.approx(truth.mirrored().tpr(0.1))
    one = audit.one_run(audit.Scores(members, others), 0.9, audit.Guessing(*guesses))
    two = audit.one_run(audit.Scores(others, members, LOWER), 0.9, audit.Guessing(*guesses[::-1]))
    assert [each.guesses for each in one.tries] == [each.guesses for each in two.tries]
    claim = gaussian(0.3)
    power = one.power(claim, truth)
    assert power == pytest.approx(two.power(claim, truth.mirrored()))
    assert abs(power - one.power(claim, truth.mirrored())) > 0.01


@each_evidence
@pytest.mark.parametrize("claim", [ta.guarantee(epsilon=0.3), ta.guarantee(0.2, delta=1e-4)])
def test_a_finding_says_the_most_that_the_claim_would_have_let_pass(evidence, claim):
    found = evidence.finding(claim)
    assert found is not None
    tried = [one for one in evidence.tries if found.shown == one.guesses.right / one.guesses.made]
    for one in tried:
        most = round(found.allowed * one.guesses.made)
        assert found.allowed == pytest.approx(most / one.guesses.made)
        for right, refuted in ((most, False), (most + 1, True)):
            other = replace(one, guesses=replace(one.guesses, right=right))
            assert replace(evidence, tries=(other,)).refutes(claim) is refuted
        exact = p_value(one.guesses, claim.claimed_epsilon, claim.claimed_delta)
        # A number of guesses read off the output has no smaller p-value than its level.
        assert found.p_value == (one.level if one.read_off else exact)
        assert found.p_value <= found.level == one.level


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5])
@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_precision_is_how_often_the_highest_scores_are_members(share, mu):
    draw = np.random.default_rng(1)
    inside = draw.random(200_000) < 0.5
    highest = np.argsort(-draw.normal(mu * inside, 1))[: round(share * inside.size)]
    expected = float(precision(gaussian(mu), np.array(share)))
    # A correct one is off by five deviations with probability below 1e-6.
    deviation = np.sqrt(expected * (1 - expected) / highest.size)
    assert abs(inside[highest].mean() - expected) <= 5 * deviation


@each_evidence
def test_power_grows_with_the_leak_and_never_reaches_a_true_claim(evidence):
    claim = ta.guarantee(epsilon=0.5, delta=1e-4)
    powers = [evidence.power(claim, ta.guarantee(epsilon=e)) for e in (0.5, 1.0, 2.0, 6.0)]
    assert powers[0] <= 0.1
    assert powers == sorted(powers)
    assert powers[-1] > 0.9


def test_who_cannot_be_guessed_one_way_or_in_one_run_is_refused():
    members, others = _sides()
    with pytest.raises(ta.Unsupported, match="needs a score direction"):
        audit.one_run(audit.Scores(members, others, audit.Orientation.EITHER))
    runs = [np.repeat("a", side.size) for side in (members, others)]
    same = audit.Scores(members, others, member_runs=runs[0], non_member_runs=runs[1])
    assert audit.one_run(same).tries == audit.one_run(audit.Scores(members, others)).tries
    runs[1][-1] = "b"
    two = audit.Scores(members, others, member_runs=runs[0], non_member_runs=runs[1])
    with pytest.raises(ta.Unsupported, match="there are 2"):
        audit.one_run(two)
    with pytest.raises(ta.InvalidArgument, match="fair coin"):
        audit.one_run(audit.Scores(np.arange(90.0), np.arange(10.0)))
    with pytest.raises(ta.InvalidArgument, match="method must be"):
        audit.one_run(audit.Scores(members, others), method=audit.Band())


def test_a_bare_claim_is_told_that_its_mechanism_would_show_more():
    scores = audit.Scores(*_sides(0.5))
    bare = audit.judge(ta.guarantee(epsilon=8, delta=1e-5), audit.one_run(scores))
    assert not bare.refuted
    assert any("state it instead of ε and δ" in reason for reason in bare.reasons())
    stated = audit.judge(ta.Gaussian(0.5), audit.one_run(scores))
    assert not any("state it instead of ε and δ" in reason for reason in stated.reasons())


@pytest.mark.parametrize("guesses", [(60, 60), (60, 0), (0, 250), (280, 280)])
@pytest.mark.parametrize("digits", [0, 1])
def test_what_ties_lose_is_what_breaking_them_by_chance_gains_on_average(guesses, digits):
    members, others = (np.round(side, digits) for side in _sides(1.0))
    coarse, draw = RankedCanaries.of(members, others), np.random.default_rng(7)

    def broken():
        fine = [side + draw.uniform(0, 1e-6, side.size) for side in (members, others)]
        return RankedCanaries.of(*fine).guesses(*guesses).right

    right = [broken() for _ in range(400)]
    gained = np.mean(right) - coarse.guesses(*guesses).right
    assert coarse.lost_to_ties(*guesses) == pytest.approx(gained, abs=5 * np.std(right) / 20)
    assert gained > 0
    assert coarse.guesses(*guesses).right <= min(right)


def test_who_leaves_ties_is_told_what_they_lose():
    members, others = _sides(1.0)
    coarse = audit.one_run(audit.Scores(np.round(members), np.round(others)), claim=gaussian(1.0))
    said = audit.judge(gaussian(1.0), coarse).reasons()
    assert any("ties count as wrong" in reason and "random number" in reason for reason in said)
    fine = audit.one_run(audit.Scores(members, others), claim=gaussian(1.0))
    assert not any("ties" in reason for reason in audit.judge(gaussian(1.0), fine).reasons())


def test_independent_canaries_are_many_runs_that_refute_the_stated_mechanism():
    scores = audit.Scores(*_sides(4.0))
    evidence = audit.one_run(scores, 0.9, audit.IndependentCanaries())
    assert evidence.design is audit.Design.ONE_RUN
    assert evidence.looks == audit.many_runs(scores, 0.9).looks
    assert evidence.epsilon_lower(1e-5).value > EVIDENCE["by count"].epsilon_lower(1e-5).value
    verdict = audit.judge(ta.Gaussian(2.0), evidence)
    assert verdict.refuted
    assert verdict.headline == (
        "REFUTED: the mechanism Gaussian(sigma=2.0), its canaries independent, not differential "
        "privacy itself, at 90 % confidence"
    )
    assert any("not differential privacy" in reason for reason in verdict.reasons())
    stands = audit.judge(ta.Gaussian(0.3), evidence)
    assert stands.headline.startswith(
        "NOT REFUTED: the mechanism Gaussian(sigma=0.3), its canaries independent, at"
    )
    assert any("independent of each other" in said for said in evidence.assumptions)
    with pytest.raises(ta.InvalidArgument, match="fair coin"):
        audit.one_run(
            audit.Scores(np.arange(90.0), np.arange(10.0)), method=audit.IndependentCanaries()
        )


BARE = {
    "ε and δ": ta.guarantee(epsilon=1, delta=1e-5),
    "μ": gaussian(1.0),
    "a promise": ta.Promise(epsilon=1),
    "a curve": ta.Gaussian(2.0).sampled(0.1).curve(),
}


@pytest.mark.parametrize("claim", BARE.values(), ids=BARE)
def test_a_claim_without_a_mechanism_makes_no_canaries_independent(claim):
    scores = audit.Scores(*_sides(4.0))
    rule = "claim must be a mechanism .*state the mechanism.*or leave out"
    with pytest.raises(ta.InvalidArgument, match=rule):
        audit.one_run(scores, method=audit.IndependentCanaries(), claim=claim)
    evidence = audit.one_run(scores, 0.95, audit.IndependentCanaries())
    for part in (evidence, audit.together({"by gradient": evidence})):
        for asked in (
            part.refutes,
            part.could_refute,
            lambda stated, on=part: audit.judge(stated, on),
        ):
            with pytest.raises(ta.InvalidArgument, match=rule):
                asked(claim)


@pytest.mark.parametrize("claim", [gaussian(0.0), ta.guarantee(mu=0.0)])
def test_a_claim_that_nothing_leaks_is_tested_as_that_of_epsilon_zero(claim):
    none = GuessPlan(promised(ta.guarantee(epsilon=0)))
    assert GuessPlan(claim).numbers(1_000, 0.05) == none.numbers(1_000, 0.05)


def test_a_claim_of_gaussian_noise_is_told_its_own_bound():
    scores = audit.Scores(*_sides(4.0))
    said = str(audit.judge(ta.Gaussian(0.3), audit.one_run(scores, claim=ta.Gaussian(0.3))))
    lines = {line.partition(":")[0]: line for line in said.splitlines()}
    both = [
        float(re.search(r"≥ ([\d.]+) at δ = 1e-5", lines[name])[1])
        for name in ("Lower bound", "Lower bound if its noise is Gaussian")
    ]
    assert both[0] < both[1] < 25
    bare = audit.judge(ta.guarantee(3, 1e-5), audit.one_run(scores, claim=ta.guarantee(3, 1e-5)))
    assert "if its noise" not in str(bare)


def test_the_level_is_divided_as_the_user_says():
    scores = audit.Scores(*_sides(4.0))
    shares = [audit.Guessing(60, 60, share=0.8), audit.Guessing(200, 200, share=0.2)]
    evidence = audit.one_run(scores, 0.9, shares)
    assert [one.level for one in evidence.tries] == pytest.approx([0.08, 0.02])
    assert [entry.spent for entry in evidence.ledger.entries] == pytest.approx([0.08, 0.02])
    parts = {
        "few": audit.one_run(scores, 0.92, audit.Guessing(60, 60)),
        "many": audit.one_run(scores, 0.98, audit.Guessing(200, 200)),
    }
    together = audit.together(parts).epsilon_lower(1e-3).value
    assert evidence.epsilon_lower(1e-3).value == pytest.approx(together)
    rest = audit.one_run(scores, 0.9, [audit.Guessing(60), audit.Guessing(70, share=0.8)])
    assert [one.level for one in rest.tries] == pytest.approx([0.02, 0.08])
    equal = audit.one_run(scores, 0.9, [audit.Guessing(60), audit.Guessing(70)])
    assert [one.level for one in equal.tries] == pytest.approx([0.05, 0.05])
    for shares in ((0.7, 0.4), (1.0, None)):
        with pytest.raises(ta.InvalidArgument, match="shares must"):
            audit.one_run(scores, 0.9, [audit.Guessing(60, share=share) for share in shares])
    with pytest.raises(ta.InvalidArgument, match="method must hold at least one"):
        audit.one_run(scores, 0.9, [])
    with pytest.raises(ta.InvalidArgument, match="share must be above 0"):
        audit.Guessing(60, share=0.0)


@pytest.mark.parametrize(("canaries", "mu"), [(100, 3.0), (300, 2.1), (1_000, 1.7)])
def test_power_is_how_often_the_best_scores_refute(canaries, mu):
    """Also where all guesses must be right, or nearly all."""
    claim = ta.guarantee(mu=1)
    evidence = audit.one_run(unseen_scores(canaries), claim=claim)
    (guessed,) = evidence.tries
    many, needed = guessed.guesses_in, guessed.test_of(claim).least_refuting
    assert needed >= 2 * many - 4
    rng = np.random.default_rng(canaries)
    inside = rng.random((2_000, canaries)) < 0.5
    order = np.argsort(mu * inside + rng.normal(size=inside.shape), axis=1)
    ranked = np.take_along_axis(inside, order, axis=1)
    right = ranked[:, -many:].sum(axis=1) + (~ranked[:, :many]).sum(axis=1)
    found = np.mean(right >= needed)
    promised = evidence.power_against(claim)(ta.guarantee(mu=mu))
    # Three points, and what so many draws leave open (four standard deviations); never above.
    away = 4 * (found * (1 - found) / 2_000) ** 0.5
    assert found - 0.03 - away < promised < found + away
