"""One, two and three Poisson-sampled Gaussian steps, by integrals over their outputs.

No moments and no contour: the rates of T steps are those of T − 1 at what the first loss leaves of
the threshold, averaged over the first output. All terms are positive, so corners keep their digits.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

import tellapart as ta
from tellapart.curve.composition import convolution
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
GRADED = 4.0 * 2.0 ** -np.arange(36.0)
RELATIVE = 1e-9


class Outputs:
    """N(0, 1) against (1 − rate)·N(0, 1) + rate·N(1/sigma, 1), several times."""

    def __init__(self, sigma, rate):
        self.mu, self.rate = 1 / sigma, rate
        self.low, self.high = -14.0, math.ceil(14 + 2 / sigma)

    def _ratio_less_one(self, x):
        return self.rate * np.expm1(self.mu * x - self.mu**2 / 2)

    def _output(self, loss):
        """The output that has this loss; −inf where all have a larger one."""
        with np.errstate(divide="ignore"):
            odds = np.log(np.maximum(1 + np.expm1(loss) / self.rate, 0.0))
        return odds / self.mu + self.mu / 2

    def _panels(self, kink):
        """Points and weights, ever denser towards the output where the rest of the loss ends."""
        graded = np.concatenate([-GRADED, [0.0], GRADED])
        fixed = np.arange(self.low, self.high + 1)
        fixed = np.broadcast_to(fixed, (*np.shape(kink), fixed.size))
        near = np.clip(np.add.outer(kink, graded), self.low, self.high)
        edges = np.sort(np.concatenate([near, fixed], axis=-1), axis=-1)
        half = np.diff(edges, axis=-1)[..., None] / 2
        x = (edges[..., 1:] + edges[..., :-1])[..., None] / 2 + half * NODES
        return (a.reshape(*np.shape(kink), -1) for a in (x, half * WEIGHTS))

    def rates(self, t, steps):
        """FPR, TPR, FNR, TNR and δ of the test that accuses above t."""
        t, q = np.asarray(t, dtype=float), self.rate
        if steps == 1:
            x = self._output(t)
            up, down = ndtr(-x), ndtr(x)
            tpr, fnr = (1 - q) * up + q * ndtr(self.mu - x), (1 - q) * down + q * ndtr(x - self.mu)
            return np.stack([up, tpr, fnr, down])
        least = (steps - 1) * math.log1p(-q)
        x, weight = self._panels(np.clip(self._output(t - least), self.low, self.high))
        absent = weight * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        more = self._ratio_less_one(x)
        present = absent * (1 + more)
        rest = self.rates(t[..., None] - np.log1p(more), steps - 1)
        return np.stack(
            [
                (w * r).sum(axis=-1)
                for w, r in zip((absent, present, present, absent), rest, strict=True)
            ]
        )


def _precisely(sigma, rate, t, ends=(-20, -5, 0, 5, 20), scale=1):
    """The four rates of two steps, to the last bit, also of rates as small as 1/scale."""
    with mp.workdps(30):
        mu, q, t = 1 / mp.mpf(sigma), mp.mpf(rate), mp.mpf(t)

        def output(loss):
            odds = 1 + mp.expm1(loss) / q
            return mp.log(odds) / mu + mu / 2 if odds > 0 else mp.mpf(-100)

        def mixed(bell, x):
            return (1 - q) * bell(x) + q * bell(x - mu)

        def rest(x):
            return output(t - mp.log1p(q * mp.expm1(mu * x - mu**2 / 2)))

        def rate_of(first, second):
            return float(mp.quad(lambda x: first(x) * second(rest(x)) * scale, points) / scale)

        kink = output(t - mp.log1p(-q))
        points = {*map(mp.mpf, ends[:-1]), ends[-1] + 2 * mu, max(kink, mp.mpf(1 + ends[0]))}
        points = sorted(points)
        bells = mp.npdf, lambda x: mixed(mp.npdf, x)
        return [
            rate_of(bells[0], lambda x: mp.ncdf(-x)),
            rate_of(bells[1], lambda x: (1 - q) * mp.ncdf(-x) + q * mp.ncdf(mu - x)),
            rate_of(bells[1], lambda x: mixed(mp.ncdf, x)),
            rate_of(bells[0], mp.ncdf),
        ]


@pytest.mark.parametrize(("sigma", "rate", "t"), [(1, 0.1, 5.0), (0.5, 0.3, -0.6), (1, 0.01, 0.2)])
def test_the_integrals_are_right(sigma, rate, t):
    want = _precisely(sigma, rate, t)
    np.testing.assert_allclose(Outputs(sigma, rate).rates(t, 2), want, rtol=1e-12)


PAIRS = [
    (1, 0.1),
    (1, 0.01),
    (0.5, 0.3),
    (0.6, 0.001),
    (4, 0.5),
    (20, 0.9),
    (0.4, 1e-3),
    (2, 0.999),
]


def _thresholds(outputs, steps):
    """From the end of the losses, where FNR is tiny, to where one step has δ of about 1e-12."""

    def left(t, target):
        fpr, tpr, *_ = outputs.rates(t, 1)
        return math.log(max(tpr - math.exp(t) * fpr, 1e-300) / target)

    at_zero = left(0.0, 1.0)
    corner = [brentq(left, 0.0, 60.0, args=(d,)) for d in (1e-12, 1e-5) if math.log(d) < at_zero]
    least = steps * math.log1p(-outputs.rate)
    return sorted({0.0, *corner, *(max(share * least, -8.0) for share in (0.3, 0.9))})


QUESTIONS = [(sigma, rate, steps) for sigma, rate in PAIRS for steps in (1, 2, 3)]


@pytest.mark.parametrize(("sigma", "rate", "steps"), QUESTIONS)
def test_rates_and_profile_in_both_corners(sigma, rate, steps):
    outputs = Outputs(sigma, rate)
    t = np.array(_thresholds(outputs, steps))
    rates = np.stack([outputs.rates(loss, steps) for loss in t], axis=1)
    # Smaller ones come from outputs that were left out.
    t, (fpr, tpr, fnr, tnr) = (
        t[rates.min(axis=0) > 1e-35],
        np.minimum(rates, 1.0)[:, rates.min(axis=0) > 1e-35],
    )
    training = ta.Gaussian(sigma).sampled(rate).repeated(steps)
    check_rates_and_profile(training.curve(ta.Order.PRESENT), t, fpr, tpr, fnr, tnr)
    check_rates_and_profile(training.curve(ta.Order.ABSENT), -t, fnr, tnr, fpr, tpr)


def check_rates_and_profile(curve, t, fpr, tpr, fnr, tnr):
    for column, want in zip(curve.rates(t), (fpr, tpr, fnr, tnr), strict=True):
        np.testing.assert_allclose(column, want, rtol=RELATIVE)
    profile = tpr - np.exp(t) * fpr
    # What is left of the reference's 15 digits where its two terms nearly cancel.
    kept = profile > 1e-5 * tpr
    assert kept.sum() >= 2
    np.testing.assert_allclose(curve.delta(t)[kept], profile[kept], rtol=RELATIVE)
    np.testing.assert_allclose(curve.tpr(fpr), tpr, rtol=RELATIVE)
    np.testing.assert_allclose(curve.beta(fpr), fnr, rtol=RELATIVE, atol=1e-12)
    asked = kept & (t > 0)
    np.testing.assert_allclose(
        curve.epsilon(profile[asked]), t[asked], rtol=RELATIVE, atol=RELATIVE
    )


# -- far down the tails of two steps -----------------------------------------------------------


def _mills(x):
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


class DeepOutputs(Outputs):
    """Two steps, with all outputs whose chance a double can hold."""

    def __init__(self, sigma, rate):
        super().__init__(sigma, rate)
        self.low, self.high = -37.0, math.ceil(37 + 2 / sigma)

    def losses(self, x):
        """Of two outputs that are alike."""
        return 2 * np.log1p(self._ratio_less_one(np.asarray(x, dtype=float)))

    def profiles(self, t):
        """δ at t, and at −t with the hypotheses exchanged: means of what one step has, positive."""
        t, mu, q = np.asarray(t, dtype=float), self.mu, self.rate
        x, weight = self._panels(np.clip(self._output(t - math.log1p(-q)), self.low, self.high))
        absent = weight * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        more = self._ratio_less_one(x)
        s = t[..., None] - np.log1p(more)
        y = self._output(s)
        none, high, low = np.isinf(y), np.maximum(y, 0.0), np.clip(y, -1e3, 0.0)
        bell = np.where(none, 0.0, q * np.exp(-((y - mu) ** 2) / 2) / math.sqrt(2 * math.pi))
        # From Mills' ratio where both terms are small, else as it is written.
        lifted = np.exp(mu * low - mu * mu / 2)
        plain = np.where(none, -np.expm1(s), q * (ndtr(mu - low) - lifted * ndtr(-low)))
        ahead = np.where(y > 0, bell * (_mills(high - mu) - _mills(high)), plain)
        with np.errstate(over="ignore", invalid="ignore"):
            down = np.exp(-s)
            plain = ndtr(high) * (1 - down * (1 - q)) - down * q * ndtr(high - mu)
            back = np.where(y > 0, plain, down * bell * (_mills(-low) - _mills(mu - low)))
        return (absent * (1 + more) * ahead).sum(axis=-1), (absent * back).sum(axis=-1)


@pytest.mark.parametrize(("sigma", "rate", "x"), [(1, 0.1, 13.0), (4, 0.5, -13.0)])
def test_the_deep_integrals_are_right(sigma, rate, x):
    outputs = DeepOutputs(sigma, rate)
    t = float(outputs.losses(x))
    ends = sorted(math.copysign(1, x) * end for end in (-9, 7, 12, 18, 26))
    want = _precisely(sigma, rate, t, ends, scale=mp.mpf(10) ** 75)
    assert min(want) < 1e-60
    np.testing.assert_allclose(outputs.rates(t, 2), want, rtol=1e-11)
    # Enough digits are left of the difference.
    ahead, back = outputs.profiles(t)
    fpr, tpr, fnr, tnr = want
    np.testing.assert_allclose(ahead, tpr - math.exp(t) * fpr, rtol=1e-11)
    np.testing.assert_allclose(back, tnr - math.exp(-t) * fnr, rtol=1e-11)


# So near the least loss that doubles hold the threshold's distance from it to fewer digits.
UP = [-2.0, 0, 3, 5, 7, 9, 12, 14, 18, 22, 25]
DOWN = [-25.0, -22, -18, -14, -12, -9, -7, -5]
DEEP = [
    (1, 0.1, UP),
    (0.5, 0.3, UP),
    (0.6, 0.001, UP),
    (4, 0.5, DOWN + UP),
    (20, 0.9, DOWN + UP),
    (2, 0.999, DOWN[2:] + UP),
]


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("sigma", "rate", "x"), DEEP)
def test_folded_tails_keep_their_digits_at_every_depth(sigma, rate, x, alone):
    """All rates and both profiles, from 1 down to 1e-290, asked together or one by one."""
    outputs = DeepOutputs(sigma, rate)
    t = outputs.losses(x)
    law = MixtureLoss(1 / sigma, (1 - rate, rate))
    engine = convolution.Convolution(((law, 2),))
    parts = [t[[k]] for k in range(t.size)] if alone else [t]
    tails = [engine.both_ways(part) for part in parts]
    there, back = (np.concatenate([np.stack(pair[k]) for pair in tails], axis=1) for k in (0, 1))
    wanted = (*outputs.rates(t, 2), *outputs.profiles(t))
    names = ("fpr", "tpr", "fnr", "tnr", "delta", "back")
    for name, tail, want in zip(names, [*there[:5], back[4]], wanted, strict=True):
        seen = np.isfinite(want) & (want > 1e-290)
        for depth in (1e-12, 1e-35, 1e-90):
            # Each table has something to answer for.
            assert name not in ("fpr", "tpr", "delta") or np.any(want[seen] < depth)
        np.testing.assert_allclose(tail[seen], want[seen], rtol=RELATIVE, err_msg=name)


def test_folds_that_lose_what_only_the_record_shows_are_refused(monkeypatch):
    """The sum's mass is checked under both hypotheses, though folds are normalised under one."""
    steps = ((MixtureLoss(4.0, (0.99, 0.01)), 2),)
    whole = convolution.Convolution(steps).tails(np.array([14.6]))
    assert whole.fpr < 2e-11
    assert whole.tpr > 1e-5
    honest = convolution.convolved

    def forgetful(first, other, tolerance):
        """Without the panels of losses above 14.6."""
        both = honest(first, other, tolerance)
        last = int(np.searchsorted(both.ends, 14.6)) + 1
        return convolution.LogDensity(both.edges[:last], both.coefficients[:, : last - 1])

    monkeypatch.setattr(convolution, "convolved", forgetful)
    with pytest.raises(ta.NotCertified, match=r"^convolved losses came out with a mass off 1 by -"):
        convolution.Convolution(steps).tails(np.zeros(1))
