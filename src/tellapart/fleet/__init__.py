"""Shadow models: thousands of small models trained at once, so that an attacker can try them all.

Extra ``torch``. Models are stacked, and one batched matrix product serves all of them. DP-SGD is
the textbook's: true Poisson samples, every gradient clipped by itself, noise on the sum, division
by the expected batch. It is a reference for audits, not a secure sampler: its noise is made of
32-bit words by a statistical generator, with float32 arithmetic.

>>> import numpy as np
>>> from tellapart import fleet
>>> X, y = np.eye(4), [0, 1, 0, 1]
>>> recipe = fleet.DPSGD(steps=5, learning_rate=1.0, sampling_rate=0.5, clip=1, noise_multiplier=1)
>>> trained = fleet.train(fleet.LogisticRegression(4, 2), recipe, X, y, models=100, seed=1)
>>> trained.scores(X, y).shape
(100, 4)
"""

from typing import TYPE_CHECKING

from tellapart import _moved
from tellapart.fleet.architectures import CNN, MLP, LogisticRegression
from tellapart.fleet.canaries import Canaries
from tellapart.fleet.recipes import DPSGD, SGD
from tellapart.fleet.training import train

__all__ = [
    "CNN",
    "DPSGD",
    "MLP",
    "SGD",
    "Canaries",
    "LogisticRegression",
    "train",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
