"""The experiment on orders of frameworks: its fast sums against the public functions."""

import itertools

import numpy as np
import pytest

import tellapart as ta
from tellapart.reproduce.framework_orderings import COUNTEREXAMPLES, orderings
from tellapart.reproduce.framework_orderings.experiment import (
    CLAIMS,
    Orderings,
    OrderVerdict,
    instances,
    numbers,
)
from tellapart.reproduce.framework_orderings.instances import (
    ADDITIVE,
    MECHANISMS,
    PRIORS,
    SHAPES,
    draw,
)
from tellapart.worlds.frameworks import inferential, membership, mutual_information
from tellapart.worlds.frameworks.inferential_privacy import ProductPriors
from tellapart.worlds.policies import CompleteGraph, KnownCount, Policy

SMALL = [shape for shape in SHAPES if np.prod(shape) <= 16]


@pytest.fixture(scope="module")
def found() -> Orderings:
    return orderings(500)


def drawn(seed):
    kinds = list(itertools.product(MECHANISMS, PRIORS))
    mechanism, prior = kinds[seed % len(kinds)]
    rng = np.random.default_rng(seed)
    return draw(rng, SMALL[seed % len(SMALL)], prior, mechanism)


@pytest.mark.parametrize("seed", range(20))
def test_fast_sums_are_what_the_frameworks_say(seed):
    one = drawn(seed)
    ask = (one.model, one.query, one.release)
    every = ProductPriors([domain.tolist() for domain in one.model.values])
    wanted = {
        "DP": inferential(every, one.query, one.release).epsilon,
        "DDP": inferential(*ask).epsilon,
        "IP": inferential(*ask).epsilon,
        "MP": membership(*ask).epsilon,
        "MI": mutual_information(*ask, "record").epsilon,
        "MI given others": mutual_information(*ask, "given others").epsilon,
    }
    fast = numbers(one)
    assert {name: fast[name] for name in wanted} == pytest.approx(wanted, abs=1e-10)
    # The capacity is bounded from above, closely.
    exact = mutual_information(*ask).epsilon
    assert exact - 1e-10 <= fast["MIDP"] <= exact + 1e-3


@pytest.mark.parametrize("seed", range(20))
def test_knowing_any_others_is_the_worst_of_all_that_may_be_known(seed):
    one = drawn(seed)
    joint, rows = one.joint, one.rows
    worst = 0.0
    records = range(joint.ndim)
    for record in records:
        others = [i for i in records if i != record]
        for told in itertools.product([None, 0, 1, 2], repeat=len(others)):
            held = np.ones(joint.shape, dtype=bool)
            for i, value in zip(others, told, strict=True):
                if value is not None:
                    held &= np.indices(joint.shape)[i] == value
            share = np.where(held, joint, 0.0)
            if share.any():
                axes = tuple(others)
                prior = share.sum(axis=axes)
                both = (share[..., None] * rows).sum(axis=axes)[prior > 0]
                logs = np.log(both / prior[prior > 0][:, None])
                worst = max(worst, float(np.ptp(logs, axis=0).max()))
    assert instances.bayesian(joint, rows) == pytest.approx(worst, abs=1e-12)


def test_known_sums_are_policies_with_a_known_count():
    one = draw(np.random.default_rng(1), (2, 2, 2), "any", "any channel")
    for total, under in enumerate(instances.known_total(one.joint, one.rows)):
        policy = Policy((0, 1), CompleteGraph(), 3, (KnownCount([1], total),))
        pairs = policy.neighbours()
        logs = [np.abs(np.log(one.rows[a] / one.rows[b])).max() for a, b in pairs]
        assert under.policy == pytest.approx(max(logs, default=0.0))
        given = np.where(np.indices(one.joint.shape).sum(axis=0) == total, one.joint, 0.0)
        if (given > 0).sum() == 1:
            assert under.leaked == 0
            continue
        prior = ta.worlds.JointTable(one.model.values, given / given.sum())
        leaked = inferential(prior, one.query, one.release).epsilon
        assert under.leaked == pytest.approx(leaked, abs=1e-12)


