"""Mechanisms: frozen records that know their exact curve.

`MECHANISMS` is the public registry; the laws of the test suite run over all of it. `batches` is
what data loaders do, beyond Poisson samples; `matrix_factorisation` has trainings with correlated
noise, given by `strategies`.
"""

from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.choice import (
    ExponentialMechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    UnaryEncoding,
)
from tellapart.mechanisms.custom import CustomMechanism, Promise
from tellapart.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from tellapart.mechanisms.last_iterate import LastIterate
from tellapart.mechanisms.noise import Gaussian, Laplace, TruncatedLaplace
from tellapart.mechanisms.shapes import PlanarLaplace, Staircase, UniformNoise

MECHANISMS: tuple[type[Mechanism], ...] = (
    CustomMechanism,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    LastIterate,
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
