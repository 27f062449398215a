"""E-processes and confidence sequences: audits by betting, valid at any stopping time (Ville).

One event is fixed, or chosen anew for each pair from earlier pairs alone. Under the claim it
happens with the record with probability at most e^ε·(without it) + δ, so that no bet gains on
average and the wealth ever reaches 1/(1 − confidence) with probability at most 1 − confidence
(Ville's inequality), whenever one looks and whatever makes one stop. Within a pair the two runs
may depend on each other: only their own rates enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.safe import times_exp
from tellapart._numeric.text import short
from tellapart.audit.bounds import Basis, LowerBound

# The wealth is spread evenly over these fractions: small ones find small excesses in time,
# large ones large excesses at once. None risks all, so that no single pair ruins the audit.
FRACTIONS = np.array([0.03, 0.1, 0.3, 0.5, 0.7, 0.9])
_ROUNDING = 16 * np.finfo(float).eps
_NARROW = 1e-10
_ROUNDS = 500


class PairCounts(NamedTuple):
    """How many pairs, so far, had the event on which side; arrays hold one entry per time."""

    with_only: Array
    without_only: Array
    both: Array
    neither: Array

    def swapped(self) -> PairCounts:
        """The same pairs with the two worlds exchanged."""
        return PairCounts(self.without_only, self.with_only, self.both, self.neither)


def log_wealth(
    counted: PairCounts, low: Array, high: Array, delta: float, both_orders: bool
) -> Array:
    """At least this much, in logs, for every ε from low to high. Rounding errs downwards."""
    log = _one_order(counted, low, high, delta)
    if not both_orders:
        return log
    other = _one_order(counted.swapped(), low, high, delta)
    return np.asarray(np.logaddexp(log, other) - math.log(2))


def _one_order(counted: PairCounts, low: Array, high: Array, delta: float) -> Array:
    near, far = _unit(low, delta), _unit(high, delta)
    total, size = np.zeros(1), np.zeros(1)
    c = FRACTIONS.reshape(-1, *(1 for _ in np.shape(counted.both + near)))
    for count, log in (
        (counted.with_only, np.log1p(c * (1 - delta) * far)),
        (counted.without_only, np.log1p(-c)),
        (counted.both, np.log1p(-c * (1 - far))),
        (counted.neither, np.log1p(-c * delta * near)),
    ):
        total, size = total + count * log, size + count * abs(log)
    each = total - _ROUNDING * (size + 1)
    return np.asarray(np.logaddexp.reduce(each, axis=0) - math.log(len(FRACTIONS)))


def _unit(epsilon: Array, delta: float) -> Array:
    """1/(e^ε + δ), for any ε."""
    least = np.exp(-np.asarray(epsilon, dtype=float))
    return np.asarray(least / (1 + delta * least))


def refuted_below(
    counted: PairCounts, delta: float, target: float, both_orders: bool, first: float = 1.0
) -> Array:
    """The end of the range of ε, from 0 on, at all of which the wealth reaches the target.

    Marches in steps on which the wealth is bounded from below as a whole, so that a claim that
    is not refuted is never jumped over. Errs to a smaller ε, by less than 1e-9.
    """
    reached = np.zeros(np.shape(counted.both))
    step = np.full(reached.shape, first)
    for _ in range(_ROUNDS):
        holds = log_wealth(counted, reached, reached + step, delta, both_orders) >= target
        reached = np.where(holds, reached + step, reached)
        step = np.where(holds, 2 * step, step / 2)
        if np.all(step < _NARROW):
            break
    return reached


# Rates that the pairs so far contradict at this level are not hoped for any more.
_HOPE = 1e-3
_AT_ONCE = 1 << 16
# The caller's own 1/(e^ε + δ) may be rounded differently.
_ULPS = 4 * np.finfo(float).eps
_LARGEST = math.log(np.finfo(float).max)


def wealth(
    x: ArrayLike, y: ArrayLike, *, epsilon: float, bet: ArrayLike, delta: float = 0.0
) -> Array:
    """What betting λ on each pair makes of one coin, pair by pair; the claim forbids growth.

    Each bet must be fixed before its pair is seen, and lie in [0, 1/(e^ε + δ)].

    >>> wealth([1, 1, 0], [0, 0, 1], epsilon=1, bet=0.18394).round(4)
    array([1.1839, 1.4017, 0.7009])
    """
    with_record, without = _outcomes(x, y)
    eps, d = _checks.finite_at_least_zero(epsilon=epsilon), _checks.probability(delta=delta)
    stakes = np.broadcast_to(_checks.reals(bet=bet), _fitting(bet, len(with_record)))
    most = math.exp(-eps) / (1 + d * math.exp(-eps))
    if stakes.size and not (stakes.min() >= 0 and stakes.max() <= most * (1 + _ULPS)):
        _checks.refuse("bet", f"lie in [0, 1/(e^ε + δ)] = [0, {short(most)}]", bet)
    lost = np.where(without, times_exp(stakes, eps), 0.0)
    factors = np.maximum(1 + stakes * (with_record - d) - lost, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.exp(np.cumsum(np.log(factors))))


@dataclass(frozen=True)
class Pairs:
    """How often the event happened with the record only, without it only, both times, never."""

    with_only: int = 0
    without_only: int = 0
    both: int = 0
    neither: int = 0

    def __post_init__(self) -> None:
        for name in ("with_only", "without_only", "both", "neither"):
            count = _checks.whole(0, 10**15, **{name: getattr(self, name)})
            object.__setattr__(self, name, count)

    @property
    def total(self) -> int:
        """The number of pairs."""
        return self.with_only + self.without_only + self.both + self.neither

    def counted(self) -> PairCounts:
        """The four counts as arrays."""
        counts = (self.with_only, self.without_only, self.both, self.neither)
        return PairCounts(*(np.asarray(float(count)) for count in counts))


@dataclass(frozen=True)
class Wager:
    """A bet against a claim of (ε, δ)-DP that may be looked at, and stopped, after any pair.

    `both_orders` halves the stake on "more often with the record" and bets the other half on
    "more often without it", for claims that hold in both orders. `at_most` is a budget of pairs.

    >>> wager = Wager(epsilon=1.0).update([True] * 30, [False] * 30)
    >>> wager.refuted, wager.refuted_after
    (True, 18)
    >>> print(wager.shown())
    ≥ 1.5894 (95 % confidence, exact, e-process over 30 pairs, anytime-valid)
    """

    epsilon: float
    delta: float = 0.0
    confidence: float = 0.95
    both_orders: bool = True
    at_most: int | None = None
    seen: Pairs = Pairs()
    # The pairs up to the largest wealth so far, and the first time that it sufficed.
    best: Pairs = Pairs()
    refuted_after: int | None = None

    def __post_init__(self) -> None:
        _set(self, epsilon=_checks.finite_at_least_zero(epsilon=self.epsilon))
        _set(self, delta=_checks.probability(delta=self.delta))
        _set(self, confidence=_checks.inside_unit(confidence=self.confidence))
        if self.at_most is not None:
            _set(self, at_most=_checks.whole(1, 10**15, at_most=self.at_most))

    def update(self, x: ArrayLike, y: ArrayLike) -> Wager:
        """The wager after these pairs; x says whether the event happened with the record.

        Arrays are gone through pair by pair, so batches refute whenever single pairs would.
        """
        with_record, without = _outcomes(x, y)
        wager = self
        for start in range(0, len(with_record), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            wager = wager._after(with_record[part], without[part])
        return wager

    def _after(self, x: NDArray[np.bool_], y: NDArray[np.bool_]) -> Wager:
        path = _running(x, y, self.seen)
        logs = self._log_wealth(path)
        crossed = np.flatnonzero(logs >= self._target)
        first = self.refuted_after
        if first is None and crossed.size:
            first = self.seen.total + int(crossed[0]) + 1
        top = int(np.argmax(logs))
        better = logs[top] > self._log_wealth(self.best.counted())
        best = _at(path, top) if better else self.best
        return replace(self, seen=_at(path, -1), best=best, refuted_after=first)

    def _log_wealth(self, counted: PairCounts) -> Array:
        claim = np.asarray(self.epsilon)
        return log_wealth(counted, claim, claim, self.delta, self.both_orders)

    @property
    def _target(self) -> float:
        return -math.log1p(-self.confidence)

    @property
    def log_wealth(self) -> float:
        """The logarithm of what one coin has become by now; rounding errs downwards."""
        return float(self._log_wealth(self.seen.counted()))

    @property
    def wealth(self) -> float:
        """What one coin has become by now; only a refuted claim lets it grow large."""
        log = self.log_wealth
        return math.exp(log) if log < _LARGEST else math.inf

    @property
    def refuted(self) -> bool:
        """Whether the wealth has ever sufficed; it stays so."""
        return self.refuted_after is not None

    @property
    def decided(self) -> bool:
        """Whether to stop: refuted, budget spent, or out of hope within the budget.

        Out of hope: even if the pairs left came at the most favourable rates that the pairs so
        far leave plausible (one-sided 99.9 % limits, each kind of pair by itself), the wealth
        would not suffice at the end. Stopping early never makes a refutation less sure.
        """
        if self.refuted or self.at_most is None:
            return self.refuted
        left = self.at_most - self.seen.total
        return left <= 0 or not bool(self.hope(self.seen.counted(), left))

    def hope(
        self, counted: PairCounts, left: int, recent: PairCounts | None = None
    ) -> NDArray[np.bool_]:
        """Whether these pairs leave hope that the wealth suffices after so many more.

        Rates are those of ``recent`` pairs, where the event has changed on the way.
        """
        rates = counted if recent is None else recent
        orders = [(counted, rates)]
        if self.both_orders:
            orders.append((counted.swapped(), rates.swapped()))
        best = [self.enough(_at_best(pairs, rate, left)) for pairs, rate in orders]
        return np.asarray(np.any(best, axis=0))

    def enough(self, counted: PairCounts) -> NDArray[np.bool_]:
        """Whether the wealth suffices after these pairs."""
        return np.asarray(self._log_wealth(counted) >= self._target)

    def _refuted_below(self, pairs: Pairs) -> float:
        first = self.epsilon or 1.0
        counted, target = pairs.counted(), self._target
        return float(refuted_below(counted, self.delta, target, self.both_orders, first))

    def shown(self) -> LowerBound:
        """The least ε, at the claim's δ, that these pairs leave possible at this confidence.

        Holds at all times at once, so the best moment so far counts beside the present one. Every
        ε below it is refuted by bets of its own. A refuted claim lies below it where δ = 0; where
        δ is large the bets against a smaller ε may fail although those against the claim won.
        """
        epsilon = max(self._refuted_below(pairs) for pairs in (self.seen, self.best))
        method = f"e-process over {self.seen.total} pairs, anytime-valid"
        return LowerBound(epsilon, self.confidence, Basis.EXACT, method)


def epsilon_sequence(
    x: ArrayLike,
    y: ArrayLike,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
    both_orders: bool = True,
) -> Array:
    """The ε shown at least after each pair; all hold at once, so any may be quoted.

    >>> epsilon_sequence([1] * 30, [0] * 30)[[5, 10, 29]].round(4)
    array([0.    , 0.4463, 1.5894])
    """
    with_record, without = _outcomes(x, y)
    d = _checks.probability(delta=delta)
    target = -math.log1p(-_checks.inside_unit(confidence=confidence))
    epsilons, before = [np.zeros(0)], Pairs()
    for start in range(0, len(with_record), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        path = _running(with_record[part], without[part], before)
        epsilons.append(refuted_below(path, d, target, both_orders))
        before = _at(path, -1)
    return np.asarray(np.maximum.accumulate(np.concatenate(epsilons)))


def _at_best(counted: PairCounts, rates: PairCounts, left: int) -> PairCounts:
    """The counts at the end, if the pairs left went our way as far as is still plausible."""
    total = np.asarray(sum(rates))
    most = _limit(rates.with_only, total, 1 - _HOPE)
    against = np.minimum(_limit(rates.without_only, total, _HOPE), 1 - most)
    both = np.minimum(_limit(rates.both, total, _HOPE), 1 - most - against)
    shares = (most, against, both, 1 - most - against - both)
    return PairCounts(*(count + left * share for count, share in zip(counted, shares, strict=True)))


def _limit(count: Array, total: Array, level: float) -> Array:
    """Clopper and Pearson's upper (level > 1/2) or lower limit on a rate."""
    if level > 0.5:
        rest = total - count
        return np.where(rest > 0, betaincinv(count + 1, np.maximum(rest, 1), level), 1.0)
    return np.where(count > 0, betaincinv(np.maximum(count, 1), total - count + 1, level), 0.0)


