"""Private selection (repeat and select): the best of a random number of runs, published alone.

K runs are made, K drawn from a law that no data may change, and the best output is published, by an
order of the outputs (Liu and Talwar 2019; Papernot and Steinke 2022). With φ the generating
function of K and g(a) = 1 − φ(1 − a), an output with P-mass a ranked above it has density g′(a)·dP.
Let b(u) be the largest Q-mass of a test of P-mass u. Then for ε ≥ 0, whatever the order,

    δ(ε) ≤ E_P[G(e^ε·dQ/dP)],   G(y) = sup_u (g′(u) − y·g′(b(u)))₊,

as the Q-mass above is at most b(a), and g′ falls. G is convex and falls: lines A_j − y·B_j above it
make the expectation a mixture of the base's own δ, Σ (A_j − A_j₊₁)·δ(ε − log y_j), where y_j is
where a line meets the next. docs/tuning.md has the proof, and why each rounding is safe.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln, xlogy

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.certified.discretise import from_two_profiles
from tellapart.curve.composition.group_privacy import tangent_losses

# Cells of the mass ranked above, by its logit, and how far out they go.
_CELLS, _OUT = 40_000, 60.0
# G is replaced by chords that span so much of log y, more where that is far from 0.
_SPAN, _FAR_SPAN, _NEAR = 0.005, 0.1, 8.0
# How many ε the answer is worked out at, and at which δ they end.
_EPSILONS, _RAREST = 1_000, 1e-25
# Room for the rounding of a formula; a profile may be off by so many times its accuracy.
_ROOM, _PROFILE_ROOM, _MOST_ROOM = 1e-13, 100.0, 1e-8
# e^loss is a double up to here; a tangent further out is left out.
_LARGEST = 600.0
# More runs than are listed, all together less likely than this, are taken to reveal all.
_UNLISTED, _MOST_RUNS, _CHANCE_ROOM = 1e-9, 5_000, 1e-10

# A number of runs that is not exceeded, how likely, and the curve of so many runs seen.
Published = tuple[float, TradeoffCurve]


class Trials(ABC):
    """A law of the number of runs, drawn before any of them and independently of the data."""

    mean: float

    @abstractmethod
    def log_density(self, above: Array, below: Array) -> Array:
        """The logarithm of g′(a), where ``above`` = a is ranked above and 1 − a below."""

    @abstractmethod
    def best_within(self, above: Array, mass: Array) -> Array:
        """g(a + m) − g(a): how likely the best is in a set of mass m, a being ranked above it."""

    @abstractmethod
    def log_chances(self, count: Array) -> Array:
        """The logarithm of the probability of so many runs, for counts from 1."""

    def pure_epsilon(self, epsilon: float) -> float:
        """The least ε of the best of K runs that are ε-DP, reached by randomised response.

        It is ε + max log g′(u) − log g′(b(u)); for all laws here the corner of the curve of
        randomised response, u = 1/(1 + e^ε), has the maximum.
        """
        rare, likely = np.asarray(expit(-epsilon)), np.asarray(expit(epsilon))
        most, least = self.log_density(rare, likely), self.log_density(likely, rare)
        rounding = 1e-15 * (abs(most) + abs(least) + epsilon)
        return float(epsilon + (most - least) + rounding) if epsilon else 0.0

    @property
    def none(self) -> float:
        """The probability of no run at all."""
        return 0.0

    @property
    def _chance_room(self) -> float:
        """By how much a chance may be off, relative to it, as it is rounded."""
        return _CHANCE_ROOM

    def counts(self, every: bool) -> tuple[list[int], list[float], float]:
        """Numbers of runs, how likely those are that each stands for, and what is not listed.

        A number stands for those after the one before it, which are no larger: more runs tell more.
        """
        listed: list[int] = []
        chances: list[float] = []
        last, left, room = 0, 1 - self.none, self._chance_room
        while left > _UNLISTED and last < _MOST_RUNS:
            block = np.arange(last + 1.0, last + 1 + (1 if every else max(1, last // 4)))
            chances.append(float(np.exp(self.log_chances(block)).sum()) * (1 + room))
            last += block.size
            left -= chances[-1]
            listed.append(last)
        return listed, chances, max(left, 0.0) + 2 * room


@dataclass(frozen=True)
class FixedNumber(Trials):
    """So many runs, always."""

    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _checks.whole(1, 10**6, trials=self.mean))

    def __repr__(self) -> str:
        return repr(self.mean)

    def log_density(self, above: Array, below: Array) -> Array:
        return np.asarray(math.log(self.mean) + xlogy(self.mean - 1, below))

    def best_within(self, above: Array, mass: Array) -> Array:
        """(1 − a)^K − (1 − a − m)^K."""
        left = np.maximum(1 - above, mass)
        share = np.where(left > 0, mass / np.where(left > 0, left, 1.0), 0.0)
        return np.asarray(left**self.mean * -np.expm1(self.mean * np.log1p(-share)))

    def log_chances(self, count: Array) -> Array:
        return np.where(count == self.mean, 0.0, -np.inf)

    def counts(self, every: bool) -> tuple[list[int], list[float], float]:
        return [int(self.mean)], [1.0], 0.0


@dataclass(frozen=True)
class PoissonNumber(Trials):
    """A Poisson number of runs, which may be none: then that is said, and nothing else."""

    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _checks.finite_above_zero(mean=self.mean))

    def __repr__(self) -> str:
        return f"poisson(mean={self.mean!r})"

    def log_density(self, above: Array, below: Array) -> Array:
        return np.asarray(math.log(self.mean) - self.mean * above)

    def best_within(self, above: Array, mass: Array) -> Array:
        return np.asarray(np.exp(-self.mean * above) * -np.expm1(-self.mean * mass))

    @property
    def none(self) -> float:
        return math.exp(-self.mean)

    def log_chances(self, count: Array) -> Array:
        return np.asarray(count * math.log(self.mean) - self.mean - gammaln(count + 1))


@dataclass(frozen=True)
class TruncatedNegativeBinomial(Trials):
    """P(K = k) ∝ (1 − γ)^k·Γ(k + shape)/k! for k ≥ 1 (Papernot and Steinke 2022, Definition 1).

    Shape 1 is the geometric law, 0 the logarithmic one. γ follows from the mean.
    """

    shape: float
    mean: float
    # −log γ: of a γ close to 1 the digits of 1 − γ count, as often as the shape says.
    depth: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        shape = _checks.number(shape=self.shape)
        if not -0.9 <= shape <= 1e6:
            _checks.refuse("shape", "lie between -0.9 and 1e6 (beyond, take poisson)", shape)
        mean = _checks.number(mean=self.mean)
        if not 1 <= mean <= 1e9:
            _checks.refuse(
                "mean", "be at least 1, as there is at least one run, and at most 1e9", mean
            )
        for name, value in (("shape", shape), ("mean", mean), ("depth", _depth(shape, mean))):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        if self.shape == 1:
            return f"geometric(mean={self.mean!r})"
        return f"negative_binomial(shape={self.shape!r}, mean={self.mean!r})"

    def log_density(self, above: Array, below: Array) -> Array:
        odds = math.expm1(self.depth)  # (1 − γ)/γ
        return np.asarray(math.log(self.mean) - (self.shape + 1) * np.log1p(above * odds))

    def best_within(self, above: Array, mass: Array) -> Array:
        """By φ(s) = ((1 − (1 − γ)·s)^−shape − 1)/(γ^−shape − 1), and its limit at shape 0."""
        if self.mean == 1:
            return mass
        odds = math.expm1(self.depth)
        grown = np.log1p(odds * mass / (1 + odds * above))
        if self.shape == 0:
            return np.asarray(grown / self.depth)
        left = np.exp(-self.shape * np.log1p(odds * above))
        whole = -math.expm1(-self.shape * self.depth)
        return np.asarray(left * -np.expm1(-self.shape * grown) / whole)

    def log_chances(self, count: Array) -> Array:
        at_one = float(self.log_density(np.ones(()), np.zeros(())))
        rising = gammaln(count + self.shape) - gammaln(1 + self.shape) - gammaln(count + 1)
        return np.asarray(at_one + xlogy(count - 1, -math.expm1(-self.depth)) + rising)

    @property
    def _chance_room(self) -> float:
        # Γ(k + shape)/Γ(1 + shape) is what remains of two large logarithms.
        return max(_CHANCE_ROOM, 1e-15 * float(gammaln(2 + self.shape)))


def _depth(shape: float, mean: float) -> float:
    """The −log γ with this mean: the mean is shape·(1/γ − 1)/(1 − γ^shape)."""
    if shape == 1 or mean == 1:
        return math.log(mean)

    def short_of(depth: Array) -> Array:
        share = depth if shape == 0 else -np.expm1(-shape * depth) / shape
        return math.log(mean) - np.log(np.expm1(depth) / share)

    low = np.array(1e-24)
    root = solve.falling_root(short_of, low, solve.climb(short_of, low, 1.0))
    return float(root[1])


def geometric(mean: float) -> TruncatedNegativeBinomial:
    """A geometric number of runs: after each one, stop with probability 1/mean.

    >>> import tellapart as ta
    >>> tuned = ta.Gaussian(sigma=4).best_of(ta.geometric(mean=10))
    >>> tuned
    Gaussian(sigma=4.0).best_of(geometric(mean=10.0))
    >>> tuned.epsilon(delta=1e-5) <= 1.44
    True
    """
    return TruncatedNegativeBinomial(1.0, mean)


def negative_binomial(shape: float, mean: float) -> TruncatedNegativeBinomial:
    """A negative binomial number of runs, at least one (Papernot and Steinke 2022).

    Smaller shapes cost less and vary more: 0 is the logarithmic law, 1 the geometric one.

    >>> import tellapart as ta
    >>> ta.negative_binomial(shape=0, mean=10)
    negative_binomial(shape=0.0, mean=10.0)
    """
    return TruncatedNegativeBinomial(shape, mean)


def poisson(mean: float) -> PoissonNumber:
    """A Poisson number of runs, close to its mean; where it is 0, no output is published.

    >>> import tellapart as ta
    >>> runs = ta.poisson(mean=10)
    >>> round(ta.RandomizedResponse(epsilon=0.5).best_of(runs).epsilon(delta=0.0), 4)
    2.9492
    """
    return PoissonNumber(mean)


# -- the bound -----------------------------------------------------------------------------------


def best_of_curve(
    test: TradeoffCurve, trials: Trials, all_runs: Sequence[Published] = ()
) -> AtomicCurve:
    """The curve, from below, of the best of so many runs; ``all_runs`` are mixed as published."""
    with np.errstate(all="ignore"):
        losses = np.unique(np.append(tangent_losses(test), 0.0))
        losses = losses[np.abs(losses) <= _LARGEST]
        forward = _Profile.of(test, losses)
        symmetric = test.mirrored() is test
        reverse = forward if symmetric else _Profile.of(test.mirrored(), -losses[::-1])
        ahead = _bound(trials, forward, reverse)
        back = ahead if symmetric else _bound(trials, reverse, forward)
        pure = _pure_epsilon(test, trials)
        epsilons = np.linspace(0.0, min(pure, max(ahead.end(), back.end())), _EPSILONS)

        def side(bound: _Mixture, published: Sequence[Published]) -> Array:
            delta = bound.delta(epsilons)
            delta[::20] = np.minimum(delta[::20], _mixed(published, epsilons[::20]))
            return _closed(epsilons, np.where(epsilons >= pure, 0.0, np.minimum(delta, 1.0)))

        first = side(ahead, all_runs)
        flipped = [(chance, curve.mirrored()) for chance, curve in all_runs]
        return from_two_profiles(epsilons, first, first if symmetric else side(back, flipped))


def _closed(epsilons: Array, deltas: Array) -> Array:
    """What δ at larger ε says of smaller ones: TPR ≤ min(1, δ + e^ε·FPR) bounds TPR − e^η·FPR.

    By 1 − e^(η − ε)·(1 − δ) for η ≤ ε, so that lines that say nothing are left out.
    """
    most = np.maximum.accumulate(((1 - deltas) * np.exp(-epsilons))[::-1])[::-1]
    return np.minimum(deltas, 1 - np.exp(epsilons) * most * (1 - 1e-14))


def _pure_epsilon(test: TradeoffCurve, trials: Trials) -> float:
    """The ε of the best run where the base is pure; else infinite."""
    largest = max(order._largest_loss() for order in (test, test.mirrored()))
    revealing = max(order._delta_at_infinity() for order in (test, test.mirrored()))
    if revealing > 0 or not largest <= _LARGEST:
        return math.inf
    return trials.pure_epsilon(largest)


def _mixed(published: Sequence[Published], epsilons: Array) -> Array:
    """δ of all runs published: K is known from their number, so that theirs are averaged."""
    if not published:
        return np.ones(epsilons.size)
    total = np.zeros(epsilons.size)
    for chance, curve in published:
        deadline.check()
        total += chance * curve._delta(epsilons) * (1 + rounding_room(curve))
    return total


def rounding_room(curve: TradeoffCurve) -> float:
    """By how much a number of the base's engine may be off, relative to it."""
    return min(_PROFILE_ROOM * curve._accuracy, _MOST_ROOM)


