"""Bets on every step of one training: a test supermartingale under any dependence (Ville).

The null hypothesis is that every step, given its past, is μ-GDP for each canary. Canary j is in
step t by a fair coin of its own. A guess "in" on an event A of what the step released, "out" on an
event A' apart from it, and no guess elsewhere, is right (X = 1) or wrong (Y = 1). Given the past
and the other coins, for every b ≥ 1,

    E[X − b·Y] = ½(P(A | in) − b·P(A | out)) + ½(P(A' | out) − b·P(A' | in)) ≤ δ(ln b),

as a μ-GDP step is (ln b, δ(ln b))-DP in both orders (Dong, Roth and Su 2022, Corollary 1). Means
over canaries obey the same inequality *whatever their dependence*, since expectations add; and
averaged over the other coins it stays. Events and b must be fixed by the past. So

    F = 1 + λ·(mean X − b·mean Y − δ(ln b)),    0 ≤ λ ≤ 1/(b + δ(ln b)),

has E[F | past] ≤ 1, and F ≥ 0 since mean X − b·mean Y ≥ −b. A product of such factors is a test
supermartingale, a fixed mixture of such products is another, and by Ville's inequality it ever
reaches 1/α with probability at most α, whenever one looks and whatever makes one stop.

With λ = c/(b + δ) the factor is (1 − c) + c·(b + mean X − b·mean Y)/(b + δ(ln b)), which falls
with δ and so with μ. Events, b and c do not depend on μ here: the refuted sets are nested, and the
infimum of the μ that are not refuted, walking upward, is the only place where they end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tellapart._checks import Array

# Where to bet: on all canaries at once, or on one group of them (a block of layers).
_ALL, _GROUPS = 0.5, 0.5
# What is read: the release, or what it differs from last step's noise (a generator seeded anew).
_READ = {False: 0.75, True: 0.25}
# How much a wrong guess costs, and which share of what may be staked is staked. With many canaries
# a step b = 1 grows fastest, as (1 + TV of the truth)/(1 + TV of the claim) at c = 1; few canaries
# vary, and want smaller stakes on surer guesses.
_PRICES = {1.0: 0.5, 2.0: 0.35, 6.0: 0.15}
_STAKES = {0.99: 0.5, 0.4: 0.25, 0.12: 0.15, 0.03: 0.1}
# So many canaries' worth the claim itself counts for when events follow the past.
_PRIOR = 8.0
_LARGEST, _NARROW = 40.0, 1e-6
_ROUNDING = 1e-12


def gdp_delta(mu: float, price: float) -> float:
    """The δ of μ-GDP at ε = ln(price), rounded up."""
    if mu <= 0:
        return 0.0
    epsilon = math.log(price)
    delta = ndtr(mu / 2 - epsilon / mu) - price * ndtr(-mu / 2 - epsilon / mu)
    return min(float(delta) + 1e-14 * price, 1.0)


class _Bet(NamedTuple):
    """One way to bet: its share of the stake, and mean X − b·mean Y at each step."""

    weight: float
    price: float
    gains: Array


class _CanaryPlaces(NamedTuple):
    """Where to bet: the place of each canary at each step, as sums over all of them are taken."""

    of_canary: NDArray[np.intp]
    bins: NDArray[np.intp]
    shape: tuple[int, int]
    sizes: Array

    @classmethod
    def of(cls, of_canary: NDArray[np.intp], many: int) -> _CanaryPlaces:
        """So many places; each canary is at one of them."""
        steps = len(of_canary)
        bins = (of_canary + many * np.arange(steps)[:, None]).ravel()
        sizes = np.bincount(bins, minlength=steps * many).reshape(steps, many)
        return cls(of_canary, bins, (steps, many), sizes.astype(float))

    def sums(self, numbers: NDArray[Any]) -> Array:
        """The sum over the canaries at each place, step by step."""
        steps, many = self.shape
        if many == 1:  # the same, as a product
            return np.asarray(numbers @ np.ones((numbers.shape[1], 1)))
        totals = np.bincount(self.bins, numbers.ravel(), minlength=steps * many)
        return np.asarray(totals.reshape(self.shape))

    def before(self, numbers: NDArray[Any]) -> Array:
        """What all earlier steps have summed up to at each place."""
        totals = np.cumsum(self.sums(numbers), axis=0)
        return np.concatenate([np.zeros((1, self.shape[1])), totals[:-1]])

    def of_each(self, numbers: Array) -> Array:
        """A number of each place and step, for each canary there."""
        return np.asarray(np.take_along_axis(numbers, self.of_canary, axis=1))


@dataclass(frozen=True, eq=False)
class StepBets:
    """The wealth of bets that some step of a training leaks more than a given μ.

    ``readings`` has a row for each step and a column for each canary: what was released along it,
    in clipping norms. ``previous`` is the noise of the step before along the same canary, ``coins``
    say which were in, ``groups`` which part of the model they look at. ``labels`` are all the
    groups that there can be: stakes divided among those drawn so far would change with the draws.
    """

    readings: Array
    previous: Array
    coins: NDArray[np.bool_]
    groups: NDArray[np.intp]
    noise: float  # as claimed, in clipping norms: where events start from
    labels: tuple[int, ...]

    @cached_property
    def _bets(self) -> tuple[_Bet, ...]:
        return tuple(self._every_bet())

    def _every_bet(self) -> Iterator[_Bet]:
        many = len(self.labels)
        everywhere = _CanaryPlaces.of(np.zeros_like(self.groups), 1)
        places = [(_ALL if many > 1 else 1.0, everywhere)]
        if many > 1:
            groups = np.searchsorted(np.array(self.labels), self.groups)
            places.append((_GROUPS / many, _CanaryPlaces.of(groups, many)))
        for (share, each), (less_last, read) in product(places, _READ.items()):
            log_ratio = self._log_ratio(each, less_last)
            for price, part in _PRICES.items():
                for gains in self._gains(each, log_ratio, price).T:
                    yield _Bet(share * read * part, price, gains)

    def _log_ratio(self, places: _CanaryPlaces, less_last: bool) -> Array:
        """How much likelier "in" is than "out", by the Gaussian laws that earlier steps suggest."""
        z = self.readings - self.previous if less_last else self.readings
        finite = np.isfinite(z)
        value = np.where(finite, z, 0.0)
        spread = self.noise**2 * (2 if less_last else 1)
        inside, outside = finite & self.coins, finite & ~self.coins
        many_in, many_out = places.before(inside) + _PRIOR, places.before(outside) + _PRIOR
        with np.errstate(all="ignore"):
            mean_in = (places.before(value * inside) + _PRIOR) / many_in
            mean_out = places.before(value * outside) / many_out
            squares = places.before(value**2) + _PRIOR * (2 * spread + 1)
            own = squares - many_in * mean_in**2 - many_out * mean_out**2
            variance = np.maximum(own / (many_in + many_out), 1e-12 * (1 + mean_in**2))
            middle, gap = (mean_in + mean_out) / 2, mean_in - mean_out
            ratio = (z - places.of_each(middle)) * places.of_each(gap / variance)
        return np.where(np.isnan(ratio), 0.0, ratio)

    def _gains(self, places: _CanaryPlaces, log_ratio: Array, price: float) -> Array:
        """Mean X − b·mean Y at each step and place; NaN where there is no canary to guess."""
        sure = math.log(price)
        says_in = log_ratio >= sure
        says_out = (log_ratio <= -sure) & ~says_in
        right = (says_in & self.coins) | (says_out & ~self.coins)
        wrong = (says_in & ~self.coins) | (says_out & self.coins)
        with np.errstate(invalid="ignore"):
            return np.asarray(places.sums(right - price * wrong) / places.sizes)

    def log_wealth(self, mu: float) -> float:
        """The largest that one coin has ever become against "every step is μ-GDP", in logs."""
        return float(np.max(self.log_path(mu)))

    def log_path(self, mu: float) -> Array:
        """What one coin has become after each step, in logs; rounding errs downwards."""
        return _mixed(self._bets, mu)

    def at_best(self, mu: float) -> float:
        """What it would have become had every guess been right."""
        lucky = [bet._replace(gains=bet.gains * 0 + 1) for bet in self._bets]
        return float(np.max(_mixed(lucky, mu)))

    def mu_lower(self, level: float) -> float:
        """The infimum of the μ that are not refuted: with this level, some step leaks more."""
        target = -math.log(level)
        if self.log_wealth(0.0) < target:
            return 0.0
        low, high = 0.0, _LARGEST
        while high - low > _NARROW:
            middle = (low + high) / 2
            if self.log_wealth(middle) >= target:
                low = middle
            else:
                high = middle
        return low


def _mixed(bets: Sequence[_Bet], mu: float) -> Array:
    """The wealth of all bets together, each at every stake; their shares sum to 1."""
    stakes = np.array(list(_STAKES))[:, None]
    shares = np.log(list(_STAKES.values()))[:, None]
    path = np.full(len(bets[0].gains), -np.inf)
    for bet in bets:
        ratio = (bet.price + bet.gains) / (bet.price + gdp_delta(mu, bet.price))
        ratio = np.where(np.isnan(ratio), 1.0, ratio)  # nothing to bet on
        each = np.cumsum(np.log1p(stakes * (ratio - 1)), axis=1)
        path = np.logaddexp(path, np.logaddexp.reduce(each + shares) + math.log(bet.weight))
    return np.asarray(path - _ROUNDING * len(path))
