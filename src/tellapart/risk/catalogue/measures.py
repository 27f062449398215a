"""Risk measures (advantage, TPR, PPV, posterior, singling out), each declared once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from tellapart._decimals import plain_exponent
from tellapart._numeric.text import Scale, fixed, short
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.guarantees import nothing
from tellapart.risk.attackers import attribute_inference, reconstruction, singling_out
from tellapart.risk.catalogue.attacker_arguments import (
    AT_LEAST,
    BASELINE,
    DELTA,
    FPR,
    PEOPLE,
    PREDICATE_WEIGHT,
    PRIOR,
    RECALL,
    WEIGHT,
    Argument,
)
from tellapart.risk.catalogue.readings import Reading
from tellapart.risk.decisions import accuracy, bayes_error, f_score, max_posterior, ppv, precision
from tellapart.risk.rates import advantage, auc, epsilon, gdp, tpr

# Above this ε a guarantee allows an attack that finds everyone at one false alarm in 1e43.
SENSELESS = 100.0


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
class Counted:
    """A risk as a count: of so many such people or attempts, so many are this (``one``, ``many``).

    ``where`` is what else must be said for the count to have a meaning, and ``dot`` what one of
    them is in a picture, where that is not the same. ``people``: what is counted is people. Whom
    an attack is to find stands in braces, to be filled in from ``IN_THE_DATA`` or ``SUCH_PEOPLE``.
    """

    of: str
    one: str
    many: str
    where: str = ""
    dot: str = ""
    people: bool = True


# What somebody who tells members from non-members finds out about a person.
MEMBERSHIP = "that the person is in the data"
# Whom that somebody looks for: people in the data; or, where all of these may be known to be in it
# and a value of their record is the secret, people with that value.
IN_THE_DATA = {
    "members": "people in the data",
    "others": "people who are not in the data",
    "not_these": "people who are not in it",
    "is_one": "is in the data",
    "are_these": "are in the data",
    "be_one": "be in the data",
    "pairs": "pairs of a person in the data and one who is not",
}
SUCH_PEOPLE = {
    "members": "such people",
    "others": "others",
    "not_these": "others",
    "is_one": "is such a person",
    "are_these": "are such people",
    "be_one": "be such a person",
    "pairs": "pairs of such a person and another",
}


@dataclass(frozen=True)
class Measure:
    """A risk that is read off a curve, declared once for tables, limits, commands and page.

    ``function`` takes a curve and the ``arguments`` by keyword. ``name`` is filled in with the
    arguments; a ``meaning`` that is a function takes the value and the arguments. One with a
    ``limit`` can be limited, from below where smaller is worse. ``grows_with_prior`` says that, for
    every curve, it is proved to be larger for a larger prior. A ``detail`` is left out of short
    tables, unless someone asks about its arguments. ``bound_only``: even of an exact curve it is
    a bound, and has no meaning for what an attack has shown. ``counted`` says it as a count, where
    it is a share of something, and ``harm`` what somebody could find out about a person.
    """

    key: str
    function: Callable[..., Any]
    name: str
    meaning: str | Callable[..., str]
    arguments: tuple[Argument, ...] = ()
    smaller_is_worse: bool = False
    grows_with_prior: bool = False
    limit: LimitRange | None = None
    detail: bool = False
    bound_only: bool = False
    counted: Counted | None = None
    harm: str = MEMBERSHIP

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Arguments without a default: it is asked only where they are given."""
        return tuple(each.key for each in self.arguments if each.required)

    @property
    def limit_key(self) -> str:
        """What a limit on it is called: ``max_tpr``, ``min_bayes_error``."""
        if self.key.startswith("max_"):
            return self.key
        return f"{'min' if self.smaller_is_worse else 'max'}_{self.key}"

    def called_with(self, given: Mapping[str, float]) -> dict[str, float]:
        """Of what is given, what the function takes, by its own keywords."""
        return {each.keyword or each.key: given[each.key] for each in self.arguments}

    def named(self, **arguments: float) -> str:
        """Its name with the arguments filled in: ``ε at δ = 1e-5``."""
        return _named(self.name, tuple(arguments.items()))

    def baseline(self, **arguments: float) -> float:
        """What an attacker without the output has: the measure under perfect privacy."""
        return _blind(self.function, tuple(self.called_with(arguments).items()))

    def reading(self, curve: TradeoffCurve, **arguments: float) -> Reading:
        """The measure of one curve beside its baseline, and on which side the truth lies."""
        result = self.function(curve, **self.called_with(arguments))
        value = float(result)
        meaning = (
            self.meaning if isinstance(self.meaning, str) else self.meaning(value, **arguments)
        )
        up = self.smaller_is_worse == (curve.bound is Bound.UPPER)
        exact = curve.bound is Bound.EXACT and not self.bound_only
        relation = "=" if exact else "≤" if up else "≥"
        name, baseline = self.named(**arguments), self.baseline(**arguments)
        sentence = getattr(result, "sentence", "")
        return Reading(self.key, name, value, relation, meaning, baseline, sentence)


