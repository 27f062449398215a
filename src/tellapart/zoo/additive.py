"""Additive noise: the Laplace, Gaussian and geometric mechanisms, right and wrong.

Unless a function says otherwise the data is one number, which one record changes by at most 1.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.random import Generator

from tellapart._checks import Array
from tellapart.curve.guarantees import guarantee
from tellapart.mechanisms.noise import Gaussian
from tellapart.zoo.specimen import FOLKLORE, SUPPORT, Flaw, declared_in, gaussian_epsilon, specimen

# The scale of noise that keeps ε = 1 for a sensitivity of 1.
SCALE = 1.0
# What Gaussian noise promises, and what the classical formula promises where it fails: the δ is
# so large because 10^5 calls can show no excess over a small one at this ε.
CLASSICAL = (1.0, 1e-5)
BEYOND = (7.0, 0.4)
ANALYTIC_SIGMA = Gaussian.with_epsilon(*CLASSICAL).sigma
FEW = 256
# Snapping: outputs lie within ±BOUND, on multiples of the power of two above the scale.
BOUND = 32.0
SNAP_SCALE = 1.0 + 2**-40
_GRID = 2.0
_MEMO: dict[float, float] = {}
# Counts lie in 0..TOP.
TOP = 5
# Noise that is cut off beyond this size.
CUT = 5
# A claim, and the ratio 1 + 2^−k by which code that halves instead of multiplying meets it.
COARSE_EPSILON = 0.6

_LAPLACE = "Dwork, McSherry, Nissim and Smith 2006"
_GEOMETRIC = "Ghosh, Roughgarden and Sundararajan 2012"
_RATIO = "ratio of two Laplace densities"
_PMF = "sum over the whole numbers"
_AMPLIFIED = math.log1p(0.1 * math.expm1(1))


def _column(data: Any) -> Array:
    return np.asarray(data, dtype=np.float64)


@specimen((0.0, 1.0), truth=1.0, flaw=None, known=_RATIO, source=_LAPLACE)
def laplace(data: float, rng: Generator, size: int) -> Array:
    """An answer with Laplace noise of scale 1/ε."""
    return data + rng.laplace(0.0, SCALE, size)


@specimen((0.0, 1.0), truth=2.0, known=_RATIO, source=FOLKLORE)
def laplace_half_scale(data: float, rng: Generator, size: int) -> Array:
    """The scale is half of what ε needs."""
    return data + rng.laplace(0.0, SCALE / 2, size)


@specimen(
    ((), (3.0,)), truth=3.0, known=_RATIO, source="Casacuberta, Shoemate, Vadhan and Wagaman 2022"
)
def laplace_wrong_sensitivity(data: Any, rng: Generator, size: int) -> Array:
    """A sum of ages in units of 10 years clipped to [0, 3], with noise for a sensitivity of 1."""
    return float(np.clip(_column(data), 0, 3).sum()) + rng.laplace(0.0, SCALE, size)


@specimen(
    ((0.0,) * 3, (1.0,) * 3), truth=3.0, known="product of three Laplace ratios", source=FOLKLORE
)
def laplace_vector(data: Any, rng: Generator, size: int) -> Array:
    """Every coordinate gets noise for the whole budget, though one record changes them all."""
    answers = _column(data)
    return np.asarray(answers + rng.laplace(0.0, SCALE, (size, answers.size)))


@specimen((0.0, 1.0), truth=1.0, flaw=None, known="sum over the whole numbers", source=_LAPLACE)
def laplace_rounded(data: float, rng: Generator, size: int) -> Array:
    """A whole number with Laplace noise, rounded afterwards, which costs nothing."""
    return np.rint(data + rng.laplace(0.0, SCALE, size))


@specimen((0.0, 1.0), truth=1.0, flaw=None, known=_RATIO + ", from 1 on", source=_LAPLACE)
def laplace_clamped(data: float, rng: Generator, size: int) -> Array:
    """Negative answers are shown as 0, which costs nothing."""
    return np.maximum(data + rng.laplace(0.0, SCALE, size), 0.0)


@specimen(
    (0.0, 1.0),
    truth=1 + math.log(2 - math.exp(-1)),
    known=_RATIO + " at 0, over the chances that nothing is redrawn",
    source="Holohan, Antonatos, Braghin and Mac Aonghusa 2018",
)
def laplace_redrawn(data: float, rng: Generator, size: int) -> Array:
    """Negative answers are drawn again, so that the noise depends on the data."""
    noisy = data + rng.laplace(0.0, SCALE, size)
    while (negative := noisy < 0).any():
        noisy[negative] = data + rng.laplace(0.0, SCALE, int(negative.sum()))
    return np.asarray(noisy)


@specimen((0.0, 1.0), truth=math.inf, known=SUPPORT, source=FOLKLORE)
def laplace_absolute(data: float, rng: Generator, size: int) -> Array:
    """The noise is never negative."""
    return data + np.abs(rng.laplace(0.0, SCALE, size))


@specimen((0.0, 0.5), truth=math.inf, known=SUPPORT, source=FOLKLORE)
def laplace_integer_noise(data: float, rng: Generator, size: int) -> Array:
    """Whole-numbered noise on a number that need not be whole."""
    return data + np.rint(rng.laplace(0.0, SCALE, size))


@specimen(
    (0.0, 1.0),
    truth=3.0,
    known="limit of the ratio of densities at −∞",
    source="Liu and Talwar 2019",
)
def laplace_best_of_three(data: float, rng: Generator, size: int) -> Array:
    """Three answers are drawn and the largest is kept; the budget is charged once."""
    return np.asarray(data + rng.laplace(0.0, SCALE, (size, 3)).max(axis=1))


@specimen(
    ((), (1.0,)),
    claim=guarantee(epsilon=_AMPLIFIED),
    truth=_AMPLIFIED,
    flaw=None,
    known="ratio of a mixture of two Laplace densities to one",
    source="Balle, Barthe and Gaboardi 2018",
)
def laplace_sampled(data: Any, rng: Generator, size: int) -> Array:
    """A sum over a sample that every record enters with probability 1/10, with Laplace noise."""
    records = _column(data)
    taken = rng.random((size, records.size)) < 0.1
    return np.asarray(taken @ records + rng.laplace(0.0, SCALE, size))


@specimen(
    ((0.0,) * 10, (1.0, *(0.0,) * 9)),
    claim=guarantee(epsilon=_AMPLIFIED),
    truth=1.0,
    known=_RATIO,
    source=FOLKLORE,
)
def laplace_first_rows(data: Any, rng: Generator, size: int) -> Array:
    """The sample is the first tenth of the rows, so nothing hides whether a record is in it."""
    records = _column(data)
    sample = records[: math.ceil(records.size / 10)]
    return float(sample.sum()) + rng.laplace(0.0, SCALE, size)


@specimen(
    (0.0, 1.0), truth=math.inf, flaw=Flaw.CALLS, known="each input has one output", source=FOLKLORE
)
def laplace_fixed_seed(data: float, rng: Generator, size: int) -> Array:
    """The generator is made anew, from the same seed, in every call."""
    return data + np.full(size, np.random.default_rng(0).laplace(0.0, SCALE))


@specimen(
    (0.0, 1.0),
    truth=None,
    flaw=Flaw.CALLS,
    known="the first call keeps ε = 1; the second takes the noise off",
    source=FOLKLORE,
)
def laplace_memoised(data: float, rng: Generator, size: int) -> Array:
    """The noise is drawn once in the life of the process and used for every data set."""
    if SCALE not in _MEMO:
        _MEMO[SCALE] = rng.laplace(0.0, SCALE)
    return data + np.full(size, _MEMO[SCALE])


@functools.cache
def _few_noises() -> Array:
    return np.array([np.random.default_rng(seed).laplace(0.0, SCALE) for seed in range(FEW)])


@specimen((0.0, 1.0), truth=math.inf, known=SUPPORT, source="CWE-339, a small space of seeds")
def laplace_few_seeds(data: float, rng: Generator, size: int) -> Array:
    """The generator is seeded with one byte, so only 256 noises exist."""
    return np.asarray(data + _few_noises()[rng.integers(FEW, size=size)])


@specimen(
    (0.0, 1.0),
    truth=math.inf,
    flaw=Flaw.BITS,
    known="doubles that only one input can reach; 1 if read as real numbers",
    source="Mironov 2012",
)
def laplace_textbook(data: float, rng: Generator, size: int) -> Array:
    """Laplace noise as a logarithm of a uniform double: not every double can come out."""
    sign = np.where(rng.random(size) < 0.5, -1.0, 1.0)
    return np.asarray(data + SCALE * sign * np.log(1 - rng.random(size)))


@specimen(
    (0.0, 1.0),
    truth=1 / SNAP_SCALE,
    flaw=None,
    known="sum over the grid, with a real logarithm; theorem 1 with doubles",
    source="Mironov 2012",
)
def laplace_snapped(data: float, rng: Generator, size: int) -> Array:
    """Noise from all doubles, the answer clamped and rounded to a coarse grid (snapping)."""
    exponent = -rng.geometric(0.5, size).astype(np.int32)
    uniform = np.ldexp(1 + rng.integers(0, 1 << 52, size) * 2.0**-52, exponent)
    sign = np.where(rng.random(size) < 0.5, -1.0, 1.0)
    noisy = float(np.clip(data, -BOUND, BOUND)) + sign * SNAP_SCALE * np.log(uniform)
    return np.asarray(np.clip(_GRID * np.rint(noisy / _GRID), -BOUND, BOUND))


def classical_sigma(epsilon: float, delta: float) -> float:
    """The noise of the classical Gaussian mechanism, proven for ε < 1 only."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@specimen(
    (0.0, 1.0),
    claim=guarantee(mu=1),
    truth=gaussian_epsilon(1),
    flaw=None,
    known="exact curve",
    source="Dong, Roth and Su 2022",
)
def gaussian(data: float, rng: Generator, size: int) -> Array:
    """An answer with standard Gaussian noise."""
    return data + rng.normal(0.0, 1.0, size)