def _running(x: NDArray[np.bool_], y: NDArray[np.bool_], before: Pairs) -> PairCounts:
    start = (before.with_only, before.without_only, before.both, before.neither)
    kinds = (x & ~y, ~x & y, x & y, ~x & ~y)
    return PairCounts(
        *(first + np.cumsum(kind, dtype=float) for first, kind in zip(start, kinds, strict=True))
    )


def _at(path: PairCounts, index: int) -> Pairs:
    return Pairs(*(int(counts[index]) for counts in path))


def _outcomes(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    first, second = _happened(x=x), _happened(y=y)
    if len(first) != len(second):
        _checks.refuse("y", f"hold as many outcomes as x ({len(first)})", len(second))
    return first, second


def _happened(**named: ArrayLike) -> NDArray[np.bool_]:
    ((name, value),) = named.items()
    array = np.asarray(value)
    if array.ndim > 1 or (array.size and array.dtype.kind not in "biuf"):
        _checks.refuse(name, "be outcomes: True or False, or a list of them", value)
    if array.size and not np.all((array == 0) | (array == 1)):
        _checks.refuse(name, "be outcomes: True or False, or a list of them", value)
    return np.atleast_1d(array).astype(bool)


def _fitting(bet: ArrayLike, pairs: int) -> tuple[int]:
    shape = np.shape(bet)
    if shape not in ((), (pairs,)):
        _checks.refuse("bet", f"be one number or one for each of {pairs} pairs", bet)
    return (pairs,)


def _set(wager: Wager, **named: object) -> None:
    ((name, value),) = named.items()
    object.__setattr__(wager, name, value)
