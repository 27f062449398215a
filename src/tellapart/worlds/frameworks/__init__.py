"""Privacy frameworks beyond DP, each as the exact test that its definition speaks of."""

from tellapart.worlds.frameworks.counterexamples import COUNTEREXAMPLES, Counterexample
from tellapart.worlds.frameworks.inferential import ProductPriors, inferential
from tellapart.worlds.frameworks.membership import membership, membership_epsilon
from tellapart.worlds.frameworks.mutual import mutual_information
from tellapart.worlds.frameworks.orderings import (
    Claim,
    Example,
    Orderings,
    Pair,
    Tally,
    Verdict,
    orderings,
)
from tellapart.worlds.frameworks.standing import Side, Standing
from tellapart.worlds.frameworks.transfer import ghosh_kleinberg

__all__ = [
    "COUNTEREXAMPLES",
    "Claim",
    "Counterexample",
    "Example",
    "Orderings",
    "Pair",
    "ProductPriors",
    "Side",
    "Standing",
    "Tally",
    "Verdict",
    "ghosh_kleinberg",
    "inferential",
    "membership",
    "membership_epsilon",
    "mutual_information",
    "orderings",
]
