"""What measures ask about the attacker (prior, FPR, recall, δ), each declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tellapart import _checks
from tellapart.risk.decisions import check_weight


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
