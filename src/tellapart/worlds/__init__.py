"""What an adversary knows beforehand, and what it asks."""

from tellapart.worlds import streams
from tellapart.worlds.adversary import Adversary, PriorRange
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
    Vector,
    VectorLaw,
    chain_log_mgf,
    interior_log_mgf,
)
from tellapart.worlds.one_sided import OneSided
from tellapart.worlds.releases import Channel
from tellapart.worlds.secret_test import SecretTest, Witness, one_vs_rest, tell_apart

__all__ = [
    "Adversary",
    "Channel",
    "Exchangeable",
    "FiniteLaw",
    "FiniteModel",
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
    "SecretTest",
    "Sum",
    "TreeNetwork",
    "Vector",
    "VectorLaw",
    "Witness",
    "chain_log_mgf",
    "interior_log_mgf",
    "one_vs_rest",
    "streams",
    "tell_apart",
]
