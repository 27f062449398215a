"""What evidence is made of: cells, ledgers, the choice of a rank, and who may be read together."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import beta, binom

import tellapart as ta
from tellapart import audit
from tellapart.audit.bounds import Basis
from tellapart.audit.counts.buehler import buehler_p_value, buehler_refutes
from tellapart.audit.counts.confidence_band import fpr_upper_above, tpr_lower
from tellapart.audit.counts.rank_test import (
    RankCounts,
    RateCells,
    epsilons,
    gaussians,
    masses,
    p_values,
)
from tellapart.audit.evidence.thresholds import End, best_rank
from tellapart.audit.level_budget import Entry, LevelBudget
from tellapart.curve.guarantees import gaussian
from tellapart.errors import InvalidArgument, Unsupported


def _looks(counts):
    rows = [(k, 500, c, 400) for k, c in counts]
    return RankCounts(*np.array(rows, dtype=float).T)


LOOKS = _looks([(1, 5), (9, 40), (81, 150), (243, 300)])
LEVELS = np.array([0.01, 0.01, 1e-4, 1e-6])


@pytest.mark.parametrize(
    ("family", "at", "curve"),
    [
        (epsilons(0.0), 0.5, ta.guarantee(epsilon=0.5)),
        (epsilons(0.1), 1.0, ta.guarantee(epsilon=1.0, delta=0.1)),
        (gaussians(), 0.8, gaussian(0.8)),
    ],
)
def test_cells_enclose_every_chance(family, at, curve):
    cells = RateCells.of(LOOKS, LEVELS)
    roc = curve.tpr(cells.cuts)
    exact = p_values(LOOKS, family, np.full(4, at))
    least, most = cells.least(LOOKS.beyond, roc), cells.most(LOOKS.beyond, roc)
    assert np.all(least <= exact)
    assert np.all(exact <= most * (1 + 2e-8))
    assert np.all(most - least <= 0.1)


@pytest.mark.parametrize("at", [0.0, 0.5, 2.0])
def test_critical_counts_refute_and_are_close_to_the_least_that_do(at):
    needed = RateCells.of(LOOKS, LEVELS).critical(
        ta.guarantee(epsilon=at).tpr(RateCells.of(LOOKS, LEVELS).cuts)
    )
    for k, count in enumerate(needed):
        counts = np.arange(401.0)
        same = RankCounts(*(np.full(401, column[k]) for column in LOOKS))._replace(beyond=counts)
        refuting = counts[p_values(same, epsilons(0.0), np.full(401, at)) <= LEVELS[k]]
        least = refuting.min(initial=401.0)
        assert least <= count <= least + 12


def test_masses_are_those_of_the_law():
    law = (np.array(3.0), np.array(40.0))
    cuts = beta(3, 40).ppf([1e-9, 0.01, 0.5, 0.99, 1 - 1e-9])
    found = masses(law, cuts)
    assert found.sum() == pytest.approx(1)
    assert found == pytest.approx([1e-9, 0.01 - 1e-9, 0.49, 0.49, 0.01 - 1e-9, 1e-9], rel=1e-6)


def test_a_ledger_spends_no_more_than_its_level():
    entry = Entry("ranks", 4, 0.01)
    assert entry.spent == 0.04
    ledger = LevelBudget(0.05, (entry,))
    assert str(ledger) == "ranks: 4 × 0.01\ntogether: 0.05"
    for level in (0.03, 1.0):
        with pytest.raises(ta.InvalidArgument, match="entries must spend at most"):
            LevelBudget(level, (entry,))


def test_a_bound_for_gaussian_claims_says_so():
    draw = np.random.default_rng(0)
    evidence = audit.many_runs(audit.Scores(draw.normal(2, 1, 300), draw.normal(0, 1, 300)))
    bound = evidence.gaussian_epsilon_lower(1e-5)
    assert bound.basis is Basis.GAUSSIAN
    exact = gaussian(evidence.mu_lower().value).epsilon(1e-5)
    assert exact * (1 - 1e-9) <= bound.value <= exact
    assert bound.value > evidence.epsilon_lower(1e-5).value


def test_scores_of_one_run_are_refused():
    scores = audit.Scores(
        [1.0, 2.0], [0.0, 1.0], member_runs=["a", "b"], non_member_runs=["a", "c"]
    )
    with pytest.raises(ta.Unsupported, match="run 'a'"):
        audit.many_runs(scores)


def test_arguments_are_checked():
    scores = audit.Scores([1.0, 2.0], [0.0, 1.0])
    with pytest.raises(ta.InvalidArgument, match="method must be audit"):
        audit.many_runs(scores, method="ranks")
    with pytest.raises(ta.InvalidArgument, match="confidence must"):
        audit.many_runs(scores, confidence=1.0)
    with pytest.raises(ta.InvalidArgument, match="scores must be"):
        audit.many_runs([1.0, 2.0])
    with pytest.raises(ta.InvalidArgument, match="delta must"):
        audit.many_runs(scores).epsilon_lower(-0.1)
    with pytest.raises(ta.InvalidArgument, match="epsilon must"):
        audit.many_runs(scores).delta_lower(math.inf)


def test_the_chosen_rank_lies_where_the_leak_is():
    """All of the leak is in one tenth of the members, far above everyone else."""
    draw = np.random.default_rng(0)
    members = np.where(np.arange(2000) < 200, 9.0, 0.0) + draw.random(2000)
    scores = audit.Scores(members, draw.random(2000))
    aside, kept = scores.split(0.3, 5)
    chosen = best_rank(aside, kept, 0.0, 0.05)
    assert chosen.end is End.FLAG
    assert chosen.higher
    assert chosen.rank <= 3
    turned = audit.Scores(-members, -draw.random(2000), audit.Orientation.EITHER).split(0.3, 5)
    assert not best_rank(*turned, 0.0, 0.05).higher


@pytest.mark.parametrize("rank", [1, 5, 30])
def test_the_law_behind_a_look(rank):
    """Scores of one normal law: the rate beyond the rank-th of 60 others, and counts given it."""
    draw = np.random.default_rng(2)
    others = np.sort(draw.random((20_000, 60)), axis=1)
    rates = 1 - others[:, -rank]
    counts = (draw.random((20_000, 40)) < rates[:, None]).sum(axis=1)
    look = RankCounts(*np.array([[rank, 60, c, 40] for c in range(41)], dtype=float).T)
    tails = p_values(look, epsilons(0.0), np.zeros(41))
    seen = (counts[:, None] >= np.arange(41)).sum(axis=0)
    # 123 tails in all, each off with probability below 1e-9.
    assert np.all(seen <= binom.isf(1e-9, 20_000, np.minimum(tails, 1)))
    assert np.all(seen >= binom.ppf(1e-9, 20_000, np.minimum(tails, 1) * (1 - 2e-8)))


def test_a_band_is_not_crossed_by_rounding():
    scores = audit.Scores(np.arange(50.0), np.arange(50.0) + 0.5)
    evidence = audit.many_runs(scores, method=audit.Band())
    for claim in (ta.guarantee(epsilon=0.0), ta.dp_sgd(5.0, 0.01, 3), gaussian(1e-3)):
        assert evidence.finding(claim) is None


def _normal(members, others, seed=0):
    rng = np.random.default_rng(seed)
    return audit.Scores(rng.normal(1, 1, members), rng.normal(0, 1, others))


@pytest.mark.parametrize(
    "evidence",
    [
        audit.many_runs(_normal(200, 200)),
        audit.many_runs(_normal(200, 200), method=audit.Band()),
        audit.many_runs(_normal(200, 200), method=audit.Fixed(1.0)),
        audit.one_run(_normal(200, 200)),
    ],
)
def test_what_an_attack_showed_is_no_promise_to_break(evidence):
    shown = audit.many_runs(_normal(50, 50)).curve()
    for ask in (evidence.refutes, evidence.power_against):
        with pytest.raises(InvalidArgument, match=r"^claim must be a promise"):
            ask(shown)


def test_groups_of_different_mix_are_not_pooled():
    # Nothing leaks, but group A scores high and is more often a member.
    rng = np.random.default_rng(2)
    members = np.concatenate([rng.normal(10, 1, 90), rng.normal(0, 1, 10)])
    others = np.concatenate([rng.normal(10, 1, 10), rng.normal(0, 1, 90)])
    groups = {
        "member_groups": ["A"] * 90 + ["B"] * 10,
        "non_member_groups": ["A"] * 10 + ["B"] * 90,
    }
    scores = audit.Scores(members, others, **groups)
    with pytest.raises(
        Unsupported, match="group 'A' has 90 of 100 members and 10 of 100 non-members"
    ):
        audit.many_runs(scores)
    assert audit.many_runs(scores, each_group=True).epsilon_lower(0).value == 0
    alike = audit.Scores(
        members, others, member_groups=["A", "B"] * 50, non_member_groups=["B", "A"] * 50
    )
    assert audit.many_runs(alike).epsilon_lower(0).value > 1


def test_a_p_value_that_is_no_number_refutes_nothing(monkeypatch):
    evidence = audit.many_runs(_normal(100, 100))
    monkeypatch.setattr(
        type(evidence), "_p_values", lambda self, *asked: np.full(len(self.looks), math.nan)
    )
    assert not evidence.refutes(ta.guarantee(epsilon=0))


def test_numbers_read_off_one_run_say_which_claims_are_free():
    fixed, chosen = (
        audit.one_run(_normal(200, 200), method=method).ledger.free[0]
        for method in (audit.Guessing(20, 20), audit.Split())
    )
    assert "no correction is needed for testing several claims" in fixed
    assert "several ε at one δ" in chosen


def _counted(accused, n=30):
    return audit.Counts(accused, n, 1, n)


def test_evidence_read_together_lets_the_strongest_speak():
    """Power is that of one part, and the finding the most telling: neither is added up."""
    parts = {str(k): audit.from_counts(_counted(k), 0.99) for k in (12, 24, 18)}
    both = audit.together(parts)
    claim = ta.guarantee(epsilon=0.1)
    found = {name: part.finding(claim) for name, part in parts.items()}
    least = min(found, key=lambda name: found[name].p_value)
    assert len({one.p_value for one in found.values()}) == 3
    assert both.finding(claim).where == f"{least}: {found[least].where}"
    for truth in (ta.guarantee(epsilon=2.0), ta.guarantee(epsilon=5.0)):
        powers = [part.power(ta.guarantee(epsilon=1.0), truth) for part in parts.values()]
        assert both.power(ta.guarantee(epsilon=1.0), truth) == max(powers)


def test_evidence_of_two_designs_is_not_read_together():
    coins = np.arange(20) % 2 == 0
    parts = {
        "one": audit.one_run(audit.Scores.from_rows(np.arange(20.0), coins)),
        "many": audit.many_runs(audit.Scores([1.0, 2.0], [0.0, 1.0])),
    }
    with pytest.raises(ta.InvalidArgument, match="one design"):
        audit.together(parts)


def test_beliefs_read_together_are_no_proof():
    """Neither by group nor by hand, and none hides behind evidence that is."""
    draw = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], 20)
    sides = draw.normal(3, 1, 40), draw.normal(0, 1, 40)
    scores = audit.Scores(*sides, member_groups=groups, non_member_groups=groups)
    method = audit.Credible(1.0, audit.Prior.JEFFREYS)
    beliefs = audit.many_runs(scores, method=method, each_group=True)
    assert not beliefs.can_refute
    assert beliefs.epsilon_lower().basis is Basis.BAYESIAN
    said = str(audit.judge(ta.guarantee(epsilon=0.0), beliefs))
    assert said.startswith("NO VERDICT: the claim ε = 0, δ = 0, as a Bayesian bound cannot refute")
    assert "Power" not in said
    one, other = audit.many_runs(scores, method=method), audit.many_runs(scores)
    assert audit.together({"a": other, "b": other}).can_refute
    with pytest.raises(ta.InvalidArgument, match="all be tests or all be Bayesian bounds"):
        audit.together({"belief": one, "proof": other})


@pytest.mark.parametrize("counts", [audit.Counts(25, 40, 5, 40), audit.Counts(30, 30, 0, 50)])
def test_one_threshold_spends_what_its_ledger_says(counts):
    """A naive second reading: the test at the first entry's level, the corner at the second's."""
    evidence = audit.from_counts(counts, 0.9)
    test, corner = (entry.level for entry in evidence.ledger.entries)
    assert test + corner == pytest.approx(0.1)
    fpr = beta.ppf(
        1 - corner / 2, counts.false_positives + 1, counts.non_members - counts.false_positives
    )
    missed = counts.members - counts.true_positives
    tpr = beta.ppf(corner / 2, counts.true_positives, missed + 1)

    def refuted(claim):
        p = buehler_p_value(counts, claim.tpr, confidence=1 - test)
        return p <= test or tpr > claim.tpr(fpr)

    at, missed_rate = evidence.curve().vertices()
    assert np.any((abs(at - fpr) < 1e-9) & (abs(missed_rate - (1 - tpr)) < 1e-9))
    for delta in (0.0, 0.05):
        bound = evidence.epsilon_lower(delta).value
        assert bound > 0.3
        assert evidence.refutes(ta.guarantee(epsilon=bound, delta=delta))
        assert refuted(ta.guarantee(epsilon=bound - 1e-3, delta=delta))
        assert not refuted(ta.guarantee(epsilon=bound + 1e-3, delta=delta))


@pytest.mark.parametrize("orientation", list(audit.Orientation), ids=str)
def test_a_band_spends_what_its_ledger_says(orientation):
    """A naive second reading: rates at each entry's own level, at every score."""
    draw = np.random.default_rng(3)
    sides = draw.normal(1, 1, 80), draw.normal(0, 1, 70)
    evidence = audit.many_runs(audit.Scores(*sides, orientation), 0.9, audit.Band())
    levels = [entry.level for entry in evidence.ledger.entries]
    assert sum(levels) == pytest.approx(0.1)
    ways = {"higher": [1], "lower": [-1], "either": [1, -1]}[orientation.value]
    corners = {(0.0, 1.0), (1.0, 0.0)}
    for k, sign in enumerate(ways):
        members, others = (sign * side for side in sides)
        for cut in np.concatenate([members, others]):
            beyond, falsely = int(np.sum(members > cut)), int(np.sum(others > cut))
            tpr = float(tpr_lower(beyond, 80, levels[2 * k + 1]))
            corners.add((float(fpr_upper_above(falsely, 70, levels[2 * k])), 1 - tpr))
    fpr, fnr = np.array(sorted(corners)).T
    for at, missed in zip(*evidence.curve().vertices(), strict=True):
        apart = np.maximum(abs(fpr - at), abs(fnr - missed))
        assert apart.min() < 1e-9


