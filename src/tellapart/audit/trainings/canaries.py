"""Canaries for one-run audits: made, included by fair coins, and scored afterwards.

>>> canaries = dirac_gradients(count=4, dimension=6, norm=1.0)
>>> inserted = canaries.inclusion(seed=1)
>>> gradients = canaries.included(inserted)          # what the training is given besides its data
>>> gradients.shape == (inserted.sum(), 6)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks, _moved, run
from tellapart._checks import Array
from tellapart.audit.scores import Orientation, Scores

__all__ = ["dirac_gradients", "mislabelled"]

Coins = NDArray[np.bool_]
# Keeps the draws of canaries apart from those of their coins.
_COINS, _CHOICE = 1, 2
_MOST = 10**8


@dataclass(frozen=True, eq=False)
class CanarySet:
    """Records made to be found: each is in the training or not by its own fair coin.

    ``records`` has a row for each; ``labels`` is None where they have none, as gradients.
    """

    records: NDArray[Any]
    labels: NDArray[Any] | None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.records)

    def inclusion(self, seed: int) -> Coins:
        """Which of them are in: a fair coin for each, the same for the same seed."""
        key = _checks.whole(0, 2**62, seed=seed)
        return run.generator((key, _COINS)).random(self.count) < 0.5

    def included(self, inclusion: ArrayLike) -> Any:
        """The records that are in, and with labels a pair of both."""
        coins = self._coins(inclusion)
        inside = self.records[coins]
        return inside if self.labels is None else (inside, self.labels[coins])

    def scores(
        self,
        values: ArrayLike,
        inclusion: ArrayLike,
        orientation: Orientation = Orientation.HIGHER,
    ) -> Scores:
        """What an attack said of each canary after the one training, as `one_run` takes it."""
        coins, attacked = self._coins(inclusion), _checks.reals("be numbers", values=values)
        if attacked.shape != (self.count,):
            _checks.refuse("values", f"be one number for each of {self.count} canaries", values)
        runs = np.zeros(self.count, dtype=np.intp)  # all are of one run, and not independent
        return Scores.from_rows(attacked, coins, runs, orientation=orientation)

    def along(self, updates: ArrayLike) -> Array:
        """How much of each gradient canary the updates hold: the sum of their dot products.

        ``updates`` are the released gradients of all steps, one row each.
        """
        if self.labels is not None:
            _checks.refuse("canaries", "be gradients, without labels", self.labels)
        released = np.atleast_2d(_checks.reals("be rows of numbers", updates=updates))
        if released.ndim != 2 or released.shape[1] != self.records.shape[1]:
            rule = f"be rows of {self.records.shape[1]} numbers"
            _checks.refuse("updates", rule, released.shape)
        return np.asarray(self.records @ released.sum(axis=0))

    def _coins(self, inclusion: ArrayLike) -> Coins:
        coins = np.asarray(inclusion)
        if coins.dtype != np.bool_ or coins.shape != (self.count,):
            rule = f"say True or False of each of {self.count} canaries"
            _checks.refuse("inclusion", rule, inclusion)
        return coins


def dirac_gradients(count: int, dimension: int, norm: float) -> CanarySet:
    """Gradients an attacker can read off an update: each in a coordinate of its own.

    No canary may share its coordinate, so that there are at most ``dimension``; they take the last
    ones, where a model's parameters can be set aside for them.

    >>> from tellapart.audit import canaries
    >>> canaries.dirac_gradients(count=2, dimension=4, norm=3.0).records
    array([[0., 0., 3., 0.],
           [0., 0., 0., 3.]])
    """
    size = _checks.whole(1, _MOST, dimension=dimension)
    many = _checks.whole(1, count=count)
    if many > size:
        _checks.refuse("count", f"be at most dimension ({size})", count)
    length = _checks.finite_above_zero(norm=norm)
    if many * size > _MOST:
        _checks.refuse("count", f"be at most {_MOST // size} for this dimension", count)
    return CanarySet(length * np.eye(many, size, size - many))


def mislabelled(X: ArrayLike, y: ArrayLike, count: int, seed: int) -> CanarySet:
    """Examples with a wrong label, which a model can only know by heart.

    So many rows of ``X`` are drawn, and each gets a label of ``y`` that is not its own, every
    other one being as likely. Take them out of the training data, or give rows that are not in it.

    >>> import numpy as np
    >>> from tellapart.audit import canaries
    >>> canaries.mislabelled(np.eye(4), [0, 1, 0, 1], count=2, seed=1).labels
    array([1, 0])
    """
    records, labels = np.asarray(X), np.asarray(y)
    if records.ndim < 1:
        _checks.refuse("X", "be rows of examples", X)
    if labels.ndim != 1 or len(records) != len(labels):
        _checks.refuse("y", f"have a label for each of {len(records)} rows", labels.shape)
    known, own = np.unique(labels, return_inverse=True)
    if len(known) < 2:
        _checks.refuse("y", "hold two labels or more", known.tolist())
    many = _checks.whole(1, len(records), count=count)
    rng = run.generator((_checks.whole(0, 2**62, seed=seed), _CHOICE))
    drawn = rng.choice(len(records), many, replace=False)
    other = rng.integers(1, len(known), many)
    return CanarySet(records[drawn], known[(own[drawn] + other) % len(known)])


if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
