"""The trade-off curve of two laws of a true answer, seen through a release."""

from __future__ import annotations

import math

from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import gaussian
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.worlds.models.laws import FiniteLaw, NormalLaw
from tellapart.worlds.models.vectors import VectorLaw
from tellapart.worlds.pairs.extremes import Law
from tellapart.worlds.pairs.finite import channel_pair
from tellapart.worlds.pairs.gaussian import gaussian_pair
from tellapart.worlds.pairs.laplace import laplace_pair
from tellapart.worlds.pairs.normal_laplace import normal_laplace
from tellapart.worlds.pairs.vectors import vector_curve
from tellapart.worlds.releases import Channel, Release, Releases, each_release, one_release


def pair_curve(present: Law, absent: Law, release: Releases) -> TradeoffCurve:
    """How well ``present`` is told from ``absent``; the curve's ``bound`` says on which side.

    Exact up to rounding but for several answers with noise, whose curve is one from below.
    """
    if isinstance(present, VectorLaw) and isinstance(absent, VectorLaw):
        return vector_curve(present, absent, each_release(release, present.answers))
    if isinstance(present, FiniteLaw) and isinstance(absent, FiniteLaw):
        return _finite(present, absent, one_release(release))
    if isinstance(present, NormalLaw) and isinstance(absent, NormalLaw):
        return _normal(present, absent, one_release(release))
    raise Unsupported("two laws of a true answer must both be finite or both be normal")


def _finite(present: FiniteLaw, absent: FiniteLaw, release: Release) -> TradeoffCurve:
    if isinstance(release, Laplace):
        return laplace_pair(present, absent, release.scale)
    if isinstance(release, Channel):
        return channel_pair(present, absent, release)
    return gaussian_pair(present, absent, release.sigma)


def _normal(present: NormalLaw, absent: NormalLaw, release: Release) -> TradeoffCurve:
    if present.variance != absent.variance:
        raise Unsupported(
            "normal answers of unlike variance are not told apart here; "
            "ask about two values of one record"
        )
    shift = abs(present.mean - absent.mean)
    if isinstance(release, Gaussian):
        # What the data themselves vary counts as noise.
        return gaussian(mu=shift / math.hypot(release.sigma, math.sqrt(present.variance)))
    if isinstance(release, Laplace):
        deviation = math.sqrt(present.variance)
        return normal_laplace(shift / release.scale, deviation / release.scale)
    raise Unsupported("a channel has finitely many answers, a normal answer has endlessly many")
