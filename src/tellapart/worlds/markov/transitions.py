"""Transition matrices as they are given: stochastic ones, one for each step, and their zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array

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
    return ", ".join(f"{name} {int(i)}" for name, i in zip(names[-len(at) :], at, strict=True))


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
    return list(all_steps(transitions, length, name))


def all_steps(transitions: Array, length: int, name: str) -> list[Array]:
    """The same where there is a matrix."""
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
