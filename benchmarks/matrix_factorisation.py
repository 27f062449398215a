"""Sensitivities and ε of matrix factorisation beside jax-privacy 2.0.0's own functions.

`python benchmarks/matrix_factorisation.py [--store]`: with --store what jax-privacy says goes to
tests/oracles/matrix_factorisation.json, from which the tests read it, and this script where
jax-privacy is not installed.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _peers import installed
from _timing import versions

import tellapart as ta

STORED = Path(__file__).parents[1] / "tests" / "oracles" / "matrix_factorisation.json"
# What is asked: a quantity, and its inputs.
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("banded", {"coefficients": [1.0, 0.5, 0.25], "n": 12, "b": 3, "k": 4}),
    ("banded", {"coefficients": [1.0, 0.5, 0.25], "n": 50, "b": 7, "k": 3}),
    ("banded", {"coefficients": [0.3, -1.0, 0.4], "n": 40, "b": 5, "k": None}),
    ("toeplitz", {"coefficients": [1.0, 0.5, 0.25], "n": 12, "b": 2, "k": 4}),
    ("toeplitz", {"coefficients": [1.0, 0.9, 0.8, 0.1], "n": 1_000, "b": 3, "k": 40}),
    ("square root", {"n": 64, "b": 16, "k": 4}),
    ("square root", {"n": 2_000, "b": 100, "k": None}),
    ("blt", {"decays": [0.98, 0.7, 0.2], "scales": [0.1, 0.2, 0.1], "n": 400, "b": 50, "k": 6}),
    ("blt", {"decays": [0.9], "scales": [0.5], "n": 100, "b": 1, "k": None}),
    ("any", {"seed": 0, "n": 24, "b": 4, "k": 3}),
    ("any", {"seed": 1, "n": 30, "b": 1, "k": 5}),
    ("fixed epochs", {"seed": 0, "n": 24, "epochs": 3}),
    ("fixed epochs", {"seed": 2, "n": 30, "epochs": 5}),
    ("optimised", {"n": 100, "bands": 2}),
    ("optimised", {"n": 1_000, "bands": 8}),
    ("optimised", {"n": 500, "bands": 32}),
    ("cyclic Poisson", {"sigma": 1.0, "n": 1_000, "bands": 8, "rate": 0.08}),
    ("cyclic Poisson", {"sigma": 0.8, "n": 500, "bands": 3, "rate": 0.02}),
]
DELTA = 1e-5


def explicit(seed: int, n: int) -> np.ndarray:
    """A lower-triangular matrix without a pattern."""
    return np.tril(np.random.default_rng(seed).normal(size=(n, n)))


def square_root(n: int) -> np.ndarray:
    """Coefficients of (1 − x)^(−1/2), the strategy of least largest error."""
    k = np.arange(1, n)
    return np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])


def error(coefficients: Any, n: int) -> float:
    """Mean squared error of running sums for columns of norm 1, by the matrices themselves."""
    strategy = ta.Strategy.banded(n, coefficients=coefficients)
    noise = np.linalg.solve(strategy.matrix().T, np.tri(n).T).T
    return float(np.sum(noise**2) / n * strategy.column_norms()[0] ** 2)


def ours(quantity: str, given: dict[str, Any]) -> float:
    """What tellapart says."""
    n = given["n"]
    if quantity == "cyclic Poisson":
        strategy = ta.Strategy.banded(n, given["bands"])
        training = ta.cyclic_poisson(strategy, given["sigma"], sampling_rate=given["rate"])
        return training.curve().epsilon(delta=DELTA)
    if quantity == "optimised":
        return error(ta.Strategy.banded(n, given["bands"]).coefficients, n)
    if quantity == "fixed epochs":
        each = n // given["epochs"]
        rounds = [list(range(start, n, each)) for start in range(each)]
        return ta.matrix_mechanism(explicit(given["seed"], n), 1.0, rounds).sensitivity
    strategies: dict[str, Callable[[], Any]] = {
        "banded": lambda: ta.Strategy.banded(n, coefficients=given["coefficients"]),
        "toeplitz": lambda: ta.Strategy.banded(n, coefficients=given["coefficients"]),
        "square root": lambda: ta.Strategy.banded(n, coefficients=square_root(n)),
        "blt": lambda: ta.Strategy.blt(n, given["decays"], given["scales"]),
        "any": lambda: explicit(given["seed"], n),
    }
    return ta.matrix_mechanism(
        strategies[quantity](), 1.0, min_separation=given["b"], max_participations=given["k"]
    ).sensitivity


def theirs(quantity: str, given: dict[str, Any]) -> float:
    """What jax-privacy says."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    from dp_accounting.pld import PLDAccountant
    from jax_privacy.experimental import accounting
    from jax_privacy.matrix_factorization import buffered_toeplitz, sensitivity, toeplitz

    n = given["n"]
    if quantity == "cyclic Poisson":
        event = accounting.amplified_bandmf_event(
            given["sigma"], n, num_bands=given["bands"], sampling_prob=given["rate"]
        )
        accountant = PLDAccountant(value_discretization_interval=1e-5)
        return float(accountant.compose(event).get_epsilon(DELTA))
    if quantity == "optimised":
        return float(toeplitz.loss(toeplitz.optimize_banded_toeplitz(n, given["bands"]), n))
    if quantity == "fixed epochs":
        matrix = jnp.array(explicit(given["seed"], n))
        return float(sensitivity.fixed_epoch_sensitivity(matrix, given["epochs"]))
    b, k = given["b"], given["k"]
    if quantity == "banded":
        matrix = toeplitz.materialize_lower_triangular(jnp.array(given["coefficients"]), n)
        return float(sensitivity.get_sensitivity_banded(matrix, b, k))
    if quantity == "any":
        matrix = jnp.array(explicit(given["seed"], n))
        return float(sensitivity.get_min_sep_sensitivity_upper_bound(matrix, b, k))
    if quantity == "blt":
        blt = buffered_toeplitz.BufferedToeplitz.build(given["decays"], given["scales"])
        coefficients = blt.toeplitz_coefs(n)
    elif quantity == "square root":
        coefficients = toeplitz.optimal_max_error_strategy_coefs(n)
    else:
        coefficients = jnp.array(given["coefficients"])
    return math.sqrt(toeplitz.minsep_sensitivity_squared(coefficients, b, k, n))


def main() -> int:
    """A row for each question, and at last whether any of ours is the worse."""
    asked = installed("jax-privacy")
    kept = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else []
    print(versions("tellapart", "jax-privacy") if asked else f"{versions('tellapart')}, as stored")
    print(f"{'':15} {'tellapart':>12} {'jax-privacy':>12}")
    records, worse = [], 0
    for quantity, given in ASKED:
        known = (each["jax_privacy"] for each in kept if each["inputs"] == given)
        peer = theirs(quantity, given) if asked else next(known)
        mine = ours(quantity, given)
        close = mine <= peer * (1 + 1e-6)
        worse += not close
        shown = ", ".join(f"{key}={value}" for key, value in given.items())
        print(f"{quantity:15} {mine:12.8f} {peer:12.8f}{'' if close else ' larger'}  {shown}")
        records.append({"quantity": quantity, "inputs": given, "jax_privacy": peer})
    if asked and "--store" in sys.argv:
        STORED.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    print(f"Target: nowhere larger than jax-privacy's: {'missed' if worse else 'met'}.")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