# A summary asks for the same ones again and again.
@lru_cache(maxsize=1024)
def _named(name: str, arguments: tuple[tuple[str, float], ...]) -> str:
    return plain_exponent(name.format(**dict(arguments)))


@lru_cache(maxsize=1024)
def _blind(function: Callable[..., Any], arguments: tuple[tuple[str, float], ...]) -> float:
    blind = function(nothing(), **dict(arguments))
    return float(getattr(blind, "baseline", blind))


def _epsilon_meaning(value: float, *, delta: float) -> str:
    if value > SENSELESS:
        return f"no meaningful privacy: ε is above {short(SENSELESS)}"
    return "the least ε that holds at this δ"


def _accuracy_meaning(value: float, *, prior: float) -> str:
    guess = "non-member" if prior <= 0.5 else "member"
    blind = fixed(max(prior, 1 - prior), up=True)
    return f'accuracy of the best attack; always guessing "{guess}" gives {blind}'


def _error_meaning(value: float, *, prior: float) -> str:
    blind = fixed(min(prior, 1 - prior), up=False)
    return f"error rate of the best attack; guessing blindly gives {blind}"


_AT_FPR = "{fpr} of the {others} are flagged by mistake"

# Keys of 0.1, which options and decision files may still have.
OLD_KEYS = {"success": "accuracy"}

