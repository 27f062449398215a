"""Plots of privacy regions: the error rates that (ε, δ)-DP allows, and an attack among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path
from matplotlib.transforms import ScaledTranslation

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.curve.region import MechanismRegion, PrivacyRegion
from tellapart.plot.sheet import LegendEntry, guess, sheet, square
from tellapart.plot.styling import ATTACK_SEEN, BLUE, GREEN, VERMILLION, Pen, pen, styled

Region = PrivacyRegion | MechanismRegion
_TITLE = "Privacy regions (no attacker does better):"
# The size of a mark beside a point, in points, and the ways in which it may stand aside.
_BADGE = 13
_WAYS = np.array([(np.cos(turn), np.sin(turn)) for turn in np.pi * (np.arange(48) - 6) / 24])
_TICK = Path([(-0.55, 0.0), (-0.15, -0.45), (0.6, 0.5)])
_NOTE = "Rates measured on samples need confidence limits: use an audit."


@styled
def regions(
    regions: Sequence[PrivacyRegion] | Mapping[str, Region], *, axes: Axes | None = None
) -> Figure:
    """Which pairs of errors an attacker can have under each guarantee, or for each mechanism.

    No attacker leaves the region; the closer it comes to the lower left corner, the less a
    guarantee is worth. Regions of mechanisms come by name.

    >>> import tellapart as ta
    >>> figure = regions([ta.PrivacyRegion(1), ta.PrivacyRegion(0.5, 0.01)])
    >>> from tellapart.curve.region import MechanismRegion
    >>> laplace = MechanismRegion(ta.Laplace(1).curve())
    >>> figure = regions({"Laplace noise": laplace, "any mechanism": ta.PrivacyRegion(1)})
    """
    asked, page = _checked(regions), sheet(axes)
    _errors(page.axes)
    entries = [
        _filled(page.axes, name, region, pen(index))
        for index, (name, region) in enumerate(asked.items())
    ]
    entries.append(
        LegendEntry(guess(page.axes, [0, 1], [1, 0]), "guessing: all that ε = δ = 0 allows")
    )
    return page.finished(entries, title=_TITLE)


def _checked(regions: object) -> dict[str, Region]:
    if isinstance(regions, Mapping) and regions:
        for name, region in regions.items():
            if not isinstance(region, PrivacyRegion | MechanismRegion):
                rule = "be a PrivacyRegion or a MechanismRegion"
                _checks.refuse(f"regions[{name!r}]", rule, region)
        return {str(name): region for name, region in regions.items()}
    if not isinstance(regions, Sequence) or not regions:
        rule = "be a list of regions, such as [ta.PrivacyRegion(epsilon=1)]"
        _checks.refuse("regions", rule, regions)
    for index, region in enumerate(regions):
        _check_region(f"regions[{index}]", region)
    return {_called(region): region for region in regions}


def _check_region(name: str, region: object) -> None:
    if not isinstance(region, PrivacyRegion):
        _checks.refuse(name, "be a PrivacyRegion", region)


def _errors(axes: Axes) -> None:
    square(axes)
    axes.set(xlabel="false-positive rate (FPR)", ylabel="false-negative rate (FNR)")


def _filled(axes: Axes, name: str, region: Region, look: Pen) -> LegendEntry:
    """A region over all larger ones, so that each shows its own tint."""
    around = region.vertices() if isinstance(region, PrivacyRegion) else region.boundary()
    x, y = np.concatenate([around, [[0.0, 1.0]]]).T
    red, green, blue = (1 - 0.2 * (1 - part) for part in to_rgb(look.colour))
    tint = (red, green, blue)
    axes.fill(x, y, facecolor=tint, lw=0, zorder=1 - 0.5 * region.area())
    (line,) = axes.plot(x, y, color=look.colour, ls=look.dashes, lw=1.6, label=name)
    return LegendEntry((Patch(facecolor=tint, lw=0), line), name)


def _called(region: PrivacyRegion) -> str:
    delta = f", δ = {short(region.delta)}" if region.delta else ""
    return f"ε = {short(region.epsilon)}{delta}"


@styled
def region_point(
    region: PrivacyRegion, *, fpr: float, tpr: float, axes: Axes | None = None
) -> Figure:
    """Whether an attack with these rates is possible under a promise, and what forbids it.

    A tick marks a point the promise allows, a cross one it does not; each broken inequality is
    drawn and written out with how much it fails by.

    >>> import tellapart as ta
    >>> figure = region_point(ta.PrivacyRegion(1), fpr=0.01, tpr=0.05)
    """
    _check_region("region", region)
    alpha, power = _checks.probability(fpr=fpr), _checks.probability(tpr=tpr)
    failures = region.failures(fpr=alpha, tpr=power)
    page = sheet(axes)
    _errors(page.axes)
    guess(page.axes, [0, 1], [1, 0])
    allowed = f"what {_called(region)} allows: no attacker does better"
    entries = [_filled(page.axes, _called(region), region, Pen(BLUE, "-"))._replace(label=allowed)]
    words = f"the attack: FPR {short(alpha, 4)}, TPR {short(power, 4)}"
    if not failures:
        words += "; no inequality fails"
    aside = _aside(page.axes, region, alpha, 1 - power, inside=not failures)
    mark = _marked(page.axes, alpha, 1 - power, aside, inside=not failures)
    entries.append(LegendEntry(mark, words))
    for failure, dashes in zip(failures, ("-", (0, (4, 1))), strict=False):
        x, y = _edge(region, failure.inequality)
        (line,) = page.axes.plot(x, y, color=VERMILLION, ls=dashes, lw=3, label=str(failure))
        entries.append(LegendEntry(line, str(failure)))
    entries.append(LegendEntry(Line2D([], [], ls="none"), _NOTE))
    verdict = "Impossible" if failures else "Possible"
    page.axes.set_title(f"{verdict} if {_called(region)} is kept")
    return page.finished(entries)


def _marked(
    axes: Axes, x: float, y: float, aside: tuple[float, float], inside: bool
) -> tuple[Line2D, Line2D]:
    """A tick on a green disc or a cross on a vermillion square, beside the point itself."""
    right, up = aside
    beside = axes.transData + ScaledTranslation(right / 72, up / 72, axes.figure.dpi_scale_trans)
    shape, sign, colour = ("o", _TICK, GREEN) if inside else ("s", "x", VERMILLION)
    axes.annotate(
        "", (x, y), (right, up), textcoords="offset points", arrowprops={"arrowstyle": "-"}
    )
    axes.plot(x, y, ls="none", zorder=4, **ATTACK_SEEN)
    (badge,) = axes.plot(x, y, shape, ms=_BADGE, color=colour, mec="white", transform=beside)
    (mark,) = axes.plot(x, y, ls="none", marker=sign, ms=7, mec="white", mfc="none", mew=2)
    mark.set_transform(beside)
    for artist in (badge, mark):
        artist.set(clip_on=False, zorder=4)
    return badge, mark


def _aside(
    axes: Axes, region: PrivacyRegion, x: float, y: float, inside: bool
) -> tuple[float, float]:
    """Where a mark stands, in points from its point: on the axes, and on its side of the edge.

    A possible attack is marked towards the centre, an impossible one away from it; without room
    there the line to the mark gets longer, and at last leads to the centre all the same.
    """
    extent = axes.get_window_extent()  # to become a square
    side = 72 * min(extent.width, extent.height) / axes.figure.dpi
    point = float(np.ptp(axes.get_xlim())) / side
    centre = np.array([0.5 - x, 0.5 - y])
    for length in (22, 44, 66, 88):
        ways = [way for way in length * _WAYS if _stands(region, x, y, point * way, point, inside)]
        if ways:
            right, up = max(ways, key=lambda way: float(way @ centre) * (1 if inside else -1))
            return float(right), float(up)
    right, up = 22 * centre / (float(np.hypot(*centre)) or 1.0)
    return float(right), float(up)


def _stands(
    region: PrivacyRegion, x: float, y: float, way: Array, point: float, inside: bool
) -> bool:
    """Whether a mark there is wholly on the axes, and where its point is: in or beyond an edge."""
    fpr, fnr = x + float(way[0]), y + float(way[1])
    half = _BADGE / 2 * point
    if min(fpr, fnr) < half or max(fpr, fnr) > 1 - half:
        return False
    if inside:
        return region.contains(fpr=fpr, fnr=fnr)
    inwards = half if x + y < 1 else -half  # all of it must be beyond the edge
    near = (fpr + inwards, fnr + inwards)
    return (sum(near) < 1) == (x + y < 1) and not region.contains(fpr=near[0], fnr=near[1])


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
