"""The exact rank test: how many members score beyond the k-th largest non-member score.

Let the threshold be the k-th largest score of N others. Whatever their law, the false-positive
rate U at that threshold follows Beta(k, N − k + 1). Given U, the number of the P members beyond
it is binomial with the true-positive rate, which a claim caps at g(U), g its ROC curve. So

    P[c or more members beyond] ≤ E[P[Bin(P, g(U)) ≥ c]],

a number that depends on the claim alone. It grows with g: a rank that does not refute the true
curve refutes no claim that is true, so one level pays for all claims at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, betainccinv, betaincinv, expit, ndtr, ndtri

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.binomial import log_weight, mass
from tellapart._numeric.safe import times_exp

Roc = Callable[[Array], Array]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
# Where to cut the range of a rate into panels: chances of not exceeding the cut.
_CUTS = np.array([1e-18, 1e-12, 1e-8, 1e-5, 1e-3, 0.02, 0.15, 0.5])
_CUTS = np.concatenate([_CUTS, 1 - _CUTS[-2:0:-1], [1 - 1e-15]])
_LEFT_OUT = 1e-17  # what lies below the cuts of either law, and rounding
_ROUNDING = 1 + 1e-8
_CELLS = 64
# How closely a sum is known: of the level where that decides, and of itself for what people read.
_NEAR_LEVEL, _NEAR = 3e-3, 0.05
_ROUNDS = 24


class RankCounts(NamedTuple):
    """Ranks that were looked at: a threshold each, and how many of the tested lie beyond it.

    Arrays of one length: the rank k among ``reference`` scores, and the count c among ``tested``.
    """

    rank: Array
    reference: Array
    beyond: Array
    tested: Array

    def at(self, index: Any) -> RankCounts:
        """Some of them."""
        return RankCounts(*(np.atleast_1d(column[index]) for column in self))

    def rate_law(self) -> tuple[Array, Array]:
        """The parameters of the Beta law of the reference's rate beyond the threshold."""
        return self.rank, self.reference - self.rank + 1

    def count_law(self) -> tuple[Array, Array]:
        """P[Bin(tested, p) ≥ beyond] is the chance that a Beta law with these stays below p."""
        return np.maximum(self.beyond, 0.5), self.tested - self.beyond + 1


class Quantiles(NamedTuple):
    """Quantiles of the rate's law and of the count's at each look, the same for every claim."""

    rates: Array
    counts: Array

    @classmethod
    def of(cls, looks: RankCounts) -> Quantiles:
        """Half of what a p-value costs: worth keeping where many claims are asked about."""
        laws = looks.rate_law(), looks.count_law()
        return cls(*(betaincinv(*_columns(law), _CUTS) for law in laws))

    def at(self, index: Any) -> Quantiles:
        """Those of some looks."""
        return Quantiles(self.rates[index], self.counts[index])


def smooth_p_values(
    looks: RankCounts, roc: Roc, inverse: Roc, kink: Array, quantiles: Quantiles | None = None
) -> Array:
    """p-values where the claim's ROC is smooth but for one kink: by quadrature.

    ``roc`` and ``inverse`` act on arrays whose first axis is that of the looks.
    """
    law, count = _columns(looks.rate_law()), _columns(looks.count_law())
    cuts, ends_of_count = quantiles or Quantiles.of(looks)
    # The count's chance goes from 0 to 1 between these rates: panels must resolve both laws.
    turns = np.clip(inverse(ends_of_count), 0.0, 1.0)
    low = np.maximum(cuts[:, :1], turns[:, :1])
    high = np.maximum(np.minimum(cuts[:, -1:], turns[:, -1:]), low)
    ends = np.sort(np.clip(np.concatenate([cuts, turns, kink], axis=1), low, high), axis=1)
    half = np.diff(ends, axis=1)[..., None] / 2
    u = ends[:, :-1, None] + half * (1 + _NODES)
    flat = u.reshape(len(u), -1)
    density = _density(law, flat)
    chance = betainc(*count, np.clip(roc(flat), 0.0, 1.0))
    inside = np.sum((half * _WEIGHTS).reshape(len(u), -1) * density * chance, axis=1)
    chances = inside + betaincc(looks.rate_law()[0], looks.rate_law()[1], high[:, 0])
    return np.where(looks.beyond <= 0, 1.0, np.minimum(chances * _ROUNDING + _LEFT_OUT, 1.0))


def _density(law: tuple[Array, Array], rate: Array) -> Array:
    """A Beta law's, from a binomial mass: logarithms of Beta functions lose digits for many."""
    rank, trials = law[0] - 1, law[0] + law[1] - 2
    return (trials + 1) * mass(log_weight(rank, trials), rank, trials, rate)


def upper_p_values(looks: RankCounts, roc: Roc, level: Array) -> Array:
    """p-values for any rising ROC, kinks and all: sums that only err upwards.

    Cells of the rate's law, each with the chance at its far end, are halved where that matters
    until the sum lies above ``level`` for sure, or is known to a twentieth of itself and to a few
    parts in a thousand of ``level``. What is left out of 1 is 1e-17, as in `smooth_p_values`.
    """
    return np.array([_upper(looks.at(k), roc, float(level[k])) for k in range(len(looks.rank))])


