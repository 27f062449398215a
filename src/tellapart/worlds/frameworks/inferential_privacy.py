"""Inferential privacy (Ghosh and Kleinberg 2016): beliefs in a record's values, over many priors.

For one prior it is what Pufferfish asks of all values of all records; for several, the worst. Two
families of priors need no list: all priors under which records are independent, which ask what DP
asks, and those of them whose marginals lie between bounds. There a likelihood ratio is a ratio of
two linear functions of each marginal, so that its extremes are at corners. For one prior, what DP
says of correlated records is bounded by how much each influences the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy import linalg

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import count_in_words, short
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.frameworks.databases import answers_of, tabled
from tellapart.worlds.frameworks.pufferfish_privacy import pufferfish
from tellapart.worlds.frameworks.result import FrameworkResult, Side
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.given_neighbours import given_neighbours
from tellapart.worlds.models.base import FiniteModel, check_values, logs_of
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.models.queries import Linear, Sum, weights_of
from tellapart.worlds.models.secrets import RecordValue, Secret
from tellapart.worlds.pairs.curves import Law, furthest
from tellapart.worlds.releases import Release, check_release
from tellapart.worlds.secret_test import Model, Witness

MOST_CORNERS = 2**16


@dataclass(frozen=True, eq=False)
class ProductPriors:
    """All beliefs under which records have nothing to do with each other.

    ``values`` lists each record's values. ``low`` and ``high`` bound the probability of each of
    them, in lists of the same shape; without them every marginal is allowed.

    >>> ProductPriors([[0, 1], [0, 1]], low=[[0.1, 0.1]] * 2).records
    2
    """

    values: Sequence[Sequence[float]]
    low: Sequence[Sequence[float]] | None = None
    high: Sequence[Sequence[float]] | None = None

    def __post_init__(self) -> None:
        _checks.instance(Sequence, "a list of each record's values", values=self.values)
        if not self.values:
            _checks.refuse("values", "not be empty", self.values)
        values = tuple(
            check_values(len(domain), **{f"values[{i}]": domain})
            for i, domain in enumerate(self.values)
        )
        low = _bounds("low", self.low, values, 0.0)
        high = _bounds("high", self.high, values, 1.0)
        for i, (least, most) in enumerate(zip(low, high, strict=True)):
            if np.any(least > most) or least.sum() > 1 or most.sum() < 1:
                _checks.refuse(f"low[{i}] and high[{i}]", "leave some law", (least, most))
        for name, checked in {"values": values, "low": low, "high": high}.items():
            object.__setattr__(self, name, checked)

    @property
    def records(self) -> int:
        """How many records there are."""
        return len(self.values)

    @property
    def bounded(self) -> bool:
        """Whether some marginal is ruled out."""
        ends = ((self.low, 0.0), (self.high, 1.0))
        return any(np.any(np.asarray(side) != end) for bound, end in ends for side in bound or ())

    def corners(self, record: int) -> Array:
        """The laws of a record that are no mixture of others within the bounds, one in each row."""
        low, high = (np.asarray(bound[record]) for bound in (self.low, self.high))  # type: ignore[index]
        corners = set()
        for free in range(low.size):
            fixed = [i for i in range(low.size) if i != free]
            for ends in itertools.product((0, 1), repeat=len(fixed)):
                law = np.empty(low.size)
                law[fixed] = np.where(ends, high[fixed], low[fixed])
                law[free] = 1 - law[fixed].sum()
                if low[free] - 1e-12 <= law[free] <= high[free] + 1e-12:
                    corners.add(tuple(np.clip(law, 0, 1).tolist()))
        return np.array(sorted(corners))


Priors = Model | Sequence[Model] | ProductPriors


def inferential(priors: Priors, query: Any, release: Release) -> FrameworkResult:
    """By how much an output may change the log-odds of two values of a record.

    ``priors`` is one model, a list of them, or ProductPriors.

    >>> import tellapart as ta
    >>> both = ProductPriors([[0, 1], [0, 1]])
    >>> inferential(both, Sum(), ta.Laplace(1)).epsilon  # what DP says
    1.0
    """
    check_release(release)
    if isinstance(priors, ProductPriors):
        return _over_products(priors, query, release)
    return replace(pufferfish(priors, query, release), framework="inferential privacy")


def _worst(worst: Witness, laws: list[tuple[Secret, Law]], release: Release) -> Witness:
    for (h1, law), (h0, other) in itertools.combinations(laws, 2):
        extreme = furthest(law, other, release)
        pair = (h1, h0) if extreme.log_ratio >= 0 else (h0, h1)
        if abs(extreme.log_ratio) > worst.log_ratio:
            worst = Witness(*pair, extreme.output, abs(extreme.log_ratio))
    return worst


def _result(worst: Witness, skipped: Sequence[Secret], terms: str) -> FrameworkResult:
    return FrameworkResult(
        framework="inferential privacy",
        epsilon=worst.log_ratio,
        side=Side.EXACT,
        witness=worst if worst.likelier is not None else None,
        assumptions=terms,
        composes=False,
        skipped=tuple(dict.fromkeys(skipped)),
    )


# -- independent records -------------------------------------------------------------------------


def _over_products(priors: ProductPriors, query: Any, release: Release) -> FrameworkResult:
    skipped = [
        RecordValue(i, value)
        for i, (values, high) in enumerate(zip(priors.values, priors.high, strict=True))  # type: ignore[arg-type]
        for value in np.asarray(values)[np.asarray(high) == 0].tolist()
    ]
    if isinstance(query, Sum | Linear) and isinstance(release, Laplace):
        worst = _summed(priors, weights_of(query, priors.records), release, set(skipped))
    else:
        worst = _at_corners(priors, query, release, set(skipped))
    if priors.bounded:
        return _result(worst, skipped, "records are independent, with marginals within bounds")
    return replace(
        _result(worst, skipped, "records are independent, with any marginals: as DP"),
        composes=True,
    )


def _summed(
    priors: ProductPriors, weights: Array, release: Laplace, skipped: set[RecordValue]
) -> Witness:
    """Far out, Laplace noise on a sum of independent records shows the whole of one's change."""
    worst = Witness(None, None, None, 0.0)
    for record, values in enumerate(priors.values):
        possible = [value for value in values if RecordValue(record, value) not in skipped]
        if len(possible) > 1:
            top, bottom = (RecordValue(record, end) for end in (max(possible), min(possible)))
            moved = abs(float(weights[record])) * (top.value - bottom.value) / release.scale
            if moved > worst.log_ratio:
                output = math.copysign(math.inf, weights[record])
                worst = Witness(top, bottom, output, moved)
    return worst


