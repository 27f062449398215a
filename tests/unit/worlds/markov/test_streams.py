"""Leakage over time, against vertices, exact enumeration of outputs and closed forms."""

import math
import types
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

from tellapart import InvalidArgument, Unsupported
from tellapart.worlds.markov import step, streams
from tellapart.worlds.markov.transitions import ZeroCell, zero_cells

INF = float("inf")
STILL = [[0.8, 0.2], [0.1, 0.9]]
ABSORBING = [[0.8, 0.2], [0.0, 1.0]]


def chains(count, states, concentration=1.0, seed=7):
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.full(states, concentration), size=states) for _ in range(count)]


def dyadic(count, states, seed=3):
    """Matrices of multiples of 1/1024, whose rows sum to 1 without rounding; some have zeros."""
    rng = np.random.default_rng(seed)
    return [
        rng.multinomial(1024, rng.dirichlet(np.full(states, 0.5)), size=states) / 1024
        for _ in range(count)
    ]


# One step ------------------------------------------------------------------------------------


def by_vertices(transition, alpha):
    """Every x in {1, e^α}^n, every ordered pair of rows, in forty digits."""
    with mpmath.workdps(40):
        high = mpmath.exp(mpmath.mpf(alpha))
        best = mpmath.mpf(0)
        rows = [[mpmath.mpf(float(one)) for one in row] for row in transition]
        for x in product([mpmath.mpf(1), high], repeat=len(rows)):
            values = [mpmath.fdot(row, x) for row in rows]
            best = max(best, mpmath.log(max(values) / min(values)))
        return best


@pytest.mark.parametrize("alpha", [1e-9, 0.1, 1.0, 7.0, 31.0, 100.0, 650.0, 3000.0])
@pytest.mark.parametrize("states", [2, 3, 5])
def test_a_step_is_the_best_vertex_rounded_up(states, alpha):
    for transition in dyadic(6, states):
        exact = by_vertices(transition, alpha)
        found = streams.carried_over(transition, alpha)
        assert exact <= found <= exact * (1 + 1e-13) + 1e-15 * alpha * (alpha > 600)


def test_rows_that_hardly_differ_keep_their_digits():
    tiny = 2.0**-45
    transition = np.array([[0.5 + tiny, 0.25, 0.25 - tiny], [0.5, 0.25, 0.25], [0.5, 0.25, 0.25]])
    exact = by_vertices(transition, 0.5)
    assert exact <= streams.carried_over(transition, 0.5) <= exact * (1 + 1e-12)


def test_one_number_and_every_pair_say_the_same():
    """The frontier of a matrix, against all prefixes of all pairs of rows."""
    for transition in (*chains(4, 6, 0.3), *dyadic(4, 4), np.eye(3)):
        for alpha in (0.0, 1e-12, 0.7, 20.0, 599.0, 601.0, INF):
            everything = step.pair_lifts(transition, transition)(alpha).max()
            assert streams.carried_over(transition, alpha) == pytest.approx(everything, rel=1e-13)


def test_what_is_carried_grows_with_what_was_leaked_and_never_exceeds_it():
    alphas = np.linspace(0, 40, 400)
    for transition in chains(10, 4, 0.3):
        carried = streams.carried_over(transition, alphas)
        assert np.all(np.diff(carried) >= -1e-14 * carried[1:])
        assert np.all(carried <= alphas)
        assert np.all(carried <= streams.carried_over(transition, INF))


def test_knowing_the_past_exactly_shifts_the_log_odds_by_the_limit():
    """ρ_t's adversary learns the previous state: the largest shift of log-odds is L(∞)."""
    for forward in chains(50, 3):
        initial = forward[0]
        back = streams.reversed_chain(forward, initial, length=2)[0]
        joint = initial[:, None] * forward  # past, present
        present = joint.sum(axis=0)
        odds = np.log(joint[:, :, None] / joint[:, None, :])
        shift = odds - np.log(present[:, None] / present[None, :])
        assert streams.carried_over(back, INF) == pytest.approx(shift.max(), rel=1e-12)
        assert streams.carried_over(back, 60.0) == pytest.approx(shift.max(), rel=1e-12)
        assert streams.carried_over(back, 2.0) < shift.max()


def test_a_zero_lets_everything_through_in_the_limit():
    assert streams.carried_over(ABSORBING, INF) == INF
    assert streams.carried_over(np.eye(3), 5.0) == 5.0
    assert streams.carried_over([[0.5, 0.5], [0.5, 0.5]], INF) == 0.0


