"""The table [model]: how records are correlated, written out or fitted to data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tellapart import _checks
from tellapart.errors import InvalidArgument
from tellapart.worlds.described.keys import Keys
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.fitting import FittedChain, fit_chain
from tellapart.worlds.models.exchangeable import Exchangeable
from tellapart.worlds.models.fitted_tables import FittedTable, fit_table
from tellapart.worlds.models.gaussian import GaussianRecords
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.models.tree import TreeNetwork
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
