"""A figure of the paper and what recurs in several: the hypothesis test, and F-score against ε."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tellapart._checks import Array
from tellapart.mechanisms.noise import Laplace
from tellapart.plot.styling import BLUE, GREY, VERMILLION, pen
from tellapart.reproduce.table import laplace_score
from tellapart.risk.decisions import best_decision


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with what it shows and what differs from the published one.

    ``name`` is the file's name without its suffix; ``shows`` describes the drawing, ``differs``
    says where the published text had to be corrected, and is empty where it is right.
    """

    name: str
    title: str
    shows: str
    differs: str
    figure: Figure

    @property
    def caption(self) -> str:
        """All the words under the figure."""
        return " ".join(part for part in (self.shows, self.differs) if part)


# Draws one figure; called anew for each reproduction, because a drawing can be altered.
Draw = Callable[[], Picture]


EPSILON = 1.0
# Noise with ε = 1 on an answer that is 0 without the record and 1 with it.
NOISE = Laplace.with_epsilon(EPSILON)
TEST = NOISE.test(absent=0, present=1)


def threshold(prior: float) -> float:
    """The output beyond which "present" is the likelier answer."""
    loss = float(best_decision(NOISE.curve(), prior=prior).threshold)
    # Between the two answers the log-likelihood ratio is (2·output − 1)·ε.
    return (loss / EPSILON + 1) / 2


def draw_test(axes: Axes, prior: float) -> None:
    """Both densities, each weighted by its prior (by 1 for a prior of 1/2), and the threshold."""
    weights = (1.0, 1.0) if prior == 0.5 else (prior, 1 - prior)
    cut = threshold(prior)
    fpr, tpr, _ = shares(prior)
    output = np.union1d(np.linspace(-4, 5, 181), [cut])
    beyond = output >= cut
    sides = [(weights[0], 1.0, VERMILLION, "-"), (weights[1], 0.0, BLUE, "--")]
    for weight, centre, colour, dashes in sides:
        density = weight * _density(output - centre)
        axes.plot(output, density, color=colour, ls=dashes)
        axes.fill_between(output[beyond], density[beyond], color=colour, alpha=0.25, lw=0)
    top = max(weights) * EPSILON / 2
    axes.axvline(cut, color=GREY, lw=1.5)
    axes.text(cut + 0.12, 1.25 * top, "θ: say “present” from here on", fontsize=9)
    axes.text(1.2, 0.97 * top, "h1: record present", fontsize=9, color=VERMILLION)
    low = weights[1] * EPSILON / 2
    axes.text(-0.3, 0.9 * low, "h0: record absent", fontsize=9, color=BLUE, ha="right")
    names = ("RSR = ", "GSR = ") if prior == 0.5 else ("", "")
    true, false = (
        f"{name}{w * x:.3f}" for name, w, x in zip(names, weights, (tpr, fpr), strict=True)
    )
    _note(axes, f"true positives\n{true}", (1.55, 0.42 * top), (4.8, 0.7 * top))
    _note(axes, f"false positives\n{false}", (1.4, 0.06 * top), (4.8, 0.36 * top))
    axes.set(xlim=(-4, 5), ylim=(0, 1.4 * top), xticks=[0, 1])
    axes.set_xticklabels(["Q(D′)", "Q(D)"])
    axes.set_xlabel("noisy answer")
    axes.set_ylabel("density" if prior == 0.5 else "prior × density")


def _note(axes: Axes, words: str, at: tuple[float, float], where: tuple[float, float]) -> None:
    arrow = {"arrowstyle": "-", "color": "black", "lw": 0.8}
    axes.annotate(words, at, xytext=where, fontsize=9, ha="right", arrowprops=arrow)


def shares(prior: float) -> tuple[float, float, float]:
    """FPR, TPR and precision of the test drawn for this prior."""
    rates = TEST.rates(threshold(prior))
    fpr, tpr = float(rates.fpr), float(rates.tpr)
    return fpr, tpr, prior * tpr / (prior * tpr + (1 - prior) * fpr)


def printed_below_mode(x: float) -> float:
    """Eqs 9 and 10 below the mode as the paper prints them: the exponent has the wrong sign."""
    return 1 - 0.5 * math.exp(-x * EPSILON)


def _density(x: Array) -> Array:
    return np.asarray(EPSILON / 2 * np.exp(-EPSILON * np.abs(x)))


class Scored(NamedTuple):
    """One line: whose F-score is drawn, and how it counts."""

    label: str
    weight: float = 1.0
    prior: float = 0.5


def draw_scores(axes: Axes, lines: Sequence[Scored], *, first: int = 0) -> None:
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
    """The ε up to which the best attack flags everyone: log(1 + β²/γ)."""
    return math.log1p(weight**2 * prior / (1 - prior))
