"""Bets on pairs of runs: products, counts, stopping, and the ε shown."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.audit import Wager, epsilon_sequence
from tellapart.audit.bounds import Basis
from tellapart.audit.evidence.e_process import FRACTIONS, Pairs, wealth
from tellapart.errors import InvalidArgument

EPSILONS = st.floats(0, 8)
DELTAS = st.sampled_from([0.0, 1e-5, 0.01, 0.3])
RATES = st.floats(0, 1)


def _naive(x, y, epsilon, delta, both_orders):
    """The mixture, multiplied out pair by pair for every fraction and order."""
    path, most = np.zeros(len(x)), 1 / (math.exp(epsilon) + delta)
    orders = [(x, y), (y, x)] if both_orders else [(x, y)]
    for (first, second), c in itertools.product(orders, FRACTIONS):
        coin = 1.0
        for t, (a, b) in enumerate(zip(first, second, strict=True)):
            coin *= 1 + c * most * (float(a) - math.exp(epsilon) * float(b) - delta)
            path[t] += coin / (len(orders) * len(FRACTIONS))
    return path


def _simulated(p1, p0, pairs, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random(pairs) < p1, rng.random(pairs) < p0


@given(EPSILONS, DELTAS, RATES, RATES, RATES, st.floats(0, 1))
def test_no_bet_gains_under_the_claim(epsilon, delta, p0, share, overlap, fraction):
    """One pair's expected factor is at most 1, however the two runs depend on each other."""
    p1 = share * min(1.0, math.exp(epsilon) * p0 + delta)
    least, most = max(0.0, p0 + p1 - 1), min(p0, p1)
    both = least + overlap * (most - least)
    masses = {(1, 1): both, (1, 0): p1 - both, (0, 1): p0 - both, (0, 0): 1 - p0 - p1 + both}
    bet = fraction / (math.exp(epsilon) + delta)
    expected = sum(
        mass * wealth([x], [y], epsilon=epsilon, delta=delta, bet=bet)[0]
        for (x, y), mass in masses.items()
    )
    assert expected <= 1 + 1e-12


@given(EPSILONS, DELTAS, RATES, RATES, RATES)
def test_no_mixture_gains_under_the_claim(epsilon, delta, p0, share, reverse):
    """The same for a wager on both orders, where both orders keep the claim."""
    high = min(1.0, math.exp(epsilon) * p0 + delta)
    low = max(0.0, (p0 - delta) * math.exp(-epsilon))
    p1 = low + share * (high - low)
    least, most = max(0.0, p0 + p1 - 1), min(p0, p1)
    both = least + reverse * (most - least)
    masses = {(1, 1): both, (1, 0): p1 - both, (0, 1): p0 - both, (0, 0): 1 - p0 - p1 + both}
    wager = Wager(epsilon, delta)
    expected = sum(mass * wager.update(*pair).wealth for pair, mass in masses.items())
    assert expected <= 1 + 1e-12


@pytest.mark.parametrize("both_orders", [False, True])
@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (1, 0), (1, 0.05), (3, 1e-3)])
def test_counts_say_what_products_say(epsilon, delta, both_orders):
    x, y = _simulated(0.6, 0.2, 60)
    path = _naive(x, y, epsilon, delta, both_orders)
    wager = Wager(epsilon, delta, both_orders=both_orders)
    for t, expected in enumerate(path):
        wager = wager.update(x[t], y[t])
        assert wager.wealth == pytest.approx(expected, rel=1e-11)
        assert wager.wealth <= expected * (1 + 1e-13)
        assert wager.refuted == (path[: t + 1].max() >= 20)
    assert wager.seen.total == 60


def test_a_mixture_is_the_average_of_its_bets():
    x, y = _simulated(0.6, 0.2, 40)
    bets = [c / (math.exp(1) + 0.01) for c in FRACTIONS]
    each = [wealth(x, y, epsilon=1, delta=0.01, bet=bet)[-1] for bet in bets]
    wager = Wager(1, 0.01, both_orders=False).update(x, y)
    assert wager.wealth == pytest.approx(np.mean(each), rel=1e-11)


def test_bets_may_change_with_the_past():
    path = wealth([1, 1, 0], [0, 0, 1], epsilon=0, bet=[0.5, 0.0, 1.0])
    assert path == pytest.approx([1.5, 1.5, 0.0])
    # Ruin is for good, and long winning streaks do not overflow into something else.
    assert wealth([1] * 2000 + [0, 1], [0] * 2000 + [1, 0], epsilon=0, bet=1.0)[-1] == 0
    assert wealth([1] * 2000, [0] * 2000, epsilon=0, bet=1.0)[-1] == math.inf
    assert Wager(0).update([1] * 2000, [0] * 2000).wealth == math.inf
    most = 1 / (math.exp(0.7) + 0.1)
    assert wealth([0], [1], epsilon=0.7, delta=0.1, bet=most)[0] == pytest.approx(0, abs=1e-15)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60), st.data())
