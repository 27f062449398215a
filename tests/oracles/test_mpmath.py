"""Every mechanism against 40 and more digits, computed here from the definition of its density.

Demanded: a relative error of 1e-12 in β, TPR, δ, ε and all four rates, down to values of 1e-300;
each is compared on its own, so none may be one minus another.
"""

import functools
import itertools
import math

import highprecision as exact
import mpmath
import numpy as np
import pytest

import tellapart as ta

RELATIVE = 1e-12
SMALLEST = 1e-305  # below it a double has no digits to speak of
mp = exact.mp

FPRS = [1e-300, 1e-200, 1e-100, 1e-40, 1e-20, 1e-9, 1e-4, 0.013, 0.1, 0.27, 0.46, 0.61, 0.85, 0.97]
TPRS = [1e-20, 1e-9, 1e-4, 0.013, 0.1, 0.27, 0.46, 0.61, 0.85, 0.97]
NEARLY_ALL = [1 - 2.0**-k for k in (10, 20, 30, 40, 50)]
DELTAS = [0.0, 1e-250, 1e-150, 1e-50, 1e-20, 1e-10, 1e-5, 1e-2, 0.2, 0.6]


def error(value, wanted):
    """The relative error of a double; 0 where both vanish."""
    wanted = mp.mpf(wanted)
    if not math.isfinite(value):
        return mp.inf if value != wanted else mp.mpf(0)
    return max(mp.mpf(0), abs(mp.mpf(value) - wanted) - SMALLEST) / max(abs(wanted), SMALLEST)


# Chances found by quadrature, and bridges between two polygons, are sums of numbers near 1: at
# ε = 1e-8 their differences are right to a few ulp of 1, not of themselves.
ROUNDED = {"permute-and-flip-tiny": 2e-15, "noisy-max-tiny": 2e-15, "exponential-tiny": 2e-15}


def assert_close(rows, floor=0.0):
    """Rows of (what, found, wanted); shows all that miss."""
    missed = [
        f"{what}: found {value!r}, wanted {mpmath.nstr(wanted, 20)}, "
        f"relative error {mpmath.nstr(error(value, wanted), 3)}"
        for what, value, wanted in rows
        if error(value, wanted) > RELATIVE and not abs(mp.mpf(value) - wanted) <= floor
    ]
    assert not missed, "\n".join(missed)


# -- the cases: a mechanism and its reference ------------------------------------------------


def laplace(scale, sensitivity):
    mechanism = ta.Laplace(scale, sensitivity)
    return mechanism, lambda: exact.LaplaceShift(mp.mpf(sensitivity) / mp.mpf(scale))


def gaussian(sigma, sensitivity):
    mechanism = ta.Gaussian(sigma, sensitivity)
    return mechanism, lambda: exact.GaussianShift(mp.mpf(sensitivity) / mp.mpf(sigma))


def last_iterate(step_size, steps, convexity):
    """As the record's moves and the noise add up, step by step."""
    mechanism = ta.LastIterate(
        0.5,
        steps,
        step_size=step_size,
        strong_convexity=convexity,
        smoothness=convexity,
        gradient_sensitivity=1.0,
        batch_size=4,
        data_size=4,
    )

    def reference():
        shrink = 1 - mp.mpf(step_size) * mp.mpf(convexity)
        powers = [shrink**k for k in range(steps)]
        return exact.GaussianShift(
            mp.fsum(powers) / mp.sqrt(mp.fsum(power**2 for power in powers)) / 2
        )

    return mechanism, reference


def truncated(scale, cutoff, sensitivity):
    mechanism = ta.TruncatedLaplace(scale, cutoff, sensitivity)
    unit = mp.mpf(scale)
    return mechanism, lambda: exact.TruncatedLaplaceShift(sensitivity / unit, cutoff / unit)


def discrete_laplace(scale, sensitivity):
    mechanism = ta.DiscreteLaplace(scale, sensitivity)
    return mechanism, lambda: exact.DiscreteLaplaceLattice(scale, sensitivity)


def discrete_gaussian(sigma, sensitivity, summed=True):
    mechanism = ta.DiscreteGaussian(sigma, sensitivity)
    return mechanism, lambda: exact.DiscreteGaussianLattice(sigma, sensitivity, summed)


def staircase(epsilon, sensitivity, fraction=None):
    """The fraction left out has the least mean size of noise, 1/(1 + e^(ε/2))."""
    best = 1 / (1 + exact.deep.exp(exact.deep.mpf(epsilon) / 2))
    share = best if fraction is None else fraction
    mechanism = ta.Staircase(epsilon, sensitivity, fraction)
    return mechanism, lambda: exact.staircase_pair(epsilon, sensitivity, share)


