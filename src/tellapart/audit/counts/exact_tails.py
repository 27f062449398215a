"""Exact tails of two binomials at the worst FPR: the p-value of so many flagged, certified.

A region of outcomes holds, with each outcome, those with more flagged members or fewer flagged
others. Its probability rises with TPR and falls with FPR. On a straight path in the logits of both
rates its logarithm is convex, but for terms that are known; so it lies hardly above the line
between the ends. Paths over the claim, halved until that is low enough, prove a bound for every FPR
(no grid of FPRs could).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import binomial

# The largest TPR that a claim allows at each FPR; non-decreasing and concave.
Claim = Callable[[Array], Array]
# From how many flagged members on an outcome with so many flagged non-members lies in a region.
Rule = Callable[[Array], Array]

_SINGLES = 4000
_BLOCKS_PER_DEVIATION = 24
_AT_ONCE = 200_000
# So many binomial tails a certificate may cost.
BUDGET = 400_000
_MOST_PARTS = 64.0
# Binomial tails have 12 digits; what is lost in the rest is given back here.
_ROUNDING = 1 + 1e-11
# Claims have 10 digits at least, and lines through two of their values hardly less.
_ROOM = 4e-10
# Paths may be so long, squared in standard deviations: beyond, both ends say too little.
_FAR = 16.0
# At so many places of an interval a claim is asked how it bends.
_PLACES = 6


class Span(NamedTuple):
    """The false-positive rates that a statement is about."""

    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class Region:
    """Outcomes that incriminate at least as much as the one observed.

    Numbers of flagged non-members fall into blocks, each treated like its first number, which makes
    the region larger, never smaller.
    """

    members: int
    non_members: int
    starts: Array
    least: Array
    # Left-out probabilities are counted as if they incriminated; they are far below this.
    level: float

    @cached_property
    def middles(self) -> Array:
        """The middle of each block."""
        return np.floor((self.starts + self._ends()) / 2)

    @cached_property
    def reach(self) -> tuple[Array, Array]:
        """How far each block reaches below and above its middle."""
        return self.middles - self.starts, self._ends() - self.middles

    def _ends(self) -> Array:
        return np.append(self.starts[1:] - 1, self.non_members)

    @cached_property
    def weights(self) -> Array:
        """What does not depend on the rate in the probability of each middle."""
        return binomial.log_weight(self.middles, self.non_members)


def region(members: int, non_members: int, rule: Rule, span: Span, level: float) -> Region:
    """The region of a rule, fine where these false-positive rates put the flagged non-members."""
    starts = _blocks(non_members, span, level)
    # Rounding must not make more flagged non-members incriminate more.
    least = np.minimum.accumulate(rule(starts)[::-1])[::-1]
    return Region(members, non_members, starts, least, level)


def _blocks(non_members: int, span: Span, level: float) -> Array:
    if non_members <= _SINGLES:
        return np.arange(non_members + 1.0)
    first, last = _window(np.array([span.low, span.high]), non_members, level)
    angles = np.arcsin(np.sqrt(np.clip([first[0] / non_members, last[1] / non_members], 0, 1)))
    deviations = 2 * math.sqrt(non_members) * float(angles[1] - angles[0])
    count = int(_BLOCKS_PER_DEVIATION * deviations) + 2
    inner = np.floor(non_members * np.sin(np.linspace(angles[0], angles[1], count)) ** 2)
    return np.unique(np.concatenate([[0.0], np.clip(inner, 0, non_members)]))


def _window(fpr: Array, non_members: int, level: float) -> tuple[Array, Array]:
    """Between which numbers the flagged non-members fall, but for a negligible probability.

    Few flagged non-members are what makes an outcome guilty, so less of the upper side matters.
    """
    below, above = -math.log(1e-6 * level), -math.log(1e-3 * level)
    mean, spread = non_members * fpr, np.sqrt(2 * non_members * fpr * (1 - fpr))
    low = np.floor(mean - spread * math.sqrt(below) - below / 3)
    return np.maximum(low, 0.0), np.minimum(mean + spread * math.sqrt(above) + above, non_members)


def probability(region: Region, fpr: Array, tpr: Array) -> Array:
    """The probability of the region under each pair of rates, or hardly more; never less."""
    low, high = _window(fpr, region.non_members, region.level)
    first = np.searchsorted(region.starts, low, side="right") - 1
    last = np.searchsorted(region.starts, high, side="right") - 1
    chances = np.empty(fpr.size)
    if not fpr.size:
        return chances
    rows = max(1, _AT_ONCE // (int(np.max(last - first)) + 1))
    for i in range(0, fpr.size, rows):
        part = slice(i, i + rows)
        chances[part] = _rows(region, fpr[part], tpr[part], first[part], last[part])
    return np.minimum(chances * _ROUNDING, 1.0)


def _rows(
    region: Region, fpr: Array, tpr: Array, first: NDArray[np.intp], last: NDArray[np.intp]
) -> Array:
    n, alpha = region.non_members, fpr[:, None]
    index = np.asarray(first[:, None] + np.arange(int(np.max(last - first)) + 1))
    inside = index < last[:, None]
    index = np.minimum(index, last[:, None])
    middle, weight = region.middles[index], region.weights[index]
    if region.starts.size > n:
        mass = binomial.mass(weight, middle, n, alpha)
    else:
        below, above = region.reach
        mass = binomial.block_mass(weight, middle, (below[index], above[index]), n, alpha)
    mass = np.where(inside, mass, 0.0)
    # Everything above the window is treated like the window's last block, all below as guilty.
    row = np.arange(fpr.size)
    mass[row, last - first] = binomial.upper_tail(region.starts[last], n, fpr)
    guilty = binomial.upper_tail(region.least[index], region.members, tpr[:, None])
    left = binomial.lower_tail(region.starts[first] - 1, n, fpr)
    return np.asarray((mass * guilty).sum(axis=1) + left)


def deviations(span: Span, non_members: int) -> float:
    """How many standard deviations of the share of flagged non-members a span is long."""
    low, high = (math.asin(math.sqrt(p)) for p in span)
    return 2 * math.sqrt(non_members) * (high - low)


def affordable(span: Span, non_members: int, budget: int) -> bool:
    """Whether a first pass over the span stays within so many binomial tails."""
    wide = non_members if non_members <= _SINGLES else 10 * _BLOCKS_PER_DEVIATION
    return 2 * deviations(span, non_members) * min(wide, 5 * math.sqrt(non_members)) <= budget


def _grid(span: Span, non_members: int, per_deviation: float, most: int) -> Array:
    """Rates across a span, evenly in the scale where all have the same standard deviation."""
    low, high = (math.asin(math.sqrt(p)) for p in span)
    count = min(int(per_deviation * deviations(span, non_members)) + 3, most)
    rates = np.sin(np.linspace(low, high, count)) ** 2
    rates[0], rates[-1] = span
    return np.asarray(rates)


def worst_fpr(region: Region, claim: Claim, span: Span, rounds: int = 8) -> tuple[float, float]:
    """Where in a span the region is likeliest under a claim, and how likely; not certified."""
    at = _grid(span, region.non_members, 1.0, 60)
    fpr = worst = 0.0
    for _ in range(rounds):
        deadline.check()
        chance = probability(region, at, claim(at))
        best = int(np.argmax(chance))
        if chance[best] >= worst:
            fpr, worst = float(at[best]), float(chance[best])
        at = np.linspace(at[max(best - 1, 0)], at[min(best + 1, at.size - 1)], 9)
    return fpr, worst


class Proof(NamedTuple):
    """What a search for the worst FPR has shown.

    No FPR makes the region likelier than ``bound``; it is infinite where the target was missed,
    with a ``span`` around an FPR that misses it, or none if the search was given up.
    """

    bound: float
    spent: int
    span: Span | None = None


def certified(region: Region, claim: Claim, span: Span, target: float, budget: int) -> Proof:
    """Try to show, with so many binomial tails, that no FPR of the span exceeds the target."""
    edges = _grid(span, region.non_members, 1.0, max(budget, 2))
    low, high = edges[:-1], edges[1:]
    worst, spent = 0.0, 0
    while low.size:
        deadline.check()
        paths = straight_paths(region, claim, low, high)
        spent += paths.cost(region)
        if spent > budget:
            return Proof(math.inf, spent)
        bound, ends = paths.bounds(region)
        open_ = bound > target
        worst = max(worst, float(np.max(bound[~open_], initial=0.0)))
        low, high, bound, reached = low[open_], high[open_], bound[open_], ends[open_]
        if low.size:
            over = np.flatnonzero(reached >= target)  # perhaps for being over the claim
            spent += _cost(region, low[over])
            reached[over] = probability(region, low[over], claim(low[over]))
            peak = int(np.argmax(reached))
            if reached[peak] >= target:
                wide = high[peak] - low[peak]
                around = Span(max(low[peak] - wide, span.low), min(high[peak] + wide, span.high))
                return Proof(math.inf, spent, around)
            excess = (bound - reached) / (target - reached)
            plain = paths.bend[open_] == 0
            low, high = _split(low, high, np.where(plain, excess, np.sqrt(excess)))
    return Proof(worst, spent)


class Paths(NamedTuple):
    """For each interval of FPRs two pairs of rates; the straight path between lies over the claim.

    Straight in logits. ``bend`` is at least the square of its length in standard deviations. It is
    0 where both pairs are the interval's lowest FPR and its highest TPR. ``joined`` says where the
    last pair is the first of the next interval.
    """

    fpr: Array
    tpr: Array
    bend: Array
    joined: NDArray[np.bool_]

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Where the last pair of rates is no other's."""
        return (self.bend > 0) & ~self.joined

    def cost(self, region: Region) -> int:
        """How many binomial tails `bounds` takes."""
        return _cost(region, self.fpr[0]) + _cost(region, self.fpr[1, self.alone])

    def bounds(self, region: Region) -> tuple[Array, Array]:
        """No pair of rates on a path makes the region likelier, and how likely an end does.

        Up to both laws' normalising factors, the probability of a region is a sum of exponentials
        of the two logits. So its logarithm is convex on a straight path, but for those factors,
        whose logarithms bend as much as the counts vary.
        """
        alone = self.alone
        fpr = np.append(self.fpr[0], self.fpr[1, alone])
        chance = probability(region, fpr, np.append(self.tpr[0], self.tpr[1, alone]))
        first = np.maximum(chance[: alone.size], 1e-300)
        last = np.where(self.joined, np.append(first[1:], 1.0), first)
        last[alone] = np.maximum(chance[alone.size :], 1e-300)
        rise = np.log(last) - np.log(first)
        # The largest t·rise + t·(1 − t)·bend/2 with 0 ≤ t ≤ 1.
        with np.errstate(all="ignore"):
            t = np.where(self.bend > 0, np.clip(0.5 + rise / self.bend, 0.0, 1.0), 0.0)
        highest = first * np.exp(np.minimum(t * rise + t * (1 - t) * self.bend / 2, 700.0))
        ends = np.maximum(first, last)
        return np.minimum(np.maximum(highest * _ROUNDING, ends), 1.0), ends


