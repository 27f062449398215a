"""The tables [model], [query], [release], [policy] and [target] of a described data model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.worlds.described.keys import Keys
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.fitting import FittedChain, fit_chain
from tellapart.worlds.models.exchangeable import Exchangeable
from tellapart.worlds.models.fitted_tables import FittedTable, fit_table
from tellapart.worlds.models.gaussian import GaussianRecords
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.queries import Linear, Query, Sum
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.models.tree import TreeNetwork
from tellapart.worlds.policies import (
    CompleteGraph,
    DistanceGraph,
    EdgeGraph,
    KnownCount,
    PartitionGraph,
    Policy,
)
from tellapart.worlds.releases import Channel, Release
from tellapart.worlds.secret_test import Model

Fitted = FittedChain | FittedTable


class Read(NamedTuple):
    """A model, and the data's part in it where it was fitted."""

    model: Model
    fitted: Fitted | None = None


def model(keys: Keys, folder: Path) -> Read:
    """The model that a table describes; files it names lie relative to ``folder``."""
    return _KINDS[keys.choice("kind", list(_KINDS))](keys, folder)


def _chain(keys: Keys, folder: Path) -> Read:
    if "data" in keys:
        return _fitted_chain(keys, folder)
    needed = {
        "kind": 'kind = "chain"',
        "transition": "transition = [[0.9, 0.1], [0.4, 0.6]]",
        "length": "length = 100",
    }
    keys.expect("a chain", needed, ("initial", "stationary", "values"))
    always = keys.flag("stationary")
    if always and "initial" in keys:
        _checks.refuse(
            f"{keys.name}.initial", "be left out with stationary = true", keys.get("initial")
        )
    if not always and "initial" not in keys:
        raise InvalidArgument(
            f"{keys.name}.initial must be given for a chain, such as initial = [0.8, 0.2], "
            "or stationary = true"
        )
    transition, length, values = (keys.get(name) for name in ("transition", "length", "values"))
    with keys.naming():
        if always:
            return Read(MarkovChain.stationary(transition, length, values))
        return Read(MarkovChain(keys.get("initial"), transition, length, values))


def _fitted_chain(keys: Keys, folder: Path) -> Read:
    needed = {"kind": 'kind = "chain"', "data": 'data = "days.csv"', "column": 'column = "day"'}
    options = ("by", "order", "states", "length", "confidence", "values", "missing")
    keys.expect("a chain fitted to data", needed, (*options, "stationary"))
    for key in ("column", "by", "order"):
        keys.text(key)
    keys.listed("states")
    given = {name: keys.get(name) for name in ("column", *options) if name in keys}
    with keys.naming():
        fitted = fit_chain(_file(keys, folder), **given)
        return Read(fitted.chain(stationary=keys.flag("stationary") is not False), fitted)


def _table(keys: Keys, folder: Path) -> Read:
    if "data" in keys:
        return _fitted_table(keys, folder)
    if "rows" in keys:
        return _listed_table(keys)
    example = "probabilities = [[0.4, 0.1], [0.1, 0.4]], or [[model.rows]] with records and p"
    needed = {"kind": 'kind = "table"', "probabilities": example}
    keys.expect("a table", needed, ("values",))
    with keys.naming():
        given = _checks.reals("be lists of probabilities", probabilities=keys.get("probabilities"))
        values: Any = keys.listed("values") or [None] * given.ndim
        return Read(JointTable(tuple(values), given))


def _listed_table(keys: Keys) -> Read:
    keys.expect("a table of rows", {"kind": 'kind = "table"'}, ("rows",))
    databases: dict[Sequence[float], float] = {}
    for row in keys.tables("rows"):
        row.expect("a row", {"records": "records = [0, 0, 1]", "p": "p = 0.1"})
        with row.naming():
            records = tuple(_checks.vector(records=row.get("records")).tolist())
            if records in databases:
                _checks.refuse("records", "be listed once", list(records))
            databases[records] = _checks.probability(p=row.get("p"))
    with keys.naming(databases="rows", probabilities="rows", records="rows"):
        return Read(JointTable.of(databases))


def _fitted_table(keys: Keys, folder: Path) -> Read:
    columns = 'columns = ["she", "he"]'
    needed = {"kind": 'kind = "table"', "data": 'data = "pairs.csv"', "columns": columns}
    options = ("states", "confidence", "values", "missing")
    keys.expect("a table fitted to data", needed, options)
    for key in ("states", "values"):
        if key in keys:
            Keys.of(f"{keys.name}.{key}", keys.get(key))
    given = {name: keys.get(name) for name in options if name in keys}
    columns_listed = keys.listed("columns") or []
    with keys.naming():
        fitted = fit_table(_file(keys, folder), columns_listed, **given)
    return Read(fitted.model, fitted)


