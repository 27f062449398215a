"""Matrix factorisation (DP-FTRL): trainings whose steps share noise, plain and on samples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.guarantees import nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import ADD_REMOVE, Mechanism, Sampling, typed
from tellapart.mechanisms.combine import Combined, Enclosed, Fineness, Sampled, Step
from tellapart.mechanisms.matrix_factorisation.strategies import Strategy, strategy_of
from tellapart.mechanisms.noise import Gaussian
from tellapart.neighbours import Neighbours

# Of two guarantees for balls in bins the one is kept that has the smaller ε at this δ; and so many
# numbers are formed to compare the bins.
_AT_DELTA, _MOST_NUMBERS, _ROUNDING = 1e-5, 20_000_000, 1e-12


@dataclass(frozen=True, repr=False)
class MatrixMechanism(Enclosed):
    """A whole training whose rounds share noise: it leaks as one Gaussian answer does.

    ``base`` is that answer. Where its sensitivity is a bound, ``least`` is what some record
    reaches: the curve is then a guarantee (`Bound.LOWER`), and ``bracket`` has both sides.
    """

    base: Gaussian
    least: float
    neighbours: Neighbours = field(init=False)

    def __post_init__(self) -> None:
        self._set(neighbours=self.base.neighbours)

    def __repr__(self) -> str:
        least = "" if self.closes else f", least={self.least!r}"
        return f"MatrixMechanism({self.base!r}{least})"

    @property
    def sensitivity(self) -> float:
        """How far one record moves all answers together, at most."""
        return self.base.sensitivity

    @property
    def sigma(self) -> float:
        """The deviation of the noise."""
        return self.base.sigma

    @property
    def closes(self) -> bool:
        """Whether the sensitivity is exact."""
        return self.least == self.sensitivity

    def _present_test(self) -> TradeoffCurve:
        return self.enclosed(Fineness(0.0, 0.0), Bound.LOWER)

    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """One Gaussian answer: as far as no record moves it further, or as far as some does."""
        if self.closes:
            return self.base._present_test()
        return _gaussian(self.sensitivity if side is Bound.LOWER else self.least, self.sigma, side)

    def _grouped(self, size: int) -> Mechanism:
        grown = replace(self.base, sensitivity=size * self.sensitivity)
        return MatrixMechanism(grown, size * self.least)

    def _unsampled(self, scheme: Sampling) -> str:
        # One sample for all rounds is another mechanism than one for each, and bounds it in no way.
        return (
            "matrix_mechanism is a whole training with correlated noise, which sampling each "
            "round does not amplify as it does independent noise: leave .sampled out, write "
            "ta.cyclic_poisson(strategy, ...) for a banded strategy on samples, or use "
            "ta.dp_sgd for independent noise on samples"
        )


def matrix_mechanism(
    strategy: Strategy | ArrayLike,
    sigma: float,
    participations: Iterable[Sequence[int]] | None = None,
    *,
    min_separation: int | None = None,
    max_participations: int | None = None,
    neighbours: Neighbours = ADD_REMOVE,
) -> MatrixMechanism:
    """Training with correlated noise (DP-FTRL, matrix factorisation), all outputs seen.

    Noise of deviation ``sigma`` is added to ``strategy`` times the gradients, each clipped to
    norm 1. A record takes part in the rounds of one of the ``participations``; or in any that are
    at least ``min_separation`` apart (1: any), at most ``max_participations`` of them. Gradients
    may depend on earlier outputs: it leaks as one Gaussian answer of the strategy's sensitivity
    (Denisov et al. 2022, Theorem 2.1).

    Neighbours add, remove or zero out a record, all others keeping their rounds, or replace it,
    which moves sums twice as far. Who takes part must not be drawn at random in the hope of
    amplification: ``.sampled`` is refused, and `cyclic_poisson` has what is proven.

    >>> matrix_mechanism(np.eye(4), sigma=2.0, participations=[[0, 2], [1, 3]]).sensitivity
    1.4142135623730951
    >>> best = Strategy.banded(steps=1_000, bands=8)
    >>> round(matrix_mechanism(best, 4.0, min_separation=100).epsilon(delta=1e-5), 4)
    3.3414
    """
    matrix = strategy_of(strategy)
    by_separation = min_separation is not None or max_participations is not None
    if by_separation == (participations is not None):
        rule = "be given, or min_separation and max_participations instead"
        got = "both" if by_separation else "neither"
        _checks.refuse("participations", rule, got)
    if participations is None:
        apart = 1 if min_separation is None else min_separation
        sensitivity = matrix.sensitivity(apart, max_participations)
    else:
        sensitivity = matrix.sensitivity_of(participations)
    reach = 2.0 if _checks.member(Neighbours, neighbours=neighbours) is Neighbours.REPLACE else 1.0
    answer = Gaussian(sigma, reach * sensitivity.most, neighbours=neighbours)
    return MatrixMechanism(answer, reach * sensitivity.least)


@dataclass(frozen=True, repr=False)
class Between(Enclosed):
    """A part of a training that is known by a stronger and a weaker mechanism."""

    stronger: Gaussian | Enclosed
    weaker: Gaussian | Enclosed | None
    neighbours: Neighbours = field(init=False)

    def __post_init__(self) -> None:
        self._set(neighbours=self.stronger.neighbours)

    @property
    def closes(self) -> bool:
        """The two sides do not meet."""
        return False

    def _present_test(self) -> TradeoffCurve:
        if isinstance(self.stronger, Gaussian):
            return _gaussian(self.stronger.sensitivity, self.stronger.sigma, Bound.LOWER)
        return self.stronger._present_test()

    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """The one or the other."""
        part = self.stronger if side is Bound.LOWER else self.weaker
        if part is None:  # no attack is known
            return nothing(Bound.LOWER)
        if isinstance(part, Gaussian):
            return _gaussian(part.sensitivity, part.sigma, side)
        return part.enclosed(fineness, side)


class AmplifiedTraining(Combined):
    """A training with correlated noise in which batches are drawn at random."""

    def _unsampled(self, scheme: Sampling) -> str:
        return "batches are drawn at random already: leave .sampled out"


@dataclass(frozen=True, repr=False)
class CyclicPoisson(AmplifiedTraining):
    """A banded training on Poisson samples of one group of records after another."""

    strategy: Strategy
    sigma: float
    sampling_rate: float
    cycle: int
    neighbours: Neighbours = field(default=ADD_REMOVE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours is Neighbours.REPLACE:
            raise Unsupported(
                "cyclic Poisson samples are accounted for neighbours that add or remove, or zero "
                "out, one record: no theorem is known for those that replace one"
            )
        Gaussian(self.sigma)
        rate = _checks.probability(sampling_rate=self.sampling_rate)
        cycle = _checks.whole(1, cycle=self.cycle)
        if self.strategy.bands > cycle:
            rule = (
                f"have at most as many bands as groups of records take turns ({cycle}), for columns"
                " that share no row"
            )
            _checks.refuse("strategy", rule, f"{self.strategy.bands} bands")
        self._set(sigma=float(self.sigma), sampling_rate=rate, cycle=cycle)

    def __repr__(self) -> str:
        cycle = f", cycle={self.cycle}" if self.cycle != self.strategy.bands else ""
        relation = "" if self.neighbours is ADD_REMOVE else f", neighbours={typed(self.neighbours)}"
        return (
            f"cyclic_poisson({self.strategy!r}, sigma={self.sigma!r}, "
            f"sampling_rate={self.sampling_rate!r}{cycle}{relation})"
        )

    def steps(self) -> tuple[Step, ...]:
        norms = self.strategy.column_norms()
        groups = [np.sort(norms[start :: self.cycle])[::-1] for start in range(self.cycle)]
        padded = np.zeros((self.cycle, len(groups[0])))
        for row, group in zip(padded, groups, strict=True):
            row[: len(group)] = group
        most = padded.max(axis=0)
        # Where one group has the largest norms of all it is the worst, and its curve is exact.
        worst = padded[int(np.argmax(padded.sum(axis=1)))]
        exact = bool(np.all(worst >= most * (1 - 1e-15)))
        pairs = Counter(zip(most.tolist(), worst.tolist(), strict=True))
        return tuple(
            (Sampled(self._round(high, None if exact else low), self.sampling_rate), count)
            for (high, low), count in pairs.items()
            if high > 0
        )

    def _round(self, most: float, least: float | None) -> Mechanism:
        answer = Gaussian(self.sigma, most, neighbours=self.neighbours)
        return answer if least is None else Between(answer, replace(answer, sensitivity=least))


def cyclic_poisson(
    strategy: Strategy | ArrayLike,
    sigma: float,
    sampling_rate: float,
    *,
    cycle: int | None = None,
    neighbours: Neighbours = ADD_REMOVE,
) -> CyclicPoisson:
    """Training with banded correlated noise, amplified by cyclic Poisson sampling.

    The records are split into ``cycle`` groups, as many as the strategy has bands unless more are
    given. Step i takes a Poisson sample of group i mod ``cycle``, each record with probability
    ``sampling_rate``. The steps of one group have columns that share no row, so the training is
    n/cycle rounds of a Poisson-sampled Gaussian answer whose sensitivity is the norm of their
    column (Choquette-Choo et al. 2023, Theorem 4): exact for the group in which they are largest.
    No sampling amplifies strategies without bands, such as trees, BLT and BISR, in this way.

    Neighbours add, remove or zero out a record, all others keeping their groups.

    >>> training = cyclic_poisson(Strategy.banded(1_000, bands=8), sigma=1.0, sampling_rate=0.08)
    >>> round(training.epsilon(delta=1e-5), 4)
    6.2284
    """
    matrix = strategy_of(strategy)
    turns = matrix.bands if cycle is None else cycle
    return CyclicPoisson(matrix, sigma, sampling_rate, turns, neighbours=neighbours)


@dataclass(frozen=True, repr=False)
class BallsInBins(AmplifiedTraining):
    """A training in which each record draws a bin, and takes part whenever its turn comes."""

    strategy: Strategy
    sigma: float
    bins: int

    def __post_init__(self) -> None:
        Gaussian(self.sigma)
        bins = _checks.whole(1, self.strategy.steps, bins=self.bins)
        if bins * self.strategy.steps > _MOST_NUMBERS:
            rule = f"be at most {_MOST_NUMBERS // self.strategy.steps}, for this many steps"
            _checks.refuse("bins", rule, self.bins)
        self._set(sigma=float(self.sigma), bins=bins, neighbours=ADD_REMOVE)

    def __repr__(self) -> str:
        return f"balls_in_bins({self.strategy!r}, sigma={self.sigma!r}, bins={self.bins})"

    @cached_property
    def _gram(self) -> Array:
        """Inner products of what taking part in each bin moves, all entries counted as ≥ 0."""
        rounds = np.arange(self.strategy.steps)
        modes = self.strategy.modes([rounds[start :: self.bins] for start in range(self.bins)])
        return np.asarray(modes.T @ modes)

    def steps(self) -> tuple[Step, ...]:
        return self._steps

    @cached_property
    def _steps(self) -> tuple[Step, ...]:
        own = np.diag(self._gram)
        shared = self._gram[~np.eye(self.bins, dtype=bool)] if self.bins > 1 else np.zeros(1)
        alike = self._pair(own.max(), shared.max(), self.bins)
        positive = self.strategy.matrix_is_positive()
        if positive and max(np.ptp(own), np.ptp(shared)) <= _ROUNDING * own.max():
            return tuple((part, 1) for part in alike)
        apart = self.bins // self.strategy.bands
        best = alike
        if apart > 1:
            classes = self._pair(own.max(), 0.0, apart)
            ranked = (_epsilon(alike), _epsilon(classes))
            best = classes if ranked[1] < ranked[0] else alike
        # Both sides have two parts, the second of which is hidden among the bins.
        weaker: list[Gaussian | Enclosed | None] = [None, None]
        if positive:
            low = min(float(shared.min()), float(own.min()))
            weaker = list(self._pair(own.min(), low, self.bins, keep=True))
        parts = best if len(best) == 2 else (Gaussian(self.sigma, 0.0), best[0])
        return tuple((Between(*pair), 1) for pair in zip(parts, weaker, strict=True))

    def _pair(
        self, own: float, shared: float, bins: int, keep: bool = False
    ) -> tuple[Gaussian | Enclosed, ...]:
        """Modes that all have these inner products: one answer in common, and one of the bins."""
        apart = Gaussian(self.sigma, math.sqrt(max(own - shared, 0.0))).allocated(bins)
        common = Gaussian(self.sigma, math.sqrt(shared))
        return (common, apart) if shared > 0 or keep else (apart,)


def balls_in_bins(strategy: Strategy | ArrayLike, sigma: float, bins: int) -> BallsInBins:
    """Training with correlated noise in which each record draws one of so many bins, once.

    A record in bin j takes part in steps j, j + ``bins``, j + 2·``bins`` and so on: it keeps its
    bin in every epoch, which is not random allocation anew in each. Neighbours add or remove a
    record, whose bin is drawn on its own.

    With the record the answers are a mixture of Gaussians around the bins' modes abs(C)xⱼ. The
    likelihood ratio is a mean of log-normals, and grows in convex order with the inner products of
    its modes (Kahane 1986), step by step, so for gradients that depend on earlier outputs, too
    (Choquette-Choo et al. 2024 for C ≥ 0). Where all bins are alike that is one Gaussian answer
    in common and one random allocation. Else the curve is a guarantee (`Bound.LOWER`): inner
    products rounded up to be alike, or, if less, random allocation among bins that share no row,
    as the bins are a mixture of such sets; ``bracket`` has an attack beside it for C ≥ 0.

    >>> epochs = balls_in_bins(Strategy.identity(steps=1_000), sigma=3.0, bins=100)
    >>> round(epochs.epsilon(delta=1e-5), 2), round(epochs.bracket().upper.epsilon(1e-5), 2)
    (0.74, 0.74)
    """
    return BallsInBins(strategy_of(strategy), sigma, bins)


def _gaussian(sensitivity: float, sigma: float, side: Bound) -> TradeoffCurve:
    return GaussianCurve(sensitivity / sigma, side) if sensitivity > 0 else nothing(side)


def _epsilon(parts: tuple[Gaussian | Enclosed, ...]) -> float:
    training: Mechanism = parts[0]
    for part in parts[1:]:
        training = training.then(part)
    return training.curve().epsilon(_AT_DELTA)
