"""Privacy frameworks beyond DP, each as the exact test that its definition speaks of."""

from tellapart.worlds.frameworks._records import ByRecord
from tellapart.worlds.frameworks.approximate import (
    approximate_dp,
    approximate_group,
    approximate_pufferfish,
)
from tellapart.worlds.frameworks.bayesian import bayesian
from tellapart.worlds.frameworks.blowfish import blowfish
from tellapart.worlds.frameworks.comparison import Comparison, LeftOut, compare_frameworks
from tellapart.worlds.frameworks.counterexamples import COUNTEREXAMPLES, Counterexample
from tellapart.worlds.frameworks.dependent import (
    dependence_sensitivity,
    dependent,
    pairwise_coefficient,
)
from tellapart.worlds.frameworks.inferential import ProductPriors, inferential
from tellapart.worlds.frameworks.membership import membership, membership_epsilon
from tellapart.worlds.frameworks.mutual import mutual_information
from tellapart.worlds.frameworks.neighbours import differential_privacy, group_privacy
from tellapart.worlds.frameworks.orderings import (
    Claim,
    Example,
    Orderings,
    Pair,
    Tally,
    Verdict,
    orderings,
)
from tellapart.worlds.frameworks.pufferfish import pufferfish, pufferfish_by_record, worst_curve
from tellapart.worlds.frameworks.standing import Side, Standing
from tellapart.worlds.frameworks.table import as_table
from tellapart.worlds.frameworks.transfer import ghosh_kleinberg

__all__ = [
    "COUNTEREXAMPLES",
    "ByRecord",
    "Claim",
    "Comparison",
    "Counterexample",
    "Example",
    "LeftOut",
    "Orderings",
    "Pair",
    "ProductPriors",
    "Side",
    "Standing",
    "Tally",
    "Verdict",
    "approximate_dp",
    "approximate_group",
    "approximate_pufferfish",
    "as_table",
    "bayesian",
    "blowfish",
    "compare_frameworks",
    "dependence_sensitivity",
    "dependent",
    "differential_privacy",
    "ghosh_kleinberg",
    "group_privacy",
    "inferential",
    "membership",
    "membership_epsilon",
    "mutual_information",
    "orderings",
    "pairwise_coefficient",
    "pufferfish",
    "pufferfish_by_record",
    "worst_curve",
]