def uniform(width, atom, sensitivity):
    """Both atoms, the ends that one world alone can reach, and the overlap."""

    def reference():
        spread, own = 1 - exact.deep.mpf(atom), exact.deep.mpf(sensitivity) / width
        p = [atom, 0, spread * own, 0, spread * (1 - own)]
        return exact.Pair(p, [p[1], p[0], p[3], p[2], p[4]])

    return ta.UniformNoise(width, atom, sensitivity), reference


def response(epsilon, categories):
    """The k − 2 answers that are false in both worlds count as one."""

    def reference():
        odds = exact.deep.exp(exact.deep.mpf(epsilon))
        return exact.Pair([odds, 1, categories - 2], [1, odds, categories - 2])

    return ta.RandomizedResponse(epsilon, categories), reference


def unary(mechanism, keep, flip):
    """The bits of the two values in question; all other bits have one law."""

    def reference():
        p, q = exact.deep.mpf(keep()), exact.deep.mpf(flip())
        return exact.Pair(
            [p * (1 - q), (1 - p) * q, p * q, (1 - p) * (1 - q)],
            [(1 - p) * q, p * (1 - q), p * q, (1 - p) * (1 - q)],
        )

    return mechanism, reference


def plain_unary(keep, flip):
    return unary(ta.UnaryEncoding(keep, flip), lambda: keep, lambda: flip)


def symmetric_unary(epsilon):
    mechanism = ta.UnaryEncoding.symmetric(epsilon)
    return unary(mechanism, lambda: 1 - exact.deep.mpf(mechanism.flip), lambda: mechanism.flip)


def optimised_unary(epsilon):
    mechanism = ta.UnaryEncoding.optimised(epsilon)
    return unary(mechanism, lambda: mechanism.keep, lambda: mechanism.flip)


def selection(kind, chances, epsilon, absent, present, sensitivity=1.0, monotone=False, **options):
    mechanism = kind(epsilon, absent, present, sensitivity, monotone, **options)

    def reference():
        rate = exact.deep.mpf(epsilon) / sensitivity / (1 if monotone else 2)
        return exact.Pair(*(chances([rate * u for u in world]) for world in (absent, present)))

    return mechanism, reference


exponential = functools.partial(selection, ta.ExponentialMechanism, exact.softmax)
flip = functools.partial(selection, ta.PermuteAndFlip, exact.permute_and_flip)
noisy_max = functools.partial(selection, ta.ReportNoisyMax, exact.laplace_max)
gumbel = functools.partial(selection, ta.ReportNoisyMax, exact.softmax, noise=ta.MaxNoise.GUMBEL)


def custom(p, q):
    return ta.CustomMechanism.from_pmfs(p, q), lambda: exact.Pair(p, q)


def partition_selection(epsilon, delta):
    """A key that n people have against n + 1, with the largest chances that (ε, δ) allows."""

    def reference():
        grown, d = exact.deep.exp(exact.deep.mpf(epsilon)), exact.deep.mpf(delta)
        shown = [exact.deep.mpf(0)]
        while shown[-1] < 1:
            last = shown[-1]
            shown.append(min(grown * last + d, 1 - (1 - last - d) / grown, exact.deep.mpf(1)))
        return exact.Pairs([([a, 1 - a], [b, 1 - b]) for a, b in itertools.pairwise(shown)])

    return ta.PartitionSelection(epsilon, delta), reference


def promise(epsilon, delta):
    """The worst that keeps it: all is revealed with chance δ, else a coin of odds e^ε."""

    def reference():
        odds, d = exact.deep.exp(exact.deep.mpf(epsilon)), exact.deep.mpf(delta)
        masses = [d, (1 - d) * odds / (1 + odds), (1 - d) / (1 + odds), exact.deep.mpf(0)]
        return exact.Pair(masses, masses[::-1])

    return ta.Promise(epsilon, delta), reference


def worst_choice(epsilon):
    return ta.ExponentialMechanism(epsilon), lambda: exact.TwoOutputs(epsilon)


FIVE = ([0.0, 1.0, 2.5, 2.0, -1.0], [1.0, 0.5, 1.5, 2.25, -1.0])
GROWN = ([0.0, 1.0, 2.5, 2.0], [1.0, 1.0, 2.75, 3.0])
FAR = ([0.0, 30.0, 12.0], [1.0, 29.0, 12.5])

