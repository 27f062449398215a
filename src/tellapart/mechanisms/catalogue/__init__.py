"""The catalogue of mechanisms and their parameters, by name: ``laplace:epsilon=1``.

A mechanism is one `Kind`, a number that mechanisms are made from one `Parameter`, and one of
several words a `WordParameter`: options, dials and tables all derive from these records.

A name may be made in several ways, each from its own parameters; the parameters that are given
decide which is meant. ``any`` stands for every mechanism that keeps a promise. Every mechanism
also takes ``sampled`` and ``repeated``, then ``best_of`` (with the law ``runs`` of that number),
and ``+`` puts a mechanism after another:
``gaussian:sigma=2,sampled=0.01,repeated=100+laplace:epsilon=0.5``.

- `parameters` and `kinds`: the records; `parsing`: from a text to a mechanism or a family;
- `short_text`: from a mechanism to the text that says it.
"""

from tellapart.mechanisms.catalogue.kinds import KINDS, REPETITION, WRAPPERS, Kind, Way
from tellapart.mechanisms.catalogue.parameters import (
    PARAMETERS,
    WORD_PARAMETERS,
    Parameter,
    PrivateSide,
    WordParameter,
)
from tellapart.mechanisms.catalogue.parsing import (
    SENSITIVITY_ASSUMED,
    NamedFamily,
    Term,
    assumes_sensitivity,
    families,
    is_composed,
    is_pure,
    labelled,
    named,
    named_family,
    open_parameters,
    own_delta,
    parse,
    takes_delta,
    terms,
)

__all__ = [
    "KINDS",
    "PARAMETERS",
    "REPETITION",
    "SENSITIVITY_ASSUMED",
    "WORD_PARAMETERS",
    "WRAPPERS",
    "Kind",
    "NamedFamily",
    "Parameter",
    "PrivateSide",
    "Term",
    "Way",
    "WordParameter",
    "assumes_sensitivity",
    "families",
    "is_composed",
    "is_pure",
    "labelled",
    "named",
    "named_family",
    "open_parameters",
    "own_delta",
    "parse",
    "takes_delta",
    "terms",
]
