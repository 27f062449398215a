"""Membership inference attacks: from outputs of models to scores that are larger for members.

Some need no other models (`loss_threshold`, `gradient_dot`, `label_confidences`). `Lira` and
`Rmia` are fitted on some models and frozen; `audit.game_evidence` and `audit.training` fit them on
models that the certificate never sees. Given the fit, the scores of the other models are
independent, which is what an audit of many runs needs.

>>> from tellapart.audit import attacks
>>> attacks.loss_threshold([0.1, 2.5]).tolist()
[-0.1, -2.5]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks, _moved
from tellapart._checks import Array
from tellapart.audit.trainings.lira import Inclusion, Lira, lira, side_mean
from tellapart.errors import Unsupported

__all__ = [
    "Lira",
    "Rmia",
    "gradient_dot",
    "label_confidences",
    "lira",
    "loss_threshold",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)


class Attack(Protocol):
    """An attack that learns from some models and is then frozen."""

    def fit(
        self, raw: Array, inclusion: Inclusion, population: Array
    ) -> Callable[[Array, Array], Array]:
        """From outputs and coins of some models, a function of outputs of others alone."""
        ...


def loss_threshold(losses: ArrayLike) -> Array:
    """The oldest attack: a target with a small loss was a member (Yeom et al. 2018).

    >>> loss_threshold([0.1, 2.0])
    array([-0.1, -2. ])
    """
    return np.asarray(-_checks.reals(losses=losses))


def gradient_dot(updates: ArrayLike, gradient: ArrayLike) -> Array:
    """How far each model went along the target's own gradient, for whoever sees the updates.

    One row of ``updates`` for each model: the sum of its (noisy) gradients, or the parameters
    before minus those after. The score is in units of the gradient's norm.

    >>> gradient_dot([[3.0, 4.0], [0.0, 1.0]], gradient=[0.0, 2.0])
    array([4., 1.])
    """
    rows, direction = _checks.reals(updates=updates), _checks.vector(gradient=gradient)
    if rows.shape[-1:] != direction.shape:
        _checks.refuse("updates", f"have {direction.size} numbers in each row", rows.shape)
    norm = float(np.linalg.norm(direction))
    if norm == 0:
        _checks.refuse("gradient", "not be zero everywhere", norm)
    return np.asarray(rows @ (direction / norm))


def label_confidences(model: Any, examples: tuple[Any, Any]) -> Array:
    """A classifier's probability of each example's own label, as a ``score`` of a game.

    ``examples`` is (X, y); the model has ``predict_proba`` and ``classes_``, as those of
    scikit-learn do. A label that the model never saw has probability 0.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from tellapart.audit import attacks
    >>> always = np.array([[0.9, 0.1]])
    >>> model = SimpleNamespace(classes_=np.array([0, 1]), predict_proba=lambda X: always)
    >>> attacks.label_confidences(model, ([[0.0]], [1]))
    array([0.1])
    """
    if not isinstance(examples, tuple) or len(examples) != 2:
        _checks.refuse("examples", "be a pair (X, y), so that the data must be one", examples)
    features, labels = examples
    chances = np.asarray(model.predict_proba(features), dtype=np.float64)
    hit = np.asarray(labels)[:, None] == np.asarray(model.classes_)[None, :]
    return np.asarray(np.where(hit, chances, 0.0).sum(axis=1))


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

    def fittable(self, inclusion: Inclusion) -> Inclusion:
        """Which targets have a model on each side that is compared."""
        sides = (inclusion, ~inclusion) if self.online else (~inclusion,)
        return np.asarray(np.all([side.any(axis=0) for side in sides], axis=0))

    def check(self, inclusion: Inclusion, population: int) -> None:
        """Refuse a game with nothing to compare with, before any model is trained."""
        if not population:
            raise Unsupported(
                "RMIA compares with examples that train no model: give the game a population, "
                "places of examples as population=[...]"
            )
        if not self.fittable(inclusion).all():
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
