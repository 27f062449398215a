"""The catalogue of risk measures: each declared once, and all of them read off one curve.

A measure is one `Measure` and a function of a curve. Tables, limits, options of the commands, and
what the page shows and asks all derive from its record; so does its baseline, which is what the
attacker has without the output.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

from tellapart import _checks
from tellapart._decimals import plain_exponent
from tellapart._numeric.text import SIDES, Scale, fixed, related, short
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.guarantees import nothing
from tellapart.risk.attackers import attribute_inference, reconstruction, singling_out
from tellapart.risk.decisions import (
    accuracy,
    bayes_error,
    check_weight,
    f_score,
    max_posterior,
    ppv,
    precision,
)
from tellapart.risk.rates import advantage, auc, epsilon, gdp, tpr

# Above this ε a guarantee allows an attack that finds everyone at one false alarm in 1e43.
SENSELESS = 100.0
# A gain of this share of the baseline is rounding.
_ROUNDING = 1e-13
# From here on numbers are shown with four decimals; a gain below the last of them is no digit.
_PLAIN, _LAST_DIGIT = 1e-3, "0.0001"
# Where a measure's name goes on to say where it is read.
_WHERE = re.compile(r"(?= at | for |, )")


@dataclass(frozen=True)
class Argument:
    """An attacker's parameter that measures take: its default, check, option and dial.

    Without the help text ``option`` the commands have options of their own for it. One that is
    ``required`` has no default but on a dial: measures that take it are read where it is given.
    ``keyword`` is what functions call it, where that is not its key.
    """

    key: str
    default: float
    label: str
    low: float
    high: float
    ends: tuple[str, str]
    option: str = ""
    check: Callable[..., float] = _checks.inside_unit
    required: bool = False
    keyword: str = ""


PRIOR = Argument(
    "prior",
    0.5,
    "prior probability of membership",
    1e-6,
    0.5,
    ("few members", "half are members"),
)
FPR = Argument(
    "fpr",
    0.01,
    "FPR: share of non-members flagged",
    1e-6,
    0.5,
    ("few false positives", "many false positives"),
    option="False-positive rate: share of non-members flagged, from 0 to 1.",
)
RECALL = Argument(
    "recall",
    0.5,
    "recall (TPR): share of members flagged",
    1e-3,
    1,
    ("few members", "all members"),
    option="Recall (TPR): share of members flagged, for the precision.",
)
WEIGHT = Argument(
    "weight",
    1.0,
    "F-score weight: how much more recall counts than precision",
    0.1,
    10,
    ("precision counts", "recall counts"),
    option="F-score weight: how much more recall counts than precision.",
    check=check_weight,
)
DELTA = Argument(
    "delta",
    1e-5,
    "δ at which ε is reported",
    1e-12,
    0.1,
    ("smaller δ", "larger δ"),
    check=_checks.probability,
)


BASELINE = Argument(
    "baseline",
    0.01,
    "baseline: how often the best guess without the output is right",
    1e-6,
    0.9,
    ("hard to guess", "easy to guess"),
    option="How often the best blind guess is right, by someone who knows all other records.",
    required=True,
)
PREDICATE_WEIGHT = Argument(
    "predicate_weight",
    1e-6,
    "weight: how likely a description is to fit a person",
    1e-12,
    0.1,
    ("rare description", "common description"),
    option="How likely a description is to fit a person, for singling out.",
    required=True,
    keyword="weight",
)
PEOPLE = Argument(
    "people",
    1000.0,
    "number of people in the data",
    1,
    1e9,
    ("few people", "many people"),
    option="Number of people in the data, for singling out.",
    check=partial(_checks.whole, 1, 10**15),
    required=True,
)
AT_LEAST = Argument(
    "at_least",
    1e-6,
    "FPR and FNR from which on μ holds",
    1e-12,
    0.1,
    ("rare errors count", "common errors count"),
    option="FPR and FNR from which on μ holds, for μ-GDP.",
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


class Reading(NamedTuple):
    """One risk beside its ``baseline``; ``relation`` says on which side of it the truth lies.

    ``key`` is its name without the arguments, the same for every curve. The baseline is the same
    measure for an attacker without the output.

    "=": exact. "≤": no attacker exceeds it (or, for an error, "≥": none errs less). For what an
    attack has shown the sides turn round.
    """

    key: str
    name: str
    value: float
    relation: str
    meaning: str
    baseline: float = 0.0
    sentence: str = ""  # what it says to those who decide, where it has one of its own

    @property
    def shown(self) -> str:
        """The value in a few digits after its relation: "≤ 0.4622", "≈ 0.6667", "= 0.2500"."""
        return related(self.relation, self.value)

    @property
    def gain(self) -> float:
        """How much better an attacker does with the output than without it."""
        gain = abs(self.value - self.baseline)
        return 0.0 if gain < _ROUNDING * abs(self.baseline) else gain

    @property
    def columns(self) -> tuple[str, str, str]:
        """In a few digits: without the output, with it, and the gain.

        Bounds are rounded conservatively, exact values to the nearest.
        """
        side = SIDES.get(self.relation)
        up = None if side is None else side == (self.value >= self.baseline)
        gain = fixed(self.gain, up) if self.gain else "0"
        if self.baseline >= _PLAIN and 0 < self.gain < float(_LAST_DIGIT):
            gain = f"< {_LAST_DIGIT}"
        return self._blind, self.shown, gain

    @property
    def _blind(self) -> str:
        """Rounded as the value is, so that the two look alike where nothing is gained."""
        return fixed(self.baseline, SIDES.get(self.relation)) if self.baseline else "0"

    def __str__(self) -> str:
        blind = f" (baseline {self._blind})" if self.baseline else ""
        return f"{stated(self.name, self.shown)}{blind}"


def stated(name: str, value: str) -> str:
    """A measure and its value as people say it: what, how much, and where.

    >>> stated("ε at δ = 1e-5", "≤ 2"), stated("membership advantage", "≤ 0.1")
    ('ε ≤ 2 at δ = 1e-5', 'membership advantage ≤ 0.1')
    """
    what, *where = _WHERE.split(name, maxsplit=1)
    return f"{what} {value}{''.join(where)}"


def in_words(readings: Sequence[Reading]) -> tuple[str, ...]:
    """What readings say to those who decide, where they have a sentence of their own."""
    return tuple(dict.fromkeys(reading.sentence for reading in readings if reading.sentence))


def essential(readings: Sequence[Reading], asked: Mapping[str, float]) -> tuple[Reading, ...]:
    """The readings of a short table: details only where someone asked about their arguments."""
    known = arguments()
    own = {
        key for key, value in asked.items() if known[key].required or value != known[key].default
    } - {PRIOR.key}
    details = {
        measure.key
        for measure in MEASURES.values()
        if measure.detail and own.isdisjoint(argument.key for argument in measure.arguments)
    }
    return tuple(reading for reading in readings if reading.key not in details)


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
    """Every risk beside its baseline, one reading each; ε at each ``delta`` of several.

    ``others`` are what measures that were added to `MEASURES` ask for. What bounds guesses about a
    record is left out for what an attack on membership has shown, which says nothing of it.

    >>> import tellapart as ta
    >>> for reading in summary(ta.guarantee(epsilon=1), prior=0.01)[:3]:
    ...     print(reading)
    membership advantage ≤ 0.4622
    TPR ≤ 0.0272 at FPR 0.01 (baseline 0.0100)
    PPV ≤ 0.0268 at FPR 0.01 (baseline 0.0100)

    See Also
    --------
    tellapart.report.of : the same as a privacy report
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
        near = difflib.get_close_matches(unknown[0], known, n=1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        rule = f"be an argument of a risk: {', '.join(known)}{meant}"
        _checks.refuse(unknown[0], rule, others[unknown[0]])
    usual = {name: each.default for name, each in known.items() if not each.required}
    given = usual | given | others
    checked = {
        name: known[name].check(**{name: value})
        for name, value in given.items()
        if value is not None or name in usual
    }
    further = [_checks.probability(delta=at) for at in more]
    readings: list[Reading] = []
    shown = curve.bound is Bound.UPPER
    for measure in MEASURES.values():
        if not checked.keys() >= set(measure.needs) or (measure.bound_only and shown):
            continue
        asked = {argument.key: checked[argument.key] for argument in measure.arguments}
        readings.append(measure.reading(curve, **asked))
        if measure.key == "epsilon":
            readings += [
                measure.reading(curve, delta=at)._replace(key=f"epsilon_at_{short(at)}")
                for at in further
            ]
    return tuple(readings)
