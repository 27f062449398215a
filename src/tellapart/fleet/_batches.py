"""Poisson samples of every model, as rows of indices padded to a length fixed beforehand.

The length depends on the data and the sampling rate alone, so that chunks of models do not change
it. No example is dropped: a model whose sample is longer at any step is noticed and trained again
with longer rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tellapart.fleet._random import Models, coins, counters, limit_of
from tellapart.fleet._torch import torch

# Rows leave room for so many deviations more than the mean: 3 in a million samples are longer.
_DEVIATIONS = 4.5
_MULTIPLE = 8
# From this share of all examples on, it is cheaper to take them all and to weigh some with 0.
_DENSE = 0.5


def row_length(examples: int, rate: float, tries: int = 0) -> int:
    """How long rows are at first, and after so many that were too short; all examples at most."""
    deviation = math.sqrt(examples * rate * (1 - rate))
    room = examples * rate + _DEVIATIONS * 2**tries * deviation + 1
    length = math.ceil(room / _MULTIPLE) * _MULTIPLE
    return examples if length >= _DENSE * examples else length


@dataclass(frozen=True)
class Sampler:
    """Draws who takes part, for a range of models."""

    places: Any  # counters, or None where everybody takes part at every step
    limit: int
    inclusion: Any | None
    device: Any
    models: int
    examples: int

    @classmethod
    def of(cls, models: Models, examples: int, rate: float, inclusion: Any, device: Any) -> Sampler:
        """A sampler for these models; inclusion says whose training set holds which example."""
        places = counters(models, examples, device) if rate < 1 else None
        limit = limit_of(rate) if rate < 1 else 0
        return cls(places, limit, inclusion, device, len(models), examples)

    def taking_part(self, key: Any, draw: Any = coins) -> Any:
        """Who is in the sample of a step: models × examples."""
        if self.places is None:
            shape = (self.models, self.examples)
            drawn = torch.ones(shape, dtype=torch.bool, device=self.device)
        else:
            drawn = draw(self.places, key[0], key[1], self.limit)
        return drawn if self.inclusion is None else drawn.logical_and_(self.inclusion)


def rows_of(taking_part: Any, length: int, everyone: Any) -> tuple[Any, Any, Any]:
    """Who takes part as padded rows of indices, which of them count, and whose row is too short."""
    models = taking_part.shape[0]
    place = torch.cumsum(taking_part, dim=1, dtype=torch.int32)
    total = place[:, -1:].clone()
    # Whoever does not take part, or finds no room, goes to a last column that is cut off.
    place.masked_fill_(taking_part.logical_not(), length + 1).clamp_(max=length + 1).sub_(1)
    rows = torch.zeros((models, length + 1), dtype=torch.int64, device=taking_part.device)
    rows.scatter_(1, place.to(torch.int64), everyone.expand_as(taking_part))
    counted = torch.arange(length, device=total.device, dtype=torch.int32) < total
    return rows[:, :length], counted, total[:, 0] > length
