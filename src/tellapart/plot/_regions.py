"""Pictures of promises: the pairs of errors they allow, and whether an attack is among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path

from tellapart import _checks
from tellapart._checks import Array
from tellapart.curve.region import PrivacyRegion
from tellapart.plot.sides import ROW, Entry, guessing, legend
from tellapart.plot.style import BLUE, GREEN, VERMILLION, Pen, canvas, pen, styled

_TICK = Path([(-0.55, 0.0), (-0.15, -0.45), (0.6, 0.5)])
_NOTE = "Rates measured on samples are uncertain: an audit says with what confidence this holds."


@styled
def regions(regions: Sequence[PrivacyRegion], *, axes: Axes | None = None) -> Figure:
    """Which pairs of errors an attacker can have under each promise.

    No attacker leaves a promise's region; the closer it comes to the lower left corner, the less
    the promise is worth.
    """
    asked = _checked(regions)
    figure, axes = canvas(axes, height=4.4 + ROW * (len(asked) + 1))
    _square(axes)
    entries = [_filled(axes, region, pen(index)) for index, region in enumerate(asked)]
    entries.append(Entry(guessing(axes, [0, 1], [1, 0]), "guessing: all that ε = 0 allows"))
    legend(axes, entries)
    return figure


def _checked(regions: object) -> list[PrivacyRegion]:
    if isinstance(regions, str) or not isinstance(regions, Sequence):
        _checks.refuse("regions", "be a list of PrivacyRegion", regions)
    if not regions:
        _checks.refuse("regions", "not be empty", regions)
    for one in regions:
        if not isinstance(one, PrivacyRegion):
            _checks.refuse("regions", "hold only PrivacyRegion", one)
    return list(regions)


def _filled(axes: Axes, region: PrivacyRegion, look: Pen) -> Entry:
    """A region over all larger ones, so that each shows its own tint."""
    x, y = _outline(region)
    red, green, blue = (1 - 0.2 * (1 - part) for part in to_rgb(look.colour))
    tint = (red, green, blue)
    axes.fill(x, y, facecolor=tint, lw=0, zorder=1 - 0.5 * region.area())
    (line,) = axes.plot(x, y, color=look.colour, ls=look.dashes, lw=1.6, clip_on=False)
    return Entry((Patch(facecolor=tint, lw=0), line), _called(region))


def _outline(region: PrivacyRegion) -> tuple[Array, Array]:
    corners = region.vertices()
    closed = np.concatenate([corners, corners[:1]])
    return closed[:, 0], closed[:, 1]


def _called(region: PrivacyRegion) -> str:
    delta = f", δ = {region.delta:g}" if region.delta else ""
    return f"ε = {region.epsilon:g}{delta}"


@styled
def region_point(
    region: PrivacyRegion, *, fpr: float, tpr: float, axes: Axes | None = None
) -> Figure:
    """Whether an attack with these rates is possible under a promise, and what forbids it.

    A tick marks a point the promise allows, a cross one it does not; the broken inequality is
    drawn and written out with how much it fails by.
    """
    if not isinstance(region, PrivacyRegion):
        _checks.refuse("region", "be a PrivacyRegion", region)
    alpha, power = _checks.probability(fpr=fpr), _checks.probability(tpr=tpr)
    failures = region.failures(fpr=alpha, fnr=1 - power)
    figure, axes = canvas(axes, height=4.7 + ROW * (4 + len(failures)))
    _square(axes)
    guessing(axes, [0, 1], [1, 0])
    allowed = f"what {_called(region)} allows: no attacker does better"
    entries = [_filled(axes, region, Pen(BLUE, "-"))._replace(label=allowed)]
    for failure in failures:
        x, y = _edge(region, failure.inequality)
        (line,) = axes.plot(x, y, color=VERMILLION, lw=3, clip_on=False, zorder=2.5)
        entries.append(Entry(line, str(failure)))
    words = f"the attack: FPR {alpha:.4g}, TPR {power:.4g}"
    if not failures:
        words += "; all four inequalities hold"
    entries.insert(1, Entry(_marked(axes, alpha, 1 - power, inside=not failures), words))
    entries.append(Entry(Line2D([], [], ls="none"), _NOTE))
    verdict = "Impossible" if failures else "Possible"
    axes.set_title(f"{verdict} if {_called(region)} is kept")
    legend(axes, entries)
    return figure


def _marked(axes: Axes, x: float, y: float, inside: bool) -> tuple[Line2D, Line2D]:
    """A tick on green or a cross on vermillion."""
    (disc,) = axes.plot(
        x, y, "o" if inside else "s", ms=13, color=GREEN if inside else VERMILLION, mec="white"
    )
    (sign,) = axes.plot(
        x, y, marker=_TICK if inside else "x", ms=7, mec="white", mfc="none", mew=2, ls="none"
    )
    for artist in (disc, sign):
        artist.set(clip_on=False, zorder=3)
    return disc, sign


def _edge(region: PrivacyRegion, inequality: str) -> tuple[list[float], list[float]]:
    """Where the inequality is an equality, across the unit square, as FPRs and FNRs."""
    far = 1 - region.delta
    near = far * float(np.exp(-region.epsilon))
    ends = {
        "TNR ≤ e^ε·FNR + δ": ([0, far], [near, 0]),
        "TPR ≤ e^ε·FPR + δ": ([0, near], [far, 0]),
        "FPR ≤ e^ε·TPR + δ": ([1 - far, 1], [1, 1 - near]),
        "FNR ≤ e^ε·TNR + δ": ([1 - near, 1], [1, 1 - far]),
    }
    return ends[inequality]


def _square(axes: Axes) -> None:
    axes.set(
        xlabel="false accusations (FPR)",
        ylabel="members missed (FNR)",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
