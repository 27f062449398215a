"""Matrix factorisation and the last iterate against stored values, jax-privacy's among them.

`benchmarks/matrix_factorisation.py --store` asked jax-privacy 2.0.0.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta

HERE = Path(__file__).parent


def _read(name):
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


FIELD = {record["id"]: record for record in _read("field")}
LOADERS = {record["id"]: record for record in _read("loaders")}
STORED = _read("matrix_factorisation")


def _explicit(asked):
    n = asked["n"]
    return np.tril(np.random.default_rng(asked["seed"]).normal(size=(n, n)))


def _strategy(quantity, asked):
    n = asked["n"]
    if quantity == "square root":
        k = np.arange(1, n)
        root = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])
        return ta.Strategy.banded(n, coefficients=root)
    if quantity == "blt":
        return ta.Strategy.blt(n, asked["decays"], asked["scales"])
    if quantity == "any":
        return _explicit(asked)
    return ta.Strategy.banded(n, coefficients=asked["coefficients"])


def _records(*quantities):
    chosen = [record for record in STORED if record["quantity"] in quantities]
    return pytest.mark.parametrize("record", chosen, ids=lambda record: str(record["inputs"]))


@_records("banded", "toeplitz", "square root", "blt")
def test_sensitivities_that_have_a_formula(record):
    asked = record["inputs"]
    training = ta.matrix_mechanism(
        _strategy(record["quantity"], asked),
        sigma=3.0,
        min_separation=asked["b"],
        max_participations=asked["k"],
    )
    assert training.sensitivity == pytest.approx(record["jax_privacy"], rel=1e-12)
    assert training.curve() == ta.Gaussian(3.0, training.sensitivity).curve()
    assert training.curve().bound is ta.Bound.EXACT


@_records("any")
def test_a_bound_is_no_larger_than_theirs(record):
    asked = record["inputs"]
    training = ta.matrix_mechanism(
        _explicit(asked), 3.0, min_separation=asked["b"], max_participations=asked["k"]
    )
    assert training.sensitivity <= record["jax_privacy"] * (1 + 1e-12)
    assert training.least <= training.sensitivity


@_records("fixed epochs")
def test_fixed_epochs(record):
    asked = record["inputs"]
    each = asked["n"] // asked["epochs"]
    rounds = [list(range(start, asked["n"], each)) for start in range(each)]
    training = ta.matrix_mechanism(_explicit(asked), 1.0, rounds)
    assert training.sensitivity == pytest.approx(record["jax_privacy"], rel=1e-12)


@_records("optimised")
def test_optimised_bands_have_the_error_that_theirs_have(record):
    """Mean squared error of running sums times the squared sensitivity, by the matrices."""
    asked = record["inputs"]
    strategy = ta.Strategy.banded(asked["n"], asked["bands"])
    noise = np.linalg.solve(strategy.matrix().T, np.tri(asked["n"]).T).T
    error = np.sum(noise**2) / asked["n"]
    assert strategy.column_norms()[0] == pytest.approx(1, rel=1e-12)
    assert error <= record["jax_privacy"] * (1 + 1e-9)
    assert error == pytest.approx(record["jax_privacy"], rel=1e-6)


@_records("cyclic Poisson")
def test_cyclic_poisson_samples(record):
    """Theirs takes the last, cut round as a whole one."""
    asked = record["inputs"]
    strategy = ta.Strategy.banded(asked["n"], asked["bands"])
    training = ta.cyclic_poisson(strategy, asked["sigma"], sampling_rate=asked["rate"])
    assert training.epsilon(1e-5) <= record["jax_privacy"] * (1 + 1e-7)
    assert training.epsilon(1e-5) == pytest.approx(record["jax_privacy"], rel=2e-3)


def test_bands_on_cyclic_poisson_samples():
    record = FIELD["band"]
    asked = record["inputs"]
    strategy = ta.Strategy.banded(asked["iterations"], asked["bands"])
    training = ta.cyclic_poisson(strategy, asked["sigma"], sampling_rate=asked["group_rate"])
    assert training.curve().bound is ta.Bound.EXACT
    assert abs(training.epsilon(asked["delta"]) - record["value"]) <= record["tolerance"]


def test_a_column_normalised_banded_matrix():
    record = LOADERS["mf-colnorm-banded-n12-b3-k4"]
    bands = np.tri(12) - np.tri(12, k=-3)
    matrix = bands * np.random.default_rng(0).uniform(0.1, 1, size=(12, 12))
    matrix /= np.linalg.norm(matrix, axis=0)
    training = ta.matrix_mechanism(matrix, 1.0, min_separation=3, max_participations=4)
    assert abs(training.sensitivity - record["value"]) <= record["tolerance"]
    assert training.closes


# Steps, bins, and ε at δ = 1e-3 of an attack and of the guarantee; σ = 2, coefficients 1, .6, .3.
@pytest.mark.parametrize(
    ("steps", "bins", "least", "most"), [(12, 4, 2.233, 2.612), (60, 20, 0.796, 1.709)]
)
def test_balls_in_bins_of_a_banded_strategy(steps, bins, least, most):
    """Monte Carlo has 2.44 and 1.24."""
    strategy = ta.Strategy.banded(steps, coefficients=[1, 0.6, 0.3])
    training = ta.balls_in_bins(strategy, sigma=2.0, bins=bins)
    lower, upper = training.bracket(1e-3, gap=3e-4)
    assert upper.epsilon(1e-3) == pytest.approx(least, abs=2e-3)
    assert lower.epsilon(1e-3) == pytest.approx(most, abs=2e-3)


def test_the_last_iterate():
    record = FIELD["last"]
    asked = record["inputs"]
    training = ta.LastIterate(
        sigma=1.0,
        steps=asked["steps"],
        step_size=1 - asked["contraction"],
        strong_convexity=1.0,
        smoothness=2.0,
        gradient_sensitivity=100 * asked["scaled_sensitivity"],
        batch_size=100,
        data_size=100,
    )
    assert training.contraction == pytest.approx(asked["contraction"])
    assert abs(training.mu - record["value"]) <= record["tolerance"]
    assert training.curve() == ta.Gaussian(1 / training.mu).curve()
