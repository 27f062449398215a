"""Where two curves cross: which of two mechanisms is safer depends on the attacker."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import TradeoffCurve

# Closer than this, relatively, two curves are taken to touch: below it lies only rounding.
_TOUCH = 1e-11


class Crossing(NamedTuple):
    """A pair of error rates at which the stronger of two attackers changes."""

    fpr: float
    fnr: float


def crossings(a: TradeoffCurve, b: TradeoffCurve) -> tuple[Crossing, ...]:
    """At which error rates two curves change places, from few false accusations to many.

    Searched on a grid that reaches 1e-300 in both corners: two changes between neighbouring grid
    points are not seen. Curves that touch without changing places do not cross.

    >>> import tellapart as ta
    >>> laplace, gaussian = ta.Laplace(scale=1).curve(), ta.Gaussian(sigma=1).curve()
    >>> [round(one.fpr, 4) for one in crossings(laplace, gaussian)]
    [0.2366, 0.3886]
    """
    check_curve(a=a)
    check_curve(b=b)
    with np.errstate(all="ignore"):
        near = _near_corner(a, b)
        far = [Crossing(one.fnr, one.fpr) for one in _near_corner(a.mirrored(), b.mirrored())]
    # Each half answers for the points nearer to its own corner, where it has the digits.
    found = [one for one in near if one.fpr <= one.fnr] + [one for one in far if one.fpr > one.fnr]
    return tuple(sorted(found))


def _near_corner(a: TradeoffCurve, b: TradeoffCurve) -> list[Crossing]:
    fpr = np.concatenate([10.0 ** np.linspace(-300, -16, 1000), expit(np.linspace(-36, 0, 4001))])
    lead = _lead(a, b, fpr)
    apart = np.flatnonzero(np.abs(lead) > _TOUCH)
    turns = np.flatnonzero(np.diff(np.sign(lead[apart])))
    found = []
    for low, high in zip(apart[turns], apart[turns + 1], strict=True):
        falls = np.sign(lead[low])

        def fall(x: Array, sign: float = falls) -> Array:
            return sign * _lead(a, b, x)

        _, at = solve.falling_root(fall, fpr[low : low + 1], fpr[high : high + 1])
        found.append(Crossing(float(at[0]), float(a._beta(at)[0])))
    return found


def _lead(a: TradeoffCurve, b: TradeoffCurve, fpr: Array) -> Array:
    """How far a's attacker is ahead, relatively, by β or TPR, whichever is small."""
    beta_a, beta_b = a._beta(fpr), b._beta(fpr)
    tpr_a, tpr_b = a._tpr(fpr), b._tpr(fpr)
    by_beta = (beta_b - beta_a) / np.maximum(np.maximum(beta_a, beta_b), 1e-300)
    by_tpr = (tpr_a - tpr_b) / np.maximum(np.maximum(tpr_a, tpr_b), 1e-300)
    return np.where(np.minimum(beta_a, beta_b) < 0.5, by_beta, by_tpr)
