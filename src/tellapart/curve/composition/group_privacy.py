"""Group privacy: what several neighbours in a row allow, each step along the chain one test.

If no attack on one step has TPR above g(FPR), none on k steps has it above g∘…∘g (Dong, Roth and
Su 2022, Theorem 2.14). Any tangents TPR ≤ δ_i + e^(ℓ_i)·FPR of g, put into one another, give a line
that holds for the chain; the best ones are those at the points where the steps are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from tellapart._checks import Array
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import Bound, FourRates, TradeoffCurve
from tellapart.curve.certified.discretise import from_two_profiles
from tellapart.curve.composition.loss_laws import LossLaw

# Tangents further out than the ε of this δ are left out.
_RAREST = 1e-30
_ROOM = 1e-12


def group_curve(test: TradeoffCurve, length: int) -> AtomicCurve:
    """The curve, from below, of so many steps along a chain of neighbours in one order."""
    ahead, back = _lines(test, length), _lines(test.mirrored(), length)
    none, other = np.ones(ahead[0].size), np.ones(back[0].size)
    return from_two_profiles(
        np.concatenate([ahead[0], back[0]]),
        np.concatenate([ahead[1], other]),
        np.concatenate([none, back[1]]),
    )


def _lines(test: TradeoffCurve, length: int) -> tuple[Array, Array]:
    """(ε, δ) pairs, ε ≥ 0, that the chain keeps in this order."""
    with np.errstate(all="ignore"):
        losses = tangent_losses(test)
        fpr, delta = test._rates(losses)[0], test._delta(losses)
        at = np.concatenate([[0.0], 10.0 ** np.linspace(-300, -16, 200), fpr])
        at = np.unique(np.concatenate([at, expit(np.linspace(-37, 37, 3001))]))
        total, slack = np.zeros(at.size), np.zeros(at.size)
        for _ in range(length):
            # The steepest line among those flat enough to be a tangent at this FPR.
            k = np.clip(np.searchsorted(-fpr, -at, side="left"), 0, losses.size - 1)
            lift = np.exp(losses[k])
            total, slack = total + losses[k], delta[k] + lift * slack
            at = np.clip(delta[k] + lift * at, 0.0, 1.0)
    kept = (total >= 0) & np.isfinite(total) & np.isfinite(slack)
    return total[kept], np.minimum(slack[kept] * (1 + _ROOM), 1.0)


def tangent_losses(test: TradeoffCurve) -> Array:
    """Rising losses at which tangents are taken."""
    if isinstance(test, AtomicCurve):
        finite = test.losses[np.isfinite(test.losses)][::-1]
        if finite.size:
            return finite
    low, high = (_end(order) for order in (test.mirrored(), test))
    return np.unique(np.concatenate([np.linspace(-low, high, 4001), [0.0]]))


def _end(test: TradeoffCurve) -> float:
    far = test._largest_loss()
    if math.isfinite(far):
        return far
    return float(test.epsilon(min(1.0, test._delta_at_infinity() + _RAREST)))


# No loss is larger than this.
_FURTHEST = 1e300


@dataclass(frozen=True, repr=False)
class OneStep(TradeoffCurve):
    """A step known by the law of its loss."""

    law: LossLaw
    bound: Bound = Bound.EXACT

    def _mirrored(self) -> OneStep:
        swapped = self.law.swapped()
        return self if swapped is self.law else OneStep(swapped, self.bound)

    def _rates(self, threshold: Array) -> FourRates:
        flat = np.ravel(threshold).astype(float)
        far = np.abs(flat) > _FURTHEST
        rates = np.stack(self.law.rates(np.where(far, 0.0, flat)))
        rates[:, flat > _FURTHEST] = np.array([0.0, 0.0, 1.0, 1.0])[:, None]
        rates[:, flat < -_FURTHEST] = np.array([1.0, 1.0, 0.0, 0.0])[:, None]
        fpr, tpr, fnr, tnr = rates.reshape(4, *np.shape(threshold))
        return fpr, tpr, fnr, tnr

    def _largest_loss(self) -> float:
        return self.law.largest

    def _smallest_loss(self) -> float:
        return self.law.least

    def _delta_at_infinity(self) -> float:
        return 0.0
