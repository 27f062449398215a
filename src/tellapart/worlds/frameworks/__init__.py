"""Privacy frameworks beyond DP, each as the exact hypothesis test that its definition speaks of.

- One module for each: `dp` (and groups), `pufferfish_privacy`, `bayesian_dp`, `dependent_dp`,
  `membership_privacy`, `inferential_privacy`, `mutual_information_dp`,
  `blowfish_privacy`; `at_delta` for (ε, δ);
- `comparison` asks all of them, `results_text` shows the answers, `result` is one answer;
- `every_record`, `secret_pairs` and `databases` say what has to be told apart.
"""

from typing import TYPE_CHECKING

from tellapart import _moved
from tellapart.worlds.frameworks.bayesian_dp import bayesian
from tellapart.worlds.frameworks.blowfish_privacy import blowfish
from tellapart.worlds.frameworks.comparison import compare_frameworks
from tellapart.worlds.frameworks.dependent_dp import dependent
from tellapart.worlds.frameworks.dp import differential_privacy, group_privacy
from tellapart.worlds.frameworks.inferential_privacy import (
    ghosh_kleinberg,
    inferential,
)
from tellapart.worlds.frameworks.membership_privacy import membership
from tellapart.worlds.frameworks.mutual_information_dp import mutual_information
from tellapart.worlds.frameworks.pufferfish_privacy import pufferfish, pufferfish_by_record

__all__ = [
    "bayesian",
    "blowfish",
    "compare_frameworks",
    "dependent",
    "differential_privacy",
    "ghosh_kleinberg",
    "group_privacy",
    "inferential",
    "membership",
    "mutual_information",
    "pufferfish",
    "pufferfish_by_record",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
