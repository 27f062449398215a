"""The registry's table, read once: what is a promise, and what was left out and why."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple

from tellapart import _checks
from tellapart.deployments.deployment import Deployment, Variant
from tellapart.errors import InvalidArgument

SOURCE = "OpenDP deployments registry"
_NUMBERS = ("epsilon", "delta", "rho")


@dataclass(frozen=True)
class LeftOut:
    """An entry of the registry that makes no promise one could draw, and why not."""

    name: str
    source: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


class Registry(NamedTuple):
    """What was read, in the order of the table."""

    deployments: tuple[Deployment, ...]
    left_out: tuple[LeftOut, ...]


def read(rows: Iterable[str]) -> Registry:
    """Lines of comma-separated values, a head first, as promises and what was left out."""
    kept: list[Deployment] = []
    left: list[LeftOut] = []
    for row in csv.DictReader(rows):
        try:
            kept.append(_deployment(row))
        except InvalidArgument as error:
            left.append(LeftOut(row["name"], row["source"], str(error)))
    return Registry(tuple(kept), tuple(left))


def _deployment(row: dict[str, str]) -> Deployment:
    numbers = {field: _number(row[field], field) for field in _NUMBERS}
    texts = {field: value for field, value in row.items() if field not in numbers}
    variant = _variant(texts.pop("variant"))
    return Deployment(variant=variant, **numbers, **texts)  # type: ignore[arg-type]


def _number(text: str, field: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        _checks.refuse(field, "be a number", text)


def _variant(text: str) -> Variant:
    try:
        return Variant(text)
    except ValueError:
        _checks.refuse("variant", f"be {' or '.join(Variant)}", text)


def _packaged() -> Registry:
    table = resources.files("tellapart.deployments").joinpath("registry.csv")
    return read(table.read_text(encoding="utf-8").splitlines())


DEPLOYMENTS, LEFT_OUT = _packaged()
