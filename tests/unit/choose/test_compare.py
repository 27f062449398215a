"""Comparisons, frontiers, crossings and summaries: values, words and refusals."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import choose, risk
from tellapart.curve.algebra import crossings, dominates, leads
from tellapart.mechanisms.subject import scope

LAPLACE, GAUSSIAN = ta.Laplace(scale=1), ta.Gaussian(sigma=1)


# -- crossings ----------------------------------------------------------------------------------


def test_two_promises_cross_where_their_lines_meet():
    found = crossings(ta.guarantee(1, 1e-3), ta.guarantee(0.5, 1e-2))
    fpr = 9e-3 / (math.e - math.exp(0.5))
    fnr = 1 - 1e-3 - math.e * fpr
    assert found == (pytest.approx((fpr, fnr)), pytest.approx((fnr, fpr)))


def test_crossings_in_the_far_corner_keep_their_digits():
    found = crossings(ta.guarantee(60, 0), ta.guarantee(50, 1e-30))
    fpr = 1e-30 / (math.exp(60) - math.exp(50))
    assert found[0].fpr == pytest.approx(fpr, rel=1e-9)
    assert found[-1].fnr == pytest.approx(fpr, rel=1e-9)


def test_at_a_crossing_both_have_the_same_rates_and_change_places():
    a, b = LAPLACE.curve(), GAUSSIAN.curve()
    for one in crossings(a, b):
        assert a.beta(one.fpr) == pytest.approx(b.beta(one.fpr), abs=1e-12)
        around = np.array([one.fpr - 1e-4, one.fpr + 1e-4])
        assert np.prod(np.sign(a.beta(around) - b.beta(around))) == -1


def test_touching_is_not_crossing():
    assert crossings(ta.guarantee(1), LAPLACE.curve()) == ()
    assert crossings(LAPLACE.curve(), LAPLACE.curve()) == ()


def test_curves_that_nearly_touch_are_told_from_those_that_cross():
    """A lead of 1e-7 counts, rounding does not."""
    promise = ta.guarantee(1.0)
    close = ta.guarantee(pairs=[(1.0 + 1e-7, 0.0), (0.9, 0.05)])
    assert len(crossings(promise, close)) == 2
    same = ta.from_pmfs([0.1, 0.2, 0.7], [0.7, 0.2, 0.1])
    assert crossings(same, ta.from_pmfs([0.7, 0.1, 0.2], [0.1, 0.7, 0.2])) == ()


def test_narrow_crossings_are_found():
    """Two changes of place within a hundredth of the FPR axis."""
    a = ta.guarantee(pairs=[(1.0, 0.0), (0.5, 0.1)])
    b = ta.guarantee(pairs=[(1.0, 0.001), (0.5, 0.0995)])
    assert len(crossings(a, b)) == 2


# -- compare ------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.floats(0.2, 3), st.floats(0.2, 3), st.floats(1e-6, 0.05), st.floats(0.3, 4))
def test_who_leaks_more_changes_at_every_crossing(epsilon, other, delta, sigma):
    curves = (ta.guarantee(epsilon), ta.guarantee(other, delta), ta.Gaussian(sigma).curve())
    for a, b in itertools.combinations(curves, 2):
        where = crossings(a, b)
        ahead = leads(a, b, where)
        assert len(ahead) == len(where) + 1
        ends = [0.0, *(one.fpr for one in where), 1.0]
        for low, high, leader in zip(ends, ends[1:], ahead, strict=False):
            between = np.linspace(low, high, 41)[1:-1]
            lead = a.tpr(between) - b.tpr(between)
            assert np.all(lead > -1e-10) if leader else np.all(lead < 1e-10)


def test_of_two_that_do_not_cross_one_leaks_least():
    found = choose.compare({"a": ta.Laplace(1), "b": ta.Laplace(2), "c": ta.Laplace(3)})
    assert found.answer() == "c leaks least, at every FPR"
    assert choose.compare({"a": ta.Laplace(1), "b": ta.Laplace(2)}).answer() == (
        "a leaks at least as much as b, at every FPR"
    )


def test_who_leaks_more_in_words():
    found = choose.compare(
        {
            "promise": ta.guarantee(1),
            "response": ta.RandomizedResponse(1),
            "Laplace": LAPLACE,
            "Gaussian": GAUSSIAN,
        }
    )
    words = [str(pair) for pair in found.pairs]
    assert words[0] == "promise allows as much as response leaks, at every FPR"
    assert words[1] == "promise allows at least as much as Laplace leaks, at every FPR"
    assert re.fullmatch(
        r"the curves of promise and Gaussian cross at FPR 0\.\d+ and 0\.\d+: below the first, "
        "Gaussian leaks more; between them, promise; above the second, Gaussian. promise is a "
        "guarantee: the crossings are of what is guaranteed, not of the mechanisms",
        words[2],
    )
    assert words[3] == "response leaks at least as much as Laplace, at every FPR"
    assert words[5] == (
        "the curves of Laplace and Gaussian cross at FPR 0.2366 and 0.3886: below the first, "
        "Gaussian leaks more; between them, Laplace; above the second, Gaussian"
    )
    assert found.answer() == "None of them leaks least at every FPR: some curves cross"
    assert found.pairs[1].gap == 0
    back = ta.gap(LAPLACE.curve(), ta.guarantee(1))
    assert found.pairs[1].gap_back == pytest.approx(back)


def test_crossings_at_error_rates_that_nobody_could_count_are_not_told():
    """The far tail of a curve on the guarantee's side is slack, which crosses anything."""
    poisson = ta.dp_sgd(1.0, 0.1, 10)
    slack = ta.Gaussian(1.0).allocated(10)
    assert min(crossings(poisson.curve(), slack.curve()))[0] < 1e-12
    (pair,) = choose.compare({"Poisson": poisson, "allocated": slack}).pairs
    assert pair.crossings
    assert min(min(crossing) for crossing in pair.crossings) >= 1e-12
    assert len(pair.leaders) == len(pair.crossings) + 1
    assert str(pair).endswith(
        ". allocated is a guarantee: the crossings are of what is guaranteed, not of the mechanisms"
    )