def _independent(keys: Keys, folder: Path) -> Read:
    if "marginal" in keys:
        needed = {"kind": 'kind = "independent"', "marginal": "", "records": "records = 100"}
        keys.expect("independent records of one law", needed, ("values",))
        with keys.naming():
            law = _checks.pmf(marginal=keys.get("marginal"))
            number = _checks.whole(1, 10**6, records=keys.get("records"))
            values: Any = keys.listed("values")
            alike = None if values is None else [values] * number
            return Read(Independent((law,) * number, alike))
    example = "marginals = [[0.7, 0.3], [0.4, 0.6]], or marginal = [0.7, 0.3] with records = 100"
    needed = {"kind": 'kind = "independent"', "marginals": example}
    keys.expect("independent records", needed, ("values",))
    with keys.naming():
        return Read(Independent(keys.get("marginals"), keys.listed("values")))


def _exchangeable(keys: Keys, folder: Path) -> Read:
    needed = {"kind": 'kind = "exchangeable"', "count_law": "count_law = [0.2, 0.3, 0.5]"}
    keys.expect("exchangeable records", needed)
    with keys.naming():
        return Read(Exchangeable(keys.get("count_law")))


def _tree(keys: Keys, folder: Path) -> Read:
    needed = {
        "kind": 'kind = "tree"',
        "parent": "parent = [-1, 0, 0]",
        "root": "root = [0.75, 0.25]",
        "tables": "tables = [[0.9, 0.1], [0.3, 0.7]]",
    }
    keys.expect("a tree", needed, ("values",))
    with keys.naming():
        given = (keys.get("parent"), keys.get("root"), keys.listed("tables"))
        return Read(TreeNetwork(*given, keys.listed("values")))


def _gaussian(keys: Keys, folder: Path) -> Read:
    needed = {
        "kind": 'kind = "gaussian"',
        "mean": "mean = [0, 0]",
        "covariance": "covariance = [[1, 0.5], [0.5, 1]]",
    }
    keys.expect("normal records", needed)
    with keys.naming():
        return Read(GaussianRecords(keys.get("mean"), keys.get("covariance")))


def _file(keys: Keys, folder: Path) -> Path:
    """The file of data that a table names."""
    path = folder / (keys.text("data") or "")
    if not path.is_file():
        rule = f"be a file, looked for in {folder}"
        _checks.refuse("data", rule, keys.get("data"))
    return path


_KINDS: dict[str, Callable[[Keys, Path], Read]] = {
    "chain": _chain,
    "table": _table,
    "independent": _independent,
    "exchangeable": _exchangeable,
    "tree": _tree,
    "gaussian": _gaussian,
}


Measure = Literal["epsilon", "posterior", "f_score"]
_MEASURES: tuple[Measure, ...] = ("epsilon", "posterior", "f_score")


@dataclass(frozen=True)
class Target:
    """How much an attacker may learn at most, by one measure.

    ``prior`` is how likely the secret is beforehand, for those measures that depend on it; None
    where the model says so itself. ``values`` are those that are to be hidden; None for all.
    """

    measure: Measure
    value: float
    prior: float | None = None
    values: tuple[float, ...] | None = None

    def __str__(self) -> str:
        name = {"epsilon": "ε", "posterior": "posterior", "f_score": "F-score"}[self.measure]
        before = "" if self.prior is None else f", prior {short(self.prior)}"
        return f"{name} ≤ {short(self.value)}{before}"


def query(keys: Keys | None, records: int) -> Query:
    """What is asked of the records; their sum unless weights are given."""
    if keys is None:
        return Sum()
    keys.expect("a query", {}, ("kind", "weights"))
    kind = keys.choice("kind", ("sum", "linear")) if "kind" in keys else None
    if kind == "sum" and "weights" in keys:
        _checks.refuse(f"{keys.name}.weights", 'be left out with kind = "sum"', keys.get("weights"))
    if kind == "sum":
        return Sum()
    if "weights" not in keys:
        raise InvalidArgument(
            f'{keys.name}.weights must be given, such as weights = [1, 0, 1], or kind = "sum"'
        )
    with keys.naming():
        linear = Linear(keys.get("weights"))
        linear.over(records)
    return linear


def release(keys: Keys | None) -> Release | None:
    """What is published of the answer, where that is said."""
    if keys is None:
        return None
    noise = keys.choice("noise", ("laplace", "gaussian", "channel"))
    if noise == "laplace":
        keys.expect("Laplace noise", {"noise": "", "scale": "scale = 1"})
        with keys.naming():
            return Laplace(_checks.finite_above_zero(scale=keys.get("scale")))
    if noise == "gaussian":
        keys.expect("Gaussian noise", {"noise": "", "sigma": "sigma = 1"})
        with keys.naming():
            return Gaussian(_checks.finite_above_zero(sigma=keys.get("sigma")))
    return _channel(keys)


