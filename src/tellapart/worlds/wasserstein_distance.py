"""∞-Wasserstein distance of two laws of an answer, and the Wasserstein mechanism's worst pair.

Noise Lap(W∞/ε) on the answer keeps ε between two secrets (Song, Wang and Chaudhuri 2017). On the
line W∞ is the supremum over all u of |F⁻¹(u) - G⁻¹(u)|: the atoms of both laws share out the
interval [0, 1], and atoms that overlap there meet. It is a supremum over all u, so tails of mass
1e-30 count as much as any: places in [0, 1] are kept by the logarithm of their distance from
whichever end is nearer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.worlds.models.base import FiniteModel, ImpossibleSecret, Known
from tellapart.worlds.models.gaussian import GaussianRecords
from tellapart.worlds.models.laws import FiniteLaw, NormalLaw
from tellapart.worlds.models.queries import Query
from tellapart.worlds.models.secrets import Secret

Law = FiniteLaw | NormalLaw
Model = FiniteModel | GaussianRecords
Pair = tuple[Secret, Secret]
Found = tuple[dict[Secret, Law], tuple[Secret, ...]]

SLACK = 2e-9
_SHARE = SLACK / 2  # of both atoms' masses: a meeting that takes less is not counted
_ROUNDING = 1e-13
_HALF = float(np.log(0.5))


def wasserstein(one: Law, other: Law) -> float:
    """How far noise must reach to hide which of two laws the true answer has: W∞.

    Sums of weights that should be equal differ by rounding. So a meeting of two atoms that takes
    at most 1e-9 of the mass of either is not counted, which makes Lap(W/ε) give at most
    ε + 2e-9 (``SLACK``). Atoms too light to be placed surely meet all that they may: there the
    answer errs towards the larger distance, and more noise. Normal laws of unequal variances are
    infinitely far apart.

    >>> wasserstein(FiniteLaw.of({0: 1}), FiniteLaw.of({0: 1 - 1e-15, 100: 1e-15}))
    100.0
    """
    if isinstance(one, NormalLaw) and isinstance(other, NormalLaw):
        return abs(one.mean - other.mean) if one.variance == other.variance else float("inf")
    _checks.instance(FiniteLaw, "a FiniteLaw, or both laws a NormalLaw", one=one)
    _checks.instance(FiniteLaw, "a FiniteLaw, or both laws a NormalLaw", other=other)
    return _between(one, other)  # type: ignore[arg-type]


def _between(first: FiniteLaw, other: FiniteLaw) -> float:
    if first.values.size == other.values.size and np.allclose(
        first.log_weights, other.log_weights, rtol=0.0, atol=_SHARE
    ):  # atom meets atom, however light they are
        return float(np.abs(first.values - other.values).max())
    return max(_reach(first, other), _reach(other, first))


def _reach(first: FiniteLaw, other: FiniteLaw) -> float:
    """The largest distance of an atom of one law from those of the other that it must meet.

    Each atom's stretch of [0, 1] is cut by a share of its mass at both ends, then widened by what
    rounding may have done. Atoms much lighter than what lies before them end up wider.
    """
    start, end = _cut(first)
    ends = _Places.after(other).line()
    last = other.values.size - 1
    size = last + first.values.size
    start, end = start - _rounding(start, size), end + _rounding(end, size)
    lowest = np.minimum(np.searchsorted(ends, start, side="right"), last)
    highest = np.minimum(np.searchsorted(ends, end, side="left"), last)
    away = np.maximum(
        np.abs(first.values - other.values[lowest]), np.abs(first.values - other.values[highest])
    )
    return float(away.max())


def _rounding(places: Array, size: int) -> Array:
    """A bound on what sums of so many weights are off by, relative to their size."""
    return np.asarray(_ROUNDING * (1 + np.abs(places) / 50 + size / 1e5))


class _Places(NamedTuple):
    """Places in [0, 1], each by the logarithms of its distances from 0 and from 1."""

    left: Array
    right: Array

    @classmethod
    def after(cls, law: FiniteLaw) -> _Places:
        """Where each atom's stretch ends."""
        left = np.logaddexp.accumulate(law.log_weights)
        right = np.logaddexp.accumulate(law.log_weights[::-1])[::-1]
        return cls(left, np.append(right[1:], -np.inf))

    def line(self) -> Array:
        """One rising number per place, in units of relative distance from the nearer end."""
        return np.where(self.left <= _HALF, self.left, 2 * _HALF - self.right)


