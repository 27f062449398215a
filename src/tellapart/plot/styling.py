"""Plot style: colours anyone can tell apart, and files that never change by chance."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tellapart import _checks, _files

P = ParamSpec("P")
R = TypeVar("R")

# Okabe and Ito's palette: told apart by people with any kind of colour vision.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#666666"

# One mark for one thing in every picture; a claim is drawn with the first pen.
LIMIT, SAFE = (0, (1, 2)), GREEN
CHOSEN: dict[str, Any] = {"marker": "o", "ms": 9, "mfc": "none", "mec": BLACK, "mew": 1.4}
ATTACK_SEEN: dict[str, Any] = {"marker": "o", "ms": 4.5, "mfc": "white", "mec": BLACK, "mew": 1.0}

# Fixed salt and outlined text: the same numbers give the same bytes on any machine.
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "tellapart",
    "svg.fonttype": "path",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.25,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 2,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this: the one style, whatever the settings of the person's matplotlib.

    >>> with style():
    ...     figure, (axes,) = panels()
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """For every function that draws: ``@styled``.

    >>> @styled
    ... def empty():
    ...     return panels()[0]
    >>> figure = empty()
    """

    @functools.wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> R:
        with style():
            return draw(*args, **kwargs)

    return in_style


class Pen(NamedTuple):
    """How one line looks: never by colour alone."""

    colour: str
    dashes: str | tuple[int, tuple[int, ...]]


PENS = (
    Pen(BLUE, "-"),
    Pen(VERMILLION, "--"),
    Pen(GREEN, "-."),
    Pen(PURPLE, (0, (1, 1))),
    Pen(ORANGE, (0, (5, 1, 1, 1, 1, 1))),
    Pen(SKY, (0, (8, 2))),
    Pen(BLACK, (0, (3, 3))),
)


def pen(index: int) -> Pen:
    """The look of the index-th line of a picture; no two of the first 49 are alike."""
    shift, place = divmod(index, len(PENS))
    return Pen(PENS[place].colour, PENS[(place + shift) % len(PENS)].dashes)


def panels(
    columns: int = 1, *, width: float = 5.0, height: float = 4.4
) -> tuple[Figure, list[Axes]]:
    """A figure and its axes side by side: ``figure, (left, right) = panels(2)``.

    Call it, and draw, inside ``style()``.

    >>> with style():
    ...     figure, (left, right) = panels(2)
    """
    figure = Figure(figsize=(width * columns, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def dress(axes: Axes) -> Axes:
    """Given axes in the one look: they may have been made in another, and ticks come later."""
    axes.grid(True, alpha=STYLE["grid.alpha"])
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


@styled
def save(figure: Figure, path: str | Path) -> Path:
    """Write a picture, all of it or nothing; the suffix (.svg, .png or .pdf) says as what.

    >>> import tempfile
    >>> from tellapart import plot
    >>> with style(), tempfile.TemporaryDirectory() as folder:
    ...     path = save(panels()[0], f"{folder}/empty.svg")
    >>> path.name
    'empty.svg'
    """
    target = Path(path)
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    kind = target.suffix.lower().removeprefix(".")
    if kind not in dated:
        _checks.refuse("path", "end in .svg, .png or .pdf", str(path))
    if figure.get_layout_engine() is not None:
        # A layout starts from where the last one ended: begin anew, or the same picture differs.
        for axes in figure.axes:
            if spec := axes.get_subplotspec():
                axes.set_subplotspec(spec)
    _files.sweep(target.parent)
    _files.whole(
        target, lambda part: figure.savefig(part, format=kind, metadata=dated[kind], dpi=200)
    )
    return target
