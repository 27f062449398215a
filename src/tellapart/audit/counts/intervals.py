"""Lower confidence bounds on ε, δ and μ from the counts of one attack.

The attack, threshold included, must be fixed before these counts are drawn.
"""

from tellapart.audit.counts.buehler import (
    Ranking,
    berger_boos_epsilon,
    buehler_epsilon,
    buehler_p_value,
)
from tellapart.audit.counts.clopper_pearson import (
    Forms,
    box_epsilon,
    clopper_pearson,
    clopper_pearson_epsilon,
    delta_lower,
    gaussian_epsilon,
    mu_lower,
)
from tellapart.audit.counts.credible import jeffreys_epsilon, joint_beta_epsilon
from tellapart.audit.counts.score import score_epsilon

__all__ = [
    "Forms",
    "Ranking",
    "berger_boos_epsilon",
    "box_epsilon",
    "buehler_epsilon",
    "buehler_p_value",
    "clopper_pearson",
    "clopper_pearson_epsilon",
    "delta_lower",
    "gaussian_epsilon",
    "jeffreys_epsilon",
    "joint_beta_epsilon",
    "mu_lower",
    "score_epsilon",
]
