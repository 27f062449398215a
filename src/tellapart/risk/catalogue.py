"""Every risk of one curve side by side, each with its side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import fixed
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.risk.decisions import (
    bayes_error,
    check_weight,
    f_score,
    max_posterior,
    ppv,
    precision,
    success,
)
from tellapart.risk.rates import advantage, auc

# Above this ε a promise allows an attack that finds everyone at one false alarm in 1e43.
_SENSELESS = 100.0


class Reading(NamedTuple):
    """One number read off a curve; ``relation`` says on which side of it the truth lies.

    ``key`` is its name without the arguments, the same for every curve.

    "=": exact. "≤": no attacker exceeds it (or, for an error, "≥": none errs less). For what an
    attack has shown the sides turn round.
    """

    key: str
    name: str
    value: float
    relation: str
    meaning: str
    rounds_up: bool

    @property
    def shown(self) -> str:
        """The value in a few digits with its relation, rounded so that privacy is not overstated.

        "≈" stands before an exact value whose digits were cut.
        """
        digits = fixed(self.value, up=self.rounds_up)
        cut = math.isfinite(self.value) and abs(float(digits) - self.value) > 1e-12
        return f"{'≈' if self.relation == '=' and cut else self.relation} {digits}"

    def __str__(self) -> str:
        return f"{self.name} {self.shown}"


def summary(
    curve: TradeoffCurve,
    *,
    prior: float = 0.5,
    fpr: float = 0.01,
    recall: float = 0.5,
    weight: float = 1.0,
    delta: float | Sequence[float] = 1e-5,
) -> tuple[Reading, ...]:
    """All that an attacker gains, one reading a risk; ε at each ``delta``, where there are several.

    >>> import tellapart as ta
    >>> for reading in summary(ta.guarantee(epsilon=1), prior=0.01)[:3]:
    ...     print(reading)
    advantage ≤ 0.4622
    TPR at FPR 0.01 ≤ 0.0272
    PPV at FPR 0.01 ≤ 0.0268
    """
    check_curve(curve=curve)
    p = _checks.inside_unit(prior=prior)
    size, found = _checks.inside_unit(fpr=fpr), _checks.inside_unit(recall=recall)
    first, *more = [
        _checks.probability(delta=one)
        for one in (delta if isinstance(delta, Sequence) and delta else [delta])
    ]
    b = check_weight(weight)

    def read(key: str, name: str, value: float | Array, meaning: str) -> Reading:
        return _reading(key, name, float(value), meaning, curve.bound)

    held, precise = ppv(curve, fpr=size, prior=p), precision(curve, recall=found, prior=p)
    belief, best = max_posterior(curve, prior=p), f_score(curve, weight=b, prior=p)
    right, wrong = success(curve, prior=p), bayes_error(curve, prior=p)
    so_many = f"the same, when it finds {100 * found:g} % of them"
    return (
        read(
            "advantage", "advantage", advantage(curve), "how much more it accuses members, at most"
        ),
        read("tpr", f"TPR at FPR {size:g}", curve.tpr(size), "share of members it finds"),
        read("ppv", f"PPV at FPR {size:g}", held, "share of its accusations that are right"),
        read("precision", f"precision at recall {found:g}", precise, so_many),
        read(
            "max_posterior", "largest posterior", belief, "strongest belief an output can lead to"
        ),
        read("f_score", f"F-score, weight {b:g}", best, "its best mix of precision and recall"),
        read("success", "success", right, "how often it is right, at best"),
        read("bayes_error", "Bayes error", wrong, "how often it is wrong, at best"),
        read("auc", "AUC", auc(curve), "ranks a member above another person"),
        epsilon_reading(curve, first),
        *(epsilon_reading(curve, one)._replace(key=f"epsilon_at_{one:g}") for one in more),
    )


def epsilon_reading(curve: TradeoffCurve, delta: float) -> Reading:
    """The usual number, ε, at one δ."""
    value = float(curve.epsilon(delta))
    meaning = "the usual number, one view of the curve"
    if value > _SENSELESS:
        meaning = f"no meaningful privacy: an ε above {_SENSELESS:g} promises nothing"
    return _reading("epsilon", f"ε at δ = {delta:g}", value, meaning, curve.bound)


def _reading(key: str, name: str, value: float, meaning: str, bound: Bound) -> Reading:
    """Larger is worse for everyone but the Bayes error."""
    up = (key == "bayes_error") == (bound is Bound.UPPER)
    relation = "=" if bound is Bound.EXACT else "≤" if up else "≥"
    return Reading(key, name, value, relation, meaning, up)
