"""Guesses from scores: cuts, ties, coins, and parts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from tellapart.audit.counts.one_run_guesses import Guesses
from tellapart.audit.evidence.guess import RankedCanaries, fair_coins
from tellapart.errors import InvalidArgument


def ranked(members, others):
    return RankedCanaries.of(np.array(members, dtype=float), np.array(others, dtype=float))


def guess(members, others, *, guesses_in, guesses_out):
    return ranked(members, others).guesses(guesses_in, guesses_out)


scores = st.lists(st.integers(0, 3), max_size=5)


def worst_tie_break(members, others, k_in, k_out):
    """The fewest right guesses over all sets that are top k_in and bottom k_out of the scores."""
    pool = [(score, True) for score in members] + [(score, False) for score in others]
    indices = range(len(pool))

    def is_top(chosen):
        rest = [pool[i][0] for i in indices if i not in chosen]
        return all(pool[i][0] >= max(rest, default=-1) for i in chosen)

    def is_bottom(chosen):
        rest = [pool[i][0] for i in indices if i not in chosen]
        return all(pool[i][0] <= min(rest, default=99) for i in chosen)

    return min(
        sum(pool[i][1] for i in top) + sum(not pool[i][1] for i in bottom)
        for top in combinations(indices, k_in)
        if is_top(top)
        for bottom in combinations(indices, k_out)
        if is_bottom(bottom) and not set(top) & set(bottom)
    )


@given(scores, scores, st.data())
def test_ties_are_broken_against_us_and_no_further(members, others, data):
    canaries = len(members) + len(others)
    if canaries == 0:
        return
    k_in = data.draw(st.integers(0, canaries))
    k_out = data.draw(st.integers(0, canaries - k_in))
    found = guess(members, others, guesses_in=k_in, guesses_out=k_out)
    worst = worst_tie_break(members, others, k_in, k_out)
    assert found == Guesses(canaries, k_in + k_out, worst)


def test_distinct_scores_leave_nothing_to_break():
    rng = np.random.default_rng(0)
    members, others = rng.normal(1, 1, 300), rng.normal(0, 1, 310)
    pool = np.concatenate([members, others])
    inside = np.arange(610) < 300
    order = np.argsort(pool)
    expected = int(inside[order[-50:]].sum() + (~inside[order[:70]]).sum())
    found = guess(members, others, guesses_in=50, guesses_out=70)
    assert found == Guesses(610, 120, expected)


def test_infinite_scores_are_scores():
    assert guess([np.inf, 1], [-np.inf, 0], guesses_in=1, guesses_out=1) == Guesses(4, 2, 2)


def test_the_order_of_rows_says_nothing():
    rng = np.random.default_rng(1)
    members, others = rng.integers(0, 5, 100), rng.integers(0, 4, 110)
    one = RankedCanaries.of(members, others).divided(0.3, seed=7)
    two = RankedCanaries.of(rng.permutation(members), rng.permutation(others)).divided(0.3, seed=7)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)
        np.testing.assert_array_equal(a.members_below, b.members_below)


@given(scores, scores, st.floats(0.05, 0.95), st.integers(0, 9))
def test_two_parts_hold_every_canary_once(members, others, share, seed):
    if len(members) + len(others) < 2:
        return
    whole = ranked(members, others)
    first, rest = whole.divided(share, seed)
    assert first.canaries + rest.canaries == whole.canaries
    assert not set(first.scores) & set(rest.scores)  # equal scores stay together
    if len({*members, *others}) == whole.canaries:
        assert min(first.canaries, rest.canaries) >= 1
    assert sorted([*first.scores, *rest.scores]) == list(whole.scores)
    assert first.members_below[-1] + rest.members_below[-1] == len(members)
    for part in (first, rest):
        assert list(part.scores) == sorted(part.scores)


def test_every_canary_is_as_likely_in_the_first_part():
    # 4000 draws of a part of 3 of 10: each canary in 1200 of them, give or take 5.5 deviations.
    whole = RankedCanaries.of(np.arange(5.0), np.arange(5.0, 10.0))
    drawn = np.zeros(10)
    for seed in range(4000):
        drawn[whole.divided(0.3, seed)[0].scores.astype(int)] += 1
    assert np.all(np.abs(drawn - 1200) < 5.5 * np.sqrt(4000 * 0.3 * 0.7))


@pytest.mark.parametrize("canaries", [1, 20, 29, 40, 100, 1000])
def test_coins_are_refused_as_an_exact_test_refuses_them(canaries):
    for included in range(canaries + 1):
        if binomtest(included, canaries).pvalue < 1e-9 * (1 - 1e-6):
            with pytest.raises(InvalidArgument, match=r"^included must be near .* fair coin"):
                fair_coins(included, canaries)
        else:
            fair_coins(included, canaries)


def test_unfair_canaries_are_refused():
    with pytest.raises(InvalidArgument, match=r"own fair coin\), got 100$"):
        RankedCanaries.of(np.arange(100.0), np.arange(300.0))


def test_too_many_guesses_are_refused():
    with pytest.raises(InvalidArgument, match=r"^guesses_in \+ guesses_out must be at most"):
        guess([1, 2], [0], guesses_in=2, guesses_out=2)
