"""The privacy region: four half-planes, eight corners, one area."""

import dataclasses
import math
import re

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve.region import Failure, MechanismRegion

NAN, INF, E = math.nan, math.inf, math.e
LAPLACE = ta.Laplace.with_epsilon(1).curve()
POLYGON = ta.from_pmfs([0.5, 0.3, 0.2], [0.1, 0.2, 0.7])

HINT = "be a TradeoffCurve (a mechanism's is mechanism.curve())"
BAD = [
    (lambda: ta.PrivacyRegion(-1), "epsilon must be finite and at least 0, got -1"),
    (lambda: ta.PrivacyRegion(INF), "epsilon must be finite and at least 0, got inf"),
    (lambda: ta.PrivacyRegion(NAN), "epsilon must not be NaN, got nan"),
    (lambda: ta.PrivacyRegion("1"), "epsilon must be a number, got '1'"),
    (lambda: ta.PrivacyRegion(None), "epsilon must be a number, got None"),
    (lambda: ta.PrivacyRegion(True), "epsilon must be a number, got True"),
    (lambda: ta.PrivacyRegion(1, 1.5), "delta must lie in [0, 1], got 1.5"),
    (lambda: ta.PrivacyRegion(1, -0.1), "delta must lie in [0, 1], got -0.1"),
    (lambda: ta.PrivacyRegion(1, NAN), "delta must not be NaN, got nan"),
    (lambda: ta.PrivacyRegion(1).contains(2, 0.1), "fpr must lie in [0, 1], got 2.0"),
    (lambda: ta.PrivacyRegion(1).contains(0.1, -1), "fnr must lie in [0, 1], got -1.0"),
    (lambda: ta.PrivacyRegion(1).contains(NAN, 0.1), "fpr must not contain NaN, got nan"),
    (
        lambda: ta.PrivacyRegion(1).contains("a", 0.1),
        "fpr must be a number or an array of numbers, got 'a'",
    ),
    (
        lambda: ta.PrivacyRegion(1).contains(0.1, None),
        "fnr or tpr must be given, and only one of them, got (None, None)",
    ),
    (lambda: ta.PrivacyRegion(1).failures([0.1], 0.1), "fpr must be a number, got [0.1]"),
    (
        lambda: ta.PrivacyRegion(1).failures(0.1, 0.2, tpr=0.8),
        "fnr or tpr must be given, and only one of them, got (0.2, 0.8)",
    ),
    (lambda: ta.PrivacyRegion(1).failures(0.1, tpr="x"), "tpr must be a number, got 'x'"),
    (lambda: ta.PrivacyRegion(1).failures(1.1, 0), "fpr must lie in [0, 1], got 1.1"),
    (lambda: MechanismRegion(None), f"curve must {HINT}, got None"),
    (lambda: MechanismRegion(3), f"curve must {HINT}, got 3"),
    (lambda: MechanismRegion(LAPLACE).contains(2, 0.1), "fpr must lie in [0, 1], got 2.0"),
    (lambda: MechanismRegion(LAPLACE).contains(0.1, NAN), "fnr must not contain NaN, got nan"),
    (lambda: MechanismRegion(LAPLACE).failures(0.1, 2), "fnr must lie in [0, 1], got 2"),
    (lambda: MechanismRegion(LAPLACE).failures([0.1], 0), "fpr must be a number, got [0.1]"),
    (lambda: MechanismRegion(LAPLACE).boundary(2), "points must be at least 3, got 2"),
    (lambda: MechanismRegion(LAPLACE).boundary(9.5), "points must be a whole number, got 9.5"),
    (lambda: MechanismRegion(LAPLACE).boundary("9"), "points must be a whole number, got '9'"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input_is_refused_word_for_word(call, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        call()


@pytest.mark.parametrize("region", [ta.PrivacyRegion(1), MechanismRegion(LAPLACE)])
def test_rates_of_different_length_are_refused(region):
    message = "fnr must fit the shape of fpr (2,), got (3,)"
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        region.contains([0.1, 0.2], [0.1, 0.2, 0.3])


# -- the four half-planes -----------------------------------------------------------------------

BROKEN = [
    ("TNR ≤ e^ε·FNR + δ", (0.4, 0.1), 0.6 - 0.1 * E - 0.05),
    ("TPR ≤ e^ε·FPR + δ", (0.1, 0.4), 0.6 - 0.1 * E - 0.05),
    ("FPR ≤ e^ε·TPR + δ", (0.6, 0.9), 0.6 - 0.1 * E - 0.05),
    ("FNR ≤ e^ε·TNR + δ", (0.9, 0.6), 0.6 - 0.1 * E - 0.05),
]


@pytest.mark.parametrize(("inequality", "point", "excess"), BROKEN)
def test_each_half_plane_is_named_when_it_alone_fails(inequality, point, excess):
    region = ta.PrivacyRegion(epsilon=1, delta=0.05)
    (failure,) = region.failures(*point)
    assert failure.inequality == inequality
    assert failure.excess == pytest.approx(excess, rel=1e-12)
    assert type(failure.excess) is float
    assert str(failure) == f"{inequality} fails by {excess:.4g}"
    assert region.contains(*point) is False


def test_the_worst_failure_comes_first():
    failures = ta.PrivacyRegion(epsilon=1, delta=0.05).failures(fpr=0.3, fnr=0.05)
    assert [one.inequality for one in failures] == ["TNR ≤ e^ε·FNR + δ", "TPR ≤ e^ε·FPR + δ"]
    assert [one.excess for one in failures] == pytest.approx(
        [0.65 - 0.05 * E, 0.9 - 0.3 * E], rel=1e-12
    )
    swapped = ta.PrivacyRegion(epsilon=1, delta=0.05).failures(fpr=0.05, fnr=0.3)
    assert [one.inequality for one in swapped] == ["TPR ≤ e^ε·FPR + δ", "TNR ≤ e^ε·FNR + δ"]


def test_inside_nothing_fails():
    region = ta.PrivacyRegion(epsilon=1, delta=0.05)
    assert region.failures(0.5, 0.5) == ()
    assert region.contains(0.5, 0.5) is True


@pytest.mark.parametrize("epsilon", [0, 0.3, 2, 30])
@pytest.mark.parametrize("delta", [0, 1e-6, 0.2, 1])
def test_the_region_lies_between_the_claim_and_its_image(epsilon, delta):
    region, claim = ta.PrivacyRegion(epsilon, delta), ta.guarantee(epsilon, delta)
    fpr, fnr = np.random.default_rng(1).random((2, 4000))
    between = (fnr >= claim.beta(fpr)) & (fnr <= claim.tpr(1 - fpr))
    assert np.array_equal(region.contains(fpr, fnr), between)


@pytest.mark.parametrize("epsilon", [0, 1e-9, 0.3, 2])
@pytest.mark.parametrize("delta", [0, 1e-6, 0.2, 1])
def test_the_corners_belong_to_the_region_and_points_just_outside_do_not(epsilon, delta):
    region = ta.PrivacyRegion(epsilon, delta)
    corners = region.vertices()
    assert region.contains(*corners.T).all()
    knot = corners[2, 0]
    if knot > 0:
        assert not region.contains(knot * (1 - 1e-9), knot * (1 - 1e-9))


def test_contains_broadcasts():
    region = ta.PrivacyRegion(1)
    grid = region.contains(np.linspace(0, 1, 3)[:, None], np.linspace(0, 1, 5))
    assert grid.shape == (3, 5)
    assert grid.dtype == bool
    assert region.contains([0.5, 0.0], 0.5).tolist() == [True, False]
    assert region.contains([], []).shape == (0,)
    assert type(region.contains(np.array(0.5), 0.5)) is bool


def test_corners_run_counter_clockwise_from_the_top_left():
    e, d = 1.0, 0.1
    knot = 0.9 / (1 + E)
    corners = ta.PrivacyRegion(e, d).vertices()
    expected = [
        (0, 1),
        (0, 0.9),
        (knot, knot),
        (0.9, 0),
        (1, 0),
        (1, 0.1),
        (1 - knot, 1 - knot),
        (0.1, 1),
    ]
    assert corners == pytest.approx(np.array(expected), abs=1e-15)


def shoelace(points):
    """Signed area: positive for a counter-clockwise walk."""
    x, y = points.T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2


@pytest.mark.parametrize("epsilon", [0, 0.5, 3, 40])
@pytest.mark.parametrize("delta", [0, 0.01, 0.5, 1])
def test_the_area_is_that_of_the_polygon(epsilon, delta):
    region = ta.PrivacyRegion(epsilon, delta)
    formula = 1 - 2 * (1 - delta) ** 2 / (1 + math.exp(epsilon))
    assert region.area() == pytest.approx(formula, abs=1e-15)
    assert shoelace(region.vertices()) == pytest.approx(region.area(), abs=1e-14)


def test_perfect_privacy_is_the_segment():
    region = ta.PrivacyRegion(0)
    assert region.area() == 0
    fpr = np.linspace(0, 1, 101)
    assert region.contains(fpr, 1 - fpr).all()
    assert not region.contains(fpr[1:-1], np.clip(1 - fpr[1:-1] - 1e-6, 0, 1)).any()
    assert not region.contains(fpr[1:-1], np.clip(1 - fpr[1:-1] + 1e-6, 0, 1)).any()


def test_no_privacy_is_the_square():
    region = ta.PrivacyRegion(0, delta=1)
    assert region.area() == 1
    grid = np.linspace(0, 1, 11)
    assert region.contains(grid[:, None], grid).all()


@pytest.mark.parametrize("epsilon", [700, 800, 5000])
def test_a_huge_epsilon_still_forbids_certainty(epsilon):
    """Only (0, 0) and what lies within e^−ε of the two forbidden corners is left out."""
    region = ta.PrivacyRegion(epsilon)
    assert region.contains(0.0, 0.0) is False
    assert region.contains(1.0, 1.0) is False
    assert region.contains(0.5, 1e-300) is (epsilon > 690)
    assert region.contains(0.5, 0.5) is True
    assert region.area() == 1
    assert [one.excess for one in region.failures(0.0, 0.0)] == [1.0, 1.0]


def test_regions_are_frozen_and_clean():
    region = ta.PrivacyRegion(1)
    assert (type(region.epsilon), type(region.delta)) == (float, float)
    assert repr(region) == "PrivacyRegion(epsilon=1.0, delta=0.0)"
    assert region == ta.PrivacyRegion(1.0, 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        region.epsilon = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        MechanismRegion(LAPLACE).curve = None


def test_a_failure_is_a_pair():
    assert Failure("a ≤ b", 0.25) == ("a ≤ b", 0.25)
    assert str(Failure("a ≤ b", 0.123456)) == "a ≤ b fails by 0.1235"


# -- the region of a mechanism ------------------------------------------------------------------


def test_a_mechanism_lies_in_the_region_it_promises():
    promised = ta.PrivacyRegion(1)
    assert promised.contains(*MechanismRegion(LAPLACE).boundary(401).T).all()


def test_the_two_sides_are_named():
    region = MechanismRegion(LAPLACE)
    (low,) = region.failures(fpr=0.1, fnr=0.1)
    assert low.inequality == "FNR ≥ β(FPR)"
    assert low.excess == pytest.approx(LAPLACE.beta(0.1) - 0.1, rel=1e-12)
    (high,) = region.failures(fpr=0.9, fnr=0.9)
    assert high.inequality == "FNR ≤ 1 − β(TNR)"
    assert high.excess == pytest.approx(LAPLACE.beta(0.1) - 0.1, rel=1e-12)
    assert region.failures(0.5, 0.5) == ()
    assert region.contains(0.5, 0.5) is True
    assert region.contains(0.1, 0.1) is False


def inwards(fpr, fnr):
    """A point on the boundary, moved towards the centre by more than rounding."""
    return fpr + 1e-13 * (0.5 - fpr), fnr + 1e-13 * (0.5 - fnr)


def test_contains_of_a_mechanism_broadcasts(curve):
    region = MechanismRegion(curve)
    fpr = np.linspace(0, 1, 7)
    assert region.contains(*inwards(fpr, curve.beta(fpr))).all()
    assert region.contains(*inwards(fpr, 1 - curve.beta(1 - fpr))).all()
    assert region.contains(fpr, 1 - fpr).all()
    assert region.contains(fpr[:, None], fpr).shape == (7, 7)
    assert type(region.contains(0.5, 0.5)) is bool


def test_an_ordered_pair_has_a_lopsided_region():
    """Its region is symmetric about the centre, not about the diagonal."""
    region = MechanismRegion(POLYGON)
    assert region.contains(0.2, 0.3)
    assert not region.contains(0.3 - 1e-9, 0.2 - 1e-9)
    assert region.contains(0.8, 0.7)


def test_the_corners_of_a_polygon():
    region = MechanismRegion(POLYGON)
    expected = [(0, 1), (0.2, 0.3), (0.5, 0.1), (1, 0), (0.8, 0.7), (0.5, 0.9)]
    assert region.vertices() == pytest.approx(np.array(expected), abs=1e-15)
    assert shoelace(region.vertices()) == pytest.approx(region.area(), abs=1e-15)


def test_the_area_of_a_polygon_is_that_of_its_zonotope():
    p, q = [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]
    zonotope = sum(abs(p[i] * q[j] - p[j] * q[i]) for i in range(3) for j in range(i + 1, 3))
    assert MechanismRegion(POLYGON).area() == pytest.approx(zonotope, abs=1e-15)


def test_the_areas_that_have_formulas():
    laplace, gaussian = LAPLACE, ta.Gaussian(0.5).curve()
    assert MechanismRegion(laplace).area() == pytest.approx(1 - 3 / (2 * E), abs=1e-15)
    normal_tail = math.erfc(2 / 2) / 2  # Φ(−μ/√2) at μ = 2
    assert MechanismRegion(gaussian).area() == pytest.approx(1 - 2 * normal_tail, abs=1e-14)
    assert MechanismRegion(ta.guarantee(mu=0)).area() == 0
    assert MechanismRegion(ta.guarantee(mu=INF)).area() == 1


def test_the_boundary_runs_counter_clockwise_from_the_top_left(curve):
    region = MechanismRegion(curve)
    walk = region.boundary(points=101)
    assert walk.shape == (204, 2)
    assert walk[0].tolist() == [0, 1]
    assert walk[-1] == pytest.approx([0, 1], abs=1e-14)
    assert region.contains(*inwards(*walk.T)).all()
    # Chords of a convex region lie inside it, so the walk's area is never too large.
    assert -1e-12 <= shoelace(walk) <= region.area() + 1e-12
    assert shoelace(walk) == pytest.approx(region.area(), abs=3e-3)


def test_a_smooth_region_has_no_corners():
    message = "this region is smooth and has no corners; ask for its boundary(...)"
    with pytest.raises(ta.Unsupported, match=f"^{re.escape(message)}\\Z"):
        MechanismRegion(LAPLACE).vertices()


@pytest.mark.parametrize(
    "polygon", [ta.guarantee(1, 0.1), ta.RandomizedResponse(700).curve()], ids=["claim", "response"]
)
def test_every_polygon_has_corners(polygon):
    """A claim's region is a polygon with eight corners, randomised response's has four."""
    corners = MechanismRegion(polygon).vertices()
    assert shoelace(corners) == pytest.approx(MechanismRegion(polygon).area(), abs=1e-12)


def test_corners_and_boundaries_belong_to_the_caller():
    region = MechanismRegion(POLYGON)
    for fresh in (region.vertices, region.boundary, ta.PrivacyRegion(1).vertices):
        before = fresh().copy()
        fresh()[:] = 7.0
        assert np.array_equal(fresh(), before)


def test_tiny_rates_keep_their_digits_if_the_tpr_is_given():
    region = ta.PrivacyRegion(1)
    assert region.contains(fpr=1e-20, tpr=1e-20)
    (failure,) = region.failures(fpr=1e-20, tpr=1e-19)
    assert failure.inequality == "TPR ≤ e^ε·FPR + δ"
    assert failure.excess == pytest.approx(1e-19 - math.e * 1e-20, rel=1e-9)
    assert region.contains(fpr=[0.1, 0.2], tpr=[0.9, 0.3]).tolist() == [False, True]
