"""Which privacy framework asks for more? Claims of an order, tried on random releases."""

from tellapart import _moved
from tellapart.reproduce.framework_orderings.counterexamples import COUNTEREXAMPLES, Counterexample
from tellapart.reproduce.framework_orderings.experiment import (
    Claim,
    ComparedPair,
    Example,
    Orderings,
    OrderVerdict,
    Tally,
    orderings,
)

__all__ = [
    "COUNTEREXAMPLES",
    "Claim",
    "ComparedPair",
    "Counterexample",
    "Example",
    "OrderVerdict",
    "Orderings",
    "Tally",
    "orderings",
]

__getattr__ = _moved.renamed(__name__, {"Pair": "ComparedPair", "Verdict": "OrderVerdict"})
