"""The catalogue of risk measures: each declared once, and all of them read off one curve.

A measure is one `Measure` and a function of a curve. Tables, limits, options of the commands, and
what the page shows and asks all derive from its record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tellapart import _checks
from tellapart._numeric.text import Scale, fixed
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
from tellapart.risk.rates import advantage, auc, epsilon, tpr

# Above this ε a promise allows an attack that finds everyone at one false alarm in 1e43.
_SENSELESS = 100.0


@dataclass(frozen=True)
class Argument:
    """What measures ask about the attacker: its usual value, its check, its option and its dial.

    Without the help text ``option`` the commands have options of their own for it.
    """

    key: str
    default: float
    label: str
    low: float
    high: float
    ends: tuple[str, str]
    option: str = ""
    check: Callable[..., float] = _checks.inside_unit


PRIOR = Argument(
    "prior",
    0.5,
    "prior: how likely membership is before the attacker looks",
    1e-6,
    0.5,
    ("rare", "every other person"),
)
FPR = Argument(
    "fpr",
    0.01,
    "FPR: share of the others it accuses",
    1e-6,
    0.5,
    ("careful attacker", "reckless attacker"),
    option="Share of the others the attacker accuses, from 0 to 1.",
)
RECALL = Argument(
    "recall",
    0.5,
    "recall: share of members found",
    1e-3,
    1,
    ("few of them", "all of them"),
    option="Share of members found.",
)
WEIGHT = Argument(
    "weight",
    1.0,
    "how much more recall counts in the F-score",
    0.1,
    10,
    ("precision counts", "recall counts"),
    option="How much more recall counts in the F-score.",
    check=check_weight,
)
DELTA = Argument(
    "delta",
    1e-5,
    "δ at which ε is told",
    1e-12,
    0.1,
    ("ε with few exceptions", "with many"),
    check=_checks.probability,
)


@dataclass(frozen=True)
class LimitRange:
    """How much of a risk can be accepted: its help text and label, where a dial starts and ends.

    ``most`` is the largest limit that makes sense.
    """

    option: str
    label: str
    start: float
    low: float
    high: float
    scale: Scale = Scale.LOG
    most: float = 1.0


@dataclass(frozen=True)
class Measure:
    """A risk that is read off a curve, declared once for tables, limits, commands and page.

    ``function`` takes a curve and the ``arguments`` by their names. ``name`` is filled in with the
    arguments; a ``meaning`` that is a function takes the value and the arguments. One with a
    ``limit`` can be limited, from below where smaller is worse. ``grows_with_prior`` says that, for
    every curve, it is proved to be larger for a larger prior.
    """

    key: str
    function: Callable[..., Any]
    name: str
    meaning: str | Callable[..., str]
    arguments: tuple[Argument, ...] = ()
    smaller_is_worse: bool = False
    grows_with_prior: bool = False
    limit: LimitRange | None = None

    @property
    def limit_key(self) -> str:
        """What a limit on it is called: ``max_tpr``, ``min_bayes_error``."""
        if self.key.startswith("max_"):
            return self.key
        return f"{'min' if self.smaller_is_worse else 'max'}_{self.key}"

    def reading(self, curve: TradeoffCurve, **arguments: float) -> Reading:
        """The measure of one curve, with the side on which the truth lies."""
        value = float(self.function(curve, **arguments))
        meaning = (
            self.meaning if isinstance(self.meaning, str) else self.meaning(value, **arguments)
        )
        up = self.smaller_is_worse == (curve.bound is Bound.UPPER)
        relation = "=" if curve.bound is Bound.EXACT else "≤" if up else "≥"
        return Reading(self.key, self.name.format(**arguments), value, relation, meaning, up)


def _epsilon_meaning(value: float, *, delta: float) -> str:
    if value > _SENSELESS:
        return f"no meaningful privacy: an ε above {_SENSELESS:g} promises nothing"
    return "the usual number, one view of the curve"


MEASURES: dict[str, Measure] = {
    measure.key: measure
    for measure in (
        Measure(
            "advantage",
            advantage,
            "advantage",
            "how much more it accuses members, at most",
            limit=LimitRange(
                "How much more often members are accused than others, TPR − FPR.",
                "advantage: accused members less accused others (TPR − FPR)",
                0.1,
                1e-3,
                1,
            ),
        ),
        Measure(
            "tpr",
            tpr,
            "TPR at FPR {fpr:g}",
            "share of members it finds",
            (FPR,),
            limit=LimitRange(
                "Share of members found at --fpr.", "members found at the FPR below", 0.02, 1e-3, 1
            ),
        ),
        Measure(
            "ppv",
            ppv,
            "PPV at FPR {fpr:g}",
            "share of its accusations that are right",
            (FPR, PRIOR),
            grows_with_prior=True,
            limit=LimitRange(
                "Share of accusations that are right at --fpr.",
                "accusations that are right, at the FPR",
                0.6,
                1e-3,
                1,
            ),
        ),
        Measure(
            "precision",
            precision,
            "precision at recall {recall:g}",
            lambda _, *, recall, prior: f"the same, when it finds {100 * recall:g} % of them",
            (RECALL, PRIOR),
            grows_with_prior=True,
            limit=LimitRange(
                "Share of accusations that are right at --recall.",
                "accusations that are right, at a recall",
                0.6,
                1e-3,
                1,
            ),
        ),
        Measure(
            "max_posterior",
            max_posterior,
            "largest posterior",
            "strongest belief an output can lead to",
            (PRIOR,),
            grows_with_prior=True,
            limit=LimitRange(
                "Strongest belief in membership that an output leads to.",
                "belief in membership: the strongest that an output leads to",
                0.7,
                0.01,
                1,
                Scale.LINEAR,
            ),
        ),
        Measure(
            "f_score",
            f_score,
            "F-score, weight {weight:g}",
            "its best mix of precision and recall",
            (WEIGHT, PRIOR),
            grows_with_prior=True,
            limit=LimitRange(
                "Best mix of precision and recall, with --weight.",
                "F-score: best mix of precision and recall",
                0.7,
                0.01,
                1,
                Scale.LINEAR,
            ),
        ),
        Measure(
            "success",
            success,
            "success",
            "how often it is right, at best",
            (PRIOR,),
            limit=LimitRange(
                "How often an attacker is right, at best.",
                "how often the attacker is right",
                0.6,
                0.5,
                1,
                Scale.LINEAR,
            ),
        ),
        Measure(
            "bayes_error",
            bayes_error,
            "Bayes error",
            "how often it is wrong, at best",
            (PRIOR,),
            smaller_is_worse=True,
            limit=LimitRange(
                "How often an attacker is wrong, at best.",
                "how often the attacker is wrong",
                0.4,
                0.01,
                0.5,
                Scale.LINEAR,
            ),
        ),
        Measure(
            "auc",
            auc,
            "AUC",
            "ranks a member above another person",
            limit=LimitRange(
                "How often a member is ranked above another person.",
                "AUC: how often a member looks more suspicious than another",
                0.6,
                0.5,
                1,
                Scale.LINEAR,
            ),
        ),
        Measure(
            "epsilon",
            epsilon,
            "ε at δ = {delta:g}",
            _epsilon_meaning,
            (DELTA,),
            limit=LimitRange(
                "The usual number, ε at --delta.", "ε at a δ", 1.0, 0.01, 20, most=math.inf
            ),
        ),
    )
}


def measure_of(function: Callable[..., Any]) -> Measure | None:
    """The record of a measure, by its function; None for one that nobody declared."""
    return next((known for known in MEASURES.values() if known.function is function), None)


def limited() -> dict[str, tuple[Measure, LimitRange]]:
    """Every measure that can be limited, with its range, by what the limit is called."""
    return {
        measure.limit_key: (measure, measure.limit)
        for measure in MEASURES.values()
        if measure.limit is not None
    }


def arguments() -> dict[str, Argument]:
    """All that the measures ask about the attacker, by name."""
    asked = (argument for measure in MEASURES.values() for argument in measure.arguments)
    return {argument.key: argument for argument in (PRIOR, *asked)}


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
    prior: float = PRIOR.default,
    fpr: float = FPR.default,
    recall: float = RECALL.default,
    weight: float = WEIGHT.default,
    delta: float | Sequence[float] = DELTA.default,
    **others: float,
) -> tuple[Reading, ...]:
    """All that an attacker gains, one reading a risk; ε at each ``delta``, where there are several.

    ``others`` are what measures that were added to `MEASURES` ask for.

    >>> import tellapart as ta
    >>> for reading in summary(ta.guarantee(epsilon=1), prior=0.01)[:3]:
    ...     print(reading)
    advantage ≤ 0.4622
    TPR at FPR 0.01 ≤ 0.0272
    PPV at FPR 0.01 ≤ 0.0268

    See Also
    --------
    tellapart.report.of : the same as a page to keep
    """
    check_curve(curve=curve)
    first, *more = delta if isinstance(delta, Sequence) and delta else [delta]
    given: dict[str, Any] = {
        "prior": prior,
        "fpr": fpr,
        "recall": recall,
        "weight": weight,
        "delta": first,
    }
    known = arguments()
    if unknown := sorted(set(others) - set(known)):
        raise TypeError(f"summary() got an unexpected keyword argument {unknown[0]!r}")
    given = {name: argument.default for name, argument in known.items()} | given | others
    checked = {name: known[name].check(**{name: value}) for name, value in given.items()}
    further = [_checks.probability(delta=at) for at in more]
    readings: list[Reading] = []
    for measure in MEASURES.values():
        asked = {argument.key: checked[argument.key] for argument in measure.arguments}
        readings.append(measure.reading(curve, **asked))
        if measure.key == "epsilon":
            readings += [
                measure.reading(curve, delta=at)._replace(key=f"epsilon_at_{at:g}")
                for at in further
            ]
    return tuple(readings)
