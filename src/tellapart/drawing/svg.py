"""Charts as SVG text: no library and no script, in colours for light and dark pages alike."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from html import escape

from tellapart._decimals import plain_exponent
from tellapart.drawing.record import Axis, Drawing, Ink, Spot, Trace

# Mid-tones: each stands out from white and from black, and has dashes of its own.
COLOURS = {
    Ink.FIRST: "#1f7fc0",
    Ink.SECOND: "#cc5f14",
    Ink.THIRD: "#1c8c67",
    Ink.FOURTH: "#b3589a",
    Ink.FIFTH: "#93731c",
    Ink.PROMISE: "#7d8794",
    Ink.CHANCE: "currentColor",
    Ink.EVIDENCE: "#cc5f14",
}
DASHES = {
    Ink.SECOND: "6 3",
    Ink.THIRD: "8 3 2 3",
    Ink.FOURTH: "2 2",
    Ink.FIFTH: "10 3",
    Ink.CHANCE: "3 3",
}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Room for numbers and words around the chart, in pixels.
_LEFT, _RIGHT, _TOP, _BOTTOM = 50.0, 10.0, 8.0, 36.0
# Points nearer to a line than this, in pixels, look as if they lay on it.
_FLAT = 0.25


def svg(
    drawing: Drawing,
    width: int = 232,
    height: int = 196,
    *,
    page: bool = False,
    legend: bool = False,
) -> str:
    """The chart with its title and its caption for people who do not see it.

    For a ``page`` with a style sheet every part has its class, and letters of the page's size;
    with a ``legend`` the names of lines and points stand beneath, for a file on its own.
    """
    under = _legend(drawing, height) if legend else []
    plane = _Plane(drawing, width, height, page)
    whole = height + 18 * len(under) + (8 if under else 0)
    letters = 12 if page else 11
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{whole}" '
        f'viewBox="0 0 {width} {whole}" role="img" font-family="sans-serif" '
        f'font-size="{letters}" fill="currentColor">',
        f"<title>{escape(drawing.title)}</title><desc>{escape(drawing.caption)}</desc>",
        *plane.frame(),
        *(plane.trace(trace) for trace in drawing.traces),
        *(plane.spot(spot) for spot in drawing.spots),
        *under,
    ]
    return "".join([*parts, "</svg>"])


def thumbnail(drawing: Drawing, width: int = 150, height: int = 56) -> str:
    """The lines and points alone, for a small picture beside a large one."""
    plane = _Plane(drawing, width, height, page=True)
    plane.left, plane.right, plane.top, plane.bottom = 3, width - 3, 3, height - 3
    parts = [plane.trace(trace) for trace in drawing.traces]
    parts += [plane.spot(spot) for spot in drawing.spots]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )


def table(drawing: Drawing, rows: int = 11) -> list[list[str]]:
    """The chart as a table: each line at a few places along the axis, under its name."""
    lines = [trace for trace in drawing.traces if len(trace.x) > 1]
    axis = drawing.x
    steps = [place / (rows - 1) for place in range(rows)]
    if axis.log:
        places = [axis.low * (axis.high / axis.low) ** step for step in steps]
    else:
        places = [axis.low + step * (axis.high - axis.low) for step in steps]
    head = [axis.label, *(trace.name for trace in lines)]
    columns = [[_cell(place) for place in places], *(_at(trace, places) for trace in lines)]
    body = [list(row) for row in zip(*columns, strict=True)]
    named = {spot.name: spot for spot in drawing.spots}.values()
    ends = [[f"{spot.name}: {_cell(spot.x)}", _cell(spot.y)] for spot in named]
    return [head, *body, *([*row, *[""] * (len(head) - 2)][: len(head)] for row in ends)]


def _cell(value: float | None) -> str:
    return "" if value is None else plain_exponent(f"{value:.3g}")


def _at(trace: Trace, places: Sequence[float]) -> list[str]:
    """Where the line lies there, straight between points; of an outline, its first side."""
    rising = list(trace.x) == sorted(trace.x)
    cells = []
    for place in places:
        first = max(0, bisect_left(trace.x, place) - 1) if rising else 0
        cells.append(_cell(_from(trace, first, place)))
    return cells


def _from(trace: Trace, first: int, place: float) -> float | None:
    """Where the line lies at this place, looked for from its point of this number on."""
    for k in range(first, len(trace.x) - 1):
        left, right = trace.x[k], trace.x[k + 1]
        if left <= place <= right and right > left:
            low, high = trace.y[k], trace.y[k + 1]
            return low + (high - low) * (place - left) / (right - left)
    return None


def _legend(drawing: Drawing, top: int) -> list[str]:
    """One line for each name, with a piece of its line or its point."""
    made = []
    for k, trace in enumerate(drawing.traces):
        y = top + 18 * k + 8
        dashes = DASHES.get(trace.ink, "4 3" if trace.dashed else "")
        drawn = f' stroke-dasharray="{dashes}"' if dashes else ""
        made.append(
            f'<path d="M{px(_LEFT)} {y}h26" stroke="{COLOURS[trace.ink]}" stroke-width="2"{drawn}/>'
            f'<text x="{px(_LEFT + 34)}" y="{y + 4}">{escape(trace.name)}</text>'
        )
    named = {spot.name: spot for spot in drawing.spots}.values()
    for k, spot in enumerate(named, len(made)):
        y = top + 18 * k + 8
        made.append(
            f'<circle cx="{px(_LEFT + 13)}" cy="{y}" r="4" fill="{COLOURS[spot.ink]}"/>'
            f'<text x="{px(_LEFT + 34)}" y="{y + 4}">{escape(spot.name)}</text>'
        )
    return made


class _Plane:
    """Where numbers lie on the page."""

    def __init__(self, drawing: Drawing, width: int, height: int, page: bool = False) -> None:
        self.drawing, self.page = drawing, page
        more = 12 if page else 0
        self.left, self.right = _LEFT + more, width - _RIGHT
        self.top, self.bottom = _TOP, height - _BOTTOM - more / 2

    def _class(self, name: str) -> str:
        return f' class="{name}"' if self.page else ""

    def x(self, value: float) -> float:
        return self.across([value])[0]

    def y(self, value: float) -> float:
        return self.up([value])[0]

    def across(self, values: Sequence[float]) -> list[float]:
        width = self.right - self.left
        return [self.left + share * width for share in _shares(self.drawing.x, values)]

    def up(self, values: Sequence[float]) -> list[float]:
        height = self.bottom - self.top
        return [self.bottom - share * height for share in _shares(self.drawing.y, values)]

    def frame(self) -> list[str]:
        """Grid, numbers and words of both axes."""
        across, up = self.drawing.x, self.drawing.y
        lines = [f"M{px(self.x(tick))} {px(self.top)}V{px(self.bottom)}" for tick in ticks(across)]
        lines += [f"M{px(self.left)} {px(self.y(tick))}H{px(self.right)}" for tick in ticks(up)]
        drawn = "".join(lines)
        grid = (
            f'<path{self._class("grid")} d="{drawn}" stroke="currentColor" stroke-opacity=".18"/>'
        )
        under = px(self.bottom + 14)
        numbers = [
            f'<text x="{px(self.x(tick))}" y="{under}">{written(tick, across)}</text>'
            for tick in ticks(across)
        ]
        beside = [
            f'<text x="{px(self.left - 4)}" y="{px(self.y(tick) + 4)}">{written(tick, up)}</text>'
            for tick in ticks(up)
        ]
        middle = (self.left + self.right) / 2, (self.top + self.bottom) / 2
        return [
            grid,
            f'<g text-anchor="middle" fill-opacity=".75">{"".join(numbers)}</g>',
            f'<g text-anchor="end" fill-opacity=".75">{"".join(beside)}</g>',
            f'<g text-anchor="middle"><text x="{px(middle[0])}" y="{px(self.bottom + 31)}">'
            f"{escape(across.label)}</text>"
            f'<text transform="rotate(-90)" x="{px(-middle[1])}" y="11">{escape(up.label)}</text>'
            "</g>",
        ]

    def trace(self, trace: Trace) -> str:
        colour = COLOURS[trace.ink]
        path = "M" + "L".join(f"{px(x)} {px(y)}" for x, y in self._points(trace))
        dashes = DASHES.get(trace.ink, "4 3" if trace.dashed else "")
        drawn = f' stroke-dasharray="{dashes}"' if dashes else ""
        drawn += ' stroke-opacity=".6"' if trace.ink is Ink.CHANCE else ' stroke-width="2"'
        fill = f'"{colour}" fill-opacity=".15"' if trace.filled else '"none"'
        dashed = " dashed" if trace.dashed else ""
        kind = self._class(f"trace {trace.ink}{dashed}{' filled' if trace.filled else ''}")
        return (
            f'<path{kind} d="{path}" stroke="{colour}" fill={fill}{drawn}>'
            f"<title>{escape(trace.name)}</title></path>"
        )

    def _points(self, trace: Trace) -> list[tuple[float, float]]:
        return _without_flat(list(zip(self.across(trace.x), self.up(trace.y), strict=True)))

    def spot(self, spot: Spot) -> str:
        box = ""
        if spot.box is not None:
            low, high = self.x(spot.box[0]), self.x(spot.box[1])
            floor, roof = self.y(spot.box[2]), self.y(spot.box[3])
            box = (
                f'<rect x="{px(low)}" y="{px(roof)}" width="{px(high - low)}" '
                f'height="{px(floor - roof)}" fill-opacity=".15"/>'
            )
        kind = self._class(f"spot {spot.mark}")
        return (
            f'<g{kind} fill="{COLOURS[spot.ink]}">{box}<circle cx="{px(self.x(spot.x))}" '
            f'cy="{px(self.y(spot.y))}" r="4"><title>{escape(spot.name)}</title></circle></g>'
        )


def _shares(axis: Axis, values: Sequence[float]) -> list[float]:
    """How far along their axis numbers lie, from 0 to 1; what lies beyond stays at the end."""
    low, high = axis.low, axis.high
    held = [low if not value > low else high if value > high else value for value in values]
    if axis.log:
        whole = math.log(high / low)
        return [math.log(value / low) / whole for value in held]
    return [(value - low) / (high - low) for value in held]


def ticks(axis: Axis) -> list[float]:
    """A few round numbers along an axis."""
    if axis.log:
        first = math.ceil(math.log10(axis.low) - 1e-9)
        last = math.floor(math.log10(axis.high) + 1e-9)
        decades = max(1, math.ceil((last - first) / 3))
        return [10.0**power for power in (*range(first, last, decades), last)]
    size = (axis.high - axis.low) / 4
    unit = 10.0 ** math.floor(math.log10(size))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= size)
    places = range(math.ceil(axis.low / step - 1e-9), math.floor(axis.high / step + 1e-9) + 1)
    return [place * step for place in places]


def written(value: float, axis: Axis) -> str:
    """A number as people write it on such an axis: 0.25, 10⁻⁵."""
    if value == 1 or not axis.log:
        return plain_exponent(f"{value:.4g}")
    return "10" + str(round(math.log10(value))).translate(_RAISED)


def _without_flat(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of a line, without points that lie on the way between others.

    Douglas and Peucker's: the point furthest from the chord stays, and both halves are asked.
    """
    kept, open_ = {0, len(points) - 1}, [(0, len(points) - 1)]
    while open_:
        first, last = open_.pop()
        distances = _off(points[first + 1 : last], points[first], points[last])
        furthest = max(distances, default=0.0)
        if furthest > _FLAT:
            corner = first + 1 + distances.index(furthest)
            kept.add(corner)
            open_ += [(first, corner), (corner, last)]
    return [points[place] for place in sorted(kept)]


def _off(
    points: Sequence[tuple[float, float]], start: tuple[float, float], end: tuple[float, float]
) -> list[float]:
    """How far points lie from the line through two others."""
    (left, low), (along, up) = start, (end[0] - start[0], end[1] - start[1])
    length = math.hypot(along, up)
    if not length:
        return [math.hypot(x - left, y - low) for x, y in points]
    return [abs((x - left) * up - (y - low) * along) / length for x, y in points]


def px(pixels: float) -> str:
    """A length in pixels, in as few letters as it takes."""
    return f"{pixels:.1f}".removesuffix(".0")
