"""From a risk someone can accept to the parameter that keeps it, what it costs, and who is best."""

from tellapart.choose._compare import Comparison, Pair, compare
from tellapart.choose._frontier import Frontier, FrontierRow, frontier
from tellapart.choose.calibrate import Choice, Infeasible, Limit, at_least, at_most, largest, least

__all__ = [
    "Choice",
    "Comparison",
    "Frontier",
    "FrontierRow",
    "Infeasible",
    "Limit",
    "Pair",
    "at_least",
    "at_most",
    "compare",
    "frontier",
    "largest",
    "least",
]
