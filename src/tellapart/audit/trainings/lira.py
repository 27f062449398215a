"""LiRA, the likelihood-ratio attack: confidences of models with the target against those without.

Carlini et al. (2022): confidences on a logit scale are about normal, with a mean and a spread of
their own for each example, both with it in and with it out of the training data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.attack_metrics import Metrics, metrics
from tellapart.audit.scores import Scores
from tellapart.audit.trainings.inclusion import Coins, check_mask
from tellapart.errors import Unsupported


class RunningMoments(NamedTuple):
    """How many models, the mean of their numbers, and the squares around it, for each target."""

    many: Array
    mean: Array
    squares: Array

    def and_one(self, values: Array, side: NDArray[np.bool_]) -> RunningMoments:
        """With one model more, where it is on this side (Welford 1962)."""
        count = self.many + side
        off = np.where(side, values - self.mean, 0.0)
        mean = self.mean + off / np.maximum(count, 1.0)
        return RunningMoments(count, mean, self.squares + off * (values - mean))

    def and_others(self, others: RunningMoments) -> RunningMoments:
        """Together with as many others as there are."""
        count = self.many + others.many
        share = others.many / np.maximum(count, 1.0)
        off = others.mean - self.mean
        squares = self.squares + others.squares + off * off * self.many * share
        return RunningMoments(count, self.mean + off * share, squares)


def leave_one_out_moments(values: Array, side: NDArray[np.bool_]) -> RunningMoments:
    """For each model (row) and target (column), the moments of all other models on this side."""
    models, targets = values.shape
    moments = np.empty((3, models, targets))
    after = RunningMoments(*np.zeros((3, targets)))
    for model in reversed(range(models)):
        moments[:, model] = np.array(after)
        after = after.and_one(values[model], side[model])
    before = RunningMoments(*np.zeros((3, targets)))
    for model in range(models):
        moments[:, model] = np.array(before.and_others(RunningMoments(*moments[:, model])))
        before = before.and_one(values[model], side[model])
    return RunningMoments(*moments)


Inclusion = NDArray[np.bool_]

# Confidences of exactly 0 or 1 have no logit; closer to them no float32 comes.
_CLOSEST = 1e-8
# A spread this much smaller than the usual one is chance, or training without randomness.
_LEAST_SPREAD = 1e-3
_SMALLEST = 1e-12
# Numbers that are described at once.
_AT_ONCE = 2**21


def logits(confidences: ArrayLike) -> Array:
    """Probabilities of the right label on the scale where they are about normal.

    >>> logits([0.5, 0.9]).round(4)
    array([0.    , 2.1972])
    """
    p = np.clip(_checks.probabilities(confidences=confidences), _CLOSEST, 1 - _CLOSEST)
    return np.asarray(np.log(p) - np.log1p(-p))


@dataclass(frozen=True)
class Lira:
    """The likelihood-ratio attack, fitted on some models and frozen for others.

    ``online``: compare the models that had the target with those that had not; otherwise those
    that had not alone. ``fixed_variance``: one spread for all targets, for few models.
    ``scaled``: the numbers are logits already.

    >>> import tellapart as ta
    >>> from tellapart import audit
    >>> from tellapart.audit import attacks
    >>> game = audit.MembershipGame([3.0, 1.0, 4.0], audit.Targets(at=2), models=200)
    >>> played = game.play(lambda data, seed: sum(data), lambda model, example: model)
    >>> lira = attacks.Lira(scaled=True)
    >>> audit.game_evidence(played, attack=lira).refutes(ta.guarantee(epsilon=1))
    True
    """

    online: bool = True
    fixed_variance: bool = False
    scaled: bool = False

    def fittable(self, inclusion: Inclusion) -> Inclusion:
        """Which targets have models enough on each side to be fitted."""
        few = np.min([side.sum(axis=0) for side in self._sides(inclusion)], axis=0)
        return np.asarray(few >= self._least)

    def check(self, inclusion: Inclusion, population: int) -> None:
        """Refuse coins that leave a target too few models to fit, before any is trained."""
        for side in self._sides(inclusion):
            self._enough(side.sum(axis=0), len(side))

    def fit(self, raw: Array, inclusion: Inclusion, population: Array) -> FittedLira:
        """Means and spreads of each target's logits over these models."""
        self.check(inclusion, population.shape[1])
        values, sides = self._values(raw), self._sides(inclusion)
        centres = [side_mean(values, side) for side in sides]
        each = zip(sides, centres, strict=True)
        spreads = [_spread(values, side, at, self.fixed_variance) for side, at in each]
        return FittedLira(self, tuple(centres), tuple(spreads))

    def _sides(self, inclusion: Inclusion) -> tuple[Inclusion, ...]:
        return (inclusion, ~inclusion) if self.online else (~inclusion,)

    @property
    def _least(self) -> int:
        return 1 if self.fixed_variance else 2

    def _enough(self, few: Array, models: int) -> None:
        need = self._least
        if few.min() < need:
            raise Unsupported(
                f"LiRA needs {need} or more models on each side of every target, and target "
                f"{int(np.argmin(few))} has {int(few.min())} of the {models} it would be fitted "
                "on: play more models"
            )

    def _values(self, raw: ArrayLike) -> Array:
        values = _checks.reals(raw=raw)
        if self.scaled:
            return values
        if values.size and not (values.min() >= 0 and values.max() <= 1):
            outside = values[(values < 0) | (values > 1)].flat[0]
            rule = "be probabilities of the right label for LiRA (scaled=True if they are logits)"
            _checks.refuse("scores", rule, float(outside))
        return logits(values)