# Streams -------------------------------------------------------------------------------------


def respond(epsilon, states):
    """Randomised response: e^ε for the truth against 1 for each lie."""
    weights = np.where(np.eye(states, dtype=bool), math.exp(epsilon), 1.0)
    return weights / weights.sum(axis=1, keepdims=True)


def likelihoods(steps, initial, mechanisms, t):
    """P(outputs | state at t) for every string of outputs: all paths, all strings, summed."""
    states, length = len(initial), len(mechanisms)
    strings = list(product(range(states), repeat=length))
    found = np.zeros((states, len(strings)))
    weight = np.zeros(states)
    for path in product(range(states), repeat=length):
        chance = initial[path[0]]
        for k, (one, two) in enumerate(pairwise(path)):
            chance *= steps[k][one, two]
        weight[path[t]] += chance
        outputs = np.array([1.0])
        for state, mechanism in zip(path, mechanisms, strict=True):
            outputs = (outputs[:, None] * mechanism[state][None, :]).ravel()
        found[path[t]] += chance * outputs
    return found / weight[:, None]


def exact_total(steps, initial, mechanisms):
    worst = []
    for t in range(len(mechanisms)):
        given = np.log(likelihoods(steps, initial, mechanisms, t))
        worst.append((given.max(axis=0) - given.min(axis=0)).max())
    return np.array(worst)


def exact_backward(steps, initial, mechanisms):
    """The same with the outputs up to each time only."""
    found = []
    for t in range(len(mechanisms)):
        given = np.log(likelihoods(steps[:t], initial, mechanisms[: t + 1], t))
        found.append((given.max(axis=0) - given.min(axis=0)).max())
    return np.array(found)


def stationary(transition):
    values, vectors = np.linalg.eig(transition.T)
    law = np.real(vectors[:, np.argmax(np.real(values))])
    return law / law.sum()


def test_two_stationary_states_that_tend_to_stay_leak_exactly_what_the_recursion_says():
    for forward in chains(16, 2):
        if forward[0, 0] < forward[1, 0]:
            continue
        initial = stationary(forward)
        back = streams.reversed_chain(forward, initial, length=2)[0]
        found = streams.leakage(back, forward, 0.4, length=5)
        mechanisms = [respond(0.4, 2)] * 5
        upto = exact_backward([forward] * 4, initial, mechanisms)
        assert found.backward == pytest.approx(upto, rel=1e-12)
        assert found.forward == pytest.approx(upto[::-1], rel=1e-12)  # two states are reversible


def test_two_states_that_tend_to_change_leak_less_than_the_recursion_says():
    """Which state is the likelier one swaps from time to time, and a single number forgets it."""
    forward = np.array([[0.1, 0.9], [0.6, 0.4]])
    initial = stationary(forward)
    exact = exact_backward([forward] * 4, initial, [respond(0.4, 2)] * 5)
    back = streams.reversed_chain(forward, initial, length=5)
    directed = streams.leakage(back, forward, 0.4, length=5, directional=True)
    assert directed.backward == pytest.approx(exact, rel=1e-12)
    assert streams.leakage(back, forward, 0.4, length=5).backward[-1] > exact[-1] + 0.01


def test_two_states_with_directions_are_exact_whatever_changes_over_time():
    rng = np.random.default_rng(5)
    for _ in range(8):
        steps = rng.dirichlet([1, 1], size=(4, 2))
        initial, epsilons = rng.dirichlet([2, 2]), rng.uniform(0.1, 1.5, size=5)
        back = streams.reversed_chain(steps, initial)
        found = streams.leakage(back, steps, epsilons, directional=True)
        mechanisms = [respond(one, 2) for one in epsilons]
        assert found.backward == pytest.approx(exact_backward(steps, initial, mechanisms), rel=1e-9)
        assert found.total == pytest.approx(exact_total(steps, initial, mechanisms), rel=1e-9)
        scalar = streams.leakage(back, steps, epsilons)
        assert np.all(found.total <= scalar.total)


