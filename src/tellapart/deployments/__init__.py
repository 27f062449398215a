"""Published deployments of differential privacy, as what an attacker gains over one unit.

The facts are those of OpenDP's deployments registry, each with the entry it comes from. An entry
whose parameters do not fit its variant of privacy is in `LEFT_OUT`, with the reason.
"""

from tellapart.deployments._finding import find
from tellapart.deployments._gains import CAVEATS, Gain, gains
from tellapart.deployments._registry import DEPLOYMENTS, LEFT_OUT, SOURCE, LeftOut
from tellapart.deployments.deployment import Deployment, Variant

__all__ = [
    "CAVEATS",
    "DEPLOYMENTS",
    "LEFT_OUT",
    "SOURCE",
    "Deployment",
    "Gain",
    "LeftOut",
    "Variant",
    "find",
    "gains",
]
