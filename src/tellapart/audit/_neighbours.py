"""Which neighbours a claim is about: audits that make their own judge only claims about them."""

from __future__ import annotations

from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism, Neighbours
from tellapart.mechanisms.subject import Subject


def refuse_replacing(claim: Subject, instead: str) -> None:
    """Raise where a claim is about replacing a record, which may show how many there are.

    A curve says nothing of neighbours; whoever gives one says that it is about these.
    """
    if isinstance(claim, Mechanism) and claim.neighbours is Neighbours.REPLACE:
        raise Unsupported(
            "this audit adds or removes a record, and the claim is about replacing one: a "
            f"training that keeps it may still show how many records there are; {instead}"
        )
