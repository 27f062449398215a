"""Plots for calibration: F-score against ε, the privacy-utility frontier, maps of DP-SGD noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import ArrayLike

from tellapart import _checks, risk
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.choose.frontiers import Frontier, FrontierRow
from tellapart.choose.limit import Limit
from tellapart.choose.training_maps import TrainingMap, shown_multiplier, shown_noise
from tellapart.curve.algebra import joint_bound
from tellapart.mechanisms.catalogue import PARAMETERS
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.plot.curves import above
from tellapart.plot.numbers import written
from tellapart.plot.sheet import WORDS, CurveLine, LegendEntry, draw, guess, sheet
from tellapart.plot.styling import BLACK, CHOSEN, GREY, LIMIT, SAFE, pen, styled

Families = Mapping[str, Callable[[float], Subject]]

# Between the ends given, so many ε; ends further apart than this have a logarithmic axis.
_POINTS, _FAR = 121, 20.0


@styled
def f_score(
    families: Families,
    epsilons: ArrayLike,
    *,
    weight: float = 1.0,
    prior: float = 0.5,
    axes: Axes | None = None,
) -> Figure:
    """How the largest F-score of any attack grows with ε, for each family of mechanisms.

    A family turns ε into a mechanism or a curve: ``{"Laplace": ta.Laplace.with_epsilon}``. It is
    asked for many ε from the first of ``epsilons`` to the last, each given one among them; if the
    last is more than twenty times the first, the axis is logarithmic. The floor is the
    F-score of flagging everybody, which needs no output.

    >>> import tellapart as ta
    >>> figure = f_score({"Laplace": ta.Laplace.with_epsilon}, [0.5, 1, 2])
    """
    _check_families(families)
    given = _rising(epsilons)
    log = bool(given[0] > 0 and given[-1] > _FAR * given[0])
    grid = np.union1d(given, (np.geomspace if log else np.linspace)(given[0], given[-1], _POINTS))
    count = _checks.finite_above_zero(weight=weight)
    before = _checks.inside_unit(prior=prior)
    page = sheet(axes)
    floor = (1 + count**2) / (1 + count**2 + (1 - before) / before)
    page.axes.set(
        xlabel="privacy parameter (ε)",
        ylabel=f"largest F-score of any attack (weight {short(count, 4)})",
        xscale="log" if log else "linear",
        xlim=(grid[0], grid[-1]),
    )
    above(page.axes, floor)
    lines = []
    for name, family in families.items():
        curves = [
            curve_of(family(float(epsilon)), f"what families[{name!r}] returns") for epsilon in grid
        ]
        scores = np.array([risk.f_score(curve, weight=count, prior=before) for curve in curves])
        lines.append(CurveLine(str(name), joint_bound(curves), grid, scores, guessing=floor))
    base = guess(page.axes, grid[[0, -1]], [floor, floor])
    entries = [*draw(page.axes, lines), LegendEntry(base, f"flagging everybody: {short(floor, 4)}")]
    return page.finished(entries, shape=0.85)


def _check_families(families: object) -> None:
    if not isinstance(families, Mapping) or not families:
        rule = 'map names to functions of ε, as {"Laplace": ta.Laplace.with_epsilon} does'
        _checks.refuse("families", rule, families)
    for name, family in families.items():
        if not callable(family):
            _checks.refuse(f"families[{name!r}]", "be a function of ε", family)


def _rising(epsilons: ArrayLike) -> Array:
    grid = _checks.vector(epsilons=epsilons)
    if grid.size < 2:
        _checks.refuse("epsilons", "hold at least two numbers", epsilons)
    if grid[0] < 0:
        _checks.refuse("epsilons", "be at least 0", float(grid[0]))
    if not np.all(np.diff(grid) > 0):
        _checks.refuse("epsilons", "rise strictly", epsilons)
    return grid


_SYMBOLS = {"rho": "ρ", **{key: known.symbol for key, known in PARAMETERS.items() if known.symbol}}
# The letters on top, and the least room between two words there, in points.
_SIZE, _GAP = 8.5, 9.0


@styled
def frontier(
    found: Frontier,
    *,
    chosen: float | None = None,
    limits: Sequence[Limit] = (),
    axes: Axes | None = None,
) -> Figure:
    """What less risk costs: each measure against the error of the answer.

    The error is the half-width of the interval that covers 95 % of the noise; as many points as
    have room carry their parameter, on top. Where the answer is not finite, the parameter itself is
    the axis. ``chosen`` is the parameter of one row, to be marked; each of ``limits`` is a line,
    and where all of them are kept is shaded.

    >>> import tellapart as ta
    >>> from tellapart import choose, risk
    >>> measured = choose.frontier(ta.Laplace.with_epsilon, [0.5, 1, 2])
    >>> figure = frontier(measured, chosen=1, limits=[choose.at_most(0.4, risk.advantage)])
    """
    rows, by_error = _ordered(found)
    mark, kept = _index(rows, chosen), _kept(found, limits)
    page = sheet(axes)
    places = np.array([_place(row, by_error) for row in rows])
    page.axes.set(xscale="log", ylabel="risk")
    entries = []
    for index, measure in enumerate(found.measures):
        values = [row.risks[index] for row in rows]
        look, label = pen(index), measure + WORDS[found.bound]
        (line,) = page.axes.plot(places, values, color=look.colour, ls=look.dashes, label=label)
        entries.append(LegendEntry(line, label))
    if min(min(row.risks) for row in rows) >= 0:
        page.axes.set_ylim(bottom=0)
    if by_error:
        page.axes.set_xlabel("error of the answer (95 % within ±)")
        words = _named(found.parameter, rows, mark)
        shown = _with_room(_points_along(page.axes, places), words, mark)
        for entry in entries:
            entry.handle.set(marker="o", markevery=shown)
        _directions(page.axes, "← more accurate", "more private →")
        _on_top(page.axes, places, words, shown, mark)
    else:
        known = PARAMETERS.get(found.parameter)
        page.axes.set_xlabel(found.parameter if known is None else known.label)
        _directions(page.axes, *_private_side(found, rows))
    entries += _limits(page.axes, rows, places, kept)
    if mark is not None:
        circle = _mark(page.axes, float(places[mark]), rows[mark])
        entries.append(LegendEntry(circle, _named(found.parameter, rows, mark)[mark]))
    entries.append(LegendEntry(Line2D([], [], ls="none"), found.scope))
    return page.finished(entries, shape=0.85, under=0.2)


def _place(row: FrontierRow, by_error: bool) -> float:
    return (row.margin or 0.0) if by_error else row.parameter


def _kept(result: Frontier, limits: object) -> list[tuple[int, Limit]]:
    """Each limit beside the place of its measure."""
    listed = list(limits) if isinstance(limits, Sequence) else [limits]
    placed = []
    for limit in listed:
        if not isinstance(limit, Limit):
            _checks.refuse("limits", "be choose.at_most(...) or choose.at_least(...)", limit)
        name = next((n for n in (limit.name, limit.label) if n in result.measures), None)
        if name is None:
            shown = ", ".join(result.measures)
            _checks.refuse("limits", f"be on measures of the frontier ({shown})", str(limit))
        placed.append((result.measures.index(name), limit))
    return placed


def _limits(
    axes: Axes, rows: Sequence[FrontierRow], places: Array, kept: Sequence[tuple[int, Limit]]
) -> list[LegendEntry]:
    """A line at each limit; shaded where every row keeps all of them, and no further."""
    entries = []
    for index, limit in kept:
        line = axes.axhline(limit.bound, color=pen(index).colour, lw=1.2, ls=LIMIT, zorder=1.5)
        entries.append(LegendEntry(line, f"limit: {limit}"))
    if not kept:
        return []
    safe = np.array([all(_within(row.risks[k], limit) for k, limit in kept) for row in rows])
    fill: dict[str, Any] = {"facecolor": SAFE, "alpha": 0.12, "lw": 0}
    axes.fill_between(places, 0, 1, where=safe, transform=axes.get_xaxis_transform(), **fill)
    axes.set_xlim(places.min(), places.max())
    several = "every limit is kept" if len(kept) > 1 else "the limit is kept"
    return [*entries, LegendEntry(Patch(**fill), several)]


def _within(value: float, limit: Limit) -> bool:
    """Up to the rounding of a search that ended on the limit itself."""
    off = limit.bound - value if limit.least else value - limit.bound
    return off <= 1e-9 * abs(limit.bound)


def _private_side(result: Frontier, rows: Sequence[FrontierRow]) -> tuple[str, str]:
    """Which end of the axis is more private: the one where the first measure says so."""
    falls = rows[-1].risks[0] <= rows[0].risks[0]
    if falls == result.rises[0]:
        return "", "more private →"
    return "← more private", ""


def _ordered(result: object) -> tuple[tuple[FrontierRow, ...], bool]:
    """The rows from left to right, and whether that is by the error of the answer."""
    if not isinstance(result, Frontier):
        _checks.refuse("found", "be what choose.frontier(...) returns", result)
    by_error = all(row.margin is not None for row in result.rows)
    for row in result.rows:
        if by_error and not 0 < _place(row, by_error) < math.inf:
            _checks.refuse("found", "have margins that are finite and greater than 0", row)
        if not by_error and row.parameter <= 0:
            _checks.refuse("found", "have parameters greater than 0", row)
    return tuple(sorted(result.rows, key=lambda row: _place(row, by_error))), by_error


def _index(rows: Sequence[FrontierRow], chosen: object) -> int | None:
    if chosen is None:
        return None
    value = _checks.number(chosen=chosen)
    for index, row in enumerate(rows):
        if row.parameter == value:
            return index
    # Between two rows nothing is known but the line that was drawn there.
    return _checks.refuse("chosen", "be the parameter of one of the rows of found", chosen)


def _named(parameter: str, rows: Sequence[FrontierRow], mark: int | None) -> list[str]:
    """What each point is called, in digits enough to tell them apart; the chosen one in full."""
    symbol = _SYMBOLS.get(parameter, parameter)
    for digits in range(3, 11):
        words = [f"{symbol} = {written(float(f'{row.parameter:.{digits}g}'))}" for row in rows]
        if len(set(words)) == len(rows):
            break
    if mark is not None:
        words[mark] = f"chosen: {symbol} = {written(rows[mark].parameter)}"
    return words


def _points_along(axes: Axes, margins: Array) -> Array:
    """How far along the axis each error is, in points."""
    low, high = np.log(axes.get_xlim())
    wide = 72 * axes.get_window_extent().width / axes.figure.dpi
    return np.asarray(wide * (np.log(margins) - low) / (high - low))


def _with_room(places: Array, words: Sequence[str], mark: int | None) -> list[int]:
    """Points whose words do not touch: the chosen one, the ends, and what fits between.

    The next one taken is always the one with the most room.
    """
    half = np.array([_width(word, bold=index == mark) / 2 for index, word in enumerate(words)])
    taken = [0] if mark is None else [mark]
    for end in (0, len(places) - 1):
        if _room(end, taken, places, half) > _GAP:
            taken.append(end)
    while True:
        best = max(range(len(places)), key=lambda k: _room(k, taken, places, half))
        if _room(best, taken, places, half) <= _GAP:
            return sorted(taken)
        taken.append(best)


def _width(words: str, *, bold: bool) -> float:
    font = FontProperties(size=_SIZE, weight="bold" if bold else "normal")
    return text_to_path.get_text_width_height_descent(words, font, ismath=False)[0]


def _room(index: int, taken: list[int], places: Array, half: Array) -> float:
    """The room between one point's words and the nearest of those taken."""
    gaps = np.abs(places[taken] - places[index]) - half[taken] - half[index]
    return float(gaps.min())


