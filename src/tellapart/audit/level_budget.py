"""The multiple-testing budget (Bonferroni): the level α of an audit, divided among its tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.audit.bounds import percent

# Every test grows with the claim: one that spares the true curve spares every true claim.
CLAIMS_ARE_FREE = "no correction is needed for testing several claims: the tests are nested"


@dataclass(frozen=True)
class Entry:
    """One kind of test, how many there were, and the level of each."""

    what: str
    looks: int
    level: float

    @property
    def spent(self) -> float:
        """The level of all of them together."""
        return self.looks * self.level

    def __str__(self) -> str:
        times = f"{self.looks} × " if self.looks > 1 else ""
        return f"{self.what}: {times}{short(self.level, 3)}"


@dataclass(frozen=True)
class SummedEntries:
    """Entries of a budget that are too many to be listed, summed up."""

    kinds: int
    looks: int
    spent: float


@dataclass(frozen=True)
class LevelBudget:
    """How an audit's level α, its chance of any false refutation, was divided among its tests.

    >>> print(LevelBudget(0.05, (Entry("ranks", 12, 0.05 / 12),)))
    ranks: 12 × 0.00417
    together: 0.05
    """

    level: float
    entries: tuple[Entry, ...]
    free: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        spent = sum(entry.spent for entry in self.entries)
        if not 0 < spent <= self.level * (1 + 1e-12) or self.level >= 1:
            _checks.refuse("entries", f"spend at most the level {short(self.level)} < 1", spent)

    def at_level(self, level: float) -> LevelBudget:
        """The same tests with the same shares of another level."""
        factor = level / self.level
        entries = tuple(replace(entry, level=entry.level * factor) for entry in self.entries)
        return replace(self, level=level, entries=entries)

    @property
    def tests(self) -> int:
        """How many tests share the level."""
        return sum(entry.looks for entry in self.entries)

    @property
    def title(self) -> str:
        """What is divided: the family-wise level α."""
        return f"Multiple-testing budget (α = {percent(self.level)})"

    @property
    def sharing(self) -> str:
        """How the tests share the level, in words.

        >>> tests = Entry("ranks", 20, 0.00125), Entry("chosen", 1, 0.025)
        >>> print(LevelBudget(0.05, tests).sharing)
        21 tests share it in unequal parts (Bonferroni): 20 × 0.00125 and 1 × 0.025
        """
        if self.tests == 1:
            return "1 test, at the full level"
        counts: dict[float, int] = {}
        for entry in self.entries:
            counts[entry.level] = counts.get(entry.level, 0) + entry.looks
        if len(counts) == 1:
            return f"{self.tests:,} tests share it (Bonferroni)"
        parts = [f"{looks:,} × {short(level, 3)}" for level, looks in counts.items()]
        listed = f": {' and '.join(parts)}" if len(parts) == 2 else ""
        return f"{self.tests:,} tests share it in unequal parts (Bonferroni){listed}"

    @property
    def in_short(self) -> str:
        """What is divided and how, in one sentence."""
        return f"{self.title}: {self.sharing}."

    def abridged(self, most: int) -> tuple[tuple[Entry, ...], SummedEntries | None]:
        """The first entries, and the sum of those beyond ``most``; None where there are no more."""
        rest = self.entries[most:]
        if not rest:
            return self.entries, None
        looks, spent = sum(entry.looks for entry in rest), sum(entry.spent for entry in rest)
        return self.entries[:most], SummedEntries(len(rest), looks, spent)

    def __str__(self) -> str:
        lines = [str(entry) for entry in self.entries] + [f"together: {short(self.level, 3)}"]
        return "\n".join([*lines, *self.free])


# How far rounding may take a sum of shares beyond 1.
_ROUNDING = 1e-12


def divided(
    level: float, names: Sequence[Any], shares: Mapping[Any, float] | None, what: str
) -> list[float]:
    """The level of each by its share; those without one divide what is left into equal parts.

    Bonferroni allows any shares that do not depend on the data and add up to at most 1.

    >>> [round(each, 3) for each in divided(0.05, ["a", "b", "c"], {"a": 0.5}, "groups")]
    [0.025, 0.013, 0.013]
    """
    if shares is None:
        return [level / max(len(names), 1)] * len(names)
    rule = f'a mapping from {what} to their shares of the level, such as {{"a": 0.5}}'
    _checks.instance(Mapping, rule, shares=shares)
    for each in (names, shares):
        times = Counter(map(str, each))
        if alike := [name for name, seen in times.items() if seen > 1]:
            _checks.refuse("shares", f"be of {what} whose names differ as text", alike[0])
    given = {str(name): _share(name, share) for name, share in shares.items()}
    if unknown := sorted(given.keys() - set(map(str, names))):
        known = _checks.shortened(", ".join(map(str, names)))
        _checks.refuse("shares", f"be of {what} that there are ({known})", unknown[0])
    total = sum(given.values())
    if total > 1 + _ROUNDING:
        _checks.refuse("shares", f"add up to at most 1, the level of all {what}", total)
    rest = [str(name) for name in names if str(name) not in given]
    if rest and total >= 1 - _ROUNDING:
        unnamed = _checks.shortened(", ".join(rest))
        rule = f"leave a part of the level for the {what} without a share ({unnamed})"
        _checks.refuse("shares", rule, dict(shares))
    other = (1 - total) / max(len(rest), 1)
    return [level * min(given.get(str(name), other), 1.0) for name in names]


def _share(name: Any, share: Any) -> float:
    value = _checks.number(**{f"shares[{name!r}]": share})
    if not 0 < value <= 1:
        _checks.refuse(f"shares[{name!r}]", "be above 0 and at most 1", share)
    return value
