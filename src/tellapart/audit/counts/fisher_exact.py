"""Fisher's exact test of successes against a control, for releases that are independent of both."""

from __future__ import annotations

import numpy as np

from tellapart._numeric.binomial import log_choose

# Logarithms of factorials have so many digits for tables of up to 10^8 records.
_ROOM = 1e-6


def fisher_p_value(
    successes: int, trials: int, control_successes: int, control_trials: int
) -> float:
    """The chance of so many successes, or more, if targets and controls are exchangeable.

    Given how many of both together succeed, those among the targets are hypergeometric, whatever
    the attack and the chance of success. Rounded up.

    >>> round(fisher_p_value(9, 10, 2, 10), 6)
    0.002739
    """
    marked, count = successes + control_successes, trials + control_trials
    values = np.arange(successes, min(trials, marked) + 1)
    logs = log_choose(marked, values) + log_choose(count - marked, trials - values)
    chance = float(np.exp(logs - log_choose(count, trials)).sum())
    return min(chance * (1 + _ROOM), 1.0)