def test_of_two_that_cross_only_there_one_leaks_more():
    (pair,) = choose.compare({"a": ta.guarantee(60, 0), "b": ta.guarantee(50, 1e-30)}).pairs
    assert (pair.crossings, pair.leaders) == ((), ("a",))
    assert str(pair) == "a allows more than b, at every FPR and FNR ≥ 1e-12"


NOTHING, EVERYTHING = ta.guarantee(0), ta.guarantee(0, 1)
# What may be true of a mechanism, beside the curve itself.
EXTREMES = {ta.Bound.LOWER: [NOTHING], ta.Bound.EXACT: [], ta.Bound.UPPER: [EVERYTHING]}
SIDES = [
    (ta.guarantee(0.5), ta.guarantee(2)),
    (ta.Laplace.with_epsilon(0.5).curve(), ta.Laplace.with_epsilon(2).curve()),
    (ta.attack(points=[(0.3, 0.35)]), ta.attack(points=[(0.1, 0.6)])),
]


def may_be(curve):
    return [curve, *EXTREMES[curve.bound]]


def always(more, less):
    """Whether one leaks at least as much as the other, whatever is true of them."""
    return all(dominates(x, y) for x in may_be(more) for y in may_be(less))


@pytest.mark.parametrize("weak", [a for a, _ in SIDES], ids=lambda x: x.bound.name)
@pytest.mark.parametrize("strong", [b for _, b in SIDES], ids=lambda x: x.bound.name)
@pytest.mark.parametrize("third", [None, ta.guarantee(3), ta.Laplace.with_epsilon(3).curve()])
def test_a_bound_is_not_taken_for_a_leak(weak, strong, third):
    """Who "leaks least" does so whatever is true of guarantees and of attacks."""
    assert dominates(strong, weak)
    assert not dominates(weak, strong)
    curves = {"weak": weak, "strong": strong} | ({} if third is None else {"third": third})
    settled = all(always(other, weak) for name, other in curves.items() if name != "weak")
    for order in itertools.permutations(curves):
        said = choose.compare({name: curves[name] for name in order}).brief()
        if settled:
            assert re.match("weak (leaks|allows) least, at every FPR$", said), said
        elif not said.endswith("is open"):
            # The same side of all: what is guaranteed, or what was shown, is compared as such.
            assert "leaks" not in said
            assert re.match("weak (allows|has leaked) least, at every FPR$", said), said


@pytest.mark.parametrize("other", [ta.guarantee(1), ta.guarantee(0.5, 0.1), ta.guarantee(9)])
def test_where_a_guarantee_allows_more_who_leaks_less_is_open(other):
    """Only where the guarantee allows less than the other leaks is the order known."""
    exact = ta.Gaussian(1).curve()
    for names in (("any", "Gaussian"), ("Gaussian", "any")):
        curves = {"any": other, "Gaussian": exact}
        (found,) = choose.compare({name: curves[name] for name in names}).pairs
        assert not found.first_leaks
        assert not found.second_leaks
        said = found.brief()
        assert "Gaussian leaks less" not in said
        assert said.startswith("any allows")
        assert "which leaks less is open" in said