class _Profile(NamedTuple):
    """δ of one order of the base at some losses, rounded up, and P(loss ≤ each), P(loss > each)."""

    losses: Array
    deltas: Array
    below: Array
    above: Array

    @classmethod
    def of(cls, test: TradeoffCurve, losses: Array) -> _Profile:
        _, tpr, fnr, _ = test._rates(losses)
        deltas = np.minimum(test._delta(losses) * (1 + rounding_room(test)), 1.0)
        return cls(losses, deltas, fnr, tpr)

    def delta(self, epsilon: Array) -> Array:
        """By chords: δ is convex in e^ε, 1 where that is 0, and falls."""
        at = np.append(0.0, np.exp(self.losses))
        return np.asarray(np.interp(np.exp(epsilon), at, np.append(1.0, self.deltas)))


class _Mixture(NamedTuple):
    """δ(ε) ≤ floor + Σ weight·δ_base(ε − shift)."""

    base: _Profile
    weights: Array
    shifts: Array
    floor: float

    def delta(self, epsilons: Array) -> Array:
        deadline.check()
        each = self.base.delta(epsilons[:, None] - self.shifts)
        return np.asarray((self.floor + each @ self.weights) * (1 + 1e-12))

    def end(self) -> float:
        """An ε from which on hardly anything is left."""
        far = max(float(self.base.losses[-1]), 0.01)
        tried = np.append(far * np.linspace(0.1, 4, 40), far + np.geomspace(far, 500 + far, 40))
        tried = np.sort(tried)
        left = self.delta(tried)
        return float(tried[int(np.argmax(left <= max(_RAREST, 1.01 * left[-1])))])


