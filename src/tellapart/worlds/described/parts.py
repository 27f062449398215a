"""The tables [query], [release], [policy] and [target]."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tellapart import _checks
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.worlds.described.keys import Keys
from tellapart.worlds.models.gaussian import GaussianRecords
from tellapart.worlds.models.queries import Linear, Query, Sum
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
        before = "" if self.prior is None else f", prior {self.prior:g}"
        return f"{name} ≤ {self.value:g}{before}"


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