def _at_corners(
    priors: ProductPriors, query: Any, release: Release, skipped: set[RecordValue]
) -> Witness:
    corners = [priors.corners(record) for record in range(priors.records)]
    _check_corners([len(laws) for laws in corners])
    even = [np.full(len(domain), 1 / len(domain)) for domain in priors.values]
    answers = answers_of(Independent(tuple(even), priors.values), query)
    worst = Witness(None, None, None, 0.0)
    for record, values in enumerate(priors.values):
        others = [laws for i, laws in enumerate(corners) if i != record]
        rows = np.moveaxis(answers, record, 0).reshape(len(values), -1)
        for chosen in itertools.product(*others):
            shares = np.asarray(reduce(np.multiply.outer, chosen, np.ones(()))).ravel()
            laws = [
                (secret, _law(row, shares))
                for row, value in zip(rows, values, strict=True)
                if (secret := RecordValue(record, value)) not in skipped
            ]
            worst = _worst(worst, list(laws), release)
    return worst


def _check_corners(sizes: list[int]) -> None:
    most = math.prod(sizes) // min(sizes)
    if most > MOST_CORNERS:
        raise Unsupported(
            f"{count_in_words(most)} corners of the priors are too many to try, at most "
            f"{MOST_CORNERS} are; ask Sum() or Linear(weights) with ta.Laplace, which needs none"
        )


def _law(answers: Array, shares: Array) -> FiniteLaw:
    shown = shares > 0
    return FiniteLaw.gathered(answers[shown], np.log(shares[shown] / shares.sum()))


def _bounds(name: str, given: Any, values: Sequence[Array], default: float) -> tuple[Array, ...]:
    if given is None:
        return tuple(np.full(domain.size, default) for domain in values)
    if len(given) != len(values):
        _checks.refuse(name, f"be {len(values)} lists, one for each record", len(given))
    rows = [_checks.probabilities(**{f"{name}[{i}]": row}) for i, row in enumerate(given)]
    for i, (row, domain) in enumerate(zip(rows, values, strict=True)):
        if row.shape != domain.shape:
            _checks.refuse(f"{name}[{i}]", f"have {domain.size} probabilities", row.shape)
    return tuple(rows)


# -- the bound of Ghosh and Kleinberg -------------------------------------------------------------


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
        return math.inf, f"no bound, as influences have the norm {short(norm, 4)}, not below 1"
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
