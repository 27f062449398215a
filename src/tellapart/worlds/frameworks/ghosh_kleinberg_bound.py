"""From DP to correlated records: the bound of Ghosh and Kleinberg (2016)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg

from tellapart import _checks
from tellapart._checks import Array
from tellapart.errors import Unsupported
from tellapart.worlds.frameworks.databases import tabled
from tellapart.worlds.frameworks.result import FrameworkResult, Side
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.given_neighbours import given_neighbours
from tellapart.worlds.models.base import FiniteModel, logs_of
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.secret_test import Model


def ghosh_kleinberg(model: Model, epsilon: float) -> FrameworkResult:
    """What any ε-DP release may tell of a record at most, where others are correlated with it.

    It is 2ε·max_i Σ_j ((I−Γ)⁻¹)_ij, Γ_ij being half the logarithm of how much another value of
    record j can change the probability of a value of record i, all others given. Infinite where Γ
    has a spectral norm of 1 or more, or some database is impossible: then it says nothing.

    >>> from tellapart.worlds import MarkovChain
    >>> chain = MarkovChain.stationary([[0.55, 0.45], [0.45, 0.55]], 3)
    >>> round(ghosh_kleinberg(chain, 1).epsilon, 6)
    2.496621
    """
    epsilon = _checks.at_least_zero(epsilon=epsilon)
    if not isinstance(model, FiniteModel):
        raise Unsupported("the bound is worked out for records with finite domains only")
    reach, reason = _reach(model)
    terms = "the release is ε-DP, the prior is the model, no record is known"
    return FrameworkResult(
        framework="inferential privacy (transfer)",
        epsilon=2 * epsilon * reach if epsilon > 0 else 0.0,
        side=Side.AT_MOST,
        witness=None,
        assumptions=f"{terms}; {reason}" if reason else terms,
        composes=False,
    )


def _reach(model: FiniteModel) -> tuple[float, str]:
    """The largest row sum of (I−Γ)⁻¹, or infinity and why."""
    if isinstance(model, Independent):
        return 1.0, ""
    chained = isinstance(model, MarkovChain)
    if isinstance(model, MarkovChain):
        influence = _along_chain(model)
    else:
        route = "Independent records and a MarkovChain need no list"
        influence = _influence(tabled(model, route).probabilities)
    if influence is None:
        return math.inf, "no bound, as some database is impossible"
    norm, sums = _banded(influence) if chained else _dense(influence)
    if not norm < 1:
        return math.inf, f"no bound, as influences have the norm {norm:.4g}, not below 1"
    return float(sums.max()), ""


def _dense(influence: Array) -> tuple[float, Array]:
    """The spectral norm of Γ and, where that is below 1, the row sums of (I−Γ)⁻¹."""
    norm = float(np.linalg.norm(influence, 2))
    ones = np.ones(influence.shape[0])
    if not norm < 1:
        return norm, ones
    return norm, np.asarray(np.linalg.solve(np.eye(ones.size) - influence, ones))


def _banded(bands: Array) -> tuple[float, Array]:
    """The same for a tridiagonal Γ; its norm at most, by the sums of its rows and columns."""
    above, below = bands
    columns = above + below
    rows = np.append(above[1:], 0.0) + np.append(0.0, below[:-1])
    norm = math.sqrt(float(columns.max()) * float(rows.max()))
    ones = np.ones(above.size)
    if not norm < 1:
        return norm, ones
    solve: Any = linalg.solve_banded
    return norm, np.asarray(solve((1, 1), np.array([-above, ones, -below]), ones))


def _influence(joint: Array) -> Array | None:
    """Γ of a table of all databases; None where some database of possible values is impossible."""
    axes = range(joint.ndim)
    for axis in axes:
        shares = joint.sum(axis=tuple(i for i in axes if i != axis))
        joint = joint.compress(shares > 0, axis=axis)
    if not joint.all():
        return None
    influence = np.zeros((joint.ndim, joint.ndim))
    for own in axes:
        logs = np.log(joint) - np.log(joint.sum(axis=own, keepdims=True))
        for other in axes:
            if other != own:
                influence[own, other] = _spread(logs, other)
    return influence


def _along_chain(model: MarkovChain) -> Array | None:
    """Γ next to its diagonal: above it and below it, each in the place of its column."""
    if not model.transition.all():
        return None
    length, start = model.length, model.initial > 0
    if length == 1:
        return np.zeros((2, 1))
    first, inner, last = given_neighbours(model)
    to_left, to_right = (_spread(logs_of(inner), axis) for axis in (0, 1))
    above = np.full(length, to_right)
    above[0], above[1] = 0.0, _spread(logs_of(first[:, start]), 0)
    below = np.full(length, to_left)
    below[-1], below[-2] = 0.0, _spread(logs_of(last), 0)
    return np.array([above, below])


def _spread(logs: Array, axis: int) -> float:
    return float(np.ptp(logs, axis=axis).max()) / 2
