"""The region figures of the founding posts: which pairs of errors a promise allows."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from tellapart import plot, risk
from tellapart._checks import Array
from tellapart.curve.guarantees import guarantee
from tellapart.curve.region import PrivacyRegion
from tellapart.plot import panels, styled
from tellapart.plot.styling import BLUE, GREY, VERMILLION
from tellapart.reproduce.picture import Picture

_POINT = (0.9, 0.5)


@styled
def regions_epsilon() -> Picture:
    """What attackers can reach under several ε."""
    regions = [PrivacyRegion(epsilon) for epsilon in (3, 2, 1, 0.5)]
    figure = plot.regions(regions)
    return Picture(
        name="regions-epsilon",
        title="Regions of several ε (δ = 0)",
        shows="Every test of an ε-DP mechanism has its two error rates inside the region. The "
        "areas are " + ", ".join(f"{region.area():.3f}" for region in regions) + ".",
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
        shows="A share δ of the members may be found with no false accusation at all.",
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
    axes.set(xlabel="false accusations (FPR)", ylabel="members missed (FNR)")


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
