"""Thousands of different Laplace steps at once: their moments, summed without a loop."""

from __future__ import annotations

import numpy as np

from tellapart._checks import Array
from tellapart.curve.losses import Complex, Cumulants, LaplaceLoss

# Tables of more entries than this are worked through in parts.
_MOST = 1 << 20


class LaplaceSum:
    """The total loss of Laplace steps with these shifts, each taken so often."""

    def __init__(self, shifts: Array, counts: Array) -> None:
        self._shifts, self._counts = shifts, counts

    def cumulants(self, c: Array) -> Cumulants:
        """As `LaplaceLoss.cumulants`, for all shifts at once."""
        parts = LaplaceLoss(self._shifts).cumulants(np.asarray(c)[..., None])  # type: ignore[arg-type]
        return Cumulants(*(part @ self._counts for part in parts))

    def along(self, c: float, y: Array) -> Complex:
        """As `LaplaceLoss.along`, for all shifts at once."""
        found = np.empty(y.shape, dtype=complex)
        rows = max(1, _MOST // self._shifts.size)
        for start in range(0, y.size, rows):
            part = slice(start, start + rows)
            table = LaplaceLoss(self._shifts).along(c, y[part, None])  # type: ignore[arg-type]
            found[part] = table @ self._counts
        return found

    def on_mesh(self, c: float, step: float, points: int) -> Complex:
        """The same on a mesh."""
        return self.along(c, step * np.arange(points, dtype=float))

    def decay(self, c: float, y: Array) -> Array:
        """As `LaplaceLoss.decay`, for all shifts at once."""
        table = LaplaceLoss(self._shifts).decay(c, y[:, None])  # type: ignore[arg-type]
        return np.asarray(table @ self._counts)
