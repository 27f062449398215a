"""A game that was played: who was in, what models said, and the scores that audits read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.scores import Orientation, Scores
from tellapart.errors import InvalidArgument, Unsupported

if TYPE_CHECKING:
    from tellapart.audit.trainings.membership_game import MembershipGame


@dataclass(frozen=True, eq=False, repr=False)
class Played:
    """A game that was played: who was in, and what each model's score was of each target.

    ``raw`` and ``inclusion`` have one row for each model and one column for each target;
    ``population`` one column for each example of the game's population; ``seconds`` is how long
    each training took where it was made.
    """

    game: MembershipGame
    inclusion: NDArray[np.bool_]
    raw: Array
    population: Array
    seconds: Array

    def scores(self, target: int = 0, orientation: Orientation = Orientation.HIGHER) -> Scores:
        """The scores of one target, one for each model, for `many_runs`."""
        place = _checks.whole(0, self.raw.shape[1] - 1, target=target)
        return column_scores(self.raw[:, place], self.inclusion[:, place], orientation)

    def of_model(self, model: int, orientation: Orientation = Orientation.HIGHER) -> Scores:
        """The scores that one model gives all targets, for `one_run` or `metrics`."""
        place = _checks.whole(0, len(self.raw) - 1, model=model)
        fair(self.game)
        inside = self.inclusion[place]
        if inside.all() or not inside.any():
            _checks.refuse("model", "have targets on both sides, in and out", place)
        runs = np.full(inside.size, place)
        return Scores.from_rows(self.raw[place], inside, runs, orientation=orientation)

    def __repr__(self) -> str:
        time = float(np.median(self.seconds))
        return f"Played({self.game!r}, {time:.3g} s a model, {self.seconds.sum():.3g} s in all)"


def fair(game: MembershipGame) -> None:
    """Raise unless the coins are fair, as guesses of one run's coins need."""
    if game.design.prior != 0.5:
        raise Unsupported(
            f"one run is audited with fair coins, and these have prior {game.design.prior:g}: "
            "play with prior 0.5, or use scores(target) with many_runs"
        )


def column_scores(
    values: Array, inside: NDArray[np.bool_], orientation: Orientation = Orientation.HIGHER
) -> Scores:
    """Scores of one target over models; a target that was always in, or never, has no sides."""
    if inside.all() or not inside.any():
        side = "in" if inside.all() else "out of"
        raise InvalidArgument(
            f"models must be enough for coins to fall both ways: the target was {side} all "
            f"{inside.size} of them"
        )
    return Scores.from_rows(values, inside, np.arange(inside.size), orientation=orientation)