CASES = {
    "laplace-1": laplace(1.0, 1.0),
    "laplace-tiny": laplace(1.0, 1e-8),
    "laplace-third": laplace(3.0, 1.0),
    "laplace-50": laplace(1.0, 50.0),
    "laplace-800": laplace(0.5, 400.0),
    "gaussian-1e-8": gaussian(1.0, 1e-8),
    "gaussian-1e-3": gaussian(1000.0, 1.0),
    "gaussian-0.0999": gaussian(1.0, 0.0999),
    "gaussian-0.1001": gaussian(1.0, 0.1001),
    "gaussian-1": gaussian(1.0, 1.0),
    "gaussian-5": gaussian(0.2, 1.0),
    "gaussian-30": gaussian(0.5, 15.0),
    "truncated-long": truncated(1.0, 20.0, 1.0),
    "truncated-short": truncated(2.0, 3.0, 1.0),
    "truncated-below-shift": truncated(1.0, 1.5, 2.0),
    "truncated-barely": truncated(1.0, 1.0, 1.9),
    "truncated-50": truncated(1.0, 70.0, 50.0),
    "truncated-800": truncated(1.0, 900.0, 800.0),
    "truncated-tiny": truncated(1.0, 5.0, 1e-7),
    "discrete-laplace-1": discrete_laplace(1.0, 1),
    "discrete-laplace-7": discrete_laplace(4.0, 7),
    "discrete-laplace-small": discrete_laplace(1e6, 3),
    "discrete-laplace-50": discrete_laplace(0.125, 6),
    "discrete-laplace-800": discrete_laplace(0.0125, 10),
    "discrete-gaussian-0.3": discrete_gaussian(0.3, 1),
    "discrete-gaussian-1": discrete_gaussian(1.0, 1),
    "discrete-gaussian-1-by-3": discrete_gaussian(1.0, 3),
    "discrete-gaussian-50": discrete_gaussian(50.0, 20),
    "discrete-gaussian-900": discrete_gaussian(900.0, 1),
    "discrete-gaussian-1500": discrete_gaussian(1500.0, 1),
    "discrete-gaussian-1500-by-1000": discrete_gaussian(1500.0, 1000),
    "discrete-gaussian-1e6": discrete_gaussian(1e6, 1, summed=False),
    "promise-pure": promise(1.0, 0.0),
    "promise-1e-6": promise(0.5, 1e-6),
    "promise-half": promise(3.0, 0.5),
    "staircase-default": staircase(1.0, 1.0),
    "staircase-low": staircase(1.0, 2.0, 0.1),
    "staircase-below-half": staircase(2.0, 1.0, 0.49),
    "staircase-half": staircase(2.0, 1.0, 0.5),
    "staircase-above-half": staircase(0.5, 3.0, 0.6),
    "staircase-high": staircase(3.0, 1.0, 0.95),
    "staircase-one": staircase(1.0, 1.0, 1.0),
    "staircase-50": staircase(50.0, 1.0),
    "staircase-700": staircase(700.0, 1.0, 0.7),
    "staircase-small": staircase(0.125, 1.0),
    "uniform": uniform(4.0, 0.0, 1.0),
    "uniform-atom": uniform(8.0, 0.25, 1.0),
    "uniform-atom-narrow": uniform(1.5, 0.125, 1.0),
    "response-2": response(1.0, 2),
    "response-3": response(0.5, 3),
    "response-10": response(2.0, 10),
    "response-million": response(1.0, 10**6),
    "response-milliard": response(1.0, 10**9),
    "response-tiny": response(1e-8, 2),
    "response-50": response(50.0, 4),
    "response-600": response(600.0, 2),
    "response-800": response(800.0, 5),
    "unary": plain_unary(0.75, 0.25),
    "unary-uneven": plain_unary(0.9, 0.2),
    "unary-close": plain_unary(0.5 + 2.0**-30, 0.5),
    "unary-symmetric": symmetric_unary(1.0),
    "unary-symmetric-100": symmetric_unary(100.0),
    "unary-optimised": optimised_unary(2.0),
    "unary-optimised-300": optimised_unary(300.0),
    "unary-certain": plain_unary(1.0, 0.25),
    "unary-certain-rare": plain_unary(1.0, 1e-20),
    "exponential-worst": worst_choice(1.0),
    "exponential-worst-tiny": worst_choice(1e-6),
    "exponential-worst-50": worst_choice(50.0),
    "exponential-worst-800": worst_choice(800.0),
    "exponential": exponential(1.0, *FIVE),
    "exponential-monotone": exponential(2.0, *GROWN, monotone=True),
    "exponential-50": exponential(50.0, *FIVE),
    "exponential-far": exponential(20.0, *FAR),
    "exponential-beyond-doubles": exponential(1.0, [0.0, 2000.0, 2000.0], [1.0, 2000.0, 2000.0]),
    "exponential-tiny": exponential(1e-8, *FIVE),
    "gumbel": gumbel(1.0, *FIVE),
    "permute-and-flip-worst": (ta.PermuteAndFlip(3.0), lambda: exact.LaplaceShift(3)),
    "noisy-max-worst": (ta.ReportNoisyMax(3.0), lambda: exact.LaplaceShift(3)),
    "permute-and-flip": flip(1.0, *FIVE),
    "permute-and-flip-monotone": flip(2.0, *GROWN, monotone=True),
    "permute-and-flip-50": flip(50.0, *FIVE),
    "permute-and-flip-far": flip(20.0, *FAR),
    "permute-and-flip-tie": flip(3.0, [1.0, 1.0, 1.0], [0.5, 1.5, 1.0]),
    "permute-and-flip-two": flip(4.0, [0.0, 0.3], [0.5, -0.2], 0.5),
    "permute-and-flip-tiny": flip(1e-8, *FIVE),
    "noisy-max": noisy_max(1.0, *FIVE),
    "noisy-max-monotone": noisy_max(2.0, *GROWN, monotone=True),
    "noisy-max-50": noisy_max(50.0, *FIVE),
    "noisy-max-far": noisy_max(20.0, *FAR),
    "noisy-max-two": noisy_max(2.0, [0.0, 100.0], [1.0, 99.0]),
    "noisy-max-tie": noisy_max(3.0, [1.0, 1.0, 1.0], [0.5, 1.5, 1.0]),
    "noisy-max-tiny": noisy_max(1e-8, *FIVE),
    "last-iterate": last_iterate(0.25, 20, 1.0),
    "last-iterate-flat": last_iterate(1e-9, 100, 1.0),
    "last-iterate-one-step": last_iterate(0.5, 1, 2.0),
    "partition-selection": partition_selection(1.0, 1e-5),
    "partition-selection-coarse": partition_selection(0.25, 0.125),
    "custom": custom([0.5, 0.25, 0.25, 0.0], [0.125, 0.125, 0.5, 0.25]),
    "custom-deep": custom([1e-300, 0.5, 0.5], [3e-150, 0.25, 0.75]),
}
PLANAR = (0.01, 1.0, 7.0, 60.0, 800.0)


