"""Blowfish policies: secret graphs, and constraints that everyone knows.

After He, Machanavajjhala and Ding (2014). Noise Lap(sensitivity/ε) makes neighbours under the
policy ε-indistinguishable. Without constraints that is what Pufferfish asks for all independent
records. With constraints it is less: a prior on the databases that remain may leak more than ε,
so ask the exact test of such a prior as well.
"""

from tellapart.worlds.policies.constraints import KnownCount, KnownMarginal
from tellapart.worlds.policies.policy import CumulativeHistogram, Histogram, Policy, Sensitivity
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
    "Sensitivity",
]
