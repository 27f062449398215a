"""Coverage: how often a method without a guarantee claims too much, computed and not assumed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart._numeric.solve import falling_root
from tellapart.audit.counts.attack_counts import Counts
from tellapart.curve.closed import GuaranteeCurve

# Above 0 where a method stays silent, at real numbers of flagged members and non-members.
Silence = Callable[[Array, Array], Array]

Mask = NDArray[np.bool_]

_NODES = 16
_TIE = 1e-6


def false_claims(counts: Counts, fpr: float, tpr: float, silence: Silence) -> float:
    """How often a method speaks if these are the true rates.

    The number of flagged members from which on it claims is found for a few dozen numbers of
    flagged non-members and, where there are more, drawn through them.
    """
    mean, wide = counts.non_members * fpr, 7 * math.sqrt(counts.non_members * fpr * (1 - fpr)) + 12
    low = max(0, math.floor(mean - wide))
    non_members = np.arange(low, min(counts.non_members, math.ceil(mean + wide)) + 1.0)
    nodes = non_members
    if non_members.size > 2 * _NODES:
        nodes = np.linspace(non_members[0], non_members[-1], _NODES)
    first, last = _silent(counts, nodes, silence)
    first, last = np.interp(non_members, nodes, first), np.interp(non_members, nodes, last)
    spoken = binomial.upper_tail(np.floor(last + _TIE) + 1, counts.members, tpr)
    spoken += binomial.lower_tail(np.ceil(first - _TIE) - 1, counts.members, tpr)
    return min(1.0, float(np.sum(binomial.pmf(non_members, counts.non_members, fpr) * spoken)))


def _silent(counts: Counts, non_members: Array, silence: Silence) -> tuple[Array, Array]:
    """Between which (real) numbers of flagged members the method stays silent.

    Methods that also look at flagged non-members as if they were the members claim at both ends.
    """
    none, every = np.zeros(non_members.shape), np.full(non_members.shape, float(counts.members))
    alike = np.minimum(non_members * (counts.members / counts.non_members), every)
    last = _up_to(alike, every, lambda x, some: silence(x, non_members[some]))
    back = _up_to(none, alike, lambda t, some: silence(alike[some] - t, non_members[some]))
    spoken = silence(alike, non_members) <= 0
    return np.where(spoken, counts.members + 1.0, alike - back), np.where(spoken, -1.0, last)


def _up_to(low: Array, high: Array, f: Callable[[Array, Mask], Array]) -> Array:
    """The root of a falling function, or the end of the interval that it keeps its sign on."""
    every = np.ones(low.shape, dtype=bool)
    inner = (f(low, every) > 0) & (f(high, every) <= 0) & (low < high)
    root = np.where(f(low, every) > 0, high, low)
    if np.any(inner):
        root[inner] = falling_root(lambda x: f(x, inner), low[inner], high[inner], 1e-7)[0]
    return root


def likeliest_rates(counts: Counts, epsilon: float, delta: float) -> tuple[float, float]:
    """The FPR and TPR under which the counts are likeliest if (ε, δ) is just kept."""
    curve = GuaranteeCurve(epsilon, delta)
    at = np.sin(np.linspace(0, math.pi / 2, 201)) ** 2
    hits, alarms = counts.true_positives, counts.false_positives
    for _ in range(12):
        tpr = np.asarray(curve.tpr(at))
        likely = xlogy(hits, tpr) + xlog1py(counts.members - hits, -tpr)
        likely += xlogy(alarms, at) + xlog1py(counts.non_members - alarms, -at)
        best = int(np.argmax(likely))
        fpr, power = float(at[best]), float(tpr[best])
        at = np.linspace(at[max(best - 1, 0)], at[min(best + 1, at.size - 1)], 21)
    return fpr, power
