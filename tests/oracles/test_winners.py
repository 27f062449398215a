"""Private selection over many utilities: what the worst case claims, looked for and not beaten."""

import itertools
import math

import numpy as np
import pytest

import tellapart as ta

KINDS = [ta.PermuteAndFlip, ta.ReportNoisyMax]


def laplace_beta(alpha, m):
    """β of two Laplace laws of scale 1 and centres 0 and m: the tail beyond the cut, inverted."""
    alpha = np.asarray(alpha, dtype=float)
    with np.errstate(divide="ignore"):
        cut = np.where(alpha <= 0.5, -np.log(2 * alpha), np.log(2 * (1 - alpha)))
    away = np.clip(m - cut, -800, 800)
    tail = np.exp(-np.abs(away)) / 2
    return np.where(away >= 0, tail, 1 - tail)


def random_utilities(rng, monotone):
    """Ties, near ties, clusters and gaps; moves of the whole sensitivity are common."""
    size = int(rng.integers(2, 9))
    spread = rng.choice([0.0, 0.3, 2.0, 8.0])
    absent = np.round(rng.normal(size=size) * spread, int(rng.integers(0, 4)))
    extremes = [0.0, 1.0] if monotone else [-1.0, 1.0]
    moves = rng.uniform(*extremes, size=size)
    whole = rng.random(size) < rng.choice([0.0, 0.5, 1.0])
    moves[whole] = rng.choice(extremes, size=int(whole.sum()))
    return absent, absent + moves


def all_sets(p, q):
    """(P(S), Q(not S)) of every rejection set."""
    sets = np.array(list(itertools.product([False, True], repeat=len(p))))
    return sets @ p, ~sets @ q


def chances(curve):
    """Masses of the groups of outputs in both worlds, from the corners of the curve."""
    fpr, fnr = curve.vertices()
    return np.diff(fpr), -np.diff(fnr)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_no_utilities_leak_more_than_the_laplace_curve(kind, monotone):
    rng = np.random.default_rng(20240607)
    closest = math.inf
    for _ in range(250):
        epsilon = float(rng.choice([0.05, 0.5, 1.0, 3.0, 8.0]))
        absent, present = random_utilities(rng, monotone)
        mechanism = kind(epsilon, absent, present, monotone=monotone)
        for order in ta.Order:
            alpha, beta = mechanism.curve(order=order).vertices()
            slack = beta - laplace_beta(alpha, epsilon)
            closest = min(closest, float(np.min(slack[1:-1], initial=math.inf)))
            assert np.all(slack >= -1e-14), (epsilon, absent, present)
        assert mechanism.curve().epsilon(0.0) <= epsilon * (1 + 1e-12)
    assert closest < 1e-3  # the search came close enough to have found a violation


@pytest.mark.parametrize("kind", KINDS)
def test_the_worst_case_curve_dominates_every_example(kind):
    rng = np.random.default_rng(7)
    for _ in range(150):
        epsilon = float(rng.choice([0.2, 1.0, 4.0]))
        absent, present = random_utilities(rng, monotone=False)
        worst = kind(epsilon).curve()
        assert ta.dominates(worst, kind(epsilon, absent, present).curve(), tolerance=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_set_of_options_lies_above_the_laplace_curve(kind):
    """The corners are those of the best sets; here all 2^n of them, from the masses."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        absent, present = random_utilities(rng, monotone=False)
        alpha, beta = all_sets(*chances(kind(2.0, absent, present).curve(order=ta.Order.PRESENT)))
        assert np.all(beta >= laplace_beta(np.clip(alpha, 0, 1), 2.0) - 1e-14)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("gap", np.linspace(-3, 3, 25).tolist())
def test_permute_and_flip_with_two_options_touches_the_laplace_curve(epsilon, gap):
    """Utilities (0, gap) against (1, gap − 1): one corner, and it lies on the curve."""
    mechanism = ta.PermuteAndFlip(epsilon, [0.0, gap], [1.0, gap - 1.0])
    worst = ta.PermuteAndFlip(epsilon).curve()
    fpr, fnr = mechanism.curve(order=ta.Order.PRESENT).vertices()
    # The curve is its own mirror image; near 1 a double says little, near 0 a lot.
    alpha, beta = sorted([float(fpr[1]), float(fnr[1])])
    assert worst.beta(alpha) == pytest.approx(beta, rel=1e-12)
    assert float(laplace_beta(alpha, epsilon)) == pytest.approx(beta, rel=1e-12)


def test_two_options_reach_the_whole_laplace_curve():
    """For each FPR there is a gap whose corner is there, so the worst case is exact."""
    reached = []
    for gap in np.linspace(-30, 30, 301):
        curve = ta.PermuteAndFlip(2.0, [0.0, gap], [1.0, gap - 1.0]).curve(order=ta.Order.PRESENT)
        reached.append(float(curve.vertices()[0][1]))
    reached = np.sort(reached)
    assert reached[0] < 1e-12
    assert reached[-1] > 1 - 1e-12
    assert np.max(np.diff(reached)) < 0.1


def test_noisy_max_with_laplace_noise_approaches_the_corners_only():
    """Its bound is attained in the limit at both corners, and strictly missed in between."""
    worst = ta.ReportNoisyMax(2.0).curve()
    assert worst.bound is ta.Bound.LOWER
    ratios = []
    for gap in (2.0, 10.0, 40.0):
        curve = ta.ReportNoisyMax(2.0, [0.0, gap], [1.0, gap - 1.0]).curve(order=ta.Order.PRESENT)
        ratios.append(curve.epsilon(0.0))
    assert ratios == sorted(ratios)
    assert 1.9 < ratios[-1] < 2.0
    middle = ta.ReportNoisyMax(2.0, [0.0, 1.0], [1.0, 0.0]).curve(order=ta.Order.PRESENT)
    alpha, beta = (float(column[1]) for column in middle.vertices())
    assert beta > worst.beta(alpha) + 0.01


@pytest.mark.parametrize("size", [12, 40, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_many_options_still_have_chances(kind, size):
    rng = np.random.default_rng(size)
    absent = rng.normal(size=size) * 4
    curve = kind(1.0, absent, absent + rng.uniform(-1, 1, size)).curve(order=ta.Order.PRESENT)
    p, q = chances(curve)
    assert abs(p.sum() - 1) < 1e-12
    assert abs(q.sum() - 1) < 1e-12
    alpha, beta = curve.vertices()
    assert np.all(beta >= laplace_beta(np.clip(alpha, 0, 1), 1.0) - 1e-13)
