"""Lower confidence bounds on ε, δ and μ from the counts of one attack.

The attack, threshold included, must be fixed before these counts are drawn.
"""

from typing import TYPE_CHECKING

from tellapart import _moved
from tellapart.audit.counts.buehler import buehler_epsilon
from tellapart.audit.counts.clopper_pearson import (
    box_epsilon,
    clopper_pearson,
    clopper_pearson_epsilon,
)

__all__ = [
    "box_epsilon",
    "buehler_epsilon",
    "clopper_pearson",
    "clopper_pearson_epsilon",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
