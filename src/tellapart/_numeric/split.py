"""Connect the dots: mass moved between likelihood ratios without changing either total."""

from __future__ import annotations

import numpy as np

from tellapart._checks import Array
from tellapart._numeric.safe import log_ratio, times_exp


def to_ends(low: Array, high: Array, absent: Array, present: Array) -> tuple[Array, Array]:
    """The part of each cell's two masses that goes to its higher ratio; the rest goes lower.

    A cell holds outcomes whose log-likelihood ratios lie in [low, high]. Telling the attacker
    which end an outcome was sent to only helps, so the result errs towards the attacker.
    """
    mean = np.clip(log_ratio(present, absent), low, high)
    # present = up + down and absent = up·e^−high + down·e^−low
    up = present * np.expm1(low - mean) / np.expm1(low - high)
    up = np.where((high > low) & np.isfinite(up), up, present)
    up = np.clip(up, 0.0, present)
    return np.minimum(np.where(np.isfinite(high), times_exp(up, -high), 0.0), absent), up
