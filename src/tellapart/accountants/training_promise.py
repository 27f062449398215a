"""What a private training would promise: its sampling scheme, noise, and (ε, δ) with both ends."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.neighbours import Neighbours


@dataclass(frozen=True)
class TrainingPromise:
    """What an attacker could learn from a training that is about to be run.

    ``epsilon`` is a guarantee at ``delta``; ``attack`` is the ε that some attack surely reaches,
    None where no attack is known. ``reported`` is what Opacus's accountant ``reported_by`` would
    say, None where it has no number. ``noise_multipliers`` and ``clipping_norms`` are the least and
    the largest of all epochs; the noise is in units of the norm at which gradients are clipped.
    """

    sampling: str
    sampler: str
    data_size: int
    sampling_rate: float
    batch_size: int
    steps_per_epoch: int
    epochs: int
    optimizer: str
    noise_multipliers: tuple[float, float]
    clipping_norms: tuple[float, float]
    neighbours: Neighbours
    delta: float
    epsilon: float
    attack: float | None
    reported_by: str
    reported: float | None
    notes: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """All steps of all epochs."""
        return self.steps_per_epoch * self.epochs

    def keeps(self, epsilon: float) -> bool | None:
        """Whether (ε, δ) is kept with this ε; None where it is neither proven nor refuted."""
        if self.epsilon <= epsilon:
            return True
        return False if self.attack is not None and self.attack > epsilon else None