def _upper(look: RankCounts, roc: Roc, level: float) -> float:
    if look.beyond[0] <= 0:
        return 1.0
    law, count = look.rate_law(), look.count_law()

    def chances(rates: Array) -> Array:
        return np.asarray(betainc(*count, np.clip(roc(rates), 0.0, 1.0)))

    cuts = _spread(law, level)
    values = chances(cuts)
    below, above = _tails(law, cuts)
    for _ in range(_ROUNDS):
        weights = _between(law, cuts, below, above)
        highest = float(weights[:-1] @ values + weights[-1])
        lowest = float(weights[1:] @ values)
        gaps = weights[1:-1] * np.diff(values)
        close = min(_NEAR_LEVEL * level, _NEAR * highest)
        if lowest > level or highest - lowest <= close + weights[0] * values[0] + weights[-1]:
            break
        wide = gaps >= max(gaps.max() / 16, close / (3 * len(gaps)))
        middles = (cuts[:-1] + cuts[1:])[wide] / 2
        order = np.argsort(np.concatenate([cuts, middles]))
        asked = (middles, chances(middles), *_tails(law, middles))
        known = (cuts, values, below, above)
        cuts, values, below, above = (
            np.concatenate(pair)[order] for pair in zip(known, asked, strict=True)
        )
    return min(highest * _ROUNDING + _LEFT_OUT, 1.0)


