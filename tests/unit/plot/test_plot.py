"""Pictures: what is drawn is what the curve says, sides are in words, files never change."""

import functools
import math
import os
import re
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import tellapart as ta
from tellapart import audit, choose, plot, risk
from tellapart.plot.icon_array import people_counts
from tellapart.plot.numbers import written
from tellapart.plot.styling import PENS, pen

LAPLACE = ta.Laplace.with_epsilon(1)
PROMISE = ta.guarantee(epsilon=1, delta=0.1)
FOUND = ta.attack(points=[(0.1, 0.3), (0.3, 0.6)])
SUBJECTS = {"noise": LAPLACE, "promise": PROMISE, "attack": FOUND}
FAMILIES = {"Laplace": ta.Laplace.with_epsilon, "any": ta.guarantee}
REGION = ta.PrivacyRegion(epsilon=1)
FRONTIER = choose.frontier(ta.Laplace.with_epsilon, [0.1, 0.5, 1, 2])
PROMISES_MADE = choose.frontier(ta.guarantee, [0.1, 0.5, 1, 2])
LIMITS = [choose.at_most(0.3, risk.advantage)]
MAP = choose.training_map(data_size=60_000, batches=[64, 256], epochs=[5, 15], limits=LIMITS)
LARGE_MAP = choose.training_map(
    data_size=60_000, batches=[4096, 8192], epochs=range(10, 19), limits=LIMITS
)

PICTURES = {
    "tradeoff": lambda axes=None: plot.tradeoff(SUBJECTS, axes=axes),
    "roc": lambda axes=None: plot.roc(SUBJECTS, axes=axes),
    "log roc": lambda axes=None: plot.roc(SUBJECTS, log=True, axes=axes),
    "precision-recall": lambda axes=None: plot.precision_recall(SUBJECTS, axes=axes),
    "rare": lambda axes=None: plot.precision_recall(SUBJECTS, prior=0.001, axes=axes),
    "f_score": lambda axes=None: plot.f_score(FAMILIES, [0.5, 1, 2], axes=axes),
    "regions": lambda axes=None: plot.regions([REGION, ta.PrivacyRegion(2, 0.1)], axes=axes),
    "inside": lambda axes=None: plot.region_point(REGION, fpr=0.3, tpr=0.5, axes=axes),
    "outside": lambda axes=None: plot.region_point(REGION, fpr=0.01, tpr=0.05, axes=axes),
    "frontier": lambda axes=None: plot.frontier(FRONTIER, axes=axes),
    "frontier with limits": lambda axes=None: plot.frontier(
        FRONTIER, chosen=0.5, limits=LIMITS, axes=axes
    ),
    "map": lambda axes=None: plot.training_map(MAP, chosen=(256, 15), axes=axes),
    "large map": lambda axes=None: plot.training_map(LARGE_MAP, axes=axes),
    "trainings": lambda axes=None: plot.frontier(PROMISES_MADE, chosen=1, axes=axes),
    "profile": lambda axes=None: plot.profile(SUBJECTS, delta=1e-5, axes=axes),
    "people": lambda axes=None: plot.people(LAPLACE, prior=0.1, axes=axes),
    "many people": lambda axes=None: plot.people(FOUND, prior=0.01, fpr=0.001, axes=axes),
}


def line(figure, label, panel=0):
    """The data of the one line with this label, as it was drawn."""
    (found,) = [one for one in figure.axes[panel].lines if one.get_label() == label]
    return found.get_data()


def legend(figure):
    """The words of the legend, unwrapped."""
    drawn = figure.axes[0].get_legend()
    return [text.get_text().replace("\n", " ") for text in drawn.get_texts()]


def collections(figure):
    return figure.axes[0].collections


# -- what is drawn is what the curve says ----------------------------------------------------------


@pytest.mark.parametrize("name", ["noise", "promise", "attack"])
@pytest.mark.parametrize("log", [False, True])
def test_a_roc_is_the_curve(name, log):
    words = {"noise": "", "promise": " (no attacker does better)"}
    label = name + words.get(name, " (some attacker does this well)")
    fpr, tpr = line(plot.roc(SUBJECTS, log=log), label)
    inner = slice(None, -1) if log else slice(1, -1)  # the ends are "nobody" and "everybody"
    curve = LAPLACE.curve() if name == "noise" else SUBJECTS[name]
    assert np.array_equal(tpr[inner], curve.tpr(fpr[inner]))
    assert fpr[0] == (1e-4 if log else 0)
    assert fpr[-1] == 1
    assert len(fpr) > 500


def test_a_composition_is_drawn_where_its_curve_has_digits():
    """Thresholds up to 700 are beyond what a contour knows of this training."""
    training = ta.dp_sgd(noise_multiplier=0.6, sampling_rate=0.001, steps=50_000)
    fpr, tpr = line(plot.roc({"DP-SGD": training}, log=True), "DP-SGD")
    assert np.array_equal(tpr[:-1], training.curve().tpr(fpr[:-1]))
    assert len(fpr) > 500


def test_a_tradeoff_is_the_curve_and_ends_in_both_trivial_tests():
    fpr, fnr = line(plot.tradeoff(SUBJECTS), "promise (no attacker does better)")
    assert np.array_equal(fnr[1:-1], PROMISE.beta(fpr[1:-1]))
    assert (fpr[0], fnr[0]) == (0, 1)
    assert (fpr[1], fnr[1]) == (0, 0.9)
    assert (fpr[-1], fnr[-1]) == (1, 0)


@pytest.mark.parametrize(
    "curve",
    [
        PROMISE,
        ta.guarantee(epsilon=30),
        ta.guarantee(epsilon=0.01),
        FOUND,
        ta.from_pmfs([0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.6, 0.1]),
        ta.from_pmfs([0.5 + 2e-9, 0.5 - 2e-9], [0.5, 0.5]),
    ],
)
def test_every_corner_of_a_polygon_is_drawn(curve):
    fpr, fnr = plot.tradeoff({"x": curve}).axes[0].lines[-1].get_data()
    for x, y in zip(*curve.vertices(), strict=True):
        assert np.min(np.abs(fpr - x) + np.abs(fnr - y)) < 1e-15


def test_every_corner_of_an_infinite_polygon_that_can_be_seen_is_drawn():
    curve = ta.DiscreteLaplace(2.0, sensitivity=3).curve()
    fpr, fnr = line(plot.tradeoff({"x": curve}), "x")
    slopes = np.unique(np.round(np.diff(fnr)[1:-1] / np.diff(fpr)[1:-1], 6))
    assert len(slopes) == 4  # losses ±3/2 and ±1/2; a missed corner would add a slope


