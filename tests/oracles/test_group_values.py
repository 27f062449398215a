"""Large groups at small and large rates, to sixty digits: no curve may leak less than they do.

Any threshold on the output is an attack, and what it reaches, in either order, is a lower bound
on δ that no guarantee may undercut.
"""

from functools import lru_cache
from itertools import accumulate

import mpmath as mp
import numpy as np
import pytest

import tellapart as ta
from tellapart.mechanisms.group_privacy import _binomial

# Logarithms of factorials of 1000 are known to 1e-12 in doubles.
ROUNDING = 1e-11


@lru_cache
def weights_of(size, rate):
    """How likely each number of members is."""
    with mp.workdps(60):
        rate = mp.mpf(rate)
        weights = [(1 - rate) ** size]
        for j in range(size):
            weights.append(weights[-1] * (size - j) / (j + 1) * rate / (1 - rate))
        return weights


def attacked(size, rate, mu, x):
    """The loss of this output, and what accusing above it, or below it, reaches in δ there."""
    with mp.workdps(60):
        terms = list(enumerate(weights_of(size, rate)))
        mu, x = mp.mpf(mu), mp.mpf(x)
        ratio = mp.fsum(w * mp.exp(j * mu * x - (j * mu) ** 2 / 2) for j, w in terms)
        loss = float(mp.log(ratio))
        above = mp.fsum(w * mp.ncdf(j * mu - x) for j, w in terms)
        below = mp.fsum(w * mp.ncdf(x - j * mu) for j, w in terms)
        ahead = above - mp.exp(loss) * mp.ncdf(-x)
        back = mp.ncdf(x) - mp.exp(-loss) * below
        return loss, float(ahead), float(back)


# Members at whose outputs the curve is asked: some more than are listed.
LARGE = [
    (1000, 1e-9, 0.1, (0.3, 1.5, 4, 25, 28, 29, 33)),
    (60, 1e-4, 0.25, (0.75, 1.5, 4, 29, 53, 54)),
    (1000, 0.01, 0.5, (1.5, 4, 25, 185, 187, 190)),
    (300, 1e-80, 0.05, (1.5, 2, 2.5, 3)),
]


@pytest.mark.parametrize(("size", "rate", "sigma", "members"), LARGE)
def test_unlikely_crowds_leak_no_less_than_they_do(size, rate, sigma, members):
    curve = ta.Gaussian(sigma).sampled(rate).for_group(size).curve(ta.Order.PRESENT)
    for many in members:
        loss, ahead, _ = attacked(size, rate, 1 / sigma, many / sigma)
        assert curve.delta(loss) >= ahead * (1 - ROUNDING)
    # However large ε is: more members than are listed may show.
    weights, _ = _binomial(size, rate)
    beyond = mp.fsum(weights_of(size, rate)[len(weights) :])
    assert curve.delta(np.inf) >= beyond > 0


@pytest.mark.parametrize(
    ("size", "rate", "sigma", "outputs"),
    [
        (10, 0.3, 1.0, (-2, -1, 0, 1)),
        (20, 0.9, 1.0, (-2, -1, 0, 1)),
        (200, 0.5, 5.0, (-2, 0, 3)),
        (1000, 0.5, 5.0, (-2, 0, 3)),
        (1000, 0.9, 20.0, (-2, 0, 3)),
    ],
)
def test_an_empty_sample_that_nearly_never_occurs_leaks_by_its_absence(size, rate, sigma, outputs):
    """The losses run down to log (1 − rate)^size: in the other order these are the large ones."""
    curve = ta.Gaussian(sigma).sampled(rate).for_group(size).curve(ta.Order.ABSENT)
    for x in outputs:
        loss, _, back = attacked(size, rate, 1 / sigma, x)
        assert curve.delta(-loss) >= back * (1 - ROUNDING) - 1e-15


@pytest.mark.parametrize(
    ("size", "rate"),
    [(3, 0.2), (60, 1e-4), (1000, 0.01), (1000, 0.5), (1000, 0.9), (400, 0.999), (1000, 1e-150)],
)
def test_numbers_of_members_are_moved_up_never_down_and_none_is_lost(size, rate):
    weights, kept = _binomial(size, rate)
    want = weights_of(size, rate)
    first = next(j for j, weight in enumerate(weights) if weight > 0)
    with mp.workdps(60):
        sums, exact = (list(accumulate(map(mp.mpf, some))) for some in (weights, want))
        # At most so many: as likely as in truth from the first one on that counts, which has
        # taken up those before it. None of the mass is lost, however little it is.
        assert all(
            abs(a / b - 1) < ROUNDING for a, b in list(zip(sums, exact, strict=False))[first:]
        )
        # At least so many: no less likely than in truth, those that reveal all included.
        last = len(weights)
        sums = list(accumulate(map(mp.mpf, [kept.delta_infinity[1], *weights[::-1]])))
        exact = list(accumulate([mp.fsum(want[last:]), *want[:last][::-1]]))
        assert all(a >= b * (1 - ROUNDING) for a, b in zip(sums, exact, strict=True))
        assert sums[0] >= exact[0]