def test_three_states_with_directions_lie_between_the_truth_and_the_recursion():
    tighter = 0
    for forward in chains(6, 3, seed=11):
        initial = np.array([0.2, 0.5, 0.3])
        back = streams.reversed_chain(forward, initial, length=4)
        mechanisms = [respond(0.5, 3)] * 4
        exact = exact_total([forward] * 3, initial, mechanisms)
        directed = streams.leakage(back, forward, 0.5, length=4, directional=True)
        scalar = streams.leakage(back, forward, 0.5, length=4)
        for name in ("backward", "forward", "total"):
            assert np.all(getattr(directed, name) <= getattr(scalar, name))
        assert np.all(exact <= directed.total * (1 + 1e-12))
        tighter += directed.worst < scalar.worst - 1e-3
    assert tighter >= 4


def test_budgets_for_each_pair_of_states():
    """Any mechanism, told by its own log-ratios: states that look alike cost less."""
    rng = np.random.default_rng(2)
    for forward in chains(5, 3, seed=4):
        mechanism = rng.dirichlet([3, 3, 3], size=3)
        logs = np.log(mechanism)
        pairs = (logs[:, None, :] - logs[None, :, :]).max(axis=-1)
        initial = np.array([0.4, 0.4, 0.2])
        back = streams.reversed_chain(forward, initial, length=3)
        exact = exact_total([forward] * 2, initial, [mechanism] * 3)
        directed = streams.leakage(back, forward, pairs, length=3, directional=True)
        scalar = streams.leakage(back, forward, pairs.max(), length=3)
        assert np.all(exact <= directed.total * (1 + 1e-12))
        assert np.all(directed.total <= scalar.total)
        assert directed.epsilons == pytest.approx(pairs.max())


def test_a_detour_between_two_states_limits_their_budget():
    direct = np.array([[0, 0.1, 5], [0.1, 0, 0.1], [5, 0.1, 0]])
    found = streams.leakage(None, np.full((3, 3), 1 / 3), direct, length=1, directional=True)
    assert found.worst == pytest.approx(0.2, rel=1e-12)


@pytest.mark.parametrize("states", [3, 4, 6])
def test_a_step_with_directions_is_its_linear_programme(states):
    """The second time of a stream, against one plain programme for every ordered pair."""
    rng = np.random.default_rng(states)
    for transition in chains(4, states, 0.5, seed=states):
        points = rng.normal(size=(states, 2))
        budgets = np.abs(points[:, None] - points[None, :]).sum(axis=-1)
        found = streams.leakage(transition, None, budgets, length=2, directional=True)
        worst = max(
            best_ratio(transition[x], transition[y], budgets) + budgets[x, y]
            for x, y in product(range(states), repeat=2)
            if x != y
        )
        assert found.backward[1] == pytest.approx(worst, abs=1e-8)
        assert found.backward[1] >= worst - 1e-8


def test_any_flows_prove_a_bound():
    """Also bad ones, as a solver that stops early may return."""
    rng = np.random.default_rng(6)
    apart = ~np.eye(4, dtype=bool)
    tight = 0
    for _ in range(200):
        q, d = rng.dirichlet([0.7] * 4, size=2)
        d[rng.integers(4)] *= rng.integers(2)
        d /= d.sum()
        points = rng.normal(size=4)
        budgets = np.abs(points[:, None] - points[None, :])
        flow = rng.exponential(0.1, size=12) * rng.integers(2, size=12)
        bound = step.proved(q, d, np.exp(budgets), np.argwhere(apart), flow)
        best = best_ratio(q, d, budgets)
        assert bound >= best - 1e-8
        tight += bound < best + 1
    assert tight > 5


@pytest.mark.parametrize("rows", [1, 50])
def test_programmes_may_be_solved_in_parts(monkeypatch, rows):
    transition = chains(1, 5)[0]
    whole = streams.leakage(transition, None, 0.3, length=4, directional=True)
    monkeypatch.setattr(step, "_ROWS", rows)
    parts = streams.leakage(transition, None, 0.3, length=4, directional=True)
    assert parts.backward == pytest.approx(whole.backward, rel=1e-9)


def test_a_solver_that_gives_up_leaves_the_scalar_recursion(monkeypatch):
    def fails(*_, **__):
        return types.SimpleNamespace(status=4)

    monkeypatch.setattr("scipy.optimize.linprog", fails)
    transition = chains(1, 5)[0]
    found = streams.leakage(transition, None, 0.3, length=4, directional=True)
    exact = streams.leakage(transition, None, 0.3, length=4)
    assert found.backward == pytest.approx(exact.backward, rel=1e-12)


