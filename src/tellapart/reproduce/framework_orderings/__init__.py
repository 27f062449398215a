"""Which privacy framework asks for more? Claims of an order, tried on random releases."""

from tellapart.reproduce.framework_orderings.counterexamples import COUNTEREXAMPLES
from tellapart.reproduce.framework_orderings.experiment import orderings

__all__ = [
    "COUNTEREXAMPLES",
    "orderings",
]
