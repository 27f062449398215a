"""Independent records, each with a marginal law of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.worlds.models.base import Mask, SummedModel, check_law, check_values, logs_of
from tellapart.worlds.models.grid import check_work, emitted, grid_of, on_grid, product
from tellapart.worlds.models.laws import FiniteLaw


@dataclass(frozen=True, eq=False)
class Independent(SummedModel):
    """People whose records say nothing of one another.

    ``marginals`` has the probabilities of each record's values, which are 0, 1, ... unless
    ``values`` gives each record's own.

    >>> Independent([[0.7, 0.3], [0.4, 0.6]]).records
    2
    """

    marginals: tuple[Array, ...]
    values: Sequence[Sequence[float]] | None = None
    _domains: tuple[Array, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _checks.instance((Sequence, np.ndarray), "a law for each record", marginals=self.marginals)
        if len(self.marginals) == 0:
            _checks.refuse("marginals", "not be empty", self.marginals)
        laws = tuple(check_law(**{f"marginals[{i}]": law}) for i, law in enumerate(self.marginals))
        given = self.values if self.values is not None else [None] * len(laws)
        if len(given) != len(laws):
            _checks.refuse("values", f"be {len(laws)} lists, one for each record", len(given))
        pairs = enumerate(zip(laws, given, strict=True))
        domains = tuple(
            check_values(law.size, **{f"values[{i}]": domain}) for i, (law, domain) in pairs
        )
        object.__setattr__(self, "marginals", laws)
        object.__setattr__(self, "_domains", domains)

    @property
    def records(self) -> int:
        return len(self.marginals)

    def domain(self, record: int) -> Array:
        return self._domains[record]

    def _joint(self, weights: Array, record: int, allowed: list[Mask]) -> tuple[Array, Array]:
        weighted = [w * domain for w, domain in zip(weights, self._domains, strict=True)]
        if not all(map(on_grid, weighted)):
            return self._joint_listed(weights, record, allowed)
        grid = grid_of(weights, list(self._domains))
        if math.prod(domain.size for domain in self._domains) <= grid.reach:
            return self._joint_listed(weights, record, allowed)
        check_work(1, self.records, grid.reach, "Independent")
        each = [
            emitted(logs_of(law)[:, None], steps, mask)
            for law, steps, mask in zip(self.marginals, grid.steps, allowed, strict=True)
        ]
        rest = product(
            [logpoly.total(joint, axis=0) for i, joint in enumerate(each) if i != record]
        )
        joint = np.array([logpoly.multiply(own, rest) for own in each[record]])
        return grid.sums(joint.shape[1]), joint

    def _joint_listed(
        self, weights: Array, record: int, allowed: list[Mask]
    ) -> tuple[Array, Array]:
        """The same sum by sum, for sums that are not whole numbers or few and far between."""
        rest = FiniteLaw(np.zeros(1), np.zeros(1))
        for i in range(self.records):
            logs = logs_of(self.marginals[i])[allowed[i]]
            if i != record and np.any(logs > -np.inf):
                logs = logs - float(logpoly.total(logs))
                rest = rest.convolved(
                    FiniteLaw.gathered(weights[i] * self._domains[i][allowed[i]], logs)
                )
        own = weights[record] * self._domains[record]
        sums = np.unique(np.add.outer(own, rest.values))
        joint = np.full((own.size, sums.size), -np.inf)
        for row, value, share in zip(joint, own, self._log_shares(record, allowed), strict=True):
            row[np.searchsorted(sums, value + rest.values)] = rest.log_weights + share
        return sums, joint

    def _log_shares(self, record: int, allowed: list[Mask]) -> Array:
        totals = [
            float(logpoly.total(logs_of(law)[mask]))
            for i, (law, mask) in enumerate(zip(self.marginals, allowed, strict=True))
            if i != record
        ]
        own = np.where(allowed[record], logs_of(self.marginals[record]), -np.inf)
        return np.asarray(own + sum(totals))
