"""The multiple-testing budget (Bonferroni): the level α of an audit, divided among its tests."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tellapart import _checks
from tellapart._numeric.text import short

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
