"""Neyman-Pearson curves of two laws on finitely many outcomes: polygons, stored by their atoms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import hull
from tellapart._numeric.safe import log_ratio, times_exp
from tellapart.curve.base import Bound, FourRates, TradeoffCurve


@dataclass(frozen=True, eq=False, repr=False)
class AtomicCurve(TradeoffCurve):
    """Outcomes grouped by log-likelihood ratio, with the chance of each group in both worlds.

    ``losses`` falls strictly and may start at +inf and end at −inf. Ratio and masses are kept
    side by side: at a loss of 800 one mass is 0 in double precision, yet the loss is known.
    Build one with `from_pmfs`, `attack` or `from_atoms`.
    """

    losses: Array
    absent: Array
    present: Array
    bound: Bound = Bound.EXACT
    _sums: dict[str, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = [len(self.losses), len(self.absent), len(self.present)]
        if sizes[0] == 0:
            _checks.refuse("losses", "not be empty", self.losses)
        if len(set(sizes)) > 1:
            _checks.refuse("losses, absent and present", "have one length", sizes)
        if not np.all(np.diff(self.losses) < 0):
            _checks.refuse("losses", "fall strictly", self.losses)
        for name, masses in (("absent", self.absent), ("present", self.present)):
            if not (np.all(masses >= 0) and abs(float(masses.sum()) - 1) < 1e-6):
                _checks.refuse(name, "be at least 0 and sum to 1", masses)
        with np.errstate(all="ignore"):
            object.__setattr__(self, "_sums", _running_sums(self.losses, self.absent, self.present))
        for column in (self.losses, self.absent, self.present, *self._sums.values()):
            column.flags.writeable = False

    def _words(self) -> str:
        atoms = len(self.losses)
        return f"{atoms} atom{'s' if atoms > 1 else ''}"

    def _mirrored(self) -> AtomicCurve:
        losses, absent, present = -self.losses[::-1], self.present[::-1], self.absent[::-1]
        if np.array_equal(losses, self.losses) and np.array_equal(absent, self.absent):
            return self
        return AtomicCurve(losses, absent.copy(), present.copy(), self.bound)

    def vertices(self) -> tuple[Array, Array]:
        """The corners of the curve as false-positive and false-negative rates."""
        return self._sums["fpr"].copy(), self._sums["fnr"].copy()

    def _corner(self, index: NDArray[np.intp]) -> FourRates:
        sums = self._sums
        return sums["fpr"][index], sums["tpr"][index], sums["fnr"][index], sums["tnr"][index]

    def _rates(self, threshold: Array) -> FourRates:
        return self._corner(np.searchsorted(-self.losses, -threshold, side="left"))

    def _largest_loss(self) -> float:
        finite = self.losses[np.isfinite(self.losses)]
        return float(finite[0]) if finite.size else 0.0

    def _delta_at_infinity(self) -> float:
        return float(self.present[0]) if self.losses[0] == np.inf else 0.0

    def _beta(self, alpha: Array) -> Array:
        atom, _, left = self._segment(alpha)
        _, _, fnr, _ = self._corner(atom + 1)
        at_zero = 1.0 if self.losses[0] < np.inf else self._sums["fnr"][1]
        inside = np.minimum(fnr + self.present[atom] * left, 1.0)
        return np.where(alpha == 0, at_zero, np.where(alpha == 1, 0.0, inside))

    def _tpr(self, fpr: Array) -> Array:
        atom, taken, _ = self._segment(fpr)
        _, tpr, _, _ = self._corner(atom)
        inside = np.minimum(tpr + self.present[atom] * taken, 1.0)
        ends = np.where(fpr == 1, 1.0, self._delta_at_infinity())
        return np.where((fpr == 0) | (fpr == 1), ends, inside)

    def _fpr_at_small(self, tpr: Array) -> Array:
        sums = self._sums
        atom = np.clip(np.searchsorted(sums["tpr"], tpr, side="left") - 1, 0, len(self.losses) - 1)
        taken = (tpr - sums["tpr"][atom]) / self.present[atom]
        return sums["fpr"][atom] + self.absent[atom] * np.clip(taken, 0.0, 1.0)

    def _segment(self, fpr: Array) -> tuple[NDArray[np.intp], Array, Array]:
        """The atom on which the best test of this size randomises: how often it rejects, or not."""
        sums, size = self._sums, len(self.losses)
        # Counted from whichever end is near: the other running sum has no digits left there.
        up = np.searchsorted(sums["fpr"], fpr, side="left")
        down = size + 1 - np.searchsorted(sums["tnr"][::-1], 1 - fpr, side="right")
        near_zero = fpr < 0.5
        atom = np.clip(np.where(near_zero, up, down) - 1, 0, size - 1)
        mass = self.absent[atom]
        taken = np.clip((fpr - sums["fpr"][atom]) / mass, 0.0, 1.0)
        left = np.clip(((1 - fpr) - sums["tnr"][atom + 1]) / mass, 0.0, 1.0)
        taken, left = np.where(near_zero, taken, 1 - left), np.where(near_zero, 1 - taken, left)
        return atom, np.where(mass > 0, taken, 1.0), np.where(mass > 0, left, 0.0)

    def _delta(self, epsilon: Array) -> Array:
        rejected = np.searchsorted(-self.losses, -epsilon, side="left")
        last = np.maximum(rejected - 1, 0)
        grown = self._sums["tilted"][last] * -np.expm1(epsilon - self.losses[last])
        return np.where(rejected == 0, 0.0, np.minimum(self._sums["profile"][last] + grown, 1.0))

    def _epsilon(self, delta: Array) -> Array:
        profile, tilted = self._sums["profile"], self._sums["tilted"]
        last = np.maximum(np.searchsorted(profile, delta, side="right") - 1, 0)
        spent = np.where(tilted[last] > 0, (delta - profile[last]) / tilted[last], 1.0)
        epsilon = np.maximum(self.losses[last] + np.log1p(-np.clip(spent, 0.0, 1.0)), 0.0)
        limit = self._delta_at_infinity()
        # At the limit itself the largest loss counts, also one whose mass underflows.
        at_limit = max(self._largest_loss(), 0.0)
        return np.select([delta < limit, delta == limit], [np.inf, at_limit], epsilon)

    def _area(self) -> float:
        fnr = self._sums["fnr"]
        return float(np.sum(self.absent * (fnr[:-1] + fnr[1:])) / 2)


def _running_sums(losses: Array, absent: Array, present: Array) -> dict[str, Array]:
    """The corners from both ends, and the profile δ at each loss, all sums of positive terms."""
    sums = {
        "fpr": np.concatenate([[0.0], np.cumsum(absent)]),
        "tpr": np.concatenate([[0.0], np.cumsum(present)]),
        "tnr": np.concatenate([np.cumsum(absent[::-1])[::-1], [0.0]]),
        "fnr": np.concatenate([np.cumsum(present[::-1])[::-1], [0.0]]),
    }
    for name, end in (("fpr", -1), ("tpr", -1), ("tnr", 0), ("fnr", 0)):
        np.minimum(sums[name], 1.0, out=sums[name])
        sums[name][end] = 1.0
    # δ(a) falls at rate e^a·FPR(a); `tilted` is e^loss·FPR just below each loss.
    tilted = times_exp(sums["fpr"][1:], losses)
    faint = (sums["fpr"][1:] < 1e-250) & np.isfinite(losses)
    if faint.any():  # the first few, where FPR underflows: from the other masses instead
        tilted[faint] = _tilted_sums(losses[faint], present[faint])
    tilted[~np.isfinite(losses)] = 0.0
    start = present[0] if losses[0] == np.inf else 0.0
    drops = tilted[:-1] * -np.expm1(losses[1:] - losses[:-1])
    sums["tilted"] = tilted
    sums["profile"] = np.concatenate([[start], start + np.cumsum(drops)])
    return sums


def _tilted_sums(losses: Array, present: Array) -> list[float]:
    """Σ of present·e^(loss − their loss) over the atoms up to each one, by falling loss."""
    total, above, sums = 0.0, math.inf, []
    for loss, mass in zip(losses.tolist(), present.tolist(), strict=True):
        total = total * math.exp(loss - above) + mass
        above = loss
        sums.append(total)
    return sums


def from_atoms(
    losses: Array, absent: Array, present: Array, bound: Bound, *, keep_empty: bool = False
) -> AtomicCurve:
    """Sort atoms by falling loss, drop empty ones and join those of equal loss.

    ``keep_empty`` is for masses that are 0 by underflow only: their losses do occur.
    """
    kept = (absent > 0) | (present > 0) | keep_empty
    keys, group = np.unique(-losses[kept], return_inverse=True)
    size = len(keys)
    p, q = (np.bincount(group, column[kept], size) for column in (absent, present))
    return AtomicCurve(-keys, p.astype(float), q.astype(float), bound)


def from_pmfs(p: ArrayLike, q: ArrayLike) -> AtomicCurve:
    """The exact curve of two laws on the same outcomes: p with the record absent, q present.

    The Neyman-Pearson test takes outcomes by falling q/p; the corners are its running sums.

    >>> from_pmfs([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]).beta(0.4)
    0.3
    """
    return from_named_pmfs(p=p, q=q)


def from_named_pmfs(**named: ArrayLike) -> AtomicCurve:
    """As `from_pmfs`, for two arguments that have other names."""
    (first, p), (second, q) = named.items()
    absent, present = _checks.pmf(**{first: p}), _checks.pmf(**{second: q})
    if absent.shape != present.shape:
        _checks.refuse(second, f"have as many outcomes as {first} ({absent.size})", present.size)
    return from_atoms(log_ratio(present, absent), absent, present, Bound.EXACT)


def three_ratios(epsilon: float, outer: float, middle: float) -> AtomicCurve:
    """Outputs whose likelihood ratio is e^±ε, of mass ``outer``, or 1, of mass ``middle``."""
    likely, unlikely = outer * expit(epsilon), outer * expit(-epsilon)
    losses = np.array([epsilon, 0.0, -epsilon])
    absent = np.array([unlikely, middle, likely])
    return from_atoms(losses, absent, absent[::-1].copy(), Bound.EXACT)


def attack(points: Sequence[tuple[float, float]] | Any) -> AtomicCurve:
    """What an attacker who reached these (FPR, TPR) points can do: a curve from above.

    The attacker may also toss coins between points and, where TPR < FPR, say the opposite, so
    the curve is the convex hull with (0, 0), (1, 1) and the mirrored points. Points are exact
    rates; for rates measured on samples use an audit, which adds the confidence.

    >>> round(attack(points=[(0.1, 0.6), (0.3, 0.7)]).tpr(fpr=0.2), 3)
    0.65
    """
    fpr, tpr = _checks.pairs("(fpr, tpr)", points=points)
    _checks.probabilities(points=np.stack([fpr, tpr]))
    if np.any(np.diff(fpr) < 0):
        _checks.refuse("points", "be sorted by rising fpr", points)
    worse = tpr < fpr
    rates = (
        np.concatenate([[0.0, 1.0], np.where(worse, 1 - fpr, fpr)]),
        np.concatenate([[0.0, 1.0], np.where(worse, 1 - tpr, tpr)]),
        np.concatenate([[1.0, 0.0], np.where(worse, tpr, 1 - tpr)]),
        np.concatenate([[1.0, 0.0], np.where(worse, fpr, 1 - fpr)]),
    )
    curve = from_corners(*rates, bound=Bound.UPPER)
    listed = list(zip(fpr.tolist(), tpr.tolist(), strict=True))
    return curve.made_by(f"attack(points={listed if len(listed) <= 2 else '…'})")


def from_corners(
    fpr: Array,
    tpr: Array,
    fnr: Array,
    tnr: Array,
    bound: Bound,
    loss_to_next: Array | None = None,
) -> AtomicCurve:
    """The lower convex envelope of operating points, which must include both trivial tests.

    ``loss_to_next`` is the known loss from each point to the one listed after it, NaN if none;
    differences of rates would give the same with fewer digits.
    """
    best = hull.best_points(fpr, tpr, fnr, tnr)
    absent = np.where(fpr[best][1:] < 0.5, np.diff(fpr[best]), -np.diff(tnr[best]))
    present = np.where(tpr[best][1:] < 0.5, np.diff(tpr[best]), -np.diff(fnr[best]))
    absent, present = np.maximum(absent, 0.0), np.maximum(present, 0.0)
    losses = log_ratio(present, absent)
    if loss_to_next is not None:
        known = np.where(np.diff(best) == 1, loss_to_next[best[:-1]], np.nan)
        losses = np.where(np.isnan(known), losses, known)
    return from_atoms(losses, absent, present, bound)
