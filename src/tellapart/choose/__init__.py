"""From a risk someone can accept to the parameter that keeps it, what it costs, and who is best."""

from tellapart.choose.calibrate import Choice, largest, least
from tellapart.choose.comparison import Comparison, Pair, compare
from tellapart.choose.frontiers import Frontier, FrontierRow, frontier
from tellapart.choose.limit import FROM_MODEL, Limit, at_least, at_most
from tellapart.choose.noise_choice import NoiseChoice, noise
from tellapart.choose.noise_tables import NoiseRow, NoiseTable, noise_table
from tellapart.errors import Infeasible

__all__ = [
    "FROM_MODEL",
    "Choice",
    "Comparison",
    "Frontier",
    "FrontierRow",
    "Infeasible",
    "Limit",
    "NoiseChoice",
    "NoiseRow",
    "NoiseTable",
    "Pair",
    "at_least",
    "at_most",
    "compare",
    "frontier",
    "largest",
    "least",
    "noise",
    "noise_table",
]
