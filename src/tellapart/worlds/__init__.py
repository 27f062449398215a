"""What an adversary knows beforehand, and what it asks."""

from tellapart.worlds import policies, streams
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
    chain_log_mgf,
    interior_log_mgf,
)
from tellapart.worlds.one_sided import OneSided
from tellapart.worlds.quilts import Mixing, Quilt, mixing, quilt_scale, quilt_scale_approximate
from tellapart.worlds.releases import Channel
from tellapart.worlds.secret_test import SecretTest, Witness, tell_apart
from tellapart.worlds.wasserstein import Widest, wasserstein, widest

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
    "TreeNetwork",
    "Widest",
    "Witness",
    "chain_log_mgf",
    "interior_log_mgf",
    "mixing",
    "policies",
    "quilt_scale",
    "quilt_scale_approximate",
    "streams",
    "tell_apart",
    "wasserstein",
    "widest",
]
