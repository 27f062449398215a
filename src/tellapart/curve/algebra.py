"""Comparison of trade-off functions: convex envelope of several, dominance, gap and crossings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.curve.atomic import AtomicCurve, from_atoms, from_corners
from tellapart.curve.base import Bound, FourRates, TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.provenance import of_envelope
from tellapart.errors import NotCertified

# Beyond this loss one of the two masses of an atom may vanish in double precision.
_REPRESENTABLE = 650.0


@dataclass(frozen=True, repr=False)
class WorstCase(TradeoffCurve):
    """The lower convex envelope of several curves: what holds whichever of them is the truth.

    Its profile is the largest of theirs; at a threshold the test of the worst one is meant.
    Build one with `worst_case`.
    """

    curves: tuple[TradeoffCurve, ...]
    bound: Bound

    def __post_init__(self) -> None:
        if not self.curves:
            _checks.refuse("curves", "not be empty", self.curves)

    def _words(self) -> str:
        return f"the worst case of {len(self.curves)} curves"

    @property
    def _accuracy(self) -> float:  # type: ignore[override]
        return max(curve._accuracy for curve in self.curves)

    def _mirrored(self) -> WorstCase:
        mirrors = tuple(curve.mirrored() for curve in self.curves)
        if set(map(id, mirrors)) == set(map(id, self.curves)):
            return self
        return WorstCase(mirrors, self.bound)

    def _rates(self, threshold: Array) -> FourRates:
        asked = threshold.ravel()
        # The worst at this slope has the largest profile; each order is sharp on its own side.
        ahead = asked >= 0
        profiles = np.empty((len(self.curves), asked.size))
        for row, curve in zip(profiles, self.curves, strict=True):
            for part, order, sign in ((ahead, curve, 1.0), (~ahead, curve.mirrored(), -1.0)):
                if part.any():
                    row[part] = order._delta(sign * asked[part])
        chosen = np.argmax(profiles, axis=0)
        table = np.empty((4, asked.size))
        for k in np.unique(chosen).tolist():
            table[:, chosen == k] = self.curves[k]._rates(asked[chosen == k])
        fpr, tpr, fnr, tnr = table.reshape(4, *threshold.shape)
        return fpr, tpr, fnr, tnr

    def _delta(self, epsilon: Array) -> Array:
        return np.asarray(np.max([curve._delta(epsilon) for curve in self.curves], axis=0))

    def _epsilon(self, delta: Array) -> Array:
        return np.asarray(np.max([curve._epsilon(delta) for curve in self.curves], axis=0))

    def _threshold_range(self, excess: solve.Falling, like: Array) -> tuple[Array, Array]:
        # Each knows how far the ends of its losses may be off by rounding.
        ranges = [curve._threshold_range(excess, like) for curve in self.curves]
        low, high = (np.stack(ends) for ends in zip(*ranges, strict=True))
        return low.min(axis=0), high.max(axis=0)

    def _largest_loss(self) -> float:
        return max(curve._largest_loss() for curve in self.curves)

    def _delta_at_infinity(self) -> float:
        return max(curve._delta_at_infinity() for curve in self.curves)


def worst_case(curves: Iterable[TradeoffCurve]) -> TradeoffCurve:
    """What an attacker can do against the weakest of these worlds, never knowing which it is.

    The lower convex envelope: δ(ε) and ε(δ) are the largest of theirs. Neighbours and order stay
    known where all curves share them.

    >>> import tellapart as ta
    >>> worst_case([ta.Laplace(2).curve(), ta.Laplace(1).curve()]).epsilon(delta=0.0)
    1.0
    """
    if isinstance(curves, (TradeoffCurve, np.ndarray)) or not isinstance(curves, Iterable):
        _checks.refuse("curves", "be a list of curves", curves)
    members = list(curves)
    if not members:
        _checks.refuse("curves", "not be empty", members)
    for member in members:
        check_curve(curves=member)
    if len(members) == 1:
        return members[0]
    envelope = _envelope(members)
    return envelope.with_provenance(of_envelope([member._provenance for member in members]))


def _envelope(members: Sequence[TradeoffCurve]) -> TradeoffCurve:
    bound = joint_bound(members)
    shapes = [_as_polygon(member) for member in members]
    polygons = [
        shape for shape in shapes if isinstance(shape, AtomicCurve) and _representable(shape)
    ]
    if len(polygons) < len(members):
        return WorstCase(_flattened(members), bound)
    corners = [polygon._corner(np.arange(len(polygon.losses) + 1)) for polygon in polygons]
    fpr, tpr, fnr, tnr = (np.concatenate(column) for column in zip(*corners, strict=True))
    known = np.concatenate([np.append(polygon.losses, np.nan) for polygon in polygons])
    return from_corners(fpr, tpr, fnr, tnr, bound, loss_to_next=known)


def _flattened(members: Iterable[TradeoffCurve]) -> tuple[TradeoffCurve, ...]:
    """The curves of envelopes among them themselves, each once: all are asked at every point."""
    parts = (
        part
        for each in members
        for part in (each.curves if isinstance(each, WorstCase) else (each,))
    )
    return tuple({id(part): part for part in parts}.values())


def check_curve(**named: object) -> None:
    """Refuse what is no curve; a mechanism is the likely mistake."""
    ((name, curve),) = named.items()
    if not isinstance(curve, TradeoffCurve):
        rule = "hold only curves" if name == "curves" else "be a TradeoffCurve"
        _checks.refuse(name, f"{rule} (a mechanism's is mechanism.curve())", curve)


def _as_polygon(curve: TradeoffCurve) -> TradeoffCurve:
    """The same curve by its atoms, where it has finitely many that doubles can hold."""
    if not isinstance(curve, GuaranteeCurve) or curve.claimed_epsilon >= _REPRESENTABLE:
        return curve
    losses = np.array([np.inf, curve.claimed_epsilon, -curve.claimed_epsilon, -np.inf])
    fpr, fnr = curve.vertices()
    absent = np.append(np.diff(fpr[:-1]), curve.claimed_delta)
    absent[2] = fnr[1] * expit(curve.claimed_epsilon)  # not 1 − δ − knot, which has fewer digits
    return from_atoms(losses, absent, absent[::-1].copy(), curve.bound)


def _representable(curve: AtomicCurve) -> bool:
    finite = np.isfinite(curve.losses)
    masses = np.minimum(curve.absent, curve.present)[finite]
    return bool(np.all(np.abs(curve.losses[finite]) < _REPRESENTABLE) and np.all(masses > 0))


def joint_bound(curves: Sequence[TradeoffCurve]) -> Bound:
    """The side of a worst case: that of its members, which must agree."""
    sides = {curve.bound for curve in curves} - {Bound.EXACT}
    if len(sides) > 1:
        _checks.refuse("curves", "not mix Bound.LOWER with Bound.UPPER", sorted(map(str, sides)))
    return sides.pop() if sides else Bound.EXACT


def dominates(a: TradeoffCurve, b: TradeoffCurve, tolerance: float = 1e-12) -> bool:
    """Whether a leaks at least as much as b: a.beta ≤ b.beta everywhere (Blackwell order).

    Both sides are compared to a relative ``tolerance``. Exact at the corners of a polygon, which
    decide for the whole curve; two smooth curves are compared on a grid that reaches both corners.

    >>> import tellapart as ta
    >>> promise, noise = ta.guarantee(epsilon=1), ta.Laplace.with_epsilon(1).curve()
    >>> dominates(promise, noise), dominates(noise, promise)
    (True, False)

    See Also
    --------
    tellapart.choose.compare : who leaks more, and at which error rates that changes
    """
    check_curve(a=a)
    check_curve(b=b)
    tolerance = _checks.finite_at_least_zero(tolerance=tolerance)
    a, b = _as_polygon(a), _as_polygon(b)
    with np.errstate(all="ignore"):
        if isinstance(a, AtomicCurve) and not isinstance(b, AtomicCurve):
            return _profile_above(a, b, a.losses[np.isfinite(a.losses)], tolerance)
        mirrors = a.mirrored(), b.mirrored()
        # Both halves of the curve, each seen from its own corner; those of symmetric ones are one.
        halves = ((a, b),) if mirrors[0] is a and mirrors[1] is b else ((a, b), mirrors)
        return all(_as_strong_at(first, other, _sizes(other), tolerance) for first, other in halves)


def _sizes(curve: TradeoffCurve) -> Array:
    """Small FPRs that decide: a polygon's corners, or a grid down to 1e-300."""
    corners = np.zeros(0)
    if isinstance(curve, AtomicCurve):
        corners = curve._sums["fpr"]
        corners = corners[corners <= 0.5]
        if _representable(curve):
            return corners
    small = 10.0 ** np.linspace(-300, -16, 1000)
    return np.concatenate([[0.0], small, expit(np.linspace(-36, 0, 3001)), corners])


