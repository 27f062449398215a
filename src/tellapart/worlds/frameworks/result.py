"""The result of one privacy framework: its ε, the side it errs on, its witness and assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tellapart import _checks
from tellapart._numeric.text import related
from tellapart.worlds.models.secrets import Secret
from tellapart.worlds.secret_test import Model, Witness


class Side(Enum):
    """On which side of the truth a number lies: it is the truth, at most this, or at least this."""

    EXACT = "="
    AT_MOST = "≤"
    AT_LEAST = "≥"


@dataclass(frozen=True)
class FrameworkResult:
    """What one framework says of a release: how much it tells, to whom, and on what terms.

    ``epsilon`` is the framework's own parameter, for mutual information in nats; ``side`` says
    whether the true one is this, at most this or at least this. ``skipped`` lists secrets of
    probability 0, of which nothing can be told. ``composes`` is whether the ε of several releases
    of the same data may be added up.
    """

    framework: str
    epsilon: float
    side: Side
    witness: Witness | None
    assumptions: str
    composes: bool
    skipped: tuple[Secret, ...] = ()
    unit: str = "log-odds"

    def __str__(self) -> str:
        return f"{self.framework}: ε {related(self.side.value, self.epsilon)} ({self.assumptions})"


def models_of(models: Model | Sequence[Model]) -> list[Model]:
    """One model, or all that the adversary may believe in."""
    listed = [models] if isinstance(models, Model) else list(models)
    if not listed:
        _checks.refuse("models", "not be empty", models)
    for model in listed:
        _checks.instance(Model, "a data model of tellapart.worlds", models=model)
    return listed
