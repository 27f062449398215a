"""Risk measures: what an attacker gains, every risk a person cares about, read off one curve.

Measures are plain functions of a curve, so anyone can add their own. A curve from below
(`Bound.LOWER`) gives risks that no attacker exceeds, one from above risks that some attacker has.
"""

from tellapart.risk.catalogue import Reading, summary
from tellapart.risk.decisions import (
    AttackPoint,
    FScoreAttack,
    bayes_error,
    best_decision,
    f_score,
    f_score_attack,
    max_posterior,
    posterior,
    ppv,
    precision,
    success,
)
from tellapart.risk.inference import (
    gaussian_mu,
    laplace_epsilon,
    least_epsilon,
    rates_from_precision,
)
from tellapart.risk.rates import advantage, auc, epsilon, tpr
from tellapart.risk.sentences import words

__all__ = [
    "AttackPoint",
    "FScoreAttack",
    "Reading",
    "advantage",
    "auc",
    "bayes_error",
    "best_decision",
    "epsilon",
    "f_score",
    "f_score_attack",
    "gaussian_mu",
    "laplace_epsilon",
    "least_epsilon",
    "max_posterior",
    "posterior",
    "ppv",
    "precision",
    "rates_from_precision",
    "success",
    "summary",
    "tpr",
    "words",
]