def _cut(law: FiniteLaw) -> tuple[Array, Array]:
    """Where each atom's stretch begins and ends, less a share of its mass at either end."""
    after = _Places.after(law)
    before = _Places(np.append(-np.inf, after.left[:-1]), np.append(0.0, after.right[:-1]))
    cut = law.log_weights + np.log(_SHARE)
    start = _Places(np.logaddexp(before.left, cut), _less(before.right, cut))
    end = _Places(_less(after.left, cut), np.logaddexp(after.right, cut))
    return start.line(), end.line()


def _less(logs: Array, taken: Array) -> Array:
    """The logarithm of a difference, of which little is taken."""
    return np.asarray(logs + np.log1p(-np.exp(np.minimum(taken - logs, np.log(2 * _SHARE)))))


@dataclass(frozen=True)
class Widest:
    """The two secrets that take most noise to hide, and those that could not be asked about.

    ``distance`` divided by ε is the scale of Laplace noise that hides every pair.
    """

    distance: float
    pair: Pair | None
    skipped: tuple[Secret, ...]


def widest(
    model: Model,
    query: Query,
    pairs: Iterable[Pair] | None = None,
    known: Known | None = None,
) -> Widest:
    """Which two secrets lie furthest apart in the answer, by the distance W∞.

    Without ``pairs`` all pairs of values of each record that is not known are asked. Pairs with
    a secret of probability 0 say nothing; such secrets are listed in ``skipped``.

    >>> from tellapart.worlds import MarkovChain, Sum
    >>> widest(MarkovChain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 5), Sum()).distance
    5.0
    """
    if pairs is None:
        laws, skipped = _every_law(model, query, known)
        asked = _all_pairs(laws)
    else:
        asked = list(pairs)
        if not asked:
            _checks.refuse("pairs", "not be empty", asked)
        laws, skipped = _laws_of(model, query, asked, known)
    best, where = 0.0, None
    for first, second in asked:
        if first in laws and second in laws:
            distance = wasserstein(laws[first], laws[second])
            if where is None or distance > best:
                best, where = distance, (first, second)
    return Widest(best, where, skipped)


def _every_law(model: Model, query: Query, known: Known | None) -> Found:
    if isinstance(model, GaussianRecords):
        model.secrets()  # says why they have no list
    _checks.instance(FiniteModel, "a data model", model=model)
    laws: dict[Secret, Law] = {}
    skipped: list[Secret] = []
    for secret, law in model.laws(query, known):  # type: ignore[union-attr]
        if law is None:
            skipped.append(secret)
        else:
            laws[secret] = law
    return laws, tuple(skipped)


def _all_pairs(laws: dict[Secret, Law]) -> list[Pair]:
    """Pairs of values of one record, for every record."""
    groups = itertools.groupby(laws, key=lambda secret: secret.record)  # type: ignore[union-attr]
    return [pair for _, secrets in groups for pair in itertools.combinations(secrets, 2)]


def _laws_of(model: Model, query: Query, pairs: list[Pair], known: Known | None) -> Found:
    if known and isinstance(model, FiniteModel):
        model.prior(pairs[0][0], known)  # refuses what cannot be known, whatever the secret
    laws: dict[Secret, Law] = {}
    skipped: list[Secret] = []
    for secret in dict.fromkeys(itertools.chain.from_iterable(pairs)):
        try:
            laws[secret] = model.law(query, secret, known)
        except ImpossibleSecret:
            skipped.append(secret)
    return laws, tuple(skipped)