def test_several_attacks_share_the_level():
    several = audit.from_counts({str(k): _counted(k) for k in (12, 24)}, 0.9)
    assert several.confidence == pytest.approx(0.9)
    for name, part in several.parts.items():
        alone = audit.from_counts(_counted(int(name)), 1 - 0.1 / 2)
        assert part.epsilon_lower().value == pytest.approx(alone.epsilon_lower().value)


@pytest.mark.parametrize("epsilon", [0.0, 0.8])
def test_the_power_of_one_threshold_is_no_more_than_the_double_sum(epsilon):
    """At the FPR observed, for truths up to one that shows all members."""
    n, fpr = 8, 1 / 8
    evidence = audit.from_counts(audit.Counts(4, n, 1, n), 0.8)
    claim = ta.guarantee(epsilon=epsilon)
    refuting = np.array(
        [
            [
                audit.from_counts(audit.Counts(hits, n, alarms, n), 0.8).refutes(claim)
                for hits in range(n + 1)
            ]
            for alarms in range(n + 1)
        ]
    )
    alarms = binom.pmf(np.arange(n + 1), n, fpr)
    for truth in (ta.guarantee(epsilon=1.5), ta.guarantee(epsilon=3.0), ta.attack([(0.0, 1.0)])):
        hits = binom.pmf(np.arange(n + 1), n, truth.tpr(fpr))
        stated = evidence.power(claim, truth)
        assert stated <= alarms @ refuting @ hits + 1e-12
    assert stated > 0.5


