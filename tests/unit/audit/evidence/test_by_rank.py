"""Laws of evidence at ranks: what must not change an audit, and what must agree with what."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import audit
from tellapart.audit import many_run_audit
from tellapart.audit.evidence.thresholds import End, geometric_ranks, look_at
from tellapart.curve.guarantees import gaussian

SIDES = st.lists(st.integers(-12, 12), min_size=1, max_size=60)
FEW = settings(max_examples=25, deadline=None)


def _scores(shift, n=400, seed=3, orientation=audit.Orientation.HIGHER):
    draw = np.random.default_rng(seed)
    return audit.Scores(draw.normal(shift, 1, n), draw.normal(0, 1, n + 50), orientation)


EVIDENCE = {
    "ranks": audit.many_runs(_scores(1.5)),
    "split": audit.many_runs(_scores(1.5), method=audit.Split()),
    "band": audit.many_runs(_scores(1.5), method=audit.Band()),
    "fixed": audit.many_runs(_scores(1.5), method=audit.Fixed(1.0)),
    "both ways": audit.many_runs(_scores(1.5, orientation=audit.Orientation.EITHER)),
    "at 1e-8": audit.many_runs(_scores(2.5), confidence=1 - 1e-8),
}
each_evidence = pytest.mark.parametrize("evidence", EVIDENCE.values(), ids=EVIDENCE.keys())


@FEW
@given(SIDES, SIDES, st.sampled_from([0.0, 1e-3, 0.1]))
def test_exchanging_the_worlds_and_the_direction_changes_nothing(members, others, delta):
    one = audit.many_runs(audit.Scores(members, others), confidence=0.6)
    two = audit.many_runs(audit.Scores(others, members, audit.Orientation.LOWER), confidence=0.6)
    assert one.epsilon_lower(delta).value == pytest.approx(two.epsilon_lower(delta).value, abs=1e-8)
    assert one.mu_lower().value == pytest.approx(two.mu_lower().value, abs=1e-8)


@FEW
@given(SIDES, SIDES, st.randoms(use_true_random=False))
@pytest.mark.parametrize("method", [audit.Ranks(), audit.Split(), audit.Band()])
def test_only_the_order_of_scores_counts(method, members, others, chance):
    assume(min(len(members), len(others)) > 1)
    plain = audit.many_runs(audit.Scores(members, others), 0.6, method)
    rows = [list(side) for side in (members, others)]
    for side in rows:
        chance.shuffle(side)
    shuffled = audit.many_runs(audit.Scores(*rows), 0.6, method)
    grown = audit.many_runs(audit.Scores(*(np.exp(np.array(s) / 3) for s in rows)), 0.6, method)
    for delta in (0.0, 0.01):
        bound = plain.epsilon_lower(delta)
        assert bound == shuffled.epsilon_lower(delta) == grown.epsilon_lower(delta)


@each_evidence
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.05])
def test_a_promise_is_refuted_just_below_the_bound_on_epsilon(evidence, delta):
    bound = evidence.epsilon_lower(delta).value
    assert bound > 0.1
    assert evidence.refutes(ta.guarantee(epsilon=bound - 1e-4, delta=delta))
    assert not evidence.refutes(ta.guarantee(epsilon=bound + 1e-4, delta=delta))


@each_evidence
@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_a_promise_is_refuted_just_below_the_bound_on_delta(evidence, epsilon):
    bound = evidence.delta_lower(epsilon).value
    if bound == 0:
        assert not evidence.refutes(ta.guarantee(epsilon=epsilon, delta=0.0))
        return
    assert evidence.refutes(ta.guarantee(epsilon=epsilon, delta=max(bound - 1e-4, 0.0)))
    assert not evidence.refutes(ta.guarantee(epsilon=epsilon, delta=bound + 1e-4))


@each_evidence
def test_gaussian_dp_is_refuted_just_below_the_bound_on_mu(evidence):
    bound = evidence.mu_lower().value
    assert bound > 0.1
    assert evidence.refutes(gaussian(bound - 1e-4))
    assert not evidence.refutes(gaussian(bound + 1e-4))


CLAIMS = [
    *(ta.guarantee(epsilon=e, delta=d) for e in (0.1, 1.0, 2.0, 4.0) for d in (0.0, 0.01, 0.3)),
    *(gaussian(mu) for mu in (0.3, 1.0, 1.6, 3.0)),
    *(ta.Laplace(scale=s).curve() for s in (0.3, 1.0, 3.0)),
    ta.RandomizedResponse(0.5).curve(),
    ta.dp_sgd(1.0, 0.01, 50).curve(),
    replace(ta.attack([(0.05, 0.2), (0.5, 0.9)]), bound=ta.Bound.EXACT),
]


@each_evidence
def test_whatever_the_curve_crosses_is_refuted(evidence):
    fpr, fnr = evidence.curve().vertices()
    crossed = [claim for claim in CLAIMS if np.any(claim.beta(fpr) > fnr + 1e-9)]
    assert crossed
    assert [claim for claim in crossed if not evidence.refutes(claim)] == []


@each_evidence
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1])
def test_the_curve_shows_no_more_than_the_bounds(evidence, delta):
    curve = evidence.curve()
    assert curve.bound is ta.Bound.UPPER
    for one in (curve, curve.mirrored()):
        assert one.epsilon(delta) <= evidence.epsilon_lower(delta).value + 1e-4


@each_evidence
def test_a_weaker_claim_is_never_refuted_where_a_stronger_one_is_not(evidence):
    fpr = np.concatenate([[0.0], np.geomspace(1e-6, 1, 60)])
    refuted = [evidence.refutes(claim) for claim in CLAIMS]
    assert any(refuted)
    assert not all(refuted)
    for strong, hit in zip(CLAIMS, refuted, strict=True):
        for weak, too in zip(CLAIMS, refuted, strict=True):
            sides = [(strong, weak), (strong.mirrored(), weak.mirrored())]
            if not hit and all(np.all(a.beta(fpr) >= b.beta(fpr)) for a, b in sides):
                assert not too


def test_more_confidence_proves_less():
    bounds = [audit.many_runs(_scores(1.0), c).epsilon_lower().value for c in (0.5, 0.9, 0.999999)]
    assert bounds[0] > bounds[1] > bounds[2] > 0


def test_evidence_read_together_adds_up_its_levels():
    one, two = (audit.many_runs(_scores(1.0, seed=s), 0.97) for s in (1, 2))
    both = audit.together({"a": one, "b": two})
    assert both.confidence == pytest.approx(0.94)
    assert both.ledger.level == one.ledger.level + two.ledger.level
    assert both.epsilon_lower().value == max(e.epsilon_lower().value for e in (one, two))
    with pytest.raises(ta.InvalidArgument, match="less than 1"):
        audit.together({str(k): audit.many_runs(_scores(1.0), 0.5) for k in range(2)})
    with pytest.raises(ta.InvalidArgument, match="be evidence"):
        audit.together({"a": 3})


def test_groups_and_directions_are_paid_for():
    draw = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], 100)
    scores = audit.Scores(
        draw.normal(1, 1, 200),
        draw.normal(0, 1, 200),
        member_groups=groups,
        non_member_groups=groups,
    )
    each = audit.many_runs(scores, each_group=True)
    assert each.confidence == pytest.approx(0.95)
    assert all(part.confidence == pytest.approx(0.975) for part in each.parts.values())
    one = audit.many_runs(_scores(1.0))
    both = audit.many_runs(_scores(1.0, orientation=audit.Orientation.EITHER))
    assert both.confidence == one.confidence
    assert max(e.level for e in both.ledger.entries) == pytest.approx(
        max(e.level for e in one.ledger.entries) / 2
    )
    assert both.epsilon_lower().value < one.epsilon_lower().value
    for evidence in (one, both, each):
        assert sum(e.spent for e in evidence.ledger.entries) == pytest.approx(0.05)


def _grouped(names=("a", "b", "c")):
    draw, groups = np.random.default_rng(0), np.repeat(names, 60)
    sides = draw.normal(1, 1, groups.size), draw.normal(0, 1, groups.size)
    return audit.Scores(*sides, member_groups=groups, non_member_groups=groups)


def test_groups_get_the_shares_that_are_set():
    each = audit.many_runs(_grouped(), each_group=True, shares={"b": 0.6})
    levels = {name: part.ledger.level for name, part in each.parts.items()}
    assert levels == pytest.approx({"group a": 0.01, "group b": 0.03, "group c": 0.01})
    assert each.confidence == pytest.approx(0.95)
    # As if each had been audited by itself at that level; numbers may name groups, too.
    alone = audit.many_runs(_grouped().by_group()["b"], 0.97)
    assert each.parts["group b"].epsilon_lower().value == alone.epsilon_lower().value
    numbered = audit.many_runs(_grouped((7, 8)), each_group=True, shares={7: 0.8, "8": 0.1})
    assert numbered.confidence == pytest.approx(0.955)  # a part of the level is not spent


def test_attacks_get_the_shares_that_are_set():
    counts = audit.Counts(90, 100, 0, 100)
    each = audit.from_counts({"loss": counts, "gradient": counts}, shares={"loss": 0.9})
    assert [part.ledger.level for part in each.parts.values()] == pytest.approx([0.045, 0.005])
    assert "loss: the attack: 0.0338" in str(each.ledger)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"a": 0.7, "b": 0.4}, "shares must add up to at most 1, the level of all groups, got 1.1"),
        ({"a": 0.5, "b": 0.5}, r"leave a part of the level for the groups without a share \(c\)"),
        ({"d": 0.5}, r"shares must be of groups that there are \(a, b, c\), got 'd'"),
        ({"a": 0.0}, r"shares\['a'\] must be above 0 and at most 1, got 0"),
        ({"a": math.nan}, "not be NaN"),
        ([0.5, 0.5], "shares must be a mapping from groups to their shares"),
    ],
)
def test_shares_that_cannot_be_are_refused(shares, words):
    with pytest.raises(ta.InvalidArgument, match=words):
        audit.many_runs(_grouped(), each_group=True, shares=shares)


def test_shares_of_one_test_are_refused():
    with pytest.raises(ta.InvalidArgument, match="come with each_group=True"):
        audit.many_runs(_grouped(), shares={"a": 0.5})
    with pytest.raises(ta.InvalidArgument, match="one attack, which has all of the level"):
        audit.from_counts(audit.Counts(90, 100, 0, 100), shares={"a": 0.5})


@pytest.mark.parametrize("shares", [{1: 1.0}, {1: 0.5, "1": 0.5}, None])
def test_names_alike_as_text_cannot_share_a_level(shares):
    counts = audit.Counts(90, 100, 0, 100)
    named = {1: counts, "1": counts}
    if shares is None:  # equal parts go by place
        assert audit.from_counts(named).ledger.level == pytest.approx(0.05)
        return
    with pytest.raises(ta.InvalidArgument, match="names differ as text"):
        audit.from_counts(named, shares=shares)


def test_a_printed_verdict_says_how_the_level_was_divided():
    evidence = audit.many_runs(_grouped(), each_group=True, shares={"b": 0.6})
    said = str(audit.judge(ta.guarantee(epsilon=1), evidence))
    assert said.endswith(f"Multiple-testing budget (α = 5 %): {evidence.ledger.sharing}.")
    belief = audit.many_runs(_grouped(), method=audit.Credible(1.0))
    assert "budget" not in str(audit.judge(ta.guarantee(epsilon=1), belief))


def test_every_look_stays_within_its_entry():
    for evidence in (EVIDENCE["ranks"], EVIDENCE["both ways"], EVIDENCE["split"]):
        assert sum(look.level for look in evidence.looks) <= evidence.ledger.level


def _orders(scores, end, rank, tries=40_000):
    """Break ties by chance, naively: how many of the tested come before the rank-th reference."""
    draw = np.random.default_rng(1)
    sides = [scores.non_members.values, scores.members.values]
    reference, tested = sides if end is End.FLAG else sides[::-1]
    sign = 1 if end is End.FLAG else -1
    counts = np.empty(tries)
    for k in range(tries):
        places = draw.random(reference.size + tested.size)
        cut = np.lexsort((places[: reference.size], sign * reference))[::-1][rank - 1]
        same = (tested == reference[cut]) & (places[reference.size :] > places[cut])
        counts[k] = np.sum(sign * tested > sign * reference[cut]) + np.sum(same)
    return counts


@pytest.mark.parametrize("end", list(End))
@pytest.mark.parametrize("rank", [1, 3, 9])
def test_ties_count_as_in_nineteen_of_twenty_orders(end, rank):
    scores = audit.Scores([2, 1, 1, 1, 1, 0, 0, 1, 2] * 2, [1, 0, 0, 1, 0, 2, 0, 0, 0, 0] * 2)
    (look,) = look_at(scores, end, True, [rank], 0.01)
    counts = _orders(scores, end, rank, 4000)
    # A share of 4000 orders is off by 0.02 with probability below 1e-6.
    assert np.mean(counts >= look.beyond) >= 0.95 - 0.02
    assert np.mean(counts >= look.beyond + 1) < 0.95 + 0.02
    assert look.level == pytest.approx(0.0095)


@pytest.mark.parametrize("sizes", [(1, 1), (5, 9), (100, 100), (3000, 70)])
def test_constant_scores_show_nothing(sizes):
    for orientation in audit.Orientation:
        scores = audit.Scores(np.zeros(sizes[0]), np.zeros(sizes[1]), orientation)
        assert audit.many_runs(scores).epsilon_lower().value == 0


def test_ranks_stop_at_half():
    assert geometric_ranks(1) == [1]
    assert geometric_ranks(6) == [1, 3]
    assert geometric_ranks(5) == [1]


def test_a_split_does_not_set_the_same_ranks_aside_for_all_data():
    draw = np.random.default_rng(0)
    looks = set()
    for _ in range(20):
        scores = audit.Scores(draw.normal(0, 1, 40), draw.normal(0, 1, 40))
        aside = many_run_audit.split_seed(scores, 0)
        looks.add(aside)
        assert aside == many_run_audit.split_seed(scores, 0)
        assert aside != many_run_audit.split_seed(scores, 1)
    assert len(looks) == 20
