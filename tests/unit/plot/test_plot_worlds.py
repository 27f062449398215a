"""Pictures of data that hang together: every number asked for is drawn where and as it is."""

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

import tellapart as ta
from tellapart import plot
from tellapart.choose.noise_tables import NoiseRow
from tellapart.worlds.frameworks.result import FrameworkResult, Side
from tellapart.worlds.markov import streams

STILL = [[0.8, 0.2], [0.1, 0.9]]
LEAKED = streams.leakage(STILL, STILL, 0.1, length=12)


def _standing(name, epsilon, side=Side.EXACT, unit="log-odds"):
    return FrameworkResult(name, epsilon, side, None, "", True, unit=unit)


STANDINGS = [
    _standing("DP", 1.0),
    _standing("a bound", 2.5, Side.AT_MOST),
    _standing("found so far", 1.5, Side.AT_LEAST),
    _standing("$no$ bound", math.inf),
    _standing("belief", 0.7, unit="log posterior/prior"),
    _standing("nats", 0.2, unit="nats"),
]
ROWS = [
    NoiseRow("exact", 3.3, 1.0, Side.EXACT, True, ""),
    NoiseRow("group privacy", 1000.0, 0.001, Side.EXACT, True, ""),
    NoiseRow("plain DP", 1.0, 3.3, Side.EXACT, False, ""),
]


def _dots(figure):
    """Name, place and marker of every dot, from top to bottom."""
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    drawn = [one for one in axes.lines if one.get_marker() != "None"]
    return {
        names[int(one.get_ydata()[0])]: (float(one.get_xdata()[0]), one.get_marker())
        for one in drawn
    }


def _words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_leakage_is_drawn_at_every_time():
    figure = plot.leakage(LEAKED, supremum=0.6)
    drawn = [one.get_ydata() for one in figure.axes[0].lines]
    for wanted in (LEAKED.total, LEAKED.backward, LEAKED.forward, LEAKED.epsilons):
        assert any(len(one) == 12 and np.array_equal(one, wanted) for one in drawn)
    assert any(set(one) == {0.6} for one in drawn)
    assert plot.leakage(LEAKED, supremum=math.inf).axes[0].lines[-1].get_ydata()[0] != 0.6


def test_every_framework_has_its_number_and_its_side():
    figure = plot.standings(STANDINGS)
    dots = _dots(figure)
    assert "nats" not in dots
    assert (dots["DP"][0], dots["a bound"][0]) == (1.0, 2.5)
    assert len({marker for _, marker in dots.values()}) == 3
    assert dots["$no$ bound"][0] == figure.axes[0].get_xlim()[1]
    assert _words(figure) == ["1", "≤ 2.5", "≥ 1.5", "∞", "0.7"]


def test_a_method_that_is_not_sound_looks_different():
    figure = plot.noise(ROWS)
    dots = _dots(figure)
    assert {name: x for name, (x, _) in dots.items()} == {r.method: r.scale for r in ROWS}
    assert dots["plain DP"][1] != dots["exact"][1] == dots["group privacy"][1]
    assert figure.axes[0].get_xscale() == "log"
    assert "true ε 3.3" in _words(figure)[2]


@pytest.mark.parametrize(
    "draw",
    [
        lambda **a: plot.leakage(LEAKED, **a),
        lambda **a: plot.standings(STANDINGS, **a),
        lambda **a: plot.noise(ROWS, **a),
    ],
)
def test_nothing_leaves_the_picture_and_axes_may_be_given(draw):
    figure = draw()
    figure.draw_without_rendering()
    whole = figure.bbox
    for text in [*figure.axes[0].texts, *figure.axes[0].get_yticklabels()]:
        box = text.get_window_extent()
        assert whole.x0 - 1 <= box.x0
        assert box.x1 <= whole.x1 + 1
    other = Figure()
    axes = other.subplots()
    assert draw(axes=axes) is other


@pytest.mark.parametrize("rows", [[], None, [1], STANDINGS[-1:]])
def test_standings_are_asked_for(rows):
    with pytest.raises((ta.InvalidArgument, TypeError)):
        plot.standings(rows)


@pytest.mark.parametrize("rows", [[], [1], STANDINGS])
def test_rows_of_noise_are_asked_for(rows):
    with pytest.raises(ta.InvalidArgument, match=r"choose\.noise_table"):
        plot.noise(rows)