# Products and bounds without a closed form: test_query_engine_values.
ELSEWHERE = {ta.AboveThreshold, ta.ThresholdedHistogram}


def covered():
    here = {type(mechanism) for mechanism, _ in CASES.values()} | {ta.PlanarLaplace}
    return here | ELSEWHERE


def test_every_mechanism_has_a_case():
    assert covered() == set(ta.MECHANISMS)


@functools.cache
def reference(name):
    return CASES[name][1]()


ORDERS = {
    "both": (None, lambda pair: pair.both_orders()),
    "present": (ta.Order.PRESENT, lambda pair: pair),
    "absent": (ta.Order.ABSENT, lambda pair: pair.swapped()),
}


SMOOTH = (ta.Laplace, ta.Gaussian, ta.TruncatedLaplace, ta.DiscreteGaussian, ta.UniformNoise)


def views():
    """Each case in each order; a formula that is its own mirror image in one."""
    for name, (mechanism, _) in CASES.items():
        worst = getattr(mechanism, "absent", "no utilities") is None
        asked = ["both"] if worst or isinstance(mechanism, SMOOTH) else list(ORDERS)
        # Far apart, both worlds choose the best option but for 1e-70: read from the side of that
        # option their difference is lost in doubles, from the other it is not.
        for order in asked[:2] if name.endswith(("-far", "-two", "-doubles")) else asked:
            yield pytest.param(name, order, id=f"{name}-{order}")


VIEWS = pytest.mark.parametrize(("name", "order"), list(views()))


def pair_of(name, order):
    asked, turn = ORDERS[order]
    curve = CASES[name][0].curve(order=asked)
    return curve, _turned(name, order, turn)


@functools.cache
def _turned(name, order, turn):
    return turn(reference(name))


def levels(curve):
    """Thresholds and ε at which to ask: around all that the loss can be."""
    top = curve.epsilon(0.0)
    if math.isinf(top):
        top = curve.epsilon(1e-12)
    top = top if 0 < top < math.inf else 3.0
    return [s * top for s in (-1.3, -0.93, -0.41, -0.07, 0.03, 0.11, 0.37, 0.68, 0.97, 1.2)]


# -- the comparisons -------------------------------------------------------------------------