def test_equal_curves_keep_the_verbs_of_their_sides():
    both = {"response": ta.RandomizedResponse(1), "promise": ta.guarantee(1)}
    said = choose.compare(both).brief()
    assert said == "response leaks as much as promise allows, at every FPR"


def test_two_guarantees_that_cross_are_named():
    (pair,) = choose.compare({"a": ta.guarantee(1), "b": ta.guarantee(0.5, 1e-2)}).pairs
    assert ". a and b are guarantees: the crossings are" in str(pair)


def test_the_table_has_every_risk_with_its_side():
    subjects = {"promise": ta.guarantee(1), "Laplace": LAPLACE}
    found = choose.compare(subjects, prior=0.01)
    cells = found.cells()
    assert cells[0] == ("", "without the output", "promise", "Laplace")
    assert ("membership advantage", "0", "≤ 0.4622", "≈ 0.3935") in cells
    assert ("accuracy", "0.9900", "≤ 0.9900", "= 0.9900") in cells
    assert len(cells) == 1 + len(risk.summary(ta.guarantee(1)))
    assert found.gaps()[1][:2] == ("promise", "–")
    assert str(found).splitlines()[-1] == str(found.pairs[0])
    assert found.scopes[0] == "valid for every mechanism with this guarantee"


def test_gaps_are_read_from_row_to_column_and_rounded_up():
    subjects = {"weak": ta.Laplace(2), "strong": LAPLACE, "Gaussian": GAUSSIAN}
    table = choose.compare(subjects).gaps()
    curves = {name: one.curve() for name, one in subjects.items()}
    assert table[0] == ("", *subjects)
    for row in table[1:]:
        for name, cell in zip(subjects, row[1:], strict=True):
            if name == row[0]:
                assert cell == "–"
            else:
                exact = ta.gap(curves[row[0]], curves[name])
                assert exact <= float(cell) <= exact + 1.1e-4
    assert float(table[1][2]) > 0.05  # against the strong one an attacker errs less
    assert float(table[2][1]) == 0


@pytest.mark.parametrize(
    ("subjects", "message"),
    [
        ({1: ta.guarantee(1)}, "subjects must have names that are texts, got 1"),
        (
            {},
            "subjects must map names to mechanisms or curves, as "
            '{"Laplace": ta.Laplace(1)} does, got {}',
        ),
        ({"a": 3}, "subjects['a'] must be a mechanism or a curve, got 3"),
    ],
)
def test_compare_refuses_word_for_word(subjects, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}$"):
        choose.compare(subjects)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (ta.guarantee(1), "valid for every mechanism with this guarantee"),
        (ta.Promise(1), "valid for every mechanism with this guarantee"),
        (LAPLACE, "specific to this mechanism; another (ε, δ) mechanism may leak more"),
        (
            ta.attack(points=[(0.1, 0.3)]),
            "shown by this attack; another attack may do better",
        ),
        (ta.from_pmfs([0.5, 0.5], [0.4, 0.6]), "specific to this pair of distributions"),
    ],
)
def test_for_whom_a_number_holds(subject, words):
    assert scope(subject) == words


# -- frontier -----------------------------------------------------------------------------------


def test_the_frontier_has_error_and_risk():
    found = choose.frontier(ta.Gaussian, [0.5, 2.0], {"advantage": risk.advantage})
    assert (found.parameter, found.measures) == ("sigma", ("advantage",))
    assert [row.deviation for row in found.rows] == [0.5, 2.0]
    assert found.rows[0].margin == pytest.approx(0.5 * 1.959963984540054)
    assert found.rows[1].risks[0] == risk.advantage(ta.Gaussian(2.0).curve())
    assert found.rises == (True,)


def test_what_falls_with_privacy_lost_is_rounded_down():
    found = choose.frontier(
        ta.Laplace.with_epsilon, [1.0], {"error": lambda c: risk.bayes_error(c, prior=0.5)}
    )
    assert found.rises == (False,)
    exact = math.exp(-0.5) / 2
    assert float(found.cells()[1][-1]) == math.floor(exact * 1e4) / 1e4


