"""One Markov engine: leakage through a step, a reversal and marginals, against the definitions."""

import itertools

import numpy as np
import pytest

from tellapart.worlds import MarkovChain
from tellapart.worlds.markov import step
from tellapart.worlds.markov.marginals import log_marginals, supports
from tellapart.worlds.markov.reversal import reversals, reversed_chain


def matrices(states, number=8):
    rng = np.random.default_rng(states)
    for i in range(number):
        rows = rng.dirichlet(np.full(states, rng.uniform(0.3, 2.0)), states)
        if i % 3 == 0:
            rows[:, 0] = 0.0
        if i % 4 == 0:
            rows[0, 1:] = 0.0
            rows[0, 0] = 1.0
        yield rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("states", [2, 3, 4, 9, 30])
@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.3, 4.0, 50.0, 650.0, 730.0, np.inf])
def test_the_frontier_of_a_matrix_is_the_worst_of_its_pairs(states, alpha):
    for rows in matrices(states):
        pairs = step.pair_lifts(rows, rows)(alpha)
        assert np.all(pairs <= alpha)
        assert pairs.max() == pytest.approx(float(step.matrix_lifts(rows)(alpha)), rel=1e-12)


@pytest.mark.parametrize("states", [2, 3, 5])
@pytest.mark.parametrize("alpha", [1e-9, 0.3, 4.0])
def test_one_limit_for_all_pairs_by_every_set_of_states(states, alpha):
    for rows in matrices(states):
        bound = step.pair_lifts(rows, rows)(alpha)
        exact = np.zeros((states, states))
        for chosen in itertools.product([0, 1], repeat=states):
            more = np.log1p(rows @ (np.expm1(alpha) * np.array(chosen)))
            exact = np.maximum(exact, more[:, None] - more)
        assert np.all(bound >= exact - 1e-15 * exact.max())
        np.testing.assert_allclose(bound, exact, rtol=1e-12, atol=1e-15 * exact.max())


@pytest.mark.parametrize("seed", range(20))
def test_two_states_as_numbers_as_points_and_as_trees(seed):
    rng = np.random.default_rng(seed)
    for rows in matrices(2):
        leaked = np.where(np.eye(2) == 1, 0.0, rng.exponential(3.0, (2, 2)))
        plain = rows.tolist()
        apart = step.two_states(plain, plain, (leaked[0, 1], leaked[1, 0]))
        by_trees = step.Cone(rows, rows)(leaked)
        np.testing.assert_allclose([by_trees[0, 1], by_trees[1, 0]], apart, rtol=1e-12, atol=1e-12)
        alpha = float(leaked[0, 1]) * 10 ** rng.uniform(-9, 2.4)
        alike = step.two_states(plain, plain, (alpha, alpha))
        pairs = step.pair_lifts(rows, rows)(alpha)
        np.testing.assert_allclose([pairs[0, 1], pairs[1, 0]], alike, rtol=1e-14)


@pytest.mark.parametrize("states", [3, 4])
@pytest.mark.parametrize("size", [0.1, 1.0, 5.0])
def test_a_limit_for_every_pair_by_trees_and_by_a_linear_programme(states, size):
    rng = np.random.default_rng(7)
    apart = ~np.eye(states, dtype=bool)
    for rows in matrices(states):
        places = rng.exponential(size, states)
        leaked = np.abs(np.subtract.outer(places, places)) + 0.1 * apart
        by_trees = step.each_pair(rows, leaked)
        largest = step.pair_lifts(rows, rows)(leaked.max())
        by_programme = step._by_programme(rows, leaked, largest)
        # A solver's flows prove a little more than the truth.
        np.testing.assert_allclose(by_trees[apart], by_programme[apart], rtol=1e-10, atol=1e-10)
        assert np.all(by_trees <= by_programme + 1e-13 * (1 + leaked.max()))


@pytest.mark.parametrize("states", [2, 3, 5])
def test_a_chain_run_backwards(states):
    rng = np.random.default_rng(states)
    for _ in range(5):
        transition, initial = rng.dirichlet(np.ones(states), states), rng.dirichlet(np.ones(states))
        back = reversed_chain(transition, initial, 40)
        law = initial
        for rows in back:
            joint = law[:, None] * transition
            law = joint.sum(axis=0)
            np.testing.assert_allclose(rows, joint.T / law[:, None], rtol=1e-12)
        boxes, possible = reversals(MarkovChain(initial, transition, 40))
        assert possible.all()
        for box, rows in zip(boxes, back, strict=True):
            assert np.all(box.low <= rows * (1 + 1e-12))
            assert np.all(box.high >= rows * (1 - 1e-12))
            np.testing.assert_allclose(box.high, box.low, rtol=1e-9)


def test_a_state_of_almost_no_probability_has_a_past():
    back = reversed_chain([[1, 0], [0.5, 0.5]], [0.5, 0.5], 3000)
    np.testing.assert_allclose(back[-1], [[1, 0], [0, 1]], atol=1e-15)


@pytest.mark.parametrize("states", [2, 3, 5])
def test_marginal_laws_along_a_chain(states):
    rng = np.random.default_rng(states)
    for _ in range(5):
        transition, initial = rng.dirichlet(np.ones(states), states), rng.dirichlet(np.ones(states))
        chain = MarkovChain(initial, transition, 60)
        rows = log_marginals(chain.initial, chain.transition, 60)
        laws = [chain.initial]
        for _ in range(59):
            laws.append(laws[-1] @ chain.transition)
        np.testing.assert_allclose(np.exp(rows), laws, rtol=1e-12)
        settled = log_marginals(chain.initial, chain.transition, 60, 2.0**-51)
        np.testing.assert_allclose(rows, settled, rtol=1e-12)
        every = [np.ones(states, dtype=bool)] * 60
        np.testing.assert_allclose(rows[31], chain._log_shares(31, every), rtol=1e-12)


def test_states_that_cannot_be_have_no_share():
    turning = np.roll(np.eye(3), 1, axis=1)
    rows = log_marginals(np.array([1.0, 0, 0]), turning, 10, 2.0**-51)
    np.testing.assert_array_equal(rows > -np.inf, supports(np.array([1.0, 0, 0]), turning, 10))