@pytest.mark.parametrize("prior", [0.5, 0.01])
def test_precision_and_recall_are_the_curve(prior):
    figure = plot.precision_recall({"x": LAPLACE}, prior=prior)
    recall, precision = line(figure, "x")
    assert (recall[0], recall[-1]) == (0, 1)
    assert np.array_equal(precision, risk.precision(LAPLACE.curve(), recall=recall, prior=prior))
    assert figure.axes[0].get_yscale() == ("linear" if prior == 0.5 else "log")
    base = figure.axes[0].lines[0].get_ydata()
    assert set(base) == {prior}
    assert legend(figure)[-1] == f"guessing: the prior, {prior:g}"


def test_an_f_score_is_the_measure_and_its_floor_is_marked():
    figure = plot.f_score(FAMILIES, [0.5, 1, 2], weight=2, prior=0.25)
    epsilons, scores = line(figure, "Laplace")
    assert {0.5, 1, 2} <= set(epsilons)
    assert (epsilons[0], epsilons[-1]) == (0.5, 2)
    expected = [
        risk.f_score(ta.Laplace.with_epsilon(e).curve(), weight=2, prior=0.25) for e in epsilons
    ]
    assert list(scores) == expected
    assert legend(figure) == [
        "Laplace",
        "any (no attacker does better)",
        "flagging everybody: 0.625",
    ]
    assert set(figure.axes[0].lines[0].get_ydata()) == {0.625}


@pytest.mark.parametrize(("epsilons", "scale"), [([0.01, 30], "log"), ([0, 3], "linear")])
def test_a_wide_range_of_epsilons_is_logarithmic(epsilons, scale):
    figure = plot.f_score({"any": ta.guarantee}, epsilons)
    assert figure.axes[0].get_xscale() == scale


@pytest.mark.parametrize("epsilons", [[0, 3], [1, 9], [0.05, 5], [0.05, 1, 2, 5], [1e-3, 30]])
def test_an_f_score_is_smooth_whatever_the_numbers_given(epsilons):
    """On its own axis no step is longer than a hundredth of it: a kink would be the curve's."""
    figure = plot.f_score({"Laplace": ta.Laplace.with_epsilon}, epsilons)
    drawn, _ = line(figure, "Laplace")
    places = figure.axes[0].transScale.transform([[one, 1] for one in drawn]).T[0]
    assert (drawn[0], drawn[-1]) == (epsilons[0], epsilons[-1])
    assert np.max(np.diff(places)) <= 0.01 * (places[-1] - places[0])


def test_a_frontier_is_its_rows():
    figure = plot.frontier(FRONTIER)
    margins, values = line(figure, "membership advantage")
    assert list(margins) == sorted(row.margin for row in FRONTIER.rows)
    assert list(values) == [row.risks[0] for row in reversed(FRONTIER.rows)]
    words = {text.get_text() for text in figure.axes[0].texts}
    assert words == {"← more accurate", "more private →"}
    (top,) = figure.axes[0].child_axes
    assert [one.get_text() for one in top.get_xticklabels()] == [
        "ε = 2",
        "ε = 1",
        "ε = 0.5",
        "ε = 0.1",
    ]
    assert legend(figure) == [*FRONTIER.measures, FRONTIER.scope]


@pytest.mark.parametrize(("less", "bottom"), [(0.0, 0.0), (0.7, None), (2.0, None)])
def test_a_frontier_begins_at_nought_and_cuts_no_risk_off(less, bottom):
    gain = {"gain": lambda curve: float(curve.tpr(0.5)) - less}
    signed = choose.frontier(ta.Laplace.with_epsilon, [0.1, 0.5, 1, 2], measures=gain)
    low, high = plot.frontier(signed).axes[0].get_ylim()
    risks = [row.risks[0] for row in signed.rows]
    assert low <= min(risks) <= max(risks) <= high
    assert bottom is None or low == bottom


def test_limits_are_lines_and_only_what_keeps_all_of_them_is_shaded():
    limits = [
        choose.at_most(0.3, risk.advantage),
        choose.at_least(0.3, risk.bayes_error, prior=0.5),
    ]
    measures = {limit.name: limit.value for limit in limits}
    epsilons = [0.1, 0.4, 0.7, 0.8, 2]
    found = choose.frontier(ta.Laplace.with_epsilon, epsilons, measures)
    figure = plot.frontier(found, limits=limits)
    flat = [one for one in figure.axes[0].lines if len(set(one.get_ydata())) == 1]
    assert [one.get_ydata()[0] for one in flat] == [limit.bound for limit in limits]
    assert f"limit: {limits[0]}" in legend(figure)
    assert "every limit is kept" in legend(figure)
    safe = [
        row.margin
        for row in found.rows
        if all(
            limit.value(ta.Laplace.with_epsilon(row.parameter).curve()) * (1 - 2 * limit.least)
            <= limit.bound * (1 - 2 * limit.least)
            for limit in limits
        )
    ]
    (shade,) = figure.axes[0].collections
    drawn = np.concatenate([path.vertices[:, 0] for path in shade.get_paths()])
    assert (drawn.min(), drawn.max()) == (min(safe), max(safe))
    assert len(safe) == 3


def test_a_frontier_without_errors_is_drawn_against_its_parameter():
    figure = plot.frontier(PROMISES_MADE, chosen=1)
    x, values = line(figure, "membership advantage (no attacker does better)")
    assert list(x) == [0.1, 0.5, 1, 2]
    assert list(values) == [row.risks[0] for row in PROMISES_MADE.rows]
    assert figure.axes[0].get_xlabel() == "ε, the privacy budget"
    assert {text.get_text() for text in figure.axes[0].texts} == {"← more private", ""}
    assert "chosen: ε = 1" in legend(figure)
    noise = choose.frontier(lambda sigma: ta.guarantee(mu=1 / sigma), [1, 2])
    assert {text.get_text() for text in plot.frontier(noise).axes[0].texts} == {
        "",
        "more private →",
    }


# -- privacy profiles and people -------------------------------------------------------------------


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_profile_is_the_curve(name):
    subject = SUBJECTS[name]
    curve = subject.curve() if name == "noise" else subject
    epsilons, deltas = plot.profile({name: subject}).axes[0].lines[0].get_data()
    assert np.array_equal(deltas, curve.delta(epsilons))
    assert epsilons[0] == 0
    assert len(epsilons) > 200
    steps = np.abs(np.diff(np.log(np.maximum(deltas, 1e-10))))
    assert steps.max() < 1  # no two points are further apart on the page than that


