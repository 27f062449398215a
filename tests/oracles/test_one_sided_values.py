"""One-sided questions against 120 digits: tails and densities averaged over the prior.

Differences of integrated tails lose half their digits or more here, of which there are enough;
nothing is shared with the formulas of tellapart. A brute-force sum over the prior checks them.
"""

import functools
import math

import mpmath
import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds.pairs.one_sided import OneSided

mp = mpmath.MPContext()
mp.dps = 120
RELATIVE = 1e-12
SMALLEST = 1e-305  # below it a double has no digits to speak of

FPRS = [1e-300, 1e-100, 1e-20, 1e-9, 1e-4, 0.013, 0.1, 0.27, 0.46, 0.61, 0.85, 0.97]
FPRS += [1 - 2.0**-k for k in (10, 30, 50)]
OUTPUTS = [-30.0, -6.0, -2.5, -0.7, -0.1, 0.0, 0.05, 0.4, 1.3, 4.0, 9.0, 25.0, 36.0]


class LaplaceNoise:
    loss_grows_beyond = 0  # the furthest centre

    def tail(self, x):
        return mp.exp(-x) / 2 if x >= 0 else 1 - mp.exp(x) / 2

    def tail_of_tail(self, x):
        return mp.exp(-x) / 2 if x >= 0 else -x + mp.exp(x) / 2

    def density(self, x):
        return mp.exp(-abs(x)) / 2

    both = staticmethod(lambda m: mp.exp(-m) * (2 + m) / 4)


class GaussianNoise:
    loss_grows_beyond = 100

    def tail(self, x):
        return mp.erfc(x / mp.sqrt(2)) / 2

    def tail_of_tail(self, x):
        return self.density(x) - x * self.tail(x)

    def density(self, x):
        return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)

    both = staticmethod(lambda m: mp.erfc(m / 2) / 2)


class Pair:
    """h1 around distances above 0, h0 around distances below; each a width or (d, w) pairs."""

    def __init__(self, noise, absent, present):
        self.noise, self.absent, self.present = noise, absent, present

    def mean(self, spread, x, sign):
        """The mean of P(noise > x + sign·d)."""
        if isinstance(spread, list):
            return sum(w * self.noise.tail(x + sign * d) for d, w in spread)
        ends = sorted([x, x + sign * spread])
        return (self.noise.tail_of_tail(ends[0]) - self.noise.tail_of_tail(ends[1])) / spread

    def density(self, spread, x, sign):
        if isinstance(spread, list):
            return sum(w * self.noise.density(x + sign * d) for d, w in spread)
        low, high = sorted([x, x + sign * spread])
        if high < 0:  # as seen from the other side, where tails have digits
            low, high = -high, -low
        return (self.noise.tail(low) - self.noise.tail(high)) / spread

    def fpr(self, t):
        return self.mean(self.absent, t, 1)

    def tnr(self, t):
        return self.mean(self.absent, -t, -1)

    def tpr(self, t):
        return self.mean(self.present, t, -1)

    def fnr(self, t):
        return self.mean(self.present, -t, 1)

    def loss(self, t):
        return mp.log(self.density(self.present, t, -1) / self.density(self.absent, t, 1))

    def furthest(self, spread):
        return max(d for d, _ in spread) if isinstance(spread, list) else spread

    def root(self, rising, beyond=800):
        """Where a function crosses 0: by halving to where it is smooth, then by false position.

        An end that stays weighs half each time (Illinois), so that both close in on the root.
        """
        low, high = -self.furthest(self.absent) - beyond, self.furthest(self.present) + beyond
        while high - low > 1e-4:
            middle = (low + high) / 2
            low, high = (middle, high) if rising(middle) < 0 else (low, middle)
        at_low, at_high = rising(low), rising(high)
        stayed = 0
        for _ in range(200):
            point = high - at_high * (high - low) / (at_high - at_low)
            at_point = rising(point)
            if at_point < 0:
                done, low, at_low = point - low, point, at_point
                at_high, stayed = (at_high / 2, 1) if stayed == 1 else (at_high, 1)
            else:
                done, high, at_high = high - point, point, at_point
                at_low, stayed = (at_low / 2, -1) if stayed == -1 else (at_low, -1)
            if done < 1e-80:
                return point
        raise AssertionError("no root")

    def output_of_loss(self, loss):
        return self.root(lambda t: self.loss(t) - loss, self.noise.loss_grows_beyond)

    def output_of_fpr(self, fpr):
        if fpr < 0.5:
            return self.root(lambda t: fpr - self.fpr(t))
        return self.root(lambda t: self.tnr(t) - (1 - fpr))

    def output_of_tpr(self, tpr):
        if tpr < 0.5:
            return self.root(lambda t: tpr - self.tpr(t))
        return self.root(lambda t: self.fnr(t) - (1 - tpr))