@dataclass(frozen=True, eq=False)
class FittedLira:
    """A frozen attack: its score of a model depends on nothing but that model's outputs."""

    attack: Lira
    centres: tuple[Array, ...]  # with the target in, where fitted, then out
    spreads: tuple[Array, ...]

    def __call__(self, raw: Array, population: Array) -> Array:
        """The log of the likelihood ratio, or how unusual it is for models without the target."""
        return _compared(self.attack._values(raw), self.centres, self.spreads)


def _compared(values: Array, centres: Sequence[Array], spreads: Sequence[Array]) -> Array:
    z = [(values - at) / by for at, by in zip(centres, spreads, strict=True)]
    if len(z) == 1:
        return z[0]
    inside, outside = (
        -score * score / 2 - np.log(by) for score, by in zip(z, spreads, strict=True)
    )
    return np.asarray(inside - outside)


@dataclass(frozen=True, eq=False, repr=False)
class LiraDescription:
    """Scores for description only: each model's were fitted on all others.

    A model's coins are independent of the other models, so its own scores are good for `one_run`.
    Scores of different models share what they were fitted on and are not independent: no audit of
    many runs may read them together, and none is offered here.
    """

    scores: Array
    inclusion: Inclusion

    def of_model(self, model: int) -> Scores:
        """One model's scores of all targets, for `one_run` where the coins were fair.

        Coins that plainly were not are refused, and so are those that the other models tell, as
        where every target is in exactly half of the models: `audit.Matrix` reads these.
        """
        at = _checks.whole(0, len(self.scores) - 1, model=model)
        check_mask(self.inclusion, Coins.INDEPENDENT)
        runs = np.full(self.scores.shape[1], at)
        return Scores.from_rows(self.scores[at], self.inclusion[at], runs)

    def metrics(self, target: int | None = None) -> Metrics:
        """How well the attack separates the sides, for one target or all; it bounds no ε."""
        columns = slice(None)
        if target is not None:
            at = _checks.whole(0, self.scores.shape[1] - 1, target=target)
            columns = slice(at, at + 1)
        return metrics(
            Scores.from_rows(self.scores[:, columns].ravel(), self.inclusion[:, columns].ravel())
        )

    def __repr__(self) -> str:
        models, targets = self.scores.shape
        return f"LiraDescription({models:,} models, {targets:,} targets, for description only)"


