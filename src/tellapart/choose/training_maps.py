"""DP-SGD calibration over batch size and epochs: the noise multiplier that keeps the limits.

Neighbouring cells tell a cell where its root lies and how steep its risks are there: one or two
curves settle it, on the safe side and tight to 1e-3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric.text import aligned, short, to_digits
from tellapart._shown import Displayed
from tellapart.choose.calibrate import confirmed, least, refuse_infeasible
from tellapart.choose.limit import Limit, checked_limits
from tellapart.choose.search import Family, noiseless
from tellapart.errors import NotCertified
from tellapart.mechanisms.base import Sampling
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.mechanisms.training import dp_sgd

# A cell lies at most this far above its least noise, by what its risks do nearby; half of 1e-3, as
# slopes from a neighbour may be off.
_TIGHT, _AIM = 5e-4, 2.5e-4
# Limits are kept by at least this much, which is more than curves are off.
_CLEAR = 1e-8
# For slopes, a little more noise; and how many curves a cell may take before it is searched for.
_NUDGE, _TRIES = 2e-3, 8
# A slope serves so many cells before it is looked at again, by steps of at least this size.
_FRESH, _LEAST_STEP = 3, 1e-4
# Cells that a prediction is made from: a parabola through them.
_KNOWN = 3


@dataclass(frozen=True)
class TrainingMap(Displayed):
    """The noise multiplier that keeps the limits for each batch size (row) and number of epochs.

    0 where sampling alone keeps them, None where no curve is certified. At most 1e-3 above the
    least noise and never below it. ``binding`` is the limit that stands in the way of less.
    """

    data_size: int
    batches: tuple[float, ...]
    epochs: tuple[float, ...]
    limits: tuple[Limit, ...]
    noise_multipliers: tuple[tuple[float | None, ...], ...]
    binding: tuple[tuple[Limit | None, ...], ...]
    clipping_norm: float = 1.0
    certified: bool = False

    def __repr__(self) -> str:
        cells = f"{len(self.batches)} batch sizes × {len(self.epochs)} numbers of epochs"
        return f"TrainingMap({cells}, data_size={self.data_size})"

    def at(self, batch_size: float, epochs: float) -> float | None:
        """The noise multiplier of one cell, by its batch size and epochs."""
        for name, value, known in (
            ("batch_size", batch_size, self.batches),
            ("epochs", epochs, self.epochs),
        ):
            if value not in known:
                _checks.refuse(name, f"be one of {', '.join(short(x) for x in known)}", value)
        return self.noise_multipliers[self.batches.index(batch_size)][self.epochs.index(epochs)]

    @property
    def gradient_noise(self) -> tuple[tuple[float | None, ...], ...]:
        """Standard deviation of the noise on each coordinate of the mean gradient.

        That is noise multiplier·clipping norm/batch size.
        """
        return tuple(
            tuple(None if x is None else x * self.clipping_norm / batch for x in row)
            for batch, row in zip(self.batches, self.noise_multipliers, strict=True)
        )

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The map as text, its head first: noise multiplier, and noise on the mean gradient."""
        head = ("batch \\ epochs", *(short(x) for x in self.epochs))
        rows = zip(self.batches, self.noise_multipliers, self.gradient_noise, strict=True)
        return (
            head,
            *(
                (short(batch), *map(_cell, multipliers, noises))
                for batch, multipliers, noises in rows
            ),
        )

    def __str__(self) -> str:
        said = "noise multiplier (noise on the mean gradient"
        unit = "" if self.clipping_norm == 1 else f", clipping norm {short(self.clipping_norm)}"
        kept = ", ".join(map(str, self.limits))
        return f"{aligned(self.cells())}\n{said}{unit}) that keeps {kept}"


def shown_multiplier(value: float) -> str:
    """Four digits, rounded conservatively."""
    return short(to_digits(value, 4, up=True), 4) if value else "0"


def shown_noise(value: float) -> str:
    """Two digits, rounded up."""
    return short(to_digits(value, 2, up=True), 2)


def _cell(multiplier: float | None, noise: float | None) -> str:
    if multiplier is None or noise is None:
        return "–"
    return f"{shown_multiplier(multiplier)} ({shown_noise(noise)})"


def training_map(
    *,
    data_size: int,
    batches: Iterable[float],
    epochs: Iterable[float],
    limits: Sequence[Limit],
    clipping_norm: float = 1.0,
    scheme: Sampling = Sampling.POISSON,
    certified: bool = False,
) -> TrainingMap:
    r"""Equal risk in many ways: the noise of DP-SGD for each batch size and number of epochs.

    Larger batches need a larger noise multiplier, and still leave the mean gradient less noisy.
    Each cell is what `least` gives, at most 1e-3 more; ``certified`` confirms it by a bracket,
    which takes about ten times as long.

    >>> from tellapart import choose, risk
    >>> limits = [choose.at_most(0.1, risk.advantage)]
    >>> print(training_map(data_size=60_000, batches=[256, 1024], epochs=[5, 15], limits=limits))
    batch \ epochs                5              15
               256  0.8425 (0.0033)  1.204 (0.0048)
              1024   1.331 (0.0013)  2.123 (0.0021)
    noise multiplier (noise on the mean gradient) that keeps membership advantage ≤ 0.1

    See Also
    --------
    tellapart.plot.training_map : its picture
    """
    size = _checks.whole(1, data_size=data_size)
    rows, columns = _rising("batches", batches), _rising("epochs", epochs)
    if rows[-1] > size:
        _checks.refuse("batches", f"be at most data_size ({size})", float(rows[-1]))
    asked = checked_limits(limits)
    refuse_infeasible(asked)
    norm = _checks.finite_above_zero(clipping_norm=clipping_norm)
    _checks.member(Sampling, scheme=scheme)
    solver = _Solver(asked, certified)
    # Most noise first: those curves are the fastest, and their risks the smoothest.
    logs = np.full((rows.size, columns.size), np.nan)
    binding: list[list[Limit | None]] = [[None] * columns.size for _ in rows]
    known: list[list[float | None]] = [[None] * columns.size for _ in rows]
    for i in range(rows.size - 1, -1, -1):
        for j in range(columns.size - 1, -1, -1):
            deadline.check()

            def family(noise: float, i: int = i, j: int = j) -> Subject:
                batch, passes = float(rows[i]), float(columns[j])
                return dp_sgd(noise, epochs=passes, batch_size=batch, data_size=size, scheme=scheme)

            cell = solver.solve(family, _predicted(logs, i, j, np.log(columns)))
            known[i][j], binding[i][j], logs[i, j] = cell
    return TrainingMap(
        size,
        tuple(rows.tolist()),
        tuple(columns.tolist()),
        tuple(asked),
        tuple(map(tuple, known)),
        tuple(map(tuple, binding)),
        norm,
        certified,
    )