@specimen(
    (0.0, 1.0),
    claim=guarantee(*CLASSICAL),
    truth=1.0,
    flaw=None,
    known="exact curve",
    source="Balle and Wang 2018",
)
def gaussian_analytic(data: float, rng: Generator, size: int) -> Array:
    """Gaussian noise just large enough for (1, 1e-5)."""
    return data + rng.normal(0.0, ANALYTIC_SIGMA, size)


@specimen(
    (0.0, 1.0),
    claim=guarantee(*CLASSICAL),
    truth=gaussian_epsilon(1 / classical_sigma(*CLASSICAL)),
    flaw=None,
    known="exact curve",
    source="Dwork and Roth 2014, appendix A",
)
def gaussian_classical(data: float, rng: Generator, size: int) -> Array:
    """Gaussian noise by the classical formula, where it is proven."""
    return data + rng.normal(0.0, classical_sigma(*CLASSICAL), size)


@specimen(
    (0.0, 1.0),
    claim=guarantee(*BEYOND),
    truth=gaussian_epsilon(1 / classical_sigma(*BEYOND), BEYOND[1]),
    known="exact curve",
    source="Balle and Wang 2018",
)
def gaussian_classical_beyond(data: float, rng: Generator, size: int) -> Array:
    """Gaussian noise by the classical formula, at an ε for which it fails."""
    return data + rng.normal(0.0, classical_sigma(*BEYOND), size)


