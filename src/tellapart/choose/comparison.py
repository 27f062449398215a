"""Comparison of trade-off curves: who leaks more, where that changes, how much (Δ-divergence)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from tellapart._numeric.text import aligned, fixed, short
from tellapart._shown import Plotted
from tellapart.curve.algebra import Crossing, crossings, dominates, gap, leads
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.mechanisms.combine import Combined
from tellapart.mechanisms.subject import Subject, curves_of, scope
from tellapart.risk import summary
from tellapart.risk.catalogue import Reading

# Seconds for two curves of which one is a composition, on a usual machine.
_A_PAIR = 3.0
# Crossings with fewer errors are left out: compositions are computed no further, and nobody could
# count so few.
LEAST_ERROR = 1e-12
# How to read the table of `Comparison.gaps`.
GAPS = (
    "Δ-divergence: by how much the error of an attack on the row can exceed that on the column, "
    "over all priors. 0: the row leaks at least as much at every FPR."
)
# A guarantee allows what a mechanism with it need not leak.
VERBS = {Bound.LOWER: "allows", Bound.EXACT: "leaks", Bound.UPPER: "has leaked"}
_ORDER = list(VERBS)
_OPEN = "which leaks less is open"


def _settles(less: Bound, more: Bound) -> bool:
    """Whether of two curves the one that leaks less says so of the mechanisms, too.

    What leaks no more than one curve leaks less than what leaks no less than a curve above it. Two
    that are known from the same side are compared as what they are, guarantees or attacks.
    """
    return _ORDER.index(less) <= _ORDER.index(more)


@dataclass(frozen=True)
class Pair:
    """Two subjects: which leaks at least as much at every FPR, else where their curves cross.

    ``crossings`` have an FPR and an FNR of at least 1e-12, and ``leaders`` are who leaks more
    before, between and after them: of two that cross only beyond, one in this range. ``gap`` is
    how much less an attacker can err against the second than against the first, at most and over
    all priors (the Δ-divergence); ``gap_back`` the same the other way round. 0 means that the
    first leaks at least as much at every false-positive rate.
    """

    first: str
    second: str
    bounds: tuple[Bound, Bound]
    first_leaks: bool
    second_leaks: bool
    crossings: tuple[Crossing, ...]
    gap: float
    gap_back: float
    leaders: tuple[str, ...] = ()

    def __str__(self) -> str:
        a, b = (
            f"{name} {VERBS[bound]}"
            for name, bound in zip((self.first, self.second), self.bounds, strict=True)
        )
        alike = self.bounds[0] is self.bounds[1]
        second, first = (self.second, self.first) if alike else (b, a)
        if self.first_leaks and self.second_leaks:
            return f"{a} as much as {second}, at every FPR"
        if self.first_leaks:
            return f"{a} at least as much as {second}, at every FPR"
        if self.second_leaks:
            return f"{b} at least as much as {first}, at every FPR"
        verbs = dict(zip((self.first, self.second), (a, b), strict=True))
        if not self.crossings:
            (ahead,) = self.leaders
            behind = second if ahead == self.first else first
            return f"{verbs[ahead]} more than {behind}, at every FPR and FNR ≥ 1e-12"
        said = f"the curves of {self.first} and {self.second} cross"
        rates = [_rate(crossing) for crossing in self.crossings]
        said += f" at FPR {_listed(rates)}"
        begin, *rest = zip(_places(rates), self.leaders, strict=True)
        later = "; ".join(f"{place}, {name}" for place, name in rest)
        return f"{said}: {begin[0]}, {verbs[begin[1]]} more; {later}{self._of_guarantees()}"

    def brief(self) -> str:
        """Which of the two leaks less, and where, in a few words; or that this is open.

        A mechanism may leak less than its guarantee allows, and more than an attack has shown.

        >>> import tellapart as ta
        >>> pair("A", "B", ta.guarantee(1), ta.Laplace(2).curve()).brief()
        'A allows at least as much as B leaks, at every FPR; which leaks less is open'
        """
        verbs = {
            name: f"{name} {VERBS[bound]}"
            for name, bound in zip((self.first, self.second), self.bounds, strict=True)
        }
        bounds = dict(zip((self.first, self.second), self.bounds, strict=True))
        if self.first_leaks and self.second_leaks:
            return str(self)
        if self.first_leaks or self.second_leaks:
            more, less = (
                (self.first, self.second) if self.first_leaks else (self.second, self.first)
            )
            if _settles(bounds[less], bounds[more]):
                return f"{verbs[less]} least, at every FPR"
            return f"{self}; {_OPEN}"
        if self.bounds[0] is not self.bounds[1]:
            return self._half_open(verbs)
        less_ones = [self.second if leader == self.first else self.first for leader in self.leaders]
        if not self.crossings:
            return f"{verbs[less_ones[0]]} less, at every FPR and FNR ≥ 1e-12"
        rates = [_rate(crossing, 3) for crossing in self.crossings]
        if len(rates) == 1:
            return f"{verbs[less_ones[0]]} less below FPR {rates[0]}, {less_ones[1]} above it"
        if len(rates) > 2:
            verb = VERBS[self.bounds[0]]
            return f"Which {verb} less depends on the FPR: the curves cross {len(rates)} times"
        between = f"FPR {rates[0]} to {rates[1]}"
        if self.crossings[1].fpr - self.crossings[0].fpr > 1 / 2:
            return f"{verbs[less_ones[1]]} less at {between}, {less_ones[0]} elsewhere"
        return f"{verbs[less_ones[0]]} less, except at {between}"

    def _half_open(self, verbs: Mapping[str, str]) -> str:
        """Of two that are known from different sides: only where one order of them is settled."""
        settled, other = (
            (self.first, self.second) if _settles(*self.bounds) else (self.second, self.first)
        )
        less = f"{verbs[settled]} less than {verbs[other]}"
        known = [leader == other for leader in self.leaders]
        if not self.crossings:
            where = "at every FPR and FNR ≥ 1e-12"
            return f"{less}, {where}" if known[0] else f"{self}; {_OPEN}"
        rates = [_rate(crossing, 3) for crossing in self.crossings]
        if len(rates) == 1:
            here, there = ("below", "above") if known[0] else ("above", "below")
            return f"{less} {here} FPR {rates[0]}; {there} it, {_OPEN}"
        if len(rates) > 2:
            return f"{less} at some FPRs only: the curves cross {len(rates)} times"
        between = f"FPR {rates[0]} to {rates[1]}"
        if known[0]:
            return f"{less}, except at {between}: there, {_OPEN}"
        return f"{less} at {between}; elsewhere, {_OPEN}"

    def _of_guarantees(self) -> str:
        named = zip((self.first, self.second), self.bounds, strict=True)
        bounds = [name for name, bound in named if bound is Bound.LOWER]
        if not bounds:
            return ""
        are = "is a guarantee" if len(bounds) == 1 else "are guarantees"
        rest = "the crossings are of what is guaranteed, not of the mechanisms"
        return f". {_listed(bounds)} {are}: {rest}"


def _rate(crossing: Crossing, digits: int = 4) -> str:
    near = short(crossing.fpr, digits)
    return f"1 − {short(crossing.fnr, 2)}" if near == "1" else near


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _places(rates: Sequence[str]) -> list[str]:
    """Before, between and after crossings at these rates."""
    if len(rates) == 1:
        return ["below it", "above it"]
    if len(rates) == 2:
        return ["below the first", "between them", "above the second"]
    return ["below the first", *(f"then up to {rate}" for rate in rates[1:]), "above the last"]


def expected_seconds(subjects: Sequence[Subject]) -> float:
    """About how long it takes to compare these: compositions have no formulas to compare."""
    composed = [isinstance(subject, Combined) for subject in subjects]
    return _A_PAIR * sum(first or other for first, other in combinations(composed, 2))


@dataclass(frozen=True)
class Comparison(Plotted):
    """Mechanisms by name, every risk of each, and which of each two leaks more."""

    names: tuple[str, ...]
    scopes: tuple[str, ...]
    readings: tuple[tuple[Reading, ...], ...]
    pairs: tuple[Pair, ...]
    curves: tuple[TradeoffCurve, ...] = field(default=(), repr=False, compare=False)

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """One row a risk: its baseline without any output, and each subject; the head first."""
        rows = (
            (column[0].name, column[0].columns[0], *(reading.shown for reading in column))
            for column in zip(*self.readings, strict=True)
        )
        return (("", "without the output", *self.names), *rows)

    def answer(self) -> str:
        """Who leaks least at every FPR, or where two curves cross, in one sentence."""
        if len(self.pairs) == 1:
            return str(self.pairs[0])
        return self._least() or "None of them leaks least at every FPR: some curves cross"

    def brief(self) -> str:
        """Who leaks less, that it depends on the FPR, or that it is open, in a few words.

        >>> import tellapart as ta
        >>> compare({"Laplace": ta.Laplace(1), "Gaussian": ta.Gaussian(0.5)}).brief()
        'Laplace leaks least, at every FPR'
        """
        if not self.pairs:
            return f"{len(self.names)} mechanisms side by side"
        if len(self.pairs) == 1:
            return self.pairs[0].brief()
        return self._least() or self._most() or "Which of them leaks least depends on the FPR"

    @property
    def _bounds(self) -> dict[str, Bound]:
        first = {pair.first: pair.bounds[0] for pair in self.pairs}
        return first | {pair.second: pair.bounds[1] for pair in self.pairs}

    def _least(self) -> str:
        """Who leaks no more than every other at any FPR, as far as the curves settle it."""
        bounds = self._bounds
        for name, others in self._beside(more=False):
            if all(_settles(bounds[name], bounds[other]) for other in others):
                return f"{name} {VERBS[bounds[name]]} least, at every FPR"
        for name, others in self._beside(more=False):
            verbs = [VERBS[bound] for bound in VERBS if bound in {bounds[x] for x in others}]
            said = f"at most what each other {' or '.join(verbs)}, at every FPR"
            return f"{name} {VERBS[bounds[name]]} {said}; which leaks least is open"
        return ""

    def _most(self) -> str:
        bounds = self._bounds
        for name, others in self._beside(more=True):
            # What a guarantee allows is no leak, whatever the others are.
            if bounds[name] is Bound.LOWER or all(
                _settles(bounds[other], bounds[name]) for other in others
            ):
                return f"{name} {VERBS[bounds[name]]} most, at every FPR"
        return ""

    def _beside(self, more: bool) -> list[tuple[str, list[str]]]:
        """Whose curve leaks at least as much (or as little) as all the others', and the others."""
        ahead = {(pair.first, pair.second) for pair in self.pairs if pair.first_leaks}
        ahead |= {(pair.second, pair.first) for pair in self.pairs if pair.second_leaks}
        rest = {name: [x for x in self.names if x != name] for name in self.names}
        return [
            (name, others)
            for name, others in rest.items()
            if all(((name, x) if more else (x, name)) in ahead for x in others)
        ]

    def neighbours(self) -> str:
        """Which change of the data each is about, where they differ; else empty.

        >>> import tellapart as ta
        >>> blanked = ta.Gaussian(1, neighbours=ta.Neighbours.ZERO_OUT)
        >>> print(compare({"A": ta.Gaussian(1), "B": blanked}).neighbours())
        Neighbouring relations differ, so these numbers are of different promises (A: add or \
remove one record; B: zero out one record).
        """
        related = {
            name: curve.neighbours.value.partition(" (")[0]
            for name, curve in zip(self.names, self.curves, strict=False)
            if curve.neighbours is not None
        }
        if len({*related.values()}) < 2:
            return ""
        said = "; ".join(f"{name}: {change}" for name, change in related.items())
        return (
            f"Neighbouring relations differ, so these numbers are of different promises ({said})."
        )

    def renamed(self, names: Mapping[str, str]) -> Comparison:
        """The same with other names, of which no two may be alike."""
        pairs = (
            replace(
                pair,
                first=names[pair.first],
                second=names[pair.second],
                leaders=tuple(names[leader] for leader in pair.leaders),
            )
            for pair in self.pairs
        )
        return replace(self, names=tuple(names[name] for name in self.names), pairs=tuple(pairs))

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

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.names)})"


