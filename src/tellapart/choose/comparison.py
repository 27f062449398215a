"""Comparison of trade-off curves: who leaks more, where that changes, how much (Δ-divergence)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from tellapart._numeric.text import aligned, fixed
from tellapart.curve.algebra import Crossing, crossings, dominates, gap
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.mechanisms.combine import Combined
from tellapart.mechanisms.subject import Subject, curves_of, scope
from tellapart.risk import summary
from tellapart.risk.catalogue import Reading

# Seconds for two curves of which one is a composition, on a usual machine.
_A_PAIR = 3.0
# How to read the table of `Comparison.gaps`.
GAPS = (
    "How much less often an attacker errs against the column than against the row, at most. 0: "
    "the row leaks at least as much to every attacker."
)


@dataclass(frozen=True)
class Pair:
    """Two subjects: which leaks at least as much everywhere, else where they change places.

    ``gap`` is how much less an attacker can err against the second than against the first, at
    most and over all priors (the Δ-divergence); ``gap_back`` the same the other way round. 0 means
    that the first leaks at least as much at every false-positive rate.
    """

    first: str
    second: str
    bounds: tuple[Bound, Bound]
    first_leaks: bool
    second_leaks: bool
    crossings: tuple[Crossing, ...]
    gap: float
    gap_back: float

    def __str__(self) -> str:
        a, b = (
            (name, f"{name} {VERBS[bound]}")
            for name, bound in zip((self.first, self.second), self.bounds, strict=True)
        )
        if self.first_leaks and self.second_leaks:
            return f"{a[1]} as much as {b[1]}, to every attacker"
        if self.first_leaks:
            return f"{a[1]} at least as much as {b[1]}, to every attacker"
        if self.second_leaks:
            return f"{b[1]} at least as much as {a[1]}, to every attacker"
        where = ", ".join(f"FPR {crossing.fpr:.4g}" for crossing in self.crossings)
        change = f" change places at {where}" if where else " change places"
        if set(self.bounds) == {Bound.EXACT}:
            return f"{a[0]} and {b[0]}{change}"
        return f"what {a[1]} and what {b[1]}{change}"


def expected_seconds(subjects: Sequence[Subject]) -> float:
    """About how long it takes to compare these: compositions have no formulas to compare."""
    composed = [isinstance(subject, Combined) for subject in subjects]
    return _A_PAIR * sum(first or other for first, other in combinations(composed, 2))


# A promise allows what a mechanism that keeps it need not leak.
VERBS = {Bound.LOWER: "allows", Bound.EXACT: "leaks", Bound.UPPER: "has leaked"}


@dataclass(frozen=True)
class Comparison:
    """Subjects by name, every risk of each, and how each two of them stand to each other."""

    names: tuple[str, ...]
    scopes: tuple[str, ...]
    readings: tuple[tuple[Reading, ...], ...]
    pairs: tuple[Pair, ...]

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """One row a risk and one column a subject, as text, its head first."""
        rows = (
            (column[0].name, *(reading.shown for reading in column))
            for column in zip(*self.readings, strict=True)
        )
        return (("", *self.names), *rows)

    def gaps(self) -> tuple[tuple[str, ...], ...]:
        """Row: against whom the attacker errs more; column: against whom less; by how much."""
        size = {(pair.first, pair.second): pair.gap for pair in self.pairs}
        size |= {(pair.second, pair.first): pair.gap_back for pair in self.pairs}
        rows = (
            (row, *("–" if row == name else fixed(size[row, name], up=True) for name in self.names))
            for row in self.names
        )
        return (("", *self.names), *rows)

    def __str__(self) -> str:
        return "\n".join([aligned(self.cells()), *map(str, self.pairs)])


def compare(subjects: Mapping[str, Subject], **arguments: Any) -> Comparison:
    """Which of several mechanisms leaks more, to which attacker, and by how much.

    ``arguments`` (prior, fpr, recall, weight, delta) are those of `risk.summary`.

    >>> import tellapart as ta
    >>> found = compare({"Laplace": ta.Laplace(1), "Gaussian": ta.Gaussian(1)}, prior=0.01)
    >>> print(found.pairs[0])
    Laplace and Gaussian change places at FPR 0.2366, FPR 0.3886

    See Also
    --------
    tellapart.plot.compare : its picture
    """
    curves = curves_of(subjects)
    return Comparison(
        names=tuple(curves),
        scopes=tuple(scope(subject) for subject in subjects.values()),
        readings=tuple(summary(curve, **arguments) for curve in curves.values()),
        pairs=tuple(pair(a, b, curves[a], curves[b]) for a, b in combinations(curves, 2)),
    )


def pair(first: str, second: str, a: TradeoffCurve, b: TradeoffCurve) -> Pair:
    """How two curves with these names stand to each other."""
    more, less = dominates(a, b), dominates(b, a)
    where = () if more or less else crossings(a, b)
    return Pair(first, second, (a.bound, b.bound), more, less, where, gap(a, b), gap(b, a))
