"""Draw the picture at the top of the README: one curve, and what it allows an attacker.

Run `make picture`. The SVG is deterministic: the same numbers give the same file.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import tellapart as ta

HERE = Path(__file__).parent
# Okabe and Ito's palette: told apart by people with any kind of colour vision.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"


def tradeoff(axes: Axes) -> None:
    """What ε = 1 promises, and three mechanisms that keep it."""
    alpha = np.linspace(0, 1, 1001)
    promise = ta.guarantee(epsilon=1)
    axes.fill_between(alpha, promise.beta(alpha), color=GREY, alpha=0.15, lw=0)
    axes.plot(alpha, 1 - alpha, color=GREY, lw=1, ls=":")
    curves = [
        ("randomised response: all that ε = 1 allows", ta.RandomizedResponse(1), BLUE, "-"),
        ("Laplace noise", ta.Laplace.with_epsilon(1), ORANGE, "--"),
        ("exponential mechanism", ta.ExponentialMechanism(1), GREEN, "-."),
    ]
    for name, mechanism, colour, dashes in curves:
        axes.plot(alpha, mechanism.curve().beta(alpha), color=colour, ls=dashes, lw=2, label=name)
    axes.text(0.17, 0.09, "out of reach\nof any attacker", color=GREY, ha="center", fontsize=9)
    axes.text(0.56, 0.475, "guessing", color=GREY, rotation=-45, fontsize=9, ha="center")
    axes.set(
        xlabel="false accusations (type I error, α)",
        ylabel="members missed (type II error, β)",
        title="Three mechanisms with ε = 1",
    )
    axes.legend(loc="upper right", frameon=False, fontsize=8.5)


def roc(axes: Axes) -> None:
    """The same question where it is decided: at few false accusations."""
    fpr = np.logspace(-4, 0, 801)
    curves = [
        ("ε = 4", ta.Laplace.with_epsilon(4), PURPLE, "-"),
        ("ε = 2", ta.Laplace.with_epsilon(2), BLUE, "--"),
        ("ε = 1", ta.Laplace.with_epsilon(1), ORANGE, "-."),
        ("ε = 0.1", ta.Laplace.with_epsilon(0.1), GREEN, (0, (1, 1))),
    ]
    for name, mechanism, colour, dashes in curves:
        axes.loglog(fpr, mechanism.curve().tpr(fpr), color=colour, ls=dashes, lw=2, label=name)
    axes.loglog(fpr, fpr, color=GREY, lw=1, ls=":")
    axes.text(0.04, 0.023, "guessing", color=GREY, rotation=34, fontsize=9)
    axes.set(
        xlabel="false accusations (FPR)",
        ylabel="members found (TPR)",
        title="Laplace noise, seen by a careful attacker",
        xlim=(1e-4, 1),
        ylim=(1e-4, 1.3),
    )
    axes.legend(loc="lower right", frameon=False, fontsize=8.5)


def main() -> None:
    """Write docs/picture.svg."""
    plt.rcParams.update({"svg.hashsalt": "tellapart", "svg.fonttype": "path", "font.size": 10})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
    tradeoff(left)
    left.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    roc(right)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.set_axisbelow(True)
    figure.savefig(HERE / "picture.svg", metadata={"Date": None}, facecolor="white")
    print(HERE / "picture.svg")


if __name__ == "__main__":
    main()