def _mark(axes: Axes, place: float, row: FrontierRow) -> Line2D:
    """A line through the chosen point, and a circle where it meets each measure."""
    axes.axvline(place, color=GREY, lw=1.2, ls=(0, (2, 2)), zorder=1.5)
    for height in row.risks:
        (circle,) = axes.plot([place], [height], ls="none", zorder=4, **CHOSEN)
    return circle


def _directions(axes: Axes, left: str, right: str) -> None:
    for x, side, words in ((0, "left", left), (1, "right", right)):
        axes.annotate(
            words,
            (x, 0),
            xycoords="axes fraction",
            xytext=(0, -36),
            textcoords="offset points",
            ha=side,
            va="top",
            color=GREY,
            fontsize=9,
        )


def _on_top(
    axes: Axes, margins: Array, words: Sequence[str], shown: Sequence[int], mark: int | None
) -> None:
    top = axes.secondary_xaxis("top")
    top.xaxis.set_major_locator(FixedLocator([float(margins[k]) for k in shown]))
    top.xaxis.set_minor_locator(NullLocator())
    labels = top.set_xticklabels([words[k] for k in shown], fontsize=_SIZE)
    for index, label in zip(shown, labels, strict=True):
        label.set(parse_math=False, fontweight="bold" if index == mark else "normal")
    top.spines["top"].set_visible(False)


