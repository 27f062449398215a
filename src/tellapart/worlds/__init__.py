"""Correlated records, an adversary's prior, and privacy frameworks beyond DP.

- `models`: how records are correlated; `markov`: records in a row; `described`: models in files;
- `pairs`: two laws under one of the `releases` as a curve, on which `secret_test` rests;
- `bayes_vulnerability`: the best guess of a value, by an attacker who knows the prior;
- `frameworks`: Pufferfish, Bayesian DP and others; `policies`: Blowfish.
"""

from typing import TYPE_CHECKING

from tellapart import _moved
from tellapart.worlds import described, frameworks, policies
from tellapart.worlds.adversary import Adversary, PriorRange, coefficients
from tellapart.worlds.bayes_vulnerability import best_guess
from tellapart.worlds.markov import streams
from tellapart.worlds.markov.bounds import chain_epsilon_bound, chain_scale_bound
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.chain_sets import ChainSet
from tellapart.worlds.markov.fitting import fit_chain
from tellapart.worlds.markov.quilts import quilt_scale
from tellapart.worlds.models.base import ImpossibleSecret
from tellapart.worlds.models.exchangeable import Exchangeable
from tellapart.worlds.models.fitted_tables import fit_table
from tellapart.worlds.models.gaussian import GaussianRecords
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.queries import Linear, Sum, Vector
from tellapart.worlds.models.secrets import Predicate, RecordIn, RecordValue
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.models.table_sets import TableSet, table_epsilon_bound, table_scale_bound
from tellapart.worlds.models.tree import TreeNetwork
from tellapart.worlds.pairs.one_sided import OneSided
from tellapart.worlds.releases import Channel
from tellapart.worlds.secret_test import one_vs_rest, tell_apart
from tellapart.worlds.wasserstein_distance import wasserstein

__all__ = [
    "Adversary",
    "ChainSet",
    "Channel",
    "Exchangeable",
    "GaussianRecords",
    "ImpossibleSecret",
    "Independent",
    "JointTable",
    "Linear",
    "MarkovChain",
    "OneSided",
    "Predicate",
    "PriorRange",
    "RecordIn",
    "RecordValue",
    "Sum",
    "TableSet",
    "TreeNetwork",
    "Vector",
    "best_guess",
    "chain_epsilon_bound",
    "chain_scale_bound",
    "coefficients",
    "described",
    "fit_chain",
    "fit_table",
    "frameworks",
    "one_vs_rest",
    "policies",
    "quilt_scale",
    "streams",
    "table_epsilon_bound",
    "table_scale_bound",
    "tell_apart",
    "wasserstein",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
