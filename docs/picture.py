"""Draw the pictures of the README and of the page on composition.

Run `make picture`. The SVGs are deterministic: the same numbers give the same files.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import tellapart as ta
from tellapart import plot
from tellapart.plot.style import GREY

HERE = Path(__file__).parent


def promise(axes: Axes) -> None:
    """What ε = 1 promises, and two mechanisms that keep it."""
    subjects = {
        "the promise itself": ta.guarantee(epsilon=1),
        "Laplace noise": ta.Laplace.with_epsilon(1),
        "exponential mechanism": ta.ExponentialMechanism(1),
    }
    plot.tradeoff(subjects, axes=axes)
    axes.text(0.17, 0.09, "out of reach\nof any attacker", color=GREY, ha="center", fontsize=9)
    axes.set_title("What ε = 1 promises, and who keeps it")
    axes.legend(loc="upper right", handlelength=2.5)


def careful(axes: Axes) -> None:
    """The same question where it is decided: at few false accusations."""
    subjects = {f"ε = {epsilon:g}": ta.Laplace.with_epsilon(epsilon) for epsilon in (4, 2, 1, 0.1)}
    plot.roc(subjects, log=True, axes=axes)
    axes.set_title("Laplace noise, seen by a careful attacker")
    axes.legend(loc="lower right")


def shortcuts() -> Figure:
    """A long training, and what two shortcuts say of it."""
    training = ta.dp_sgd(noise_multiplier=0.6, sampling_rate=0.001, steps=50_000)
    subjects = {
        "Rényi accounting": ta.renyi(training),
        "DP-SGD": training,
        "central limit": ta.central_limit(training).stand_in,
    }
    return plot.roc(subjects, log=True)


@plot.styled
def draw() -> Figure:
    """The promise and the careful attacker, side by side."""
    figure, (left, right) = plot.panels(2)
    promise(left)
    careful(right)
    return figure


def main() -> None:
    """Write docs/picture.svg and docs/composition.svg."""
    print(plot.save(draw(), HERE / "picture.svg"))
    print(plot.save(shortcuts(), HERE / "composition.svg"))


if __name__ == "__main__":
    main()