def compare(subjects: Mapping[str, Subject], **arguments: Any) -> Comparison:
    """Which of several mechanisms leaks more, to which attacker, and by how much.

    ``arguments`` (prior, fpr, recall, weight, delta) are those of `risk.summary`.

    >>> import tellapart as ta
    >>> found = compare({"Laplace": ta.Laplace(1), "Gaussian": ta.Gaussian(1)}, prior=0.01)
    >>> print(found.pairs[0])
    the curves of Laplace and Gaussian cross at FPR 0.2366 and 0.3886: below the first, Gaussian \
leaks more; between them, Laplace; above the second, Gaussian

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
        curves=tuple(curves.values()),
    )


def pair(first: str, second: str, a: TradeoffCurve, b: TradeoffCurve) -> Pair:
    """Which of two curves with these names leaks more, and where."""
    more, less = dominates(a, b), dominates(b, a)
    where = () if more or less else crossings(a, b)
    where = tuple(crossing for crossing in where if min(crossing) >= LEAST_ERROR)
    ahead = () if more or less else leads(a, b, where, LEAST_ERROR)
    return Pair(
        *(first, second, (a.bound, b.bound), more, less, where, gap(a, b), gap(b, a)),
        leaders=tuple(first if leads_there else second for leads_there in ahead),
    )
