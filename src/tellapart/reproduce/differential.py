"""Figures 2 to 4 of the paper: the attacker who knows nothing beforehand."""

from __future__ import annotations

import math

from matplotlib.axes import Axes

from tellapart import plot, risk
from tellapart.curve.guarantees import guarantee
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.plot import panels, styled
from tellapart.reproduce import densities, scores
from tellapart.reproduce.picture import Picture
from tellapart.reproduce.scores import Scored

_WEIGHTS = (0.5, 0.6, 0.8, 1.0, 1.5, 2.0)


@styled
def figure_two() -> Picture:
    """How an attacker decides whether a record is present."""
    figure, (axes,) = panels(1, width=6.4)
    densities.draw(axes, 0.5)
    below = -0.5
    printed, right = densities.printed_below_mode(below), float(densities.TEST.rates(below).fpr)
    return Picture(
        name="figure-2",
        title="Figure 2. The attacker’s hypothesis test",
        shows="Laplace noise with ε = 1 on an answer that is larger by one sensitivity where the "
        "record is present. Beyond θ the attacker says “present”: RSR is how often it does so when "
        "the record is present, GSR how often when it is absent.",
        differs="Eqs 9 and 10 have the wrong sign below the peak, where the exponent must be "
        f"+(θ − Q)ε/ΔQ. At θ = Q(D′) − ½ the printed GSR is {printed:.4f}, the right one "
        f"{right:.4f}.",
        figure=figure,
    )


@styled
def figure_three() -> Picture:
    """What ε means for precision and recall, and for the F-score."""
    figure, (left, right) = panels(2, height=5.6)
    epsilons = (5, 2, 1, 0.5, 0.1, 0.01)
    plot.precision_recall({f"ε = {e:g}": Laplace.with_epsilon(e) for e in epsilons}, axes=left)
    left.set_ylim(0.4, 1.005)
    left.set_title("(a)", loc="left")
    _scores(right)
    right.set_title("(b)", loc="left")
    flat = risk.precision(Laplace.with_epsilon(1).curve(), recall=0.5)
    return Picture(
        name="figure-3",
        title="Figure 3. Precision, recall and F-score under Laplace noise",
        shows="(a) Precision against recall; each curve is flat up to recall ½, at 1/(1 + e^−ε) "
        f"({flat:.4f} for ε = 1). (b) The largest F-score against ε for the weights β of Table 1; "
        "a dot marks the turning point log(1 + β²).",
        differs="Eq. 12 is right as published. Left of its dot the best attack accuses everyone "
        "and no smaller ε lowers the F-score: four cells of Table 1 print that turning point for "
        "bounds that lie below the flat part.",
        figure=figure,
    )


@styled
def figure_four() -> Picture:
    """What ε and δ mean for precision and recall under Gaussian noise."""
    figure, (left, right) = panels(2, height=5.4)
    plot.precision_recall(
        {f"ε = {e:g}": Gaussian.classic(e, 0.01) for e in (5, 2, 1, 0.5, 0.1)}, axes=left
    )
    plot.precision_recall(
        {f"δ = {d:g}": Gaussian.classic(0.5, d) for d in (0.1, 0.01, 1e-4, 1e-6)}, axes=right
    )
    left.set_title("(a) δ = 0.01", loc="left")
    right.set_title("(b) ε = 0.5", loc="left")
    for axes in (left, right):
        axes.set_ylim(0.4, 1.005)
    epsilon, delta = 0.1, 1e-5
    reached = float(guarantee(mu=1 / _printed_sigma(epsilon, delta)).delta(epsilon))
    return Picture(
        name="figure-4",
        title="Figure 4. Precision and recall under Gaussian noise",
        shows="Classical noise σ = √(2·log(1.25/δ))·ΔQ/ε with (a) δ = 0.01 and (b) ε = 0.5. The "
        "text does not say which values were drawn; these are tellapart’s.",
        differs="The paper prints ΔQ/ε under the root, which agrees only where ε = ΔQ. For ε = "
        f"{epsilon:g} and δ = {delta:g} that noise reaches δ = {reached:.2g}, "
        f"{reached / delta:.0f} times what is promised.",
        figure=figure,
    )


def _scores(axes: Axes) -> None:
    words = "β = {:g}, turning at ε = {:.4f}"
    scores.draw(
        axes,
        [
            Scored(words.format(weight, scores.turning_point(weight)), weight=weight)
            for weight in _WEIGHTS
        ],
    )
    axes.set(ylim=(0.5, 1.005), ylabel="largest F-score of any attack")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.13), handlelength=3)


def _printed_sigma(epsilon: float, delta: float) -> float:
    """The deviation as Section 4.3 prints it, for sensitivity 1: all of it under the root."""
    return math.sqrt(2 * math.log(1.25 / delta) / epsilon)
