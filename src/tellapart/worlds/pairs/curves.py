"""Trade-off curve and extreme likelihood ratios of two laws of a true answer, under a release."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import gaussian
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.worlds.models.laws import FiniteLaw, NormalLaw, VectorLaw
from tellapart.worlds.pairs.finite_outputs import channel_pair, log_chances, log_ratio
from tellapart.worlds.pairs.gaussian import gaussian_pair
from tellapart.worlds.pairs.laplace import laplace_pair
from tellapart.worlds.pairs.normal_laplace import normal_laplace
from tellapart.worlds.pairs.vectors import vector_curve, vector_extremes
from tellapart.worlds.releases import Channel, Release, Releases, each_release, one_release

Law = FiniteLaw | NormalLaw | VectorLaw

_UNLIKE = (
    "normal answers of unlike variance are not told apart here; ask about two values of one record"
)
_ENDLESS = "a channel has finitely many answers, a normal answer has endlessly many"


class Extreme(NamedTuple):
    """An output and the logarithm of how much likelier one law makes it than the other.

    ±inf as an output stands for the limit far out, None for outputs of a limit that none attains.
    """

    log_ratio: float
    output: Any


def extremes(present: Law, absent: Law, release: Releases) -> tuple[Extreme, Extreme]:
    """The largest and the smallest log-likelihood ratio over all outputs."""
    if isinstance(present, VectorLaw) and isinstance(absent, VectorLaw):
        releases = each_release(release, present.answers)
        largest, smallest = vector_extremes(present, absent, releases)
        return Extreme(*largest), Extreme(*smallest)
    single = one_release(release)
    if isinstance(single, Laplace):
        return _under_laplace(present, absent, single.scale)
    if isinstance(single, Channel):
        return _through_channel(present, absent, single)
    return _under_gaussian(present, absent, single.sigma)


def furthest(present: Law, absent: Law, release: Releases) -> Extreme:
    """The output whose likelihood ratio is furthest from 1, in either direction."""
    largest, smallest = extremes(present, absent, release)
    return largest if largest.log_ratio >= -smallest.log_ratio else smallest


def _under_laplace(present: Law, absent: Law, scale: float) -> tuple[Extreme, Extreme]:
    if isinstance(present, FiniteLaw) and isinstance(absent, FiniteLaw):
        pair = laplace_pair(present, absent, scale)
        high, low = int(np.argmax(pair.losses)), int(np.argmin(pair.losses))
        return (
            Extreme(float(pair.losses[high]), float(pair.atoms[high] * scale)),
            Extreme(float(pair.losses[low]), float(pair.atoms[low] * scale)),
        )
    first, other = _both_normal(present, absent)
    # Laplace tails outlive normal ones: far out the ratio is that of two means of e^(±f/b).
    ends = [
        Extreme(first.log_mgf(rate) - other.log_mgf(rate), math.copysign(math.inf, rate))
        for rate in (1 / scale, -1 / scale)
    ]
    if first.variance != other.variance:
        raise Unsupported(
            "normal answers of unlike variance have extremes in between under Laplace noise, "
            "which are not worked out; ask about two values of one record"
        )
    return max(ends), min(ends)


def _through_channel(present: Law, absent: Law, channel: Channel) -> tuple[Extreme, Extreme]:
    first, other = _both_finite(present, absent)
    ratios = log_ratio(log_chances(first, channel), log_chances(other, channel))
    names: Any = channel.outputs
    high, low = int(np.argmax(ratios)), int(np.argmin(ratios))
    return Extreme(float(ratios[high]), names[high]), Extreme(float(ratios[low]), names[low])


def _both_normal(present: Law, absent: Law) -> tuple[NormalLaw, NormalLaw]:
    if isinstance(present, NormalLaw) and isinstance(absent, NormalLaw):
        return present, absent
    raise Unsupported("two laws of a true answer must both be finite or both be normal")


def _both_finite(present: Law, absent: Law) -> tuple[FiniteLaw, FiniteLaw]:
    if isinstance(present, FiniteLaw) and isinstance(absent, FiniteLaw):
        return present, absent
    raise Unsupported(_ENDLESS)


def _under_gaussian(present: Law, absent: Law, sigma: float) -> tuple[Extreme, Extreme]:
    if isinstance(present, FiniteLaw) and isinstance(absent, FiniteLaw):
        ends = gaussian_pair(present, absent, sigma).extremes
        largest, smallest = (Extreme(loss, output * sigma) for loss, output in ends)
        return largest, smallest
    first, other = _both_normal(present, absent)
    if first.variance != other.variance:
        raise Unsupported(_UNLIKE)
    if first.mean == other.mean:
        return Extreme(0.0, first.mean), Extreme(0.0, first.mean)
    far = math.copysign(math.inf, first.mean - other.mean)
    return Extreme(math.inf, far), Extreme(-math.inf, -far)


def pair_curve(present: Law, absent: Law, release: Releases) -> TradeoffCurve:
    """How well ``present`` is told from ``absent``; the curve's ``bound`` says on which side.

    Exact up to rounding but for several answers with noise, whose curve is one from below.
    """
    if isinstance(present, VectorLaw) and isinstance(absent, VectorLaw):
        return vector_curve(present, absent, each_release(release, present.answers))
    if isinstance(present, FiniteLaw) and isinstance(absent, FiniteLaw):
        return _finite(present, absent, one_release(release))
    return _normal(*_both_normal(present, absent), one_release(release))


def _finite(present: FiniteLaw, absent: FiniteLaw, release: Release) -> TradeoffCurve:
    if isinstance(release, Laplace):
        return laplace_pair(present, absent, release.scale)
    if isinstance(release, Channel):
        return channel_pair(present, absent, release)
    return gaussian_pair(present, absent, release.sigma)


def _normal(present: NormalLaw, absent: NormalLaw, release: Release) -> TradeoffCurve:
    if present.variance != absent.variance:
        raise Unsupported(_UNLIKE)
    shift = abs(present.mean - absent.mean)
    if isinstance(release, Gaussian):
        # What the data themselves vary counts as noise.
        return gaussian(mu=shift / math.hypot(release.sigma, math.sqrt(present.variance)))
    if isinstance(release, Laplace):
        deviation = math.sqrt(present.variance)
        return normal_laplace(shift / release.scale, deviation / release.scale)
    raise Unsupported(_ENDLESS)