def lira(
    confidences: ArrayLike,
    inclusion: ArrayLike,
    *,
    online: bool = True,
    fixed_variance: bool = False,
    scaled: bool = False,
) -> LiraDescription:
    """Every model attacked with all others as shadow models: for description only.

    One row for each model, one column for each target. An audit fits `Lira` on some models and
    certifies on others, as `game_evidence` does.

    >>> import numpy as np
    >>> from tellapart.audit import attacks
    >>> inside = np.array([[True], [False]] * 4)
    >>> values = np.where(inside, 2.0, -2.0) + np.linspace(-1, 1, 8)[:, None]
    >>> attacks.lira(values, inside, scaled=True).scores.round(1).ravel().tolist()
    [5.8, -17.5, 10.5, -14.4, 14.4, -10.5, 17.5, -5.8]
    """
    raw, inside = table(confidences, inclusion)
    attack = Lira(online, fixed_variance, scaled)
    values = attack._values(raw)
    usual = [_leave_one_out_spread(attack, values, side) for side in attack._sides(inside)]
    scores = np.empty(raw.shape)
    for some in _parts(values):
        sides = attack._sides(inside[:, some])
        rest = [leave_one_out_moments(values[:, some], side) for side in sides]
        spreads = [
            _spread_of(others.squares, others.many - 1, at[:, None], fixed_variance)
            for others, at in zip(rest, usual, strict=True)
        ]
        scores[:, some] = _compared(values[:, some], [others.mean for others in rest], spreads)
    return LiraDescription(scores, inside)


def _leave_one_out_spread(attack: Lira, values: Array, side: Inclusion) -> Array:
    """For each model, the spread that is usual among all others."""
    squares, free = np.zeros(len(values)), np.zeros(len(values))
    for some in _parts(values):
        rest = leave_one_out_moments(values[:, some], side[:, some])
        attack._enough(rest.many.min(axis=0), len(values) - 1)
        squares += rest.squares.sum(axis=1)
        free += (rest.many - 1).sum(axis=1)
    return np.asarray(np.sqrt(squares / np.maximum(free, 1)))


def _parts(values: Array) -> list[slice]:
    """Some targets at a time."""
    step = max(_AT_ONCE // len(values), 1)
    return [slice(first, first + step) for first in range(0, values.shape[1], step)]


def table(raw: ArrayLike, inclusion: ArrayLike) -> tuple[Array, Inclusion]:
    """Outputs and coins of the same models and targets."""
    values = _checks.reals(raw=raw)
    inside = np.asarray(inclusion)
    if inside.dtype.kind != "b":
        _checks.refuse("inclusion", "be an array of True and False", inclusion)
    if values.ndim != 2 or inside.shape != values.shape:
        _checks.refuse(
            "inclusion", f"have one row a model, one column a target: {values.shape}", inside.shape
        )
    return values, inside


def side_mean(values: Array, side: Inclusion) -> Array:
    """The mean over the models on one side of the coin, for each target."""
    return np.asarray(np.where(side, values, 0.0).sum(axis=0) / side.sum(axis=0))


def _spread(values: Array, side: Inclusion, centre: Array, fixed: bool) -> Array:
    squares = np.where(side, (values - centre) ** 2, 0.0).sum(axis=0)
    free = side.sum(axis=0) - 1
    usual = np.sqrt(squares.sum() / max(free.sum(), 1))
    return _spread_of(squares, free, usual, fixed)


def _spread_of(squares: Array, free: Array, usual: Array, fixed: bool) -> Array:
    """Standard deviations around the centres; never so small that one model decides alone."""
    if fixed:
        return np.asarray(np.broadcast_to(np.maximum(usual, _SMALLEST), squares.shape))
    least = np.maximum(_LEAST_SPREAD * usual, _SMALLEST)
    return np.asarray(np.maximum(np.sqrt(squares / free), least))
