"""Figure 9 of the paper: which databases the frameworks ask an attacker to tell apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from tellapart.plot.styling import BLUE, GREY, VERMILLION, panels, styled
from tellapart.reproduce.picture import Picture

_BEFORE = (1, 0, 1, 1, 0, 0, 1)
# A record stays, changes by choice, or changes because a record it depends on did.
_STAYS, _CHANGES, _FOLLOWS = range(3)
_ROWS = [
    (
        "Differential privacy",
        "One record changes;\nall others stay.",
        (0, 0, 1, 0, 0, 0, 0),
    ),
    (
        "Dependent differential privacy,\ninferential privacy",
        "One record changes, and the\nrecords it is correlated with\nmay change with it.",
        (0, 2, 1, 0, 2, 0, 0),
    ),
    (
        "Blowfish privacy with\ncount or marginal constraints",
        "Any records change that keep\nthe constraint: here the count\nof ones stays four.",
        (1, 1, 0, 1, 1, 0, 0),
    ),
]


@styled
def figure_nine() -> Picture:
    """Which records may differ between the two databases, framework by framework."""
    figure, (axes,) = panels(1, width=10.0, height=5.6)
    for index, (name, words, kinds) in enumerate(_ROWS):
        _pair(axes, -3.6 * index, name, words, kinds)
    _legend(axes, -3.6 * len(_ROWS) + 0.9)
    axes.set(xlim=(-8.3, 14.2), ylim=(-10.7, 1.6), aspect="equal")
    axes.axis("off")
    return Picture(
        name="figure-9",
        title="Figure 9. Neighbouring databases in the frameworks",
        shows="Which pairs D, D′ an attacker must be unable to tell apart. Membership privacy and "
        "mutual-information differential privacy compare before and after, and have no pairs.",
        differs="Theorem 7 reads these sets as nested and orders ε by them. They are not: a count "
        "constraint rules out every pair that differs in one record, so that order does not hold "
        "as stated.",
        figure=figure,
    )


def _pair(axes: Axes, top: float, name: str, words: str, kinds: Sequence[int]) -> None:
    changed = [value ^ (kind != _STAYS) for value, kind in zip(_BEFORE, kinds, strict=True)]
    axes.text(-8.2, top, name, va="center", fontsize=10.5, weight="bold")
    axes.text(8.4, top, words, va="center", fontsize=10)
    for label, height, values in (("D", top + 0.75, _BEFORE), ("D′", top - 0.75, changed)):
        axes.text(-0.35, height, label, ha="right", va="center", fontsize=11)
        for place, (value, kind) in enumerate(zip(values, kinds, strict=True)):
            _box(axes, place * 1.12, height, kind, str(value))


def _box(axes: Axes, left: float, middle: float, kind: int, value: str) -> None:
    """A record, marked by colour and by a pattern of its own."""
    colour = (GREY, VERMILLION, BLUE)[kind]
    corner = (left, middle - 0.5)
    if kind != _STAYS:
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, alpha=0.18, lw=0))
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=colour, lw=1.2))
    if kind == _CHANGES:
        axes.plot(*_stripes(*corner), color=colour, lw=0.9)
    elif kind == _FOLLOWS:
        axes.plot(*_dots(*corner), ".", color=colour, ms=3)
    if value:
        disc = {"facecolor": "white", "edgecolor": "none", "boxstyle": "circle,pad=0.15"}
        axes.text(left + 0.5, middle, value, ha="center", va="center", fontsize=11, bbox=disc)


def _stripes(left: float, bottom: float) -> tuple[list[float], list[float]]:
    """Diagonals across a unit square, as one broken line."""
    x, y = [], []
    for step in range(-3, 4):
        shift = step / 4
        x += [left + max(0.0, shift), left + min(1.0, 1 + shift), math.nan]
        y += [bottom + max(0.0, -shift), bottom + min(1.0, 1 - shift), math.nan]
    return x, y


def _dots(left: float, bottom: float) -> tuple[list[float], list[float]]:
    places = [(0.125 + k / 4, 0.125 + j / 4) for k in range(4) for j in range(4)]
    return [left + x for x, _ in places], [bottom + y for _, y in places]


def _legend(axes: Axes, height: float) -> None:
    words = ("stays", "changed directly", "changed through correlation")
    for kind, left in ((_STAYS, -1.0), (_CHANGES, 1.7), (_FOLLOWS, 6.2)):
        _box(axes, left, height, kind, "")
        axes.text(left + 1.25, height, words[kind], va="center", fontsize=9.5)