def spread(centres, weights=None):
    if weights is None:
        return mp.mpf(centres)
    return [(mp.mpf(d), mp.mpf(w)) for d, w in zip(centres, weights, strict=True)]


# Widths, or distances and weights, of h0 and of h1, in units of the noise. Sums of distances and
# of weights are exact in binary, so that both sides of a comparison mean the same numbers.
SPREADS = {
    "even": (0.5, 0.5),
    "wide": (7.0, 3.0),
    "tiny": (2.0**-27, 2.0**-28),
    "very-tiny": (2.0**-120, 2.0**-119),
    "lopsided": (5.0, 2.0**-20),
    "other-way": (2.0**-20, 300.0),
    "huge": (2.0**20, 2.0**21),
    "two": (([0.75], [1.0]), ([0.25], [1.0])),
    "points": (([0.5, 2.0, 8.0], [0.25, 0.5, 0.25]), ([0.0, 1.0, 1.5], [0.5, 0.375, 0.125])),
    "far-points": (([0.25, 60.0], [0.5, 0.5]), ([0.0, 90.0], [0.875, 0.125])),
    "gap": (([45.0, 50.0], [0.5, 0.5]), ([30.0], [1.0])),
    "half-gap": (([0.0625, 80.0], [0.5, 0.5]), ([2.0**-7], [1.0])),
    "near-points": (([2.0**-30, 2.0**-28], [0.5, 0.5]), ([0.0, 2.0**-29], [0.25, 0.75])),
}
NOISES = {
    "laplace": (LaplaceNoise(), ta.Laplace(scale=0.5)),
    "gaussian": (GaussianNoise(), ta.Gaussian(sigma=0.5)),
}


def question(mechanism, absent, present):
    """The same pair through the public API, with the cut at 0 and half the units."""
    uniform = not isinstance(absent, tuple)
    far, near = (absent, present) if uniform else (max(absent[0]), max(present[0]))
    asked = OneSided(mechanism, cut=0, low=min(-near / 2, 0.0), high=far / 2)
    if uniform:
        return asked.curve()
    values = [-d / 2 for d in present[0]] + [d / 2 for d in absent[0]]
    return asked.curve(values, [w / 2 for w in present[1] + absent[1]])


@functools.cache
def case(noise, name):
    exact, mechanism = NOISES[noise]
    absent, present = SPREADS[name]
    curve = question(mechanism, absent, present)
    sides = [
        spread(*side) if isinstance(side, tuple) else spread(side) for side in (absent, present)
    ]
    return curve, Pair(exact, *sides)


CASES = pytest.mark.parametrize(
    ("noise", "name"), [(noise, name) for noise in NOISES for name in SPREADS]
)


def error(value, wanted):
    miss = max(mp.mpf(0), abs(mp.mpf(value) - wanted) - SMALLEST)
    return miss / max(abs(wanted), SMALLEST)


def assert_close(rows, allowed=RELATIVE):
    missed = [
        f"{what}: found {value!r}, wanted {mpmath.nstr(wanted, 20)}, "
        f"relative error {mpmath.nstr(error(value, wanted), 3)}"
        for what, value, wanted in rows
        if not (math.isfinite(value) and error(value, wanted) <= allowed)
    ]
    assert not missed, "\n".join(missed)