def _bound(trials: Trials, numerator: _Profile, other: _Profile) -> _Mixture:
    """The mixture for P of this order: ``other`` has the roles of P and Q exchanged."""
    heights, slopes = _cells(trials, numerator, other)
    heights, slopes, meets = _hull(heights, slopes)
    heights, slopes, meets = _hull(*_chords(heights, slopes, meets))
    weights = -np.diff(heights)
    kept = (weights > 0) & (meets > 0)
    shifts = np.log(meets[kept]) + 1e-12
    return _Mixture(numerator, weights[kept], shifts, float(heights[-1]))


def _cells(trials: Trials, numerator: _Profile, other: _Profile) -> tuple[Array, Array]:
    """Lines A − y·B, one for each cell of u: g′ at its left end, g′(b) at its right end."""
    logit = np.linspace(-_OUT, _OUT, _CELLS + 1)
    u, rest = expit(logit), expit(-logit)
    b, spared = _largest_power(u, rest, numerator, other)
    left = trials.log_density(np.append(0.0, u), np.append(1.0, rest))
    right = trials.log_density(np.append(b, 1.0), np.append(spared, 0.0))
    heights = np.exp(left) * (1 + _off(left, trials))
    slopes = np.where(np.isfinite(right), np.exp(right) * (1 - _off(right, trials)), 0.0)
    # g′(b) falls with u; where rounding lets it rise the smaller one is taken.
    return heights, np.minimum.accumulate(np.maximum(slopes, 0.0))


