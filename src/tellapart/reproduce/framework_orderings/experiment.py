"""Which framework asks for more? Claims of an order, tried on random releases and priors.

Theorem 7 and Propositions 1 and 2 of Liu, He, Chanyaswad, Wang and Mittal (2019) put the ε of
one release under several frameworks in an order. Read for a data holder: one mechanism, one prior,
and each framework asked for its ε.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.reproduce.framework_orderings import instances
from tellapart.reproduce.framework_orderings.instances import (
    ADDITIVE,
    INDEPENDENT,
    MECHANISMS,
    PRIORS,
    SHAPES,
    Instance,
    draw,
    name,
)

_ROUNDING = 1e-9


class ComparedPair(NamedTuple):
    """Two numbers, the first of which is said not to exceed the second, and given what."""

    smaller: float
    larger: float
    given: str = ""


class OrderVerdict(Enum):
    """What became of a claim on all instances that were drawn."""

    HOLDS = "holds on all"
    ADDITIVE = "holds for additive queries only"
    FAILS = "fails"


@dataclass(frozen=True)
class Claim:
    """One framework's number is said to be at most, or to equal, another's.

    ``pairs`` gives both numbers for an instance, as often as the claim speaks of it.
    """

    name: str
    source: str
    pairs: Callable[[Mapping[str, float], Instance], list[ComparedPair]] = field(repr=False)
    equal: bool = False
    independent: bool = False

    def applies(self, instance: Instance) -> bool:
        """Whether the claim speaks of such a prior."""
        return instance.prior in INDEPENDENT or not self.independent

    def excess(self, pair: ComparedPair) -> float:
        """By how much the two numbers break the claim; 0 or less where they keep it."""
        gap = pair.smaller - pair.larger
        return abs(gap) if self.equal else gap


class Example(NamedTuple):
    """An instance that breaks a claim, and the two numbers that do."""

    instance: Instance
    pair: ComparedPair


@dataclass(frozen=True)
class Tally:
    """How often a claim was broken, by which priors and releases, and an instance that breaks it.

    ``counts`` has for each kind of prior and of release how many broke it, and of how many.
    """

    claim: Claim
    counts: Mapping[tuple[str, str], tuple[int, int]]
    example: Example | None

    def count(self, prior: str | None = None, additive: bool | None = None) -> tuple[int, int]:
        """How many instances break the claim, and of how many; of one kind where it is named."""
        if prior is not None and prior not in PRIORS:
            _checks.refuse("prior", f"be one of {list(PRIORS)}", prior)
        chosen = [
            pair
            for (kind, mechanism), pair in self.counts.items()
            if prior in (None, kind) and additive in (None, mechanism in ADDITIVE)
        ]
        return sum(pair[0] for pair in chosen), sum(pair[1] for pair in chosen)

    @property
    def verdict(self) -> OrderVerdict:
        """Whether it held on all, only where noise is added to sums or records, or not."""
        if self.count()[0] == 0:
            return OrderVerdict.HOLDS
        return OrderVerdict.FAILS if self.count(additive=True)[0] else OrderVerdict.ADDITIVE


@dataclass(frozen=True)
class Orderings:
    """What is true of claimed orders of frameworks: counts, verdicts, counterexamples."""

    instances: int
    seed: int
    tallies: tuple[Tally, ...]

    def __getitem__(self, claim: str) -> Tally:
        """The tally of the claim of this name."""
        for tally in self.tallies:
            if tally.claim.name == claim:
                return tally
        return _checks.refuse("claim", f"be one of {[known.name for known in CLAIMS]}", claim)

    def __str__(self) -> str:
        head = ["claim (broken/tried)", *PRIORS, "verdict"]
        lines = [head, *map(_line, self.tallies)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def examples(self) -> str:
        """The counterexamples in words, one for each claim that was broken."""
        return "\n".join(
            f"{tally.claim.name}: {short(example.pair.smaller)} against "
            f"{short(example.pair.larger)}"
            f"{example.pair.given}\n  {example.instance}"
            for tally in self.tallies
            if (example := tally.example) is not None
        )


def orderings(instances: int = 500, seed: int = 0) -> Orderings:
    """Which of the claimed orders of frameworks hold on random small releases and priors.

    Databases have 2 to 4 records of 2 or 3 values. Of all instances that break a claim the
    smallest is kept and, among these, the one that breaks it most.

    >>> print(orderings(100)["DDP = IP"].verdict.value)
    holds on all
    """
    instances = _checks.whole(1, 10**6, instances=instances)
    rng = np.random.default_rng(_checks.whole(0, seed=seed))
    counts = [_Count(claim) for claim in CLAIMS]
    for instance in _drawn(rng, instances):
        epsilons = numbers(instance)
        for count in counts:
            count.add(instance, epsilons)
    return Orderings(instances, seed, tuple(count.tally() for count in counts))


def numbers(instance: Instance) -> dict[str, float]:
    """The ε of one release under each framework; MI and MIDP in nats."""
    joint, rows = instance.joint, instance.rows
    return {
        "DP": instances.dp(rows),
        **instances.beliefs(joint, rows),
        "BDP": instances.bayesian(joint, rows),
        "MI given others": instances.given_others(joint, rows),
        "MIDP": instances.capacity(rows),
    }


def _drawn(rng: np.random.Generator, instances: int) -> Iterator[Instance]:
    kinds = itertools.cycle(itertools.product(SHAPES, MECHANISMS, PRIORS))
    for shape, mechanism, prior in itertools.islice(kinds, instances):
        yield draw(rng, shape, prior, mechanism)


def _line(tally: Tally) -> list[str]:
    cells = ["{}/{}".format(*tally.count(kind)) for kind in PRIORS]
    return [tally.claim.name, *cells, tally.verdict.value]


class _Count:
    """Counts of one claim while instances come."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.counts = dict.fromkeys(itertools.product(PRIORS, MECHANISMS), (0, 0))
        self.example: Example | None = None
        self.rank = (0.0, 0.0)

    def add(self, instance: Instance, epsilons: Mapping[str, float]) -> None:
        pairs = self.claim.pairs(epsilons, instance) if self.claim.applies(instance) else []
        if not pairs:
            return
        worst = max(pairs, key=self.claim.excess)
        excess = self.claim.excess(worst)
        kinds = (instance.prior, instance.mechanism)
        broken, tried = self.counts[kinds]
        self.counts[kinds] = (broken + (excess > _ROUNDING), tried + 1)
        rank = (-float(instance.joint.size), excess)
        if excess > _ROUNDING and (self.example is None or rank > self.rank):
            self.example, self.rank = Example(instance, worst), rank

    def tally(self) -> Tally:
        return Tally(self.claim, self.counts, self.example)


