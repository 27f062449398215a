"""Gaussian DP (μ-GDP) of any curve: the least μ from a least FPR on, its regret, what it promises.

Everything rests on two facts. h(α, β) = −Φ⁻¹(α) − Φ⁻¹(β) is the μ of the Gaussian curve through a
point, and that curve is convex: a chord between points above it lies above it, so along a line h is
largest at an end. And the tangents of a curve, one for each (ε, δ(ε)), lie beneath it: the corners
of any of their polygons bound μ from above, and the points where they touch from below.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr, ndtri

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.safe import times_exp
from tellapart._numeric.text import fixed, short
from tellapart.curve.algebra import gap, worst_case
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import Bound, FourRates, Rates, TradeoffCurve
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve, LaplaceCurve, LogisticCurve
from tellapart.curve.guarantees import gaussian
from tellapart.curve.loss_tails import ThresholdCurve
from tellapart.curve.provenance import Provenance
from tellapart.errors import InvalidArgument, NotCertified, Unsupported

# Tangents at first, where an interval is cut that may hold more, and how often.
_START, _ROUNDS, _MOST = 48, 12, 1_500
_SHARES = np.array([0.25, 0.5, 0.75])
# Tangents are added until μ is at most so much too large, or about that, relatively.
_PRECISION = 1e-7
# Room for the rounding of one number, and of a quantile.
_ULPS, _QUANTILE = 1e-15, 2e-14
# A profile computed by an engine may be off by so many times its accuracy.
_ROOM, _MOST_ROOM = 100.0, 1e-8
_FAINTEST = 1e-300
_LARGEST_LOSS = 690.0


@dataclass(frozen=True, eq=False)
class GaussianSummary:
    """One number for a curve: attacks with both error rates ≥ ``at_least`` do no better than μ-GDP.

    ``mu`` is rounded up; ``binding`` has the rates of the attack that needs it (as does the one
    with FPR and FNR exchanged). Below ``at_least`` μ says nothing; `curve` says what follows.

    **Do not add these**: μ from a least FPR on does not compose as the μ of Gaussian noise does.
    A step that is (0, 5e-4)-DP has μ = 0.1225 from 1e-3 on; 100 of them have 1.443, not
    √100 · 0.1225 = 1.225. Compose the mechanisms, and ask their curve.
    """

    mu: float
    at_least: float
    binding: Rates
    source: TradeoffCurve = field(repr=False)

    @cached_property
    def regret(self) -> float:
        """How much less, at most, an attacker seems to err by μ than by the curve, for any prior.

        The largest difference of Bayes errors, `ta.gap` to the Gaussian curve (the Δ-divergence of
        Kaissis et al. 2024), rounded up: 0 where μ says all that the curve says.
        """
        if self.source == gaussian(self.mu):
            return 0.0
        apart = gap(self.source, gaussian(self.mu))
        return min(apart + self.source._accuracy, 1.0) if apart else 0.0

    def curve(self) -> TradeoffCurve:
        """What may be promised on μ and ``at_least`` alone: a curve from below, not the Gaussian.

        For ε ≥ 0, δ(ε) is the larger of the Gaussian's δ(ε) and its TPR − FPR at ``at_least``.
        """
        neighbours = self.source._provenance.neighbours
        return promised(self.mu, self.at_least).with_provenance(Provenance(neighbours))

    def __str__(self) -> str:
        rates = f" for FPR and FNR from {short(self.at_least)} on" if self.at_least else ""
        return f"μ = {fixed(self.mu, up=True)}{rates}, regret {fixed(self.regret, up=True)}"


def promised(mu: float, at_least: float) -> TradeoffCurve:
    """The lower envelope of all symmetric curves that are μ-GDP where both errors are ≥ α₀.

    Left of α₀, convexity and symmetry keep a curve f above the line of slope −1 through
    (α₀, f(α₀)): it meets f again at the mirrored point. So TPR − FPR ≤ TPR(α₀) − α₀ there, which
    is (0, δ)-DP; that promise and μ-GDP itself keep the condition, so nothing better follows.
    """
    bell = gaussian(mu, Bound.LOWER)
    if at_least == 0 or mu == 0:
        return bell
    with np.errstate(all="ignore"):
        tpr = float(ndtr(ndtri(at_least) + mu))
    spared = tpr * (1 + _QUANTILE) - at_least
    return worst_case([bell, GuaranteeCurve(0.0, min(max(spared, 0.0), 1.0))])


def summarise(curve: TradeoffCurve, at_least: float) -> GaussianSummary:
    """The summary of a curve that is exact or lies below the truth."""
    start = _checks.probability(at_least=at_least)
    if curve.bound is Bound.UPPER:
        raise Unsupported(
            "a curve from above shows what some attack does and promises nothing: of a bracket "
            "ask bracket.lower.gdp(), the guarantee, or bracket.gdp() for both sides; else ask "
            "the curve of a mechanism or a guarantee for its gdp()"
        )
    both = curve.symmetrised()
    with np.errstate(all="ignore"):
        needed = _needed(both, start)
        if needed is None:
            raise InvalidArgument(_why_none(both, start))
    return GaussianSummary(needed.mu, start, needed.binding, both)


def least_mu(curve: TradeoffCurve, at_least: float) -> float:
    """μ on the side of the curve; infinite where no attack errs so often, or no μ is enough."""
    start = _checks.probability(at_least=at_least)
    with np.errstate(all="ignore"):
        needed = _needed(curve.symmetrised(), start)
    return math.inf if needed is None else needed.mu


def _why_none(curve: TradeoffCurve, start: float) -> str:
    if start == 0:
        if (sure := curve._delta_at_infinity()) > 0:
            why = (
                f"with probability {short(sure, 3)} an output gives a member away, which no μ "
                "allows"
            )
        else:
            why = (
                "its likelihood ratio is unbounded, or too large, and μ may be a limit that no "
                "attack comes near (for DP-SGD √steps / noise multiplier)"
            )
        return (
            f"at_least must be greater than 0 for this curve, got 0: {why}; say from which FPR on "
            "μ is to hold, such as at_least=1e-6"
        )
    fpr, _, fnr, _ = curve._rates(np.zeros(()))
    most = float(fpr + fnr) / 2
    instead = f"at_least={short(most / 10, 1)}" if most > 10 * _FAINTEST else "more noise"
    return (
        f"at_least must be at most {short(most, 3)} for this curve, got {short(start)}: an "
        f"attack errs less often than that on members and non-members alike; try {instead}"
    )


class _Needed(NamedTuple):
    """A μ and the attack that needs it."""

    mu: float
    binding: Rates


def _in_the_middle(mu: float, error: float) -> _Needed:
    return _Needed(mu, Rates(error, 1 - error, error, 1 - error))


_COIN = _in_the_middle(0.0, 0.5)


# -- the least μ -------------------------------------------------------------------------------


def _needed(curve: TradeoffCurve, start: float) -> _Needed | None:
    """Of a curve that is its own mirror, where FPR and FNR are at least ``start``; None if none."""
    if start == 0:
        end, slope = _COIN, math.inf
        bounded = not curve._delta_at_infinity() and math.isfinite(curve._largest_loss())
        if not bounded and not isinstance(curve, GaussianCurve):
            return None
    else:
        at = np.array([start])
        tpr, beta, slope = _attack_at(curve, at)
        if beta[0] < start:
            return None
        end = _largest(at, tpr, beta)
    if isinstance(curve, GaussianCurve):
        return _in_the_middle(curve.mu, float(ndtr(-curve.mu / 2)))
    if isinstance(curve, LaplaceCurve):
        # −Φ⁻¹(e^u) is concave in u, and log FPR + log FNR is constant between the two lines, along
        # which h grows towards the middle, as they pass through a corner.
        middle = math.exp(-curve.shift / 2) / 2
        return _raised(curve, _in_the_middle(-2 * float(ndtri(middle)), middle))
    if isinstance(curve, LogisticCurve):
        # Φ⁻¹ of a logistic law is convex before its centre and concave behind it (van Zwet 1964,
        # the s-ordering), so that it grows most over the interval about the centre.
        middle = float(expit(-curve.shift / 2))
        return _raised(curve, _in_the_middle(-2 * float(ndtri(middle)), middle))
    if start == 0 and curve._largest_loss() > _LARGEST_LOSS:
        return None  # rates there are no doubles, and would be left out
    if isinstance(curve, AtomicCurve | GuaranteeCurve):
        return _raised(curve, max(end, _corner(curve, start)))
    return _by_tangents(curve, end, start, slope)


def _attack_at(curve: TradeoffCurve, fpr: Array) -> tuple[Array, Array, float]:
    """TPR and FNR at one FPR, each with its digits, and about how steep the curve is there."""
    if isinstance(curve, ThresholdCurve):
        with suppress(NotCertified):
            tails = curve._at(fpr)
            # The line that touches there has TPR = δ + e^slope·FPR.
            slope = float(np.log((tails.tpr - tails.delta) / fpr)[0])
            return tails.tpr, tails.fnr, slope if math.isfinite(slope) else math.inf
    tpr = curve._tpr(fpr)
    return tpr, 1 - tpr if tpr[0] < 0.5 else curve._beta(fpr), math.inf


def _raised(curve: TradeoffCurve, needed: _Needed) -> _Needed:
    """To the side of the curve, by more than two quantiles may be off; 0 if nothing leaks."""
    if not curve._delta(np.zeros(())) > 0:
        return needed._replace(mu=0.0)
    off = -_QUANTILE if curve.bound is Bound.UPPER else _QUANTILE
    return needed._replace(mu=max(needed.mu + off, 0.0))


def _mu(fpr: Array, tpr: Array, fnr: Array) -> Array:
    """H = Φ⁻¹(TPR) − Φ⁻¹(FPR), from whichever of TPR and FNR has the digits."""
    return np.asarray(np.where(fnr < 0.5, -ndtri(fnr), ndtri(tpr)) - ndtri(fpr))


def _largest(fpr: Array, tpr: Array, fnr: Array) -> _Needed:
    """The attack that needs most; none needs less than nothing."""
    mu = np.append(_mu(fpr, tpr, fnr), 0.0)
    k = int(np.argmax(mu))
    if k == fpr.size:
        return _COIN
    # Of an attack and its mirror the one that flags fewer non-members.
    swap = fpr[k] > fnr[k]
    few, caught, missed = (fnr, 1 - fpr, fpr) if swap else (fpr, tpr, fnr)
    binding = Rates(float(few[k]), float(caught[k]), float(missed[k]), 1 - float(few[k]))
    return _Needed(float(mu[k]), binding)


def _corner(curve: AtomicCurve | GuaranteeCurve, start: float) -> _Needed:
    """The corner of a polygon that needs most."""
    losses = curve.losses if isinstance(curve, AtomicCurve) else np.array([-curve.claimed_epsilon])
    return _largest(*_inside(curve._rates(losses), start))


def _inside(rates: FourRates, start: float) -> tuple[Array, Array, Array]:
    fpr, tpr, fnr, _ = rates
    inside = (np.minimum(fpr, fnr) >= start) & (np.minimum(fpr, fnr) > 0)
    return fpr[inside], tpr[inside], fnr[inside]


def _by_tangents(curve: TradeoffCurve, met: _Needed, start: float, slope: float) -> _Needed:
    """Branch and bound: intervals of ε whose corner may need more than any point met are cut.

    No line steeper than the ``slope`` at ``start`` is needed.
    """
    steepest = max(min(curve._largest_loss(), slope), 0.0)
    if start:  # at the tangent there δ ≥ 0, so that e^ε ≤ TPR / FPR
        tpr = float(ndtr(met.mu + ndtri(start)))
        steepest = min(steepest, math.log(tpr) - math.log(start) + 1e-9)
    lines, points = _tangents(curve, np.linspace(0.0, steepest, _START))
    for _ in range(_ROUNDS):
        met = max(met, _largest(*_inside(points, start)))
        lines = _falling(lines)
        corners = _corners(lines, start)
        wide = np.flatnonzero(_mu(*corners) > met.mu * (1 + _PRECISION) + _QUANTILE)
        # The last corner lies on a line, which new ones on either side may undercut.
        wide = np.unique(np.append(wide, wide[-1:] - 1))
        wide = wide[(wide >= 0) & (wide + 1 < lines[0].size)]
        if not wide.size or lines[0].size > _MOST:
            break
        left, right = lines[0, wide, None], lines[0, wide + 1, None]
        more, points = _tangents(curve, (left + (right - left) * _SHARES).ravel())
        lines = np.concatenate([lines, more], axis=1)
        lines = lines[:, np.argsort(lines[0], kind="stable")]
    return _raised(curve, met if curve.bound is Bound.UPPER else max(met, _largest(*corners)))


def _tangents(curve: TradeoffCurve, epsilon: Array) -> tuple[Array, FourRates]:
    """Lines TPR ≤ δ + e^ε·FPR as (ε, δ, 1 − δ), towards the attacker; and the points they touch."""
    points = curve._rates(epsilon)
    room = _ULPS if curve.bound is Bound.UPPER else min(_ROOM * curve._accuracy, _MOST_ROOM)
    delta = np.maximum(curve._delta(epsilon) * (1 + room), _FAINTEST)
    if not curve._delta_at_infinity():
        delta = np.where(epsilon >= curve._largest_loss(), 0.0, delta)
    rest = (points[2] + times_exp(points[0], epsilon)) * (1 - room)
    return np.stack([epsilon, delta, rest]), points


def _falling(lines: Array) -> Array:
    """Without lines whose δ is no smaller than that of a flatter one: they say nothing."""
    logit = np.log(lines[1]) - np.log(lines[2])
    least = np.minimum.accumulate(logit)
    return lines[:, np.append(True, np.diff(least) < 0)]


def _corners(lines: Array, start: float) -> tuple[Array, Array, Array]:
    """FPR, TPR and FNR where each line meets the next, down to ``start``, and the last one there.

    No attack lies beyond its line between two of them; the first line, of slope 1, is symmetric.
    """
    epsilon, delta, rest = lines
    few = delta[:-1] < 0.5
    drop = np.where(few, delta[:-1] - delta[1:], rest[1:] - rest[:-1])
    run = drop / np.expm1(np.diff(epsilon))
    fpr = times_exp(run, -epsilon[:-1])
    last = int(np.argmax(fpr < start)) if np.any(fpr < start) else fpr.size
    fpr, run = fpr[:last], run[:last]
    if start:
        fpr = np.append(fpr, start)
        run = np.append(run, times_exp(start, epsilon[last]))
    k = slice(fpr.size)
    return fpr, delta[k] + run, np.maximum(rest[k] - run, 0.0)
