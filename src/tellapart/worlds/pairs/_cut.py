"""Where the ratio of two densities crosses a level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array


class Cut(NamedTuple):
    """Cells in which a ratio meets a level, and the stretch of each on which it is above."""

    met: NDArray[np.bool_]
    row: NDArray[np.intp]
    column: NDArray[np.intp]
    start: Array
    end: Array
