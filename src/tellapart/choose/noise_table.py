"""Every method of setting the noise for one promise, side by side."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NoiseRow:
    """One way to set the noise: how much it adds, what that really gives, and whom it protects.

    ``true_epsilon`` is the exact ε of that noise for this model and query; ``sound`` says whether
    the method always keeps its promise, whatever the model.
    """

    method: str
    scale: float
    true_epsilon: float
    sound: bool
    protects: str
