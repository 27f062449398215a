"""Privacy odometer: what may be said of a budget that is not yet spent, at a stopping time."""

from __future__ import annotations

import math


def loss_at_any_time(variance: float, offset: float, delta: float) -> float:
    """A loss that Gaussian steps exceed, at whatever time one looks, with probability δ at most.

    ½S + √((S + r)·log((S + r)/(r·δ²))) at S = Σ μ² so far, with an ``offset`` r fixed beforehand
    (Robbins 1970; for privacy Whitehouse et al. 2023): the loss less S/2 is a martingale of normal
    steps with variance S, and the mixture of its exponential martingales over λ ~ N(0, 1/r) exceeds
    1/δ ever with probability δ at most (Ville).
    """
    total = variance + offset
    bound = variance / 2 + math.sqrt(total * math.log(total / offset / delta**2))
    return bound * (1 + 1e-14)  # more than the rounding of these
