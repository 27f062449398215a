"""Designs of the membership game: targets in or out, replaced by another, or a whole pool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism, Neighbours

Places = NDArray[np.intp]


@dataclass(frozen=True, init=False)
class Targets:
    """Some named examples go in or out by coins of their own; all others are always in.

    ``at`` is the place of one example or of several; each is in with probability ``prior``.

    >>> from tellapart import audit
    >>> audit.MembershipGame(5, audit.Targets(at=2), models=4).inclusion.astype(int).tolist()
    [[1], [1], [0], [0]]
    """

    at: tuple[int, ...]
    prior: float

    def __init__(self, at: int | Iterable[int] = 0, prior: float = 0.5) -> None:
        object.__setattr__(self, "at", _places(targets=at))
        object.__setattr__(self, "prior", _checks.inside_unit(prior=prior))


@dataclass(frozen=True, init=False)
class Replaced:
    """Some named examples are in, or others stand in their place: all data sets have one size.

    The first of ``by`` replaces the first of ``at`` where that one's coin says out, and is in no
    other data; a target is in with probability ``prior``. This is the game for claims about
    neighbours that replace a record.

    >>> from tellapart import audit
    >>> game = audit.MembershipGame(5, audit.Replaced(at=0, by=4), models=2)
    >>> game.inclusion.shape
    (2, 1)
    """

    at: tuple[int, ...]
    by: tuple[int, ...]
    prior: float

    def __init__(
        self, at: int | Iterable[int], by: int | Iterable[int], prior: float = 0.5
    ) -> None:
        targets, others = _places(targets=at), _places(by=by)
        if len(others) != len(targets) or set(others) & set(targets):
            rule = f"name another example for each of {len(targets)} targets, which is none itself"
            _checks.refuse("by", rule, list(others))
        object.__setattr__(self, "at", targets)
        object.__setattr__(self, "by", others)
        object.__setattr__(self, "prior", _checks.inside_unit(prior=prior))


@dataclass(frozen=True)
class Pool:
    """Every example goes in or out by a coin of its own, and all of them are targets.

    >>> from tellapart import audit
    >>> audit.MembershipGame(5, audit.Pool(), models=2).inclusion.shape
    (2, 5)
    """

    prior: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", _checks.inside_unit(prior=self.prior))


Design = Targets | Replaced | Pool


def named(design: Design) -> dict[str, tuple[int, ...]]:
    """The places that a design names, by what they are named for."""
    places = {} if isinstance(design, Pool) else {"targets": design.at}
    return places | {"by": design.by} if isinstance(design, Replaced) else places


def trained_on(
    design: Design, size: int, targets: Places, coins: NDArray[np.bool_], aside: Iterable[int]
) -> Places:
    """The places of the examples in one training set; a stand-in stands where its target would."""
    inside = np.full(size, not isinstance(design, Pool))
    inside[list(aside)] = False
    if not isinstance(design, Replaced):
        inside[targets] = coins
        return np.flatnonzero(inside)
    at, by = np.array(design.at, dtype=np.intp), np.array(design.by, dtype=np.intp)
    inside[by] = False
    place = np.arange(size)
    place[at[~coins]] = by[~coins]
    return np.asarray(place[inside])


def same_neighbours(claim: object, design: Design) -> None:
    """Refuse a claim about other neighbours than those that the design compares."""
    if not isinstance(claim, Mechanism):
        return
    if claim.neighbours is Neighbours.REPLACE and not isinstance(design, Replaced):
        raise Unsupported(
            "the claim is about neighbours that replace a record, and these targets are in or out: "
            "use targets=audit.Replaced(at, by), which puts another example in a target's place"
        )
    if claim.neighbours is Neighbours.ADD_REMOVE and isinstance(design, Replaced):
        raise Unsupported(
            "the claim is about neighbours that add or remove a record, and audit.Replaced does "
            "both at once: use audit.Targets(at), or claim what holds for a replaced record, as a "
            "curve or by a mechanism with neighbours=Neighbours.REPLACE"
        )


def _places(**given: Any) -> tuple[int, ...]:
    ((name, at),) = given.items()
    every = tuple(at) if isinstance(at, Iterable) and not isinstance(at, str) else (at,)
    places = tuple(_checks.whole(0, **{name: place}) for place in every)
    if not places or len(set(places)) < len(places):
        _checks.refuse(name, "be places of examples, each named once", list(places))
    return places