def straight_paths(region: Region, claim: Claim, low: Array, high: Array) -> Paths:
    """Straight paths over a claim, lifted by no more than what its bend in logits asks for."""
    at = low + np.linspace(0.0, 1.0, _PLACES)[:, None] * (high - low)
    at[-1] = high
    allowed = np.asarray(claim(at.ravel())).reshape(at.shape)
    with np.errstate(all="ignore"):
        x, y = logit(at), logit(allowed)
        line = y[0] + (y[-1] - y[0]) * ((x - x[0]) / (x[-1] - x[0]))
        lifted = y[[0, -1]] + _lift(at, allowed, x, line)
        # Neighbours share the pair of rates between them, if they can.
        joined = np.append((low[1:] == high[:-1]) & np.isfinite(lifted[1, :-1] + lifted[0, 1:]), 0)
        joined = joined.astype(bool)
        after = np.flatnonzero(joined) + 1
        lifted[1, after - 1] = lifted[0, after] = np.maximum(lifted[1, after - 1], lifted[0, after])
        fpr, tpr = at[[0, -1]], expit(lifted)
        bend = region.non_members * (x[-1] - x[0]) ** 2 * _variance(*fpr)
        bend += region.members * (lifted[1] - lifted[0]) ** 2 * _variance(*tpr)
    straight = (bend < _FAR) & np.all(tpr < 1, axis=0)
    joined &= straight & np.append(straight[1:], False)
    fpr, tpr = np.where(straight, fpr, low), np.where(straight, tpr, allowed[-1])
    return Paths(fpr, tpr, np.where(straight, np.maximum(bend, 1e-300), 0.0), joined)


