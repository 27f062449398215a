"""Mechanisms as people write them, right and wrong, with how much each truly leaks.

>>> from tellapart import zoo
>>> bug = zoo.find("laplace-half-scale")
>>> bug.words
'The scale is half of what ε needs.'
>>> bug.claimed, bug.truth
(1.0, 2.0)

Every function stands under its facts: `additive` noise, `choice` (selections), `sparse` (vector
technique), `local` randomisers, `summaries` of tables, `steps` of DP-SGD; `training` for
`audit.step`; `specimen` is what all of them are.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from tellapart import _checks, _moved
from tellapart.zoo import additive, choice, local, sparse, steps, summaries
from tellapart.zoo.specimen import Specimen
from tellapart.zoo.training import TRAINING

__all__ = [
    "SPECIMENS",
    "TRAINING",
    "buggy",
    "correct",
    "find",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)

SPECIMENS: tuple[Specimen, ...] = (
    additive.SPECIMENS
    + choice.SPECIMENS
    + sparse.SPECIMENS
    + local.SPECIMENS
    + summaries.SPECIMENS
    + steps.SPECIMENS
)


def find(name: str) -> Specimen:
    """The specimen of this name.

    >>> find("laplace").words
    'An answer with Laplace noise of scale 1/ε.'
    """
    known = {specimen.name: specimen for specimen in SPECIMENS}
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
        hint = f" (did you mean {' or '.join(near)}?)" if near else ""
        _checks.refuse("name", f"be that of a specimen{hint}", name)
    return known[name]


def correct() -> tuple[Specimen, ...]:
    """The specimens whose claim holds: an audit must leave them in peace.

    >>> "laplace" in {specimen.name for specimen in correct()}
    True
    """
    return tuple(specimen for specimen in SPECIMENS if specimen.correct)


def buggy() -> tuple[Specimen, ...]:
    """The specimens whose claim fails: an audit should find out.

    >>> "laplace-half-scale" in {specimen.name for specimen in buggy()}
    True
    """
    return tuple(specimen for specimen in SPECIMENS if not specimen.correct)