def test_a_profile_marks_epsilon_at_a_delta():
    names = {"noise": ta.Gaussian(2), "claim": ta.guarantee(1, 1e-6), "attack": FOUND}
    figure = plot.profile(names, delta=1e-5)
    exact = ta.Gaussian(2).curve().epsilon(1e-5)
    shown = float(legend(figure)[0].removeprefix("noise: ε ≈ "))
    assert abs(shown - exact) <= 0.5e-4
    assert legend(figure)[1] == "claim: ε ≤ 1.0000 (no attacker does better)"
    assert legend(figure)[2] == "attack: ε ≥ 1.0985 (some attacker does this well)"
    assert legend(figure)[3] == "δ = 10⁻⁵"
    assert figure.axes[0].get_ylim()[0] == 1e-10
    assert plot.profile(FOUND, delta=1e-30).axes[0].get_ylim()[0] == pytest.approx(1e-32)


@pytest.mark.parametrize(
    "curve", [ta.guarantee(0), ta.guarantee(0, 1), ta.Laplace(1e-3), ta.guarantee(0, 0.5)]
)
def test_a_profile_of_nothing_and_of_everything_is_drawn(curve):
    low, high = plot.profile(curve).axes[0].get_xlim()
    assert low == 0 < high <= 100


@pytest.mark.parametrize("prior", [1e-4, 0.01, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("fpr", [1e-4, 0.01, 0.3])
@pytest.mark.parametrize("curve", [PROMISE, LAPLACE.curve(), FOUND, ta.guarantee(0)])
def test_people_are_counted_against_us_and_each_group_has_one(curve, prior, fpr):
    counts = people_counts(curve, prior=prior, fpr=fpr)
    assert sum(counts.groups.values()) == counts.population
    assert min(counts.members, counts.found, counts.flagged) >= 1
    assert min(counts.groups.values()) >= 0
    expected = float(curve.tpr(fpr)) * prior * counts.population
    weak = curve.bound is ta.Bound.UPPER
    assert (counts.found - expected) * (1 - 2 * weak) >= -1e-6
    assert abs(counts.found - expected) < 1 + 1e-6
    if curve.bound is not ta.Bound.UPPER and counts.population >= 1_000:
        right = counts.found / (counts.found + counts.flagged)
        assert right >= risk.ppv(curve, fpr=fpr, prior=prior) - 1e-6 / counts.found


def test_people_stand_in_rows_and_each_has_a_dot():
    figure = plot.people(LAPLACE, prior=0.1, fpr=0.05)
    counts = people_counts(LAPLACE.curve(), prior=0.1, fpr=0.05)
    places = [tuple(p) for one in figure.axes[0].lines for p in np.transpose(one.get_data())]
    assert sorted(places) == [(x, y) for x in range(50) for y in range(20)]
    drawn = {one.get_label(): len(one.get_xdata()) for one in figure.axes[0].lines}
    assert drawn == {look.words: count for look, count in counts.groups.items()}
    found = float(LAPLACE.curve().tpr(0.05)) * 100
    assert counts.found == math.ceil(found)
    assert figure.axes[0].get_title() == (
        "Of 1,000 people, 100 are members: the best attack at FPR 0.05"
    )
    assert f"members flagged: {counts.found} (without the output: 5)" in legend(figure)


def test_of_many_people_a_dot_is_several():
    figure = plot.people(FOUND, prior=0.01, fpr=0.001)
    assert legend(figure)[-1] == "A dot is 100 people; a smaller one is fewer."
    assert sum(len(one.get_xdata()) for one in figure.axes[0].lines) == 1_000
    assert (
        figure.axes[0].get_title().startswith("Of 100,000 people, 1,000 are members: this attack")
    )


def top_words(figure):
    (top,) = figure.axes[0].child_axes
    return [one.get_text() for one in top.get_xticklabels()]


def test_a_map_has_its_numbers_in_its_cells_and_marks_the_chosen_one():
    axes = plot.training_map(MAP, chosen=(256, 15)).axes[0]
    words = [text.get_text() for text in axes.texts]
    shown = [
        part.strip("()") for row in MAP.cells()[1:] for cell in row[1:] for part in cell.split()
    ]
    assert words == shown
    (box,) = [patch for patch in axes.patches if patch.get_linewidth() == 2]
    assert box.get_xy() == (1, 1)
    assert not plot.training_map(LARGE_MAP).axes[0].patches
    with pytest.raises(ta.InvalidArgument, match=r"^batch_size must be one of 64, 256, got 128$"):
        plot.training_map(MAP, chosen=(128, 15))
    with pytest.raises(ta.InvalidArgument, match=r"^found must be what choose\.training_map"):
        plot.training_map(FRONTIER)


@pytest.mark.parametrize("chosen", [0.5, 1.4086, 123.4567, 1 / 3])
def test_the_chosen_parameter_is_marked_on_every_line_and_named_in_full(chosen):
    rows = [chosen * 2 ** (step / 4) for step in range(-16, 17)]
    figure = plot.frontier(choose.frontier(ta.Laplace.with_epsilon, rows), chosen=chosen)
    (row,) = choose.frontier(ta.Laplace.with_epsilon, [chosen]).rows
    drawn = [one for one in figure.axes[0].lines if len(one.get_xdata()) == 1]
    assert [one.get_data() for one in drawn] == [([row.margin], [risk]) for risk in row.risks]
    upright = [one for one in figure.axes[0].lines if list(one.get_ydata()) == [0, 1]]
    assert [list(one.get_xdata()) for one in upright] == [[row.margin] * 2]
    assert f"chosen: ε = {chosen:.10g}" in top_words(figure)
    assert sum("chosen" in words for words in top_words(figure)) == 1


def test_without_a_choice_nothing_is_marked():
    figure = plot.frontier(FRONTIER)
    assert len(figure.axes[0].lines) == len(FRONTIER.measures)
    assert not any("chosen" in words for words in top_words(figure))


def test_every_dot_on_a_frontier_has_its_parameter_on_top():
    figure = plot.frontier(WIDE["widths"], chosen=1.5)
    margins, _ = line(figure, "membership advantage")
    (top,) = figure.axes[0].child_axes
    dots = margins[figure.axes[0].lines[0].get_markevery()]
    assert list(top.get_xticks()) == list(dots)


def test_rows_that_differ_have_different_names():
    found = choose.frontier(ta.Laplace.with_epsilon, [1, 1.0001])
    assert top_words(plot.frontier(found)) == ["ε = 1.0001", "ε = 1"]


def test_compare_shows_both_views_and_one_legend():
    figure = plot.compare(SUBJECTS)
    assert np.array_equal(*(line(figure, "noise", panel)[0][-400:] for panel in (0, 1)))
    fpr, tpr = line(figure, "noise", 1)
    assert np.array_equal(tpr, LAPLACE.curve().tpr(fpr))
    assert [axes.get_legend() for axes in figure.axes] == [None, None]
    (drawn,) = figure.legends
    assert [text.get_text() for text in drawn.get_texts()] == [
        "noise",
        "promise (no attacker does better)",
        "attack (some attacker does this well)",
    ]


# -- sides -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tradeoff", "roc", "log roc", "precision-recall", "rare"])
def test_the_sides_are_in_the_legend(name):
    assert legend(PICTURES[name]())[:3] == [
        "noise",
        "promise (no attacker does better)",
        "attack (some attacker does this well)",
    ]


def test_what_a_promise_allows_is_shaded_and_what_an_attack_shows_hatched():
    plain, hatched = collections(plot.tradeoff(SUBJECTS))
    assert plain.get_hatch() is None
    assert plain.get_paths()[0].contains_point((0.45, 0.45))
    assert not plain.get_paths()[0].contains_point((0.1, 0.1))
    assert hatched.get_hatch() == "////"
    assert hatched.get_paths()[0].contains_point((0.4, 0.5))
    assert not hatched.get_paths()[0].contains_point((0.1, 0.1))


def test_in_a_roc_the_shades_are_on_the_other_side():
    plain, hatched = collections(plot.roc(SUBJECTS))
    assert plain.get_paths()[0].contains_point((0.4, 0.5))
    assert not plain.get_paths()[0].contains_point((0.1, 0.9))
    assert hatched.get_paths()[0].contains_point((0.4, 0.5))


@pytest.mark.parametrize("at", [(0.3, 0.5), (0.1, 0.1), (0.02, 0.5), (0.2, 0.7)])
def test_shades_mean_the_same_in_trade_off_functions_and_regions(at):
    """Shaded is what an attack can have; a region adds the attacks that are worse than guessing."""
    promise = {"ε = 1": ta.guarantee(epsilon=1)}
    (shade,) = collections(plot.tradeoff(promise))
    assert shade.get_paths()[0].contains_point(at) == REGION.contains(fpr=at[0], fnr=at[1])


def test_the_truth_has_no_shade():
    assert list(collections(plot.tradeoff({"noise": LAPLACE}))) == []


def test_lines_differ_by_more_than_colour():
    assert len({str(one.dashes) for one in PENS}) == len({one.colour for one in PENS}) == 7
    for start in range(0, 49, 7):  # each seven differ in both, and all of them in one
        seven = [pen(start + k) for k in range(7)]
        assert len({one.colour for one in seven}) == len({str(one.dashes) for one in seven}) == 7
    assert len({pen(k) for k in range(49)}) == 49
    assert pen(49) == pen(0)


def test_a_picture_of_many_lines_has_no_two_alike():
    drawn = plot.tradeoff({str(k): LAPLACE for k in range(49)}).axes[0].lines[1:]
    assert [one.get_color() for one in drawn] == [pen(k).colour for k in range(49)]
    assert len({(one.get_color(), str(one._unscaled_dash_pattern)) for one in drawn}) == 49


# -- regions ---------------------------------------------------------------------------------------


def test_a_region_is_drawn_through_its_corners():
    region = ta.PrivacyRegion(epsilon=1, delta=0.1)
    figure = plot.regions([REGION, region])
    x, y = line(figure, "ε = 1, δ = 0.1")
    assert np.array_equal(np.stack([x, y], axis=1)[:-1], region.vertices())
    assert (x[-1], y[-1]) == (0, 1)
    assert legend(figure) == ["ε = 1", "ε = 1, δ = 0.1", "guessing: all that ε = δ = 0 allows"]
    title = figure.axes[0].get_legend().get_title().get_text()
    assert title == "Privacy regions (no attacker does better):"


def test_a_smaller_region_lies_over_a_larger_one():
    figure = plot.regions([ta.PrivacyRegion(1), ta.PrivacyRegion(3), ta.PrivacyRegion(2)])
    one, three, two = (patch.get_zorder() for patch in figure.axes[0].patches)
    assert one > two > three


def test_an_impossible_attack_is_told_why():
    figure = plot.region_point(REGION, fpr=0.01, tpr=0.05)
    assert figure.axes[0].get_title() == "Impossible if ε = 1 is kept"
    assert legend(figure) == [
        "what ε = 1 allows: no attacker does better",
        "the attack: FPR 0.01, TPR 0.05",
        "TPR ≤ e^ε·FPR + δ fails by 0.02282",
        "Rates measured on samples need confidence limits: use an audit.",
    ]


def test_tiny_rates_are_judged_with_all_their_digits():
    """As 1 − TPR this attack would have the FNR of one who accuses nobody."""
    figure = plot.region_point(REGION, fpr=1e-20, tpr=1e-19)
    assert figure.axes[0].get_title() == "Impossible if ε = 1 is kept"
    figure = plot.region_point(REGION, fpr=1e-20, tpr=2.7e-20)
    assert figure.axes[0].get_title() == "Possible if ε = 1 is kept"


def mark(figure):
    """Where the mark beside the point stands: its centre and half its size, on the screen."""
    figure.axes[0].apply_aspect()
    (badge,) = [one for one in figure.axes[0].lines if one.get_markersize() == 13]
    x, y = badge.get_transform().transform([badge.get_xdata()[0], badge.get_ydata()[0]])
    return np.array([x, y]), 13 / 2 * figure.dpi / 72


RATES = [0.0, 0.001, 0.27, 0.5, 0.98, 1.0]


SLOW = [pytest.mark.slow]


@pytest.mark.parametrize(
    "region", [(0, 0), pytest.param((0.1, 0.01), marks=SLOW), (1, 0), (5, 0.1)], ids=str
)
@pytest.mark.parametrize(
    "fpr", [pytest.param(x, marks=SLOW if x in (0.27, 0.98) else []) for x in RATES]
)
def test_a_mark_is_on_the_axes_and_that_of_a_possible_attack_in_the_region(region, fpr):
    promise = ta.PrivacyRegion(*region)
    for tpr in RATES:
        figure = plot.region_point(promise, fpr=fpr, tpr=tpr)
        place, half = mark(figure)
        axes = figure.axes[0]
        assert np.all(place - half >= axes.bbox.min)
        assert np.all(place + half <= axes.bbox.max)
        if promise.contains(fpr=fpr, tpr=tpr):
            x, y = axes.transData.inverted().transform(place)
            wider = ta.PrivacyRegion(promise.epsilon + 1e-9, promise.delta + 1e-9)
            assert wider.contains(fpr=x, fnr=y)


@pytest.mark.parametrize("rates", [(0, 0.001), (0, 1), (1, 0), (0.01, 0.05), (0.9, 0.5), (1, 0.9)])
def test_the_mark_of_an_impossible_attack_is_beyond_the_edge_where_there_is_room(rates):
    figure = plot.region_point(REGION, fpr=rates[0], tpr=rates[1])
    place, _ = mark(figure)
    x, y = figure.axes[0].transData.inverted().transform(place)
    assert not REGION.contains(fpr=x, fnr=y)
    assert (x + y < 1) == (rates[0] < rates[1])


def test_a_possible_attack_is_marked_so():
    figure = plot.region_point(ta.PrivacyRegion(1, 0.1), fpr=0.1, tpr=0.3)
    assert figure.axes[0].get_title() == "Possible if ε = 1, δ = 0.1 is kept"
    assert legend(figure)[1] == "the attack: FPR 0.1, TPR 0.3; no inequality fails"
    assert not any("fails by" in entry for entry in legend(figure))


def test_inside_and_outside_differ_by_more_than_colour():
    shapes = []
    for tpr in (0.3, 0.9):
        drawn = plot.region_point(REGION, fpr=0.2, tpr=tpr).axes[0].lines
        shapes.append({one.get_marker() for one in drawn if isinstance(one.get_marker(), str)})
        places = [one.get_data() for one in drawn if len(one.get_xdata()) == 1]
        assert places == [([0.2], [pytest.approx(1 - tpr)])] * 3
    assert "x" not in shapes[0]
    assert {"x", "s"} <= shapes[1]


@pytest.mark.parametrize("epsilon", [0, 0.01, 1, 2])
@pytest.mark.parametrize("delta", [0, 0.1])
@pytest.mark.parametrize("rates", [(0.0, 1.0), (0.1, 0.95), (0.9, 0.02), (1.0, 0.0)])
def test_the_broken_inequality_is_drawn_where_it_is_an_equality(epsilon, delta, rates):
    """A point of the line breaks the inequality as soon as it moves outwards, not before."""
    region = ta.PrivacyRegion(epsilon, delta)
    fpr, tpr = rates
    failures = region.failures(fpr=fpr, fnr=1 - tpr)
    figure = plot.region_point(region, fpr=fpr, tpr=tpr)
    assert len(failures) > 0
    outwards = 1e-6 if fpr > tpr else -1e-6
    for failure in failures:
        xs, ys = line(figure, str(failure))
        x, y = np.mean(xs), np.mean(ys)
        moved = region.failures(fpr=x + outwards, fnr=np.clip(y + outwards, 0, 1))
        kept = region.failures(fpr=x - outwards, fnr=np.clip(y - outwards, 0, 1))
        assert failure.inequality in {one.inequality for one in moved}
        assert failure.inequality not in {one.inequality for one in kept}


# -- files and style -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_returns_its_figure_or_draws_into_given_axes(name):
    assert isinstance(PICTURES[name](), Figure)
    figure, (left, right) = plot.panels(2, height=6)
    assert PICTURES[name](right) is figure
    assert not left.lines
    assert right.lines or right.collections


def test_a_part_of_a_figure_gives_the_whole():
    figure = Figure()
    part = figure.subfigures(1, 2)[0]
    assert plot.tradeoff(SUBJECTS, axes=part.subplots()) is figure


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_leaves_the_picture(name):
    figure = PICTURES[name]()
    figure.draw_without_rendering()
    (axes,) = figure.axes
    words, whole = axes.get_tightbbox(), figure.bbox
    assert words.x0 >= whole.x0
    assert words.x1 <= whole.x1
    assert words.y0 >= whole.y0
    assert words.y1 <= whole.y1
    under = axes.xaxis.get_tightbbox(figure.canvas.get_renderer()) or axes.bbox
    assert axes.get_legend().get_window_extent().y1 < under.y0


# -- audits ----------------------------------------------------------------------------------------

DRAW = np.random.default_rng(3)
SCORES = audit.Scores(members=DRAW.normal(1.5, 1, 1000), non_members=DRAW.normal(0, 1, 1000))
RANKS = audit.many_runs(SCORES)
AUDITS = {
    "refuted": lambda: plot.audit(audit.judge(ta.guarantee(1), RANKS)),
    "standing": lambda: plot.audit(audit.judge(ta.guarantee(5), RANKS)),
    "no claim": lambda: plot.audit(RANKS),
    "claim aside": lambda: plot.audit(RANKS, ta.guarantee(1), ta.Gaussian(1 / 1.5)),
    "mechanism": lambda: plot.audit(audit.judge(ta.Gaussian(4), RANKS)),
    "band": lambda: plot.audit(audit.many_runs(SCORES, method=audit.Band()), ta.guarantee(1)),
    "fixed": lambda: plot.audit(audit.many_runs(SCORES, method=audit.Fixed(2)), ta.guarantee(1)),
    "both ways": lambda: plot.audit(audit.together({"a": RANKS, "b": RANKS}), ta.guarantee(1)),
}  # fmt: skip
COUNTED = audit.from_counts(audit.Counts(350, 1000, 100, 1000))
CLAIM = "the claim: ε = 1, δ = 0 (no attacker does better)"
SHOWN = "shown with 95 % confidence (some attacker does this well)"
COLLISION = "shown by the evidence, excluded by the claim"
LOOKED = "observed rates, at the tested thresholds"
SLIVER = "the curve shown does not cross the claim: its limits are wider than the test"


def words_under(figure):
    return [text.get_text().replace("\n", " ") for text in figure.legends[0].get_texts()]


def hatches(figure, panel):
    return [one.get_hatch() for one in figure.axes[panel].collections]


@pytest.mark.parametrize("panel", [0, 1])
def test_an_audit_shows_the_claim_and_what_was_shown(panel):
    figure = AUDITS["refuted"]()
    for label, curve in ((CLAIM, ta.guarantee(1)), (SHOWN, RANKS.curve())):
        fpr, tpr = line(figure, label, panel)
        inner = slice(1, -1)
        assert np.array_equal(tpr[inner], curve.tpr(fpr[inner]))
    assert [one.get_xscale() for one in figure.axes] == ["linear", "log"]
    finding = RANKS.finding(ta.guarantee(1))
    mark = f"REFUTED here: {finding.significance}"
    assert words_under(figure) == [CLAIM, SHOWN, COLLISION, mark, LOOKED]
    assert finding.significance in str(finding)
    assert figure.get_suptitle() == "REFUTED at 95 % confidence"


@pytest.mark.parametrize("panel", [0, 1])
def test_a_collision_lies_where_more_was_shown_than_the_claim_allows(panel):
    figure = AUDITS["refuted"]()
    assert hatches(figure, panel).count("xxxx") == 1
    (area,) = [one for one in figure.axes[panel].collections if one.get_hatch() == "xxxx"]
    points = np.concatenate([path.vertices for path in area.get_paths()])
    fpr, tpr = np.clip(points.T, 0, 1)
    assert (tpr >= ta.guarantee(1).tpr(fpr) - 1e-6).all()
    assert (tpr <= RANKS.curve().tpr(fpr) + 1e-6).all()


@pytest.mark.parametrize("panel", [0, 1])
@pytest.mark.parametrize("found", [RANKS, COUNTED], ids=["ranks", "counts"])
def test_the_mark_is_the_test_of_the_verdict(panel, found):
    verdict = audit.judge(ta.guarantee(1), found)
    figure = plot.audit(verdict)
    (cross,) = [one for one in figure.axes[panel].lines if one.get_marker() == "X"]
    assert tuple(float(one[0]) for one in cross.get_data()) == verdict.finding.at
    shares = [f"{100 * one:.3g} %" for one in verdict.finding.at]
    shares += [f"{100 * (1 - one):.3g} %" for one in verdict.finding.at]
    assert sum(one in verdict.finding.where for one in shares) >= 2


@pytest.mark.parametrize("name", ["standing", "no claim"])
def test_nothing_collides_where_nothing_is_refuted(name):
    figure = AUDITS[name]()
    for panel in (0, 1):
        assert "xxxx" not in hatches(figure, panel)
    assert COLLISION not in words_under(figure)
    said = {"standing": "NOT REFUTED at 95 % confidence", "no claim": ""}
    assert figure.get_suptitle() == said[name]


def test_looks_are_the_observed_rates():
    figure = AUDITS["refuted"]()
    (dots,) = [one for one in figure.axes[0].lines if one.get_marker() == "o"]
    inside, outside = (np.sort(side.values) for side in (SCORES.members, SCORES.non_members))
    ranks = np.array([1, 3, 9, 27, 81, 243])
    expected = [(k / 1000, np.mean(inside > outside[-k])) for k in ranks]
    expected += [(np.mean(outside >= inside[k - 1]), 1 - k / 1000) for k in ranks]
    assert np.allclose(np.transpose(dots.get_data()), expected, rtol=0, atol=1e-12)


def test_a_mechanism_that_is_claimed_is_drawn_as_a_promise():
    assert words_under(AUDITS["mechanism"]())[0] == (
        "the claim: Gaussian(sigma=4.0) (no attacker does better)"
    )


def test_the_truth_may_be_drawn_beside():
    figure = AUDITS["claim aside"]()
    fpr, tpr = line(figure, "the mechanism itself")
    assert np.array_equal(tpr[1:-1], ta.Gaussian(1 / 1.5).curve().tpr(fpr[1:-1]))


def test_a_refutation_that_the_curve_does_not_show_is_said():
    """The exact test refutes a little more than the curve, whose corners cost more."""
    bound = RANKS.epsilon_lower().value
    verdict = audit.judge(ta.guarantee(bound * 0.9999), RANKS)
    assert verdict.refuted
    curve = RANKS.curve()
    assert max(curve.epsilon(0.0), curve.mirrored().epsilon(0.0)) < bound * 0.9999
    assert SLIVER in words_under(plot.audit(verdict))


@pytest.mark.parametrize("name", AUDITS)
def test_a_picture_of_an_audit_is_whole_and_the_same_again(name, tmp_path):
    figure = AUDITS[name]()
    first = plot.save(figure, tmp_path / "a.svg").read_bytes()
    assert first == plot.save(AUDITS[name](), tmp_path / "b.svg").read_bytes()
    figure.draw_without_rendering()
    whole = figure.bbox
    for part in (*figure.axes, *figure.legends):
        words = part.get_tightbbox(figure.canvas.get_renderer())
        assert words.x0 >= whole.x0
        assert words.x1 <= whole.x1
        assert words.y0 >= whole.y0
        assert words.y1 <= whole.y1
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            assert len(labels(axis)) >= 2


def test_the_logarithmic_axis_reaches_the_smallest_rate_looked_at():
    many = audit.Scores(members=DRAW.normal(1, 1, 40_000), non_members=DRAW.normal(0, 1, 40_000))
    assert plot.audit(audit.many_runs(many)).axes[1].get_xlim()[0] == pytest.approx(1e-5)


def test_one_run_has_no_picture():
    coins = DRAW.integers(0, 2, 200)
    evidence = audit.one_run(audit.Scores.from_rows(DRAW.normal(coins), coins))
    with pytest.raises(ta.Unsupported, match=r"guesses fixed.* shows no curve"):
        plot.audit(evidence, ta.guarantee(1))


# -- numbers on axes -------------------------------------------------------------------------------

LOW, HIGH = 1e-9, 1 - 1e-7
WIDE = {
    "three": choose.frontier(ta.Laplace.with_epsilon, [0.5, 1, 2]),
    "one": choose.frontier(ta.Laplace.with_epsilon, [1]),
    "near": choose.frontier(ta.Laplace.with_epsilon, [1, 1.0001]),
    "far": choose.frontier(ta.Laplace.with_epsilon, np.geomspace(1e-3, 30, 40)),
    "further": choose.frontier(ta.Laplace.with_epsilon, np.geomspace(1e-9, 1e3, 100)),
    "widths": choose.frontier(ta.UniformNoise, np.linspace(1.5, 50, 12)),
    "many": choose.frontier(lambda e: ta.Laplace.with_epsilon(e), np.linspace(0.5, 50, 300)),
}
NUMBERED = {
    **{name: picture for name, picture in PICTURES.items() if "people" not in name},
    **{name: lambda axes=None, found=found: plot.frontier(found, axes=axes)
       for name, found in WIDE.items()},
    **{f"chosen {k}": lambda axes=None, k=k: plot.frontier(
        WIDE["far"], chosen=WIDE["far"].rows[k].parameter, axes=axes) for k in (0, 3, 20, 39)},
    "large prior": lambda axes=None: plot.f_score(FAMILIES, [0.1, 5], prior=0.999, axes=axes),
    "larger prior": lambda axes=None: plot.f_score(FAMILIES, [0.1, 5], prior=HIGH, axes=axes),
    "small prior": lambda axes=None: plot.f_score(FAMILIES, [0, 30], prior=LOW, axes=axes),
    "small epsilons": lambda axes=None: plot.f_score(FAMILIES, [0, 1e-6], axes=axes),
    "large epsilons": lambda axes=None: plot.f_score(FAMILIES, [1e6, 3e6], axes=axes),
    "many epsilons": lambda axes=None: plot.f_score(FAMILIES, [1e-3, 1], axes=axes),
    "precise": lambda axes=None: plot.precision_recall(SUBJECTS, prior=HIGH, axes=axes),
    "imprecise": lambda axes=None: plot.precision_recall(SUBJECTS, prior=LOW, axes=axes),
}  # fmt: skip


def labels(axis):
    """The labels of an axis that are on it, with where they are."""
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    low, high = sorted(axis.get_view_interval())
    shown = [one for one in ticks if low <= one.get_loc() <= high]
    both = [label for one in shown for label in (one.label1, one.label2)]
    return [(one.get_text(), one.get_window_extent()) for one in both
            if one.get_visible() and one.get_text()]  # fmt: skip


@functools.cache
def drawn(name):
    """A picture by itself, for those who only look at it."""
    figure = NUMBERED[name]()
    figure.draw_without_rendering()
    return figure


def alone_or_beside():
    """Each picture by itself, and beside another; of the rare ones that is for `make test-all`."""
    for name in NUMBERED:
        yield name, True
        rare = name not in PICTURES and name not in ("far", "chosen 3")
        yield pytest.param(name, False, marks=SLOW if rare else [])


@pytest.mark.parametrize(("name", "mine"), [*alone_or_beside()])
def test_every_number_on_an_axis_is_whole_and_apart_from_the_next(name, mine):
    if mine:
        (axes,) = drawn(name).axes
    else:
        figure, (axes, _) = plot.panels(2, height=6)
        axes.plot([1e9, 1e9 + 1], [1, 2])  # axes that were used before, with an offset
        axes.clear()
        NUMBERED[name](axes)
        figure.draw_without_rendering()
    for axis in (axes.xaxis, axes.yaxis):
        assert axis.get_offset_text().get_text() == ""
    for axis in (axes.xaxis, axes.yaxis, *(one.xaxis for one in axes.child_axes)):
        shown = labels(axis)
        assert shown
        assert not [words for words, _ in shown if re.search(r"\$|\de", words)]
        boxes = [box for _, box in shown]
        apart = [one.overlaps(two) for k, one in enumerate(boxes) for two in boxes[:k]]
        assert not any(apart), [words for words, _ in shown]


@pytest.mark.parametrize("name", NUMBERED)
def test_every_axis_has_two_numbers_to_read_others_from(name):
    axes = drawn(name).axes[0]
    for axis in (axes.xaxis, axes.yaxis):
        assert len(labels(axis)) >= 2


@pytest.mark.parametrize("value", [0, 1, 2, 0.5, 0.0001, 0.0003, 99999, 123456.7, 1e-5, 3e7, 1e-12])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_written_number_is_that_number(value, sign):
    words = written(sign * value)
    plain = words.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    if words != plain:
        head, _, power = words.rpartition("10")
        exponent = int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))
        head = head.rstrip("·")
        plain = f"{'-1' if head == '-' else head or '1'}e{exponent}"
    assert float(plain) == sign * value


