"""Draw the pictures of the pages on theory and on choosing ε: `make picture`.

The SVGs are deterministic: the same numbers give the same files, and a test compares them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import tellapart as ta
from tellapart import choose, plot, risk
from tellapart.plot.numbers import plain
from tellapart.plot.styling import GREY, pen

HERE = Path(__file__).parent
ABSENT, PRESENT = pen(0), pen(1)
# A count of 10 without you, Laplace noise of ε = 1, and a test that flags one non-member in ten.
COUNT, FPR = 10.0, 0.1
# Who might attack: prior, false-positive rate, the limit on the positive predictive value.
ATTACKERS = (
    (0.001, 0.001, 0.01, "a stranger, prior 1 in 1,000"),
    (0.1, 0.01, 0.25, "someone who suspects, prior 1 in 10"),
)


@plot.styled
def coin() -> Figure:
    """Randomised response: its output under both hypotheses, and all tests there are."""
    answer = ta.RandomizedResponse(np.log(3))
    figure, (left, right) = plot.panels(2, height=4.0)
    for shift, chances, look, name in (
        (-0.2, (0.75, 0.25), ABSENT, "you are not"),
        (0.2, (0.25, 0.75), PRESENT, "you are"),
    ):
        places = np.arange(2) + shift
        hatch = "" if look is ABSENT else "//"
        left.bar(
            places,
            chances,
            0.38,
            color=look.colour,
            alpha=0.75,
            hatch=hatch,
            ec="white",
            label=name,
        )
        for place, chance in zip(places, chances, strict=True):
            left.text(place, chance + 0.02, f"{chance:g}", ha="center")
    left.set(xticks=[0, 1], xticklabels=["answer “no”", "answer “yes”"], ylim=(0, 1))
    left.set(ylabel="probability", title="What the answer looks like")
    left.legend(loc="upper center")
    left.grid(visible=False, axis="x")
    plot.tradeoff({"every test there is, at its best": answer}, axes=right)
    for at, words, shift in (
        ((0, 1), "flag nobody", (0.05, -0.01)),
        ((0.25, 0.25), "flag on “yes”", (0.04, 0.04)),
        ((1, 0), "flag all", (-0.52, 0.03)),
    ):
        right.plot(*at, "o", color=ABSENT.colour, ms=7, clip_on=False)
        right.text(at[0] + shift[0], at[1] + shift[1], words, fontsize=9)
    right.set_title("What an attacker can get wrong")
    right.get_legend().remove()
    return figure


@plot.styled
def test() -> Figure:
    """One threshold on a noisy count, its two errors, and the point they are on the curve."""
    noise = ta.Laplace.with_epsilon(1)
    threshold = noise.test(absent=COUNT, present=COUNT + 1).threshold(fpr=FPR)
    figure, (left, right) = plot.panels(2, height=4.0)
    seen = np.linspace(COUNT - 5, COUNT + 6, 1101)
    for centre, look, name in (
        (COUNT, ABSENT, "you are not in: 10 + noise"),
        (COUNT + 1, PRESENT, "you are in: 11 + noise"),
    ):
        density = np.exp(-np.abs(seen - centre)) / 2
        left.plot(seen, density, color=look.colour, ls=look.dashes, label=name)
        wrong = seen >= threshold if look is ABSENT else seen <= threshold
        left.fill_between(seen, density, where=wrong, color=look.colour, alpha=0.25, lw=0)
    left.axvline(threshold, color=GREY, lw=1.2)
    left.text(threshold + 0.12, 0.53, "flag →", color=GREY, fontsize=9)
    left.text(threshold + 0.1, 0.025, "α", color=ABSENT.colour, fontsize=12)
    left.text(COUNT + 0.15, 0.1, "β", color=PRESENT.colour, fontsize=12)
    left.set(xlabel="published count", ylim=(0, 0.7), yticks=[], title="One test: two errors")
    left.legend(loc="upper left")
    plot.tradeoff({"the best test at every α": noise}, axes=right)
    missed = noise.curve().beta(FPR)
    right.plot(FPR, missed, "o", color=GREY, ms=8, zorder=5)
    right.annotate(
        "this test",
        (FPR, missed),
        (0.03, 0.3),
        fontsize=9,
        color=GREY,
        arrowprops={"arrowstyle": "-", "lw": 0.8, "color": GREY},
    )
    right.set_title("All tests: one curve")
    right.legend(loc="upper right")
    return figure


def two_lines(axes: Axes, epsilon: float = 1.0, delta: float = 0.1) -> None:
    """The two lines that a pair (ε, δ) draws, and what it leaves to attackers."""
    plot.tradeoff({"the guarantee": ta.guarantee(epsilon, delta)}, axes=axes)
    alpha = np.array([0.0, 1.0])
    steep = 1 - delta - np.exp(epsilon) * alpha
    flat = np.exp(-epsilon) * (1 - delta - alpha)
    for line in (steep, flat):
        axes.plot(alpha, line, color=GREY, lw=1, ls="--", zorder=1)
    axes.text(0.18, 0.5, r"slope $-e^{\varepsilon}$", fontsize=10, color=GREY)
    axes.text(0.52, 0.2, r"slope $-e^{-\varepsilon}$", fontsize=10, color=GREY)
    axes.annotate(
        "1 − δ", (0, 1 - delta), (0.12, 0.97), fontsize=9, arrowprops={"arrowstyle": "-", "lw": 0.8}
    )
    axes.text(0.04, 0.1, "out of reach", fontsize=9, color=GREY)
    axes.set_title(f"ε = {epsilon:g}, δ = {delta:g}: two lines")
    axes.legend(loc="upper right")


@plot.styled
def promise() -> Figure:
    """What a pair (ε, δ) says of the curve, and three mechanisms for which it says the same."""
    figure, (left, right) = plot.panels(2, height=4.4)
    two_lines(left)
    subjects = {
        "randomised response": ta.RandomizedResponse(1),
        "Laplace noise": ta.Laplace.with_epsilon(1),
        "Gaussian noise, δ = 1e-5": ta.Gaussian.with_epsilon(1, 1e-5),
    }
    plot.tradeoff(subjects, axes=right)
    right.set_title("Three mechanisms with ε = 1")
    right.legend(loc="upper right")
    return figure


@plot.styled
def base_rates() -> Figure:
    """Positive predictive value, by how rare members are."""
    figure, (axes,) = plot.panels(width=6.4, height=4.2)
    prior = np.geomspace(1e-5, 0.9, 200)
    axes.plot(prior, prior, color=GREY, lw=1.2, ls=":", label="guessing")
    for index, epsilon in enumerate((0.5, 1, 2, 4)):
        look, curve = pen(index), ta.guarantee(epsilon)
        right = risk.ppv(curve, fpr=0.001, prior=prior)
        axes.plot(prior, right, color=look.colour, ls=look.dashes, label=f"ε = {epsilon:g}")
    axes.set(xscale="log", yscale="log", xlim=(1e-5, 1), ylim=(1e-5, 1.1))
    axes.set(xlabel="share of members (prior)", ylabel="positive predictive value (PPV), at most")
    axes.set_title("The rarer members are, the lower the PPV")
    plain(axes)
    axes.legend(loc="upper left")
    return figure


@plot.styled
def limits() -> Figure:
    """Many small answers look like one with normal noise; hiding in samples buys many steps."""
    figure, (left, right) = plot.panels(2, height=4.4)
    answers = {
        "1 answer, ε = 1": ta.RandomizedResponse(1),
        "4 answers, ε = 1/2": ta.RandomizedResponse(1 / 2).repeated(4),
        "100 answers, ε = 1/10": ta.RandomizedResponse(1 / 10).repeated(100),
        "one with normal noise, μ = 1": ta.Gaussian(sigma=1),
    }
    plot.tradeoff(answers, axes=left)
    left.set_title("Composition: the Gaussian limit")
    left.legend(loc="upper right")
    step = ta.Gaussian(sigma=1)
    trainings = {
        "1 step on everyone": step,
        "1,000 steps on 1 % each": step.sampled(0.01).repeated(1_000),
        "1 step on 1 %": step.sampled(0.01),
    }
    plot.roc(trainings, log=True, axes=right)
    right.set_title("DP-SGD, σ = 1")
    right.legend(loc="lower right")
    return figure


def worth(axes: Axes) -> None:
    """The positive predictive value by ε, to a stranger and to someone who suspects you."""
    epsilon = np.linspace(0.01, 4, 200)
    for index, (prior, fpr, limit, name) in enumerate(ATTACKERS):
        look = pen(index)
        right = [risk.ppv(ta.guarantee(e), fpr=fpr, prior=prior) for e in epsilon]
        axes.plot(epsilon, right, color=look.colour, ls=look.dashes, label=name)
        most = choose.largest(ta.guarantee, [choose.at_most(limit, risk.ppv, fpr=fpr, prior=prior)])
        axes.plot([0, most.parameter], [limit, limit], color=GREY, lw=1, ls=":")
        axes.plot(most.parameter, limit, "o", color=look.colour, ms=7)
        axes.text(0.08, limit * 1.12, f"limit {limit:g}", fontsize=9, color=GREY)
    axes.set(yscale="log", xlim=(0, 4), ylim=(8e-4, 1), xlabel="ε")
    axes.set(ylabel="PPV, at most", title="Positive predictive value")
    plain(axes)
    axes.legend(loc="lower right")


def price(axes: Axes) -> None:
    """How far off each published count is, by how many are published, under the same limits."""
    limits = [choose.at_most(b, risk.ppv, fpr=f, prior=p) for p, f, b, _ in ATTACKERS]
    releases = [1, 2, 3, 4, 6, 9, 12, 18, 24]
    for index, noise in enumerate((ta.DiscreteLaplace, ta.Gaussian)):
        look = pen(index)
        choices = [choose.least(lambda x, n=n, m=noise: m(x).repeated(n), limits) for n in releases]
        off = [noise(choice.parameter).margin(0.95) for choice in choices]
        name = "discrete Laplace noise" if index == 0 else "Gaussian noise"
        axes.plot(
            releases, off, color=look.colour, ls=look.dashes, marker="os"[index], ms=4, label=name
        )
    axes.set(xlabel="counts published", ylabel="95 % of the noise is within ±")
    axes.set(xlim=(0, 25), ylim=(0, None), title="What keeping both limits costs")
    axes.legend(loc="upper left")


@plot.styled
def choice() -> Figure:
    """Two attackers with a limit each, and the noise that keeps both."""
    figure, (left, right) = plot.panels(2, height=4.2)
    worth(left)
    price(right)
    return figure


PICTURES = {
    "theory-coin.svg": coin,
    "theory-test.svg": test,
    "theory-promise.svg": promise,
    "theory-base-rates.svg": base_rates,
    "theory-limits.svg": limits,
    "choosing.svg": choice,
}


def main(folder: Path = HERE) -> None:
    """Write the pictures beside this script."""
    for name, drawn in PICTURES.items():
        print(plot.save(drawn(), folder / name))


if __name__ == "__main__":
    main()
