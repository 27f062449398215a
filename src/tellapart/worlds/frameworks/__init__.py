"""Privacy frameworks beyond DP, each as the exact hypothesis test that its definition speaks of.

- One module for each: `dp` (and groups), `pufferfish_privacy`, `bayesian_dp`, `dependent_dp`,
  `membership_privacy`, `inferential_privacy`, `ghosh_kleinberg_bound`, `mutual_information_dp`,
  `blowfish_privacy`; `at_delta` for (ε, δ);
- `comparison` asks all of them, `table` shows the answers, `result` is one answer;
- `every_record`, `secret_pairs` and `databases` say what has to be told apart.
"""

import warnings
from typing import Any

from tellapart import _moved
from tellapart.worlds.frameworks.at_delta import (
    approximate_dp,
    approximate_group,
    approximate_pufferfish,
)
from tellapart.worlds.frameworks.bayesian_dp import bayesian
from tellapart.worlds.frameworks.blowfish_privacy import blowfish
from tellapart.worlds.frameworks.comparison import Comparison, LeftOut, compare_frameworks
from tellapart.worlds.frameworks.dependent_dp import (
    dependence_sensitivity,
    dependent,
    pairwise_coefficient,
)
from tellapart.worlds.frameworks.dp import differential_privacy, group_privacy
from tellapart.worlds.frameworks.every_record import ByRecord
from tellapart.worlds.frameworks.inferential_privacy import (
    ProductPriors,
    ghosh_kleinberg,
    inferential,
)
from tellapart.worlds.frameworks.membership_privacy import membership, membership_epsilon
from tellapart.worlds.frameworks.mutual_information_dp import mutual_information
from tellapart.worlds.frameworks.pufferfish_privacy import (
    pufferfish,
    pufferfish_by_record,
    worst_curve,
)
from tellapart.worlds.frameworks.result import FrameworkResult, Side
from tellapart.worlds.frameworks.table import as_table

__all__ = [
    "ByRecord",
    "Comparison",
    "FrameworkResult",
    "LeftOut",
    "ProductPriors",
    "Side",
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
    "pairwise_coefficient",
    "pufferfish",
    "pufferfish_by_record",
    "worst_curve",
]

_elsewhere = _moved.names(__name__, "tellapart.reproduce.framework_orderings")


def __getattr__(name: str) -> Any:
    if name != "Standing":
        return _elsewhere(name)
    warnings.warn(
        f"{__name__}.Standing is {__name__}.FrameworkResult since tellapart 0.2; the old name goes "
        "with 0.3",
        DeprecationWarning,
        stacklevel=2,
    )
    return FrameworkResult
