"""The public names of tellapart, each imported from the room that it lives in."""

from tellapart.accountants.events import from_dp_event
from tellapart.accountants.opendp import from_opendp
from tellapart.budget.filters import Budget, RenyiBudget
from tellapart.budget.individual import IndividualBudget
from tellapart.budget.ledger import BudgetLedger
from tellapart.budget.plans import Plan
from tellapart.curve.algebra import dominates, gap, worst_case
from tellapart.curve.atomic import attack, from_pmfs
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.composition.best_of import geometric, negative_binomial, poisson
from tellapart.curve.densities import from_densities
from tellapart.curve.exchange import from_dp_accounting, from_json, to_dp_accounting, to_json
from tellapart.curve.guarantees import from_profile, guarantee
from tellapart.curve.region import PrivacyRegion
from tellapart.errors import (
    BadLedger,
    BadScores,
    BudgetSpent,
    InvalidArgument,
    LimitReached,
    NotCertified,
    TellapartError,
    TrainingStopped,
    Unsupported,
)
from tellapart.mechanisms import MECHANISMS
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.batches.mixture_of_gaussians import MixtureOfGaussians
from tellapart.mechanisms.catalogue import parse
from tellapart.mechanisms.choice import (
    ExponentialMechanism,
    MaxNoise,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    UnaryEncoding,
)
from tellapart.mechanisms.combine import compose
from tellapart.mechanisms.currencies import convert
from tellapart.mechanisms.custom import CustomMechanism, Promise
from tellapart.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from tellapart.mechanisms.last_iterate import LastIterate
from tellapart.mechanisms.matrix_factorisation.correlated_noise import (
    balls_in_bins,
    cyclic_poisson,
    matrix_mechanism,
)
from tellapart.mechanisms.matrix_factorisation.strategies import Strategy
from tellapart.mechanisms.neyman_pearson import plausibly_deniable
from tellapart.mechanisms.noise import Gaussian, Laplace, TruncatedLaplace
from tellapart.mechanisms.other_accountants import (
    central_limit,
    concentrated,
    renyi,
    renyi_divergence,
)
from tellapart.mechanisms.query_engines.partition_selection import PartitionSelection
from tellapart.mechanisms.query_engines.sparse_vector import AboveThreshold
from tellapart.mechanisms.query_engines.thresholded_histogram import ThresholdedHistogram
from tellapart.mechanisms.shapes import PlanarLaplace, Staircase, UniformNoise
from tellapart.mechanisms.training import dp_sgd, dp_sgd_with_epsilon
from tellapart.neighbours import Neighbours, Order

__all__ = [
    "MECHANISMS",
    "AboveThreshold",
    "BadLedger",
    "BadScores",
    "Bound",
    "Budget",
    "BudgetLedger",
    "BudgetSpent",
    "CustomMechanism",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Gaussian",
    "IndividualBudget",
    "InvalidArgument",
    "Laplace",
    "LastIterate",
    "LimitReached",
    "MaxNoise",
    "Mechanism",
    "MixtureOfGaussians",
    "Neighbours",
    "NotCertified",
    "Order",
    "PartitionSelection",
    "PermuteAndFlip",
    "Plan",
    "PlanarLaplace",
    "PrivacyRegion",
    "Promise",
    "RandomizedResponse",
    "RenyiBudget",
    "ReportNoisyMax",
    "Sampling",
    "Staircase",
    "Strategy",
    "TellapartError",
    "ThresholdedHistogram",
    "TradeoffCurve",
    "TrainingStopped",
    "TruncatedLaplace",
    "UnaryEncoding",
    "UniformNoise",
    "Unsupported",
    "attack",
    "balls_in_bins",
    "central_limit",
    "compose",
    "concentrated",
    "convert",
    "cyclic_poisson",
    "dominates",
    "dp_sgd",
    "dp_sgd_with_epsilon",
    "from_densities",
    "from_dp_accounting",
    "from_dp_event",
    "from_json",
    "from_opendp",
    "from_pmfs",
    "from_profile",
    "gap",
    "geometric",
    "guarantee",
    "matrix_mechanism",
    "negative_binomial",
    "parse",
    "plausibly_deniable",
    "poisson",
    "renyi",
    "renyi_divergence",
    "to_dp_accounting",
    "to_json",
    "worst_case",
]
