"""A Markov chain run backwards: the law of the previous state given the present one (Bayes)."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array
from tellapart.errors import Unsupported
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.marginals import log_joints
from tellapart.worlds.markov.step import EPS, Box, Mask
from tellapart.worlds.markov.transitions import all_steps, matrices
from tellapart.worlds.models.base import logs_of

_SETTLED = 1e-10


def reversed_chain(forward: ArrayLike, initial: ArrayLike, length: int | None = None) -> Array:
    """How an attacker reasons backwards: the law of the previous state given the present one.

    One matrix per step: P(l[t−1] = j | l[t] = i) = P(l[t−1] = j)·P(i | j)/P(l[t] = i). Unless the
    chain starts in its stationary law these differ from step to step, also where ``forward``
    is one matrix for all ``length`` times. Exact up to rounding. A state that cannot occur at
    some time has no row there and is refused.

    >>> reversed_chain([[0.7, 0.3], [0.05, 0.95]], [0.5, 0.5], length=3).round(4).tolist()[0]
    [[0.9333, 0.0667], [0.24, 0.76]]
    """
    ahead = matrices(forward=forward)
    law = _checks.pmf(initial=initial)
    if law.size != ahead.shape[-1]:
        _checks.refuse("initial", f"hold one probability for each of {ahead.shape[-1]} states", law)
    if length is None and ahead.ndim == 2:
        _checks.refuse("length", "be given where one matrix serves all steps", length)
    times = len(ahead) + 1 if length is None else _checks.whole(1, length=length)
    rows = np.empty((times - 1, law.size, law.size))
    steps = all_steps(ahead, times, "forward")
    for step, (joint, present) in enumerate(log_joints(law, steps)):
        if present.min() == -np.inf:
            raise Unsupported(
                f"state {int(present.argmin())} cannot occur at time {step + 2}, so that nothing "
                "can be said of its past: leave the state out, or give it a positive probability"
            )
        rows[step] = _given_present(joint, present)
    return rows


def reversals(chain: MarkovChain) -> tuple[list[Box], Mask]:
    """For each step of a chain its reversal, and which states each record may have.

    A state that cannot occur has an empty row. Where laws of neighbouring records agree up to e^±δ
    all later ones do; once all of them together move rows by less than 1e-10 one box holds for
    the rest.
    """
    law = logs_of(chain.initial)
    boxes: list[Box] = []
    possible = np.zeros((chain.length, law.size), dtype=bool)
    possible[0] = law > -np.inf
    steps = itertools.repeat(chain.transition, chain.length - 1)
    for t, (joint, new) in enumerate(log_joints(chain.initial, steps), start=1):
        possible[t] = new > -np.inf
        rows = _given_present(joint, new)
        drift = 2 * (chain.length - t) * (_change(law, new) + 4 * EPS)
        if drift <= _SETTLED:
            rest = Box(rows * (1 - 2 * drift), np.minimum(rows * (1 + 2 * drift), 1.0))
            possible[t:] = possible[t]
            return boxes + [rest] * (chain.length - t), possible
        boxes.append(Box(rows, rows))
        law = new
    return boxes, possible


def _given_present(joint: Array, law: Array) -> Array:
    """Rows P(before = · | after = i) from log P(before, after) and log P(after)."""
    occurs = law > -np.inf
    return np.where(occurs[:, None], np.exp(joint.T - np.where(occurs, law, 0.0)[:, None]), 0.0)


def _change(law: Array, new: Array) -> float:
    """The largest change of a log-probability; infinite where a state comes or goes."""
    with np.errstate(invalid="ignore"):
        change = np.abs(new - law)
    return float(np.where(np.isnan(change), 0.0, change).max())