def _channel(keys: Keys) -> Channel:
    example = "[[release.rows]] with answer = 0 and chances = [0.75, 0.25]"
    keys.expect("a channel", {"noise": "", "rows": example}, ("outputs",))
    rows = {}
    for row in keys.tables("rows"):
        row.expect("a row", {"answer": "answer = 0", "chances": "chances = [0.75, 0.25]"})
        with row.naming():
            answer = _checks.finite(answer=row.get("answer"))
            if answer in rows:
                _checks.refuse("answer", "be listed once", answer)
            rows[answer] = _checks.pmf(chances=row.get("chances")).tolist()
    outputs = keys.listed("outputs")
    for name in outputs or ():
        kinds = str | int | float
        _checks.instance(kinds, "names or numbers", **{f"{keys.name}.outputs": name})
    with keys.naming():
        return Channel(rows, outputs)


def policy(keys: Keys | None, model: Model) -> Policy | None:
    """Which values nobody shall tell apart, where that is said."""
    if keys is None:
        return None
    graphs = ("complete", "line", "partition", "distance", "edges")
    graph = keys.choice("graph", graphs)
    needed = {"partition": "cells", "distance": "threshold", "edges": "edges"}
    examples = {
        "cells": "cells = [[0, 1], [2, 3]]",
        "threshold": "threshold = 2",
        "edges": "edges = [[0, 1], [1, 2]]",
    }
    wanted = {"graph": ""}
    if graph in needed:
        wanted[needed[graph]] = examples[needed[graph]]
    keys.expect(f"a policy with a {graph} graph", wanted, ("values", "counts"))
    domain = _domain(keys, model)
    with keys.naming(graph=needed.get(graph, "graph"), domain="values"):
        return Policy(domain, _graph(keys, graph, domain), model.records, _counts(keys, domain))


def _graph(
    keys: Keys, graph: str, domain: tuple[float, ...]
) -> CompleteGraph | PartitionGraph | DistanceGraph | EdgeGraph:
    if graph == "partition":
        return PartitionGraph(tuple(map(tuple, _number_lists(keys, "cells"))))
    if graph == "distance":
        return DistanceGraph(keys.get("threshold"))
    if graph == "edges":
        return EdgeGraph(_number_lists(keys, "edges"))  # type: ignore[arg-type]
    if graph == "line":
        ordered = sorted(domain)
        return EdgeGraph(itertools.pairwise(ordered))  # type: ignore[arg-type]
    return CompleteGraph()


def _number_lists(keys: Keys, key: str) -> list[list[float]]:
    given = keys.listed(key) or []
    return [_checks.vector(**{f"{key}[{i}]": numbers}).tolist() for i, numbers in enumerate(given)]


def _counts(keys: Keys, domain: tuple[float, ...]) -> tuple[KnownCount, ...]:
    counts = []
    for table in keys.tables("counts"):
        table.expect("a known count", {"values": "values = [1]", "count": "count = 2"})
        with table.naming():
            values = _checks.vector(values=table.get("values")).tolist()
            known = KnownCount(values, table.get("count"))
            known.counted(domain)
            counts.append(known)
    return tuple(counts)


def _domain(keys: Keys, model: Model) -> tuple[float, ...]:
    """The values that a policy speaks of: those of the records, if they all have the same."""
    if "values" in keys:
        with keys.naming():
            return tuple(_checks.vector(values=keys.get("values")).tolist())
    if isinstance(model, GaussianRecords):
        raise InvalidArgument(f"{keys.name}.values must be given, as normal records have no list")
    first = model.domain(0)
    if any(not np.array_equal(model.domain(i), first) for i in range(1, model.records)):
        raise InvalidArgument(
            f"{keys.name}.values must be given, as records do not all have the same values"
        )
    return tuple(first.tolist())


def target(keys: Keys | None) -> Target | None:
    """How much an attacker may learn, where that is said."""
    if keys is None:
        return None
    keys.expect("a target", {}, (*_MEASURES, "prior", "values"))
    given = [measure for measure in _MEASURES if measure in keys]
    if len(given) != 1:
        raise InvalidArgument(
            f"{keys.name} must have one of epsilon, posterior and f_score, got "
            f"{' and '.join(given) or 'none'}"
        )
    (measure,) = given
    with keys.naming():
        prior = None if "prior" not in keys else _checks.inside_unit(prior=keys.get("prior"))
        if measure == "epsilon" and prior is not None:
            _checks.refuse("prior", "be left out with epsilon, which does not depend on it", prior)
        check = _checks.finite_above_zero if measure == "epsilon" else _checks.inside_unit
        values = None
        if "values" in keys:
            if measure == "epsilon" or prior is not None:
                rule = "be left out with epsilon or a prior, which hold for all values"
                _checks.refuse("values", rule, keys.get("values"))
            values = tuple(_checks.vector(values=keys.get("values")).tolist())
        return Target(measure, check(**{measure: keys.get(measure)}), prior, values)
