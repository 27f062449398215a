"""Mixtures of Gaussians: one answer whose shift by your records is drawn at random."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.group_privacy import OneStep
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss
from tellapart.curve.guarantees import nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import BatchStep
from tellapart.neighbours import Neighbours

# Probabilities may miss 1 by rounding; shifts that are multiples of the least are kept as such.
_ROUNDING, _MULTIPLES = 1e-9, 64
# Moves of less than this share of the furthest are rounded up to it.
_LEAST = 1e-3


@dataclass(frozen=True, repr=False)
class MixtureOfGaussians(BatchStep):
    """A Gaussian answer that your records move by one of several amounts, drawn at random.

    N(0, σ²) without them, Σ pᵢ·N(cᵢ, σ²) with them: a user whose records are sampled one by one,
    or a batch with a random number of copies. The ``sensitivities`` cᵢ ≥ 0 are the norms of the
    moves. Moves in any directions leak no more, in either order of the worlds: the likelihood
    ratio is a mean of log-normals, whose covariances are largest where all moves point one way,
    and it grows in convex order with them (Kahane 1986; Choquette-Choo et al. 2024).

    >>> user = MixtureOfGaussians(1, sensitivities=[0, 1, 2], probabilities=[0.81, 0.18, 0.01])
    >>> round(user.repeated(50).epsilon(delta=1e-5), 4)
    11.5657
    """

    sigma: float
    sensitivities: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours is Neighbours.REPLACE:
            raise Unsupported(
                "a mixture of Gaussians has one world without the records: neighbours must be "
                "Neighbours.ADD_REMOVE or Neighbours.ZERO_OUT, got Neighbours.REPLACE"
            )
        moves = _listed(sensitivities=self.sensitivities)
        chances = _listed(probabilities=self.probabilities)
        if len(moves) != len(chances):
            rule = f"be one for each of the {len(moves)} sensitivities"
            _checks.refuse("probabilities", rule, self.probabilities)
        for move, chance in zip(moves, chances, strict=True):
            _checks.finite_at_least_zero(sensitivities=move)
            _checks.probability(probabilities=chance)
        if abs(math.fsum(chances) - 1) > _ROUNDING:
            _checks.refuse("probabilities", "sum to 1", self.probabilities)
        self._set(
            sigma=_checks.finite_above_zero(sigma=self.sigma),
            sensitivities=moves,
            probabilities=chances,
        )

    def _present_test(self) -> TradeoffCurve:
        total = math.fsum(self.probabilities)
        weights: dict[float, float] = {0.0: 0.0}
        for move, chance in sorted(zip(self.sensitivities, self.probabilities, strict=True)):
            weights[move] = weights.get(move, 0.0) + chance / total
        furthest = max(move for move, weight in weights.items() if weight > 0) / self.sigma
        if furthest == 0:
            return nothing()
        shifts, side = _rounded(weights, self.sigma, _LEAST * furthest)
        positive = [shift for shift in shifts if shift > 0]
        least = positive[0]
        if len(positive) == 1 and shifts[0.0] == 0:
            return GaussianCurve(least, side)
        steps = np.array(positive) / least
        if furthest / least <= _MULTIPLES and np.all(steps == np.rint(steps)):
            ladder = [shifts[0.0]] + [0.0] * round(furthest / least)
            for shift in positive:
                ladder[round(shift / least)] = shifts[shift]
            return OneStep(MixtureLoss(least, tuple(ladder)), side)
        return OneStep(MixtureLoss(least, tuple(shifts.values()), tuple(shifts)), side)


def _rounded(
    weights: dict[float, float], sigma: float, least: float
) -> tuple[dict[float, float], Bound]:
    """Weights by shift, rising; moves too small to tell from none are rounded up, and said so."""
    shifts, side = {0.0: weights[0.0]}, Bound.EXACT
    for move, weight in weights.items():
        if move > 0 and weight > 0:
            shift = max(move / sigma, least)
            side = Bound.LOWER if shift > move / sigma else side
            shifts[shift] = shifts.get(shift, 0.0) + weight
    return shifts, side


def _listed(**named: object) -> tuple[float, ...]:
    ((name, values),) = named.items()
    if isinstance(values, str) or not isinstance(values, Iterable) or not (listed := tuple(values)):
        return _checks.refuse(name, "be a list of at least one number", values)
    return tuple(_checks.number(**{name: value}) for value in listed)
