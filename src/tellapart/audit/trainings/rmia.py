"""RMIA, the robust membership inference attack: pairwise likelihood ratios with a population."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.trainings.lira import Inclusion, side_mean
from tellapart.errors import Unsupported

# Probabilities this small are no different from each other.
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Rmia:
    """The robust attack of Zarifzadeh et al. (2024): pairwise ratios with a population.

    The score is the share of the population that the target outgrows by ``gamma``: its
    probability over the usual one, against theirs. ``online``: the usual one is the mean of models
    with and without the target; otherwise it is told from those without, by ``growth`` (the
    paper's a). The numbers are probabilities of the right label.

    >>> import numpy as np
    >>> from tellapart import audit
    >>> from tellapart.audit import attacks
    >>> data, target = np.arange(9.0), audit.Targets(at=2)
    >>> game = audit.MembershipGame(data, target, models=200, population=(7, 8))
    >>> def score(model, asked):
    ...     return 0.2 + 0.6 * np.isin(asked, model)
    >>> played = game.play(lambda data, seed: data, score)
    >>> round(audit.game_evidence(played, attack=attacks.Rmia()).epsilon_lower().value, 1)
    3.2
    """

    gamma: float = 1.0
    online: bool = True
    growth: float = 0.3

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", _checks.finite_above_zero(gamma=self.gamma))
        object.__setattr__(self, "growth", _checks.probability(growth=self.growth))

    def check(self, inclusion: Inclusion, population: int) -> None:
        """Refuse a game with nothing to compare with, before any model is trained."""
        if not population:
            raise Unsupported(
                "RMIA compares with examples that train no model: give the game a population, "
                "places of examples as population=[...]"
            )
        sides = (inclusion, ~inclusion) if self.online else (~inclusion,)
        if any(side.sum(axis=0).min() < 1 for side in sides):
            raise Unsupported("RMIA needs a model on each side of every target: play more models")

    def fit(self, raw: Array, inclusion: Inclusion, population: Array) -> FittedRmia:
        """The usual probability of each target and of each example of the population."""
        values, others = (_checks.probabilities(confidences=part) for part in (raw, population))
        self.check(inclusion, others.shape[1])
        outside = ~inclusion
        without, theirs = side_mean(values, outside), others.mean(axis=0)
        if self.online:
            return FittedRmia(self.gamma, (side_mean(values, inclusion) + without) / 2, theirs)
        return FittedRmia(self.gamma, self._usual(without), self._usual(theirs))

    def _usual(self, without: Array) -> Array:
        return np.asarray(((1 + self.growth) * without + (1 - self.growth)) / 2)


@dataclass(frozen=True, eq=False)
class FittedRmia:
    """A frozen attack: its score of a model depends on nothing but that model's outputs."""

    gamma: float
    usual: Array
    theirs: Array

    def __call__(self, raw: Array, population: Array) -> Array:
        """The share of the population that each target outgrows."""
        gained = np.maximum(raw, _SMALLEST) / np.maximum(self.usual, _SMALLEST)
        others = np.maximum(population, _SMALLEST) / np.maximum(self.theirs, _SMALLEST)
        ranked = np.sort(others, axis=1)
        outgrown = [
            np.searchsorted(row, gain / self.gamma, side="right")
            for row, gain in zip(ranked, gained, strict=True)
        ]
        return np.asarray(np.array(outgrown) / others.shape[1])
