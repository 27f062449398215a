"""Mechanisms: frozen records that know their exact curve.

`MECHANISMS` is the public registry; the laws of the test suite run over all of it. `batches` is
what data loaders do, beyond Poisson samples; `matrix_factorisation` has trainings with correlated
noise; `query_engines` the sparse vector technique, thresholded histograms and partition selection;
`catalogue` names and parameters, declared once, and mechanisms from short texts.
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
from tellapart.mechanisms.query_engines.partition_selection import PartitionSelection
from tellapart.mechanisms.query_engines.sparse_vector import AboveThreshold
from tellapart.mechanisms.query_engines.thresholded_histogram import ThresholdedHistogram
from tellapart.mechanisms.shapes import PlanarLaplace, Staircase, UniformNoise

MECHANISMS: tuple[type[Mechanism], ...] = (
    AboveThreshold,
    CustomMechanism,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    LastIterate,
    PartitionSelection,
    PermuteAndFlip,
    PlanarLaplace,
    Promise,
    RandomizedResponse,
    ReportNoisyMax,
    Staircase,
    ThresholdedHistogram,
    TruncatedLaplace,
    UnaryEncoding,
    UniformNoise,
)
