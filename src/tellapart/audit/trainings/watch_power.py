"""The power of a watched training, before it is run: of its tests of conformance and of its bets.

The squared noise of a layer follows a χ² law, so what its test finds has a closed form. The bets
are played on trainings that are right but for noise too small in every step and layer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaincinv

from tellapart import deadline
from tellapart.audit.alternatives import SURE, weakest_found
from tellapart.audit.trainings.step_bets import StepBets
from tellapart.audit.trainings.white_box import BLOCKS, EVERYWHERE

# The layer whose noise is tested has so many weights, and is one of so many. So many kinds of tests
# divide the level.
LAYER, LAYERS, CHECKS = 10, 20, 9
# Canaries of a step as they are unless told: forty in single layers, and those in all layers. On
# models of fewer layers stakes are divided among fewer parts, and bets find more.
_CANARIES = 40
# Bets are played on so many first steps at most: beyond, they find less than so many already do.
MOST_STEPS = 500
# How often they are played: fewer times where steps are many, and fewest to see where to look.
_PLAYS, _PLAYED_STEPS, _ROUGHLY = 400, 80_000, 40
_SEED = 2025


def noise_found(steps: int, level: float, layer: int = LAYER) -> float:
    """How many times too small the noise of a layer must be to fail its χ² test, with 90 %.

    In units of what is claimed, the squares of its noise are χ² with steps · layer degrees of
    freedom, divided by x² where the noise is x times too small.
    """
    half = steps * layer / 2
    threshold = float(gammaincinv(half, level / (2 * CHECKS * LAYERS)))  # two-sided
    return math.sqrt(float(gammaincinv(half, SURE)) / threshold) * (1 + 1e-9)


def leak_found(noise: float, steps: int, level: float) -> float | None:
    """How many times too small all noise must be for bets to show a step that leaks, with 90 %.

    None where no noise is so small. Of a long training `MOST_STEPS` are played: bets may be looked
    at after any step, so the others can only show more.
    """
    played = min(steps, MOST_STEPS)
    often = min(_PLAYS, _PLAYED_STEPS // played)
    plays = [_Play(seed, noise, played, level) for seed in range(often)]

    def power(times: int, strength: float) -> float:
        return sum(play.refuted(strength) for play in plays[:times]) / times

    detected, strength = weakest_found(
        lambda strength: power(often, strength), lambda strength: power(_ROUGHLY, strength)
    )
    return strength if detected else None


@dataclass
class _Play:
    """One training, told by its seed; the less noise it has, the more its bets win."""

    seed: int
    noise: float
    steps: int
    level: float
    _spared: float = field(default=1.0, init=False)
    _refuted: float = field(default=math.inf, init=False)

    def refuted(self, strength: float) -> bool:
        """Whether bets refute privacy where noise is so many times too small."""
        if self._spared < strength < self._refuted:
            deadline.check()
            if self._bets(strength).log_wealth(1 / self.noise) >= -math.log(self.level):
                self._refuted = strength
            else:
                self._spared = strength
        return strength >= self._refuted

    def _bets(self, strength: float) -> StepBets:
        rng = np.random.default_rng((_SEED, self.seed))
        shape = (self.steps, _CANARIES + EVERYWHERE)
        coins = rng.random(shape) < 0.5
        now, before = rng.normal(0, self.noise / strength, (2, *shape))
        parts = np.append(np.arange(_CANARIES) % BLOCKS, np.full(EVERYWHERE, BLOCKS))
        places = np.broadcast_to(parts, shape)
        return StepBets(coins + now, before, coins, places, self.noise, tuple(range(BLOCKS + 1)))