def best_ratio(q, d, budgets):
    states = len(q)
    rows = []
    for j, k in product(range(states), repeat=2):
        if j != k:
            row = np.zeros(states)
            row[j], row[k] = 1.0, -math.exp(budgets[j, k])
            rows.append(row)
    solved = linprog(-q, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=[d], b_eq=[1.0])
    assert solved.status == 0
    return math.log(-solved.fun)


def test_directions_stand_zeros_and_endless_budgets():
    moves = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]
    found = streams.leakage(moves, moves, [0.1, INF, 0.1], directional=True)
    assert found.total[1] == INF
    assert found.backward[2] == INF
    assert found.backward[0] == pytest.approx(0.1)
    steep = streams.leakage(moves, None, [40.0, 0.1], directional=True)
    scalar = streams.leakage(moves, None, [40.0, 0.1])
    assert 39 < steep.worst <= scalar.worst


def test_an_exact_release_is_worth_the_limit_to_its_neighbours():
    found = streams.leakage(STILL, STILL, [INF, 0.1, 0.1])
    assert found.backward[1] == pytest.approx(math.log(8) + 0.1, rel=1e-12)
    assert found.total[0] == INF
    assert np.isfinite(found.total[1:]).all()


def test_without_correlation_each_release_stands_alone():
    epsilons = [0.3, 0.0, 0.7]
    for directional in (False, True):
        found = streams.leakage(None, None, epsilons, directional=directional)
        assert found.total.tolist() == found.backward.tolist() == epsilons
    alike = np.full((3, 3), 1 / 3)
    assert streams.leakage(alike, alike, epsilons).total.tolist() == epsilons


def test_states_that_never_change_add_everything_up():
    for directional in (False, True):
        found = streams.leakage(np.eye(3), np.eye(3), 0.25, length=8, directional=directional)
        assert found.total == pytest.approx(np.full(8, 2.0), rel=1e-12)
        assert found.worst >= 2.0


def test_leakage_grows_with_every_budget():
    rng = np.random.default_rng(8)
    for back, ahead in zip(chains(5, 4, seed=1), chains(5, 4, seed=2), strict=True):
        less = rng.uniform(0.1, 1, size=6)
        more = less + rng.uniform(0, 0.2, size=6)
        small, large = streams.leakage(back, ahead, less), streams.leakage(back, ahead, more)
        assert np.all(small.total <= large.total)


def test_the_recursion_is_rounded_up():
    """Against the same recursion in forty digits, on matrices without rounding."""
    for transition in dyadic(3, 3, seed=9):
        found = streams.leakage(transition, None, 0.125, length=12).backward
        exact = mpmath.mpf(0.125)
        for one in found[1:]:
            with mpmath.workdps(40):
                exact = by_vertices(transition, exact) + mpmath.mpf(0.125)
            assert exact <= one <= exact * (1 + 1e-12)


# Endless streams -----------------------------------------------------------------------------


def closed_form(transition, epsilon):
    """The largest supremum of all prefixes of all pairs of rows (Cao et al., 2019)."""
    best, e = epsilon, math.exp(epsilon)
    for x, y in product(range(len(transition)), repeat=2):
        order = sorted(
            range(len(transition)),
            key=lambda j: -(transition[x][j] / transition[y][j] if transition[y][j] else INF),
        )
        for size in range(1, len(order)):
            q = sum(transition[x][j] for j in order[:size])
            d = sum(transition[y][j] for j in order[:size])
            if q <= d:
                continue
            if d > 0:
                b = d + q * e - 1
                found = math.log((math.sqrt(4 * d * e * (1 - q) + b * b) + b) / (2 * d))
            else:
                found = math.log((1 - q) * e / (1 - q * e)) if q * e < 1 else INF
            best = max(best, found)
    return best


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("states", [2, 3, 5])
def test_the_supremum_is_its_closed_form_and_the_limit_of_the_recursion(states, epsilon):
    for transition in chains(5, states):
        found = streams.supremum(transition, None, epsilon)
        assert found == pytest.approx(closed_form(transition, epsilon), rel=1e-9)
        run = streams.leakage(transition, None, epsilon, length=4000).worst
        assert run <= found * (1 + 1e-13)
        assert run == pytest.approx(found, rel=1e-6)
        both = streams.supremum(transition, transition, epsilon)
        assert both == pytest.approx(2 * found - epsilon, rel=1e-12)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.8, 0.9, 0.999])