MEASURES: dict[str, Measure] = {
    measure.key: measure
    for measure in (
        Measure(
            "advantage",
            advantage,
            "membership advantage",
            "max (TPR − FPR)",
            limit=LimitRange(
                "Membership advantage: max (TPR − FPR).",
                "membership advantage: max (TPR − FPR)",
                0.1,
                1e-3,
                1,
            ),
            counted=Counted(
                "{members}",
                "more is flagged than of as many {not_these}",
                "more are flagged than of as many {not_these}",
                dot="is flagged beyond as many as are flagged among {not_these}",
            ),
        ),
        Measure(
            "tpr",
            tpr,
            "TPR at FPR {fpr:g}",
            "share of members flagged",
            (FPR,),
            limit=LimitRange(
                "TPR at --fpr: share of members flagged.", "TPR at the FPR below", 0.02, 1e-3, 1
            ),
            counted=Counted("{members}", "is flagged", "are flagged", _AT_FPR),
        ),
        Measure(
            "ppv",
            ppv,
            "PPV at FPR {fpr:g}",
            "share of those flagged who are members",
            (FPR, PRIOR),
            grows_with_prior=True,
            limit=LimitRange(
                "PPV at --fpr: share of those flagged who are members.",
                "PPV: members among those flagged, at the FPR",
                0.6,
                1e-3,
                1,
            ),
            counted=Counted("people whom the attacker flags", "{is_one}", "{are_these}", _AT_FPR),
        ),
        Measure(
            "precision",
            precision,
            "precision at recall {recall:g}",
            lambda _, *, recall, prior: f"PPV when {short(100 * recall)} % of members are flagged",
            (RECALL, PRIOR),
            grows_with_prior=True,
            limit=LimitRange(
                "Precision (PPV) at --recall.",
                "precision: members among those flagged, at a recall",
                0.6,
                1e-3,
                1,
            ),
            detail=True,
            counted=Counted(
                "people whom the attacker flags",
                "{is_one}",
                "{are_these}",
                "{recall} of all {members} are flagged",
            ),
        ),
        Measure(
            "max_posterior",
            max_posterior,
            "max posterior",
            "probability of membership after the worst output",
            (PRIOR,),
            grows_with_prior=True,
            limit=LimitRange(
                "Largest posterior probability of membership, after any output.",
                "largest posterior probability of membership",
                0.7,
                0.01,
                1,
                Scale.LINEAR,
            ),
            counted=Counted(
                "people whom the attacker suspects equally",
                "{is_one}",
                "{are_these}",
                "however the noise turns out",
            ),
        ),
        Measure(
            "f_score",
            f_score,
            "F-score, weight {weight:g}",
            "largest F-score of any attack",
            (WEIGHT, PRIOR),
            grows_with_prior=True,
            limit=LimitRange(
                "Largest F-score of any attack, with --weight.",
                "F-score: precision and recall in one number",
                0.7,
                0.01,
                1,
                Scale.LINEAR,
            ),
            detail=True,
        ),
        Measure(
            "accuracy",
            accuracy,
            "accuracy",
            _accuracy_meaning,
            (PRIOR,),
            limit=LimitRange(
                "Accuracy of the best attack.",
                "accuracy of the best attack",
                0.6,
                0.5,
                1,
                Scale.LINEAR,
            ),
            counted=Counted(
                "people",
                "is rightly said to {be_one} or not",
                "are rightly said to {be_one} or not",
            ),
        ),
        Measure(
            "bayes_error",
            bayes_error,
            "Bayes error",
            _error_meaning,
            (PRIOR,),
            smaller_is_worse=True,
            limit=LimitRange(
                "Error rate of the best attack.",
                "Bayes error: error rate of the best attack",
                0.4,
                0.01,
                0.5,
                Scale.LINEAR,
            ),
            detail=True,
            counted=Counted(
                "people",
                "is wrongly said to {be_one} or not",
                "are wrongly said to {be_one} or not",
            ),
        ),
        Measure(
            "auc",
            auc,
            "AUC",
            "area under the ROC curve",
            limit=LimitRange(
                "Area under the ROC curve.",
                "AUC: area under the ROC curve",
                0.6,
                0.5,
                1,
                Scale.LINEAR,
            ),
            detail=True,
            counted=Counted(
                "{pairs}",
                "is put in the right order",
                "are put in the right order",
                people=False,
            ),
        ),
        Measure(
            "gdp",
            gdp,
            "μ-GDP for FPR and FNR ≥ {at_least:g}",
            "the least μ of Gaussian DP that holds there",
            (AT_LEAST,),
            limit=LimitRange(
                "μ of Gaussian DP, for FPR and FNR from --at-least on.",
                "μ-GDP: Gaussian DP above an FPR and FNR",
                0.5,
                0.01,
                10,
                most=math.inf,
            ),
            detail=True,
        ),
        Measure(
            "epsilon",
            epsilon,
            "ε at δ = {delta:g}",
            _epsilon_meaning,
            (DELTA,),
            limit=LimitRange("ε at --delta.", "ε at a δ", 1.0, 0.01, 20, most=math.inf),
        ),
        Measure(
            "reconstruction",
            reconstruction,
            "reconstruction, baseline {baseline:g}",
            "how often a record is reconstructed, at most",
            (BASELINE,),
            limit=LimitRange(
                "How often a record is reconstructed, with --baseline.",
                "reconstruction: how often a record is guessed",
                0.02,
                1e-6,
                1,
            ),
            bound_only=True,
            counted=Counted(
                "people in the data", "has their record guessed", "have their record guessed"
            ),
            harm="what the person's record says",
        ),
        Measure(
            "attribute_inference",
            attribute_inference,
            "attribute inference, baseline {baseline:g}",
            "how often an attribute is guessed, at most",
            (BASELINE,),
            limit=LimitRange(
                "How often an attribute is guessed, with --baseline.",
                "attribute inference: how often an attribute is guessed",
                0.02,
                1e-6,
                1,
            ),
            bound_only=True,
            detail=True,
            counted=Counted(
                "people in the data",
                "has the attribute guessed rightly",
                "have the attribute guessed rightly",
            ),
            harm="an attribute of the person that was to stay secret",
        ),
        Measure(
            "singling_out",
            singling_out,
            "singling out, weight {predicate_weight:g}, of {people:g} people",
            "how often a description fits exactly one person, at most",
            (PREDICATE_WEIGHT, PEOPLE),
            limit=LimitRange(
                "How often a description fits exactly one person, with --predicate-weight and "
                "--people.",
                "singling out: how often a description fits exactly one person",
                0.01,
                1e-6,
                1,
            ),
            bound_only=True,
            counted=Counted(
                "attempts to describe one person in the data and nobody else",
                "succeeds",
                "succeed",
                "by descriptions that fit {predicate_weight} people",
                people=False,
            ),
            harm="a description that fits this person and nobody else in the data",
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
    """The attacker's parameters that measures take, by name."""
    asked = (argument for measure in MEASURES.values() for argument in measure.arguments)
    return {argument.key: argument for argument in (PRIOR, *asked)}
