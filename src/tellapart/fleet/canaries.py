"""Gradient canaries: records whose gradient an attacker chose, the worst case for DP-SGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks


@dataclass(frozen=True, eq=False, init=False)
class Canaries:
    """Records whose gradient is the same whatever the weights, as an attacker may arrange.

    One row of ``gradients`` for each canary, in the order of `Architecture.shapes`; one row of
    ``inclusion`` for each model, which says who is in. They are sampled and clipped as examples
    are. The attacker may see each step (``observed``), or only the weights before and after.

    >>> Canaries.dirac([3, 5], parameters=8, inclusion=[[True, False]]).gradients.shape
    (2, 8)
    """

    gradients: NDArray[np.float32]
    inclusion: NDArray[np.bool_]
    observed: bool

    def __init__(self, gradients: ArrayLike, inclusion: ArrayLike, observed: bool = False) -> None:
        rows = _checks.reals("be a matrix of numbers", gradients=gradients)
        if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
            _checks.refuse("gradients", "be a matrix of finite numbers", gradients)
        norms = np.linalg.norm(rows, axis=1)
        if (norms == 0).any():
            _checks.refuse("gradients", "have no row of zeros", gradients)
        if not ((norms >= 1e-12) & (norms <= 1e12)).all():
            _checks.refuse("gradients", "have norms in 1e-12 to 1e12", norms)
        who = np.asarray(inclusion)
        if who.dtype != np.bool_ or who.ndim != 2 or who.shape[1] != rows.shape[0]:
            rule = f"be True or False for each model and each of {rows.shape[0]} canaries"
            _checks.refuse("inclusion", rule, inclusion)
        object.__setattr__(self, "gradients", rows.astype(np.float32))
        object.__setattr__(self, "inclusion", who)
        object.__setattr__(self, "observed", bool(observed))

    @classmethod
    def dirac(
        cls,
        places: ArrayLike,
        parameters: int,
        inclusion: ArrayLike,
        size: float = 1.0,
        observed: bool = False,
    ) -> Canaries:
        """Canaries with one coordinate each: a gradient of norm ``size`` at each of ``places``."""
        count = _checks.whole(1, parameters=parameters)
        chosen: Any = np.asarray(places)
        if chosen.ndim != 1 or not chosen.size or chosen.dtype.kind not in "iu":
            _checks.refuse("places", "list whole numbers", places)
        if chosen.min() < 0 or chosen.max() >= count:
            _checks.refuse("places", f"lie in 0 to {count - 1}", places)
        rows = np.zeros((chosen.size, count))
        rows[np.arange(chosen.size), chosen] = _checks.finite_above_zero(size=size)
        return cls(rows, inclusion, observed)