def test_a_short_number_has_no_power():
    assert [written(x) for x in (0.0001, 1, 1000, 1e5)] == ["0.0001", "1", "1000", "100000"]
    assert [written(x) for x in (1e-5, 2e-5, 1e6)] == ["10⁻⁵", "2·10⁻⁵", "10⁶"]


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_a_suffix_counts_in_any_case(tmp_path, suffix, start):
    figure = plot.tradeoff({"noise": LAPLACE})
    small = plot.save(figure, tmp_path / f"a.{suffix}").read_bytes()
    assert small.startswith(start)
    for other in (suffix.upper(), suffix.title()):
        path = plot.save(figure, tmp_path / f"b.{other}")
        assert path.name == f"b.{other}"
        assert path.read_bytes() == small


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
@pytest.mark.parametrize("name", ["tradeoff", "outside"])
def test_saving_again_gives_the_same_bytes(tmp_path, suffix, name):
    figure = PICTURES[name]()
    first, again, anew = (
        plot.save(one, tmp_path / f"{k}.{suffix}").read_bytes()
        for k, one in enumerate([figure, figure, PICTURES[name]()])
    )
    assert first == again == anew


SCRIPT = """
import sys, tellapart as ta
from tellapart import plot
subjects = {"noise": ta.Laplace(1), "promise": ta.guarantee(1), "attack": ta.attack([(0.1, 0.3)])}
plot.save(plot.compare(subjects), sys.argv[1])
"""