def test_evidence_is_short_in_print():
    draw = np.random.default_rng(3)
    groups = np.arange(1000) % 40
    scores = audit.Scores(
        draw.normal(1, 1, 1000),
        draw.normal(0, 1, 1000),
        member_groups=groups,
        non_member_groups=groups,
    )
    assert (
        repr(scores) == "Scores(1,000 members, 1,000 non-members, 40 groups, higher means member)"
    )
    each = audit.many_runs(scores, each_group=True)
    assert repr(each) == (
        "JointEvidence(many runs, 40 audits together: pre-set ranks, 95 % confidence)"
    )
    assert repr(audit.judge(ta.guarantee(epsilon=1.5), each)) == (
        "Verdict(NOT REFUTED: the claim ε = 1.5, δ = 0, at 95 % confidence)"
    )
    for method in (audit.Split(), audit.Band(), audit.Fixed(1.0), audit.Credible(1.0)):
        assert len(repr(audit.many_runs(scores, method=method))) < 100
    assert len(repr(audit.metrics(scores))) < 600


def test_what_refutes_is_weighed_as_the_ledger_says():
    draw = np.random.default_rng(4)
    evidence = audit.many_runs(audit.Scores(draw.normal(2, 1, 500), draw.normal(0, 1, 500)))
    found = evidence.finding(ta.guarantee(epsilon=1))
    assert found.level == pytest.approx(evidence.ledger.entries[0].level, rel=1e-12)
    assert found.p_value <= found.level