@specimen(
    (0.0, 1.0), truth=math.inf, known="ratio of two Gaussian densities, unbounded", source=FOLKLORE
)
def gaussian_pure(data: float, rng: Generator, size: int) -> Array:
    """Gaussian noise of deviation 1/ε, claimed to keep ε without any δ."""
    return data + rng.normal(0.0, SCALE, size)


@specimen(
    (0.0, 1.0),
    claim=guarantee(mu=2),
    truth=gaussian_epsilon(4),
    known="exact curve",
    source=FOLKLORE,
)
def gaussian_variance(data: float, rng: Generator, size: int) -> Array:
    """The variance is passed where the standard deviation is expected; σ = 1/2 is meant."""
    return data + rng.normal(0.0, 0.5**2, size)


@specimen(
    (0.0, 1.0),
    claim=guarantee(mu=1),
    truth=math.inf,
    flaw=Flaw.BITS,
    known="bits that no output on 1 has; that of the exact curve if read as real numbers",
    source="Haney, Desfontaines, Hartman, Shrestha and Hay 2022",
)
def gaussian_textbook(data: float, rng: Generator, size: int) -> Array:
    """Gaussian noise from a radius and an angle (Box and Muller): sums are rounded as they go."""
    radius = np.sqrt(-2 * np.log(1 - rng.random(size)))
    return np.asarray(data + radius * np.cos(2 * np.pi * rng.random(size)))


