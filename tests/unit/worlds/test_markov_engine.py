"""One Markov engine: the ways in which a step, a reversal and marginals are computed agree."""

import numpy as np
import pytest

from tellapart.worlds import MarkovChain
from tellapart.worlds.markov import directional, known_reversal, quilts, step, temporal
from tellapart.worlds.markov.transitions import reversed_chain
from tellapart.worlds.markov.window_bound import log_shares


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
@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.3, 4.0, 50.0, 650.0])
def test_one_leakage_through_one_matrix(states, alpha):
    for rows in matrices(states):
        pairs = step.points(rows, rows)(alpha)
        largest = temporal.carry(rows).at(alpha)
        assert pairs.max() == pytest.approx(largest, rel=1e-12, abs=1e-15)
        flat = directional._scalar(rows, np.full((states, states), alpha))
        np.testing.assert_allclose(pairs, np.where(np.eye(states) == 1, 0.0, flat), rtol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_two_states(seed):
    rng = np.random.default_rng(seed)
    for rows in matrices(2):
        leaked = np.where(np.eye(2) == 1, 0.0, rng.exponential(3.0, (2, 2)))
        found = directional._two_states(rows, leaked)
        plain = rows.tolist()
        told = step.two_states(plain, plain, (leaked[0, 1], leaked[1, 0]))
        np.testing.assert_allclose([found[0, 1], found[1, 0]], told, rtol=1e-12, atol=1e-15)
        by_trees = step.Cone(rows, rows)(leaked)
        apart = [by_trees[0, 1], by_trees[1, 0]]
        np.testing.assert_allclose(apart, told, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("states", [3, 4])
@pytest.mark.parametrize("size", [0.1, 1.0, 5.0])
def test_a_limit_for_every_pair_by_trees_and_by_a_linear_programme(states, size):
    rng = np.random.default_rng(7)
    for rows in matrices(states):
        places = rng.exponential(size, states)
        leaked = np.abs(np.subtract.outer(places, places)) + 0.1 * (np.eye(states) == 0)
        by_trees = step.Cone(rows, rows)(leaked)
        by_programme = directional.carried(rows, leaked)
        apart = ~np.eye(states, dtype=bool)  # a solver's flows prove a little more than the truth
        np.testing.assert_allclose(by_trees[apart], by_programme[apart], rtol=1e-10, atol=1e-10)
        assert np.all(by_trees[apart] <= by_programme[apart] + 1e-13 * (1 + leaked.max()))


@pytest.mark.parametrize("states", [2, 3, 5])
def test_a_chain_run_backwards(states):
    rng = np.random.default_rng(states)
    for _ in range(5):
        transition, initial = rng.dirichlet(np.ones(states), states), rng.dirichlet(np.ones(states))
        chain = MarkovChain(initial, transition, 40)
        boxes, possible = known_reversal.reversals(chain)
        assert possible.all()
        back = reversed_chain(transition, initial, 40)
        for box, rows in zip(boxes, back, strict=True):
            np.testing.assert_allclose(box.low, rows, rtol=1e-9)
            assert np.all(box.high >= rows * (1 - 1e-14))


@pytest.mark.parametrize("states", [2, 3, 5])
def test_marginal_laws_along_a_chain(states):
    rng = np.random.default_rng(states)
    for _ in range(5):
        transition, initial = rng.dirichlet(np.ones(states), states), rng.dirichlet(np.ones(states))
        chain = MarkovChain(initial, transition, 60)
        found = log_shares(chain)
        laws = [chain.initial]
        for _ in range(59):
            laws.append(laws[-1] @ chain.transition)
        np.testing.assert_allclose(np.exp(found), laws, rtol=1e-12)
        with np.errstate(divide="ignore"):
            other = quilts._log_laws(np.log(chain.initial), np.log(chain.transition), 60)
        np.testing.assert_allclose(found, other, rtol=1e-12)
        every = [np.ones(states, dtype=bool)] * 60
        np.testing.assert_allclose(found[31], chain._log_shares(31, every), rtol=1e-12)