def _off(log_density: Array, trials: Trials) -> Array:
    size = np.where(np.isfinite(log_density), np.abs(log_density), 0.0)
    return np.asarray(_ROOM * (1 + size) + 1e-15 * trials.mean)


def _largest_power(
    u: Array, rest: Array, numerator: _Profile, other: _Profile
) -> tuple[Array, Array]:
    """B(u) rounded up and 1 − b(u) rounded down, by tangents: any of them holds.

    A test of P-mass u has Q-mass at most δ′(t) + e^t·u, and its complement, of P-mass 1 − u at most
    δ(s) + e^s·Q-mass, has Q-mass at least e^−s·(1 − u − δ(s)). The sharpest have s = −t where P has
    the mass u below s.
    """
    size = numerator.losses.size
    low = np.searchsorted(numerator.below, u)
    high = size - np.searchsorted(numerator.above[::-1], rest)
    nearest = np.where(u < 0.5, low, high)
    b, spared = np.ones(u.size), np.zeros(u.size)
    for k in (np.clip(nearest + step, 0, size - 1) for step in (-1, 0, 1)):
        lift = np.exp(-numerator.losses[k])
        b = np.minimum(b, (other.deltas[::-1][k] + lift * u) * (1 + _ROOM))
        spared = np.maximum(spared, lift * (rest * (1 - _ROOM) - numerator.deltas[k]))
    spared = spared * (1 - _ROOM)
    b, spared = np.minimum(b, 1 - spared), np.maximum(spared, 1 - b)
    return np.minimum(b * (1 + _ROOM), 1.0), spared * (1 - _ROOM)


