"""Means and spreads over all models but one, for each of them, in two passes over the models.

Those before a model and those after it are summed up apart and put together (Chan, Golub and
LeVeque 1983). So nothing of the model itself comes in, not even by rounding: a sum of all, less
its own part, would round one way if it was a member and another way if not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array


class Moments(NamedTuple):
    """How many models, the mean of their numbers, and the squares around it, for each target."""

    many: Array
    mean: Array
    squares: Array

    def and_one(self, values: Array, side: NDArray[np.bool_]) -> Moments:
        """With one model more, where it is on this side (Welford 1962)."""
        count = self.many + side
        off = np.where(side, values - self.mean, 0.0)
        mean = self.mean + off / np.maximum(count, 1.0)
        return Moments(count, mean, self.squares + off * (values - mean))

    def and_others(self, others: Moments) -> Moments:
        """Together with as many others as there are."""
        count = self.many + others.many
        share = others.many / np.maximum(count, 1.0)
        off = others.mean - self.mean
        squares = self.squares + others.squares + off * off * self.many * share
        return Moments(count, self.mean + off * share, squares)


def without_each(values: Array, side: NDArray[np.bool_]) -> Moments:
    """For each model (row) and target (column), the moments of all other models on this side."""
    models, targets = values.shape
    found = np.empty((3, models, targets))
    after = Moments(*np.zeros((3, targets)))
    for model in reversed(range(models)):
        found[:, model] = np.array(after)
        after = after.and_one(values[model], side[model])
    before = Moments(*np.zeros((3, targets)))
    for model in range(models):
        found[:, model] = np.array(before.and_others(Moments(*found[:, model])))
        before = before.and_one(values[model], side[model])
    return Moments(*found)
