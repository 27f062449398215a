"""Small releases that break a claimed order of frameworks, with both numbers worked out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellapart._numeric.text import short
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.frameworks.blowfish_privacy import blowfish
from tellapart.worlds.frameworks.dp import differential_privacy
from tellapart.worlds.frameworks.inferential_privacy import inferential
from tellapart.worlds.frameworks.membership_privacy import membership
from tellapart.worlds.frameworks.mutual_information_dp import mutual_information
from tellapart.worlds.models.queries import Linear, Sum
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.policies import CompleteGraph, KnownCount, Policy
from tellapart.worlds.releases import Channel, Release

Databases = Mapping[Any, float]


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A prior, a query and a release for which a claim about two frameworks is false.

    ``numbers`` has what the claim compares; the first is said to be at most the second, or equal.
    """

    claim: str
    databases: Databases
    asked: str
    query: Any
    release: Release
    left: str
    right: str
    factor: float = 1.0
    policy: Policy | None = None

    @cached_property
    def model(self) -> JointTable:
        """The prior, with every value of every record that some database has."""
        return JointTable.of(self.databases)

    @cached_property
    def numbers(self) -> tuple[float, float]:
        """Both sides of the claim, worked out exactly."""
        return _NUMBERS[self.left](self), self.factor * _NUMBERS[self.right](self)

    def __str__(self) -> str:
        shares = [
            f"{''.join(map(str, records))}: {short(p)}" for records, p in self.databases.items()
        ]
        left, right = self.numbers
        return (
            f"{self.claim}: {short(left)} against {short(right)} ({self.asked}; "
            f"{', '.join(shares)})"
        )


def _dp(case: Counterexample) -> float:
    return differential_privacy(case.model, case.query, case.release).epsilon


def _blowfish(case: Counterexample) -> float:
    """Without a policy, one with no constraints: all values of a record are secret."""
    return (
        _dp(case)
        if case.policy is None
        else blowfish(case.policy, case.query, case.release).epsilon
    )


_NUMBERS: dict[str, Callable[[Counterexample], float]] = {
    "DP": _dp,
    "BP": _blowfish,
    "DDP": lambda case: inferential(case.model, case.query, case.release).epsilon,
    "MP": lambda case: membership(case.model, case.query, case.release).epsilon,
    "MI given others": lambda case: (
        mutual_information(case.model, case.query, case.release, "given others").epsilon
    ),
}


def _product(records: tuple[float, ...]) -> float:
    return records[0] * records[1]


def _parity(records: tuple[float, ...]) -> float:
    return sum(records) % 2


def _responded(epsilon: float) -> Channel:
    """One bit, told truly with odds e^ε."""
    true = 1 / (1 + np.exp(-epsilon))
    return Channel({0: [true, 1 - true], 1: [1 - true, true]})


def _listed(names: str) -> Databases:
    """Databases that are equally likely."""
    every = names.split()
    return {tuple(map(int, records)): 1 / len(every) for records in every}


def _possible(names: str) -> Policy:
    """Everyone knows that no other database is possible."""
    known = set(_listed(names))
    size = len(names.split()[0])
    return Policy((0, 1), CompleteGraph(), size, (lambda records: tuple(records) in known,))


_NOISE = Laplace(1)
_COINS = _listed("00 01 10 11")
_SKEWED = {(0, 0): 0.1, (0, 1): 0.4, (1, 0): 0.4, (1, 1): 0.1}
_TWO_OF_FOUR = Policy((0, 1), CompleteGraph(), 4, (KnownCount([1], 2),))

COUNTEREXAMPLES: tuple[Counterexample, ...] = (
    Counterexample("DP ≤ IP", _SKEWED, "sum, Lap(1)", Sum(), _NOISE, "DP", "DDP"),
    Counterexample("DP ≤ IP", _listed("01 10"), "sum, Lap(1)", Sum(), _NOISE, "DP", "DDP"),
    Counterexample("DDP ≤ BP", _listed("00 11"), "sum, Lap(1)", Sum(), _NOISE, "DDP", "BP"),
    Counterexample(
        "DDP ≤ BP, both given the sum",
        _listed("1100 0011"),
        "x0+x1, Lap(1), two ones known",
        Linear(np.array([1.0, 1.0, 0.0, 0.0])),
        _NOISE,
        "DDP",
        "BP",
        policy=_TWO_OF_FOUR,
    ),
    Counterexample(
        "DDP ≤ BP, any constraint",
        _listed("000 100 111"),
        "sum, Lap(1), no other database possible",
        Sum(),
        _NOISE,
        "DDP",
        "BP",
        policy=_possible("000 100 111"),
    ),
    Counterexample(
        "DDP ≤ BP, any constraint",
        _listed("00 10 11"),
        "sum, Lap(1), no other database possible",
        Sum(),
        _NOISE,
        "DDP",
        "BP",
        policy=_possible("00 10 11"),
    ),
    Counterexample(
        "DDP ≤ 2 MP, independent priors",
        _listed("000 111"),
        "sum, Lap(1)",
        Sum(),
        _NOISE,
        "DDP",
        "DP",
        factor=2,
    ),
    Counterexample(
        "MI given others ≤ MP",
        _COINS,
        "parity, randomised response with ε = 1",
        _parity,
        _responded(1),
        "MI given others",
        "MP",
    ),
    Counterexample(
        "MI given others ≤ MP",
        _listed("001 010 100 011 101 110"),
        "sum, Lap(1/8)",
        Sum(),
        Laplace(1 / 8),
        "MI given others",
        "MP",
    ),
    Counterexample("DDP = DP, independent", _COINS, "x0·x1, Lap(1)", _product, _NOISE, "DDP", "DP"),
)