# Cells this many in a row or column have room for their numbers; axes of more have so many ticks.
_ROOM, _TICKS, _LEVELS = 8, 6, 6
# Light enough that black words can be read on every cell.
_TONES = LinearSegmentedColormap.from_list("noise", ["#ffffff", "#9cc4e0"])


@styled
def training_map(
    found: TrainingMap,
    *,
    chosen: tuple[float, float] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Equal risk in many ways: the noise multiplier for each batch size and number of epochs.

    In small, and by the shade, the noise on the mean gradient. ``chosen`` is a batch size and
    a number of epochs, to be marked.

    >>> from tellapart import choose, risk
    >>> limits = [choose.at_most(0.1, risk.advantage)]
    >>> noise = choose.training_map(
    ...     data_size=60_000, batches=[256, 1024], epochs=[5, 15], limits=limits
    ... )
    >>> figure = training_map(noise, chosen=(256, 15))
    """
    if not isinstance(found, TrainingMap):
        _checks.refuse("found", "be what choose.training_map(...) returns", found)
    page = sheet(axes)
    shades = np.array([[math.nan if x is None else x for x in row] for row in found.gradient_noise])
    with np.errstate(divide="ignore"):
        logs = np.where(shades > 0, np.log(shades), math.nan)
    page.axes.grid(False)
    page.axes.pcolormesh(logs, cmap=_TONES, edgecolors="white", linewidth=1)
    page.axes.invert_yaxis()
    page.axes.set(xlabel="epochs", ylabel="batch size")
    if max(shades.shape) <= _ROOM:
        _numbers_in_cells(page.axes, found)
        means = LegendEntry(
            Line2D([], [], ls="none"), "noise multiplier; in small, noise on the mean gradient"
        )
    else:
        means = LegendEntry(_equal_multipliers(page.axes, found), "equal noise multipliers")
    for axis, values in ((page.axes.xaxis, found.epochs), (page.axes.yaxis, found.batches)):
        step = -(-len(values) // _TICKS) if len(values) > _ROOM else 1
        axis.set_ticks(np.arange(len(values))[::step] + 0.5)
        axis.set_ticklabels([_plain(value) for value in values[::step]])
        axis.set_tick_params(length=0)
    shade = Patch(facecolor=_TONES(0.9), edgecolor=GREY, lw=0.5)
    entries = [
        means,
        LegendEntry(shade, "darker: more noise on the mean gradient"),
        *(LegendEntry(Line2D([], [], ls="none"), f"keeps {limit}") for limit in found.limits),
    ]
    if chosen is not None:
        entries.append(LegendEntry(_boxed(page.axes, found, chosen), "chosen"))
    return page.finished(entries, shape=0.75)


def _numbers_in_cells(axes: Axes, training: TrainingMap) -> None:
    rows = zip(training.noise_multipliers, training.gradient_noise, strict=True)
    for i, (multipliers, noises) in enumerate(rows):
        for j, (multiplier, noise) in enumerate(zip(multipliers, noises, strict=True)):
            if multiplier is None or noise is None:
                axes.text(j + 0.5, i + 0.5, "–", ha="center", va="center")
                continue
            words = shown_multiplier(multiplier)
            axes.text(j + 0.5, i + 0.42, words, ha="center", va="center", weight="bold")
            small = shown_noise(noise)
            axes.text(j + 0.5, i + 0.74, small, ha="center", va="center", size=7.5, color="#444444")


def _equal_multipliers(axes: Axes, training: TrainingMap) -> Line2D:
    """Lines along which the noise multiplier is the same, as cells have no room for it."""
    multipliers = np.array([[x or math.nan for x in row] for row in training.noise_multipliers])
    places = (np.arange(size) + 0.5 for size in multipliers.shape[::-1])
    if min(multipliers.shape) > 1 and not np.isnan(multipliers).all():
        low, high = np.nanmin(multipliers), np.nanmax(multipliers)
        levels = [float(f"{x:.2g}") for x in np.geomspace(low, high, _LEVELS + 2)[1:-1]]
        lines = axes.contour(*places, multipliers, sorted(set(levels)), colors=BLACK, linewidths=1)
        axes.clabel(lines, fmt=lambda level: short(level), fontsize=8)
    return Line2D([], [], color=BLACK, lw=1)


def _boxed(axes: Axes, training: TrainingMap, chosen: tuple[float, float]) -> Patch:
    batch, epochs = chosen
    training.at(batch, epochs)  # refused unless it is on the map
    corner = training.epochs.index(epochs), training.batches.index(batch)
    box = Rectangle(corner, 1, 1, fill=False, edgecolor=BLACK, lw=2, zorder=4)
    axes.add_patch(box)
    return Patch(fill=False, edgecolor=BLACK, lw=2)


def _plain(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else short(value)
