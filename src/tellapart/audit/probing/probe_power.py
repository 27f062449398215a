"""The power of a probe before any call is made: over the events that held-out calls would choose.

Which event is certified depends on the calls set aside. Here they are drawn from the claim's own
noise, x times too small, and searched as a probe searches them. The power is the mean over what is
chosen of the power of its test on the other calls. The search is played a hundred times, and less
often where calls are many, so the mean is no bound: it may err by a point or two to either side.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtri

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart.audit.alternatives import AlternativeHypotheses, alternative, leaking_more
from tellapart.audit.evidence.base import claimed_delta
from tellapart.audit.evidence.count import CORNER, uncounted
from tellapart.audit.evidence.thresholds import End
from tellapart.audit.many_run_audit import Favoured, at_ranks, unseen_scores
from tellapart.audit.probing.calling.outputs import CallOutputs, packed
from tellapart.audit.probing.events import FAVOUR, Event, EventSearch
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.mechanisms.noise import AdditiveNoise
from tellapart.mechanisms.subject import Subject, curve_of

# How often the search is played, and in all on how many calls, at least and at most.
_PLAYED, _FEWEST_PLAYED, _DRAWN = 96, 16, 640_000
# Ranks chosen are told apart by this ratio.
_RATIO = 2.0
# Points between which a curve is drawn from, half of them at either end.
_GRID = 2_000
_SEED = 25
# Whole numbers are listed up to where so little is left, if they are no more than these.
_UNSEEN, _MOST_LISTED = 1e-12, 1_000
# Counts so many deviations off do not matter. So far from where its neighbour says that it is the
# number that refutes is sought first.
_LIKELY, _REACH = 2.7, 4
# What sums of a few numbers of calls are off by.
_ROUNDING = 1e-6


class _SimulatedOutputs(NamedTuple):
    """Outputs on both inputs, higher where the second is likelier; and all of them.

    ``outputs`` are listed, rising, or stand for their neighbours; ``masses`` say how likely each is
    on either input.
    """

    drawn: Callable[[Array], tuple[Array, Array]]  # of uniform numbers, in two columns
    outputs: Array
    masses: tuple[Array, Array]


def probe_power(
    claim: Subject,
    calls: tuple[int, int],
    level: float,
    *,
    roughly: bool = False,
    leaks: AlternativeHypotheses | None = None,
) -> Callable[[float], float]:
    """The power against noise so many times too small, of calls held out and calls that count.

    Who asks it of many numbers of calls makes the curves of all ``leaks`` once.
    """
    aside, kept = calls
    family = alternative(claim) if leaks is None else leaks
    wanted, delta = family.claimed, claimed_delta(curve_of(claim, "claim"))
    played = int(np.clip(_DRAWN // aside, _FEWEST_PLAYED, _PLAYED))

    @cache
    def by_rank(end: End, rank: int) -> Callable[[TradeoffCurve], float]:
        deadline.check()
        favoured = Favoured(end, True, (rank,), FAVOUR)
        return at_ranks(unseen_scores(2 * kept), level, favoured).power_against(wanted)

    at_cut = _CutPower(wanted, kept, level, roughly)

    turned = _same_turned(wanted)

    def power(strength: float) -> float:
        truth = family.sketch(strength)
        listed = truth is family.curve(strength)
        draws = _draws(claim, strength, truth, listed=listed)
        rng = np.random.default_rng(_SEED)
        seek = EventSearch(delta)
        drawn = draws.drawn(rng.random((played * aside, 2)))
        games = zip(*(np.split(side, played) for side in drawn), strict=True)
        events = [_chosen(draws, seek(_packed(game), level, kept), kept) for game in games]
        if turned and _same_turned(truth):
            events = [event._replace(end=End.FLAG) for event in events]
        if roughly:  # ranks are near each other, and all of them are tested
            ranked = Counter(event for event in events if event.rank).most_common(1)
            events = [ranked[0][0] if event.rank else event for event in events]
        total = 0.0
        for event, times in Counter(events).items():
            if event.rank:
                total += times * by_rank(event.end, event.rank)(truth)
            else:
                total += times * at_cut(*event.rates)
        return total / played

    return power


def _same_turned(curve: TradeoffCurve) -> bool:
    """Whether the curve is symmetric in members and non-members."""
    rates = np.geomspace(1e-4, 0.5, 8)
    return bool(np.allclose(curve.tpr(rates), curve.mirrored().tpr(rates), rtol=1e-6))


class _CutPower:
    """The power of the exact test of one event, by its rates: a sum over counts on either input.

    How many outputs of the second input refute is asked of the test itself at some of the likely
    counts on the first, with straight lines between. Where ``roughly``, the score test is asked,
    by the delta method: it takes a few calls less.
    """

    def __init__(self, claim: TradeoffCurve, each: int, level: float, roughly: bool) -> None:
        self._claim, self._each, self._roughly = claim, each, roughly
        self._evidence = uncounted(each, level)
        self._sure = float(-ndtri(level * (1 - CORNER)))
        self._asked: dict[int, int] = {}

    def __call__(self, fpr: float, tpr: float) -> float:
        each, deviation = self._each, math.sqrt(self._each * fpr * (1 - fpr))
        if deviation == 0:
            return 0.0
        reach = math.ceil(_LIKELY * deviation)
        likely = np.arange(
            max(round(each * fpr) - reach, 0), min(round(each * fpr) + reach, each) + 1.0
        )
        needed = np.ceil(self._needed(likely, deviation) - _ROUNDING)
        refuting = binomial.upper_tail(needed, each, tpr)
        return float(binomial.pmf(likely, each, fpr) @ refuting)

    def _needed(self, likely: Array, deviation: float) -> Array:
        if self._roughly:
            return self._smooth(likely) + 0.5
        step = 1 << max(round(math.log2(deviation)), 0)  # so that other rates ask the same
        nodes = np.arange(likely[0] // step, -(-likely[-1] // step) + 1) * step
        nodes = np.unique(np.minimum(nodes, self._each))
        off = np.array([self._exactly(int(node)) for node in nodes]) - self._smooth(nodes)
        return np.asarray(self._smooth(likely) + np.interp(likely, nodes, off))

    def _exactly(self, flagged: int) -> int:
        if flagged not in self._asked:
            deadline.check()
            reach = math.ceil(math.sqrt(self._each)) + 2
            smooth = float(self._smooth(np.array([flagged]))[0])
            if self._asked:  # as much off as the nearest
                nearest = min(self._asked, key=lambda other: abs(other - flagged))
                smooth += self._asked[nearest] - float(self._smooth(np.array([nearest]))[0])
                reach = _REACH
            near = (round(smooth) - reach, round(smooth) + reach)
            counts = replace(self._evidence.counts, false_positives=flagged)
            evidence = replace(self._evidence, counts=counts)
            exact = evidence.needed(self._claim, near, certified=False)
            self._asked[flagged] = exact
        return self._asked[flagged]

    def _smooth(self, flagged: Array) -> Array:
        each = self._each
        rate = (flagged + 0.5) / (each + 1)
        step = np.minimum(np.sqrt(rate * (1 - rate) / each), np.minimum(rate, 1 - rate) / 2)
        share = np.asarray(self._claim.tpr(rate))
        slope = (self._claim.tpr(rate + step) - self._claim.tpr(rate - step)) / (2 * step)
        spread = share * (1 - share) + slope**2 * rate * (1 - rate)
        return np.asarray(each * share + self._sure * np.sqrt(each * spread))


class _Chosen(NamedTuple):
    """An event as far as its power depends on it: a rank, or how likely it is on either input."""

    end: End = End.FLAG
    rank: int = 0
    rates: tuple[float, float] = (0.0, 0.0)


def _packed(outputs: tuple[Array, Array]) -> tuple[CallOutputs, CallOutputs]:
    absent, present = outputs
    return packed(absent), packed(present)


def _chosen(draws: _SimulatedOutputs, event: Event, kept: int) -> _Chosen:
    """Ranks of the output itself have their power; of any other score none is promised."""
    happens = event.happened(packed(draws.outputs))
    if not event.by_rank:
        fpr, tpr = (float(min(mass[happens].sum(), 1.0)) for mass in draws.masses)
        return _Chosen(rates=(fpr, tpr))
    if not np.all(np.diff(happens.astype(int)) >= 0):
        return _Chosen()
    step = round(np.log(max(event.rate * kept, 1.0)) / np.log(_RATIO))
    rank = int(min(max(round(_RATIO**step), 1), kept))
    return _Chosen(End.CLEAR if event.clears else End.FLAG, rank)


def _draws(
    claim: Subject, strength: float, truth: TradeoffCurve, *, listed: bool
) -> _SimulatedOutputs:
    """Outputs of the claimed noise, or of the mechanism that leaks just as much as the truth.

    One for each corner where they can be ``listed``.
    """
    if isinstance(claim, AdditiveNoise):
        leaking = leaking_more(claim, strength)
        if isinstance(leaking, AdditiveNoise):
            return _of_noise(leaking)
    if isinstance(truth, GuaranteeCurve):
        epsilon, delta = truth.claimed_epsilon, truth.claimed_delta
        knot = (1 - delta) * expit(-epsilon)
        return _of_corners(np.array([0.0, knot, 1 - delta, 1.0]), truth)
    if listed and isinstance(truth, AtomicCurve):
        return _of_corners(np.unique(np.append(truth.vertices()[0], [0.0, 1.0])), truth)
    ends = np.geomspace(1e-12, 0.5, _GRID // 2)
    grid = np.concatenate([[0.0], ends, 1 - ends[-2::-1], [1.0]])
    shares = np.maximum.accumulate(truth.tpr(grid))
    return _standing_for(
        lambda uniform: (-uniform[:, 0], -np.interp(uniform[:, 1], shares, grid)),
    )


def _of_noise(mechanism: AdditiveNoise) -> _SimulatedOutputs:
    law, shift = mechanism.noise, mechanism.sensitivity

    def drawn(uniform: Array) -> tuple[Array, Array]:
        return law.cut(uniform[:, 0]), law.cut(uniform[:, 1]) + shift

    if law.whole:
        reach = float(law.cut(np.array([_UNSEEN]))[0]) + shift
        if reach < _MOST_LISTED:
            outputs = np.arange(-reach, reach + 1)
            return _SimulatedOutputs(drawn, outputs, (law.at(outputs), law.at(outputs - shift)))
    return _standing_for(drawn)


def _standing_for(drawn: Callable[[Array], tuple[Array, Array]]) -> _SimulatedOutputs:
    """Quantiles on either input, each for as much as lies about it."""
    middles = (np.arange(_GRID) + 0.5) / _GRID
    outputs = np.concatenate(drawn(np.column_stack([middles, middles])))
    order, mass = np.argsort(outputs), np.full(_GRID, 1 / _GRID)
    none = np.zeros(_GRID)
    masses = np.concatenate([mass, none])[order], np.concatenate([none, mass])[order]
    return _SimulatedOutputs(drawn, outputs[order], masses)


def _of_corners(corners: Array, truth: TradeoffCurve) -> _SimulatedOutputs:
    """One output for each stretch of the curve with one likelihood ratio."""
    shares = truth.tpr(corners)

    def drawn(uniform: Array) -> tuple[Array, Array]:
        return (
            -np.searchsorted(corners, uniform[:, 0]).astype(float),
            -np.searchsorted(shares, uniform[:, 1]).astype(float),
        )

    masses = (np.diff(side, prepend=0.0)[::-1] for side in (corners, shares))
    absent, present = masses
    return _SimulatedOutputs(drawn, -np.arange(len(corners), dtype=float)[::-1], (absent, present))
