"""The discrete Laplace (geometric) and discrete Gaussian mechanisms, for counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from tellapart import _checks
from tellapart.mechanisms.base import ADD_REMOVE
from tellapart.mechanisms.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw
from tellapart.mechanisms.noise import AdditiveNoise
from tellapart.neighbours import Neighbours

# The curve of discrete Laplace noise keeps one corner for each unit of sensitivity.
_MOST_CORNERS = 1_000_000


@dataclass(frozen=True, repr=False)
class DiscreteLaplace(AdditiveNoise):
    """Adds two-sided geometric noise to a whole number; ``sensitivity`` is whole, too.

    At sensitivity 1 it leaks as much as randomised response, more than continuous noise does.

    >>> round(DiscreteLaplace.with_epsilon(1).curve().delta(0.0), 6)
    0.462117
    """

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            scale=_checks.above_zero(scale=self.scale),
            sensitivity=_checks.whole(0, sensitivity=self.sensitivity),
        )
        if self.sensitivity > _MOST_CORNERS:
            _checks.refuse("sensitivity", f"be at most {_MOST_CORNERS}", self.sensitivity)

    @classmethod
    def with_epsilon(
        cls, epsilon: float, sensitivity: int = 1, *, neighbours: Neighbours = ADD_REMOVE
    ) -> Self:
        """The mechanism whose noise gives this ε: scale = sensitivity / ε."""
        e = _checks.finite_at_least_zero(epsilon=epsilon)
        size = _checks.whole(1, sensitivity=sensitivity)
        return cls(size / e if e else math.inf, size, neighbours=neighbours)

    @property
    def noise(self) -> DiscreteLaplaceLaw:
        return DiscreteLaplaceLaw(self.scale)


@dataclass(frozen=True, repr=False)
class DiscreteGaussian(AdditiveNoise):
    """Adds discrete Gaussian noise to a whole number; ``sensitivity`` is whole, too.

    >>> round(DiscreteGaussian(sigma=1).curve().epsilon(delta=1e-5), 3)
    4.43
    """

    sigma: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            sigma=_checks.above_zero(sigma=self.sigma),
            sensitivity=_checks.whole(0, sensitivity=self.sensitivity),
        )

    @property
    def noise(self) -> DiscreteGaussianLaw:
        return DiscreteGaussianLaw(self.sigma)
