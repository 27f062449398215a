"""Figures 5 to 8 of the paper: what an attacker's knowledge does to precision and F-score."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from tellapart import risk
from tellapart._numeric.text import short
from tellapart.curve.base import TradeoffCurve
from tellapart.mechanisms.noise import Laplace
from tellapart.plot.styling import GREY, panels, pen, styled
from tellapart.reproduce import drawing
from tellapart.reproduce.drawing import Picture, Scored
from tellapart.reproduce.table import laplace_score
from tellapart.worlds import Adversary

NOBODY = Adversary.with_coefficients(0.0)
PRIOR = Adversary.with_coefficients(0.2)
RECORDS = Adversary.with_coefficients(0.2, rho_c=0.1)
TIME = Adversary.with_coefficients(0.2, rho_c=0.1, rho_t=0.1)
_KNOWLEDGE = [
    ("nothing", NOBODY),
    (r"prior, $\rho_p$ = 0.2", PRIOR),
    (r"… and records, $\rho_c$ = 0.1", RECORDS),
    (r"… and the past, $\rho_t$ = 0.1", TIME),
]
_EPSILONS = (2.0, 1.0, 0.1)


@styled
def figure_five() -> Picture:
    """What a prior does to the test and to its precision."""
    figure, (left, right) = panels(2)
    drawing.draw_test(left, PRIOR.prior)
    _precision(right, PRIOR, NOBODY)
    _titles(left, right)
    rare = Adversary(prior=0.01)
    curve = Laplace.with_epsilon(1).curve()
    return Picture(
        name="figure-5",
        title="Figure 5. An attacker who knows the prior (ρ_p = 0.2)",
        shows=f"(a) {_test(PRIOR)} (b) {_lines('a prior of 1/2')}",
        differs="The gain is the base rate and not the knowledge: whoever faces these odds has it, "
        f"and where members are rare it turns round. At ε = 1 and recall 0.3, precision is "
        f"{_at(curve, NOBODY):.3f} for even odds, {_at(curve, PRIOR):.3f} here and "
        f"{_at(curve, rare):.3f} for one member among a hundred. Eq. 18 prints 4β²ε for 4β²e^ε.",
        figure=figure,
    )


@styled
def figure_six() -> Picture:
    """What correlated records add to the prior."""
    figure, (left, right) = panels(2)
    drawing.draw_test(left, RECORDS.prior)
    _precision(right, RECORDS, PRIOR)
    _titles(left, right)
    return Picture(
        name="figure-6",
        title="Figure 6. An attacker who also knows correlated records (ρ_p = 0.2, ρ_c = 0.1)",
        shows=f"(a) {_test(RECORDS)} (b) {_lines('the prior alone')}",
        differs="The paper lets ρ_c range over [0, 1]; it must keep (2 − ρ_p)(1 − ρ_c) at least 1, "
        "or a probability would exceed 1: with ρ_p = 0.2, ρ_c cannot exceed "
        f"{1 - 1 / (2 - 0.2):.3f}.",
        figure=figure,
    )


@styled
def figure_seven() -> Picture:
    """What correlation over time adds to prior and correlated records."""
    figure, (left, middle, right) = panels(3, width=4.7)
    drawing.draw_test(left, TIME.prior)
    _scores(middle, _KNOWLEDGE[-2:])
    _precision(right, TIME, RECORDS)
    _titles(left, middle, right)
    middle.set_title("(b) by its caption: F1", loc="left")
    right.set_title("(b) by the text: PR-relation", loc="left")
    wrong, correct = _printed_score(3.0, TIME.gamma), _score(3.0, TIME)
    return Picture(
        name="figure-7",
        title="Figure 7. An attacker who also knows the past (ρ_p = 0.2, ρ_c = ρ_t = 0.1)",
        shows=f"(a) {_test(TIME)} (b) {_lines('prior and records')}",
        differs="The caption of (b) says F1-score and the text says PR-relation, so both are here. "
        f"Eq. 24 prints 4β²ε for 4β²e^ε: at ε = 3 that gives F1 = {wrong:.4f}, less than flagging "
        f"everyone ({_score(0.0, TIME):.4f}); the right value is {correct:.4f}.",
        figure=figure,
    )


@styled
def figure_eight() -> Picture:
    """The largest F1 under each kind of knowledge."""
    figure, (axes,) = panels(1, width=6.4)
    _scores(axes, _KNOWLEDGE)
    always = ", ".join(f"{_score(0.0, who):.3f}" for _, who in _KNOWLEDGE)
    return Picture(
        name="figure-8",
        title="Figure 8. F1 of the best attack under four kinds of knowledge",
        shows="The largest F1 against ε; dots mark where the best attack stops flagging everyone.",
        differs="The four curves belong to four populations, with "
        + ", ".join(short(who.gamma, 3) for _, who in _KNOWLEDGE)
        + f" non-members per member. Flagging everyone, which takes no output at all, scores "
        f"{always} in them; left of the dots the whole gap is this base rate.",
        figure=figure,
    )


def _precision(axes: Axes, who: Adversary, before: Adversary) -> None:
    """Precision against recall for one attacker, and thinner for one who knows less."""
    recall = np.linspace(0.001, 1, 334)
    for index, epsilon in enumerate(_EPSILONS):
        curve, colour = Laplace.with_epsilon(epsilon).curve(), pen(index).colour
        high = np.asarray(risk.precision(curve, recall=recall, prior=who.prior))
        low = np.asarray(risk.precision(curve, recall=recall, prior=before.prior))
        axes.plot(recall, high, color=colour)
        axes.plot(recall, low, color=colour, ls="--", lw=1.2)
        axes.text(0.02, high[0] + 0.008, f"ε = {short(epsilon)}", fontsize=9, va="bottom")
    known, less = short(who.gamma, 3), short(before.gamma, 3)
    axes.legend(
        handles=[
            Line2D([], [], color=GREY, label=f"γ = {known} non-members per member"),
            Line2D([], [], color=GREY, ls="--", lw=1.2, label=f"γ = {less}"),
        ],
        loc="lower left",
    )
    axes.set(xlim=(0, 1), ylim=(0.4, 1), xlabel="recall", ylabel="precision")


def _scores(axes: Axes, known: list[tuple[str, Adversary]]) -> None:
    """The largest F1 for the last of the attackers, in the pens they have among all of them."""
    lines = [Scored(f"{name} (γ = {short(who.gamma, 3)})", prior=who.prior) for name, who in known]
    drawing.draw_scores(axes, lines, first=len(_KNOWLEDGE) - len(known))
    axes.set(ylim=(0.6, 1), ylabel="largest F1")
    axes.legend(loc="lower right", title="the attacker knows")


def _titles(*axes: Axes) -> None:
    for letter, panel in zip("abc", axes, strict=False):
        panel.set_title(f"({letter})", loc="left")


def _score(epsilon: float, who: Adversary) -> float:
    return laplace_score(epsilon, 1.0, who.prior)


def _printed_score(epsilon: float, gamma: float) -> float:
    """Eqs 18 and 24 with weight 1 as the paper prints them: ε stands where e^ε should."""
    root = np.sqrt(1 + 4 * epsilon / gamma)
    return float(2 * (root - 1) / (2 * root))


def _at(curve: TradeoffCurve, who: Adversary) -> float:
    return float(risk.precision(curve, recall=0.3, prior=who.prior))


def _test(who: Adversary) -> str:
    _, tpr, right = drawing.shares(who.prior)
    return (
        f"The two densities, each times its prior, for ε = 1 and {short(who.gamma, 3)} "
        "non-members per "
        f"member; θ is where they cross, which makes precision {right:.3f} at recall {tpr:.3f}."
    )


def _lines(less: str) -> str:
    return f"Precision against recall; dashed, for comparison, with {less}."