@pytest.mark.parametrize(
    "claim",
    [ta.guarantee(epsilon=1), ta.DiscreteLaplace(scale=1.0), ta.Gaussian(sigma=1.0)],
    ids=["promise", "mechanism", "gaussian"],
)
def test_counts_tell_a_violation_of_many_deviations_as_one(claim):
    """88 % against 12 % of 9,000 each: some 60 deviations beyond what ε = 1 allows."""
    found = audit.from_counts(audit.Counts(7911, 9000, 1089, 9000)).finding(claim)
    assert found.p_value < 1e-15


@pytest.mark.parametrize("confidence", [0.7, 0.95])
def test_p_values_of_counts_are_as_rare_as_they_say(confidence):
    """All outcomes, for rates on the claim's own curve: no p-value comes more often than itself."""
    claim, n = ta.RandomizedResponse(1.5).curve(), 9
    found = np.ones((n + 1, n + 1))
    for few, some in np.ndindex(found.shape):
        seen = audit.from_counts(audit.Counts(some, n, few, n), confidence).finding(claim)
        found[few, some] = 1.0 if seen is None else seen.p_value
    assert (found < 1).any()
    for fpr in (0.02, 0.1, 0.182, 0.3, 0.6):
        chance = np.outer(*(binom.pmf(range(n + 1), n, p) for p in (fpr, float(claim.tpr(fpr)))))
        for t in np.unique(found):
            assert chance[found <= t].sum() <= t * (1 + 1e-9)


