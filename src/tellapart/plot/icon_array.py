"""Icon array: membership inference among so many people, each of them a dot."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tellapart import _checks, risk
from tellapart._numeric.text import fixed, short
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.plot.sheet import LegendEntry, sheet
from tellapart.plot.styling import BLUE, GREY, VERMILLION, styled
from tellapart.risk.sentences import in_full, population

# Dots in a row, and rows; in inches, the width of the picture; in points, the size of a dot.
_ACROSS, _DOWN, _WIDE, _DOT = 50, 20, 6.4, 4.6
# The smallest share of a dot's width that is still seen, and the most people spoken of.
_SEEN, _MOST = 0.3, 10**15


class _DotLook(NamedTuple):
    """Never by colour alone: members are round, and those flagged are filled."""

    words: str
    marker: str
    colour: str
    filled: bool


_MISSED = _DotLook("members not flagged", "o", VERMILLION, False)
_FOUND = _DotLook("members flagged", "o", VERMILLION, True)
_FALSE = _DotLook("non-members flagged", "s", BLUE, True)
_REST = _DotLook("non-members not flagged", "s", GREY, False)


class PeopleCounts(NamedTuple):
    """How many people are what, rounded so that the attack never looks weaker."""

    population: int
    members: int
    found: int
    flagged: int
    found_by_guessing: float

    @property
    def groups(self) -> dict[_DotLook, int]:
        """Members together, and those flagged together: so they stand in the picture."""
        rest = self.population - self.members - self.flagged
        missed = self.members - self.found
        return {_MISSED: missed, _FOUND: self.found, _FALSE: self.flagged, _REST: rest}


@styled
def people(
    subject: Subject,
    *,
    prior: float = 0.5,
    fpr: float = 0.01,
    out_of: int | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Who is flagged by the best attack at this FPR, among so many people.

    ``prior`` is the share of members. Unless ``out_of`` is given, there are as many people as it
    takes for every count to be at least 1; of more than 1,000, each dot stands for several.

    >>> import tellapart as ta
    >>> figure = people(ta.Laplace.with_epsilon(1), prior=0.1, fpr=0.01)
    """
    curve = curve_of(subject)
    counts = people_counts(curve, prior=prior, fpr=fpr, out_of=out_of)
    page = sheet(axes)
    if page.own:
        page.figure.set_size_inches(_WIDE, page.figure.get_figheight())
    each = max(counts.population / (_ACROSS * _DOWN), 1.0)
    place, entries = 0, []
    for look, count in counts.groups.items():
        limit = _ACROSS * _DOWN - place if look is _REST else math.inf
        dots = min(count / each, limit)
        place = _dots(page.axes, look, place, dots)
        entries.append(_entry(look, count, counts, curve.bound))
    _frame(page.axes, math.ceil(place / _ACROSS))
    entries.append(LegendEntry(_blank(), _precision(curve, prior, fpr)))
    if each > 1:
        words = f"A dot is {in_full(each)} people; a smaller one is fewer."
        entries.append(LegendEntry(_blank(), words))
    page.axes.set_title(
        f"Of {counts.population:,} people, {counts.members:,} are members: "
        f"{'this' if curve.bound is Bound.UPPER else 'the best'} attack at FPR {short(fpr)}",
        fontsize=10,
    )
    shape = math.ceil(place / _ACROSS) / _ACROSS
    return page.finished(entries, shape=shape, under=-0.35)


def people_counts(
    curve: TradeoffCurve, *, prior: float, fpr: float, out_of: int | None = None
) -> PeopleCounts:
    """Whole people: members found rounded up and false positives down, or against an attack seen.

    >>> import tellapart as ta
    >>> people_counts(ta.guarantee(1), prior=0.5, fpr=0.01)
    PeopleCounts(population=1000, members=500, found=14, flagged=5, found_by_guessing=5.0)
    """
    before, size = _checks.inside_unit(prior=prior), _checks.inside_unit(fpr=fpr)
    people = population(before, size) if out_of is None else _checks.whole(1, _MOST, out_of=out_of)
    members = round(before * people)
    strong = curve.bound is not Bound.UPPER
    flagged_members = _whole(float(curve.tpr(size)) * before * people, up=strong)
    flagged = _whole(size * (people - members), up=not strong)
    return PeopleCounts(
        people, max(members, flagged_members), flagged_members, flagged, size * before * people
    )


def _whole(count: float, up: bool) -> int:
    """A whole number on the asked side; one that is whole but for rounding stays itself."""
    nearest = round(count)
    if abs(count - nearest) <= 1e-9 * max(count, 1.0):
        return nearest
    return math.ceil(count) if up else math.floor(count)


def _dots(axes: Axes, look: _DotLook, start: int, dots: float) -> int:
    """Draw so many dots in rows from a place on; the last may be a part of one."""
    whole = int(dots + 1e-9)
    part = dots - whole if dots - whole > 1e-9 else 0.0
    if whole:
        places = range(start, start + whole)
        axes.plot(
            [place % _ACROSS for place in places],
            [place // _ACROSS for place in places],
            label=look.words,
            **_style(look),
        )
    if part:
        place = start + whole
        size = _DOT * max(math.sqrt(part), _SEEN)
        axes.plot([place % _ACROSS], [place // _ACROSS], **(_style(look) | {"ms": size}))
    return start + whole + bool(part)


def _style(look: _DotLook) -> dict[str, Any]:
    fill = look.colour if look.filled else "none"
    thin = 0.4 if look is _REST else 1.0
    return {"ls": "none", "marker": look.marker, "ms": _DOT, "mec": look.colour, "mfc": fill} | {
        "mew": thin,
        "clip_on": False,
    }


def _entry(look: _DotLook, count: int, counts: PeopleCounts, bound: Bound) -> LegendEntry:
    side = {Bound.LOWER: "at most ", Bound.EXACT: "", Bound.UPPER: "at least "}[bound]
    words = f"{look.words}: {side if look is _FOUND else ''}{count:,}"
    if look is _FOUND:
        words += f" (without the output: {in_full(counts.found_by_guessing)})"
    return LegendEntry(Line2D([], [], **_style(look)), words)


def _blank() -> Line2D:
    return Line2D([], [], ls="none")


def _precision(curve: TradeoffCurve, prior: float, fpr: float) -> str:
    """The share of people flagged who are members, beside the prior."""
    share = float(risk.ppv(curve, fpr=fpr, prior=prior))
    side = {Bound.LOWER: "at most ", Bound.EXACT: "", Bound.UPPER: "at least "}[curve.bound]
    shown = fixed(share, up=curve.bound is not Bound.UPPER)
    return (
        f"PPV: {side}{shown} of those flagged are members (without the output: {short(prior, 4)})"
    )


def _frame(axes: Axes, rows: int) -> None:
    axes.set(xlim=(-0.7, _ACROSS - 0.3), ylim=(rows - 0.3, -0.7), aspect="equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    axes.spines[:].set_visible(False)
