"""Input domains, from which a search finds the neighbouring pair that leaks most.

Each says which inputs there are and which two are neighbours: that is what a claim speaks of. A
description that is wider than the claim gives pairs that are no neighbours, and refutes nothing.

>>> from tellapart.audit import domains
>>> ages = domains.Numbers(0, 120, rows=(1, 10))
>>> answers = domains.Answers(5, domains.Moves.TOGETHER)
>>> table = domains.Tables({"age": (0, 120), "job": ["none", "some"]})
"""

from typing import TYPE_CHECKING

from tellapart import _moved
from tellapart.audit.searching.answers import Answers, Moves, OneOf, Tallies
from tellapart.audit.searching.domain import Examples
from tellapart.audit.searching.records import Numbers, Tables

__all__ = [
    "Answers",
    "Examples",
    "Moves",
    "Numbers",
    "OneOf",
    "Tables",
    "Tallies",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
