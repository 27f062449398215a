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
from matplotlib.transforms import ScaledTranslation

from tellapart import _checks
from tellapart.curve.region import PrivacyRegion
from tellapart.plot.sheet import Entry, guess, sheet, square
from tellapart.plot.style import BLACK, BLUE, GREEN, VERMILLION, Pen, pen, styled

_TICK = Path([(-0.55, 0.0), (-0.15, -0.45), (0.6, 0.5)])
_NOTE = "Rates measured on samples need an audit: it says with what confidence this holds."


@styled
def regions(regions: Sequence[PrivacyRegion], *, axes: Axes | None = None) -> Figure:
    """Which pairs of errors an attacker can have under each promise.

    No attacker leaves a promise's region; the closer it comes to the lower left corner, the less
    the promise is worth.
    """
    asked, page = _checked(regions), sheet(axes)
    _errors(page.axes)
    entries = [_filled(page.axes, region, pen(index)) for index, region in enumerate(asked)]
    entries.append(Entry(guess(page.axes, [0, 1], [1, 0]), "guessing: all that ε = 0 allows"))
    return page.finished(entries, title="What each promise allows (no attacker does better):")


def _checked(regions: object) -> list[PrivacyRegion]:
    if not isinstance(regions, Sequence) or not regions:
        rule = "be a list of promises, as [ta.PrivacyRegion(epsilon=1)] is"
        _checks.refuse("regions", rule, regions)
    for index, one in enumerate(regions):
        _check_region(f"regions[{index}]", one)
    return list(regions)


def _check_region(name: str, one: object) -> None:
    if not isinstance(one, PrivacyRegion):
        _checks.refuse(name, "be a PrivacyRegion", one)


def _errors(axes: Axes) -> None:
    square(axes)
    axes.set(xlabel="false accusations (FPR)", ylabel="members missed (FNR)")


def _filled(axes: Axes, region: PrivacyRegion, look: Pen) -> Entry:
    """A region over all larger ones, so that each shows its own tint."""
    x, y = np.concatenate([region.vertices(), [[0.0, 1.0]]]).T
    red, green, blue = (1 - 0.2 * (1 - part) for part in to_rgb(look.colour))
    tint = (red, green, blue)
    axes.fill(x, y, facecolor=tint, lw=0, zorder=1 - 0.5 * region.area())
    (line,) = axes.plot(x, y, color=look.colour, ls=look.dashes, lw=1.6, label=_called(region))
    return Entry((Patch(facecolor=tint, lw=0), line), _called(region))


def _called(region: PrivacyRegion) -> str:
    delta = f", δ = {region.delta:g}" if region.delta else ""
    return f"ε = {region.epsilon:g}{delta}"


@styled
def region_point(
    region: PrivacyRegion, *, fpr: float, tpr: float, axes: Axes | None = None
) -> Figure:
    """Whether an attack with these rates is possible under a promise, and what forbids it.

    A tick marks a point the promise allows, a cross one it does not; each broken inequality is
    drawn and written out with how much it fails by.
    """
    _check_region("region", region)
    alpha, power = _checks.probability(fpr=fpr), _checks.probability(tpr=tpr)
    failures = region.failures(fpr=alpha, fnr=1 - power)
    page = sheet(axes)
    _errors(page.axes)
    guess(page.axes, [0, 1], [1, 0])
    allowed = f"what {_called(region)} allows: no attacker does better"
    entries = [_filled(page.axes, region, Pen(BLUE, "-"))._replace(label=allowed)]
    words = f"the attack: FPR {alpha:.4g}, TPR {power:.4g}"
    if not failures:
        words += "; no inequality fails"
    entries.append(Entry(_marked(page.axes, alpha, 1 - power, inside=not failures), words))
    for failure, dashes in zip(failures, ("-", (0, (4, 1))), strict=False):
        x, y = _edge(region, failure.inequality)
        (line,) = page.axes.plot(x, y, color=VERMILLION, ls=dashes, lw=3, label=str(failure))
        entries.append(Entry(line, str(failure)))
    entries.append(Entry(Line2D([], [], ls="none"), _NOTE))
    verdict = "Impossible" if failures else "Possible"
    page.axes.set_title(f"{verdict} if {_called(region)} is kept")
    return page.finished(entries)


def _marked(axes: Axes, x: float, y: float, inside: bool) -> tuple[Line2D, Line2D]:
    """A tick on a green disc or a cross on a vermillion square, beside the point itself."""
    right, up = _aside(x, y, inside)
    beside = axes.transData + ScaledTranslation(right / 72, up / 72, axes.figure.dpi_scale_trans)
    shape, sign, colour = ("o", _TICK, GREEN) if inside else ("s", "x", VERMILLION)
    axes.annotate(
        "", (x, y), (right, up), textcoords="offset points", arrowprops={"arrowstyle": "-"}
    )
    axes.plot(x, y, "o", ms=4, color=BLACK, zorder=4)
    (badge,) = axes.plot(x, y, shape, ms=13, color=colour, mec="white", transform=beside)
    (mark,) = axes.plot(x, y, ls="none", marker=sign, ms=7, mec="white", mfc="none", mew=2)
    mark.set_transform(beside)
    for artist in (badge, mark):
        artist.set(clip_on=False, zorder=4)
    return badge, mark


def _aside(x: float, y: float, inside: bool) -> tuple[float, float]:
    """Some points away from the edge of the region, where a mark hides no line, but on the axes."""
    sign = -1 if (x + y < 1) != inside else 1
    room = [one > 0.1 for one in ((x, y) if sign < 0 else (1 - x, 1 - y))]
    if not any(room):
        return -sign * 15, -sign * 15
    length = 22 / sum(room) ** 0.5
    return sign * length * room[0], sign * length * room[1]


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
