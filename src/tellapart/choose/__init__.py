"""From a risk someone can accept to the parameter that keeps it."""

from tellapart.choose.calibrate import Choice, Infeasible, Limit, at_least, at_most, largest, least

__all__ = ["Choice", "Infeasible", "Limit", "at_least", "at_most", "largest", "least"]
