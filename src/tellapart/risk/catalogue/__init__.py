"""The catalogue of risk measures: each declared once, and all of them read off one curve.

A measure is one `Measure` and a function of a curve. Tables, limits, options of the commands, and
what the page shows and asks all derive from its record; so does its baseline, which is what the
attacker has without the output.

- `measures` and `attacker_arguments`: the records; `readings`: one risk beside its baseline;
- `summaries`: every risk of one curve.
"""

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
from tellapart.risk.catalogue.measures import (
    IN_THE_DATA,
    MEASURES,
    MEMBERSHIP,
    OLD_KEYS,
    SENSELESS,
    SUCH_PEOPLE,
    Counted,
    LimitRange,
    Measure,
    arguments,
    limited,
    measure_of,
)
from tellapart.risk.catalogue.readings import Reading, in_words, stated
from tellapart.risk.catalogue.summaries import essential, summary

__all__ = [
    "AT_LEAST",
    "BASELINE",
    "DELTA",
    "FPR",
    "IN_THE_DATA",
    "MEASURES",
    "MEMBERSHIP",
    "OLD_KEYS",
    "PEOPLE",
    "PREDICATE_WEIGHT",
    "PRIOR",
    "RECALL",
    "SENSELESS",
    "SUCH_PEOPLE",
    "WEIGHT",
    "Argument",
    "Counted",
    "LimitRange",
    "Measure",
    "Reading",
    "arguments",
    "essential",
    "in_words",
    "limited",
    "measure_of",
    "stated",
    "summary",
]