def test_the_boundary_itself_has_no_supremum(q):
    moves = [[q, 1 - q], [0.0, 1.0]]
    for boundary in (math.log(1 / q), -math.log(q)):
        assert streams.supremum(moves, None, boundary) == INF
        assert streams.supremum(moves, None, boundary * 1.01) == INF
        below = boundary - 1e-6
        assert streams.supremum(moves, None, below) == pytest.approx(closed_form(moves, below))


def test_extreme_budgets_have_a_supremum():
    assert streams.supremum(STILL, STILL, 0) == 0
    assert streams.supremum(STILL, None, INF) == INF
    assert streams.supremum(STILL, None, 1e4) == pytest.approx(1e4 + math.log(8))
    assert streams.supremum(np.eye(2), None, 1e-9) == INF
    assert streams.supremum(None, None, 0.5) == 0.5


def test_the_supremum_grows_with_the_budget():
    for transition in chains(5, 4):
        found = [streams.supremum(transition, transition, one) for one in np.linspace(0, 3, 40)]
        assert found == sorted(found)


# Budgets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0.05, 1.0, 8.0])
def test_a_budget_keeps_the_target_and_hardly_less(target):
    for back, ahead in zip(chains(4, 3, seed=1), chains(4, 3, seed=2), strict=True):
        found = streams.budget(target, back, ahead)
        assert streams.supremum(back, ahead, found) <= target
        assert streams.supremum(back, ahead, found * (1 + 1e-9)) > target


def test_a_budget_stays_under_the_boundary_of_a_zero():
    found = streams.budget(50, ABSORBING, None)
    assert found < math.log(1.25)
    assert found == pytest.approx(math.log(1.25), rel=1e-3)


def test_without_correlation_the_target_may_be_spent_each_time():
    assert streams.budget(0.7, None, None) == 0.7


def test_where_nothing_is_forgotten_no_budget_lasts_for_ever():
    with pytest.raises(Unsupported, match="allocate"):
        streams.budget(1, np.eye(2), None)


@pytest.mark.parametrize("length", [1, 2, 7, 60])
def test_even_budgets_keep_the_target_and_hardly_less(length):
    for moves in (*chains(3, 3), np.eye(3), np.array(ABSORBING)):
        found = streams.allocate(1.0, moves, moves, length)
        assert found.worst <= 1
        assert len(set(found.epsilons)) == 1
        assert found.epsilons[0] >= 1 / length * (1 - 1e-9)
        more = streams.leakage(moves, moves, found.epsilons * (1 + 1e-9))
        assert more.worst > 1


@pytest.mark.parametrize("length", [1, 2, 3, 40])
def test_larger_ends_leak_the_same_about_every_time(length):
    for back, ahead in zip(chains(3, 3, seed=1), chains(3, 3, seed=2), strict=True):
        found = streams.allocate(1.0, back, ahead, length, even=False)
        assert found.worst <= 1
        assert found.total == pytest.approx(np.ones(length), rel=1e-8)
        lasting = streams.budget(1.0, back, ahead)
        assert found.epsilons[1:-1] == pytest.approx(lasting, rel=1e-8)
        assert min(found.epsilons[0], found.epsilons[-1]) > lasting


def test_budgets_for_a_chain_that_changes():
    steps = chains(5, 3)
    back = streams.reversed_chain(steps, [0.2, 0.3, 0.5])
    found = streams.allocate(1.0, back, steps, 6)
    assert found.worst == pytest.approx(1.0, rel=1e-9)
    with pytest.raises(InvalidArgument, match="one matrix for all times"):
        streams.allocate(1.0, back, steps, 6, even=False)


# Chains --------------------------------------------------------------------------------------


def test_a_reversed_chain_is_the_law_of_the_past():
    steps = chains(3, 3)
    initial = np.array([0.2, 0.3, 0.5])
    found = streams.reversed_chain(steps, initial)
    joint = np.zeros((3, 3, 3, 3))
    for path in product(range(3), repeat=4):
        chance = initial[path[0]]
        for matrix, (before, after) in zip(steps, pairwise(path), strict=True):
            chance *= matrix[before, after]
        joint[path] = chance
    for t in range(3):
        others = tuple(axis for axis in range(4) if axis not in (t, t + 1))
        pair = joint.sum(axis=others)
        assert found[t] == pytest.approx((pair / pair.sum(axis=0)).T)


