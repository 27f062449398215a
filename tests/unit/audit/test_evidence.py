"""What evidence is made of: cells, ledgers, the choice of a rank, and who may be read together."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, binom

import tellapart as ta
from tellapart import audit
from tellapart.audit._cells import Cells
from tellapart.audit._choice import best_rank
from tellapart.audit._families import epsilons, gaussians, p_values
from tellapart.audit._rank_test import Looked, masses
from tellapart.audit.looks import End
from tellapart.curve.guarantees import gaussian


def _looks(counts):
    rows = [(k, 500, c, 400) for k, c in counts]
    return Looked(*np.array(rows, dtype=float).T)


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
    cells = Cells.of(LOOKS, LEVELS)
    roc = curve.tpr(cells.cuts)
    exact = p_values(LOOKS, family, np.full(4, at))
    least, most = cells.least(LOOKS.beyond, roc), cells.most(LOOKS.beyond, roc)
    assert np.all(least <= exact)
    assert np.all(exact <= most * (1 + 2e-8))
    assert np.all(most - least <= 0.1)


@pytest.mark.parametrize("at", [0.0, 0.5, 2.0])
def test_critical_counts_refute_and_are_close_to_the_least_that_do(at):
    needed = Cells.of(LOOKS, LEVELS).critical(
        ta.guarantee(epsilon=at).tpr(Cells.of(LOOKS, LEVELS).cuts)
    )
    for k, count in enumerate(needed):
        counts = np.arange(401.0)
        same = Looked(*(np.full(401, column[k]) for column in LOOKS))._replace(beyond=counts)
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
    entry = audit.Entry("ranks", 4, 0.01)
    assert entry.spent == 0.04
    ledger = audit.Ledger(0.05, (entry,))
    assert ledger.joined(ledger).level == 0.1
    assert str(ledger) == "ranks: 4 × 0.01\ntogether: 0.05"
    for level in (0.03, 1.0):
        with pytest.raises(ta.InvalidArgument, match="entries must spend at most"):
            audit.Ledger(level, (entry,))


def test_a_bound_for_gaussian_claims_says_so():
    draw = np.random.default_rng(0)
    evidence = audit.many_runs(audit.Scores(draw.normal(2, 1, 300), draw.normal(0, 1, 300)))
    bound = evidence.gaussian_epsilon_lower(1e-5)
    assert bound.basis is audit.Basis.GAUSSIAN
    exact = gaussian(evidence.mu_lower().value).epsilon(1e-5)
    assert exact * (1 - 1e-9) <= bound.value <= exact
    assert bound.value > evidence.epsilon_lower(1e-5).value


def test_scores_of_one_run_are_refused():
    scores = audit.Scores([1.0, 2.0], [0.0, 1.0], member_runs=["a", "b"], other_runs=["a", "c"])
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
    assert chosen.end is End.ACCUSE
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
    look = Looked(*np.array([[rank, 60, c, 40] for c in range(41)], dtype=float).T)
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


def test_evidence_is_short_in_print():
    draw = np.random.default_rng(3)
    groups = np.arange(1000) % 40
    scores = audit.Scores(
        draw.normal(1, 1, 1000),
        draw.normal(0, 1, 1000),
        member_groups=groups,
        other_groups=groups,
    )
    assert repr(scores) == "Scores(1,000 members, 1,000 others, 40 groups, higher scores accuse)"
    each = audit.many_runs(scores, each_group=True)
    assert repr(each) == (
        "JointEvidence(many runs, 40 audits together: pre-set ranks, 95 % confidence)"
    )
    assert repr(audit.judge(ta.guarantee(epsilon=9), each)) == (
        "Verdict(NOT REFUTED: the claim ε = 9, δ = 0, at 95 % confidence)"
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


def test_the_most_telling_number_of_guesses_refutes():
    draw = np.random.default_rng(6)
    coins = draw.integers(0, 2, 4000)
    evidence = audit.one_run(audit.Scores.from_rows(draw.normal(3.0 * coins, 1), coins))
    for claim in (ta.guarantee(epsilon=2), ta.guarantee(mu=0.2)):
        found = evidence.finding(claim)
        alone = [replace(evidence, tries=(one,)).finding(claim) for one in evidence.tries]
        assert found.p_value == min(one.p_value for one in alone if one is not None)
        assert found.shown > found.allowed
        assert "would not have refuted the claim. Were it true" in str(found)


def test_no_guess_is_no_method():
    with pytest.raises(ta.InvalidArgument, match="guesses_in \\+ guesses_out must be at least 1"):
        audit.Guessing(0, 0)
