"""Neighbouring relations and the order of hypotheses: which two worlds an attacker compares."""

from __future__ import annotations

from enum import Enum


class Order(Enum):
    """Which world is h1, the one an attacker tries to prove."""

    PRESENT = "present"
    ABSENT = "absent"

    @property
    def opposite(self) -> Order:
        """The other one."""
        return Order.ABSENT if self is Order.PRESENT else Order.PRESENT


class Neighbours(Enum):
    """Which two data sets must be hard to tell apart.

    Under `ZERO_OUT` one of them has the record's value blanked (Kairouz et al. 2021): the number
    of records is public, and h0, "absent", is the blanked record.
    """

    ADD_REMOVE = "add or remove one record (unbounded)"
    REPLACE = "replace one record (bounded)"
    ZERO_OUT = "zero out one record"

    @property
    def one_sided(self) -> bool:
        """Whether one of the two worlds lacks the record, so that their order matters."""
        return self is not Neighbours.REPLACE
