"""Plots: trade-off curves, ROC, privacy profiles and regions, frontiers, audits (extra ``plot``).

Each function draws one picture and returns its figure; ``axes=`` draws it into a larger one.
Subjects are mechanisms or curves by the names that the picture shows.

>>> import tellapart as ta
>>> from tellapart import plot
>>> figure = plot.roc({"Laplace": ta.Laplace(1), "Gaussian": ta.Gaussian(2)}, log=True)
>>> len(figure.axes)
1
"""

from tellapart.errors import Unsupported

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as missing:
    raise Unsupported("pictures need: pip install 'tellapart[plot]'") from missing

from tellapart.plot.audits import audit
from tellapart.plot.calibration import f_score, frontier, training_map
from tellapart.plot.correlated import leakage, noise, standings
from tellapart.plot.curves import compare, precision_recall, roc, tradeoff
from tellapart.plot.icon_array import people
from tellapart.plot.privacy_profile import profile
from tellapart.plot.privacy_regions import region_point, regions
from tellapart.plot.published import deployments
from tellapart.plot.styling import panels, save, style, styled

__all__ = [
    "audit",
    "compare",
    "deployments",
    "f_score",
    "frontier",
    "leakage",
    "noise",
    "panels",
    "people",
    "precision_recall",
    "profile",
    "region_point",
    "regions",
    "roc",
    "save",
    "standings",
    "style",
    "styled",
    "tradeoff",
    "training_map",
]
