"""Privacy frameworks beyond DP, each as the exact test that its definition speaks of."""

from tellapart.worlds.frameworks.inferential import ProductPriors, inferential
from tellapart.worlds.frameworks.membership import membership, membership_epsilon
from tellapart.worlds.frameworks.mutual import mutual_information
from tellapart.worlds.frameworks.standing import Side, Standing
from tellapart.worlds.frameworks.transfer import ghosh_kleinberg

__all__ = [
    "ProductPriors",
    "Side",
    "Standing",
    "ghosh_kleinberg",
    "inferential",
    "membership",
    "membership_epsilon",
    "mutual_information",
]
