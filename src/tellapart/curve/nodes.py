"""Moments of a loss from points of an integral over outputs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric.safe import complex_log1p
from tellapart.curve.losses import Complex

# Terms smaller than e^−46 of the largest are lost in a double anyway.
NEGLIGIBLE = 46.0


class Nodes(NamedTuple):
    """Losses and log-masses at the points of an integral, on a line of the complex plane."""

    loss: Complex
    base: Complex

    def moments(self, c: float, y: Array) -> Complex:
        """The logarithm of M(c + iy)."""
        z = c + 1j * y
        if self._near_one(c, float(y.max())):
            excess = np.expm1(np.multiply.outer(z, self.loss))
            drift = np.multiply.outer(z, np.expm1(self.loss))
            return complex_log1p((excess - drift) @ np.exp(self.base))
        size = self.base.real + c * self.loss.real - float(y.min()) * self.loss.imag
        top = float(size.max())
        alive = size > top - NEGLIGIBLE
        terms = np.multiply.outer(z, self.loss[alive]) + self.base[alive] - top
        return np.asarray(np.log(np.exp(terms).sum(axis=-1)) + top)

    def moments_on_mesh(self, c: float, step: float, points: int) -> Complex:
        """The same on a mesh: e^((j + k)·w) − 1 from those of j and k, without new sines."""
        block = math.isqrt(points) + 1
        inner = np.expm1(np.multiply.outer(1j * step * np.arange(block), self.loss))
        starts = c + 1j * step * block * np.arange(-(-points // block))
        if self._near_one(c, step * points):
            outer = np.expm1(np.multiply.outer(starts, self.loss))
            mass = np.exp(self.base)
            excess = _product(outer, inner, mass)
            z = (starts[:, None] + 1j * step * np.arange(block)).ravel()
            return complex_log1p(excess - z * (np.expm1(self.loss) @ mass))[:points]
        top = float((self.base.real + c * self.loss.real).max())
        outer = np.exp(np.multiply.outer(starts, self.loss) + self.base - top)
        found = (outer @ (1 + inner).T).ravel()
        return np.asarray((np.log(found) + top)[:points])

    def _near_one(self, c: float, furthest: float) -> bool:
        """Whether M stays so near 1 that the part of the sum with mean 0 is better left out."""
        if c * self.loss.real.max() > 300:
            return False
        drift = np.expm1(np.minimum(self.loss.real, 300.0) + 1j * self.loss.imag)
        spread = float(np.abs(np.exp(self.base) * drift).sum())
        return abs(c + 1j * furthest) * spread < 1


def _product(outer: Complex, inner: Complex, mass: Complex) -> Complex:
    """Σ mass·((1 + outer)(1 + inner) − 1), each product by its small terms."""
    alone = (outer @ mass)[:, None] + (inner @ mass)[None, :]
    return (alone + (outer * mass) @ inner.T).ravel()


def dyadic(y: Array) -> list[NDArray[np.intp]]:
    """Positions of y in groups that share a scale, none too large for the cache."""
    order = np.argsort(y, kind="stable")
    scale = np.floor(np.log2(np.maximum(y[order], 1e-300)))
    starts = np.flatnonzero(np.diff(scale, prepend=scale[0] - 1))
    # The smallest scales all live on the coarsest mesh: join them.
    groups = np.split(order, starts[1:])
    joined: list[NDArray[np.intp]] = []
    for group in groups:
        if joined and len(joined[-1]) + len(group) <= 32:
            joined[-1] = np.concatenate([joined[-1], group])
        else:
            joined.extend(np.array_split(group, -(-len(group) // 256)))
    return joined