def _as_strong_at(a: TradeoffCurve, b: TradeoffCurve, fpr: Array, tolerance: float) -> bool:
    """A's attacker does at least as well as b's at these FPRs, by β or TPR, whichever is small."""
    beta, tpr = b._beta(fpr), b._tpr(fpr)
    by_beta = a._beta(fpr) <= beta * (1 + tolerance) + 1e-300
    by_tpr = a._tpr(fpr) * (1 + tolerance) + 1e-300 >= tpr
    return bool(np.all(np.where(beta < 0.5, by_beta, by_tpr)))


def _profile_above(a: TradeoffCurve, b: TradeoffCurve, losses: Array, tolerance: float) -> bool:
    """A's profile lies above b's where a's is kinked, so everywhere: b's is convex in e^ε."""
    ahead, behind = losses[losses >= 0], losses[losses < 0]
    left = a._delta(ahead) * (1 + tolerance) + 1e-300 >= b._delta(ahead)
    mirror_a, mirror_b = a.mirrored(), b.mirrored()
    right = mirror_a._delta(-behind) * (1 + tolerance) + 1e-300 >= mirror_b._delta(-behind)
    return bool(np.all(left) and np.all(right))


def gap(a: TradeoffCurve, b: TradeoffCurve) -> float:
    """How much less an attacker can err against b than against a; 0 iff a dominates b.

    The least κ with a.beta(α + κ) − κ ≤ b.beta(α) for all α, which is the largest difference, over
    all priors, between the attacker's least error against a and against b (the Δ-divergence of
    Kaissis et al. 2024). Returned from above, within 1e-10.

    >>> import tellapart as ta
    >>> round(gap(ta.Laplace(2).curve(), ta.Laplace(1).curve()), 6)
    0.086135
    """
    check_curve(a=a)
    check_curve(b=b)
    with np.errstate(all="ignore"):
        least, most = _largest_difference(a, b)
    return 0.0 if least < 1e-14 and dominates(a, b) else most