def rows_of(what, asked, values, wanted):
    """One row for each point asked of a vectorised method."""
    return [
        (f"{what}({x!r})", float(y), wanted(x))
        for x, y in zip(asked, np.asarray(values), strict=True)
    ]


@VIEWS
def test_beta_and_tpr(name, order):
    curve, pair = pair_of(name, order)
    rows = rows_of("beta", FPRS, curve.beta(FPRS), pair.beta)
    assert_close(rows + rows_of("tpr", FPRS, curve.tpr(FPRS), pair.tpr))


@VIEWS
def test_fpr(name, order):
    """The least FPR at a TPR is the least FNR of the exchanged worlds at the FPR 1 − TPR."""
    curve, pair = pair_of(name, order)
    other = pair if order == "both" else pair.swapped()
    unit = exact.deep.mpf(1) if isinstance(other, exact.Polygon) else mp.mpf(1)
    rows = rows_of("fpr", TPRS, curve.fpr(TPRS), lambda tpr: other.beta(unit - tpr))
    assert_close(rows)


@pytest.mark.parametrize("name", CASES)
def test_beta_where_nearly_everyone_is_accused(name):
    curve, pair = pair_of(name, "both")
    assert_close(rows_of("beta", NEARLY_ALL, curve.beta(NEARLY_ALL), pair.beta))


@VIEWS
def test_delta(name, order):
    curve, pair = pair_of(name, order)
    asked = [0.0, *levels(curve)]
    assert_close(rows_of("delta", asked, curve.delta(asked), pair.delta), ROUNDED.get(name, 0.0))


@VIEWS
def test_epsilon_brackets_the_root(name, order):
    """δ is falling, so ε(δ) is right to 1e-12 iff δ(ε·(1 ± 1e-12)) lie on both sides of δ."""
    curve, pair = pair_of(name, order)
    epsilons = zip(DELTAS, curve.epsilon(DELTAS).tolist(), strict=True)
    floor = ROUNDED.get(name, 0.0)
    missed = [row for row in epsilons if not brackets(pair, *row, floor)]
    assert not missed


def brackets(pair, delta, epsilon, floor):
    if math.isinf(epsilon):
        unbounded = isinstance(pair, (exact.GaussianShift, exact.DiscreteGaussianLattice))
        return pair.delta(10_000) > delta or (unbounded and delta == 0)
    if epsilon == 0:
        return pair.delta(0) <= mp.mpf(delta) * (1 + mp.mpf(RELATIVE))
    off = max(mp.mpf(epsilon) * mp.mpf(RELATIVE), mp.mpf(floor))
    low, high = mp.mpf(epsilon) - off, mp.mpf(epsilon) + off
    if delta == 0:
        return pair.delta(high) <= 0 < pair.delta(low)
    return pair.delta(high) <= delta <= pair.delta(low)


@VIEWS
def test_all_four_rates(name, order):
    curve, pair = pair_of(name, order)
    asked = levels(curve)
    wanted = {threshold: pair.rates(threshold) for threshold in asked}
    rows = []
    for k, (rate, values) in enumerate(curve.rates(asked)._asdict().items()):
        rows += rows_of(rate, asked, values, lambda threshold, k=k: wanted[threshold][k])
    assert_close(rows)


# -- planar Laplace noise ---------------------------------------------------------------------

# The angle of the best test: m·cos v is its threshold. Tiny angles are the low-FPR corner.
ANGLES = [1e-200, 1e-60, 1e-17, 0.01, 0.4, 1.1, 2.3, 3.1]


@functools.cache
def planar_rates(m, angle):
    pair = exact.PlanarShift(m)
    if angle > 1e-8:
        return pair.at_angle(mp.mpf(angle))
    # Every output accused has a loss between m·cos v and m, which agree to 30 digits here.
    fpr = pair.accused(mp.mpf(angle))
    tpr = mp.exp(mp.mpf(m)) * fpr
    return fpr, tpr, 1 - tpr, 1 - fpr


@pytest.mark.parametrize("m", PLANAR)
def test_planar_laplace_beta_and_tpr(m):
    """From the exact rates at an angle to the FPR that a double can hold: one step of slope."""
    curve, rows = ta.PlanarLaplace(epsilon=m / 2, distance=2.0).curve(), []
    for angle in ANGLES:
        fpr, tpr, fnr, _ = planar_rates(m, angle)
        asked = float(fpr)
        if not 1e-300 < asked < 1 - 1e-3:
            continue
        step = mp.exp(mp.mpf(m) * mp.cos(mp.mpf(angle))) * (mp.mpf(asked) - fpr)
        rows.append((f"beta({asked!r})", curve.beta(asked), fnr - step))
        rows.append((f"tpr({asked!r})", curve.tpr(asked), tpr + step))
    assert len(rows) >= 6
    assert_close(rows)


