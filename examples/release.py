"""Two ways to publish how many records there are, for `tellapart probe`; one has a bug."""

from __future__ import annotations

import numpy as np


def noisy_count(data: list[int], rng: np.random.Generator, size: int | None = None) -> object:
    """The number of records with too little noise: ε = 1 would need a scale of 1."""
    return len(data) + rng.laplace(0, 0.5, size)


def correct_count(data: list[int], rng: np.random.Generator, size: int | None = None) -> object:
    """The number of records, with noise that keeps ε = 1."""
    return len(data) + rng.laplace(0, 1, size)
