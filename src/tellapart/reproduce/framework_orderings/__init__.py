"""Which privacy framework asks for more? Claims of an order, tried on random releases."""

from tellapart.reproduce.framework_orderings.counterexamples import COUNTEREXAMPLES, Counterexample
from tellapart.reproduce.framework_orderings.experiment import (
    Claim,
    Example,
    Orderings,
    Pair,
    Tally,
    Verdict,
    orderings,
)

__all__ = [
    "COUNTEREXAMPLES",
    "Claim",
    "Counterexample",
    "Example",
    "Orderings",
    "Pair",
    "Tally",
    "Verdict",
    "orderings",
]
