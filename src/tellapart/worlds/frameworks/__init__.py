"""Privacy frameworks beyond DP, each as the exact test that its definition speaks of."""

from tellapart.worlds.frameworks._records import ByRecord
from tellapart.worlds.frameworks.bayesian import bayesian
from tellapart.worlds.frameworks.blowfish import blowfish
from tellapart.worlds.frameworks.dependent import (
    dependence_sensitivity,
    dependent,
    pairwise_coefficient,
)
from tellapart.worlds.frameworks.neighbours import differential_privacy, group_privacy
from tellapart.worlds.frameworks.pufferfish import pufferfish, pufferfish_by_record, worst_curve
from tellapart.worlds.frameworks.standing import Side, Standing

__all__ = [
    "ByRecord",
    "Side",
    "Standing",
    "bayesian",
    "blowfish",
    "dependence_sensitivity",
    "dependent",
    "differential_privacy",
    "group_privacy",
    "pairwise_coefficient",
    "pufferfish",
    "pufferfish_by_record",
    "worst_curve",
]