@CASES
def test_rates_at_an_fpr(noise, name):
    curve, pair = case(noise, name)
    rows = []
    for fpr in FPRS:
        t = pair.output_of_fpr(mp.mpf(fpr))
        rows += [(f"tpr({fpr})", curve.tpr(fpr), pair.tpr(t))]
        rows += [(f"beta({fpr})", curve.beta(fpr), pair.fnr(t))]
    assert_close(rows)


@CASES
def test_fpr_at_a_tpr(noise, name):
    curve, pair = case(noise, name)
    tprs = [1e-100, 1e-20, 1e-9, 1e-4, 0.013, 0.1, 0.27, 0.46, 0.61, 0.85, 0.97, 1 - 2.0**-30]
    assert_close(
        [(f"fpr({p})", curve.fpr(p), pair.fpr(pair.output_of_tpr(mp.mpf(p)))) for p in tprs]
    )


def losses(pair, noise):
    """Losses, as doubles, at some outputs strictly between the flat ends of Laplace's ratio.

    With the error that an ulp of the loss makes in a rate; where that is large (between far
    points the ratio may be flatter than a double can tell) there is nothing to compare.
    """
    low, high = -pair.furthest(pair.absent), pair.furthest(pair.present)
    step = (high - low) * mp.mpf(10) ** -20
    for t in OUTPUTS:
        t = mp.mpf(t)
        if noise == "laplace":
            t = low + (high - low) * (t + 30 + mp.mpf(1) / 3) / 67
        loss = pair.loss(t)
        slope = (pair.loss(t + step) - loss) / step
        rounding = 4 * np.finfo(float).eps * abs(loss) / slope
        if rounding < 1e-6:
            yield float(loss), RELATIVE + rounding
    if noise == "gaussian" and high - low > 1:
        yield from ((loss, 1e-11) for loss in (-3.0, -0.5, 0.0, 0.5, 3.0))


@CASES
def test_rates_and_profile_at_a_loss(noise, name):
    curve, pair = case(noise, name)
    for loss, allowed in losses(pair, noise):
        t = pair.output_of_loss(mp.mpf(loss))
        rates = curve.rates(loss)
        wanted = pair.fpr(t), pair.tpr(t), pair.fnr(t), pair.tnr(t)
        rows = [(f"rates({loss})", f, w) for f, w in zip(rates, wanted, strict=True)]
        exact = pair.tpr(t) - mp.exp(mp.mpf(loss)) * pair.fpr(t)
        assert_close([*rows, (f"delta({loss})", curve.delta(loss), exact)], allowed)


@CASES
def test_area(noise, name):
    curve, pair = case(noise, name)
    assert_close([("area", curve.area(), mean_over_both(pair))])


def mean_over_both(pair):
    """The chance that noise overturns the order of the centres, by plain quadrature."""
    both = pair.noise.both
    if isinstance(pair.absent, list):
        return sum(v * w * both(d + e) for d, v in pair.absent for e, w in pair.present)
    with mp.workdps(25):
        far, near = pair.absent, pair.present

        # Over the sum m of the two distances, whose density is a trapezium.
        def height(m):
            return (min(m, near) - max(0, m - far)) / (near * far)

        knots = sorted({mp.mpf(0), min(far, near), max(far, near), far + near})
        knots = sorted({min(k, mp.mpf(120)) for k in [*knots, mp.mpf(1), mp.mpf(8), mp.mpf(40)]})
        knots = [k for k in knots if k <= far + near]
        return mp.quad(lambda m: both(m) * height(m), knots)


@pytest.mark.parametrize("noise", NOISES)
def test_brute_force_over_the_prior(noise):
    """10⁵ equally likely values stand for a uniform prior, and 10⁵ cuts for all tests."""
    rng = np.random.default_rng(5)
    mechanism = NOISES[noise][1]
    curve = OneSided(mechanism, cut=2, low=0, high=3).curve()
    midpoints = (np.arange(100_000) + 0.5) / 100_000
    t = rng.uniform(-3, 6, 40)

    def below(values):
        return np.array([mechanism.noise.above(values - point).mean() for point in t])

    fpr, tpr = below(2 + midpoints), below(2 * midpoints)
    np.testing.assert_allclose(curve.tpr(fpr), tpr, rtol=1e-8)
    assert np.all(tpr >= fpr)
