"""Provenance of a trade-off curve: what made it, its neighbouring relation and its order.

What is known about where a curve came from, beside its numbers, is one record. It is set in one
place (`Mechanism.curve`, `guarantee`, `from_json`), and how it passes through mirrors and envelopes
stands here alone. Two curves with the same numbers are equal, whatever their provenance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tellapart.neighbours import Neighbours, Order

if TYPE_CHECKING:
    from tellapart.curve.base import TradeoffCurve


@dataclass(frozen=True)
class Provenance:
    """Under which neighbouring relation, and in which order, a curve bounds every attack.

    Without an ``order`` it holds for both. ``ordered`` is then the sharper curve of h0 = absent
    alone, for one that came from two orders. Without ``neighbours`` nothing is known. ``source`` is
    what made it: a mechanism, whose repr can be typed, or words for it.
    """

    neighbours: Neighbours | None = None
    order: Order | None = None
    ordered: TradeoffCurve | None = field(default=None, compare=False)
    source: object = None

    def flipped(self) -> Provenance:
        """That of the mirrored curve."""
        return self if self.order is None else replace(self, order=self.order.opposite)

    def both_orders(self, curve: TradeoffCurve) -> Provenance:
        """That of the envelope of a curve and its mirror."""
        if self.order is None:
            return self
        absent_first = curve if self.order is Order.PRESENT else curve.mirrored()
        return replace(self, order=None, ordered=absent_first)


UNKNOWN = Provenance()


def of_envelope(parts: Sequence[Provenance]) -> Provenance:
    """That of a worst case: what its members have in common.

    A member that holds for both orders holds for each. An envelope of different orders holds for
    neither, unless it has the mirrors, too; `symmetrised` knows that, this does not.
    """
    relations = {part.neighbours for part in parts}
    orders = {part.order for part in parts} - {None}
    if len(relations) > 1 or len(orders) > 1:
        return UNKNOWN
    return Provenance(relations.pop(), orders.pop() if orders else None)