def _lift(at: Array, allowed: Array, x: Array, line: Array) -> Array:
    """How far a claim rises over a line at most, both in logits; infinite where it is not known.

    A claim is concave, so between two places it lies below what joins the two before them, and
    below what joins the two after. A straight line in rates bends in logits, too.
    """
    step = at[1] - at[0]
    slope = np.diff(allowed, axis=0) / step
    fall = slope[:-1] - slope[1:]
    known = np.all(fall * step >= -_ROOM * allowed[1:-1], axis=0)
    fall = np.maximum(fall, 0.0)
    endless = np.full((1, step.size), np.inf)
    before, after = np.concatenate([endless, fall]), np.concatenate([fall, endless])
    least, most = np.minimum(before, after), np.maximum(before, after)
    gap = step * np.where(least > 0, least / (1 + least / most), 0.0)
    left, right = allowed[:-1] + gap, allowed[1:] + gap
    steepest = slope * at[1:] * (1 - at[:-1]) / np.minimum(left * (1 - left), right * (1 - right))
    curved = np.diff(x, axis=0) ** 2 / 8 * steepest * (1 + steepest)
    above = np.maximum(logit(left) - line[:-1], logit(right) - line[1:]) + curved
    highest = np.max(right, axis=0)
    # A claim of 1 or more leaves no number here.
    lift = np.maximum(np.max(above, axis=0), 0.0) + _ROOM / (1 - highest)
    return np.where(known & (highest < 1), lift, np.inf)