def test_a_stationary_chain_has_the_same_past_at_all_times():
    forward = chains(1, 4)[0]
    found = streams.reversed_chain(forward, stationary(forward), length=5)
    assert found == pytest.approx(np.repeat(found[:1], 4, axis=0))


def test_a_state_that_cannot_occur_is_named():
    with pytest.raises(Unsupported, match="state 1 cannot occur at time 2"):
        streams.reversed_chain([[1.0, 0.0], [1.0, 0.0]], [0.5, 0.5], length=3)


def test_zeros_are_reported():
    cells = zero_cells(ABSORBING, [STILL, ABSORBING])
    assert cells == (
        ZeroCell("backward", None, 1, 0),
        ZeroCell("forward", 1, 1, 0),
    )
    found = streams.leakage(ABSORBING, [STILL, ABSORBING], 0.1, length=3)
    assert found.zero_cells == cells
    assert "backward row 1, column 0" in str(found)
    assert "forward row 1, column 0 at step 1" in str(found)
    assert zero_cells([[0.5, 0.5, 0.0]] * 3, None) == ()
    assert "probability 0" not in str(streams.leakage(STILL, None, 0.1, length=3))


def test_many_zeros_are_counted():
    assert "and 9 more" in str(streams.leakage(np.eye(4), None, 0.1, length=3))


def test_the_words_say_the_worst_time():
    found = streams.leakage(STILL, STILL, 0.1, length=9)
    assert found.worst_time == 4
    assert found.worst == found.total[4]
    assert str(found).startswith("a stream of 9 releases reveals at most ε = 0.4613 about one time")


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], r"backward row 0 must sum to 1, got 0\.9"),
        ([[0.5, 0.5], [1.2, -0.2]], r"backward row 1, column 1 must be at least 0, got -0\.2"),
        ([STILL, [[1, 0], [0.5, 0.4]]], "backward step 1, row 1 must sum to 1"),
        ([[0.5, 0.5]], r"backward must be a square matrix or a sequence of them, got \(1, 2\)"),
        ([0.5, 0.5], "backward must be a square matrix"),
        ([[1.0]], "backward must have at least 2 states"),
        ([[0.5, float("nan")], [0.5, 0.5]], "backward must not contain NaN"),
        ([[INF, 0.5], [0.5, 0.5]], "backward row 0 must sum to 1"),
        ([["a", "b"], ["c", "d"]], "backward must be a square matrix"),
        (np.eye(3), "forward must have 3 states, as backward, got 2"),
        ([STILL], "backward must hold 2 matrices, one per step between 3 times, got 1"),
    ],
)
def test_bad_matrices_are_refused(backward, message):
    with pytest.raises(InvalidArgument, match=message):
        streams.leakage(backward, STILL, 0.1, length=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: streams.leakage(STILL, None, -0.1, length=2), "epsilons must be at least 0"),
        (lambda: streams.leakage(STILL, None, 0.1), "length must be a whole number"),
        (lambda: streams.leakage(STILL, None, []), "epsilons must not be empty"),
        (lambda: streams.leakage(STILL, None, [0.1], length=2), "length must be the number"),
        (lambda: streams.leakage(STILL, None, STILL, length=2), "unless directional"),
        (
            lambda: streams.leakage(STILL, None, np.eye(3), length=2, directional=True),
            "epsilons must be 2 × 2 matrices",
        ),
        (lambda: streams.supremum([STILL, STILL], None, 0.1), "one matrix for all times"),
        (lambda: streams.supremum(STILL, None, -1), "epsilon must be at least 0"),
        (lambda: streams.budget(0, STILL, None), "target must be finite and greater than 0"),
        (lambda: streams.allocate(1, STILL, None, 0), "length must be at least 1"),
        (lambda: streams.carried_over(STILL, -1), "alpha must be at least 0"),
        (lambda: streams.reversed_chain(STILL, [1, 0, 0], 2), "initial must hold one probability"),
        (lambda: streams.reversed_chain(STILL, [0.5, 0.5]), "length must be given"),
        (lambda: streams.reversed_chain(STILL, [0.5, 0.4], 2), "initial must sum to 1"),
    ],
)
def test_bad_calls_are_refused(call, message):
    with pytest.raises(InvalidArgument, match=message):
        call()
