"""Vectors of answers: several queries at once, and the joint law of their true answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import logpoly


@dataclass(frozen=True, eq=False)
class VectorLaw:
    """How likely each list of true answers is, by logarithms.

    ``points`` has one row for each list of answers; equal rows are added up.
    """

    points: Array
    log_weights: Array

    def __post_init__(self) -> None:
        points = _checks.reals("be rows of numbers", points=self.points)
        logs = _checks.reals("be a list of numbers", log_weights=self.log_weights)
        if points.ndim != 2 or points.size == 0 or not np.all(np.isfinite(points)):
            _checks.refuse("points", "be rows of finite numbers", self.points)
        if logs.shape != points.shape[:1]:
            _checks.refuse("log_weights", f"be {len(points)}, one for each row", logs.shape)
        whole = float(logpoly.total(logs))
        if not abs(whole) <= 1e-9:
            _checks.refuse("log_weights", "be of weights with sum 1", float(np.exp(whole)))
        kept = logs > -np.inf
        rows, group = np.unique(points[kept], axis=0, return_inverse=True)
        sums = np.full(len(rows), -np.inf)
        np.logaddexp.at(sums, group.ravel(), logs[kept] - whole)
        for name, array in {"points": rows, "log_weights": sums}.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def answers(self) -> int:
        """How many answers are given at once."""
        return int(self.points.shape[1])

    def beside(self, other: VectorLaw) -> tuple[Array, Array, Array]:
        """All lists of answers of either law, with both laws' log-weights."""
        _checks.instance(VectorLaw, "a VectorLaw", other=other)
        if other.answers != self.answers:
            _checks.refuse("other", f"have {self.answers} answers", other.answers)
        both = np.concatenate([self.points, other.points])
        rows, group = np.unique(both, axis=0, return_inverse=True)
        logs = np.full((2, len(rows)), -np.inf)
        own = group.ravel()[: len(self.points)], group.ravel()[len(self.points) :]
        logs[0, own[0]], logs[1, own[1]] = self.log_weights, other.log_weights
        return rows, logs[0], logs[1]
