"""Calibration to risk: from limits to the parameter that keeps them, what it costs, comparisons.

- `limit`, `named_limits`: how much of a risk is accepted, by its function or by its name;
- `calibrate`, `search`: the least noise or the largest ε that keeps all limits;
- `utility`: how far off a noisy answer is, limits on that, and whether they clash with risks;
- `least_cost`: the value of accuracy against what people may lose;
- `training_maps`: the noise of DP-SGD for many batch sizes and epochs at equal risk;
- `frontiers`: what each parameter costs; `comparison`: who leaks more, and by how much;
- `noise_choice`, `noise_tables`: noise for correlated records, and methods side by side.
"""

from typing import TYPE_CHECKING

from tellapart import _moved
from tellapart.choose.calibrate import largest, least
from tellapart.choose.comparison import compare
from tellapart.choose.frontiers import frontier
from tellapart.choose.least_cost import cheapest
from tellapart.choose.limit import FROM_MODEL, at_least, at_most, by_cost
from tellapart.choose.noise_choice import noise
from tellapart.choose.noise_tables import noise_table
from tellapart.choose.training_maps import training_map
from tellapart.choose.utility import answer_error, error_at_most, feasible, utility_at_least
from tellapart.errors import Infeasible

__all__ = [
    "FROM_MODEL",
    "Infeasible",
    "answer_error",
    "at_least",
    "at_most",
    "by_cost",
    "cheapest",
    "compare",
    "error_at_most",
    "feasible",
    "frontier",
    "largest",
    "least",
    "noise",
    "noise_table",
    "training_map",
    "utility_at_least",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
