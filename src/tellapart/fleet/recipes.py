"""SGD and DP-SGD as records: steps, sampling rate, clipping norm, noise multiplier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tellapart import _checks
from tellapart._numeric.text import short

Loss = Literal["cross_entropy", "squared_error"]

# Squares of norms are numbers of 32 bits: much smaller ones would round to nothing.
_LEAST_CLIP = 1e-9


@dataclass(frozen=True, kw_only=True)
class SGD:
    """Training without any protection, on Poisson samples of the training set.

    At every step each example takes part with probability ``sampling_rate`` on its own, and the
    sum of gradients is divided by ``expected_batch``. Give either: the other is told by the number
    of rows of the data. Give both where models train on a part of the rows.
    """

    steps: int
    learning_rate: float
    sampling_rate: float | None = None
    expected_batch: float | None = None
    loss: Loss = "cross_entropy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _checks.whole(1, 10**9, steps=self.steps))
        rate = _checks.finite_above_zero(learning_rate=self.learning_rate)
        object.__setattr__(self, "learning_rate", rate)
        if self.sampling_rate is None and self.expected_batch is None:
            _checks.refuse("sampling_rate or expected_batch", "be given", None)
        if self.sampling_rate is not None:
            share = _checks.probability(sampling_rate=self.sampling_rate)
            if share == 0:
                _checks.refuse("sampling_rate", "be greater than 0", self.sampling_rate)
            object.__setattr__(self, "sampling_rate", share)
        if self.expected_batch is not None:
            batch = _checks.finite_above_zero(expected_batch=self.expected_batch)
            object.__setattr__(self, "expected_batch", batch)
        if self.loss not in ("cross_entropy", "squared_error"):
            _checks.refuse("loss", "be 'cross_entropy' or 'squared_error'", self.loss)

    def schedule(self, examples: int) -> tuple[float, float]:
        """The sampling rate and the expected batch on so many rows.

        >>> SGD(steps=1, learning_rate=1, expected_batch=25).schedule(100)
        (0.25, 25.0)
        """
        if self.sampling_rate is None:
            batch = float(self.expected_batch or 0)
            if batch > examples:
                _checks.refuse("expected_batch", f"be at most the {examples} rows of X", batch)
            return batch / examples, batch
        if self.expected_batch is None:
            return self.sampling_rate, self.sampling_rate * examples
        return self.sampling_rate, self.expected_batch


@dataclass(frozen=True, kw_only=True)
class DPSGD(SGD):
    """Training by clipped gradients and noise: `tellapart.dp_sgd` tells what it leaks.

    Each example's gradient is scaled to norm at most ``clip``. Noise of deviation
    ``noise_multiplier * clip`` is added to the sum, which is divided by the expected batch.

    >>> recipe = DPSGD(steps=5, learning_rate=1, sampling_rate=0.5, clip=1, noise_multiplier=2)
    >>> recipe.clip * recipe.noise_multiplier
    2.0
    """

    clip: float
    noise_multiplier: float

    def __post_init__(self) -> None:
        super().__post_init__()
        clip = _checks.finite_above_zero(clip=self.clip)
        if not _LEAST_CLIP <= clip <= 1 / _LEAST_CLIP:
            _checks.refuse(
                "clip", f"lie in {short(_LEAST_CLIP)} to {short(1 / _LEAST_CLIP)}", self.clip
            )
        object.__setattr__(self, "clip", clip)
        noise = _checks.finite_at_least_zero(noise_multiplier=self.noise_multiplier)
        object.__setattr__(self, "noise_multiplier", noise)


Recipe = SGD | DPSGD