def test_a_flat_measure_is_still_rounded_to_its_side():
    found = choose.frontier(ta.Laplace.with_epsilon, [0.1, 0.2], {"F1": risk.f_score})
    assert found.rises == (True,)
    assert [row[-1] for row in found.cells()[1:]] == ["0.6667", "0.6667"]


def test_what_an_attack_has_shown_is_rounded_down():
    def family(tpr):
        return ta.attack(points=[(0.1, tpr)])

    found = choose.frontier(family, [0.33333], {"TPR": lambda c: c.tpr(0.1)})
    assert found.bound is ta.Bound.UPPER
    assert found.cells()[1][-1] == "0.3333"


def test_no_zero_is_negative():
    assert choose.frontier(ta.Laplace.with_epsilon, [0]).cells()[1][3] == "0.0000"


def test_what_answers_no_number_has_no_error():
    found = choose.frontier(ta.RandomizedResponse, [1.0])
    assert found.rows[0].deviation is None
    assert found.cells()[1][1:3] == ("–", "–")
    promise = choose.frontier(ta.guarantee, [0.5, 1.0])
    assert promise.scope == "valid for every mechanism with this guarantee"
    assert promise.bound is ta.Bound.LOWER


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: choose.frontier(3, [1.0]),
            "family must be a function from a parameter to a mechanism, got 3",
        ),
        (
            lambda: choose.frontier(ta.Laplace, [1.0], {"a": 3}),
            "measures must map names to functions of a curve, got {'a': 3}",
        ),
        (
            lambda: choose.frontier(ta.Laplace, None),
            "parameters must be a list of numbers, got None",
        ),
        (
            lambda: choose.frontier(ta.Laplace, [1.0], 3),
            "measures must map names to functions of a curve, got 3",
        ),
        (
            lambda: choose.frontier(lambda e: e, [1.0]),
            "what family returns must be a mechanism or a curve, got 1.0",
        ),
    ],
)
def test_the_frontier_refuses_word_for_word(call, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}$"):
        call()


# -- summary ------------------------------------------------------------------------------------


def test_a_summary_reads_what_the_measures_say():
    curve = LAPLACE.curve()
    found = {one.name: one.value for one in risk.summary(curve, prior=0.01, fpr=0.05, weight=2)}
    assert found["membership advantage"] == risk.advantage(curve)
    assert found["TPR at FPR 0.05"] == curve.tpr(0.05)
    assert found["PPV at FPR 0.05"] == risk.ppv(curve, fpr=0.05, prior=0.01)
    assert found["F-score, weight 2"] == risk.f_score(curve, weight=2, prior=0.01)
    assert found["Bayes error"] == risk.bayes_error(curve, prior=0.01)
    assert found["ε at δ = 1e-5"] == curve.epsilon(1e-5)


@pytest.mark.parametrize(
    ("curve", "risks", "error"),
    [
        (ta.guarantee(1), "≤", "≥"),
        (ta.Laplace(1).curve(), "=", "="),
        (ta.attack(points=[(0.01, 0.03)]), "≥", "≤"),
    ],
)
def test_every_reading_has_its_side(curve, risks, error):
    for one in risk.summary(curve):
        assert one.relation == (error if one.key == "bayes_error" else risks)
        assert one.shown[0] in ("=≈" if one.relation == "=" else one.relation)
        safe = float(one.shown.split()[1]) - one.value if one.value < math.inf else 0.0
        if one.relation == "=":  # the nearest
            assert abs(safe) <= 0.5e-4 + 1e-12
        else:
            assert safe >= -1e-12 if one.relation == "≤" else safe <= 1e-12


# -- choice -------------------------------------------------------------------------------------


def test_a_choice_says_for_whom_it_holds():
    limit = choose.at_most(0.9, risk.f_score, weight=1)
    noise = choose.largest(ta.Laplace.with_epsilon, [limit])
    promise = choose.largest(ta.guarantee, [limit])
    assert (noise.rounded(4), promise.rounded(4)) == (3.2088, 2.1972)
    assert noise.scope == "specific to this mechanism; another (ε, δ) mechanism may leak more"
    assert promise.scope == "valid for every mechanism with this guarantee"
    assert str(promise) == (
        "2.19722 (binding constraint: F-score ≤ 0.9, weight 1, prior 0.5; "
        "valid for every mechanism with this guarantee)"
    )
    assert isinstance(noise.subject, ta.Laplace)
    others = {one.name: one.value for one in noise.summary(prior=0.5)}
    assert others["F-score, weight 1"] == pytest.approx(0.9)
