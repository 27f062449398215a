"""Correlated records, an adversary's prior, and privacy frameworks beyond DP.

- `models`: how records are correlated; `markov`: records in a row; `described`: models in files;
- `pairs`: two laws under a release as a curve, on which `secret_test` rests;
- `frameworks`: Pufferfish, Bayesian DP and others; `policies`: Blowfish.
"""

from tellapart.worlds import described, frameworks, policies
from tellapart.worlds.adversary import Adversary, Coefficients, PriorRange, coefficients
from tellapart.worlds.markov import streams
from tellapart.worlds.markov.bounds import chain_epsilon_bound, chain_scale_bound
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.chain_sets import ChainSet
from tellapart.worlds.markov.fitting import FittedChain, fit_chain
from tellapart.worlds.markov.laplace_tails import chain_log_mgf, interior_log_mgf
from tellapart.worlds.markov.quilts import (
    Mixing,
    Quilt,
    mixing,
    quilt_scale,
    quilt_scale_approximate,
)
from tellapart.worlds.models.base import FiniteModel, ImpossibleSecret
from tellapart.worlds.models.exchangeable import Exchangeable
from tellapart.worlds.models.fitted_tables import FittedTable, fit_table
from tellapart.worlds.models.gaussian import GaussianRecords
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.laws import FiniteLaw, NormalLaw, VectorLaw
from tellapart.worlds.models.queries import Linear, Sum, Vector
from tellapart.worlds.models.secrets import Predicate, RecordIn, RecordValue
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.models.table_sets import TableSet, table_epsilon_bound, table_scale_bound
from tellapart.worlds.models.tree import TreeNetwork
from tellapart.worlds.pairs.one_sided import OneSided
from tellapart.worlds.releases import Channel
from tellapart.worlds.secret_test import SecretTest, Witness, one_vs_rest, tell_apart
from tellapart.worlds.wasserstein_distance import Widest, wasserstein, widest

__all__ = [
    "Adversary",
    "ChainSet",
    "Channel",
    "Coefficients",
    "Exchangeable",
    "FiniteLaw",
    "FiniteModel",
    "FittedChain",
    "FittedTable",
    "GaussianRecords",
    "ImpossibleSecret",
    "Independent",
    "JointTable",
    "Linear",
    "MarkovChain",
    "Mixing",
    "NormalLaw",
    "OneSided",
    "Predicate",
    "PriorRange",
    "Quilt",
    "RecordIn",
    "RecordValue",
    "SecretTest",
    "Sum",
    "TableSet",
    "TreeNetwork",
    "Vector",
    "VectorLaw",
    "Widest",
    "Witness",
    "chain_epsilon_bound",
    "chain_log_mgf",
    "chain_scale_bound",
    "coefficients",
    "described",
    "fit_chain",
    "fit_table",
    "frameworks",
    "interior_log_mgf",
    "mixing",
    "one_vs_rest",
    "policies",
    "quilt_scale",
    "quilt_scale_approximate",
    "streams",
    "table_epsilon_bound",
    "table_scale_bound",
    "tell_apart",
    "wasserstein",
    "widest",
]
