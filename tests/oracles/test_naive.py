"""Slow, naive re-implementations beside the fast code, in exact rational arithmetic.

A pair of laws on n ≤ 7 outcomes has at most 128 rejection sets: try them all. Masses are dyadic
(or small fractions), so that the doubles handed to tellapart are the rationals used here, or
within one rounding of them, and a relative error of 1e-12 is asked everywhere.
"""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import tellapart as ta
from tellapart.curve.region import MechanismRegion
from tellapart.mechanisms.neyman_pearson import plausibly_deniable

RELATIVE = 1e-12
mp = mpmath.MPContext()
mp.dps = 50


# -- the naive side ------------------------------------------------------------------------------


def lower_hull(points):
    """Corners, by rising x, of the largest convex function on [0, 1] under all these points."""
    corners = []
    for point in sorted(set(points)):
        if corners and corners[-1][0] == point[0]:
            continue
        while len(corners) > 1 and _turns_up(corners[-2], corners[-1], point) <= 0:
            corners.pop()
        corners.append(point)
    return corners


def _turns_up(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def height(corners, x):
    """The polygon through these corners at x."""
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        if x0 <= x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    raise AssertionError(x)


class Pair:
    """Two laws on the same few outcomes; answers by trying every rejection set."""

    def __init__(self, p, q):
        self.p, self.q = [Fraction(x) for x in p], [Fraction(x) for x in q]
        self.sets = [
            (sum((self.p[i] for i in s), Fraction(0)), sum((self.q[i] for i in s), Fraction(0)))
            for size in range(len(p) + 1)
            for s in itertools.combinations(range(len(p)), size)
        ]
        self.errors = [(absent, 1 - present) for absent, present in self.sets]
        self.corners = lower_hull(self.errors)

    def swapped(self):
        return Pair(self.q, self.p)

    def curve(self):
        return ta.from_pmfs([float(x) for x in self.p], [float(x) for x in self.q])

    def beta(self, alpha):
        return height(self.corners, Fraction(alpha))

    def delta(self, epsilon):
        grown = mp.exp(mp.mpf(epsilon))
        return max(exactly(present) - grown * exactly(absent) for absent, present in self.sets)

    def epsilon(self, delta):
        return least_epsilon(self.sets, delta)

    def rates(self, threshold):
        grown = mp.exp(mp.mpf(threshold))
        chosen = [exactly(q) > grown * exactly(p) for p, q in zip(self.p, self.q, strict=True)]
        fpr, tpr = (
            sum((x for x, c in zip(law, chosen, strict=True) if c), Fraction(0))
            for law in (self.p, self.q)
        )
        return fpr, tpr, 1 - tpr, 1 - fpr

    def zonotope_area(self):
        both = list(zip(self.p, self.q, strict=True))
        return sum(abs(a[0] * b[1] - a[1] * b[0]) for a, b in itertools.combinations(both, 2))


def exactly(fraction):
    return mp.mpf(fraction.numerator) / fraction.denominator


def least_epsilon(sets, delta):
    """The least ε ≥ 0 with Q(S) ≤ e^ε·P(S) + δ for every set S."""
    delta, ratio = Fraction(delta), Fraction(1)
    for absent, present in sets:
        if present > delta:
            if absent == 0:
                return mp.inf
            ratio = max(ratio, (present - delta) / absent)
    return mp.log(exactly(ratio))


def near(value, wanted, slack=0.0):
    """Equal to a relative error of 1e-12 (and ``slack``, where a difference of terms is meant)."""
    wanted = exactly(wanted) if isinstance(wanted, Fraction) else mp.mpf(wanted)
    if mp.isinf(wanted) or math.isinf(value):
        return wanted == value
    return abs(mp.mpf(value) - wanted) <= RELATIVE * abs(wanted) + slack


# -- random pairs ----------------------------------------------------------------------------


def dyadic_law(chance, size, zeros):
    """Multiples of 2^−40 with sum 1, of very different sizes, some of them 0."""
    weights = [0 if chance.random() < zeros else 2 ** chance.uniform(0, 40) for _ in range(size)]
    if not any(weights):
        weights[chance.randrange(size)] = 1
    whole = 2**40
    parts = [int(whole * w / sum(weights)) for w in weights]
    parts[max(range(size), key=parts.__getitem__)] += whole - sum(parts)
    return [Fraction(part, whole) for part in parts]


def small_law(chance, size):
    weights = [chance.randint(1, 9) for _ in range(size)]
    return [Fraction(w, sum(weights)) for w in weights]


def random_pair(seed):
    chance = random.Random(seed)  # noqa: S311
    size = chance.randint(1, 7)
    if seed % 3 == 0:
        return Pair(small_law(chance, size), small_law(chance, size))
    zeros = 0.25 if seed % 3 == 1 else 0.0
    return Pair(dyadic_law(chance, size, zeros), dyadic_law(chance, size, zeros))


def alphas(seed, corners):
    """Dyadic FPRs: both ends, between, far down, and at the corners of the curve."""
    chance = random.Random(1000 + seed)  # noqa: S311
    some = [Fraction(chance.randrange(2**40), 2**40) for _ in range(12)]
    deep = [Fraction(chance.randrange(1, 2**40), 2**k) for k in (60, 100, 400)]
    exact = [x for x, _ in corners if Fraction(float(x)) == x]
    return [Fraction(0), Fraction(1), *some, *deep, *exact]


def rounding(seed):
    """A law that is not dyadic is rounded before tellapart sees it; sums differ by that."""
    return 2e-15 if seed % 3 == 0 else 0.0


SEEDS = range(60)


# -- one pair --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_beta_and_tpr_are_the_best_over_all_rejection_sets(seed):
    pair = random_pair(seed)
    curve = pair.curve()
    slack = rounding(seed)
    for alpha in alphas(seed, pair.corners):
        wanted = pair.beta(alpha)
        assert near(curve.beta(float(alpha)), wanted, slack), alpha
        assert near(curve.tpr(float(alpha)), 1 - wanted, slack), alpha


@pytest.mark.parametrize("seed", range(2, 60, 6))
def test_beta_keeps_its_digits_where_nearly_everyone_is_accused(seed):
    pair = random_pair(seed)
    chance = random.Random(5000 + seed)  # noqa: S311
    for _ in range(5):
        alpha = 1 - Fraction(chance.randrange(1, 2**10), 2**50)
        assert near(pair.curve().beta(float(alpha)), pair.beta(alpha)), alpha


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mirror_is_the_swapped_pair(seed):
    pair = random_pair(seed)
    mirror, swapped = pair.curve().mirrored(), pair.swapped()
    slack = rounding(seed)
    for alpha in alphas(seed, swapped.corners):
        assert near(mirror.beta(float(alpha)), swapped.beta(alpha), slack), alpha
        assert near(mirror.tpr(float(alpha)), 1 - swapped.beta(alpha), slack), alpha


@pytest.mark.parametrize("seed", SEEDS)
def test_delta_is_the_largest_over_all_sets(seed):
    pair = random_pair(seed)
    curve = pair.curve()
    for epsilon in (-30.0, -3.0, -0.7, -1e-6, 0.0, 1e-6, 0.01, 0.3, 1.1, 2.9, 7.7, 20.1, 40.3):
        assert near(curve.delta(epsilon), pair.delta(epsilon)), epsilon
    singular = max(present for absent, present in pair.sets if absent == 0)
    assert near(curve.delta(math.inf), singular)


@pytest.mark.parametrize("seed", SEEDS)
def test_epsilon_is_the_least_that_covers_all_sets(seed):
    pair = random_pair(seed)
    curve = pair.curve()
    chance = random.Random(2000 + seed)  # noqa: S311
    deltas = [0.0, 1.0, *(2.0 ** -chance.uniform(0, 60) for _ in range(12))]
    for delta in deltas:
        assert near(curve.epsilon(delta), pair.epsilon(delta)), delta


@pytest.mark.parametrize("power", [10, 20, 30, 40, 50])
def test_two_laws_that_nearly_agree_keep_the_digits_of_their_difference(power):
    step = Fraction(1, 2**power)
    p = [Fraction(k, 16) for k in (3, 7, 5, 1)]
    pair = Pair(p, [x + k * step for x, k in zip(p, (1, -1, 2, -2), strict=True)])
    curve = pair.curve()
    assert near(curve.delta(0.0), 3 * step)
    assert near(curve.epsilon(0.0), pair.epsilon(0))
    assert near(curve.epsilon(float(step)), pair.epsilon(step))
    assert near(curve.mirrored().epsilon(0.0), pair.swapped().epsilon(0))


@pytest.mark.parametrize("seed", SEEDS)
def test_rates_are_those_of_the_set_above_the_threshold(seed):
    pair = random_pair(seed)
    curve = pair.curve()
    for threshold in (-33.3, -2.6, -0.51, 0.013, 0.52, 2.7, 12.2, 33.4):
        for rate, wanted in zip(curve.rates(threshold), pair.rates(threshold), strict=True):
            assert near(rate, wanted), threshold
    nothing, everything = curve.rates(math.inf), curve.rates(-math.inf)
    assert nothing == (0, 0, 1, 1)
    mass = [q for p, q in zip(pair.p, pair.q, strict=True) if p > 0 and q == 0]
    outside = sum((p for p, q in zip(pair.p, pair.q, strict=True) if q == 0), Fraction(0))
    assert sum(mass, Fraction(0)) == 0
    assert near(everything.tnr, outside)
    assert near(everything.fnr, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_corners_are_those_of_the_hull_of_all_sets(seed):
    pair = random_pair(seed)
    fpr, fnr = pair.curve().vertices()
    for x, y in pair.corners:
        assert np.min(np.abs(fpr - float(x)) + np.abs(fnr - float(y))) <= 1e-15
    for x, y in zip(fpr, fnr, strict=True):
        assert (x, y) == (0, 1) or near(y, pair.beta(min(Fraction(x), Fraction(1))))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_region_has_the_zonotope_area_and_holds_every_set(seed):
    pair = random_pair(seed)
    region = MechanismRegion(pair.curve())
    assert near(region.area(), pair.zonotope_area())
    assert near(region.curve.area(), (1 - pair.zonotope_area()) / 2)
    errors = np.array([(float(x), float(y)) for x, y in pair.errors])
    assert region.contains(errors[:, 0], errors[:, 1]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_region_contains_exactly_the_hull(seed):
    pair = random_pair(seed)
    region = MechanismRegion(pair.curve())
    chance = random.Random(3000 + seed)  # noqa: S311
    for _ in range(40):
        alpha, beta = (Fraction(chance.randrange(2**30 + 1), 2**30) for _ in range(2))
        inside = pair.beta(alpha) <= beta <= 1 - pair.beta(1 - alpha)
        assert region.contains(float(alpha), float(beta)) is inside
        assert bool(region.failures(float(alpha), float(beta))) is not inside


# -- several pairs ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_symmetrised_is_the_hull_of_both_orders(seed):
    pair = random_pair(seed)
    both = pair.curve().symmetrised()
    corners = lower_hull(pair.errors + [(y, x) for x, y in pair.errors])
    for alpha in alphas(seed, corners):
        assert near(both.beta(float(alpha)), height(corners, alpha)), alpha
        assert near(both.tpr(float(alpha)), 1 - height(corners, alpha)), alpha
    for epsilon in (-2.0, 0.0, 0.4, 1.7, 8.8):
        wanted = max(pair.delta(epsilon), pair.swapped().delta(epsilon))
        assert near(both.delta(epsilon), wanted), epsilon
    for delta in (0.0, 1e-9, 0.01, 0.3):
        wanted = max(pair.epsilon(delta), pair.swapped().epsilon(delta))
        assert near(both.epsilon(delta), wanted), delta


@pytest.mark.parametrize("seed", SEEDS)
def test_worst_case_is_the_hull_of_all_sets_of_all_pairs(seed):
    pairs = [random_pair(10_000 + 7 * seed + k) for k in range(3)]
    worst = ta.worst_case([pair.curve() for pair in pairs])
    corners = lower_hull([error for pair in pairs for error in pair.errors])
    for alpha in alphas(seed, corners):
        assert near(worst.beta(float(alpha)), height(corners, alpha)), alpha
        assert near(worst.tpr(float(alpha)), 1 - height(corners, alpha)), alpha
    for epsilon in (-2.0, 0.0, 0.4, 1.7, 8.8):
        wanted = max(pair.delta(epsilon) for pair in pairs)
        assert near(worst.delta(epsilon), wanted), epsilon
    for delta in (0.0, 1e-9, 0.01, 0.3):
        wanted = max(pair.epsilon(delta) for pair in pairs)
        assert near(worst.epsilon(delta), wanted), delta


def smooth_curves():
    return {
        "laplace": ta.Laplace.with_epsilon(1.3).curve(),
        "gaussian": ta.Gaussian(sigma=1.1).curve(),
        "choice": ta.ExponentialMechanism(2.0).curve(),
        "response": ta.RandomizedResponse(0.9).curve(),
        "promise": ta.guarantee(epsilon=0.8, delta=0.02),
        "plane": ta.PlanarLaplace(1.0, 1.5).curve(),
    }


@pytest.mark.parametrize(
    "names",
    [("laplace", "gaussian"), ("gaussian", "choice", "response"), ("laplace", "promise", "plane")],
)
def test_worst_case_of_smooth_curves_is_the_hull_of_many_points(names):
    curves = [smooth_curves()[name] for name in names]
    worst = ta.worst_case(curves)
    fpr = np.concatenate([np.linspace(0, 1, 8001), np.geomspace(1e-12, 1e-3, 400)])
    points = [(a, b) for curve in curves for a, b in zip(fpr, curve.beta(fpr), strict=True)]
    corners = lower_hull(points)
    asked = np.linspace(0.0005, 0.9995, 57)
    betas = worst.beta(asked)
    hull = np.array([height(corners, x) for x in asked])
    assert np.all(betas <= hull + 1e-13)
    assert np.all(betas >= hull - 2e-7)
    for epsilon in (-1.0, 0.0, 0.6, 1.2):
        assert worst.delta(epsilon) == max(curve.delta(epsilon) for curve in curves)


# -- how two pairs compare -------------------------------------------------------------------


def extended(corners, x):
    return Fraction(0) if x >= 1 else height(corners, x)


def least_shift(a, b):
    """The least κ with f_a(α + κ) − κ ≤ f_b(α) for all α, by halving; both ends."""

    def enough(kappa):
        where = {Fraction(0), Fraction(1), *(x for x, _ in b)}
        where |= {x - kappa for x, _ in a if 0 <= x - kappa <= 1}
        return all(extended(a, x + kappa) - kappa <= height(b, x) for x in where)

    low, high = Fraction(0), Fraction(1)
    if enough(low):
        return low, low
    for _ in range(52):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low, high


@pytest.mark.parametrize("seed", SEEDS)
def test_gap_is_the_least_shift_that_covers_the_other_curve(seed):
    a, b = random_pair(seed), random_pair(20_000 + seed)
    low, high = least_shift(a.corners, b.corners)
    gap = ta.gap(a.curve(), b.curve())
    assert float(low) - 1e-15 <= gap <= float(high) + 1.00001e-10


KNOTS = [1 / (1 + math.exp(0.9)), 0.98 / (1 + math.exp(0.8)), 0.98]  # of the two polygons


@pytest.mark.parametrize("names", list(itertools.permutations(sorted(smooth_curves()), 2)))
def test_gap_of_smooth_curves_by_brute_force(names):
    a, b = (smooth_curves()[name] for name in names)
    alpha = np.concatenate([np.linspace(0, 1, 4001), np.geomspace(1e-9, 1e-3, 100), KNOTS])
    covered = b.beta(alpha)

    def enough(kappa):
        return np.all(a.beta(np.minimum(alpha + kappa, 1.0)) - kappa <= covered + 1e-13)

    low, high = 0.0, 1.0
    if enough(0.0):
        high = 0.0
    for _ in range(40 if high else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    # The brute force sees only its grid, so it may stop short of the truth, never beyond it.
    assert high - 1e-12 <= ta.gap(a, b) <= high + 2e-7


@pytest.mark.parametrize("seed", range(200))
def test_dominates_agrees_with_a_comparison_at_every_corner(seed):
    chance = random.Random(seed)  # noqa: S311
    a, b = random_pair(30_000 + seed), random_pair(40_000 + seed)
    if seed % 2:
        b = garbled(a, chance)
    wanted = all(a.beta(x) <= y for x, y in b.corners)
    assert ta.dominates(a.curve(), b.curve()) is wanted
    assert wanted or seed % 2 == 0
    assert ta.dominates(a.curve(), a.curve())
    reverse = all(b.beta(x) <= y for x, y in a.corners)
    assert ta.dominates(b.curve(), a.curve()) is reverse
    if wanted:
        assert ta.gap(a.curve(), b.curve()) == 0


def garbled(pair, chance):
    """The pair after a random post-processing with dyadic chances."""
    size = len(pair.p)
    rows = []
    for _ in range(size):
        cut = sorted(Fraction(chance.randrange(9), 8) for _ in range(size - 1))
        rows.append([b - a for a, b in itertools.pairwise([Fraction(0), *cut, Fraction(1)])])
    return Pair(
        *(
            [sum(law[i] * rows[i][j] for i in range(size)) for j in range(size)]
            for law in (pair.p, pair.q)
        )
    )


SMOOTH = sorted(smooth_curves())


@pytest.mark.parametrize("names", list(itertools.product(SMOOTH, SMOOTH)))
def test_dominates_agrees_with_a_dense_comparison_of_smooth_curves(names):
    a, b = (smooth_curves()[name] for name in names)
    alpha = np.concatenate([np.linspace(0, 1, 4001), np.geomspace(1e-12, 1e-3, 400)])
    wanted = bool(np.all(a.beta(alpha) <= b.beta(alpha) + 1e-12))
    assert ta.dominates(a, b) is wanted


# -- promises and attacks --------------------------------------------------------------------


def promised(pairs, alpha):
    """β and TPR of the largest of the curves f_{ε,δ}, each from its definition."""
    beta, tpr = mp.mpf(0), mp.mpf(1)
    for epsilon, delta in pairs:
        grown, a, d = mp.exp(mp.mpf(epsilon)), mp.mpf(alpha), mp.mpf(delta)
        beta = max(beta, 1 - d - grown * a, (1 - d - a) / grown)
        tpr = min(tpr, d + grown * a, 1 - (1 - d - a) / grown)
    return beta, tpr


def some_promises(chance, seed):
    deep = 4 if seed % 2 else 30
    pairs = [
        (chance.choice([0.0, chance.uniform(0, deep)]), 10 ** -chance.uniform(0, 3 * deep / 4))
        for _ in range(chance.randint(1, 6))
    ]
    return [*pairs, (chance.uniform(0, deep), 0.0)] if seed % 4 == 0 else pairs


@pytest.mark.parametrize("seed", range(40))
def test_promises_that_hold_together_give_the_largest_of_their_curves(seed):
    chance = random.Random(seed)  # noqa: S311
    pairs = some_promises(chance, seed)
    curve = ta.guarantee(pairs=pairs)
    for alpha in [0.0, 0.5, 1e-300, 1e-20, *(2 ** -chance.uniform(0, 60) for _ in range(20))]:
        beta, tpr = promised(pairs, alpha)
        assert near(curve.beta(alpha), beta), (pairs, alpha)
        assert near(curve.tpr(alpha), tpr), (pairs, alpha)


def test_whoever_accuses_everyone_misses_no_one():
    for seed in range(40):
        chance = random.Random(seed)  # noqa: S311
        curve = ta.guarantee(pairs=some_promises(chance, seed))
        assert (seed, curve.beta(1.0)) == (seed, 0)
        assert near(curve.tpr(1.0), 1)


@pytest.mark.parametrize("seed", range(40))
def test_an_attack_is_the_hull_of_its_points_and_of_the_opposite_answers(seed):
    chance = random.Random(seed)  # noqa: S311
    points = sorted(
        (Fraction(chance.randrange(2**20 + 1), 2**20), Fraction(chance.randrange(2**20), 2**20))
        for _ in range(chance.randint(1, 8))
    )
    curve = ta.attack(points=[(float(x), float(y)) for x, y in points])
    errors = [(x, 1 - y) for x, y in points] + [(1 - x, y) for x, y in points]
    corners = lower_hull([(Fraction(0), Fraction(1)), (Fraction(1), Fraction(0)), *errors])
    assert curve.bound is ta.Bound.UPPER
    for alpha in alphas(seed, corners):
        assert near(curve.beta(float(alpha)), height(corners, alpha)), alpha
        assert near(curve.tpr(float(alpha)), 1 - height(corners, alpha)), alpha


@pytest.mark.parametrize("seed", range(40))
def test_a_privacy_region_is_its_four_half_planes(seed):
    chance = random.Random(seed)  # noqa: S311
    epsilon = chance.choice([0.0, chance.uniform(0, 4)])
    delta = chance.choice([0.0, chance.uniform(0, 0.5)])
    region, grown = ta.PrivacyRegion(epsilon, delta), mp.exp(mp.mpf(epsilon))
    for _ in range(60):
        fpr, fnr = chance.random(), chance.random()
        a, b, d = mp.mpf(fpr), mp.mpf(fnr), mp.mpf(delta)
        sides = [(1 - a, b), (1 - b, a), (a, 1 - b), (b, 1 - a)]
        broken = sorted((x - grown * y - d for x, y in sides if x > grown * y + d), reverse=True)
        assert region.contains(fpr, fnr) is (not broken)
        excesses = [failure.excess for failure in region.failures(fpr, fnr)]
        assert len(excesses) == len(broken)
        assert all(near(x, y) for x, y in zip(excesses, broken, strict=True))


# -- plausible deniability -------------------------------------------------------------------


def deniable(likelihoods, record, ratio, k):
    """Some set of at least k records that holds this one spans a factor of at most the ratio."""
    others = [i for i in range(len(likelihoods)) if i != record]
    if len(likelihoods) <= k:
        return False
    for size in range(len(others) + 1):
        for rest in itertools.combinations(others, size):
            values = [likelihoods[i] for i in (record, *rest)]
            if len(values) >= k and min(values) > 0 and max(values) <= ratio * min(values):
                return True
    return False


@pytest.mark.parametrize("seed", range(150))
def test_plausible_deniability_by_all_subsets(seed):
    chance = random.Random(seed)  # noqa: S311
    size = chance.randint(1, 7)
    # Tenths: ties at the ratio are common, and hold although 3·0.1 > 0.3 in doubles.
    likelihoods = [Fraction(chance.choice([0, *range(1, 11)]), 10) for _ in range(size)]
    ratio = Fraction(chance.choice([10, 15, 20, 30, 50]), 10)
    for record in range(size):
        for k in range(1, size + 1):
            answer = plausibly_deniable(
                [float(x) for x in likelihoods], record=record, ratio=float(ratio), k=k
            )
            assert answer is deniable(likelihoods, record, ratio, k), (
                likelihoods,
                record,
                ratio,
                k,
            )
