"""The picture of deployments: every promise at its advantage, in the group of its unit."""

import pytest
from matplotlib.figure import Figure

import tellapart as ta
from tellapart import deployments, plot
from tellapart.deployments import find, gains

ROWS = gains((*find("apple"), *find("exposure")), beside={"$ours$": ta.Laplace(1)})


def marks(figure):
    """(advantage, marker) of every mark, by the label on its line."""
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    places = dict(zip(axes.get_yticks(), names, strict=True))
    drawn = [one for one in axes.lines if one.get_marker() != "None"]
    return {
        places[one.get_ydata()[0]].replace("\n", " "): (one.get_xdata()[0], one.get_marker())
        for one in drawn
    }


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def legend(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_every_promise_is_at_its_advantage():
    found = marks(plot.deployments(ROWS))
    assert len(found) == len(ROWS) == 7
    assert found["Popular Emojis (Apple)"] == (ta.guarantee(4).delta(0), "s")
    assert found["$ours$"] == (ta.Laplace(1).curve().delta(0), "D")
    alone = "COVID-19 Exposure Notification Framework (Google): one user-day"
    assert found[alone] == (ta.guarantee(8, 1e-6).delta(0), "^")


def test_units_head_their_groups_and_promises_stand_beside_their_marks():
    said = words(plot.deployments(ROWS))
    heads = ("one event", "one user", "units of one deployment each", "set beside them")
    assert [one for one in said if one in heads] == list(heads)
    assert said.count("ε = 4") == 2
    assert "ε = 8, δ = 1e-6" in said


def test_the_picture_says_at_most():
    figure = plot.deployments(ROWS)
    assert figure.axes[0].get_xlabel().startswith("membership advantage, max (TPR − FPR)")
    assert "local model: at most this" in legend(figure)
    assert "central model: at most this" not in legend(figure)  # none is drawn


def test_a_draft_says_so():
    assert (
        "Wikipedia Russian Editor Activity Statistics (Wikimedia Foundation, Draft): one user "
        in (next(iter(marks(plot.deployments(gains(find("russian")))))))
    )


def test_long_names_are_broken_and_nothing_of_them_is_lost():
    figure = plot.deployments(gains(find("financial")))
    (label,) = [one.get_text() for one in figure.axes[0].get_yticklabels()]
    (made,) = find("financial")
    assert label.replace("\n", " ") == f"{made.name} ({made.curator}): {made.per}"
    assert max(map(len, label.splitlines())) <= 50


def test_it_draws_into_given_axes_and_saves_the_same_bytes(tmp_path):
    mine = Figure()
    axes = mine.subplots()
    assert plot.deployments(ROWS, axes=axes) is mine
    first = plot.save(plot.deployments(ROWS), tmp_path / "a.svg").read_bytes()
    assert plot.save(plot.deployments(ROWS), tmp_path / "b.svg").read_bytes() == first


@pytest.mark.parametrize("bad", [[], [1], deployments.DEPLOYMENTS[:2]])
def test_anything_else_is_refused(bad):
    with pytest.raises(ta.InvalidArgument, match=r"gains must be what deployments\.gains returns"):
        plot.deployments(bad)
