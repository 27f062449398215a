"""Bounds on what noise gives away about chains, against every law listed and against corners."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import tellapart as ta
from tellapart.worlds import (
    ChainSet,
    ImpossibleSecret,
    Linear,
    MarkovChain,
    RecordValue,
    Sum,
    chain_epsilon_bound,
    chain_scale_bound,
)
from tellapart.worlds.markov.bounds import one_side
from tellapart.worlds.markov.chain_sets import filled
from tellapart.worlds.markov.laplace_tails import chain_log_mgf
from tellapart.worlds.markov.step import Box, Cone, pair_lifts, potentials

P = [[0.9, 0.1], [0.4, 0.6]]
BOX = ([[0.85, 0.05], [0.3, 0.5]], [[0.95, 0.15], [0.5, 0.7]])


def listed(chain, scale, query=None):
    """The true ε of each record, from the laws of the sum at every atom."""
    found = []
    for t in range(chain.length):
        laws = []
        for value in chain.values:
            try:
                laws.append(chain.law(query or Sum(), RecordValue(t, value)))
            except ImpossibleSecret:
                continue
        at = np.unique(np.concatenate([law.values for law in laws]))
        logs = [
            np.log(np.exp(-np.abs(at[:, None] - law.values) / scale) @ law.weights) for law in laws
        ]
        pairs = itertools.combinations(logs, 2)
        found.append(max((np.abs(a - b).max() for a, b in pairs), default=np.nan))
    return np.array(found)


def in_the_tails(chain, scale, query=None):
    logs = chain_log_mgf(chain, [1 / scale, -1 / scale], query)
    return np.abs(logs[:, :, 0] - logs[:, :, 1]).max(axis=0)


def test_a_long_chain_of_two_states_that_tend_to_stay():
    chain = MarkovChain.stationary(P, 100)
    found = chain_epsilon_bound(chain, 1)
    assert found[50] == pytest.approx(3.298249356108304, abs=1e-11)
    assert found[50] >= 3.298249356108304
    np.testing.assert_allclose(found, in_the_tails(chain, 1), rtol=1e-11)
    assert chain_scale_bound(chain, 1) == pytest.approx(3.3364, abs=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_exact_for_two_states_that_tend_to_stay(seed):
    """Whatever the start, the weights and the noise."""
    rng = np.random.default_rng(seed)
    stay, leave = rng.uniform(0.5, 1), rng.uniform(0, 0.5)
    transition = [[stay, 1 - stay], [leave, 1 - leave]]
    chain = MarkovChain(rng.dirichlet([1, 1]), transition, 6, rng.permutation([0, 2]))
    scale, query = rng.uniform(0.5, 5), Linear(rng.integers(0, 4, 6))
    exact = listed(chain, scale, query)
    found = chain_epsilon_bound(chain, scale, query)
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("states", [2, 3, 4])
def test_never_below_the_truth(states):
    rng = np.random.default_rng(states)
    for _ in range(12):
        transition = rng.dirichlet(np.full(states, 0.7), states)
        transition[rng.integers(states)] = np.roll(np.eye(states)[0], rng.integers(states))
        initial = rng.dirichlet(np.ones(states))
        chain = MarkovChain(initial, transition, 5, rng.permutation(states))
        scale, query = rng.uniform(0.3, 3), Linear(rng.integers(-2, 3, 5))
        found, exact = chain_epsilon_bound(chain, scale, query), listed(chain, scale, query)
        assert np.all(np.isnan(found) == np.isnan(exact))
        assert np.all((found >= exact - 1e-12) | np.isnan(found))


def test_states_that_cannot_be_are_no_secrets():
    chain = MarkovChain([1, 0, 0], [[0.6, 0.4, 0], [0.3, 0.3, 0.4], [0, 0, 1]], 4)
    found, exact = chain_epsilon_bound(chain, 1), listed(chain, 1)
    assert np.isnan(found).tolist() == [True, False, False, False]
    assert np.all(found[1:] >= exact[1:] - 1e-12)
    two = MarkovChain([1, 0], P, 5)
    np.testing.assert_allclose(chain_epsilon_bound(two, 1), listed(two, 1), rtol=1e-11)
    with pytest.raises(ImpossibleSecret, match="two possible values"):
        chain_scale_bound(MarkovChain([1, 0], np.eye(2), 3), 1)


def test_a_state_of_almost_no_probability_is_a_secret():
    """State 1 is left for ever: after 2000 steps it has probability 2^-2000, which is not 0."""
    chain = MarkovChain([0.5, 0.5], [[1, 0], [0.5, 0.5]], 2000)
    found = chain_epsilon_bound(chain, 1)
    assert found[-1] > 1999
    np.testing.assert_allclose(found, in_the_tails(chain, 1), rtol=1e-9)


def test_a_chain_that_moves_too_slowly_to_settle():
    chain = MarkovChain([0.2, 0.8], [[0.9999, 0.0001], [0.0003, 0.9997]], 300)
    np.testing.assert_allclose(chain_epsilon_bound(chain, 5), in_the_tails(chain, 5), rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_set_bounds_all_its_chains_and_no_more_for_two_states_that_stay(seed):
    rng = np.random.default_rng(seed)
    low, room = rng.uniform([0.6, 0.05], [0.8, 0.3]), rng.uniform(0, 0.2, 2)
    first = np.array([low, low + room])  # P00 and P10, at least and at most
    bounds = (
        np.column_stack([first[0], 1 - first[1]]),
        np.column_stack([first[1], 1 - first[0]]),
    )
    chains = ChainSet(bounds, length=40)
    query = Linear(rng.integers(0, 3, 40))
    found = chain_epsilon_bound(chains, 2, query)
    members = chains.members(12, seed)
    reached = np.array([chain_epsilon_bound(one, 2, query) for one in members])
    assert np.all(found >= reached.max(axis=0) - 1e-12)
    corner = [[first[1, 0], 1 - first[1, 0]], [first[0, 1], 1 - first[0, 1]]]
    exact = in_the_tails(MarkovChain.stationary(corner, 40), 2, query)
    np.testing.assert_allclose(found, exact, rtol=1e-10)


@pytest.mark.parametrize("states", [2, 3])
def test_one_step_of_a_box_is_a_linear_programme_for_each_set(states):
    """Upper and lower row apart, for each set of states where the likelihood is large."""
    rng = np.random.default_rng(states)
    middle = rng.dirichlet(np.ones(states), states)
    low, high = middle * rng.uniform(0.2, 1, middle.shape), np.minimum(middle * 1.7, 1)
    alpha = 1.3
    found = pair_lifts(low, high)(alpha)
    for x, y in itertools.permutations(range(states), 2):
        best = 0.0
        for chosen in itertools.product([0, 1], repeat=states):
            u = np.exp(alpha * np.array(chosen))
            most = -linprog(-u, A_eq=np.ones((1, states)), b_eq=1, bounds=_ends(low, high, x)).fun
            least = linprog(u, A_eq=np.ones((1, states)), b_eq=1, bounds=_ends(low, high, y)).fun
            best = max(best, np.log(most / least))
        assert found[x, y] == pytest.approx(best, abs=1e-9)
    relaxed = pair_lifts(np.pad(low, (0, 9 - states)), np.pad(high, (0, 9 - states)))(alpha)
    assert np.all(relaxed[:states, :states] >= found - 1e-12)


def _ends(low, high, row):
    return np.column_stack([low[row], high[row]])


@pytest.mark.parametrize("states", [3, 4])
def test_a_step_with_a_limit_for_every_pair_is_a_linear_programme(states):
    """The best u for every two corners of the box of rows, or for given rows."""
    rng = np.random.default_rng(states)
    centre = rng.dirichlet(np.ones(states), states)
    alpha = np.where(np.eye(states, dtype=bool), 0, rng.uniform(0.2, 2, (states, states)))
    low, high = (0.7 * centre, 1.2 * centre) if states == 3 else (centre, centre)
    found = Cone(low, high)(alpha)
    limits = np.array(
        [
            np.eye(states)[x] - np.exp(alpha[x, y]) * np.eye(states)[y]
            for x, y in itertools.permutations(range(states), 2)
        ]
    )
    for x, y in [(0, 1), (2, 0)]:
        ends = [
            {tuple(filled(low[row], high[row], o)) for o in itertools.permutations(range(states))}
            for row in (x, y)
        ]
        best = max(
            -linprog(-np.array(q), limits, np.zeros(len(limits)), np.array([d]), [1]).fun
            for q, d in itertools.product(*ends)
        )
        assert found[x, y] == pytest.approx(np.log(best), abs=1e-9)
    apart = ~np.eye(states, dtype=bool)
    assert np.all(found[apart] <= pair_lifts(low, high)(alpha.max())[apart] + 1e-9)


def test_all_trees_are_tried():
    """Cayley: n^(n - 2) of them, each with two directions for every edge."""
    assert [len(potentials(n)) for n in (2, 3, 4)] == [2, 3 * 4, 16 * 8]


def test_little_noise_on_three_states_that_never_meet():
    chain = MarkovChain([0.2, 0.3, 0.5], np.eye(3), 50, [0, 1, 5])
    np.testing.assert_allclose(chain_epsilon_bound(chain, 0.01), 50 * 5 / 0.01, rtol=1e-9)


@pytest.mark.parametrize("states", [2, 3, 4, 5])
@pytest.mark.parametrize("scale", [1e-4, 0.01, 0.02, 0.1])
def test_little_noise_on_moves_that_cannot_be(states, scale):
    """Likelihoods e^-900 apart, which no double holds: the tails are never above the bound."""
    rng = np.random.default_rng(states)
    for _ in range(8):
        transition = rng.dirichlet(np.full(states, 0.7), states)
        transition = np.where(rng.random(transition.shape) < 0.4, 0, transition)
        transition += 1e-3 * np.eye(states)
        transition /= transition.sum(axis=1, keepdims=True)
        initial = rng.dirichlet(np.ones(states))
        chain = MarkovChain(initial, transition, 30, rng.permutation(states))
        logs = chain_log_mgf(chain, [1 / scale, -1 / scale])
        shown = (np.nanmax(logs, axis=2) - np.nanmin(logs, axis=2)).max(axis=0)
        assert np.all(chain_epsilon_bound(chain, scale) >= shown * (1 - 1e-12))


def test_long_stretches_settle_where_single_steps_lead():
    """Weights that differ in a digit that does not count are walked step by step."""
    rng = np.random.default_rng(1)
    chain = MarkovChain.stationary(0.5 * np.eye(3) + 0.5 * rng.dirichlet(np.ones(3), 3), 300)
    weights = np.repeat([1.0, 3.0], 150)
    settled = chain_epsilon_bound(chain, 2, Linear(weights))
    walked = chain_epsilon_bound(chain, 2, Linear(weights * (1 + 1e-15 * np.arange(300))))
    np.testing.assert_allclose(settled, walked, rtol=1e-9)


def test_five_states_use_one_limit_for_all():
    rng = np.random.default_rng(0)
    chain = MarkovChain([0.5, 0, 0.2, 0.3, 0], 0.6 * np.eye(5) + 0.08, 6)
    assert np.all(chain_epsilon_bound(chain, 2) >= listed(chain, 2))
    centre = rng.dirichlet(np.ones(5), 5)
    members = MarkovChain.stationary(centre, 10)
    back = (members.initial[:, None] * centre).T / members.initial[:, None]
    chains = ChainSet((0.9 * centre, 1.1 * centre), (0.9 * back, 1.1 * back), length=10)
    assert np.all(chain_epsilon_bound(chains, 2) >= chain_epsilon_bound(members, 2))


@pytest.mark.parametrize("states", [2, 3])
def test_one_side_holds_for_rows_that_change_at_every_step(states):
    """The likelihood of outputs given a record, on a grid of outputs, by its own recursion."""
    rng = np.random.default_rng(states)
    middle = rng.dirichlet(np.ones(states), states)
    box = Box(0.6 * middle, np.minimum(0.6 * middle + 0.4, 1.0))
    values, weights = np.arange(states), np.array([1, 2, 1, 1, 2, 1])
    apart = np.abs(np.subtract.outer(values, values)).astype(float)
    possible = np.ones((6, states), dtype=bool)
    told = one_side([box] * 5, weights / 1.5, apart, possible)
    grid = np.arange(-40, 41)
    reached = 0.0
    for _ in range(40):
        seen = np.tile(np.exp(-np.abs(grid) / 1.5), (states, 1))
        for t in range(5):
            extra = np.eye(states)[rng.integers(states, size=states)]
            rows = 0.6 * middle + 0.4 * extra
            moved = np.array([np.roll(seen[z], weights[t] * values[z]) for z in range(states)])
            seen = rows @ moved
            logs = np.log(seen[:, 25:56])  # where nothing has been rolled in from the other end
            ratio = (logs[:, None] - logs[None]).max(axis=-1)
            assert np.all(ratio <= told[t + 1] + 1e-12)
            reached = max(reached, float((ratio / np.where(ratio > 0, told[t + 1], 1)).max()))
    assert reached > 0.8


def test_the_scale_is_the_least_that_the_bound_allows():
    chains = ChainSet(BOX, length=50, values=[0, 3])
    for query in (None, Linear(np.arange(50))):
        scale = chain_scale_bound(chains, 0.7, query)
        assert chain_epsilon_bound(chains, scale, query).max() <= 0.7
        assert chain_epsilon_bound(chains, scale * (1 - 1e-7), query).max() > 0.7
    single = MarkovChain.stationary(P, 1)
    assert chain_scale_bound(single, 0.5) == pytest.approx(2)
    # Record 0 alone has two values, and they are not the ones furthest apart.
    near = MarkovChain([0.5, 0.5, 0], [[0, 0, 1], [0, 0, 1], [0, 0, 1]], 2, [0, 1, 100])
    assert chain_scale_bound(near, 1) == pytest.approx(1)
    assert chain_scale_bound(near, 1, Linear([0, 1])) < 1e-20  # record 1 is no secret


@pytest.mark.parametrize("weights", ["equal", "random"])
def test_long_chains_are_answered(weights):
    length = 10**4
    query = None if weights == "equal" else Linear(np.random.default_rng(0).random(length))
    for chain in (MarkovChain([0.5, 0.5], P, length), ChainSet(BOX, length=length)):
        assert chain_epsilon_bound(chain, 1, query).size == length


def test_what_is_refused():
    chain = MarkovChain.stationary(P, 3)
    with pytest.raises(ta.InvalidArgument, match="chain must be a MarkovChain or a ChainSet"):
        chain_epsilon_bound(P, 1)
    with pytest.raises(ta.InvalidArgument, match="scale must be finite and greater than 0"):
        chain_epsilon_bound(chain, 0)
    with pytest.raises(ta.InvalidArgument, match="query must give some record a weight"):
        chain_scale_bound(chain, 1, Linear([0, 0, 0]))
    big = MarkovChain.stationary(np.full((10, 10), 0.1), 10**6)
    with pytest.raises(ta.Unsupported, match=r"1\.0e8 numbers"):
        chain_epsilon_bound(big, 1)


def test_sets_are_checked():
    assert ChainSet(BOX).of_length(7).length == 7
    with pytest.raises(ta.InvalidArgument, match="forward row 0 must have low ≤ high"):
        ChainSet(([[0.5, 0.6], [0, 0]], [[1, 1], [1, 1]]))
    with pytest.raises(ta.InvalidArgument, match="backward must be given for more than 2 states"):
        ChainSet((np.zeros((3, 3)), np.ones((3, 3))))
    with pytest.raises(ta.InvalidArgument, match="backward must have 2 states, as forward"):
        ChainSet(BOX, (np.zeros((3, 3)), np.ones((3, 3))))
    with pytest.raises(ta.InvalidArgument, match="forward must be a pair"):
        ChainSet(np.zeros((3, 2, 2)))
    with pytest.raises(ta.InvalidArgument, match="forward must be two square matrices"):
        ChainSet((np.zeros((2, 2)), np.ones((3, 3))))


def test_a_set_knows_its_chains():
    chains = ChainSet(BOX, length=20)
    assert chains.contains(MarkovChain.stationary(P, 20))
    assert not chains.contains(MarkovChain.stationary([[0.97, 0.03], [0.4, 0.6]], 20))
    # The same matrix, but read backwards from such a start it leaves the bounds.
    assert not chains.contains(MarkovChain([0.01, 0.99], P, 20))
    with pytest.raises(ta.InvalidArgument, match="chain must have 2 states"):
        chains.contains(MarkovChain.stationary(np.full((3, 3), 1 / 3), 4))
    members = chains.members(30, seed=1)
    assert len(members) == 30
    assert all(chains.contains(one) for one in members)
    corners = {tuple(one.transition[:, 0].round(6)) for one in members[:4]}
    assert corners == {(0.95, 0.5), (0.95, 0.3), (0.85, 0.5), (0.85, 0.3)}


def test_members_of_larger_sets_keep_the_bounds_backwards_too():
    rng = np.random.default_rng(0)
    centre = rng.dirichlet(np.ones(4), 4)
    chain = MarkovChain.stationary(centre, 30)
    back = (chain.initial[:, None] * centre).T / chain.initial[:, None]
    bounds = [(0.9 * one, np.minimum(1.1 * one, 1)) for one in (centre, back)]
    chains = ChainSet(*bounds, length=30)
    members = chains.members(10, seed=0)
    assert len(members) == 10
    assert all(chains.contains(one) for one in members)
    found = chain_epsilon_bound(chains, 1)
    assert all(np.all(chain_epsilon_bound(one, 1) <= found + 1e-12) for one in members)


@pytest.mark.parametrize("states", [2, 3, 5])
def test_a_set_read_backwards_has_the_same_bounds_backwards(states):
    """Each direction has limits of its own, and both count."""
    rng = np.random.default_rng(states)
    ahead, back = (rng.dirichlet(np.full(states, 3.0), states) for _ in range(2))
    boxes = [(0.9 * rows, np.minimum(1.2 * rows, 1.0)) for rows in (ahead, back)]
    one, other = ChainSet(*boxes, length=7), ChainSet(*boxes[::-1], length=7)
    query = Linear(rng.integers(1, 4, 7))
    found = chain_epsilon_bound(one, 1.5, query)
    mirrored = chain_epsilon_bound(other, 1.5, Linear(query.weights[::-1]))
    np.testing.assert_allclose(found, mirrored[::-1], rtol=1e-12)
    assert np.abs(found - found[::-1]).max() > 1e-3


@pytest.mark.parametrize("rates", [(5e-12, 2e-11), (2e-11, 5e-12)])
def test_a_law_that_creeps_is_followed_to_the_end(rates):
    """Steps that hardly move it add up, and limits that rare moves set move along with it."""
    one, other = rates
    chain = MarkovChain([0.5, 0.5], [[1 - one, one], [other, 1 - other]], 1500)
    found, true = chain_epsilon_bound(chain, 1), in_the_tails(chain, 1)
    assert np.all(found >= true - 1e-9)
    np.testing.assert_allclose(found, true, rtol=1e-9)


def test_a_state_that_the_first_record_alone_may_have_is_bounded_too():
    """Long after the bound has settled for all records that follow."""
    inner = np.array([[0.6, 0.4, 0], [0.3, 0.7, 0]])
    chain = MarkovChain([0.3, 0.3, 0.4], [*inner, [0, 1, 0]], 200, [0, 1, 5])
    logs = chain_log_mgf(chain, [1 / 2, -1 / 2])
    true = (np.nanmax(logs, axis=2) - np.nanmin(logs, axis=2)).max(axis=0)
    assert np.all(chain_epsilon_bound(chain, 2) >= true - 1e-10)


def test_a_set_of_either_kind_is_asked_in_one_way():
    chains = ChainSet(BOX, length=7)
    np.testing.assert_array_equal(chains.epsilon_bound(2.0), chain_epsilon_bound(chains, 2.0))
    assert chains.scale_bound(0.5, Linear(range(7))) == chain_scale_bound(
        chains, 0.5, Linear(range(7))
    )
