"""Methods of setting noise side by side: what they say they keep, they keep."""

import json
from pathlib import Path

import numpy as np
import pytest

from tellapart.choose import noise_table
from tellapart.errors import InvalidArgument
from tellapart.worlds import (
    Exchangeable,
    Independent,
    JointTable,
    Linear,
    MarkovChain,
    RecordValue,
    Sum,
    TableSet,
    chain_scale_bound,
    fit_chain,
)
from tellapart.worlds.policies import CompleteGraph, KnownCount, PartitionGraph, Policy

ORACLES = Path(__file__).parents[2] / "oracles" / "frameworks.json"
VALUES = {one["id"]: one for one in json.loads(ORACLES.read_text(encoding="utf-8"))}
CHAIN = MarkovChain([0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]], length=100)


def _rows(model, epsilon=1.0, **more):
    return {row.method: row for row in noise_table(model, Sum(), epsilon, **more)}


def _stored(found, name):
    return found == pytest.approx(VALUES[name]["value"], abs=VALUES[name]["tolerance"])


def test_the_stored_table_of_a_chain():
    rows = _rows(CHAIN)
    assert _stored(rows["exact"].scale, "C100.calib")
    assert _stored(rows["Wasserstein"].scale, "K.C100.Wmax")
    assert _stored(rows["Markov quilt"].scale, "C100.mqm.stat")
    assert _stored(rows["Markov quilt, approximate"].scale, "C100.mqmapprox")
    assert _stored(rows["Markov quilt"].true_epsilon, "K.C100.eff.mqm")
    assert _stored(rows["plain DP"].true_epsilon, "C100.pf.t50")
    assert rows["group privacy"].scale == 100
    assert [row.sound for row in rows.values()] == [True] * 5 + [False]


def test_the_stored_table_of_four_people():
    rows = _rows(Exchangeable(VALUES["D.W"]["inputs"]["count_law"]))
    assert _stored(rows["exact"].scale, "D.calib")
    assert _stored(rows["Wasserstein"].scale, "D.W")
    assert _stored(rows["Wasserstein"].true_epsilon, "D.eff.1")
    assert _stored(rows["group privacy"].scale, "D.group")


def _random_table(seed, shape=(2, 3, 2)):
    shares = np.random.default_rng(seed).dirichlet(np.full(np.prod(shape), 0.5))
    return JointTable([np.arange(n) for n in shape], shares.reshape(shape))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_what_is_sound_keeps_its_promise_on_any_table(seed, epsilon):
    rows = _rows(_random_table(seed), epsilon).values()
    kept = [row.true_epsilon for row in rows if row.sound]
    assert max(kept) == pytest.approx(epsilon, abs=1e-9)
    assert kept[0] == max(kept)  # the least noise comes first


@pytest.mark.parametrize("seed", range(8))
def test_what_is_sound_keeps_its_promise_on_any_chain(seed):
    rng = np.random.default_rng(seed)
    chain = MarkovChain.stationary(rng.dirichlet(np.ones(3), size=3), length=8)
    kept = [row.true_epsilon for row in _rows(chain).values() if row.sound]
    assert max(kept) <= 1 + 1e-9


def test_looking_at_pairs_is_not_enough():
    """x0 = x1 xor x2: any two records are independent, so pairwise coefficients are all 0."""
    xor = {(0, 0, 0): 0.25, (0, 1, 1): 0.25, (1, 0, 1): 0.25, (1, 1, 0): 0.25}
    row = _rows(JointTable.of(xor))["pairwise coefficients"]
    assert not row.sound
    assert row.scale == pytest.approx(1, abs=1e-9)
    assert _stored(row.true_epsilon, "I.xorsum")


