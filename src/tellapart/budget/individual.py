"""Individual accounting: a pot for each record, spent by its own contributions (Rényi filter).

A record that contributes little to a sum is exposed little by its noise. Each record has a pot of
its own, its steps cost what its own norm says, and a contribution that no longer fits is left out
(Feldman and Zrnic 2021). For Gaussian noise this loses nothing: G_a ⊗ G_√(b² − a²) = G_b.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart.budget.pots import pot_size
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import guarantee
from tellapart.data.parquet import numbers
from tellapart.data.sources import Source, matching
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.noise import Gaussian
from tellapart.neighbours import Neighbours

Mask = NDArray[np.bool_]

# More than rounding adds up to over a million steps; the guarantee is that of pots so enlarged.
_SLACK = 1e-9
# More than the rounding of a cost.
_COST = 1 + 2.0**-50


class IndividualBudget:
    """A privacy budget for each record, spent by what that record itself contributes.

    ``gaussian`` is a μ: Σ (norm/σ)² ≤ μ² for each record. ``zcdp`` is a ρ: Σ norm²/(2σ²) ≤ ρ, for
    steps with other noise as well (`spend_costs`). `spend` says which contributions still fit; the
    caller leaves the others out of the sum. Who was left out, and what a record has left, depends
    on its data: **nothing that is published may depend on it**, which is why no pot is shown here.

    >>> budget = IndividualBudget(records=3, gaussian=1)
    >>> budget.spend([0, 1, 2], norms=[0.1, 0.5, 1.0], sigma=1)
    array([ True,  True,  True])
    >>> budget.spend([0, 1, 2], norms=[0.1, 0.5, 1.0], sigma=1)
    array([ True,  True, False])
    >>> budget
    IndividualBudget(records=3, gaussian=1.0)
    """

    def __init__(
        self,
        records: int,
        *,
        gaussian: float | None = None,
        zcdp: float | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        count = _checks.whole(1, 10**10, records=records)
        if (gaussian is None) == (zcdp is None):
            raise InvalidArgument("give either gaussian=μ or zcdp=ρ: how much each record has")
        self._mu = None if gaussian is None else pot_size(gaussian=gaussian)
        self._rho = None if zcdp is None else pot_size(zcdp=zcdp)
        _checks.member(Neighbours, neighbours=neighbours)
        if not neighbours.one_sided:
            rule = "add, remove or zero out a record: a norm says how much is missing without it"
            _checks.refuse("neighbours", rule, neighbours)
        self._neighbours = neighbours
        self._used = np.zeros(count)

    def __repr__(self) -> str:
        pot = f"gaussian={self._mu!r}" if self._rho is None else f"zcdp={self._rho!r}"
        return f"IndividualBudget(records={self.records}, {pot})"

    @property
    def records(self) -> int:
        """How many records have a pot; they are numbered from 0."""
        return int(self._used.size)

    @property
    def neighbours(self) -> Neighbours:
        """Which two data sets the guarantee says are hard to tell apart."""
        return self._neighbours

    def guarantee(self) -> TradeoffCurve:
        """What any attacker can learn of any one record, from all outputs up to any time."""
        larger = 1 + 2 * _SLACK
        if self._mu is not None:
            return Gaussian(1.0, self._mu * larger, neighbours=self.neighbours).curve()
        return guarantee(zcdp=(self._rho or 0.0) * larger, neighbours=self.neighbours)

    def spend(self, records: ArrayLike, norms: ArrayLike, sigma: float) -> Mask:
        """Pay for one step with Gaussian noise ``sigma``: True where a contribution still fits.

        ``norms`` are the L2 norms of what each of these ``records`` adds to the sum in this step.
        Where the answer is False nothing was paid, and the contribution must be left out.
        """
        noise = _checks.finite_above_zero(sigma=sigma)
        sizes = _checks.reals("be a list of numbers", norms=norms)
        with np.errstate(over="ignore"):
            costs = (sizes / noise) ** 2
        return self._charged(records, costs if self._rho is None else costs / 2, "norms")

    def spend_costs(self, records: ArrayLike, costs: ArrayLike) -> Mask:
        """The same for a step whose costs are known: μ² of each record, or ρ in a zCDP budget."""
        return self._charged(records, _checks.reals("be a list of numbers", costs=costs), "costs")

    def spend_file(
        self,
        path: str | os.PathLike[str],
        sigma: float | Mapping[int, float],
        *,
        record: str = "record",
        step: str = "step",
        norm: str = "norm",
    ) -> Mask:
        """Pay for all contributions of a Parquet file, step by step: True where a row still fits.

        The file has a row for each contribution, in any order: its record, its step (whole
        numbers) and its norm. ``sigma`` is one number, or one for each step.
        """
        _checks.instance(str | os.PathLike, "a path", path=path)
        kind, files = matching(path)
        if kind != "parquet" or len(files) > 1:
            _checks.refuse("path", "be one Parquet file", [str(file) for file in files])
        table = numbers(Source(files[0]), {record: "whole", step: "whole", norm: "number"})
        ids, times, sizes = table[record], table[step], table[norm]
        rows = None if np.all(times[1:] >= times[:-1]) else np.argsort(times, kind="stable")
        if rows is not None:
            times = times[rows]
        starts = np.flatnonzero(np.concatenate([[True], times[1:] != times[:-1]]))
        fits = np.zeros(times.size, dtype=np.bool_)
        trial = copy.copy(self)  # a bad row leaves all as it was
        trial._used = self._used.copy()
        for start, end in pairwise([*starts[: times.size], times.size]):
            deadline.check()
            chosen = slice(start, end) if rows is None else rows[start:end]
            noise = _noise(sigma, int(times[start]))
            fits[chosen] = trial.spend(ids[chosen], sizes[chosen], noise)
        self._used = trial._used
        return fits

    def left(self, records: ArrayLike) -> Array:
        """What these records have left, in μ² or ρ: for those who may see the data themselves."""
        return np.maximum(self._size - self._used[self._ids(records)], 0.0)

    @property
    def _size(self) -> float:
        return self._mu**2 if self._mu is not None else self._rho or 0.0

    def _ids(self, records: ArrayLike) -> NDArray[np.intp]:
        ids = np.asarray(records)
        if ids.ndim != 1 or (ids.dtype.kind not in "iu" and ids.size):
            _checks.refuse("records", "be a list of whole numbers", records)
        if ids.size and not (ids.min() >= 0 and ids.max() < self.records):
            wrong = ids[(ids < 0) | (ids >= self.records)][0]
            _checks.refuse("records", f"be numbered from 0 to {self.records - 1}", wrong)
        return ids.astype(np.intp, copy=False)

    def _charged(self, records: ArrayLike, costs: Array, name: str) -> Mask:
        ids = self._ids(records)
        if costs.shape != ids.shape:
            _checks.refuse(name, f"be as many as records ({ids.size})", costs.size)
        if costs.size and not costs.min() >= 0:
            _checks.refuse(name, "be at least 0", float(costs.min()))
        if np.unique(ids).size != ids.size:
            _checks.refuse("records", "be named once in a step: add up what one contributes", ids)
        # Sums are rounded up, so that no record ever pays less than it should.
        after = np.nextafter(self._used[ids] + costs * _COST, math.inf)
        fits = after <= self._size * (1 + _SLACK)
        self._used[ids[fits]] = after[fits]
        return np.asarray(fits)


def _noise(sigma: float | Mapping[int, float], step: int) -> float:
    if not isinstance(sigma, Mapping):
        return sigma
    if step not in sigma:
        _checks.refuse("sigma", f"have a number for step {step}", sorted(sigma))
    return sigma[step]