# -- what is claimed -----------------------------------------------------------------------------


def _at_most(smaller: str, larger: str, factor: float = 1) -> Callable[..., list[ComparedPair]]:
    return lambda epsilons, _: [ComparedPair(epsilons[smaller], factor * epsilons[larger])]


def _any_total(epsilons: Mapping[str, float], instance: Instance) -> list[ComparedPair]:
    by_sum = instances.known_total(instance.joint, instance.rows)
    return [ComparedPair(epsilons["DDP"], max(given.policy for given in by_sum))]


def _each_total(epsilons: Mapping[str, float], instance: Instance) -> list[ComparedPair]:
    by_sum = instances.known_total(instance.joint, instance.rows)
    return [
        ComparedPair(given.leaked, given.policy, f" given the sum {total}")
        for total, given in enumerate(by_sum)
        if given.leaked is not None
    ]


def _constrained(epsilons: Mapping[str, float], instance: Instance) -> list[ComparedPair]:
    given = instances.constrained(instance.joint, instance.rows, instance.allowed)
    if given.leaked is None:
        return []
    possible = ", ".join(name(tuple(place)) for place in np.argwhere(instance.allowed).tolist())
    return [ComparedPair(given.leaked, given.policy, f" given one of {possible}")]


CLAIMS: tuple[Claim, ...] = (
    Claim("DDP = IP", "Theorem 7", _at_most("DDP", "IP"), equal=True),
    Claim("DP ≤ IP", "Theorem 7", _at_most("DP", "IP")),
    Claim("DP ≤ BDP", "the same, other records known", _at_most("DP", "BDP")),
    Claim("DDP ≤ BP", "Theorem 7, no constraint", _at_most("DDP", "DP")),
    Claim("DDP ≤ BP, known sum", "Theorem 7, policy with a known sum", _any_total),
    Claim("DDP ≤ BP, both given the sum", "Theorem 7, prior within the policy", _each_total),
    Claim(
        "DDP ≤ BP, any constraint",
        "conjecture of He et al. (2014), independent records",
        _constrained,
        independent=True,
    ),
    Claim("DDP ≤ 2 MP", "Theorem 7, same prior", _at_most("DDP", "MP", 2)),
    Claim("MP ≤ DDP", "the other way round", _at_most("MP", "DDP")),
    Claim(
        "DDP ≤ 2 MP, independent priors",
        "Theorem 7, MP over all independent priors, where it is DP",
        _at_most("DDP", "DP", 2),
    ),
    Claim("MI ≤ MP", "Theorem 7, I(X; O), same prior", _at_most("MI", "MP")),
    Claim("MI given others ≤ MP", "Theorem 7, I(X; O | others)", _at_most("MI given others", "MP")),
    Claim("MIDP ≤ DP", "Theorem 7, each over all priors", _at_most("MIDP", "DP")),
    Claim(
        "DDP = DP, independent",
        "Propositions 1 and 2",
        _at_most("DDP", "DP"),
        equal=True,
        independent=True,
    ),
    Claim(
        "DDP ≤ DP, independent",
        "what remains of Propositions 1 and 2",
        _at_most("DDP", "DP"),
        independent=True,
    ),
)