def test_a_policy_does_not_protect_from_those_who_have_a_prior():
    """Four bits of which two are 1, and a prior on which two."""
    model = JointTable.of({(1, 1, 0, 0): 0.4, (0, 0, 1, 1): 0.4, (1, 0, 1, 0): 0.2})
    policy = Policy([0, 1], CompleteGraph(), records=4, constraints=[KnownCount([1], 2)])
    rows = {r.method: r for r in noise_table(model, Linear([1, 1, 0, 0]), 1, policy=policy)}
    assert not rows["Blowfish"].sound
    assert rows["Blowfish"].true_epsilon > 1.01


def test_noise_for_all_that_data_leave_open_is_more_than_for_the_estimate():
    rng = np.random.default_rng(0)
    steps = [0]
    for _ in range(500):
        steps.append(int(rng.random() < (0.1, 0.6)[steps[-1]]))
    fitted = fit_chain(steps, length=100, confidence=0.95)
    rows = _rows(fitted.chain(100), believed=fitted.confidence_set.of_length(100))
    assert rows["all that data leave open"].sound
    assert "95 %" in rows["all that data leave open"].protects
    assert rows["all that data leave open"].scale > rows["exact"].scale
    low, high = [[0.3, 0.1], [0.1, 0.3]], [[0.5, 0.2], [0.2, 0.5]]
    table = TableSet([[0, 1], [0, 1]], low, high)
    model = JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.1, 0.4]])
    both = _rows(model, believed=table)
    assert both["all that data leave open"].scale > both["exact"].scale


def test_a_record_that_is_certain_needs_no_noise_of_its_own():
    chain = MarkovChain([1, 0], [[0.9, 0.1], [0.4, 0.6]], length=6)
    rows = _rows(chain)
    assert "pairwise coefficients" not in rows
    assert rows["exact"].true_epsilon == pytest.approx(1, abs=1e-9)


def test_a_policy_is_judged_by_its_own_secrets():
    """Values in different cells may be told apart, so Blowfish needs noise for one cell only."""
    four = Independent([[0.25] * 4] * 4)
    policy = Policy(range(4), PartitionGraph([[0, 1], [2, 3]]), records=4)
    rows = _rows(four, policy=policy)
    assert rows["Blowfish"].scale == rows["exact"].scale == pytest.approx(1, abs=1e-9)
    assert rows["Blowfish"].true_epsilon == pytest.approx(1, abs=1e-9)
    with pytest.raises(InvalidArgument, match="the model's 4 records"):
        _rows(four, policy=Policy(range(4), CompleteGraph(), records=7))
    with pytest.raises(InvalidArgument, match="every value of record 0"):
        _rows(four, policy=Policy(range(3), CompleteGraph(), records=4))


def test_the_table_is_shown_with_what_cannot_be_told():
    chain = MarkovChain([1, 0], [[0.9, 0.1], [0.4, 0.6]], length=6)
    table = noise_table(chain, Sum(), 1)
    assert table.skipped == (RecordValue(0, 1),)
    assert "plain DP" in str(table)
    assert table[:2] == table.rows[:2]
    assert len(table) == len(str(table).splitlines()) - 1


def test_noise_for_all_that_data_leave_open_is_for_the_query():
    fitted = fit_chain([0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0] * 8, length=2)
    query = Linear([3, 1])
    rows = noise_table(fitted.chain(), query, 1, believed=fitted.confidence_set)
    (row,) = (one for one in rows if one.method == "all that data leave open")
    assert row.scale == chain_scale_bound(fitted.confidence_set, 1, query)


@pytest.mark.parametrize("length", [1, 5])
def test_a_chain_that_never_moves_has_every_other_method(length):
    rows = _rows(MarkovChain([0.3, 0.7], [[1, 0], [0, 1]], length))
    assert "Markov quilt, approximate" not in rows
    assert rows["exact"].scale == pytest.approx(length, rel=1e-9)


def test_a_query_that_counts_nobody_needs_next_to_no_noise():
    chain = MarkovChain([0.3, 0.7], [[0.9, 0.1], [0.4, 0.6]], 4)
    table = noise_table(chain, Linear([0] * 4), 1)
    assert max(row.scale for row in table) < 1e-6
