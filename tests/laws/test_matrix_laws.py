"""Laws of matrix factorisation and of the last iterate, against all that a record can do."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart.mechanisms.matrix_factorisation.strategies import Strategy, strategy_of

FEW = settings(max_examples=40, deadline=None)
ORDERS = [ta.Order.PRESENT, ta.Order.ABSENT]
numbers = st.floats(-1, 1).map(lambda x: round(x, 2))


@st.composite
def strategies(draw, positive=False):
    """A strategy of each kind, of a few steps."""
    steps = draw(st.integers(2, 9))
    kind = draw(st.sampled_from(["identity", "tree", "banded", "blt", "bisr", "any", "best"]))
    low = 0 if positive else -1
    if kind == "banded":
        tail = draw(st.lists(st.floats(low, 1), max_size=steps - 1))
        return Strategy.banded(steps, coefficients=[1.0, *tail])
    if kind == "blt":
        pairs = draw(st.lists(st.tuples(st.floats(low, 1), st.floats(low, 1)), min_size=1))
        return Strategy.blt(steps, *zip(*pairs, strict=True))
    if kind == "bisr":
        return Strategy.bisr(steps, draw(st.integers(1, steps)))
    if kind == "best":
        return Strategy.banded(steps, bands=draw(st.integers(1, min(steps, 3))))
    if kind == "any":
        seed = draw(st.integers(0, 1000))
        return strategy_of(np.random.default_rng(seed).uniform(low, 1, size=(steps + 1, steps)))
    return getattr(Strategy, kind)(steps)


def _sets(steps, apart, times):
    for size in range(1, times + 1):
        for chosen in itertools.combinations(range(steps), size):
            if all(later - sooner >= apart for sooner, later in itertools.pairwise(chosen)):
                yield list(chosen)


def _brute(matrix, apart, times):
    """The largest Σ |CᵀC| over all sets, and what gradients ±1 reach."""
    gram = matrix.T @ matrix
    most = least = 0.0
    for chosen in _sets(len(gram), apart, times):
        part = gram[np.ix_(chosen, chosen)]
        most = max(most, np.abs(part).sum())
        for signs in itertools.product([1, -1], repeat=len(chosen) - 1):
            move = np.array([1, *signs])
            least = max(least, move @ part @ move)
    return math.sqrt(least), math.sqrt(most)


@FEW
@given(strategies(), st.integers(1, 5), st.integers(1, 4))
def test_a_sensitivity_is_that_of_all_ways_to_take_part(strategy, apart, times):
    matrix = strategy.matrix()
    reached, bound = _brute(matrix, apart, times)
    found = strategy.sensitivity(apart, times)
    slack = 1e-9 * (1 + bound)
    assert reached - slack <= found.most <= bound + slack
    assert found.least <= reached + slack
    if found.exact:
        assert found.most == pytest.approx(reached, rel=1e-9, abs=1e-12)
    listed = strategy.sensitivity_of(_sets(strategy.steps, apart, times))
    assert listed.most == pytest.approx(bound, rel=1e-9, abs=1e-12)


@FEW
@given(strategies(positive=True), st.integers(1, 5), st.integers(1, 4))
def test_matrices_without_negative_entries_are_exact(strategy, apart, times):
    found = strategy.sensitivity(apart, times)
    assert found.exact
    assert strategy.sensitivity(apart + 1, times).most <= found.most * (1 + 1e-12)
    assert strategy.sensitivity(apart, times + 1).most >= found.most * (1 - 1e-12)


@FEW
@given(strategies(), st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4))
def test_gradients_in_any_direction_move_no_further(strategy, seed, apart, times):
    rng = np.random.default_rng(seed)
    gradients = rng.normal(size=(strategy.steps, 3))
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    most = strategy.sensitivity(apart, times).most
    for chosen in _sets(strategy.steps, apart, times):
        moved = strategy.matrix()[:, chosen] @ gradients[chosen]
        assert np.linalg.norm(moved) <= most * (1 + 1e-9)


@FEW
@given(strategies())
def test_a_strategy_is_its_matrix(strategy):
    matrix, places = strategy.matrix(), np.arange(strategy.steps)
    np.testing.assert_allclose(strategy.gram(places), matrix.T @ matrix, atol=1e-12)
    some = places[::2]
    np.testing.assert_allclose(strategy.gram(some), matrix[:, some].T @ matrix[:, some], atol=1e-12)
    np.testing.assert_allclose(strategy.column_norms(), np.linalg.norm(matrix, axis=0), atol=1e-12)
    np.testing.assert_allclose(
        strategy.modes([some, places])[:, 0], np.abs(matrix)[:, some].sum(axis=1), atol=1e-12
    )
    far = [
        (i, j)
        for i, j in itertools.combinations(places, 2)
        if j - i >= strategy.bands and np.any(matrix[:, i] * matrix[:, j])
    ]
    assert far == []


def test_a_bound_for_many_steps_is_no_less_than_for_few():
    """Beyond what is listed, the programme over rows and the formula for falling coefficients."""
    for coefficients in ([0.2, 1.0, 0.3], [1.0, -0.6, 0.3]):
        few = Strategy.banded(14, coefficients=coefficients)
        _, bound = _brute(few.matrix(), 2, 4)
        many = Strategy.banded(5_000, coefficients=coefficients).sensitivity(2, 4)
        assert bound * (1 - 1e-9) <= many.most <= bound * 1.1
        middle = Strategy.banded(400, coefficients=coefficients).sensitivity(2, 4)
        assert middle.least <= middle.most
        assert bound * (1 - 1e-9) <= middle.most <= many.most


# -- trainings on samples ----------------------------------------------------------------------

GRID = np.linspace(-9, 9, 241)


def _mixture(means, weights):
    """Σ wᵢ·N(mᵢ, I) on a grid of the plane, for means given by their coordinates there."""
    bells = np.exp(-((GRID - np.asarray(means)[:, :, None]) ** 2) / 2) / math.sqrt(2 * math.pi)
    return np.einsum("i,ix,iy->xy", weights, bells[:, 0], bells[:, 1])


def _in_the_plane(moves, sigma):
    """Coordinates of two kinds of moves, and their sums, in a plane that holds them all."""
    basis, _ = np.linalg.qr(np.asarray(moves[:2]).T)
    return np.asarray(moves) @ basis / sigma


def _leaked(present, absent, epsilon, order):
    one, other = (present, absent) if order is ta.Order.PRESENT else (absent, present)
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum() * (GRID[1] - GRID[0]) ** 2)


@settings(max_examples=25, deadline=None)
@given(
    second=numbers,
    sigma=st.floats(0.6, 3),
    rate=st.floats(0.05, 0.95),
    epsilon=st.floats(0, 2),
    order=st.sampled_from(ORDERS),
)
def test_cyclic_poisson_samples_are_all_ways_to_be_drawn(second, sigma, rate, epsilon, order):
    """Two bands, four steps: a record of the first group may be in steps 0 and 2."""
    strategy = Strategy.banded(4, coefficients=[1.0, second])
    matrix = strategy.matrix()
    moves = [matrix[:, 0], matrix[:, 2], matrix[:, 0] + matrix[:, 2], 0 * matrix[:, 0]]
    weights = [rate * (1 - rate), rate * (1 - rate), rate**2, (1 - rate) ** 2]
    present = _mixture(_in_the_plane(moves, sigma), weights)
    absent = _mixture([[0, 0]], [1.0])
    training = ta.cyclic_poisson(strategy, sigma, rate, cycle=2)
    curve = training.curve(order)
    assert curve.bound is ta.Bound.EXACT
    assert curve.delta(epsilon) == pytest.approx(_leaked(present, absent, epsilon, order), abs=2e-4)


@settings(max_examples=12, deadline=None)
@given(
    strategy=strategies(positive=True).filter(lambda each: each.steps >= 3),
    sigma=st.floats(1.5, 5),
    epsilon=st.floats(0, 1),
    order=st.sampled_from(ORDERS),
)
def test_two_bins_lie_between_the_sides(strategy, sigma, epsilon, order):
    matrix = strategy.matrix()
    moves = [matrix[:, ::2].sum(axis=1), matrix[:, 1::2].sum(axis=1)]
    sigma *= max(map(np.linalg.norm, moves)) / 3
    present = _mixture(_in_the_plane(moves, sigma), [0.5, 0.5])
    truth = _leaked(present, _mixture([[0, 0]], [1.0]), epsilon, order)
    training = ta.balls_in_bins(strategy, sigma, bins=2)
    lower, upper = training.bracket(1e-3, gap=3e-2, order=order)
    assert upper.delta(epsilon) - 1e-4 <= truth <= lower.delta(epsilon) + 1e-4
    assert truth <= training.curve(order).delta(epsilon) + 1e-4


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 1), st.sampled_from(ORDERS))
def test_no_gradients_beat_the_guarantee_of_bins(seed, epsilon, order):
    """Directions and signs of any kind, for a matrix with negative entries."""
    rng = np.random.default_rng(seed)
    matrix = np.tril(rng.uniform(-1, 1, size=(4, 4)))
    gradients = rng.normal(size=(4, 2))
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    moves = [(matrix[:, start::2] @ gradients[start::2]).ravel() for start in (0, 1)]
    present = _mixture(_in_the_plane(moves, 1.5), [0.5, 0.5])
    truth = _leaked(present, _mixture([[0, 0]], [1.0]), epsilon, order)
    training = ta.balls_in_bins(matrix, 1.5, bins=2)
    assert truth <= training.curve(order).delta(epsilon) + 1e-4


@pytest.mark.parametrize(
    ("strategy", "bins", "sigma"),
    [
        (Strategy.banded(12, coefficients=[1, 0.6, 0.3]), 4, 2.0),
        (Strategy.banded(60, coefficients=[1, 0.6, 0.3]), 20, 2.0),
        (Strategy.bisr(40, 4), 8, 4.0),
        (Strategy.tree(24), 6, 6.0),
    ],
)
def test_bins_lie_between_the_sides_by_monte_carlo(strategy, bins, sigma):
    """Outputs of both worlds, drawn from the matrix itself."""
    rng, draws = np.random.default_rng(7), 40_000
    rounds = np.arange(strategy.steps) % bins == np.arange(bins)[:, None]
    modes = rounds @ strategy.matrix().T / sigma
    training = ta.balls_in_bins(strategy, sigma, bins)
    noise = rng.normal(size=(draws, modes.shape[1]))
    for order in ORDERS:
        present = order is ta.Order.PRESENT
        seen = noise + modes[rng.integers(bins, size=draws)] if present else noise
        ratios = np.mean(np.exp(seen @ modes.T - (modes**2).sum(axis=1) / 2), axis=1)
        losses = np.log(ratios) if present else -np.log(ratios)
        lower, upper = training.bracket(1e-3, 1e-2, order)
        for epsilon in (0.0, upper.epsilon(1e-2)):
            leaks = np.maximum(-np.expm1(epsilon - losses), 0)
            error = 4 * leaks.std() / math.sqrt(draws)
            assert upper.delta(epsilon) - error <= leaks.mean() <= lower.delta(epsilon) + error


def test_samples_never_leak_more_than_the_whole_training():
    strategy = Strategy.banded(60, coefficients=[1, 0.6, 0.3])
    whole = ta.matrix_mechanism(strategy, 3.0, min_separation=12)
    for training in (
        ta.cyclic_poisson(strategy, 3.0, 0.3, cycle=12),
        ta.balls_in_bins(strategy, 3.0, bins=12),
    ):
        assert training.epsilon(1e-5) <= whole.epsilon(1e-5)
    assert ta.cyclic_poisson(strategy, 3.0, 1.0, cycle=12).epsilon(1e-5) == pytest.approx(
        whole.epsilon(1e-5), rel=1e-12
    )
    # Without bands and with one group it is DP-SGD; with one bin nothing is hidden.
    alone = Strategy.identity(50)
    assert ta.cyclic_poisson(alone, 2.0, 0.1).curve() == ta.dp_sgd(2.0, 0.1, 50).curve()
    assert ta.balls_in_bins(alone, 9.0, 1).epsilon(1e-5) == pytest.approx(
        ta.Gaussian(9.0).repeated(50).epsilon(1e-5), rel=1e-12
    )


# -- the last iterate --------------------------------------------------------------------------


def _descent(steps, step_size, convexity, smoothness, sensitivity, size, sigma):
    return ta.LastIterate(
        sigma,
        steps,
        step_size=step_size,
        strong_convexity=convexity,
        smoothness=smoothness,
        gradient_sensitivity=sensitivity,
        batch_size=size,
        data_size=size,
    )


@FEW
@given(
    steps=st.integers(1, 60),
    eigenvalues=st.lists(st.floats(0.5, 4), min_size=3, max_size=3),
    step_size=st.floats(0.01, 0.49),
    seed=st.integers(0, 10**6),
)
def test_quadratic_losses_leak_no_more_and_some_as_much(steps, eigenvalues, step_size, seed):
    """The law of the last iterate is Gaussian, its mean and covariance by the recursion itself."""
    rng = np.random.default_rng(seed)
    change = rng.normal(size=3)
    change *= 2.0 / np.linalg.norm(change)
    size, sigma = 10, 0.3

    def mu(hessian):
        moved, spread = np.zeros(3), np.zeros((3, 3))
        shrink = np.eye(3) - step_size * hessian
        for _ in range(steps):
            moved = shrink @ moved - step_size * change / size
            spread = shrink @ spread @ shrink.T + (step_size * sigma) ** 2 * np.eye(3)
        return math.sqrt(moved @ np.linalg.solve(spread, moved))

    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    training = _descent(steps, step_size, 0.5, 4.0, 2.0, size, sigma)
    assert mu(turn @ np.diag(eigenvalues) @ turn.T) <= training.mu * (1 + 1e-9)
    if training.curve().bound is ta.Bound.EXACT:
        assert mu(0.5 * np.eye(3)) == pytest.approx(training.mu, rel=1e-9)


@settings(max_examples=15, deadline=None)
@given(
    steps=st.integers(1, 12),
    step_size=st.floats(0.1, 0.5),
    turns=st.floats(-1.8, 1.8),
    epsilon=st.floats(0, 2),
)
def test_curved_losses_leak_no_more(steps, step_size, turns, epsilon):
    """Laws on a line, step by step: losses between x²/2 and 3x²/2, gradients 1 apart."""
    x = np.linspace(-4, 4, 901)
    width, sigma = x[1] - x[0], 0.8

    def law(sign):
        density = np.zeros_like(x)
        gradient = x + 2 * np.tanh(x) + sign * 0.5 * np.cos(turns * x)
        forward = x - step_size * gradient
        kernel = np.exp(-0.5 * ((x[:, None] - forward) / (step_size * sigma)) ** 2)
        kernel /= kernel.sum(axis=0)
        density[len(x) // 2] = 1.0
        for _ in range(steps):
            density = kernel @ density
        return density

    assert 2 * width < step_size * sigma  # the grid sees the noise
    slack = 0.5 * abs(turns)  # by how much the second derivatives of the change may bend
    training = _descent(steps, step_size, 1 - slack, 3 + slack, 1.0, 1, sigma)
    one, other = law(1), law(-1)
    leaked = np.maximum(one - math.exp(epsilon) * other, 0).sum()
    assert leaked <= training.curve().delta(epsilon) + 1e-4


@FEW
@given(st.integers(1, 10**6), st.floats(1e-12, 0.5))
def test_without_contraction_it_is_composition_and_steps_never_leak_less(steps, gap):
    training = _descent(steps, gap, 1.0, 2.0, 0.1, 1, 1.0)
    assert training.mu <= 0.1 * math.sqrt(steps) * (1 + 1e-12)
    assert training.mu >= _descent(max(steps - 1, 1), gap, 1.0, 2.0, 0.1, 1, 1.0).mu * (1 - 1e-12)
    flat = _descent(steps, 1e-13 / steps, 1.0, 2.0, 0.1, 1, 1.0)
    assert flat.mu == pytest.approx(0.1 * math.sqrt(steps), rel=1e-9)
    assert _descent(1, gap, 1.0, 2.0, 0.1, 1, 1.0).mu == pytest.approx(0.1, rel=1e-12)