def _bayes_errors(curve: TradeoffCurve, prior: Array) -> tuple[Array, Array]:
    """The least error of an attacker with these priors, and its derivative in the prior."""
    fpr, _, fnr, _ = curve._rates(np.log1p(-prior) - np.log(prior))
    return (1 - prior) * fpr + prior * fnr, fnr - fpr


def _largest_difference(
    a: TradeoffCurve, b: TradeoffCurve, precision: float = 1e-10
) -> tuple[float, float]:
    """Branch and bound: a's error lies under its tangents, b's above its chords."""
    # Errors of curves that are their own mirrors are the same for the prior 1 − π as for π.
    symmetric = a.mirrored() is a and b.mirrored() is b
    grid = np.linspace(0.0, 0.5, 257) if symmetric else np.linspace(0.0, 1.0, 513)
    error_a, slope_a = _bayes_errors(a, grid)
    error_b, _ = _bayes_errors(b, grid)
    best = max(0.0, float(np.max(error_a - error_b)))
    state = [grid, error_a, slope_a, error_b]
    parts = [column[:-1] for column in state] + [column[1:] for column in state]
    for _ in range(60):
        ceiling = _ceiling(*parts)
        open_parts = ceiling > best + precision
        if not open_parts.any():
            return best, best + precision if best < 1 else best
        left, right = ([part[open_parts] for part in parts[k : k + 4]] for k in (0, 4))
        middle = (left[0] + right[0]) / 2
        error_a, slope_a = _bayes_errors(a, middle)
        error_b, _ = _bayes_errors(b, middle)
        best = max(best, float(np.max(error_a - error_b)))
        centre = [middle, error_a, slope_a, error_b]
        parts = [np.concatenate(pair) for pair in zip(left + centre, centre + right, strict=True)]
    raise NotCertified("the gap between the curves did not settle to 1e-10")


def _ceiling(
    x0: Array, a0: Array, s0: Array, b0: Array, x1: Array, a1: Array, s1: Array, b1: Array
) -> Array:
    """The most a − b can be between two priors, from a's tangents at both and b's chord."""
    meet = np.where(s0 > s1, (a1 - a0 + s0 * x0 - s1 * x1) / (s0 - s1), (x0 + x1) / 2)
    meet = np.clip(meet, x0, x1)
    peak = np.minimum(a0 + s0 * (meet - x0), a1 + s1 * (meet - x1))
    chord = b0 + (b1 - b0) * (meet - x0) / (x1 - x0)
    return np.maximum(peak - chord, np.maximum(a0 - b0, a1 - b1))


