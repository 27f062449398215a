"""Intervals for the probability of an event from counts, valid whenever one stops counting.

A mixture of all p with weights Beta(1/2, 1/2) bets against one p: its likelihood ratio

    R(p) = B(s + 1/2, n − s + 1/2)/B(1/2, 1/2) / (p^s·(1 − p)^(n − s))

is a martingale under p that starts at 1, so that it ever reaches 1/level with probability at most
``level`` (Ville). The p with R(p) < 1/level thus hold at all n at once, whatever made one stop:
also where n is the number of times that a chain came by. Robbins (1970); Waudby-Smith, Ramdas
(2020) for this form, the prior-posterior ratio.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

from tellapart._checks import Array
from tellapart._numeric import binomial

_HALVINGS = 100
EPS = float(np.finfo(float).eps)


def anytime(successes: Any, trials: Any, level: float) -> tuple[Array, Array]:
    """Both ends for each count, outside of which p lies with probability at most ``level``.

    Rounded outward; no trials give [0, 1].
    """
    s, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    return _low_end(s, n, level), _complement(_low_end(n - s, n, level))


def clopper_pearson(successes: Any, trials: Any, level: float) -> tuple[Array, Array]:
    """Both ends for a number of trials that was fixed beforehand, rounded outward."""
    ends = binomial.lower_limit, binomial.upper_limit
    low, high = (end(successes, trials, level / 2) for end in ends)
    return low, high


def _complement(low: Array) -> Array:
    """The same end seen from the other outcome, rounded up."""
    return np.where(low > 0, np.minimum((1 - low) * (1 + 4 * EPS), 1.0), 1.0)


def _low_end(s: Array, n: Array, level: float) -> Array:
    """The largest p found below s/n at which the bet has surely been won."""
    won = betaln(s + 0.5, n - s + 0.5) - math.log(math.pi)
    wanted = -math.log(level)
    outside = np.zeros(s.shape)
    inside = np.divide(s, n, out=np.zeros(s.shape), where=n > 0)
    with np.errstate(divide="ignore"):
        for _ in range(_HALVINGS):
            middle = (outside + inside) / 2
            likely = xlogy(s, middle) + xlog1py(n - s, -middle)
            # What rounding may have added to a difference of two large numbers.
            slack = 64 * EPS * (1 + np.abs(won) + np.abs(likely))
            lost = won - likely - slack < wanted
            outside, inside = np.where(lost, outside, middle), np.where(lost, middle, inside)
    return np.where(s > 0, outside, 0.0)
