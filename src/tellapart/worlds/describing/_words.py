"""A model, a query and a release, each in a few words."""

from __future__ import annotations

from typing import Any

from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.worlds.models import (
    Exchangeable,
    GaussianRecords,
    Independent,
    JointTable,
    MarkovChain,
    Sum,
    TreeNetwork,
)
from tellapart.worlds.models.queries import Query
from tellapart.worlds.releases import Release
from tellapart.worlds.secret_test import Model

_KINDS: dict[type[Any], str] = {
    MarkovChain: "a chain of {} records",
    JointTable: "a joint table of {} records",
    Independent: "{} independent records",
    Exchangeable: "{} exchangeable records",
    TreeNetwork: "a tree of {} records",
    GaussianRecords: "{} records that are normal together",
}


def model(model: Model) -> str:
    """Such as *a chain of 100 records*."""
    return _KINDS.get(type(model), "a model of {} records").format(model.records)


def published(query: Query, release: Release) -> str:
    """Such as *the sum with Laplace noise of scale 1*."""
    asked = "the sum" if isinstance(query, Sum) else "a weighted sum"
    if isinstance(release, Laplace):
        return f"{asked} with Laplace noise of scale {release.scale:g}"
    if isinstance(release, Gaussian):
        return f"{asked} with Gaussian noise of deviation {release.sigma:g}"
    return f"{asked} through a channel with {len(release.outputs or ())} outputs"
