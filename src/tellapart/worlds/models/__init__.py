"""How data hang together: models that give the law of an answer to those who know a secret."""

from tellapart.worlds.models.base import FiniteModel, ImpossibleSecret
from tellapart.worlds.models.chain import MarkovChain
from tellapart.worlds.models.exchangeable import Exchangeable
from tellapart.worlds.models.gaussian import GaussianRecords
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.laws import FiniteLaw, NormalLaw
from tellapart.worlds.models.queries import Linear, Sum, Vector
from tellapart.worlds.models.secrets import Predicate, RecordIn, RecordValue
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.models.tilted import chain_log_mgf, interior_log_mgf
from tellapart.worlds.models.tree import TreeNetwork
from tellapart.worlds.models.vectors import VectorLaw

__all__ = [
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
    "Predicate",
    "RecordIn",
    "RecordValue",
    "Sum",
    "TreeNetwork",
    "Vector",
    "VectorLaw",
    "chain_log_mgf",
    "interior_log_mgf",
]