@specimen(
    ((0.0,) * 4, (1.0,) * 4),
    claim=guarantee(mu=1),
    truth=gaussian_epsilon(2),
    known="exact curve",
    source=FOLKLORE,
)
def gaussian_vector(data: Any, rng: Generator, size: int) -> Array:
    """Noise for the largest coordinate's change, though one record changes all coordinates."""
    answers = _column(data)
    return np.asarray(answers + rng.normal(0.0, 1.0, (size, answers.size)))


def _geometric_noise(ratio: float, rng: Generator, size: int) -> Array:
    """Two-sided geometric noise: P(k) falls by ``ratio`` with every step away from 0."""
    return np.asarray(rng.geometric(1 - ratio, size) - rng.geometric(1 - ratio, size))


def coarse_ratio(epsilon: float) -> float:
    """1/(1 + 2^−k) for the k nearest below log2(1/ε): rounded the wrong way."""
    return 1 / (1 + 2.0 ** -math.floor(math.log2(1 / epsilon)))


@specimen((2, 3), truth=1.0, flaw=None, known=_PMF, source=_GEOMETRIC)
def geometric(data: int, rng: Generator, size: int) -> Array:
    """A count with two-sided geometric (discrete Laplace) noise."""
    return np.asarray(data + _geometric_noise(math.exp(-1), rng, size))


@specimen((2, 3), truth=1.0, flaw=None, known=_PMF, source=_GEOMETRIC)
def geometric_truncated(data: int, rng: Generator, size: int) -> Array:
    """The noisy count moved to the nearest possible count, which costs nothing."""
    return np.clip(data + _geometric_noise(math.exp(-1), rng, size), 0, TOP)


@specimen(
    (2, 3),
    claim=guarantee(epsilon=COARSE_EPSILON),
    truth=math.log(2),
    known=_PMF,
    source="Balcer and Vadhan 2019; Bichsel, Steffen, Bogunovic and Vechev 2021",
)
def geometric_coarse(data: int, rng: Generator, size: int) -> Array:
    """For exact arithmetic the ratio is rounded to 1 + 2^−k, in the wrong direction."""
    return np.clip(data + _geometric_noise(coarse_ratio(COARSE_EPSILON), rng, size), 0, TOP)


@specimen((2, 3), truth=math.inf, known=SUPPORT, source=FOLKLORE)
def geometric_one_sided(data: int, rng: Generator, size: int) -> Array:
    """The noise is never negative."""
    return np.asarray(data + rng.geometric(1 - math.exp(-1), size) - 1)


@specimen((2, 3), truth=math.inf, known=SUPPORT, source=FOLKLORE)
def geometric_cut_noise(data: int, rng: Generator, size: int) -> Array:
    """The noise, not the answer, is cut off at ±5: the ends show the count."""
    return np.asarray(data + np.clip(_geometric_noise(math.exp(-1), rng, size), -CUT, CUT))


SPECIMENS = declared_in(__name__)
