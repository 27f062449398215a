"""`.plot()` of curves, mechanisms, choices, comparisons and verdicts."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import tellapart as ta
from tellapart import audit, choose, risk

SCORES = audit.Scores(members=range(50, 150), non_members=range(100))
OBJECTS = {
    "curve": lambda: ta.Laplace(1).curve(),
    "mechanism": lambda: ta.Laplace(1),
    "choice": lambda: choose.least(ta.Gaussian, [choose.at_most(0.1, risk.advantage)]),
    "comparison": lambda: choose.compare({"a": ta.Laplace(1), "b": ta.Gaussian(1)}),
    "verdict": lambda: audit.judge(ta.guarantee(epsilon=0.5), audit.many_runs(SCORES)),
    "verdict of guesses": lambda: audit.judge(ta.guarantee(epsilon=0.5), audit.one_run(SCORES)),
}
LABELS = {
    "roc": ("FPR", "TPR"),
    "roc-log": ("FPR", "TPR"),
    "tradeoff": ("α", "β"),
    "profile": ("ε", "δ"),
    "precision": ("recall", "precision"),
    "region": ("α", "β"),
}


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_draws_itself(name, kind):
    axes = OBJECTS[name]().plot(kind)
    assert isinstance(axes, Axes)
    across, up = LABELS[kind]
    assert across in axes.get_xlabel()
    assert up in axes.get_ylabel()
    assert (axes.get_xscale() == "log") == (kind == "roc-log")
    axes.figure.canvas.draw()


def test_the_line_is_the_curve():
    curve = ta.Gaussian(1).curve()
    (line,) = [x for x in curve.plot().lines if "Gaussian" in str(x.get_label())]
    assert np.allclose(line.get_ydata(), curve.tpr(np.asarray(line.get_xdata())))


def test_pyplot_shows_what_was_drawn_and_given_axes_are_used():
    axes = ta.Laplace(1).plot()
    assert pyplot.gcf() is axes.figure
    assert ta.Gaussian(1).plot("tradeoff", axes=axes) is axes
    assert len(pyplot.get_fignums()) == 1


def test_a_kind_that_is_none_is_refused_and_leaves_no_figure():
    with pytest.raises(ta.InvalidArgument, match=r"^kind must be one of roc, roc-log, tradeoff, "):
        ta.Laplace(1).plot("pie")
    with pytest.raises(ta.InvalidArgument, match=r"^prior must "):
        ta.Laplace(1).plot("precision", prior=2)
    assert pyplot.get_fignums() == []


def test_without_matplotlib_the_extra_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import tellapart as ta\n"
        "assert ta.Laplace(1)._repr_html_().startswith('<div')\n"
        "try: ta.Laplace(1).plot()\n"
        "except ta.Unsupported as error: print(error)\n"
    )
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "pictures need: pip install 'tellapart[plot]'\n"
