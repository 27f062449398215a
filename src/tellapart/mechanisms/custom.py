"""A mechanism of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart.curve.atomic import from_pmfs
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.densities import Density, from_densities
from tellapart.mechanisms.base import ADD_REMOVE, Mechanism, Neighbours


@dataclass(frozen=True)
class CustomMechanism(Mechanism):
    """Any mechanism whose worst pair of neighbours is known, by the curve of that pair.

    >>> flip = CustomMechanism.from_pmfs(absent=[0.75, 0.25], present=[0.25, 0.75])
    >>> round(flip.curve().epsilon(delta=0), 6)
    1.098612
    """

    test: TradeoffCurve

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.test, TradeoffCurve):
            _checks.refuse("test", "be a TradeoffCurve", self.test)

    @classmethod
    def from_pmfs(
        cls, absent: ArrayLike, present: ArrayLike, *, neighbours: Neighbours = ADD_REMOVE
    ) -> Self:
        """From the probabilities of the same outcomes without and with the record."""
        pair = from_pmfs(_checks.pmf(absent=absent), _checks.pmf(present=present))
        return cls(pair, neighbours=neighbours)

    @classmethod
    def from_densities(
        cls,
        absent: Density,
        present: Density,
        support: tuple[float, float],
        breaks: Sequence[float] = (),
        cells: int = 50_000,
        *,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> Self:
        """From the densities of the output without and with the record (`Bound.LOWER`)."""
        return cls(from_densities(absent, present, support, breaks, cells), neighbours=neighbours)

    def _present_test(self) -> TradeoffCurve:
        return self.test
