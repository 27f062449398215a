"""The power of bets that stop when decided, beside the bets themselves."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.audit import Wager
from tellapart.audit.evidence.e_process import Pairs
from tellapart.audit.evidence.sequential_test import planned, wager_power

CALLS = 600
BATCHES = tuple(planned(32, CALLS))


def test_all_calls_are_planned_for():
    assert sum(batch.size for batch in BATCHES) == CALLS - 32
    assert [batch.left for batch in BATCHES] == sorted({one.left for one in BATCHES}, reverse=True)
    assert BATCHES[-1].left == 0
    assert 3 <= sum(batch.seek for batch in BATCHES) <= 8


def _plays(wager, tpr, fpr, rng):
    before = Pairs()
    for batch in BATCHES:
        wager = wager.update(rng.random(batch.size) < tpr, rng.random(batch.size) < fpr)
        if wager.refuted or not batch.hope(wager, wager.seen.counted(), before.counted()):
            break
        before = wager.seen if batch.seek else before
    return wager.refuted


@pytest.mark.parametrize(
    ("claimed", "true"),
    [((1.0, 0.0), 2.0), ((0.5, 0.0), 1.0), ((2.0, 0.0), 3.0), ((4.0, 0.1), 6.0)],
)
def test_it_is_what_playing_it_gives(claimed, true):
    """Refutations within a batch are counted when playing, so that it falls short at most.

    Both are means of 400 plays: they differ by 0.15 with probability below 1e-4.
    """
    wager = Wager(*claimed, both_orders=False)
    rng = np.random.default_rng(0)
    tpr, fpr = 1 / (1 + np.exp(-true)), 1 / (1 + np.exp(true))
    played = np.mean([_plays(wager, tpr, fpr, rng) for _ in range(400)])
    found = wager_power(wager, ta.guarantee(epsilon=true), BATCHES)
    assert played - 0.15 <= found <= played + 0.05


def test_a_true_claim_has_next_to_none():
    wager = Wager(1.0, both_orders=False)
    assert wager_power(wager, ta.guarantee(epsilon=1), BATCHES) < 0.05


def test_more_pairs_show_more_and_so_do_larger_leaks():
    def found(true, batches):
        wager = Wager(1.0, both_orders=False)
        return wager_power(wager, ta.guarantee(epsilon=true), batches)

    assert found(1.3, BATCHES) < found(1.3, tuple(planned(32, 4 * CALLS)))
    assert found(1.3, BATCHES) < found(2.0, BATCHES)


def test_a_leak_in_one_order_only_is_seen_from_both_sides():
    """An event that happens on one input alone, and rarely: the other order shows little."""
    rare = ta.CustomMechanism.from_pmfs(absent=[0.0, 1.0], present=[0.3, 0.7])
    curve = rare.curve()
    wager = Wager(1.0, both_orders=False)
    one, other = (wager_power(wager, each, BATCHES) for each in (curve, curve.mirrored()))
    assert min(one, other) > 0.9
