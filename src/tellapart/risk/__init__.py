"""Risk measures: what an attacker gains, every risk a person cares about, read off one curve.

Measures are plain functions of a curve, so anyone can add their own. A curve from below
(`Bound.LOWER`) gives risks that no attacker exceeds, one from above risks that some attacker has.

- `rates`, `decisions` and `attackers`: the measures; `inference`: ε from the rates of an attack;
- `sentences`: risks as counts of people;
- `catalogue`: each measure declared once, and all of them read off one curve.
"""

from typing import TYPE_CHECKING

from tellapart import _moved
from tellapart.risk.attackers import (
    attribute_inference,
    blind_estimate,
    blind_guess,
    blind_singling_out,
    extra_cost,
    guess,
    predicate_weight,
    reconstruction,
    reidentification,
    singling_out,
)
from tellapart.risk.catalogue import summary
from tellapart.risk.decisions import (
    accuracy,
    bayes_error,
    best_decision,
    f_score,
    max_posterior,
    posterior,
    ppv,
    precision,
)
from tellapart.risk.inference import (
    gaussian_mu,
    laplace_epsilon,
    least_epsilon,
    rates_from_precision,
)
from tellapart.risk.rates import advantage, auc, epsilon, gdp, tpr
from tellapart.risk.sentences import words

__all__ = [
    "accuracy",
    "advantage",
    "attribute_inference",
    "auc",
    "bayes_error",
    "best_decision",
    "blind_estimate",
    "blind_guess",
    "blind_singling_out",
    "epsilon",
    "extra_cost",
    "f_score",
    "gaussian_mu",
    "gdp",
    "guess",
    "laplace_epsilon",
    "least_epsilon",
    "max_posterior",
    "posterior",
    "ppv",
    "precision",
    "predicate_weight",
    "rates_from_precision",
    "reconstruction",
    "reidentification",
    "singling_out",
    "summary",
    "tpr",
    "words",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
