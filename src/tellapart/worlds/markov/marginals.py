"""Marginal laws along a Markov chain: at every time, which states can be, and in the long run.

By logarithms, as the probability of a state may fall below any double and still be a secret.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart.worlds.models.base import Mask, logs_of


def log_joints(initial: Array, transitions: Iterable[Array]) -> Iterator[tuple[Array, Array]]:
    """For each step log P(before = i, after = j), and the logarithm of the law after it.

    A transition that is the same object as the one before is not looked at again.
    """
    law = logs_of(initial)
    last, logs = None, law
    for transition in transitions:
        if transition is not last:
            last, logs = transition, logs_of(transition)
        joint = law[:, None] + logs
        law = np.logaddexp.reduce(joint, axis=0)
        yield joint, law


def log_marginals(initial: Array, transition: Array, length: int, still: float = 0.0) -> Array:
    """Log-probabilities of the states of every record, a row for each.

    Once a step moves no logarithm by more than ``still``, relatively, all later rows are alike.
    """
    rows = np.empty((length, initial.size))
    rows[0] = logs_of(initial)
    steps = itertools.repeat(transition, length - 1)
    for t, (_, law) in enumerate(log_joints(initial, steps), start=1):
        rows[t] = law
        if _alike(law, rows[t - 1], still):
            rows[t:] = rows[t - 1]
            break
    return rows


def _alike(law: Array, before: Array, still: float) -> bool:
    if not still:
        return np.array_equal(law, before)
    finite = law > -np.inf
    if not np.array_equal(finite, before > -np.inf):
        return False
    off = np.abs(law[finite] - before[finite])
    return bool(np.all(off <= still * (1 + np.abs(law[finite]))))


def supports(initial: Array, transition: Array, length: int) -> Mask:
    """The states of positive probability at each time, which from some time on come round again."""
    moves, now = transition > 0, initial > 0
    rows: list[Mask] = []
    seen: dict[bytes, int] = {}
    while len(rows) < length and now.tobytes() not in seen:
        deadline.check()
        seen[now.tobytes()] = len(rows)
        rows.append(now)
        now = np.asarray(moves[now].any(axis=0))
    distinct = np.array(rows)
    if len(rows) == length:
        return distinct
    start = seen[now.tobytes()]
    later = np.arange(length - start) % (len(rows) - start)
    return np.concatenate([distinct[:start], distinct[start:][later]])


def stationary_law(transition: Array) -> Array:
    """The one stationary law, by elimination without subtraction (Grassmann, Taksar, Heyman)."""
    law = np.zeros(transition.shape[0])
    states = _closed_class(transition)
    law[states] = _eliminated(transition[np.ix_(states, states)])
    return law


def _closed_class(transition: Array) -> NDArray[np.int64]:
    """The states a chain ends up in for ever, if there is one such class only."""
    count, labels = connected_components(transition > 0, connection="strong")
    moves = [labels[np.nonzero(transition[labels == i])[1]] for i in range(count)]
    closed = [i for i in range(count) if np.all(moves[i] == i)]
    if len(closed) > 1:
        _checks.refuse(
            "transition",
            "lead to one stationary law; from some states others are never reached, so "
            "give an initial law",
            transition.tolist(),
        )
    return np.flatnonzero(labels == closed[0]).astype(np.int64)


def _eliminated(transition: Array) -> Array:
    work = np.array(transition)
    size = work.shape[0]
    for last in range(size - 1, 0, -1):
        work[:last, last] /= work[last, :last].sum()
        work[:last, :last] += np.outer(work[:last, last], work[last, :last])
    law = np.ones(size)
    for state in range(1, size):
        law[state] = law[:state] @ work[:state, state]
    return np.asarray(law / law.sum())