def _spread(law: tuple[Array, Array], level: float) -> Array:
    """Rates to begin with, dense where sums near ``level`` are decided, and far up."""
    below = betaincinv(*law, np.concatenate([[1e-16], np.linspace(0.02, 0.5, _CELLS // 4)]))
    near = np.geomspace(max(level * 1e-4, _LEFT_OUT), 0.5, _CELLS // 2)
    above = betainccinv(*law, np.concatenate([np.geomspace(_LEFT_OUT, 0.5, _CELLS // 2), near]))
    return np.unique(np.concatenate([below, above]))


def masses(law: tuple[Array, Array], cuts: Array) -> Array:
    """The chance below the first cut, between cuts, and above the last (last axis).

    From whichever tail is small and so has its digits.
    """
    return _between(law, cuts, *_tails(law, cuts))


def _tails(law: tuple[Array, Array], cuts: Array) -> tuple[Array, Array]:
    return betainc(*law, cuts), betaincc(*law, cuts)


def _between(law: tuple[Array, Array], cuts: Array, below: Array, above: Array) -> Array:
    ends = [(0, 0)] * (cuts.ndim - 1) + [(1, 1)]
    below = np.pad(below, ends, constant_values=(0.0, 1.0))
    above = np.pad(above, ends, constant_values=(1.0, 0.0))
    high = np.pad(cuts, ends, constant_values=(0.0, 1.0))[..., 1:] > law[0] / (law[0] + law[1])
    return np.where(high, -np.diff(above), np.diff(below))


def _columns(pair: tuple[Array, Array]) -> tuple[Array, Array]:
    return pair[0][:, None], pair[1][:, None]


_MIDDLE, _UPPER = 96, 80


@dataclass(frozen=True)
class RateCells:
    """The law of the reference's rate at each rank, cut into cells once for many curves.

    A chance that grows with the rate is at most the sum with each cell's far end, at least the
    sum with its near end: both sides of every probability, whatever the curve.
    """

    looks: RankCounts
    levels: Array
    cuts: Array
    masses: Array

    @classmethod
    def of(cls, looks: RankCounts, levels: Array) -> RateCells:
        """Cells that are fine where sums near the levels are decided."""
        law = [parameter[:, None] for parameter in looks.rate_law()]
        middle = betaincinv(*law, np.linspace(0.005, 0.95, _MIDDLE))
        upper = betainccinv(*law, np.geomspace(0.04, levels * 1e-3, _UPPER, axis=1))
        cuts = np.concatenate([middle, upper], axis=1)
        return cls(looks, levels, cuts, masses((law[0], law[1]), cuts))

    def most(self, beyond: Array, roc: Array) -> Array:
        """At most this likely are so many beyond, if the curve's ROC at the cuts is this."""
        chance = self._chance(beyond, roc)
        most = np.sum(self.masses[:, :-1] * chance, axis=1) + self.masses[:, -1]
        return np.asarray(np.minimum(most, 1.0))

    def least(self, beyond: Array, roc: Array) -> Array:
        """At least this likely are so many beyond."""
        return np.asarray(np.sum(self.masses[:, 1:] * self._chance(beyond, roc), axis=1))

    def critical(self, roc: Array) -> Array:
        """The least counts beyond that refute, at each look's level, a claim with this ROC.

        By the middle of both sums, whose errors all but cancel, and a tenth of their distance.
        """

        def refuted(beyond: Array) -> NDArray[np.bool_]:
            most, least = self.most(beyond, roc), self.least(beyond, roc)
            return np.asarray(0.55 * most + 0.45 * least <= self.levels)

        return solve.first_wholes(refuted, np.zeros(len(self.levels)), self.looks.tested + 1)

    def _chance(self, beyond: Array, roc: Array) -> Array:
        count = np.maximum(beyond, 0.5)[:, None]
        rest = np.maximum(self.looks.tested - beyond + 1, 0.5)[:, None]
        chance = betainc(count, rest, np.clip(roc, 0.0, 1.0))
        chance = np.where(beyond[:, None] > self.looks.tested[:, None], 0.0, chance)
        return np.where(beyond[:, None] <= 0, 1.0, chance)


# How close to the exact bound a search ends; it ends below it.
_NARROW = 1e-10
_AT_ONCE = 3


@dataclass(frozen=True)
class ClaimFamily:
    """Claims that allow more as a parameter grows: their ROC, its inverse, where it has a kink.

    All members are symmetric in the two worlds, so they serve looks from both ends.
    """

    roc: Callable[[Array, Array], Array]
    inverse: Callable[[Array, Array], Array]
    kink: Callable[[Array], Array]
    most: float


def epsilons(delta: float) -> ClaimFamily:
    """(ε, δ)-DP as ε grows."""
    d = np.array(delta)
    return ClaimFamily(
        lambda u, e: _allowed(u, e, d), lambda t, e: _least(t, e, d), lambda e: _knot(e, d), 700.0
    )


def deltas(epsilon: float) -> ClaimFamily:
    """(ε, δ)-DP as δ grows."""
    e = np.array(epsilon)
    return ClaimFamily(
        lambda u, d: _allowed(u, e, d), lambda t, d: _least(t, e, d), lambda d: _knot(e, d), 1.0
    )


def _allowed(fpr: Array, epsilon: Array, delta: Array) -> Array:
    """The largest TPR under (ε, δ): below both of its lines."""
    first = times_exp(fpr, epsilon) + delta
    second = 1 - times_exp(np.maximum(1 - delta - fpr, 0.0), -epsilon)
    return np.minimum(first, second)


def _least(tpr: Array, epsilon: Array, delta: Array) -> Array:
    first = times_exp(np.maximum(tpr - delta, 0.0), -epsilon)
    second = 1 - delta - times_exp(1 - tpr, epsilon)
    return np.maximum(first, second)


def _knot(epsilon: Array, delta: Array) -> Array:
    return np.asarray((1 - delta) * expit(-epsilon))


def gaussians() -> ClaimFamily:
    """Gaussian DP as μ grows."""
    return ClaimFamily(
        lambda u, m: ndtr(ndtri(u) + m), lambda t, m: ndtr(ndtri(t) - m), np.zeros_like, 70.0
    )


def p_values(
    looks: RankCounts,
    family: ClaimFamily,
    parameter: Array,
    quantiles: Quantiles | None = None,
) -> Array:
    """The chance, were the claim true, of as many beyond each rank as there are."""
    at = parameter[:, None]
    with np.errstate(all="ignore"):
        return smooth_p_values(
            looks,
            lambda u: family.roc(u, at),
            lambda t: family.inverse(t, at),
            family.kink(at),
            quantiles,
        )


def largest_refuted(
    looks: RankCounts, levels: Array, family: ClaimFamily
) -> tuple[float, int | None]:
    """The largest parameter that some look refutes at its level, and which look; (0, None) if none.

    Errs downwards, by less than 1e-9: the parameter returned is itself refuted.
    """
    zero, quantiles = np.zeros(len(levels)), Quantiles.of(looks)
    open_ = np.flatnonzero(p_values(looks, family, zero, quantiles) < levels)
    best, which = 0.0, None
    guess = _promise(looks)[open_]
    open_ = open_[np.argsort(-guess, kind="stable")]
    while open_.size:
        deadline.check()
        now, open_ = open_[:_AT_ONCE], open_[_AT_ONCE:]
        roots = _roots(looks.at(now), levels[now], family, best, quantiles.at(now))
        if roots.max() > best:
            best, which = float(roots.max()), int(now[np.argmax(roots)])
        if open_.size:
            at = np.full(open_.size, best)
            chances = p_values(looks.at(open_), family, at, quantiles.at(open_))
            open_ = open_[chances < levels[open_]]
    return best, which


def _promise(looks: RankCounts) -> Array:
    """Roughly the bound on ε each look will give: the log-ratio less a few deviations."""
    rate = looks.rank / looks.reference
    share = np.maximum(looks.beyond, 0.5) / looks.tested
    noise = np.sqrt(1 / looks.rank + 1 / np.maximum(looks.beyond, 0.5))
    return np.asarray(np.log(share / rate) - 2.5 * noise)


def _roots(
    looks: RankCounts, levels: Array, family: ClaimFamily, low: float, quantiles: Quantiles
) -> Array:
    """Where each look stops refuting, from below; all of them refute at ``low``."""

    def refuting(parameter: Array) -> Array:
        at = np.minimum(parameter, family.most)
        return np.log(levels) - np.log(p_values(looks, family, at, quantiles))

    start = np.full(len(levels), low)
    high = np.minimum(solve.climb(refuting, start, min(1.0, family.most / 2)), family.most)
    return solve.falling_root(refuting, start, high, narrow=_NARROW)[0]
