"""Data models written down in a file, with what is asked of them and what is promised."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.data import sources
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.worlds.described import tables
from tellapart.worlds.described.keys import Keys
from tellapart.worlds.described.tables import Fitted, Target
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.chain_sets import ChainSet
from tellapart.worlds.models.exchangeable import Exchangeable
from tellapart.worlds.models.gaussian import GaussianRecords
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.queries import Query, Sum
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.models.table_sets import TableSet
from tellapart.worlds.models.tree import TreeNetwork
from tellapart.worlds.policies import Policy
from tellapart.worlds.releases import Release
from tellapart.worlds.secret_test import Model

__all__ = [
    "parse",
    "read",
]


_KINDS: dict[type[Any], str] = {
    MarkovChain: "a chain of {} records",
    JointTable: "a joint table of {} records",
    Independent: "{} independent records",
    Exchangeable: "{} exchangeable records",
    TreeNetwork: "a tree of {} records",
    GaussianRecords: "{} records that are normal together",
}


def model_in_words(model: Model) -> str:
    """Such as *a chain of 100 records*."""
    return _KINDS.get(type(model), "a model of {} records").format(model.records)


def release_in_words(query: Query, release: Release) -> str:
    """Such as *the sum with Laplace noise of scale 1*."""
    asked = "the sum" if isinstance(query, Sum) else "a weighted sum"
    if isinstance(release, Laplace):
        return f"{asked} with Laplace noise of scale {short(release.scale)}"
    if isinstance(release, Gaussian):
        return f"{asked} with Gaussian noise of deviation {short(release.sigma)}"
    return f"{asked} through a channel with {len(release.outputs or ())} outputs"


_TABLES = ("model", "query", "release", "policy", "target")


@dataclass(frozen=True, eq=False)
class Described:
    """What a file says an attacker knows, is shown, and may learn.

    ``release``, ``policy`` and ``target`` are None where the file does not say. ``fitted`` has
    what the data leave open where the model was fitted to data; ``model`` is then the estimate.
    """

    title: str
    model: Model
    query: Query
    release: Release | None = None
    policy: Policy | None = None
    target: Target | None = None
    fitted: Fitted | None = None

    @property
    def believed(self) -> ChainSet | TableSet | None:
        """All models that the data leave open, where the model was fitted to data."""
        return None if self.fitted is None else self.fitted.confidence_set

    @property
    def described_model(self) -> str:
        """The model in a few words."""
        return model_in_words(self.model)

    @property
    def published(self) -> str | None:
        """What is published, in a few words, where the file says so."""
        return None if self.release is None else release_in_words(self.query, self.release)


def read(path: str | PathLike[str]) -> Described:
    """Read from a TOML file how records are correlated and what is published of them.

    Files that it names lie relative to it. What is wrong is said with file, table and key.
    """
    place = Path(path)
    text = sources.text(place)
    try:
        return parse(text, folder=place.parent, title=place.stem)
    except InvalidArgument as error:
        raise InvalidArgument(f"{place}: {error}") from error


def parse(text: str, *, folder: str | PathLike[str] = ".", title: str = "") -> Described:
    """The same from the text itself; files that it names lie relative to ``folder``.

    >>> found = parse('''
    ... [model]
    ... kind = "exchangeable"
    ... count_law = [0.1, 0.15, 0.5, 0.15, 0.1]
    ... [release]
    ... noise = "laplace"
    ... scale = 2
    ... ''')
    >>> found.model.records, found.release.scale
    (4, 2.0)
    """
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for numbers without end
        raise InvalidArgument(f"the description must be TOML: {error}") from error
    keys = _tables(given)
    if "model" not in keys:
        raise InvalidArgument('[model] must be given, with kind = "chain" or another')
    data_model = tables.model(keys["model"], Path(folder))
    named = given.get("title", title)
    _checks.instance(str, "a text", title=named)
    return Described(
        title=named,
        model=data_model.model,
        query=tables.query(keys.get("query"), data_model.model.records),
        release=tables.release(keys.get("release")),
        policy=tables.policy(keys.get("policy"), data_model.model),
        target=tables.target(keys.get("target")),
        fitted=data_model.fitted,
    )


def _tables(given: dict[str, Any]) -> dict[str, Keys]:
    for key, value in given.items():
        if key != "title" and key not in _TABLES:
            tables = ", ".join(f"[{name}]" for name in _TABLES)
            _checks.refuse(key, f"be title or one of the tables {tables}", value)
    return {key: Keys.of(key, value) for key, value in given.items() if key != "title"}
