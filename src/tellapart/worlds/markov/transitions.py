"""Transition matrices: what is refused, which cells are zero, and chains run backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from tellapart import _checks
from tellapart._checks import Array
from tellapart.errors import Unsupported

Transitions = ArrayLike | None  # one matrix, one for each step, or no correlation

_ROUNDING = 1e-9


class ZeroCell(NamedTuple):
    """A move that one state never makes and another does: seeing it would reveal everything."""

    side: str
    step: int | None  # None where one matrix serves all steps
    row: int
    column: int

    def __str__(self) -> str:
        where = "" if self.step is None else f" at step {self.step}"
        return f"{self.side} row {self.row}, column {self.column}{where}"


def matrices(**named: Any) -> Array:
    """One stochastic matrix, or one per step along the first axis; rows are normalised."""
    ((name, _),) = named.items()
    array = _checks.reals("be a square matrix or a sequence of them", **named)
    if array.ndim not in (2, 3) or array.shape[-1] != array.shape[-2]:
        _checks.refuse(name, "be a square matrix or a sequence of them", array.shape)
    if array.shape[-1] < 2:
        _checks.refuse(name, "have at least 2 states", array.shape[-1])
    if array.size and array.min() < 0:
        where = _place(np.unravel_index(int(array.argmin()), array.shape))
        _checks.refuse(f"{name} {where}", "be at least 0", float(array.min()))
    totals = array.sum(axis=-1)
    wrong = ~(np.abs(totals - 1) <= _ROUNDING)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        _checks.refuse(f"{name} {_place(at, cell=False)}", "sum to 1", float(totals[at]))
    return np.asarray(array / totals[..., None])


def _place(at: Sequence[Any], cell: bool = True) -> str:
    names = ["step", "row", "column"] if cell else ["step", "row"]
    return ", ".join(f"{name} {int(one)}" for name, one in zip(names[-len(at) :], at, strict=True))


def one_matrix(**named: Any) -> Array:
    """A single stochastic matrix."""
    ((name, _),) = named.items()
    array = matrices(**named)
    if array.ndim != 2:
        _checks.refuse(name, "be one matrix for all times", array.shape)
    return array


def sides(backward: Transitions, forward: Transitions) -> tuple[Array | None, Array | None]:
    """Both matrices, or sequences of them, about the same states."""
    back = None if backward is None else matrices(backward=backward)
    ahead = None if forward is None else matrices(forward=forward)
    if back is not None and ahead is not None and back.shape[-1] != ahead.shape[-1]:
        _checks.refuse("forward", f"have {back.shape[-1]} states, as backward", ahead.shape[-1])
    return back, ahead


def each_step(transitions: Array | None, length: int, name: str) -> list[Array | None]:
    """The matrix of every step between neighbouring times."""
    if transitions is None:
        return [None] * (length - 1)
    return list(_all_steps(transitions, length, name))


def _all_steps(transitions: Array, length: int, name: str) -> list[Array]:
    if transitions.ndim == 2:
        return [transitions] * (length - 1)
    if len(transitions) != length - 1:
        rule = f"hold {length - 1} matrices, one per step between {length} times"
        _checks.refuse(name, rule, len(transitions))
    return list(transitions)


def zero_cells(backward: Transitions, forward: Transitions) -> tuple[ZeroCell, ...]:
    """The moves whose being impossible for one state tells an attacker everything.

    Such zeros make the leakage grow without limit as the budgets do, and can make it infinite
    in the long run. Zeros that come from counting rather than from knowledge hide risk: the
    move was not seen yet. A column of zeros alone is harmless and not listed.
    """
    back, ahead = sides(backward, forward)
    return (*_zeros(back, "backward"), *_zeros(ahead, "forward"))


def _zeros(transitions: Array | None, side: str) -> list[ZeroCell]:
    if transitions is None:
        return []
    telling = (transitions == 0) & (transitions.max(axis=-2, keepdims=True) > 0)
    cells = np.argwhere(telling).tolist()
    if transitions.ndim == 2:
        return [ZeroCell(side, None, row, column) for row, column in cells]
    return [ZeroCell(side, step, row, column) for step, row, column in cells]


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
    found = np.empty((times - 1, law.size, law.size))
    for step, matrix in enumerate(_all_steps(ahead, times, "forward")):
        together = (law[:, None] * matrix).T  # rows: the present state
        law = together.sum(axis=1)
        if law.min() == 0:
            raise Unsupported(
                f"state {int(law.argmin())} cannot occur at time {step + 2}, so that nothing can be"
                " said of its past: leave the state out, or give it a positive probability"
            )
        found[step] = together / law[:, None]
    return found


def stationary_law(transition: Array) -> Array:
    """The one stationary law, by elimination without subtraction (Grassmann, Taksar, Heyman)."""
    law = np.zeros(transition.shape[0])
    states = closed_class(transition)
    law[states] = _eliminated(transition[np.ix_(states, states)])
    return law


def closed_class(transition: Array) -> NDArray[np.int64]:
    """The states a chain ends up in for ever, if there is one such class only."""
    count, labels = connected_components(transition > 0, connection="strong")
    moves = [labels[np.nonzero(transition[labels == one])[1]] for one in range(count)]
    closed = [one for one in range(count) if np.all(moves[one] == one)]
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