def _variance(first: Array, last: Array) -> Array:
    """The largest p·(1 − p) between two rates."""
    return np.asarray(np.maximum(first, last) * (1 - np.minimum(first, last)))


def _cost(region: Region, fpr: Array) -> int:
    """How many binomial tails one look at these rates takes."""
    low, high = _window(fpr, region.non_members, region.level)
    first = np.searchsorted(region.starts, low, side="right")
    return int((np.searchsorted(region.starts, high, side="right") - first + 1).sum())


def _split(low: Array, high: Array, excess: Array) -> tuple[Array, Array]:
    """Cut each interval into as many parts as its excess over the target asks for."""
    parts = np.clip(np.ceil(1.3 * excess), 2, _MOST_PARTS).astype(int)
    begin, end = np.arcsin(np.sqrt(low)), np.arcsin(np.sqrt(high))
    of = np.repeat(np.arange(low.size), parts)
    step = np.arange(of.size) - np.repeat(np.cumsum(parts) - parts, parts)
    width = ((end - begin) / parts)[of]
    cuts = np.sin(begin[of] + step * width) ** 2
    lows = np.where(step == 0, low[of], cuts)
    last = step == parts[of] - 1
    highs = np.where(last, high[of], np.append(lows[1:], 1.0))
    return lows, highs
