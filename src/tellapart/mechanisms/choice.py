"""Private selection and local DP: exponential mechanism, noisy max, randomised response."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_softmax, logsumexp, roots_legendre

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.curve.atomic import AtomicCurve, from_atoms, three_ratios
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import LaplaceCurve, LogisticCurve
from tellapart.curve.guarantees import nothing
from tellapart.errors import NotCertified
from tellapart.mechanisms.base import LocalMechanism, Mechanism

# Further than this from a utility its factor in the integrand is exponential to e^−45.
_DEPTH = 45.0


def permute_and_flip(utility: Array) -> Array:
    """Option r comes at a uniform time t, is taken, and none before it was.

    P(r) = w_r·∫₀¹ Π_{s≠r} (1 − w_s·t) dt with w = exp(utility − best): a polynomial in t.
    """
    return _checked(_polynomial_wins(utility - utility.max(), 1.0))


def laplace_max(utility: Array) -> Array:
    """Option r has the largest sum of utility and Laplace noise of scale 1."""
    gap = utility - utility.max()
    # Beyond the best utility every factor is linear in t = e^−x: a polynomial again.
    parts = [_polynomial_wins(gap, 0.5)]
    lowest = gap.min() - _DEPTH
    for low, high in pairwise(np.unique(np.append(gap, lowest))):
        if high - low <= 2 * _DEPTH:
            parts.append(_log_wins_between(low, high, gap))
        else:
            # Far from both ends each factor is a plain exponential or 1.
            parts.append(_log_wins_between(low, low + _DEPTH, gap))
            parts.append(_log_wins_far(low + _DEPTH, high - _DEPTH, gap))
            parts.append(_log_wins_between(high - _DEPTH, high, gap))
    return _checked(np.logaddexp.reduce(parts, axis=0))


def _log_wins_between(low: float, high: float, gap: Array) -> Array:
    """Log of the chance that r wins with a sum in (low, high), by quadrature."""
    edges = np.linspace(low, high, math.ceil(4 * (high - low)) + 1)
    x, w = roots_legendre(32)
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half * (1 + x)).ravel()
    with np.errstate(divide="ignore"):  # between subnormal gaps there is no room for a weight
        log_weights = np.log(half * w).reshape(-1, 1)
    log_terms = _log_density_of_win(points, gap) + log_weights
    return np.asarray(np.logaddexp.reduce(log_terms, axis=0))


def _log_wins_far(low: float, high: float, gap: Array) -> Array:
    """The same where the density of a win is e^(m·x), m the number of other options above."""
    above = gap >= high
    m = above.sum() - np.where(above, 0, 1)
    at_high = _log_density_of_win(np.array([high]), gap)[0]
    length = high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        growing = np.log(-np.expm1(-m * length) / m)
    return np.asarray(at_high + np.where(m == 0, math.log(length), growing))


def _polynomial_wins(gap: Array, share: float) -> Array:
    """Log of share·w_r·∫₀¹ Π_{s≠r} (1 − share·w_s·t) dt, exact by Gauss-Legendre."""
    x, w = roots_legendre(len(gap) // 2 + 1)
    t, w = (1 + x) / 2, w / 2
    factors = np.log1p(-share * t[:, None] * np.exp(gap))
    log_terms = factors.sum(axis=1, keepdims=True) - factors + np.log(w)[:, None]
    return np.asarray(np.logaddexp.reduce(log_terms, axis=0) + gap + math.log(share))


def _log_density_of_win(points: Array, gap: Array) -> Array:
    """Log of f(x − u_r)·Π_{s≠r} F(x − u_s) at each point x and for each option r."""
    away = points[:, None] - gap
    log_f = -np.abs(away) - math.log(2)
    log_below = np.where(away < 0, log_f, np.log1p(-np.exp(-np.abs(away)) / 2))
    return np.asarray(log_f + log_below.sum(axis=1, keepdims=True) - log_below)


def _checked(log_chances: Array) -> Array:
    total = float(np.logaddexp.reduce(log_chances))
    if not abs(total) < 1e-9:
        raise NotCertified(f"chances of the options sum to 1 + {short(math.expm1(total), 3)}")
    return log_chances - total


@dataclass(frozen=True, repr=False)
class RandomizedResponse(LocalMechanism):
    """Reports the true one of k categories with the highest odds that ε allows, else any other.

    With two categories it leaks as much as ε-DP can.

    >>> round(RandomizedResponse(1).curve().beta(0.1), 6)
    0.728172
    """

    epsilon: float
    categories: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            epsilon=_checks.finite_at_least_zero(epsilon=self.epsilon),
            categories=_checks.whole(2, categories=self.categories),
        )

    def _present_test(self) -> TradeoffCurve:
        fall, k = math.exp(-self.epsilon), self.categories
        whole = 1 + (k - 1) * fall
        return three_ratios(self.epsilon, (1 + fall) / whole, (k - 2) * fall / whole)


@dataclass(frozen=True, repr=False)
class UnaryEncoding(LocalMechanism):
    """Reports a bit per category: 1 with probability ``keep`` for the true one, else ``flip``.

    >>> round(UnaryEncoding.optimised(epsilon=1).curve().delta(0.0), 6)
    0.231059
    """

    keep: float
    flip: float
    # What keep and flip imply, where it is known to more digits than they hold.
    miss: float | None = field(default=None, kw_only=True)
    epsilon: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        keep, flip = _checks.probability(keep=self.keep), _checks.probability(flip=self.flip)
        if flip > keep:
            _checks.refuse("flip", f"be at most keep ({keep})", self.flip)
        self._set(keep=keep, flip=flip)
        if self.miss is not None:
            self._set(miss=_checks.probability(miss=self.miss))
            if abs(keep + self._missed() - 1) > 1e-15:
                _checks.refuse("miss", f"be 1 − keep ({1 - keep})", self.miss)
        if self.epsilon is not None:
            self._set(epsilon=_checks.at_least_zero(epsilon=self.epsilon))
            odds = _log_odds(keep, flip, self._missed())
            # Infinite odds of probabilities that underflow leave room for a large ε only.
            off = abs(self.epsilon - odds) > 1e-12 * max(1.0, odds)
            if self.epsilon < 690 if math.isinf(odds) else off:
                _checks.refuse("epsilon", f"be the log odds ratio ({odds})", self.epsilon)

    def _missed(self) -> float:
        return 1 - self.keep if self.miss is None else self.miss

    @classmethod
    def symmetric(cls, epsilon: float) -> Self:
        """Every bit is flipped equally often, with odds e^(ε/2) for the truth (RAPPOR)."""
        e = _checks.finite_at_least_zero(epsilon=epsilon)
        flip = float(expit(-e / 2))
        return cls(1 - flip, flip, miss=flip, epsilon=e)

    @classmethod
    def optimised(cls, epsilon: float) -> Self:
        """The least variance of a frequency estimate at this ε (Wang et al. 2017, OUE)."""
        e = _checks.finite_at_least_zero(epsilon=epsilon)
        return cls(0.5, float(expit(-e)), epsilon=e)

    def _present_test(self) -> TradeoffCurve:
        if self.keep == self.flip:
            return nothing()
        miss = self._missed()
        e = _log_odds(self.keep, self.flip, miss) if self.epsilon is None else self.epsilon
        likely, unlikely = self.keep * (1 - self.flip), self.flip * miss
        middle = self.keep * self.flip + miss * (1 - self.flip)
        absent = np.array([unlikely, middle, likely])
        losses = np.array([e, 0.0, -e])
        return from_atoms(losses, absent, absent[::-1].copy(), Bound.EXACT)


def _log_odds(keep: float, flip: float, miss: float) -> float:
    if keep == flip:
        return 0.0
    if flip == 0 or miss == 0:
        return math.inf
    return math.log(keep) - math.log(flip) + math.log(1 - flip) - math.log(miss)


@dataclass(frozen=True, eq=False, repr=False)
class _Selection(Mechanism):
    """Chooses an option by its utility, which one record changes by at most ``sensitivity``.

    Give the utilities of both worlds for the exact curve of that pair; leave them out for the
    worst case over all utilities. ``monotone`` says that one record moves all utilities the
    same way, which allows half the noise.
    """

    epsilon: float
    absent: Any = None
    present: Any = None
    sensitivity: float = 1.0
    monotone: bool = False

    def __eq__(self, other: object) -> bool:
        # Utilities are arrays, which compare number by number.
        return type(other) is type(self) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        values = (getattr(self, each.name) for each in fields(self))
        return tuple(
            tuple(value.tolist()) if isinstance(value, np.ndarray) else value for value in values
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            epsilon=_checks.finite_at_least_zero(epsilon=self.epsilon),
            sensitivity=_checks.finite_above_zero(sensitivity=self.sensitivity),
        )
        if not isinstance(self.monotone, bool):
            _checks.refuse("monotone", "be True or False", self.monotone)
        if (self.absent is None) != (self.present is None):
            _checks.refuse("present", "be given together with absent, or neither", self.present)
        if self.absent is not None:
            self._check_utilities()

    def _check_utilities(self) -> None:
        absent = _checks.vector(absent=self.absent).copy()
        present = _checks.vector(present=self.present).copy()
        if absent.shape != present.shape:
            _checks.refuse(
                "present", f"have as many utilities as absent ({absent.size})", present.size
            )
        moves = present - absent
        if np.max(np.abs(moves)) > self.sensitivity * (1 + 1e-9):
            rule = f"differ from absent by at most the sensitivity {self.sensitivity}"
            _checks.refuse("present", rule, self.present)
        if self.monotone and np.any(moves > 0) and np.any(moves < 0):
            _checks.refuse("present", "move one way only where monotone is True", self.present)
        for column in (absent, present):
            column.flags.writeable = False
        self._set(absent=absent, present=present)

    def _in_noise_units(self) -> tuple[Array, Array]:
        rate = self.epsilon / self.sensitivity / (1 if self.monotone else 2)
        return rate * self.absent, rate * self.present

    def _pair(self, log_chances: Callable[[Array], Array]) -> AtomicCurve:
        """The exact curve from the log-probabilities of every option in both worlds."""
        absent, present = (log_chances(utility) for utility in self._in_noise_units())
        return self._from_logs(present - absent, absent, present)

    def _from_logs(self, losses: Array, absent: Array, present: Array) -> AtomicCurve:
        masses = np.exp(absent), np.exp(present)
        return from_atoms(losses, *masses, Bound.EXACT, keep_empty=True)

    def _softmax_pair(self) -> AtomicCurve:
        """The pair of the exponential mechanism, its losses not differences of logarithms."""
        absent, present = self._in_noise_units()
        move = present - absent
        log_p = np.asarray(log_softmax(absent))
        if np.max(np.abs(move)) < 0.01:
            total = math.log1p(float(np.sum(np.exp(log_p) * np.expm1(move))))
        else:
            total = float(logsumexp(log_p + move))
        return self._from_logs(move - total, log_p, np.asarray(log_softmax(present)))


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialMechanism(_Selection):
    """Chooses an option with probability proportional to exp(ε·utility/(2·sensitivity)).

    Its worst case multiplies the odds of any event by at most e^ε, which is half as much leak
    as ε-DP allows (Dong, Durfee and Rogers 2020).

    >>> round(ExponentialMechanism(epsilon=1).curve().beta(0.1), 6)
    0.768031
    """

    def _present_test(self) -> TradeoffCurve:
        if self.absent is None:
            return LogisticCurve(self.epsilon)
        return self._softmax_pair()


@dataclass(frozen=True, eq=False, repr=False)
class PermuteAndFlip(_Selection):
    """Visits options in random order until one is taken, the better the likelier.

    Each is taken with probability exp(ε·(utility − best)/(2·sensitivity)). The same as taking
    the largest utility after adding exponential noise. Over all utilities it
    leaks exactly as much as Laplace noise of the same ε.

    >>> round(PermuteAndFlip(epsilon=1).curve().beta(0.3), 6)
    0.306566
    """

    def _present_test(self) -> TradeoffCurve:
        if self.absent is None:
            return LaplaceCurve(self.epsilon)
        return self._pair(permute_and_flip)


class MaxNoise(Enum):
    """What report-noisy-max adds to each utility before it reports the largest."""

    LAPLACE = "laplace"
    GUMBEL = "gumbel"


@dataclass(frozen=True, eq=False, repr=False)
class ReportNoisyMax(_Selection):
    """Adds noise to every utility and reports which option comes out largest.

    With Gumbel noise it is the exponential mechanism. With Laplace noise the worst case over all
    utilities is bounded by, and at its corners approaches, the Laplace curve (`Bound.LOWER`).

    >>> ReportNoisyMax(epsilon=1).curve().epsilon(delta=0)
    1.0
    """

    noise: MaxNoise = MaxNoise.LAPLACE

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.member(MaxNoise, noise=self.noise)

    def _present_test(self) -> TradeoffCurve:
        gumbel = self.noise is MaxNoise.GUMBEL
        if self.absent is None:
            return (
                LogisticCurve(self.epsilon) if gumbel else LaplaceCurve(self.epsilon, Bound.LOWER)
            )
        return self._softmax_pair() if gumbel else self._pair(laplace_max)
