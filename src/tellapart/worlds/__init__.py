"""What an adversary knows beforehand, and what it asks."""

from tellapart.worlds import streams
from tellapart.worlds.adversary import Adversary, PriorRange
from tellapart.worlds.fitting import (
    ChainSet,
    FittedChain,
    chain_epsilon_bound,
    chain_scale_bound,
    fit_chain,
)
from tellapart.worlds.models import (
    Exchangeable,
    FiniteLaw,
    FiniteModel,
    GaussianRecords,
    ImpossibleSecret,
    Independent,
    JointTable,
    Linear,
    MarkovChain,
    NormalLaw,
    Predicate,
    RecordIn,
    RecordValue,
    Sum,
    TreeNetwork,
    chain_log_mgf,
    interior_log_mgf,
)
from tellapart.worlds.one_sided import OneSided

__all__ = [
    "Adversary",
    "ChainSet",
    "Exchangeable",
    "FiniteLaw",
    "FiniteModel",
    "FittedChain",
    "GaussianRecords",
    "ImpossibleSecret",
    "Independent",
    "JointTable",
    "Linear",
    "MarkovChain",
    "NormalLaw",
    "OneSided",
    "Predicate",
    "PriorRange",
    "RecordIn",
    "RecordValue",
    "Sum",
    "TreeNetwork",
    "chain_epsilon_bound",
    "chain_log_mgf",
    "chain_scale_bound",
    "fit_chain",
    "interior_log_mgf",
    "streams",
]