@functools.cache
def planar_rates_above(m, threshold):
    return exact.PlanarShift(m).rates(threshold)


@pytest.mark.parametrize("m", PLANAR)
def test_planar_laplace_rates_and_delta(m):
    curve, rows = ta.PlanarLaplace(epsilon=m / 2, distance=2.0).curve(), []
    for share in (-0.99, -0.7, 0.0, 0.05, 0.5, 0.98):
        threshold = share * m
        wanted = planar_rates_above(m, threshold)
        rates = zip(("FPR", "TPR", "FNR", "TNR"), curve.rates(threshold), strict=True)
        rows += [(f"{k}({threshold!r})", x, y) for (k, x), y in zip(rates, wanted, strict=True)]
        delta = wanted[1] - mp.exp(mp.mpf(threshold)) * wanted[0]
        rows.append((f"delta({threshold!r})", curve.delta(threshold), delta))
    assert_close(rows)


@pytest.mark.parametrize("m", PLANAR)
def test_planar_laplace_epsilon(m):
    curve = ta.PlanarLaplace(epsilon=m / 2, distance=2.0).curve()
    assert curve.epsilon(0.0) == m
    for share in (0.05, 0.5, 0.9, 0.98, 0.999):
        wanted = mp.mpf(share * m)
        fpr, tpr, _, _ = planar_rates_above(m, share * m)
        delta = tpr - mp.exp(wanted) * fpr
        if delta > 0.8:  # a double δ near 1 hardly tells one ε from another
            continue
        epsilon = curve.epsilon(float(delta))
        # δ'(ε) = −e^ε·FPR: one step from the exact δ to the double nearest to it.
        step = (mp.mpf(float(delta)) - delta) / (mp.exp(wanted) * fpr)
        assert error(epsilon, wanted - step) <= RELATIVE


# -- calibration ------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-100, 1e-12, 1e-5, 0.02, 0.5, 0.99])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 7.0, 100.0])
def test_the_analytic_gaussian_meets_its_delta(epsilon, delta):
    mechanism = ta.Gaussian.with_epsilon(epsilon, delta, sensitivity=3.0)
    reached = exact.GaussianShift(3 / mp.mpf(mechanism.sigma)).delta(epsilon)
    assert reached <= delta  # never more than was asked
    assert error(delta, reached) <= RELATIVE


@pytest.mark.parametrize("delta", [1e-100, 1e-12, 1e-5, 0.02, 0.5])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 7.0, 100.0])
def test_the_shortest_truncated_laplace_meets_its_delta(epsilon, delta):
    mechanism = ta.TruncatedLaplace.with_epsilon(epsilon, delta, sensitivity=3.0)
    scale = mp.mpf(mechanism.scale)
    # The scale Δ/ε is rounded, so that the largest loss is ε but for one rounding.
    assert error(epsilon, 3 / scale) <= 3e-16
    pair = exact.TruncatedLaplaceShift(3 / scale, mechanism.cutoff / scale)
    reached = pair.delta(max(3 / scale, mp.mpf(epsilon)))
    assert error(delta, reached) <= RELATIVE


# -- at a tie ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [ta.Order.PRESENT, ta.Order.ABSENT])
def test_a_test_rejects_only_what_lies_strictly_above_its_threshold(order):
    curve = ta.DiscreteLaplace(scale=1.0, sensitivity=3).curve(order=order)
    pair = exact.DiscreteLaplaceLattice(1.0, 3)
    rows = []
    for threshold in (3.0, 1.0, -1.0, -3.0):
        wanted = pair.rates(threshold)
        rows += [(threshold, x, y) for x, y in zip(curve.rates(threshold), wanted, strict=True)]
    assert_close(rows)
    response = ta.RandomizedResponse(2.0).curve(order=order)
    assert response.rates(2.0) == (0, 0, 1, 1)
    assert response.rates(-2.0).fpr == pytest.approx(1 / (1 + math.exp(2.0)), rel=1e-15)
    normal = ta.DiscreteGaussian(sigma=2.0).curve(order=order)
    lattice = exact.DiscreteGaussianLattice(2.0, 1)
    rows = []
    for threshold in (0.125, -0.125, 0.625, -2.375):
        wanted = lattice.rates(threshold)
        rows += [(threshold, x, y) for x, y in zip(normal.rates(threshold), wanted, strict=True)]
    assert_close(rows)


# -- the attack itself ------------------------------------------------------------------------

