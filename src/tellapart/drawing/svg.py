"""Charts as SVG text: no library and no script, in colours for light and dark pages alike."""

from __future__ import annotations

import math
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
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 10.0, 8.0, 36.0
# Points nearer to a line than this, in pixels, look as if they lay on it.
_FLAT = 0.25


def svg(drawing: Drawing, width: int = 232, height: int = 196) -> str:
    """The chart with its title and its caption for people who do not see it."""
    plane = _Plane(drawing, width, height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="11" '
        'fill="currentColor">',
        f"<title>{escape(drawing.title)}</title><desc>{escape(drawing.caption)}</desc>",
        *plane.frame(),
        *(plane.trace(trace) for trace in drawing.traces),
        *(plane.spot(spot) for spot in drawing.spots),
    ]
    return "".join([*parts, "</svg>"])


class _Plane:
    """Where numbers lie on the page."""

    def __init__(self, drawing: Drawing, width: int, height: int) -> None:
        self.drawing = drawing
        self.left, self.right = _LEFT, width - _RIGHT
        self.top, self.bottom = _TOP, height - _BOTTOM

    def x(self, value: float) -> float:
        return self.left + _share(self.drawing.x, value) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.bottom - _share(self.drawing.y, value) * (self.bottom - self.top)

    def frame(self) -> list[str]:
        """Grid, numbers and words of both axes."""
        across, up = self.drawing.x, self.drawing.y
        lines = [f"M{px(self.x(tick))} {px(self.top)}V{px(self.bottom)}" for tick in ticks(across)]
        lines += [f"M{px(self.left)} {px(self.y(tick))}H{px(self.right)}" for tick in ticks(up)]
        grid = f'<path d="{"".join(lines)}" stroke="currentColor" stroke-opacity=".18"/>'
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
        return (
            f'<path d="{path}" stroke="{colour}" fill={fill}{drawn}>'
            f"<title>{escape(trace.name)}</title></path>"
        )

    def _points(self, trace: Trace) -> list[tuple[float, float]]:
        return _without_flat(
            [(self.x(x), self.y(y)) for x, y in zip(trace.x, trace.y, strict=True)]
        )

    def spot(self, spot: Spot) -> str:
        box = ""
        if spot.box is not None:
            low, high = self.x(spot.box[0]), self.x(spot.box[1])
            floor, roof = self.y(spot.box[2]), self.y(spot.box[3])
            box = (
                f'<rect x="{px(low)}" y="{px(roof)}" width="{px(high - low)}" '
                f'height="{px(floor - roof)}" fill-opacity=".15"/>'
            )
        return (
            f'<g fill="{COLOURS[spot.ink]}">{box}<circle cx="{px(self.x(spot.x))}" '
            f'cy="{px(self.y(spot.y))}" r="4"><title>{escape(spot.name)}</title></circle></g>'
        )


def _share(axis: Axis, value: float) -> float:
    """How far along its axis a number lies, from 0 to 1; what lies beyond stays at the end."""
    held = min(max(value, axis.low), axis.high) if value == value else axis.low
    if axis.log:
        return math.log(held / axis.low) / math.log(axis.high / axis.low)
    return (held - axis.low) / (axis.high - axis.low)


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
        between = points[first + 1 : last]
        distances = [_off(point, points[first], points[last]) for point in between]
        if max(distances, default=0.0) > _FLAT:
            furthest = first + 1 + distances.index(max(distances))
            kept.add(furthest)
            open_ += [(first, furthest), (furthest, last)]
    return [points[place] for place in sorted(kept)]


def _off(point: tuple[float, float], start: tuple[float, float], end: tuple[float, float]) -> float:
    """How far a point lies from the line through two others."""
    x, y, along, up = point[0] - start[0], point[1] - start[1], end[0] - start[0], end[1] - start[1]
    length = math.hypot(along, up)
    return abs(x * up - y * along) / length if length else math.hypot(x, y)


def px(pixels: float) -> str:
    """A length in pixels, in as few letters as it takes."""
    return f"{pixels:.1f}".removesuffix(".0")
