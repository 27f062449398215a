"""Level sets of a likelihood ratio: trade-off curves of two mixtures on the same atoms.

Outputs are cut into cells in which the ratio only rises or only falls, so that it meets a level
once at most in each. Work on large arrays goes in blocks, to bound the memory it takes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.errors import NotCertified

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

# So many numbers are held at once.
HELD = 1 << 21


def blocks(size: int, atoms: int, held: int = HELD) -> Iterator[slice]:
    """Slices of so many questions, the more the fewer atoms meet each; at least one."""
    step = max(1, held // atoms)
    for start in range(0, max(size, 1), step):
        yield slice(start, start + step)


def in_rows(function: Callable[[Array], Array], rows: Array, atoms: int, held: int = HELD) -> Array:
    """What a function says of each row, in columns, few at a time where there are many atoms."""
    return np.concatenate([function(rows[some]) for some in blocks(len(rows), atoms, held)], axis=1)


def in_noise(values: Array, deviation: float, most: float = 1e307) -> Array:
    """Answers in units of the noise; refused where they are beyond what doubles hold."""
    with np.errstate(over="ignore"):
        atoms = values / deviation
    if np.abs(atoms).max() > most:
        raise NotCertified(
            f"noise of {short(deviation)} is too small beside answers as large as "
            f"{short(np.abs(values).max())} for rates in doubles; it hides next to nothing"
        )
    return np.asarray(atoms)


class Crossings(NamedTuple):
    """Cells in which a ratio meets a level, and the stretch of each on which it is above."""

    met: Mask
    row: Index
    column: Index
    start: Array
    end: Array


@dataclass(frozen=True, eq=False, repr=False)
class MixturePair(TradeoffCurve):
    """Two mixtures of one noise, ``present`` told from ``absent``, in units of that noise.

    Both are log-weights at ``atoms``, which rise; -inf where a law has none.
    """

    atoms: Array
    absent: Array
    present: Array
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        if np.any(np.diff(_checks.vector(atoms=self.atoms)) <= 0):
            _checks.refuse("atoms", "rise", self.atoms)

    @property
    @abstractmethod
    def _losses(self) -> Array:
        """The log-likelihood ratio at every edge of a cell, its extremes among them."""

    @abstractmethod
    def _cell(self, column: Index) -> tuple[Array, Array]:
        """Where cells start and end."""

    @abstractmethod
    def _crossing(self, column: Index, level: Array, falls: Mask) -> Array:
        """Where the ratio meets a level in cells whose ends lie on both sides of it."""

    def _mirrored(self) -> Self:
        return type(self)(self.atoms, self.present, self.absent, self.bound)

    def _largest_loss(self) -> float:
        return float(self._losses.max())

    def _smallest_loss(self) -> float:
        return float(self._losses.min())

    def _delta_at_infinity(self) -> float:
        return 0.0

    def _split(self, level: Array) -> tuple[Mask, Crossings]:
        """The cells in which the ratio is above each level, and those that it cuts."""
        above = self._losses > level[:, None]
        whole, met = above[:, :-1] & above[:, 1:], above[:, :-1] ^ above[:, 1:]
        row, column = np.nonzero(met)
        falls = above[row, column]
        place, (left, right) = self._crossing(column, level[row], falls), self._cell(column)
        start, end = np.where(falls, left, place), np.where(falls, place, right)
        return whole, Crossings(met, row, column, start, end)
