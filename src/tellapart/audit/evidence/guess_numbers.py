"""How many canaries to guess in a one-run audit: fixed by m, level and claim before any data.

A test of the number of right guesses is valid for every number of guesses that does not depend on
the output, so any rule may fix it that reads the number of canaries m, the level and the claim
alone. Given one number of guesses, a claim f is refuted from some number c(f) of right ones on;
that any true claim is refuted has the chance of the least such c(f), which is at most the level:
bound and verdict hold together, for as many claims as one likes. Numbers fixed by another claim
are another test, with a level of its own.

The rule looks for the largest bound to be expected of the best attack if the truth were the claim.
A claim by its curve has one best number. A bare (ε, δ) says nothing of the mechanism: Gaussian
noise is best guessed on a few canaries in its tails, on more of them where it leaks more than is
claimed, and Laplace noise on some 30 % at either end. One number, or two that divide the level:
whichever loses less, on average, of the ε that each of these would show.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tellapart._checks import Array
from tellapart._numeric.solve import falling_root, first_whole
from tellapart.audit.counts.clopper_pearson import epsilon_of_mu
from tellapart.audit.counts.one_run_guesses import (
    Guesses,
    epsilon_lower,
    mu_lower,
    mu_refuted,
    p_value,
)
from tellapart.audit.counts.one_run_worst_case import FURTHER, MOST_GUESSES, curve_test
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve, LaplaceCurve
from tellapart.curve.loss_tails import sketched

# Bounds on ε or μ from so many guesses, at a level.
_Bound = Callable[[Guesses, float], float]

_TRIED, _FEWEST = 64, 3
# So many numbers in a row that promise less end the search.
_PATIENCE = 12
# How closely a bound is found, of the largest that is asked for; and a false-positive rate.
_PARTS, _NARROW = 2**9, 1e-18
_STEPS = 48, 24, 24
# The δ at which Gaussian noise has an ε, where a claim names none.
_DELTA = 1e-5
# Without a claim: Gaussian noise with μ = 1 and Laplace noise with ε = 2.
_MU, _EPSILON = 1.0, 2.0
# By how much a Gaussian leak beyond a bare claim is larger, which must be found, too.
_WORSE = 1.5
# The share of the level that the smaller of two numbers of guesses may get.
_SHARES = 0.5, 0.75
_SMALLEST, _LARGEST = 1e-3, 60.0
# A curve this close to none at its middle says nothing of a mechanism.
_NOTHING = 1e-9


class PlannedGuesses(NamedTuple):
    """How many canaries will be guessed "in" and "out", and the level of the test."""

    guesses_in: int
    guesses_out: int
    level: float


@dataclass(frozen=True)
class GuessPlan:
    """What fixes the numbers of guesses before any score is seen: a claim, or none.

    >>> GuessPlan(GaussianCurve(1.0)).numbers(canaries=1000, level=0.05)
    (PlannedGuesses(guesses_in=71, guesses_out=71, level=0.05),)
    """

    claim: TradeoffCurve | None = None

    def numbers(self, canaries: int, level: float) -> tuple[PlannedGuesses, ...]:
        """One number of guesses, or two that divide the level."""
        planned = _planned(self.claim, canaries, level)
        return tuple(PlannedGuesses(count, count, level * share) for count, share in planned)


@dataclass(frozen=True)
class _Aim:
    """A mechanism that may be the truth, and the bound on it that one would like to be large."""

    truth: TradeoffCurve
    bound: _Bound

    def promised(self, counts: list[int], canaries: int, level: float) -> Array:
        """For so many guesses a side, the bound that more than half of all audits reach."""
        right = np.array(counts) * self._rates(counts, canaries)
        bounds: list[float] = []
        for count, expected in zip(counts, right, strict=True):
            if bounds and len(bounds) - int(np.argmax(bounds)) > _PATIENCE and max(bounds) > 0:
                bounds.append(0.0)
                continue
            likely = min(math.floor(expected + 0.3), 2 * count)
            bounds.append(self.bound(Guesses(canaries, 2 * count, likely), level))
        return np.array(bounds)

    def deviations(self, counts: list[int], canaries: int) -> Array:
        """By how many deviations luck would be exceeded, where no bound is to be expected."""
        beyond = np.maximum(self._rates(counts, canaries) - 1, 0.0)
        return np.asarray(beyond * np.sqrt(np.array(counts)) + 1e-12)

    def _rates(self, counts: list[int], canaries: int) -> Array:
        """The precision at both ends, added up."""
        return _rates(self.truth, tuple(counts), canaries)


@lru_cache(maxsize=16)
def _rates(truth: TradeoffCurve, counts: tuple[int, ...], canaries: int) -> Array:
    share = np.array(counts) / canaries
    return precision(truth, share) + precision(truth.mirrored(), share)


@lru_cache(maxsize=64)
def _planned(
    claim: TradeoffCurve | None, canaries: int, level: float
) -> tuple[tuple[int, float], ...]:
    """Guesses a side, and their share of the level."""
    most = canaries // 2
    if most <= _FEWEST:
        return ((most, 1.0),)
    ratio = (most / _FEWEST) ** (1 / (_TRIED - 1))
    tried = sorted({min(round(_FEWEST * ratio**k), most) for k in range(_TRIED)})
    aims = _aims(claim)
    whole = np.array([aim.promised(tried, canaries, level) for aim in aims])
    weak = whole.max(axis=1).min() == 0
    if weak:
        whole = np.array([aim.deviations(tried, canaries) for aim in aims])
    top = whole.max(axis=1, keepdims=True)
    lost = np.mean(top - whole, axis=0)
    # One number must be able to refute the claim, and of two the larger.
    enough = _enough(claim, canaries, tried, level, int(np.argmin(lost)))
    least = lost[enough:].min()
    planned: tuple[tuple[int, float], ...] = ((tried[enough + int(np.argmin(lost[enough:]))], 1.0),)
    if len(aims) == 1 or weak:
        return planned
    many = [tried[int(whole.argmax(axis=1).max())]]
    for share in _SHARES:
        few = np.array([aim.promised(tried, canaries, level * share) for aim in aims])
        far = np.array([aim.promised(many, canaries, level * (1 - share)) for aim in aims])
        lost = np.mean(top - np.maximum(few, far), axis=0)
        able = claim is None or _able(claim, canaries, many[0], level * (1 - share))
        if lost.min() < least and able:
            least, first = lost.min(), tried[int(np.argmin(lost))]
            planned = ((first, share), (many[0], 1 - share))
    return planned


def _enough(
    claim: TradeoffCurve | None, canaries: int, tried: list[int], level: float, best: int
) -> int:
    """From which place on numbers of guesses are able to refute; all of them where none is.

    If so many right guesses refute a claim, more of them do. So it is asked about the best number,
    and rarely about others: then of a sketch, as rates of compositions take long.
    """
    last = len(tried) - 1
    if claim is None or _able(claim, canaries, tried[best], level):
        return 0
    sketch = sketched(claim)
    if not _able(sketch, canaries, tried[last], level):
        return 0
    return first_whole(lambda place: _able(sketch, canaries, tried[place], level), best, last)


def _able(claim: TradeoffCurve, canaries: int, count: int, level: float) -> bool:
    """Whether so many guesses a side would refute the claim if all were right."""
    perfect = Guesses(canaries, 2 * count, 2 * count)
    if isinstance(claim, GuaranteeCurve):
        return p_value(perfect, claim.claimed_epsilon, claim.claimed_delta) < level
    if isinstance(claim, GaussianCurve):
        return mu_refuted(perfect, claim.mu, level)
    return curve_test(claim, canaries, perfect.made, level).by_recursion(perfect.right)


def _aims(claim: TradeoffCurve | None) -> list[_Aim]:
    if claim is None:
        gaussian, laplace = GaussianCurve(_MU), LaplaceCurve(_EPSILON)
        pair = _epsilon_at(_DELTA)
        return [_Aim(gaussian, _mu), _Aim(gaussian, pair), _Aim(laplace, pair)]
    if not isinstance(claim, GuaranteeCurve) and float(claim.tpr(0.5)) > 0.5 + _NOTHING:
        return [_Aim(claim, _mu)]
    if not isinstance(claim, GuaranteeCurve):  # as of ε = 0: nothing tells how it would leak
        claim = GuaranteeCurve(0.0, 0.0)
    epsilon = min(max(claim.claimed_epsilon, _SMALLEST), _LARGEST)
    bound = _epsilon_at(claim.claimed_delta)
    delta = min(max(claim.claimed_delta, _DELTA), 0.5)
    as_claimed = _gaussian(epsilon, delta)
    worse = GaussianCurve(_WORSE * as_claimed.mu)
    return [_Aim(truth, bound) for truth in (as_claimed, worse, LaplaceCurve(epsilon))]


def _gaussian(epsilon: float, delta: float) -> GaussianCurve:
    """Gaussian noise with this ε at this δ."""

    def larger(mu: Array) -> Array:
        return np.array(epsilon - GaussianCurve(float(mu)).epsilon(delta))

    ends = np.array(1e-9), np.array(_LARGEST)
    return GaussianCurve(float(falling_root(larger, *ends, narrow=1e-6)[1]))


def _mu(guesses: Guesses, level: float) -> float:
    """In ε at the usual δ, so that it can be weighed against bounds on ε."""
    exact = FURTHER if guesses.made <= MOST_GUESSES else 1.0
    mu = mu_lower(guesses, level, parts=_PARTS) * exact
    return float(np.interp(mu, *_epsilons_of_mu()))


@lru_cache(maxsize=1)
def _epsilons_of_mu() -> tuple[Array, Array]:
    mus = np.append(0.0, np.geomspace(1e-3, _LARGEST, 100))
    return mus, np.array([epsilon_of_mu(float(mu), _DELTA) for mu in mus])


def _epsilon_at(delta: float) -> _Bound:
    return lambda guesses, level: epsilon_lower(guesses, delta, level, parts=_PARTS)


def precision(curve: TradeoffCurve, share: Array) -> Array:
    """The precision of the best attack that flags this share of canaries, half of them members.

    From below: the FPR is rounded up, by a ten-thousandth.
    """
    # At this share the FPR lies between none and both of its halves; twice in steps of a ratio.
    low, high = np.full(share.shape, _NARROW), 2 * share
    for steps in _STEPS:
        parts = np.linspace(0.0, 1.0, steps)
        fpr = low[..., None] * (high / low)[..., None] ** parts
        few = (curve.tpr(np.minimum(fpr, 1.0)) + fpr) / 2 < share[..., None]
        place = np.clip(few.sum(axis=-1), 1, steps - 1)[..., None]
        low, high = (np.take_along_axis(fpr, place - k, axis=-1)[..., 0] for k in (1, 0))
    return np.maximum(1 - high / (2 * share), 0.5)