def test_batches_are_gone_through_pair_by_pair(pairs, data):
    x, y = np.array(pairs).T
    cut = data.draw(st.integers(0, len(x)))
    whole = Wager(0.2, confidence=0.6).update(x, y)
    halves = Wager(0.2, confidence=0.6).update(x[:cut], y[:cut]).update(x[cut:], y[cut:])
    single = Wager(0.2, confidence=0.6)
    for a, b in pairs:
        single = single.update(a, b)
    assert whole == halves == single


@pytest.mark.parametrize("rates", [(0.7, 0.2), (0.2, 0.7), (0.4, 0.3)])
@pytest.mark.parametrize("seed", range(3))
def test_a_claim_falls_at_the_first_pair_whose_wealth_suffices(rates, seed):
    """Whatever comes after it: a batch that ends with less has refuted all the same."""
    draw = np.random.default_rng(seed)
    x, y = (draw.random(60) < rate for rate in rates)
    x, y = np.append(x, y), np.append(y, x)  # what was won is lost again
    wager = Wager(0.1, confidence=0.8)
    worth = [wager.update(x[:k], y[:k]).wealth for k in range(1, len(x) + 1)]
    enough = [k for k, one in enumerate(worth, 1) if one >= 5]
    whole = wager.update(x, y)
    assert whole.refuted_after == (enough[0] if enough else None)
    if rates[0] + rates[1] > 0.8:
        assert whole.refuted
        assert whole.wealth < 5


def test_long_batches_are_cut_into_parts(monkeypatch):
    x, y = _simulated(0.3, 0.2, 500)
    whole, sequence = Wager(0.5).update(x, y), epsilon_sequence(x, y)
    monkeypatch.setattr("tellapart.audit.evidence.e_process._AT_ONCE", 7)
    assert Wager(0.5).update(x, y) == whole
    assert epsilon_sequence(x, y) == pytest.approx(sequence, abs=1e-9)


def test_refuted_stays_refuted():
    won = Wager(1).update([1] * 30, [0] * 30)
    lost = won.update([0] * 200, [1] * 199 + [0])
    assert won.refuted
    assert lost.refuted
    assert lost.decided
    assert lost.refuted_after == won.refuted_after
    assert not Wager(1, both_orders=False).update([0] * 230, [1] * 230).refuted


def test_both_orders_find_what_one_misses():
    x, y = _simulated(0.05, 0.5, 300)
    assert not Wager(1, both_orders=False).update(x, y).refuted
    assert Wager(1).update(x, y).refuted


def _shown_naive(x, y, delta, both_orders, target=20):
    """The first ε of a fine grid at which the final wealth does not suffice."""
    grid = np.linspace(0, 5, 5001)
    enough = [_naive(x, y, eps, delta, both_orders)[-1] >= target for eps in grid[::50]]
    if not enough[0]:
        return 0.0
    start = enough.index(False) - 1
    near = grid[50 * start : 50 * start + 51]
    return near[[_naive(x, y, eps, delta, both_orders)[-1] >= target for eps in near].index(False)]


@pytest.mark.parametrize("both_orders", [False, True])
@pytest.mark.parametrize("delta", [0.0, pytest.param(1e-3, marks=pytest.mark.slow), 0.1])
@pytest.mark.parametrize("rates", [(0.9, 0.05), (0.5, 0.4)])
def test_the_epsilon_shown(rates, delta, both_orders):
    x, y = _simulated(*rates, 120)
    sequence = epsilon_sequence(x, y, delta=delta, both_orders=both_orders)
    assert np.all(np.diff(sequence) >= 0)
    path = []
    for t in range(1, 121):
        seen = Wager(1, delta).update(x[:t], y[:t]).seen
        path.append(Wager(1, delta, both_orders=both_orders, seen=seen).shown().value)
    assert sequence == pytest.approx(np.maximum.accumulate(path), abs=1e-9)
    for t in (10, 60, 120):
        now = _shown_naive(x[:t], y[:t], delta, both_orders)
        assert now - 1.01e-3 <= path[t - 1] <= now


