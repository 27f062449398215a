"""Every figure of the founding paper and posts, in the order in which they appear."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from tellapart import plot, risk
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.curve.guarantees import guarantee
from tellapart.curve.region import PrivacyRegion
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.plot.styling import BLUE, GREY, VERMILLION, panels, styled
from tellapart.reproduce import attacker_knowledge, drawing
from tellapart.reproduce.drawing import Draw, Picture, Scored

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


_WEIGHTS = (0.5, 0.6, 0.8, 1.0, 1.5, 2.0)


@styled
def figure_two() -> Picture:
    """How an attacker decides whether a record is present."""
    figure, (axes,) = panels(1, width=6.4)
    drawing.draw_test(axes, 0.5)
    below = -0.5
    printed, right = drawing.printed_below_mode(below), float(drawing.TEST.rates(below).fpr)
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
    plot.precision_recall({f"ε = {short(e)}": Laplace.with_epsilon(e) for e in epsilons}, axes=left)
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
        differs="Eq. 12 is right as published. Left of its dot the best attack flags everyone "
        "and no smaller ε lowers the F-score: four cells of Table 1 print that turning point for "
        "bounds that lie below the flat part.",
        figure=figure,
    )


@styled
def figure_four() -> Picture:
    """What ε and δ mean for precision and recall under Gaussian noise."""
    figure, (left, right) = panels(2, height=5.4)
    plot.precision_recall(
        {f"ε = {short(e)}": Gaussian.classic(e, 0.01) for e in (5, 2, 1, 0.5, 0.1)}, axes=left
    )
    plot.precision_recall(
        {f"δ = {short(d)}": Gaussian.classic(0.5, d) for d in (0.1, 0.01, 1e-4, 1e-6)}, axes=right
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
        f"{short(epsilon)} and δ = {short(delta)} that noise reaches δ = {short(reached, 2)}, "
        f"{reached / delta:.0f} times what is promised.",
        figure=figure,
    )


def _scores(axes: Axes) -> None:
    words = "β = {}, turning at ε = {:.4f}"
    drawing.draw_scores(
        axes,
        [
            Scored(words.format(short(weight), drawing.turning_point(weight)), weight=weight)
            for weight in _WEIGHTS
        ],
    )
    axes.set(ylim=(0.5, 1.005), ylabel="largest F-score of any attack")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.13), handlelength=3)


def _printed_sigma(epsilon: float, delta: float) -> float:
    """The deviation as Section 4.3 prints it, for sensitivity 1: all of it under the root."""
    return math.sqrt(2 * math.log(1.25 / delta) / epsilon)


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
            _record_box(axes, place * 1.12, height, kind, str(value))


def _record_box(axes: Axes, left: float, middle: float, kind: int, value: str) -> None:
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
        _record_box(axes, left, height, kind, "")
        axes.text(left + 1.25, height, words[kind], va="center", fontsize=9.5)


_POINT = (0.9, 0.5)


@styled
def regions_epsilon() -> Picture:
    """What attackers can reach under several ε."""
    figures = [PrivacyRegion(epsilon) for epsilon in (3, 2, 1, 0.5)]
    figure = plot.regions(figures)
    return Picture(
        name="regions-epsilon",
        title="Regions of several ε (δ = 0)",
        shows="Every test of an ε-DP mechanism has its two error rates inside the region. The "
        "areas are " + ", ".join(f"{region.area():.3f}" for region in figures) + ".",
        differs="The post on attackers states two of the four half-planes, with strict signs. All "
        "four are drawn, and their edges belong to them: randomised response lies there.",
        figure=figure,
    )


@styled
def regions_delta() -> Picture:
    """What attackers can reach under several pairs of ε and δ."""
    pairs = [(1.0, 0.1), (1.0, 0.01), (0.0, 0.1)]
    figure = plot.regions([PrivacyRegion(*pair) for pair in pairs])
    tolerated, gained = PrivacyRegion(0.0, 0.1), float(risk.advantage(guarantee(0.0, 0.1)))
    return Picture(
        name="regions-delta",
        title="Regions of several (ε, δ)",
        shows="A share δ of the members may be found with no false positive at all.",
        differs="The post on attackers calls the strip that opens at ε = 0 a zone of “perfect "
        "privacy”; it is a zone of tolerated leakage. With δ = 0.1 its area is "
        f"{tolerated.area():.2f} instead of 0, and an attacker’s advantage may be {gained:.1f}.",
        figure=figure,
    )


@styled
def region_point() -> Picture:
    """Whether the worked attack of the audit post is possible under its promise."""
    region = PrivacyRegion(epsilon=2.5, delta=1e-4)
    least = float(risk.least_epsilon(fpr=0.1, tpr=0.9, delta=region.delta))
    return Picture(
        name="region-point",
        title="The worked example: FPR 0.1, TPR 0.9, ε = 2.5, δ = 0.0001",
        shows=f"The attack is possible for every ε from {least:.4f} on, so also for 2.5.",
        differs="The post concludes that the implementation has no bugs. A point inside shows only "
        "that this attack did not find one: an attack bounds ε from below and can only refute.",
        figure=plot.region_point(region, fpr=0.1, tpr=0.9),
    )


@styled
def region_printed() -> Picture:
    """What the printed region of the post on audits allows beyond the right one."""
    right, printed = PrivacyRegion(1.0), _printed_corners(1.0, 0.0)
    figure, (before, after) = panels(2, height=5.1)
    _draw(before, "as printed: three half-planes", printed, ("let in", "kept out"))
    before.fill(*_wedge(right, printed), facecolor=VERMILLION, alpha=0.25, lw=0)
    _draw(after, "with the fourth", right.vertices(), ("kept out", "kept out"))
    failure = right.failures(*_POINT)[0]
    more = _area(printed) - right.area()
    return Picture(
        name="region-printed",
        title="The printed region and the right one (ε = 1, δ = 0)",
        shows="The region must look the same after the two errors are swapped. The square is the "
        "point (0.9, 0.5), the diamond its mirror image (0.5, 0.9).",
        differs="Eqs 4 and 6 of the post on audits are one inequality, and FNR ≤ e^ε·TNR + δ is "
        f"missing. The printed region lets the square in, where {failure}; it is too large by "
        f"{more:.3f}, {100 * more / right.area():.0f} % of the right one.",
        figure=figure,
    )


def _draw(axes: Axes, title: str, corners: Array, words: tuple[str, str]) -> None:
    axes.fill(corners[:, 0], corners[:, 1], facecolor=BLUE, alpha=0.2, lw=0)
    axes.fill(corners[:, 0], corners[:, 1], fill=False, edgecolor=BLUE, lw=1.6, clip_on=False)
    axes.plot([0, 1], [1, 0], color=GREY, ls=":", lw=1.2)
    for (x, y), marker, word in zip((_POINT, _POINT[::-1]), "sD", words, strict=True):
        axes.plot([x], [y], marker, color=VERMILLION, ms=8, mec="white")
        axes.annotate(word, (x, y), xytext=(0, 8), textcoords="offset points", ha="center")
    axes.set_title(title)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set(xlabel="false-positive rate (FPR)", ylabel="members missed (FNR)")


def _wedge(right: PrivacyRegion, printed: Array) -> tuple[Array, Array]:
    """What the printed region adds to the right one."""
    corners = np.array([right.vertices()[5], right.vertices()[6], printed[5]])
    return corners[:, 0], corners[:, 1]


def _printed_corners(epsilon: float, delta: float) -> Array:
    """The corners that Eqs 3 to 6 leave: nothing bounds FNR where TNR is small."""
    corners = PrivacyRegion(epsilon, delta).vertices()
    reach = 1 - (1 - delta) * float(np.exp(-epsilon))
    return np.array([*corners[:5], (1, reach), corners[7]])


def _area(corners: Array) -> float:
    x, y = corners[:, 0], corners[:, 1]
    return 0.5 * abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))))


FIGURES: tuple[Draw, ...] = (
    figure_one,
    figure_two,
    figure_three,
    figure_four,
    attacker_knowledge.figure_five,
    attacker_knowledge.figure_six,
    attacker_knowledge.figure_seven,
    attacker_knowledge.figure_eight,
    figure_nine,
    regions_epsilon,
    regions_delta,
    region_point,
    region_printed,
)


def draw_all() -> tuple[Picture, ...]:
    """All figures, drawn anew."""
    return tuple(draw() for draw in FIGURES)
