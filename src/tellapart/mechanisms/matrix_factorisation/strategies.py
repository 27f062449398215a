"""Strategy matrices of matrix factorisation (DP-FTRL): identity, tree, banded, BLT and BISR.

Training with correlated noise releases C·G + noise, G the gradients by step and C the strategy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array
from tellapart.mechanisms.matrix_factorisation.participation import (
    ROUNDING,
    Places,
    SensitivityRange,
    best_listed,
    best_sets,
    between,
    exactly,
    listed_sets,
    of_set,
)

# Strategies without a formula have their Gram matrix formed up to so many steps, and all ways to
# take part listed up to so many.
_MOST_STEPS, _MOST_SETS = 2_048, 20_000
_LONGEST, _FEW_BANDS = 1_000_000, 1_000


class Strategy(ABC):
    """A strategy matrix: how noise is correlated across the steps of a training.

    Columns are steps; the rows are what noise is added to, each once its last step is done.

    >>> Strategy.banded(steps=4, coefficients=[1, 0.5]).matrix()
    array([[1. , 0. , 0. , 0. ],
           [0.5, 1. , 0. , 0. ],
           [0. , 0.5, 1. , 0. ],
           [0. , 0. , 0.5, 1. ]])
    >>> Strategy.tree(steps=8).sensitivity(min_separation=8).most  # a record in one step
    2.0
    """

    steps: int

    @classmethod
    def identity(cls, steps: int) -> Strategy:
        """Independent noise for each step, as in DP-SGD."""
        count = _steps(steps)
        return Toeplitz((1.0,), count, f"Strategy.identity(steps={count})")

    @classmethod
    def tree(cls, steps: int) -> Strategy:
        """Noise on the nodes of a binary tree over the steps (Dwork et al. 2010, Honaker 2015).

        A node is released when the last of its steps is done; those that never are, are left out.
        """
        return Tree(_steps(steps))

    @classmethod
    def banded(
        cls, steps: int, bands: int | None = None, *, coefficients: ArrayLike | None = None
    ) -> Strategy:
        """A banded lower-triangular Toeplitz matrix, by its coefficients or of so many bands.

        With ``bands`` alone it is optimised for the mean squared error of running sums of a record
        in one step, and has columns of norm 1 (McKenna 2024).

        >>> best = Strategy.banded(steps=100, bands=2)
        >>> [round(number, 3) for number in best.coefficients]
        [0.796, 0.606]
        """
        count = _steps(steps)
        if (bands is None) == (coefficients is None):
            rule = "be given, or its coefficients instead"
            _checks.refuse("bands", rule, f"bands={bands!r}, coefficients={coefficients!r}")
        if bands is not None:
            width = _checks.whole(1, count, bands=bands)
            written = f"Strategy.banded(steps={count}, bands={width})"
            return Toeplitz(_optimised(count, width), count, written)
        numbers = tuple(_checks.vector(coefficients=coefficients)[:count].tolist())
        if not any(numbers):
            _checks.refuse("coefficients", "not all be 0", coefficients)
        return Toeplitz(
            numbers, count, f"Strategy.banded(steps={count}, coefficients={list(numbers)})"
        )

    @classmethod
    def blt(cls, steps: int, decays: ArrayLike, scales: ArrayLike) -> Strategy:
        """A buffered linear Toeplitz matrix (BLT): buffers that each fade by their decay.

        Its coefficients are 1, then Σ scale·decay^j for j = 0, 1 and so on (Dvijotham et al. 2024;
        McMahan, Xu and Zhang 2024).

        >>> Strategy.blt(steps=4, decays=[0.5], scales=[0.5]).coefficients
        (1.0, 0.5, 0.25, 0.125)
        """
        count = _steps(steps)
        fades, sizes = _checks.vector(decays=decays), _checks.vector(scales=scales)
        if fades.shape != sizes.shape:
            _checks.refuse("scales", f"be one for each of the {fades.size} decays", scales)
        if np.abs(fades).max() > 1:
            _checks.refuse("decays", "lie between -1 and 1: buffers must not grow", decays)
        powers = np.arange(count - 1)[:, None]
        with np.errstate(under="ignore"):
            later = (fades**powers * sizes).sum(axis=1)
        written = f"Strategy.blt(steps={count}, decays={fades.tolist()}, scales={sizes.tolist()})"
        return Toeplitz((1.0, *later.tolist()), count, written)

    @classmethod
    def bisr(cls, steps: int, bands: int) -> Strategy:
        """The banded inverse square root: C⁻¹ is A^(−1/2) cut to so many bands, A running sums.

        (Kalinin et al. 2025.) C itself has no bands, so that nothing amplifies it by sampling.

        >>> Strategy.bisr(steps=4, bands=2).coefficients
        (1.0, 0.5, 0.25, 0.125)
        """
        count = _steps(steps)
        width = _checks.whole(1, count, bands=bands)
        k = np.arange(1, width)
        inverse = np.concatenate([[1.0], np.cumprod((2 * k - 3) / (2 * k))])  # of (1 − x)^(1/2)
        coefficients = _solved(inverse, np.eye(1, count)[0])
        written = f"Strategy.bisr(steps={count}, bands={width})"
        return Toeplitz(tuple(coefficients.tolist()), count, written)

    @property
    @abstractmethod
    def bands(self) -> int:
        """The least number such that columns so far apart share no row."""

    @abstractmethod
    def matrix(self) -> Array:
        """The matrix itself, one column for each step."""

    def matrix_is_positive(self) -> bool:
        """Whether no entry is negative."""
        return bool(self.matrix().min() >= 0)

    @abstractmethod
    def gram(self, columns: Places) -> Array:
        """The inner products of some columns."""

    @abstractmethod
    def column_norms(self) -> Array:
        """How far a record in one step alone moves the answers, for each step."""

    def modes(self, sets: Sequence[Places]) -> Array:
        """Sums of absolute columns, one for each set of steps: how far taking part in all moves.

        The result has one column for each set.
        """
        sizes = np.abs(self.matrix())
        return np.stack([sizes[:, each].sum(axis=1) for each in sets], axis=1)

    def sensitivity(
        self, min_separation: int = 1, max_participations: int | None = None
    ) -> SensitivityRange:
        """The sensitivity for records that take part at most so often, so many steps apart.

        ``min_separation`` 1 allows every step, and without ``max_participations`` there is no other
        limit. Exact for bands no wider than the separation (Choquette-Choo et al. 2023,
        Algorithm 3), for Toeplitz matrices with non-negative, non-increasing coefficients (Kalinin
        and Lampert 2024, Theorem 2), and where all ways to take part can be listed. Else a bound by
        a programme over rows and columns (as Choquette-Choo et al. 2023, Algorithm 4, but that a
        row's own step is among those of its sum, which is no larger).

        >>> Strategy.bisr(steps=100, bands=4).sensitivity(20, 3).exact
        True
        """
        apart = _checks.whole(1, min_separation=min_separation)
        fits = -(-self.steps // apart)
        times = fits
        if max_participations is not None:
            times = min(fits, _checks.whole(1, max_participations=max_participations))
        return self._sensitivity(apart, times)

    def _sensitivity(self, apart: int, times: int) -> SensitivityRange:
        norms = self.column_norms()
        if times == 1:
            return exactly(norms.max())
        if self.bands <= apart:  # columns of one record share no row
            return exactly(math.sqrt(best_sets(norms**2, apart, times)))
        if self.steps > _MOST_STEPS:
            rule = f"have at most {_MOST_STEPS} steps where no formula is known"
            _checks.refuse("strategy", rule, self.steps)
        signed = self.gram(np.arange(self.steps))
        sizes = np.abs(signed)
        listed = listed_sets(self.steps, apart, times) <= _MOST_SETS
        best = best_listed(sizes, apart, times) if listed else None
        if best is not None:
            return of_set(signed[np.ix_(best, best)])
        near = np.abs(np.subtract.outer(range(self.steps), range(self.steps))) < apart
        beside = best_sets(np.where(near, 0.0, sizes), apart, times - 1)
        most = math.sqrt(best_sets(np.diag(sizes) + beside, apart, times))
        starts = range(min(apart, self.steps))
        sets = [np.arange(start, self.steps, apart)[:times] for start in starts]
        return between(max(of_set(signed[np.ix_(each, each)]).least for each in sets), most)

    def sensitivity_of(self, participations: Iterable[Sequence[int]]) -> SensitivityRange:
        """The sensitivity for records that take part in the steps of one of these lists.

        >>> Strategy.identity(steps=4).sensitivity_of([[0, 2], [1, 3]]).most
        1.4142135623730951
        """
        listed = list(participations) if isinstance(participations, Iterable) else []
        if not listed:
            rule = "list the rounds of at least one record"
            _checks.refuse("participations", rule, participations)
        worst = SensitivityRange(0.0, 0.0)
        for rounds in listed:
            chosen = [_checks.whole(0, self.steps - 1, participations=each) for each in rounds]
            if len(set(chosen)) != len(chosen):
                _checks.refuse("participations", "name each round of a record once", rounds)
            if chosen:
                of_pattern = of_set(self.gram(np.array(sorted(chosen))))
                worst = SensitivityRange(
                    max(worst.least, of_pattern.least), max(worst.most, of_pattern.most)
                )
        return worst


@dataclass(frozen=True, repr=False)
class Toeplitz(Strategy):
    """A lower-triangular Toeplitz matrix: each step's column is the first one, moved down."""

    coefficients: tuple[float, ...]
    steps: int
    written: str = field(compare=False)

    def __repr__(self) -> str:
        return self.written

    @property
    def bands(self) -> int:
        return int(np.flatnonzero(self.coefficients)[-1]) + 1

    def matrix(self) -> Array:
        return self._columns(np.arange(self.steps))

    def matrix_is_positive(self) -> bool:
        return min(self.coefficients) >= 0

    def _columns(self, places: Places) -> Array:
        column = self._padded()
        rows = np.arange(self.steps)[:, None] - places
        return np.where(rows >= 0, column[np.maximum(rows, 0)], 0.0)

    def _padded(self) -> Array:
        return np.pad(self.coefficients, (0, self.steps - len(self.coefficients)))

    def gram(self, columns: Places) -> Array:
        if len(columns) < self.steps:
            chosen = self._columns(columns)
            return np.asarray(chosen.T @ chosen)
        column, gram = self._padded(), np.zeros((self.steps, self.steps))
        for lag in range(self.bands):  # sums along each diagonal, from its end
            products = np.cumsum(column[: self.steps - lag] * column[lag:])[::-1]
            places = np.arange(self.steps - lag)
            gram[places, places + lag] = gram[places + lag, places] = products
        return gram

    def column_norms(self) -> Array:
        return np.sqrt(np.cumsum(self._padded() ** 2)[::-1])

    def modes(self, sets: Sequence[Places]) -> Array:
        sizes = np.abs(np.trim_zeros(self._padded(), "b"))
        starts = np.zeros((self.steps, len(sets)))
        for place, each in enumerate(sets):
            starts[each, place] = 1.0
        if sizes.size > _FEW_BANDS:
            spectrum = np.fft.rfft(sizes, 2 * self.steps)[:, None]
            moved = np.fft.irfft(np.fft.rfft(starts, 2 * self.steps, axis=0) * spectrum, axis=0)
            return np.maximum(moved[: self.steps], 0.0)
        moved = sizes[0] * starts
        for lag in range(1, sizes.size):
            moved[lag:] += sizes[lag] * starts[:-lag]
        return np.asarray(moved)

    def _sensitivity(self, apart: int, times: int) -> SensitivityRange:
        column = self._padded()
        rises = np.maximum.accumulate(np.abs(column)[::-1])[::-1]
        # Of such coefficients it is worst to take part at once, and as soon as allowed again.
        falling = self._taking_part(rises, apart, times)
        if np.array_equal(rises, column):
            return exactly(falling)
        if self.bands > apart and times > 1 and self.steps > _MOST_STEPS:
            # |CᵀC| is nowhere larger than for coefficients that are rounded up to fall.
            least = max(self._taking_part(column, apart, each) for each in (1, times))
            return between(least, min(falling, self._by_lags(apart, times)))
        general = super()._sensitivity(apart, times)
        return between(general.least, min(general.most, falling))

    def _by_lags(self, apart: int, times: int) -> float:
        """The programme over rows, all of which are no larger than one in the midst of |CᵀC|."""
        sizes = np.abs(self.coefficients[: self.bands])
        if sizes.size > _FEW_BANDS:
            return math.inf
        products = np.correlate(sizes, sizes, "full")
        near = np.abs(np.arange(1 - sizes.size, sizes.size)) < apart
        beside = best_sets(np.where(near, 0.0, products), apart, times - 1)
        return math.sqrt(times * (sizes @ sizes + float(beside)) * (1 + ROUNDING))

    def _taking_part(self, column: Array, apart: int, times: int) -> float:
        """How far a record moves the answers that takes part in the first step and so on."""
        moved = column.copy()
        for place in range(1, times):
            moved[place * apart :] += column[: self.steps - place * apart]
        return float(np.linalg.norm(moved))


@dataclass(frozen=True, repr=False)
class Tree(Strategy):
    """The nodes of a binary tree over the steps that are complete at the end."""

    steps: int

    def __repr__(self) -> str:
        return f"Strategy.tree(steps={self.steps})"

    @property
    def bands(self) -> int:
        return 1 << (self.steps.bit_length() - 1)

    def _levels(self) -> range:
        return range(self.steps.bit_length())

    def matrix(self) -> Array:
        if self.steps > _MOST_STEPS:
            _checks.refuse("steps", f"be at most {_MOST_STEPS} for a matrix of nodes", self.steps)
        blocks = []
        for level in self._levels():
            count = self.steps >> level
            nodes = np.zeros((count, self.steps))
            nodes[:, : count << level] = np.repeat(np.eye(count), 1 << level, axis=1)
            blocks.append(nodes)
        return np.concatenate(blocks)

    def gram(self, columns: Places) -> Array:
        shared = np.zeros((len(columns), len(columns)))
        for level in self._levels():
            nodes = columns >> level
            complete = nodes < self.steps >> level
            shared += (nodes[:, None] == nodes) & complete
        return shared

    def column_norms(self) -> Array:
        leaves = np.arange(self.steps)
        return np.sqrt(sum((leaves >> level) < (self.steps >> level) for level in self._levels()))


@dataclass(frozen=True, repr=False, eq=False)
class Explicit(Strategy):
    """A matrix that was given."""

    entries: Array

    def __repr__(self) -> str:
        return f"<strategy matrix of {self.entries.shape[0]} × {self.entries.shape[1]} numbers>"

    @property
    def steps(self) -> int:  # type: ignore[override]
        return int(self.entries.shape[1])

    @property
    def bands(self) -> int:
        sizes = (self.entries != 0).astype(float)
        return int(np.ptp(np.argwhere(sizes.T @ sizes), axis=1).max(initial=0)) + 1

    def matrix(self) -> Array:
        return self.entries.copy()

    def gram(self, columns: Places) -> Array:
        chosen = self.entries[:, columns]
        return np.asarray(chosen.T @ chosen)

    def column_norms(self) -> Array:
        return np.asarray(np.linalg.norm(self.entries, axis=0))


def strategy_of(given: Strategy | ArrayLike) -> Strategy:
    """A strategy, or a matrix of numbers as one."""
    if isinstance(given, Strategy):
        return given
    matrix = _checks.reals("be a matrix of numbers, or a ta.Strategy", strategy=given)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        _checks.refuse("strategy", "be a matrix of finite numbers, or a ta.Strategy", given)
    if not matrix.any():
        _checks.refuse("strategy", "not be 0 everywhere", given)
    return Explicit(matrix)


def _steps(steps: int) -> int:
    return _checks.whole(1, _LONGEST, steps=steps)


def _solved(coefficients: Array, values: Array) -> Array:
    """The inverse of a lower-triangular Toeplitz matrix times these values."""
    import scipy.linalg

    linalg: Any = scipy.linalg
    bands = np.repeat(coefficients[:, None], len(values), axis=1)
    solved = linalg.solve_banded((len(bands) - 1, 0), bands, values, check_finite=False)
    return np.asarray(solved)


def _optimised(steps: int, bands: int) -> tuple[float, ...]:
    """Coefficients of least mean squared error of running sums, for columns of norm 1.

    The noise of running sums is B = A·C⁻¹, of coefficients b = 1/((1 − x)·c(x)); the error is
    ‖c‖²·Σ (n − s)·b_s²/n, and ∂b/∂c_j is −b/c, moved by j.
    """
    import scipy.optimize  # slow to import

    optimize: Any = scipy.optimize
    weights = np.arange(steps, 0, -1) / steps
    ones = np.ones(steps)

    def log_error(later: Array) -> tuple[float, Array]:
        column = np.concatenate([[1.0], later])
        with np.errstate(all="ignore"):
            noise = _solved(column, ones)
            slopes = _solved(column, noise)
            error, size = weights @ noise**2, column @ column
        if not math.isfinite(error):  # a matrix whose inverse grows without end
            return math.inf, np.zeros(bands - 1)
        weighted = weights * noise
        moved = np.array([weighted[j:] @ slopes[: steps - j] for j in range(1, bands)])
        return math.log(error * size), 2 * later / size - 2 * moved / error

    k = np.arange(1, bands)
    start = np.cumprod((2 * k - 1) / (2 * k))  # of (1 − x)^(−1/2)
    if not start.size:
        return (1.0,)
    optimum = optimize.minimize(
        log_error, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}
    )
    column = np.concatenate([[1.0], optimum.x])
    return tuple((column / np.linalg.norm(column)).tolist())
