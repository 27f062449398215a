"""Policies: which values must not be told apart, and what everyone knows already (Blowfish).

After He, Machanavajjhala and Ding (2014). Noise Lap(sensitivity/ε) makes neighbours under the
policy ε-indistinguishable. Without constraints that is what Pufferfish asks for all independent
records. With constraints it is less: a prior on the databases that remain may leak more than ε,
so ask the exact test of such a prior as well.
"""

from tellapart.worlds.policies._constraints import KnownCount, KnownMarginal
from tellapart.worlds.policies._secret_graphs import (
    AttributeGraph,
    CompleteGraph,
    DistanceGraph,
    EdgeGraph,
    PartitionGraph,
)
from tellapart.worlds.policies._tallies import CumulativeHistogram, Histogram
from tellapart.worlds.policies.policy import Policy, Sensitivity

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
