"""Tick labels: numbers on axes, as people write them, no powers of ten where plain digits fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import (
    AutoLocator,
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    ScalarFormatter,
)

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# What of each decade is marked on a logarithmic axis of at most so many decades. A shorter one
# than all of these looks almost even, and is marked like an even one.
_SHORT = 0.7
# More characters than these are long.
_LONG = 5
_MARKED = {1.5: (1.0, 2.0, 5.0), 3.0: (1.0, 3.0), math.inf: (1.0,)}


class _Round(LogLocator):
    """Round numbers on a logarithmic axis, as many as have room, whatever its ends."""

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        low, high = sorted((vmin, vmax))
        decades = math.log10(high / low)
        if decades < _SHORT:
            even = MaxNLocator(nbins=6, steps=[1, 2, 5, 10]).tick_values(low, high)
            return [float(tick) for tick in even if tick > 0]
        subs = next(marked for most, marked in _MARKED.items() if decades <= most)
        self.set_params(subs=subs, numticks=6)
        return super().tick_values(low, high)


class _Even(AutoLocator):
    """Round numbers on an even axis, fewer where they are long."""

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        usual = super().tick_values(vmin, vmax)
        if max(len(f"{tick:.10g}") for tick in usual) <= _LONG:
            return usual
        return MaxNLocator(nbins=4, steps=[1, 2, 5, 10]).tick_values(vmin, vmax)


class _Whole(ScalarFormatter):
    """Numbers with equally many decimals; as powers of ten where all of them would be long."""

    def __init__(self) -> None:
        super().__init__(useOffset=False)
        self.set_scientific(False)

    def __call__(self, x: float, pos: int | None = None) -> str:
        ends = (0.0, 1.0) if self.axis is None else self.axis.get_view_interval()
        largest = max(abs(end) for end in ends)
        return super().__call__(x, pos) if 1e-3 <= largest < 1e6 else written(x)


def plain(axes: Axes) -> None:
    """Every number on these axes in full, on its own: no "+1" or "1e−5" at their ends."""
    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_locator(), FixedLocator):
            continue  # names, not numbers
        if axis.get_scale() == "log":
            axis.set_major_locator(_Round())
            axis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
            axis.set_minor_formatter(NullFormatter())
        else:
            axis.set_major_formatter(_Whole())
            if axis is axes.xaxis:  # numbers stand one above the other on the other one
                axis.set_major_locator(_Even())


def written(value: float) -> str:
    """A number in plain digits; as a power of ten where those would be long.

    >>> written(0.0001), written(20), written(1e-5), written(2e6)
    ('0.0001', '20', '10⁻⁵', '2·10⁶')
    """
    if value == 0 or 1e-4 * (1 - 1e-9) <= abs(value) < 1e6:
        return f"{value:.10g}"
    digits, exponent = f"{value:.9e}".split("e")
    power = f"10{str(int(exponent)).translate(_RAISED)}"
    head = f"{float(digits):.10g}"
    return power if head == "1" else f"{head}·{power}"