# Closer than this, relatively, two curves are taken to touch: below it lies only rounding.
_TOUCH = 1e-11


class Crossing(NamedTuple):
    """A pair of error rates at which the stronger of two attackers changes."""

    fpr: float
    fnr: float


def crossings(a: TradeoffCurve, b: TradeoffCurve) -> tuple[Crossing, ...]:
    """At which error rates two curves cross, from small FPR to large.

    Searched on a grid that reaches 1e-300 in both corners: two crossings between neighbouring grid
    points are not seen. Curves that touch without crossing do not count.

    >>> import tellapart as ta
    >>> laplace, gaussian = ta.Laplace(scale=1).curve(), ta.Gaussian(sigma=1).curve()
    >>> [round(one.fpr, 4) for one in crossings(laplace, gaussian)]
    [0.2366, 0.3886]
    """
    check_curve(a=a)
    check_curve(b=b)
    with np.errstate(all="ignore"):
        near = _near_corner(a, b)
        far = [
            Crossing(mirrored.fnr, mirrored.fpr)
            for mirrored in _near_corner(a.mirrored(), b.mirrored())
        ]
    # Each half answers for the points nearer to its own corner, where it has the digits.
    kept = [crossing for crossing in near if crossing.fpr <= crossing.fnr] + [
        crossing for crossing in far if crossing.fpr > crossing.fnr
    ]
    return tuple(sorted(kept))


def leads(
    a: TradeoffCurve, b: TradeoffCurve, where: Sequence[Crossing], least: float = 1e-300
) -> tuple[bool, ...]:
    """Whether a leaks more than b before, between and after their crossings, from such errors on.

    >>> import tellapart as ta
    >>> laplace, gaussian = ta.Laplace(scale=1).curve(), ta.Gaussian(sigma=1).curve()
    >>> leads(laplace, gaussian, crossings(laplace, gaussian))
    (False, True, False)
    """
    ends = [Crossing(least, 1.0), *where, Crossing(1.0, least)]
    with np.errstate(all="ignore"):
        return tuple(_leads(a, b, low, high) for low, high in pairwise(ends))


def _leads(a: TradeoffCurve, b: TradeoffCurve, low: Crossing, high: Crossing) -> bool:
    """By where the two are furthest apart, seen from either corner."""
    share = np.linspace(0, 1, 19)[1:-1]
    fpr, fnr = (low.fpr ** (1 - share) * high.fpr**share, low.fnr ** (1 - share) * high.fnr**share)
    seen = np.concatenate([_lead(a, b, fpr), _lead(a.mirrored(), b.mirrored(), fnr)])
    return bool(seen[np.nanargmax(np.abs(seen))] > 0)


def _near_corner(a: TradeoffCurve, b: TradeoffCurve) -> list[Crossing]:
    fpr = np.concatenate([10.0 ** np.linspace(-300, -16, 1000), expit(np.linspace(-36, 0, 4001))])
    lead = _lead(a, b, fpr)
    apart = np.flatnonzero(np.abs(lead) > _TOUCH)
    turns = np.flatnonzero(np.diff(np.sign(lead[apart])))
    crossings = []
    for low, high in zip(apart[turns], apart[turns + 1], strict=True):
        falls = np.sign(lead[low])

        def fall(x: Array, sign: float = falls) -> Array:
            return sign * _lead(a, b, x)

        _, at = solve.falling_root(fall, fpr[low : low + 1], fpr[high : high + 1])
        crossings.append(Crossing(float(at[0]), float(a._beta(at)[0])))
    return crossings


def _lead(a: TradeoffCurve, b: TradeoffCurve, fpr: Array) -> Array:
    """How far a's attacker is ahead, relatively, by β or TPR, whichever is small."""
    beta_a, beta_b = a._beta(fpr), b._beta(fpr)
    tpr_a, tpr_b = a._tpr(fpr), b._tpr(fpr)
    by_beta = (beta_b - beta_a) / np.maximum(np.maximum(beta_a, beta_b), 1e-300)
    by_tpr = (tpr_a - tpr_b) / np.maximum(np.maximum(tpr_a, tpr_b), 1e-300)
    return np.where(np.minimum(beta_a, beta_b) < 0.5, by_beta, by_tpr)
