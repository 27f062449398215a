"""Matrix factorisation and the last iterate: what they are made of, and what they refuse."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.mechanisms.matrix_factorisation.strategies import strategy_of

BANDED = ta.Strategy.banded(20, coefficients=[1.0, 0.5])
CYCLIC = ta.cyclic_poisson(BANDED, 2.0, sampling_rate=0.1)
BINS = ta.balls_in_bins(BANDED, 2.0, bins=5)
DESCENT = {
    "step_size": 0.1,
    "strong_convexity": 1.0,
    "smoothness": 4.0,
    "gradient_sensitivity": 2.0,
    "batch_size": 1_000,
    "data_size": 1_000,
}
LAST = ta.LastIterate(0.01, 100, **DESCENT)
NAMES = {name: getattr(ta, name) for name in ta.__all__}
# Three columns of which each two point away from each other: no signs make all terms positive.
FRUSTRATED = np.linalg.cholesky(1.4 * np.eye(3) - 0.4).T


def test_a_training_whose_sensitivity_is_a_bound_has_two_sides():
    training = ta.matrix_mechanism(FRUSTRATED, 2.0, [[0, 1, 2]])
    assert training.sensitivity == pytest.approx(5.4**0.5)
    assert training.least == pytest.approx(3.8**0.5)
    assert training.curve().bound is ta.Bound.LOWER
    lower, upper = training.bracket(1e-5)
    assert lower.epsilon(1e-5) == training.epsilon(1e-5)
    assert upper.epsilon(1e-5) == pytest.approx(ta.Gaussian(2.0, 3.8**0.5).epsilon(1e-5))
    composed = training.then(ta.Gaussian(3.0)).repeated(2)
    assert composed.curve().bound is ta.Bound.LOWER
    assert composed.bracket(1e-5).upper.epsilon(1e-5) < composed.epsilon(1e-5)
    assert training.for_group(2).least == 2 * training.least


def test_replacing_a_record_moves_twice_as_far():
    once = ta.matrix_mechanism(BANDED, 2.0, min_separation=4)
    replaced = ta.matrix_mechanism(BANDED, 2.0, min_separation=4, neighbours=ta.Neighbours.REPLACE)
    assert replaced.sensitivity == 2 * once.sensitivity
    assert replaced.curve().neighbours is ta.Neighbours.REPLACE
    zeroed = ta.matrix_mechanism(BANDED, 2.0, min_separation=4, neighbours=ta.Neighbours.ZERO_OUT)
    assert zeroed.epsilon(1e-5) == once.epsilon(1e-5)


def test_rounds_of_different_norms_are_bounded_by_the_largest():
    """No group has the largest norms of all: the curve is a guarantee beside an attack."""
    training = ta.cyclic_poisson(np.diag([3.0, 2.0, 1.0, 2.0, 0.1, 2.0]), 4.0, 0.2, cycle=2)
    assert training.curve().bound is ta.Bound.LOWER
    lower, upper = training.bracket(1e-5)
    for norms in ((3.0, 1.0, 0.1), (2.0, 2.0, 2.0)):
        group = ta.compose([ta.Gaussian(4.0, norm).sampled(0.2) for norm in norms])
        assert group.epsilon(1e-5) < lower.epsilon(1e-5)
    assert upper.epsilon(1e-5) == pytest.approx(group.epsilon(1e-5), rel=1e-3)
    assert training.epsilon(1e-5) == pytest.approx(lower.epsilon(1e-5), rel=1e-3)


def test_a_last_round_that_is_cut_moves_less():
    whole = ta.Strategy.banded(6, coefficients=[1.0, 1.0])
    (first, last) = (
        ta.cyclic_poisson(ta.Strategy.banded(steps, coefficients=[1.0, 1.0]), 2.0, 0.1).steps()
        for steps in (6, 5)
    )
    assert first == ((ta.Gaussian(2.0, 2**0.5).sampled(0.1), 3),)
    assert [count for _, count in last] == [2, 1]
    assert [step.base.sensitivity for step, _ in last] == [2**0.5, 1.0]
    assert ta.cyclic_poisson(whole, 2.0, 0.1).steps() == first


@pytest.mark.parametrize("training", [CYCLIC, BINS, LAST], ids=["cyclic", "bins", "last"])
def test_trainings_compose_and_know_their_neighbours(training):
    twice = training.repeated(2)
    assert training.epsilon(1e-5) < twice.epsilon(1e-5)
    assert training.then(training).epsilon(1e-5) == pytest.approx(twice.epsilon(1e-5), rel=1e-6)
    assert training.curve().neighbours is training.neighbours
    assert training.for_group(2).epsilon(1e-5) >= training.epsilon(1e-5)
    typed = eval(repr(training), NAMES.copy())  # noqa: S307
    assert typed == training


@pytest.mark.parametrize(
    ("training", "words"),
    [
        (CYCLIC, "drawn at random already"),
        (BINS.repeated(2), "drawn at random already"),
        (ta.Gaussian(1.0).then(CYCLIC), "drawn at random already"),
        (LAST, "takes the full batch in every step"),
    ],
)
def test_no_training_is_sampled_once_more(training, words):
    with pytest.raises(ta.Unsupported, match=words):
        training.sampled(0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ta.matrix_mechanism(BANDED, 1.0), r"^participations must be given, or min_sep"),
        (lambda: ta.matrix_mechanism(BANDED, 1.0, [[0]], min_separation=2), "got 'both'"),
        (lambda: ta.matrix_mechanism(BANDED, 1.0, [[0, 0]]), "name each round of a record once"),
        (lambda: ta.matrix_mechanism(BANDED, 1.0, [[20]]), "participations must be at most 19"),
        (lambda: ta.matrix_mechanism([1, 2], 1.0, [[0]]), r"or a ta\.Strategy, got \[1, 2\]"),
        (lambda: ta.matrix_mechanism(np.zeros((2, 2)), 1.0, [[0]]), "not be 0 everywhere"),
        (lambda: ta.matrix_mechanism(BANDED, 1.0, min_separation=0), "min_separation must be at "),
        (
            lambda: ta.matrix_mechanism(BANDED, 1.0, min_separation=1, max_participations=0),
            "max_participations must be at least 1",
        ),
        (lambda: ta.matrix_mechanism(BANDED, 0.0, min_separation=1), "sigma must be greater"),
        (lambda: ta.Strategy.banded(4), "bands must be given, or its coefficients instead"),
        (lambda: ta.Strategy.banded(4, bands=5), "bands must be at most 4"),
        (lambda: ta.Strategy.banded(4, coefficients=[0, 0]), "coefficients must not all be 0"),
        (lambda: ta.Strategy.tree(0), "steps must be at least 1"),
        (lambda: ta.Strategy.bisr(4, 0), "bands must be at least 1"),
        (lambda: ta.Strategy.blt(4, [1.5], [1]), "decays must lie between -1 and 1"),
        (lambda: ta.Strategy.blt(4, [0.5], [1, 2]), "scales must be one for each of the 1 decays"),
        (
            lambda: ta.Strategy.tree(3_000).sensitivity(2, 100),
            "strategy must have at most 2048 steps where no formula is known",
        ),
        (
            lambda: ta.cyclic_poisson(ta.Strategy.bisr(50, 4), 1.0, 0.1, cycle=10),
            r"strategy must have at most as many bands as groups .* \(10\), .* got '50 bands'",
        ),
        (lambda: ta.cyclic_poisson(BANDED, 1.0, 1.5), r"sampling_rate must lie in \[0, 1\]"),
        (
            lambda: ta.cyclic_poisson(BANDED, 1.0, 0.1, neighbours=ta.Neighbours.REPLACE),
            "no theorem is known for those that replace one",
        ),
        (lambda: ta.balls_in_bins(BANDED, 1.0, 21), "bins must be at most 20"),
        (
            lambda: ta.balls_in_bins(ta.Strategy.identity(10**6), 1.0, 100),
            "bins must be at most 20, for this many steps",
        ),
    ],
)
def test_what_is_refused_is_named(make, message):
    with pytest.raises(ta.TellapartError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"batch_size": 100},
            r"^batch_size must be the data_size \(1000\), the full batch: .*dp_sgd",
        ),
        ({"strong_convexity": 0.0}, r"^strong_convexity must be greater than 0 for a last iterate"),
        ({"strong_convexity": -1.0}, "strong_convexity must be finite and at least 0"),
        ({"smoothness": 0.5}, r"^smoothness must be at least the strong_convexity \(1\), got 0\.5"),
        ({"step_size": 0.5}, r"^step_size must be less than 2 / smoothness \(0\.5\), .*got 0\.5"),
        ({"step_size": 0.0}, "step_size must be finite and greater than 0"),
        ({"gradient_sensitivity": -1.0}, "gradient_sensitivity must be finite and at least 0"),
        ({"data_size": 0}, "data_size must be at least 1"),
        (
            {"neighbours": ta.Neighbours.ADD_REMOVE},
            r"^neighbours must be Neighbours\.REPLACE for a",
        ),
    ],
)
def test_conditions_of_the_last_iterate_are_refused_by_name(change, message):
    with pytest.raises(ta.InvalidArgument, match=message):
        ta.LastIterate(0.01, 100, **(DESCENT | change))


def test_long_steps_have_a_guarantee_only():
    """Beyond 2/(m + M) the contraction is that of the steepest direction."""
    assert LAST.curve().bound is ta.Bound.EXACT
    far = ta.LastIterate(0.01, 100, **(DESCENT | {"step_size": 0.45}))
    assert far.contraction == pytest.approx(0.8)
    assert far.curve().bound is ta.Bound.LOWER
    newton = ta.LastIterate(
        0.01, 100, **(DESCENT | {"step_size": 1.0, "smoothness": 1.0, "strong_convexity": 1.0})
    )
    assert newton.mu == pytest.approx(2.0 / (1_000 * 0.01))  # only the last step is left
    assert LAST.for_group(3).mu == pytest.approx(3 * LAST.mu)
    still = ta.LastIterate(0.01, 100, **(DESCENT | {"gradient_sensitivity": 0.0}))
    assert still.epsilon(0.0) == 0


def test_a_tree_is_that_of_dp_accounting():
    """As many levels as SingleEpochTreeAggregation counts."""
    for steps in (1, 2, 3, 7, 8, 9, 100):
        tree = ta.Strategy.tree(steps).sensitivity(steps)
        assert tree.most == pytest.approx(steps.bit_length() ** 0.5)


def test_many_steps_are_no_matrix():
    """Formulas serve a million steps."""
    long = ta.Strategy.bisr(1_000_000, 4)
    assert long.sensitivity(10_000, 50).exact
    training = ta.cyclic_poisson(ta.Strategy.banded(1_000_000, coefficients=[1, 0.5]), 5.0, 0.001)
    assert training.steps()[0][1] == 500_000
    again = strategy_of(long)
    assert again is long