@given(st.tuples(*[st.integers(0, 300)] * 4), DELTAS, st.booleans(), st.floats(0, 1))
def test_no_epsilon_below_the_one_shown_is_left_possible(counts, delta, both_orders, share):
    """With δ > 0 the wealth may rise with ε: every ε below must have been refuted."""
    wager = Wager(0.5, delta, both_orders=both_orders, seen=Pairs(*counts))
    least = wager.shown().value
    below = Wager(share * least, delta, both_orders=both_orders, seen=Pairs(*counts))
    if least > 0:
        assert below.log_wealth >= math.log(20) - 1e-9
    above = Wager(least + 1e-6, delta, both_orders=both_orders, seen=Pairs(*counts))
    assert above.log_wealth < math.log(20) + 1e-9


def test_wealth_may_rise_with_epsilon():
    """Why ε is searched from below: here the bets refute ε = 1 and leave ε = 0 possible."""
    pairs = Pairs(with_only=200, neither=360)
    low, high = (Wager(eps, 0.3, both_orders=False, seen=pairs) for eps in (0.0, 1.0))
    assert low.wealth < 20 < high.wealth
    assert high.shown().value == 0


def test_a_refuted_claim_lies_below_what_is_shown():
    x, y = _simulated(0.5, 0.07, 400)
    wager = Wager(1.0)
    while not wager.refuted:
        t = wager.seen.total
        wager = wager.update(x[t], y[t])
    later = wager.update([0] * 50, [1] * 50)
    for one in (wager, later):
        bound = one.shown()
        assert bound.value >= 1.0
        assert bound.basis is Basis.EXACT
        assert bound.confidence == 0.95


def test_without_a_budget_only_a_refutation_decides():
    x, y = _simulated(0.2, 0.2, 5000)
    assert not Wager(1).update(x, y).decided


def test_out_of_hope():
    assert Wager(1, at_most=5).decided  # five pairs never suffice
    assert not Wager(1, at_most=100).decided
    x, y = _simulated(0.2, 0.2, 1000)
    wager = Wager(1, at_most=1000)
    while not wager.decided:
        t = wager.seen.total
        wager = wager.update(x[t], y[t])
    assert not wager.refuted
    assert wager.seen.total < 500
    spent = Wager(0, at_most=1000).update(x, y)
    assert spent.decided


def test_hope_is_not_given_up_early():
    """Over 300 audits of a mechanism that leaks twice what it claims, none is given up."""
    for seed in range(300):
        x, y = _simulated(0.5, 0.5 * math.exp(-2), 1000, seed)
        wager = Wager(1, at_most=1000)
        while not wager.decided:
            t = wager.seen.total
            wager = wager.update(x[t : t + 10], y[t : t + 10])
        assert wager.refuted


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Wager(-1), "epsilon must be finite and at least 0, got -1"),
        (lambda: Wager(math.inf), "epsilon must be finite and at least 0, got inf"),
        (lambda: Wager(1, 2), r"delta must lie in \[0, 1\], got 2"),
        (lambda: Wager(1, confidence=1), "confidence must lie strictly between 0 and 1, got 1"),
        (lambda: Wager(1, at_most=0), "at_most must be at least 1, got 0"),
        (lambda: Pairs(with_only=-1), "with_only must be at least 0, got -1"),
        (lambda: Wager(1).update([1, 0], [1]), r"y must hold as many outcomes as x \(2\), got 1"),
        (lambda: Wager(1).update([2], [1]), "x must be outcomes: True or False, or a list"),
        (lambda: Wager(1).update([1], [math.nan]), "y must be outcomes: True or False, or a list"),
        (lambda: Wager(1).update([[1]], [[1]]), "x must be outcomes: True or False, or a list"),
        (lambda: Wager(1).update(["a"], [1]), "x must be outcomes: True or False, or a list"),
        (lambda: wealth([1], [0], epsilon=1, bet=0.5), r"bet must lie in \[0, 1/\(e\^ε \+ δ\)\]"),
        (lambda: wealth([1], [0], epsilon=1, bet=-0.1), r"bet must lie in \[0, 1/\(e\^ε \+ δ\)\]"),
        (lambda: wealth([1], [0], epsilon=1, bet=[0, 0]), "bet must be one number or one for each"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidArgument, match=message):
        call()


def test_nothing_seen():
    assert Wager(1).wealth == pytest.approx(1, rel=1e-14)
    assert Wager(1).shown().value == 0
    assert Wager(1).update([], []) == Wager(1)
    assert epsilon_sequence([], []).size == 0
    assert wealth([], [], epsilon=1, bet=0.1).size == 0
