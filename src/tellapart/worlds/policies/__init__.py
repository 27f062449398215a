"""Blowfish policies: secret graphs, and constraints that everyone knows.

After He, Machanavajjhala and Ding (2014). Noise Lap(sensitivity/ε) makes neighbours under the
policy ε-indistinguishable. Without constraints that is what Pufferfish asks for all independent
records. With constraints it is less: a prior on the databases that remain may leak more than ε,
so ask the exact test of such a prior as well.
"""

from typing import TYPE_CHECKING

from tellapart import _moved
from tellapart.worlds.policies.constraints import KnownCount, KnownMarginal
from tellapart.worlds.policies.policy import CumulativeHistogram, Histogram, Policy
from tellapart.worlds.policies.secret_graphs import (
    AttributeGraph,
    CompleteGraph,
    DistanceGraph,
    EdgeGraph,
    PartitionGraph,
)

__all__ = [
    "AttributeGraph",
    "CompleteGraph",
    "CumulativeHistogram",
    "DistanceGraph",
    "EdgeGraph",
    "Histogram",
    "KnownCount",
    "KnownMarginal",
    "PartitionGraph",
    "Policy",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
