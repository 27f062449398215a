"""What a report is made of: small records that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shown:
    """One number, with the side it errs on in words."""

    what: str
    value: float
    words: str
    basis: str


@dataclass(frozen=True)
class Input:
    """One file that was read, and how many bytes it had."""

    file: str
    bytes: int


@dataclass(frozen=True)
class Made:
    """How to make the report again: the command, its inputs, the seed and the versions used."""

    command: str
    inputs: tuple[Input, ...]
    seed: int | None
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Traced:
    """One curve as points (FPR, TPR), and on which side of the truth it lies."""

    name: str
    side: str  # lower, exact or upper, as Bound has it
    errs: str
    points: tuple[tuple[float, float], ...] = field(repr=False)


@dataclass(frozen=True)
class Meaning:
    """What a claim lets the best attacker do, for whom that holds, and which side it errs on."""

    mechanism: str | None
    holds: str
    side: str
    errs: str
    certified: str | None
    prior: float
    budgets: tuple[Shown, ...]
    risks: tuple[Shown, ...]
    words: tuple[str, ...]
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """One question of the checklist: what is established, what somebody states, or neither.

    ``state`` is "established" for what was computed or tested here, "refuted" where a test spoke
    against it, "stated" where only words stand behind it, and "open".
    """

    key: str
    layer: str
    question: str
    established: str | None
    stated: tuple[str, ...]
    state: str