NOISES = [
    "laplace-third",
    "gaussian-5",
    "truncated-short",
    "truncated-below-shift",
    "discrete-laplace-7",
    "discrete-gaussian-0.3",
    "discrete-gaussian-50",
    "discrete-gaussian-1500-by-1000",
]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", NOISES)
def test_the_attack_has_the_threshold_the_rates_and_the_ratio_of_its_law(name, sign):
    mechanism, pair = CASES[name][0], reference(name)
    lattice = isinstance(pair, exact.Lattice)
    unit = 1.0 if lattice else float(mechanism.sensitivity / pair.m)
    absent = 10 * sign
    attack = mechanism.test(absent=absent, present=absent + sign * mechanism.sensitivity)
    rows = []
    for fpr in (1e-12, 1e-3, 0.2, 0.45, 0.6, 0.99):
        if lattice:
            along = pair._randomised(fpr)[0]
            assert attack.threshold(fpr) == absent + sign * along
        else:
            along = pair._cut_at(fpr)
            wanted = absent + sign * along * mp.mpf(unit)
            assert abs(attack.threshold(fpr) - wanted) <= 1e-13 * (abs(wanted) + 10)
        along = int(along) if lattice else round(float(along), 3)
        rates = attack.rates(absent + sign * along * unit)
        if lattice or abs(along) < 3:
            rows += [
                ((fpr, k), *pairs)
                for k, pairs in enumerate(zip(rates, pair.at(along), strict=True))
            ]
    # The output is the sum of a known answer and the noise: its rounding is not the attack's.
    missed = [row for row in rows if error(*row[1:]) > (RELATIVE if lattice else 1e-9)]
    assert not missed


@pytest.mark.parametrize("name", ["discrete-laplace-7", "discrete-gaussian-0.3", "laplace-1"])
@pytest.mark.parametrize("fpr", [0.0, 1e-7, 0.04, 0.5, 0.93, 1.0])
def test_the_attack_flags_as_often_as_it_says(name, fpr):
    mechanism, pair = CASES[name][0], reference(name)
    attack = mechanism.test(absent=0, present=int(mechanism.sensitivity))
    if not isinstance(pair, exact.Lattice):
        cut = attack.threshold(fpr)
        assert attack.flags(math.nextafter(cut, math.inf), fpr) == (fpr > 0)
        assert attack.flags(min(math.nextafter(cut, -math.inf), 1e300), fpr) == 0 or fpr == 1
        assert attack.flags(-1e300, fpr) == (fpr == 1)
        return
    outputs = list(range(-400, 401))
    shares = [float(x) for x in attack.flags(outputs, fpr)]
    for shift, wanted in ((0, mp.mpf(fpr)), (pair.m, pair.tpr(fpr) if 0 < fpr < 1 else fpr)):
        masses = [mp.exp(pair.log_mass(k - shift)) for k in outputs]
        chance = sum(s * x for s, x in zip(shares, masses, strict=True))
        assert abs(chance - wanted) <= 1e-13 * wanted + 1e-16


# -- the area under the curve -----------------------------------------------------------------


def area_of(pair, density, knots):
    """P(noise − m > noise'), the chance that a ranking errs: ∫ density(x)·P(noise > x' …) dx."""
    return mp.quad(lambda x: density(x) * pair.above(pair.m - x), knots)


@pytest.mark.parametrize("name", ["laplace-third", "laplace-1", "gaussian-1", "gaussian-5"])
def test_the_area_is_the_chance_that_a_ranking_errs(name):
    mechanism, pair = CASES[name][0], reference(name)
    if isinstance(pair, exact.LaplaceShift):
        knots = [-150, -20, 0, pair.m, pair.m + 20, 150]
        wanted = area_of(pair, lambda x: mp.exp(-abs(x)) / 2, knots)
    else:
        knots = list(range(-20, 26, 3))
        wanted = area_of(pair, lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi), knots)
    assert error(mechanism.curve().area(), wanted) <= RELATIVE


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("truncated")])
def test_the_area_of_truncated_noise(name):
    mechanism, pair = CASES[name][0], reference(name)
    m, a = pair.m, pair.reach
    inner = [x for x in (-60, -20, 0, m, m + 20, m + 60) if m - a < x < a]
    scale = 2 * (1 - mp.exp(-a))
    wanted = area_of(pair, lambda x: mp.exp(-abs(x)) / scale, [max(m - a, -100), *inner, a])
    assert error(mechanism.curve().area(), wanted) <= RELATIVE


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("discrete-gaussian")][:4])
def test_the_area_of_a_polygon_without_end_is_never_too_large(name):
    mechanism, pair = CASES[name][0], reference(name)
    reach = range(-40 * int(pair.sigma + 1), 40 * int(pair.sigma + 1))
    wanted = sum(
        mp.exp(pair.log_mass(k)) * (pair.above(pair.m - k) + pair.above(pair.m - k - 1)) / 2
        for k in reach
    )
    area = mechanism.curve().area()
    assert wanted * (1 - mp.mpf(10) ** -6) <= area <= wanted * (1 + mp.mpf(10) ** -14)


