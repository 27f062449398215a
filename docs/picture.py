"""Draw the pictures of the README and of the pages on composition and on deployments.

Run `make picture`. The SVGs are deterministic: the same numbers give the same files.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import tellapart as ta
from tellapart import deployments, plot
from tellapart.plot.numbers import plain
from tellapart.plot.styling import GREY, pen

HERE = Path(__file__).parent
# The least FPR of the picture on composition.
LEAST = 1e-8
# Units that several deployments hide.
UNITS = ("one user", "one user-day", "one event")


def promise(axes: Axes) -> None:
    """The trade-off function of ε = 1, and two mechanisms that satisfy it."""
    subjects = {
        "any mechanism with ε = 1": ta.guarantee(epsilon=1),
        "Laplace noise": ta.Laplace.with_epsilon(1),
        "exponential mechanism": ta.ExponentialMechanism(1),
    }
    plot.tradeoff(subjects, axes=axes)
    axes.text(0.17, 0.09, "out of reach\nof any attacker", color=GREY, ha="center", fontsize=9)
    axes.set_title("Trade-off functions with ε = 1")
    axes.legend(loc="upper right", handlelength=2.5)


def careful(axes: Axes) -> None:
    """The same question where it is decided: at low FPR."""
    subjects = {f"ε = {epsilon:g}": ta.Laplace.with_epsilon(epsilon) for epsilon in (4, 2, 1, 0.1)}
    plot.roc(subjects, log=True, axes=axes)
    axes.set_title("ROC curves of Laplace noise, log axes")
    axes.legend(loc="lower right")


@plot.styled
def shortcuts() -> Figure:
    """What two shortcuts say of a long training, as a share of the truth."""
    training = ta.dp_sgd(noise_multiplier=0.6, sampling_rate=0.001, steps=50_000)
    fpr = np.geomspace(LEAST, 1, 241)
    truth = training.curve().tpr(fpr)
    allowed = ta.renyi(training).tpr(fpr) / truth
    claimed = ta.central_limit(training).stand_in.curve().tpr(fpr) / truth
    figure, (axes,) = plot.panels(width=6.4, height=4.0)
    axes.set(
        xscale="log",
        xlim=(LEAST, 1),
        ylim=(0, 2.1),
        xlabel="false-positive rate (FPR)",
        ylabel="true-positive rate (TPR), truth = 1",
    )
    exact, safe, unsafe = pen(0), pen(2), pen(1)
    axes.fill_between(fpr, allowed, 2.1, color=safe.colour, alpha=0.12, lw=0)
    axes.plot(fpr, allowed, color=safe.colour, ls=safe.dashes)
    axes.plot(fpr, np.ones_like(fpr), color=exact.colour, ls=exact.dashes)
    axes.plot(fpr, claimed, color=unsafe.colour, ls=unsafe.dashes)
    words = [
        (2e-5, 1.8, "Rényi accounting: a bound, but loose\n(no attacker does better)", safe),
        (2e-8, 1.05, "DP-SGD, exact", exact),
        (2e-6, 0.4, "central limit: no bound\n(under 1, attackers find more than it says)", unsafe),
    ]
    for x, y, said, look in words:
        axes.text(x, y, said, color=look.colour, fontsize=9)
    axes.set_title("What two shortcuts say of 50,000 steps, σ = 0.6, q = 0.001")
    plain(axes)
    return figure


def published() -> Figure:
    """What an attacker gains over one unit of the deployments that hide a unit alike."""
    alike = [promise for promise in deployments.DEPLOYMENTS if promise.per in UNITS]
    return plot.deployments(deployments.gains(alike))


@plot.styled
def draw() -> Figure:
    """Trade-off functions and ROC curves, side by side."""
    figure, (left, right) = plot.panels(2)
    promise(left)
    careful(right)
    return figure


def main() -> None:
    """Write the pictures beside this script."""
    print(plot.save(draw(), HERE / "picture.svg"))
    print(plot.save(shortcuts(), HERE / "composition.svg"))
    print(plot.save(published(), HERE / "deployments.svg"))


if __name__ == "__main__":
    main()
