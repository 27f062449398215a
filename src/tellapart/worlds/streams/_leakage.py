"""Leakage of a stream of releases over time, backward, forward and in total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.rounding import fixed
from tellapart.worlds.streams import _directional, _temporal
from tellapart.worlds.streams._chains import Transitions, ZeroCell, each_step, sides, zero_cells
from tellapart.worlds.streams._temporal import Carry, carry, plus

_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Leakage:
    """How much all releases of a stream reveal about the state at each time, at most.

    ``backward[t]`` is what the releases up to time t reveal, ``forward[t]`` those from t on,
    ``total[t]`` all of them: upper bounds on log-likelihood ratios, in the units of ε.
    """

    epsilons: Array
    backward: Array
    forward: Array
    total: Array
    directional: bool
    zero_cells: tuple[ZeroCell, ...]

    @property
    def worst(self) -> float:
        """The largest total leakage about any one time."""
        return float(self.total.max())

    @property
    def worst_time(self) -> int:
        """The first time, counted from 0, about which most is revealed."""
        return int(self.total.argmax())

    def __str__(self) -> str:
        t = self.worst_time
        rows = [
            f"a stream of {len(self.total)} releases reveals at most ε = "
            f"{fixed(self.worst, up=True)} about one time (time {t}, counted from 0)",
            f"up to then {fixed(float(self.backward[t]), up=True)}, "
            f"from then on {fixed(float(self.forward[t]), up=True)}, "
            f"its own release alone {fixed(float(self.epsilons[t]), up=True)}",
        ]
        if self.zero_cells:
            more = len(self.zero_cells) - _SHOWN
            shown = "; ".join(str(one) for one in self.zero_cells[:_SHOWN])
            rows.append(
                f"moves of probability 0 that others make: {shown}"
                + (f"; and {more} more" if more > 0 else "")
            )
        return "\n".join(rows)


def leakage(
    backward: Transitions,
    forward: Transitions,
    epsilons: ArrayLike,
    *,
    length: int | None = None,
    directional: bool = False,
) -> Leakage:
    """How much a whole stream of private releases reveals about each single time, at most.

    ``backward`` has rows P(l[t−1] = · | l[t]), ``forward`` rows P(l[t+1] = · | l[t]); each is one
    matrix or one per step, or None for no correlation on that side. ``epsilons`` is one number
    per time, or one for all with ``length``. Every number is an upper bound, rounded up.

    One number per time forgets which state is the likelier one. It is attained, by randomised
    response, for two stationary states that tend to stay; where they tend to change, or the
    chain itself changes, it is not. With ``directional=True`` the leakage about every ordered
    pair of states is kept apart: attained for two states, never larger in general, and slower;
    budgets may then be matrices ε[x, y], one or one per time.

    >>> still = [[0.8, 0.2], [0.1, 0.9]]
    >>> found = leakage(still, still, 0.1, length=10)
    >>> round(found.worst, 4)
    0.4792
    """
    back, ahead = sides(backward, forward)
    budgets = _budgets(back, ahead, epsilons, length, directional)
    before = each_step(back, len(budgets), "backward")
    after = each_step(ahead, len(budgets), "forward")[::-1]
    own = budgets.reshape(len(budgets), -1).max(axis=1)
    found = _by_time(
        own,
        _temporal.recursion(carries(before), own),
        _temporal.recursion(carries(after), own[::-1])[::-1],
    )
    if directional:  # both are bounds, and rounding alone can make this one the larger
        past = np.array(_directional.recursion(before, list(budgets)))
        future = np.array(_directional.recursion(after, list(budgets[::-1])))[::-1]
        found = np.minimum(found, _by_time(budgets, past, future))
    upto, onward, total = found
    return Leakage(own, upto, onward, total, directional, zero_cells(backward, forward))


def _by_time(own: Array, past: Array, future: Array) -> Array:
    """Backward, forward and total leakage, of the worst pair of states at each time."""
    parts = (plus(past, own), plus(future, own), plus(past, future, own))
    return np.array([one.reshape(len(own), -1).max(axis=1) for one in parts])


def carries(steps: Sequence[Array | None]) -> list[Carry | None]:
    """The maps L of all steps; a matrix that serves several steps is read once."""
    distinct = {id(one): one for one in steps}
    maps = {key: None if one is None else carry(one) for key, one in distinct.items()}
    return [maps[id(one)] for one in steps]


def _budgets(
    back: Array | None,
    ahead: Array | None,
    epsilons: ArrayLike,
    length: int | None,
    directional: bool,
) -> Array:
    """One number per time, or with directions one matrix per time, zero on its diagonal."""
    array = _checks.reals(epsilons=epsilons)
    if array.size and array.min() < 0:
        _checks.refuse("epsilons", "be at least 0", float(array.min()))
    if array.ndim > 1 and not directional:
        _checks.refuse("epsilons", "be one number per time unless directional", array.shape)
    if array.ndim in (0, 2):
        times = _checks.whole(1, length=length)
        array = np.repeat(array[None], times, axis=0)
    elif length is not None and length != len(array):
        _checks.refuse("length", f"be the number of epsilons ({len(array)})", length)
    if not len(array):
        _checks.refuse("epsilons", "not be empty", epsilons)
    if not directional:
        return array
    states = next((one.shape[-1] for one in (back, ahead) if one is not None), 2)
    same = np.eye(states, dtype=bool)
    if array.ndim == 1:
        return np.where(same, 0.0, array[:, None, None])
    if array.shape[1:] != (states, states):
        _checks.refuse("epsilons", f"be {states} × {states} matrices", array.shape)
    apart = np.where(same, 0.0, array)
    return np.array([_directional.closed(one) for one in apart])