def _rising(name: str, values: Iterable[float]) -> Array:
    listed = list(values) if isinstance(values, Iterable) else values
    numbers = np.unique(_checks.vector(**{name: listed}))
    if numbers[0] <= 0:
        _checks.refuse(name, "be greater than 0", float(numbers[0]))
    return numbers


def _predicted(logs: Array, i: int, j: int, at: Array) -> float | None:
    """The logarithm of a cell's noise from those to its right, and from the row beneath."""
    right = np.arange(j + 1, min(j + 1 + _KNOWN, at.size))
    right = right[np.isfinite(logs[i, right])]
    if i + 1 < len(logs) and np.isfinite(logs[i + 1, j]):
        # How far two rows lie apart changes more slowly than either of them.
        right = right[np.isfinite(logs[i + 1, right])]
        if right.size:
            apart = logs[i, right] - logs[i + 1, right]
            return float(logs[i + 1, j] + _extrapolated(at[right], apart, at[j]))
        above = [k for k in range(i + 1, min(i + 1 + _KNOWN, len(logs))) if np.isfinite(logs[k, j])]
        return float(_extrapolated(np.array(above, float), logs[above, j], float(i)))
    return float(_extrapolated(at[right], logs[i, right], at[j])) if right.size else None


def _extrapolated(x: Array, y: Array, to: float) -> float:
    """The parabola, line or constant through these points."""
    weights = [
        math.prod((to - x[m]) / (x[k] - x[m]) for m in range(x.size) if m != k)
        for k in range(x.size)
    ]
    return float(np.dot(weights, y))


class _Cell(NamedTuple):
    """A noise multiplier, its binding constraint, and about the logarithm of the least one."""

    noise: float | None
    binding: Limit | None
    root: float


class _Solver:
    """Cell after cell, with how steep each limit's risk was at the last one."""

    def __init__(self, limits: list[Limit], certified: bool) -> None:
        self._limits, self._certified = limits, certified
        self._slopes = np.full(len(limits), np.nan)
        self._age = 0

    def solve(self, family: Family, start: float | None) -> _Cell:
        """The noise multiplier of a cell, searched for from its logarithm ``start`` on."""
        bare = noiseless(family(1.0))
        if bare is not None and all(limit.excess(bare) <= 0 for limit in self._limits):
            return _Cell(0.0, None, math.nan)
        try:
            cell = None if start is None else self._newton(family, start)
            cell = cell or self._searched(family)
            if self._certified and cell.noise is not None:
                noise = confirmed(family, self._limits, cell.noise, True, False)
                return cell._replace(noise=noise)
        except NotCertified:
            return _Cell(None, None, math.nan)
        return cell

    def _searched(self, family: Family) -> _Cell:
        """By a full search; the slopes are those at a little more noise."""
        choice = least(family, self._limits)
        at = math.log(choice.parameter)
        self._learn(self._excesses(family, at + _NUDGE) - self._excesses(family, at), _NUDGE)
        return _Cell(choice.parameter, choice.binding, at)

    def _newton(self, family: Family, start: float) -> _Cell | None:
        """A position between the root and 1e-3 above it, by steps that all limits agree on."""
        low, high = -math.inf, math.inf
        last: tuple[float, Array] | None = None
        position = start + _AIM
        for _ in range(_TRIES):
            excesses = self._excesses(family, position)
            if last is not None:
                self._learn(excesses - last[1], position - last[0])
            # A limit whose slope was never seen is so far from binding that it has none.
            unseen = np.isnan(self._slopes) & (excesses < 0)
            roots = np.where(unseen, -math.inf, position - excesses / self._slopes)
            root = float(roots.max())
            if not math.isfinite(root):
                return None
            if excesses.max() <= -_CLEAR:
                high = min(high, position)
                if position - root <= _TIGHT and self._age < _FRESH:
                    self._age += 1
                    return _Cell(math.exp(position), self._limits[int(roots.argmax())], root)
            else:
                low = max(low, position)
            last, position = (position, excesses), root + _AIM
            if not low < position < high:
                position = (low + high) / 2
            if abs(position - last[0]) < _LEAST_STEP:  # near enough to learn nothing from it
                position = last[0] + _LEAST_STEP
            if not math.isfinite(position):
                return None
        return None

    def _learn(self, change: Array, step: float) -> None:
        """Slopes of the risks; one that a limit far from binding does not show is kept."""
        seen = change / step < 0
        self._slopes[seen] = (change / step)[seen]
        self._age = 0

    def _excesses(self, family: Family, position: float) -> Array:
        curve = curve_of(family(math.exp(position)))
        return np.array([limit.excess(curve) for limit in self._limits])
