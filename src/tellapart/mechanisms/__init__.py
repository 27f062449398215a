"""Mechanisms: frozen records that know their exact curve.

`MECHANISMS` is the public registry; the laws of the test suite run over all of it.
"""

from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.choice import (
    ExponentialMechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    UnaryEncoding,
)
from tellapart.mechanisms.custom import CustomMechanism
from tellapart.mechanisms.noise import Gaussian, Laplace, TruncatedLaplace
from tellapart.mechanisms.promise import Promise
from tellapart.mechanisms.shapes import PlanarLaplace, Staircase, UniformNoise
from tellapart.mechanisms.whole_noise import DiscreteGaussian, DiscreteLaplace

MECHANISMS: tuple[type[Mechanism], ...] = (
    CustomMechanism,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    PlanarLaplace,
    Promise,
    RandomizedResponse,
    ReportNoisyMax,
    Staircase,
    TruncatedLaplace,
    UnaryEncoding,
    UniformNoise,
)