def _hull(heights: Array, slopes: Array) -> tuple[Array, Array, Array]:
    """The lines that make up max(A − y·B, 0) from y = 0 on, and where each meets the next.

    Heights and slopes fall; the last line is 0, or the constant that remains for all y.
    """
    a: list[float] = []
    b: list[float] = []
    meets: list[float] = []
    for height, slope in zip([*heights.tolist(), 0.0], [*slopes.tolist(), 0.0], strict=True):
        if a and slope == b[-1]:
            continue  # no higher, and as steep
        while a:
            meet = (a[-1] - height) / (b[-1] - slope)
            if not meets or meet > meets[-1]:
                meets.append(meet)
                break
            a.pop(), b.pop(), meets.pop()
        a.append(height)
        b.append(slope)
    return np.array(a), np.array(b), np.array(meets)


def _chords(heights: Array, slopes: Array, meets: Array) -> tuple[Array, Array]:
    """Fewer lines: chords of the convex maximum between some y, which lie above it there."""
    positive = meets[meets > 0]
    if not positive.size:
        return heights, slopes
    first, last = math.log(positive[0]), math.log(positive[-1])
    steps = np.concatenate(
        [
            np.arange(-_LARGEST, -_NEAR, _FAR_SPAN),
            np.arange(-_NEAR, _NEAR, _SPAN),
            np.arange(_NEAR, _LARGEST, _FAR_SPAN),
        ]
    )
    inner = np.exp(np.concatenate([[first], steps[(steps > first) & (steps < last)]]))
    knots = np.concatenate([[0.0], inner[inner < meets[-1]], meets[-1:]])
    k = np.searchsorted(meets, knots)
    values = np.maximum(heights[k] * (1 + 1e-15) - knots * slopes[k], 0.0)
    values[-1] = heights[-1]  # there the last line begins
    falls = np.maximum(-np.diff(values) / np.diff(knots), 0.0) * (1 - 1e-15)
    falls = np.minimum.accumulate(falls)
    tops = (values[:-1] + falls * knots[:-1]) * (1 + 4e-15)
    return np.append(tops, heights[-1]), np.append(falls, 0.0)
