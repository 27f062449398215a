"""The largest F-score against ε, as Figures 3(b), 7(b) and 8 of the paper draw it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from tellapart.plot.styling import pen
from tellapart.reproduce.table import laplace_score


class Scored(NamedTuple):
    """One line: whose F-score is drawn, and how it counts."""

    label: str
    weight: float = 1.0
    prior: float = 0.5


def draw(axes: Axes, lines: Sequence[Scored], *, first: int = 0) -> None:
    """Each line with a dot at its turning point, in pens from the ``first`` on."""
    epsilons = np.linspace(0, 5, 251)
    for index, line in enumerate(lines, first):
        colour, dashes = pen(index)
        scores = [laplace_score(float(epsilon), line.weight, line.prior) for epsilon in epsilons]
        axes.plot(epsilons, scores, color=colour, ls=dashes, label=line.label)
        turn, floor = turning_point(line.weight, line.prior), scores[0]
        axes.plot([turn], [floor], "o", color=colour, ms=6)
    axes.set(xlim=(0, 5), xlabel="ε")


def turning_point(weight: float, prior: float = 0.5) -> float:
    """The ε up to which the best attack accuses everyone: log(1 + β²/γ)."""
    return math.log1p(weight**2 * prior / (1 - prior))
