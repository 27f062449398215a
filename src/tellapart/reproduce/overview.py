"""Figure 1 of the paper: from a mechanism to a choice of ε."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from tellapart.plot.styling import BLUE, GREY, VERMILLION, panels, styled
from tellapart.reproduce.picture import Picture

_STEPS = [
    ("A mechanism adds noise\nto the answer on D or D′", "ta.Laplace.with_epsilon(1)"),
    ("The best test of\nh0: D′ against h1: D", "curve = mechanism.curve()"),
    ("Precision and recall\nof that test", "risk.precision(curve, …)"),
    ("Their F-score\nin one number", "risk.f_score(curve, …)"),
    ("The largest ε that\nkeeps it in bounds", "choose.largest(…)"),
]
_WIDE, _HIGH, _GAP = 3.25, 1.5, 0.5


@styled
def figure_one() -> Picture:
    """How an ε is found: test, count the errors, bound them."""
    figure, (axes,) = panels(1, width=10.6, height=2.5)
    for index, (words, call) in enumerate(_STEPS):
        left = index * (_WIDE + _GAP)
        _box(axes, left, 0.0, words, BLUE)
        axes.text(left + _WIDE / 2, -0.42, call, ha="center", fontsize=7.4, family="monospace")
        if index:
            _arrow(axes, (left - _GAP, _HIGH / 2), (left, _HIGH / 2))
    aside = _WIDE + _GAP
    _box(axes, aside, 2.3, "What the attacker knows:\nprior, correlation, time", VERMILLION)
    _arrow(axes, (aside + _WIDE / 2, 2.3), (aside + _WIDE / 2, _HIGH))
    axes.text(aside + _WIDE + 0.2, 2.3 + _HIGH / 2, "worlds.Adversary.with_coefficients(…)",
              va="center", fontsize=7.4, family="monospace")  # fmt: skip
    axes.set(xlim=(-0.2, 5 * _WIDE + 4 * _GAP + 0.2), ylim=(-0.7, 4.0), aspect="equal")
    axes.axis("off")
    return Picture(
        name="figure-1",
        title="Figure 1. The procedure",
        shows="From a mechanism to a choice of ε, with the call of tellapart that takes each step.",
        differs="Drawn after the words of Section 3, not after the published drawing.",
        figure=figure,
    )


def _box(axes: Axes, left: float, bottom: float, words: str, colour: str) -> None:
    corner, wide, high = (left + 0.1, bottom + 0.1), _WIDE - 0.2, _HIGH - 0.2
    shape = FancyBboxPatch(corner, wide, high, boxstyle="round,pad=0.1", facecolor="white")
    shape.set(edgecolor=colour, linewidth=1.5)
    axes.add_patch(shape)
    middle = (left + _WIDE / 2, bottom + _HIGH / 2)
    axes.text(*middle, words, ha="center", va="center", fontsize=8.8, linespacing=1.3)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    line = {"arrowstyle": "-|>", "color": GREY, "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, xytext=start, arrowprops=line)