# -- densities that can only be evaluated -----------------------------------------------------


@pytest.mark.parametrize("cells", [2_000, 20_000])
def test_a_mechanism_from_densities_errs_towards_the_attacker_and_little(cells):
    def normal(centre):
        return lambda x: np.exp(-((x - centre) ** 2) / 2) / math.sqrt(2 * math.pi)

    mechanism = ta.CustomMechanism.from_densities(
        normal(0), normal(1), support=(-12, 13), cells=cells
    )
    curve, pair = mechanism.curve(), exact.GaussianShift(1)
    assert curve.bound is ta.Bound.LOWER
    width = 25 / cells
    for fpr in (1e-9, 1e-3, 0.05, 0.3, 0.7, 0.99):
        missed = pair.beta(fpr) - mp.mpf(curve.beta(fpr))
        assert -1e-15 <= missed <= width**2
    for epsilon in (0.0, 0.5, 2.0, 4.0):
        missed = mp.mpf(curve.delta(epsilon)) - pair.delta(epsilon)
        assert -1e-15 <= missed <= width**2


# -- the references themselves ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["laplace-third", "gaussian-5", "truncated-short"])
@pytest.mark.parametrize("x", [-1.3, 0.0, 0.4, 1.1])
def test_tails_are_integrals_of_the_density(name, x):
    pair = reference(name)
    end = getattr(pair, "reach", mp.mpf(40))
    densities = {
        exact.LaplaceShift: lambda t: mp.exp(-abs(t)) / 2,
        exact.GaussianShift: lambda t: mp.exp(-t * t / 2) / mp.sqrt(2 * mp.pi),
        exact.TruncatedLaplaceShift: lambda t: mp.exp(-abs(t)) / (2 * (1 - mp.exp(-end))),
    }
    knots = sorted({mp.mpf(x), *(mp.mpf(k) for k in range(int(x) + 1, int(end) + 1)), end})
    wanted = mp.quad(densities[type(pair)], sorted({*knots, max(mp.mpf(x), mp.mpf(0))}))
    assert abs(pair.above(mp.mpf(x)) - wanted) <= mp.mpf(10) ** -16


def test_the_sum_over_integers_agrees_with_euler_and_maclaurin():
    summed = reference("discrete-gaussian-1500")
    quick = exact.DiscreteGaussianLattice(1500.0, 1, summed=False)
    for k in (-3000, -1, 0, 5, 1500, 30_000, 54_000):
        assert abs(quick.above(k) / summed.above(k) - 1) <= mp.mpf(10) ** -35


def test_the_sum_over_integers_is_geometric():
    pair = reference("discrete-laplace-7")
    terms = [mp.exp(-mp.mpf(abs(k)) / 4) for k in range(-600, 601)]
    assert abs(pair.above(2) - sum(terms[603:]) / sum(terms)) <= mp.mpf(10) ** -50


def test_the_largest_of_noisy_utilities_by_quadrature():
    utilities = [0.0, 0.7, -1.2]

    def below(x):
        return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2

    def density(x):
        return mp.exp(-abs(x)) / 2 * below(x - 0.7) * below(x + 1.2)

    wanted = mp.quad(density, [-60, -20, -5, -1.2, 0, 0.7, 5, 20, 60, 140])
    masses = exact.laplace_max(utilities)
    assert abs(masses[0] - wanted) <= mp.mpf(10) ** -24
    assert abs(sum(masses) - 1) <= mp.mpf(10) ** -50


def test_a_smaller_shift_of_staircase_noise_reveals_less():
    """The density is no log-concave one, so that this needs a look."""
    for fraction in (0.1, 0.4, 0.8):
        whole = exact.staircase_pair(1.0, 1.0, fraction)
        for shift in (0.05, 0.3, 0.5, 0.9):
            part = exact.staircase_pair(1.0, 1.0, fraction, shift)
            assert part.delta(0) < whole.delta(0)
            for fpr in (0.01, 0.2, 0.4, 0.7):
                assert part.beta(fpr) >= whole.beta(fpr) - mp.mpf(10) ** -40