def test_what_is_drawn_is_what_is_printed():
    for seed in range(40):
        one = drawn(seed)
        assert one.joint.sum() == pytest.approx(1, abs=1e-12)
        assert one.rows.sum(axis=-1) == pytest.approx(np.ones(one.joint.shape), abs=1e-12)
        assert one.rows.min() > 0
        if one.mechanism == "any channel":
            assert one.rows * 1000 == pytest.approx(np.rint(one.rows * 1000))
        if one.prior == "sparse":
            assert (one.joint == 0).any()
        else:
            assert one.joint.min() > 0
    assert "prior {00: " in str(drawn(0))


HOLD = ["DDP = IP", "DDP ≤ 2 MP", "MP ≤ DDP", "MI ≤ MP", "MIDP ≤ DP", "DDP ≤ DP, independent"]
ADDITIVE_ONLY = ["DDP = DP, independent"]


def test_verdicts(found):
    verdicts = {tally.claim.name: tally.verdict for tally in found.tallies}
    wanted = dict.fromkeys([claim.name for claim in CLAIMS], OrderVerdict.FAILS)
    wanted |= dict.fromkeys(HOLD, OrderVerdict.HOLDS) | dict.fromkeys(
        ADDITIVE_ONLY, OrderVerdict.ADDITIVE
    )
    assert verdicts == wanted


def test_every_broken_claim_has_an_instance_that_breaks_it(found):
    for tally in found.tallies:
        broken, tried = tally.count()
        assert tried > 0
        assert (tally.example is None) == (broken == 0)
        if tally.example is not None:
            instance, pair = tally.example
            again = tally.claim.pairs(numbers(instance), instance)
            assert pair in again
            assert tally.claim.excess(pair) > 1e-9
            assert tally.claim.name in found.examples()


def test_full_support_is_enough_where_others_may_be_known(found):
    tally = found["DP ≤ BDP"]
    assert tally.count("sparse")[0] > 0
    assert sum(tally.count(kind)[0] for kind in PRIORS if kind != "sparse") == 0


def test_counts_add_up(found):
    for tally in found.tallies:
        each = [tally.count(kind) for kind in PRIORS]
        assert tally.count() == (sum(a for a, _ in each), sum(b for _, b in each))
        parts = [tally.count(additive=flag) for flag in (True, False)]
        assert tally.count() == (parts[0][0] + parts[1][0], parts[0][1] + parts[1][1])
    assert found["DDP = IP"].count() == (0, 500)
    assert found["DDP = DP, independent"].count("any") == (0, 0)
    assert {kinds[1] for kinds in found.tallies[0].counts} >= ADDITIVE


def test_the_same_seed_draws_the_same_instances(found):
    one, same, other = (orderings(40, seed=one) for one in (3, 3, 4))
    assert str(one) == str(same)
    assert one.examples() == same.examples()
    assert one.examples() != other.examples()


def test_the_table_has_a_line_for_each_claim(found):
    lines = str(found).splitlines()
    assert len(lines) == len(CLAIMS) + 1
    assert lines[1].split() == ["DDP", "=", "IP", *["0/100"] * 5, "holds", "on", "all"]


def test_an_unknown_claim_is_refused(found):
    with pytest.raises(ta.InvalidArgument, match="claim must be one of"):
        found["DP = DP"]
    with pytest.raises(ta.InvalidArgument, match="prior must be one of"):
        found.tallies[0].count("flat")
    with pytest.raises(ta.InvalidArgument, match="instances must be"):
        orderings(0)


@pytest.mark.parametrize("one", COUNTEREXAMPLES, ids=str)
def test_fixed_counterexamples_break_their_claims(one):
    claim = next(claim for claim in CLAIMS if claim.name == one.claim)
    left, right = one.numbers
    assert abs(left - right) > 0.1 if claim.equal else left > right + 0.03
    assert claim.name in str(one)


def test_every_claim_that_fails_has_a_fixed_counterexample_or_one_drawn(found):
    fixed = {one.claim for one in COUNTEREXAMPLES}
    failing = {one.claim.name for one in found.tallies if one.verdict is not OrderVerdict.HOLDS}
    assert fixed <= failing


@pytest.mark.slow
def test_many_more_instances():
    found = orderings(4000, seed=1)
    for name in HOLD:
        assert found[name].verdict is OrderVerdict.HOLDS
    for name in ADDITIVE_ONLY:
        assert found[name].verdict is OrderVerdict.ADDITIVE
    assert found["DP ≤ IP"].count("positive", additive=True)[0] == 0