def run(*arguments, **environment):
    return subprocess.run(  # noqa: S603
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | environment,
    )


def test_two_processes_write_the_same_bytes(tmp_path):
    files = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for seed, file in enumerate(files):
        done = run("-c", SCRIPT, str(file), PYTHONHASHSEED=str(seed))
        assert done.returncode == 0, done.stderr
    assert files[0].read_bytes() == files[1].read_bytes()
    assert len(files[0].read_bytes()) > 10_000


def test_a_persons_own_settings_neither_change_a_picture_nor_are_changed(tmp_path):
    usual = plot.save(plot.tradeoff(SUBJECTS), tmp_path / "a.svg").read_bytes()
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30, "axes.facecolor": "black"}):
        before = dict(mpl.rcParams)
        other = plot.save(plot.tradeoff(SUBJECTS), tmp_path / "b.svg").read_bytes()
        assert dict(mpl.rcParams) == before
    assert usual == other


def test_pyplot_stays_out(tmp_path):
    asked = f"{SCRIPT}\nprint('matplotlib.pyplot' in sys.modules)"
    done = run("-c", asked, str(tmp_path / "x.svg"))
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_names_are_shown_as_they_are():
    names = ["_hidden", "$x", "a name so long that it must be broken " * 4]
    figure = plot.tradeoff(dict.fromkeys(names, LAPLACE))
    figure.draw_without_rendering()
    assert legend(figure) == [name.strip() for name in names]


BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Blocker())
import tellapart
try:
    from tellapart.plot import {name}
except tellapart.Unsupported as refusal:
    print(refusal)
"""


@pytest.mark.parametrize("name", ["tradeoff", "style"])
def test_without_matplotlib_it_says_what_to_install(name):
    done = run("-c", BLOCKED.replace("{name}", name))
    assert (done.stdout, done.stderr) == ("pictures need: pip install 'tellapart[plot]'\n", "")


# -- refusals --------------------------------------------------------------------------------------

NAMES = 'subjects must map names to mechanisms or curves, as {"Laplace": ta.Laplace(1)} does, got '
FUNCTIONS = (
    'families must map names to functions of ε, as {"Laplace": ta.Laplace.with_epsilon} does, got '
)
PROMISES = "regions must be a list of regions, such as [ta.PrivacyRegion(epsilon=1)], got "


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot.tradeoff({}), NAMES + "{}"),
        (lambda: plot.roc(LAPLACE), NAMES + "Laplace(scale=1.0)"),
        (
            lambda: plot.compare({"x": 3}),
            "subjects['x'] must be a mechanism or a curve, got 3",
        ),
        (
            lambda: plot.precision_recall(SUBJECTS, prior=0),
            "prior must lie strictly between 0 and 1, got 0",
        ),
        (lambda: plot.tradeoff(SUBJECTS, axes=3), "axes must be matplotlib axes, got 3"),
        (lambda: plot.f_score({}, [1, 2]), FUNCTIONS + "{}"),
        (lambda: plot.f_score(ta.guarantee, [1, 2]), FUNCTIONS + "<function guarantee at 0x"),
        (
            lambda: plot.f_score({"x": 3}, [1, 2]),
            "families['x'] must be a function of ε, got 3",
        ),
        (
            lambda: plot.f_score({"x": lambda e: e}, [1, 2]),
            "what families['x'] returns must be a mechanism or a curve, got 1.0",
        ),
        (lambda: plot.f_score(FAMILIES, [1, 1]), "epsilons must rise strictly, got [1, 1]"),
        (lambda: plot.f_score(FAMILIES, [1]), "epsilons must hold at least two numbers, got [1]"),
        (lambda: plot.f_score(FAMILIES, [-1, 1]), "epsilons must be at least 0, got -1.0"),
        (lambda: plot.f_score(FAMILIES, []), "epsilons must not be empty, got []"),
        (
            lambda: plot.f_score(FAMILIES, [1, 2], weight=0),
            "weight must be finite and greater than 0, got 0",
        ),
        (lambda: plot.audit(3), "found must be a verdict or evidence of audit, got 3"),
        (
            lambda: plot.audit(audit.judge(ta.guarantee(9), RANKS), ta.guarantee(1)),
            "claim must be left out where a verdict is given, got ",
        ),
        (lambda: plot.audit(RANKS, 3), "claim must be a mechanism or a curve, got 3"),
        (lambda: plot.audit(RANKS, exact=3), "exact must be a mechanism or a curve, got 3"),
        (lambda: plot.regions([]), PROMISES + "[]"),
        (lambda: plot.regions(REGION), PROMISES + "PrivacyRegion(epsilon=1.0, delta=0.0)"),
        (lambda: plot.regions([REGION, 1]), "regions[1] must be a PrivacyRegion, got 1"),
        (
            lambda: plot.region_point(1, fpr=0.1, tpr=0.2),
            "region must be a PrivacyRegion, got 1",
        ),
        (lambda: plot.region_point(REGION, fpr=2, tpr=0.2), "fpr must lie in [0, 1], got 2"),
        (lambda: plot.region_point(REGION, fpr=0.1, tpr=-1), "tpr must lie in [0, 1], got -1"),
        (lambda: plot.frontier([]), "found must be what choose.frontier(...) returns, got []"),
        (
            lambda: plot.frontier(choose.frontier(ta.guarantee, [0, 1])),
            "found must have parameters greater than 0, got FrontierRow(parameter=0.0, ",
        ),
        (
            lambda: plot.frontier(FRONTIER, limits=[choose.at_most(0.1, risk.accuracy, prior=0.5)]),
            "limits must be on measures of the frontier (membership advantage, TPR at FPR 0.01, ",
        ),
        (
            lambda: plot.frontier(FRONTIER, limits=[0.1]),
            "limits must be choose.at_most(...) or choose.at_least(...), got 0.1",
        ),
        (
            lambda: plot.profile(LAPLACE, delta=1e-9, least=1e-6),
            "delta must be at least the smallest δ shown, least = 1e-6, got 1e-9",
        ),
        (lambda: plot.profile(3), "subjects must be a mechanism or a curve, got 3"),
        (lambda: plot.people(3), "subject must be a mechanism or a curve, got 3"),
        (
            lambda: plot.people(LAPLACE, prior=0),
            "prior must lie strictly between 0 and 1, got 0",
        ),
        (
            lambda: plot.frontier(choose.frontier(lambda e: ta.DiscreteLaplace(1 / e), [10])),
            "found must have margins that are finite and greater than 0, got "
            "FrontierRow(parameter=10.0, ",
        ),
        (
            lambda: plot.frontier(FRONTIER, chosen=3),
            "chosen must be the parameter of one of the rows of found, got 3",
        ),
        (lambda: plot.frontier(FRONTIER, chosen="1"), "chosen must be a number, got '1'"),
        (
            lambda: plot.save(plot.tradeoff(SUBJECTS), "x.gif"),
            "path must end in .svg, .png or .pdf, got 'x.gif'",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ta.InvalidArgument, match=re.escape(message)):
        call()


@pytest.mark.parametrize("name", plot.__all__)
def test_the_first_sentence_has_at_most_twenty_words(name):
    first = re.split(r"(?<=[.?!:])\s", getattr(plot, name).__doc__.strip())[0]
    assert len(first.split()) <= 20
