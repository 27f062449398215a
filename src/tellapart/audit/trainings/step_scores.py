"""From what a step releases to the few numbers in which a canary shows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.trainings.step_pairs import StepPair

# Of many releases so many are looked at by themselves, and the last one.
_FIRST = 4


@dataclass(frozen=True, eq=False)
class Look:
    """Where an attacker looks: along one direction, with the claimed step in mind."""

    direction: Array
    noise: float  # in units of the clipping norm
    rate: float  # how often a record is in a batch
    unit: float  # what a clipped gradient adds to a release

    def __call__(self, releases: Array) -> Array:
        """Scores of many outputs at once, each of one release or several of a dimension."""
        with np.errstate(all="ignore"):
            along = releases @ self.direction / self.unit
            squares = np.square(releases / self.unit)
            scores = [
                along.sum(axis=-1),
                np.where(np.isnan(squares), 0.0, squares).mean(axis=(-1, -2)),
                (releases[:, 0, 0] - releases[:, 0, -1]) / self.unit,
            ]
            if self.rate < 1:
                scores.append(self._likelihood(along))
            if along.shape[-1] > 1:
                few = along[:, :_FIRST]
                scores += [few[:, 0] - few[:, 1], along[:, -1], along.max(axis=-1), *few.T]
        return np.stack(scores, axis=-1)

    def _likelihood(self, along: Array) -> Array:
        """How much likelier the releases are with the canary, were the claim exact."""
        there = np.log(self.rate) + (along - 0.5) / self.noise**2
        return np.asarray(np.logaddexp(np.log1p(-self.rate), there).sum(axis=-1))

    def names(self, releases: int) -> list[str]:
        """What each score is."""
        names = ["sum along the canary", "mean square", "first less last coordinate"]
        if self.rate < 1:
            names.append("likelihood of the canary")
        if releases > 1:
            names += ["first less second release", "last release", "largest release"]
            names += [f"release {k + 1}" for k in range(min(releases, _FIRST))]
        return names


@dataclass(frozen=True, eq=False)
class Watched:
    """A step whose releases are boiled down to scores: a mechanism that a probe can call.

    What is computed from an output gives away no more than the output does.
    """

    step: Callable[..., Any]
    look: Look

    def __call__(self, gradients: Array, **asked: Any) -> Any:
        """One row of scores, or with ``size`` as many."""
        output = self.step(gradients, **asked)
        dimension = self.look.direction.size
        size = asked.get("size")
        if size is None:
            return self.look(flat(output).reshape(1, -1, dimension))[0]
        return self.look(rows(output, size).reshape(size, -1, dimension))

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """As the step has it: a probe asks for a generator and for batches by name."""
        return inspect.signature(self.step)


def flat(output: Any) -> Array:
    """All numbers of an output, layer by layer where it is a list or a dictionary of layers."""
    if isinstance(output, Mapping):
        output = list(output.values())
    if isinstance(output, Iterable) and isinstance(output, list | tuple):
        return np.concatenate([flat(one) for one in output]) if output else np.zeros(0)
    if hasattr(output, "detach"):  # PyTorch's, which may carry a gradient
        output = output.detach().cpu().numpy()
    return np.asarray(output, dtype=np.float64).ravel()


def rows(output: Any, size: int) -> Array:
    """The numbers of many outputs, a row each: a batch, one of each layer, or a list of outputs."""
    if isinstance(output, Mapping):
        output = list(output.values())
    if isinstance(output, list | tuple) and not _one_by_one(output, size):
        return np.hstack([rows(one, size) for one in output])
    return flat(output).reshape(size, -1)


def _one_by_one(output: Any, size: int) -> bool:
    """Whether a list holds outputs; otherwise it holds the batches of layers."""
    return len(output) == size and not all(
        getattr(one, "shape", ())[:1] == (size,) for one in output
    )


def releases_of(step: Callable[..., Any], pair: StepPair, asked: dict[str, Any]) -> int:
    """How many releases a step makes, from one call that is thrown away."""
    dimension = pair.direction.size
    try:
        found = flat(step(pair.absent.copy(), **asked))
    except (TypeError, ValueError) as error:
        _checks.refuse("step", f"be a function of gradients that returns numbers ({error})", step)
    if found.size == 0 or found.size % dimension:
        rule = f"release {dimension} numbers, as layers have, or a multiple of it"
        _checks.refuse("what step returns", rule, found.size)
    return found.size // dimension
