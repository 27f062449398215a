"""Calibration to risk: from limits to the parameter that keeps them, what it costs, comparisons.

- `limit`, `named_limits`: how much of a risk is accepted, by its function or by its name;
- `calibrate`, `search`: the least noise or the largest ε that keeps all limits;
- `frontiers`: what each parameter costs; `comparison`: who leaks more, and by how much;
- `noise_choice`, `noise_tables`: noise for correlated records, and methods side by side.
"""

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