def test_the_most_telling_number_of_guesses_refutes():
    draw = np.random.default_rng(6)
    coins = draw.integers(0, 2, 4000)
    evidence = audit.one_run(audit.Scores.from_rows(draw.normal(3.0 * coins, 1), coins))
    for claim in (ta.guarantee(epsilon=2), ta.guarantee(mu=0.2)):
        found = evidence.finding(claim)
        alone = [replace(evidence, tries=(one,)).finding(claim) for one in evidence.tries]
        assert found.p_value == min(one.p_value for one in alone if one is not None)
        assert found.shown > found.allowed
        assert "would not have refuted the claim; p ≤ " in str(found)


def test_no_guess_is_no_method():
    with pytest.raises(ta.InvalidArgument, match="guesses_in \\+ guesses_out must be at least 1"):
        audit.Guessing(0, 0)


def test_a_bound_on_epsilon_is_searched_once_for_the_same_counts(monkeypatch):
    """Pages show it in several places, each from evidence of its own."""
    asked = []

    def refutes(*given, **more):
        asked.append(given)
        return buehler_refutes(*given, **more)

    monkeypatch.setattr("tellapart.audit.evidence.count.buehler_refutes", refutes)
    counts = audit.Counts(true_positives=41, members=97, false_positives=3, non_members=89)
    first = audit.from_counts(counts).epsilon_lower()
    searched = len(asked)
    assert searched > 0
    assert audit.from_counts(counts).epsilon_lower() == first
    assert len(asked) == searched
    assert audit.from_counts(counts, 0.9).epsilon_lower().value > first.value
    assert audit.from_counts(counts).epsilon_lower(0.01).value < first.value


@pytest.mark.parametrize("confidence", [0.2, 0.5, 0.8, 0.95, 1 - 1e-6])
@pytest.mark.parametrize("claim", [ta.guarantee(0, delta=0.2), ta.guarantee(1), ta.Gaussian(1.0)])
def test_counts_of_every_kind_have_an_answer(claim, confidence):
    """Also where nobody or everybody is flagged: limits at tiny levels were no numbers."""
    for some, few in product((0, 1, 3, 5), repeat=2):
        evidence = audit.from_counts(audit.Counts(some, 5, few, 5), confidence)
        assert evidence.refutes(claim) in (True, False)
