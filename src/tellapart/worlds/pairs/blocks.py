"""Work on large arrays in blocks, to bound the memory it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array

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


class Crossings(NamedTuple):
    """Cells in which a ratio meets a level, and the stretch of each on which it is above."""

    met: NDArray[np.bool_]
    row: NDArray[np.intp]
    column: NDArray[np.intp]
    start: Array
    end: Array
