"""The best of several runs, as a mechanism: how it is written, refused, sampled and composed."""

import pytest

import tellapart as ta

BASE = ta.Gaussian(sigma=4)


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        (10, "best_of(10)"),
        (ta.geometric(mean=10), "best_of(geometric(mean=10.0))"),
        (ta.poisson(mean=3), "best_of(poisson(mean=3.0))"),
        (
            ta.negative_binomial(shape=0.5, mean=10),
            "best_of(negative_binomial(shape=0.5, mean=10.0))",
        ),
    ],
)
def test_it_is_shown_as_it_is_typed(trials, words):
    tuned = BASE.best_of(trials)
    assert repr(tuned) == f"Gaussian(sigma=4.0).{words}"
    assert tuned == BASE.best_of(trials) != BASE.best_of(2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: BASE.best_of(2.5),
            "trials must be a number of runs, or a law of it: ta.geometric(mean=10), "
            "ta.poisson(mean=10) or ta.negative_binomial(shape=0.5, mean=10), got 2.5",
        ),
        (lambda: BASE.best_of(0), "trials must be at least 1, got 0"),
        (
            lambda: ta.geometric(mean=0.5),
            "mean must be at least 1, as there is at least one run, and at most 1e9, got 0.5",
        ),
        (lambda: ta.poisson(mean=0), "mean must be finite and greater than 0, got 0"),
        (
            lambda: ta.negative_binomial(shape=-1, mean=2),
            "shape must lie between -0.9 and 1e6 (beyond, take poisson), got -1.0",
        ),
    ],
)
def test_what_is_no_number_of_runs_is_refused(build, message):
    with pytest.raises(ta.InvalidArgument) as caught:
        build()
    assert str(caught.value) == message


def test_it_is_a_guarantee_that_composes_samples_and_groups():
    tuned = BASE.best_of(ta.geometric(mean=4))
    assert tuned.curve().bound is ta.Bound.LOWER
    assert tuned.curve().order is None
    alone = tuned.epsilon(delta=1e-5)
    assert BASE.epsilon(delta=1e-5) < alone < tuned.repeated(2).epsilon(delta=1e-5) < 2 * alone
    assert tuned.sampled(0.1).epsilon(delta=1e-5) < alone
    assert tuned.for_group(2) == ta.Gaussian(sigma=4, sensitivity=2).best_of(ta.geometric(mean=4))
    with pytest.raises(ta.Unsupported):
        ta.CustomMechanism(ta.attack(points=[(0.1, 0.2)])).best_of(2).curve()


def test_runs_that_cannot_be_composed_have_a_best_one():
    planar = ta.PlanarLaplace(epsilon=1, distance=0.5)
    assert planar.curve().delta(0.0) < planar.best_of(3).curve().delta(0.0) < 1


@pytest.mark.parametrize("trials", [ta.geometric(mean=10), ta.poisson(mean=10), 10], ids=repr)
def test_nothing_leaks_from_the_best_of_nothing(trials):
    silent = ta.CustomMechanism.from_pmfs([0.5, 0.5], [0.5, 0.5])
    assert silent.best_of(trials).advantage() <= 1e-11
