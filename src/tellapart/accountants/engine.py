"""Opacus's ``make_private``, extended by a look at the data loader and the optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple

import torch
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel
from torch.nn.parallel import DistributedDataParallel

from tellapart import _checks
from tellapart.accountants import loaders
from tellapart.accountants.clipping import ADAPTIVE
from tellapart.accountants.loaders import Batches, Pass
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Sampling

SAY_SO = (
    "say so: PrivacyEngine(accountant=tellapart.accountants.opacus.accountant("
    "assume=ta.Sampling.POISSON))"
)


def known_scheme(loader: Any) -> Batches:
    """How a loader draws its batches, which a theorem must cover."""
    batches = loaders.batches_of(loader)
    if batches is None:
        sampler = getattr(loader, "batch_sampler", None)
        kind = type(loader if sampler is None else getattr(sampler, "sampler", sampler))
        raise Unsupported(
            f"{kind.__name__} is not known to draw batches that a theorem covers: if they are "
            f"Poisson samples, {SAY_SO}"
        )
    return batches


def scheme_of(loader: Any, assume: Sampling | None) -> Batches | None:
    """The same; None where it is unknown, and taken for Poisson samples."""
    return known_scheme(loader) if assume is None else loaders.batches_of(loader)


class TrainingPlan(NamedTuple):
    """A training to come, for which Opacus looks for the noise."""

    batches: Batches
    epochs: int

    def passes(self, history: Iterable[loaders.Step]) -> list[Pass]:
        """Opacus rounds the number of steps in its history down, so the epochs count."""
        return [self.batches.whole_pass(noise) for noise, _ in history for _ in range(self.epochs)]


# Opacus's search for the noise makes accountants of its own: what they plan for.
PLAN: ContextVar[TrainingPlan | None] = ContextVar("PLAN", default=None)


def _looking(make_private: Callable[..., Any]) -> Callable[..., Any]:
    """Opacus's ``make_private``, which also shows its parts to an accountant that looks at them."""

    @wraps(make_private)
    def with_a_look(engine: Any, *args: Any, **given: Any) -> Any:
        look_at = getattr(engine.accountant, "look_at", None)
        if look_at is None:
            return make_private(engine, *args, **given)
        if "target_unclipped_quantile" in given:
            raise Unsupported(ADAPTIVE)
        if given.get("poisson_sampling", True):
            loaders.warn_of_discarded(given.get("data_loader"))
        else:  # the loader stays: refuse it while all does
            look_at(given.get("data_loader"))
        module, optimizer, *_, loader = made = make_private(engine, *args, **given)
        look_at(loader, optimizer, module)
        return made

    return with_a_look


def _meeting_a_budget(make_private_with_epsilon: Callable[..., Any]) -> Callable[..., Any]:
    """The same for ``make_private_with_epsilon``, which looks for the noise first."""

    @wraps(make_private_with_epsilon)
    def with_a_look(engine: Any, *args: Any, **given: Any) -> Any:
        plan = None
        if hasattr(engine.accountant, "look_at"):
            plan = _plan_of(engine.accountant.assume, given)
        token = PLAN.set(plan)
        try:
            return make_private_with_epsilon(engine, *args, **given)
        finally:
            PLAN.reset(token)

    return with_a_look


def _plan_of(assume: Sampling | None, given: Mapping[str, Any]) -> TrainingPlan | None:
    """The training that ``make_private_with_epsilon`` is asked for."""
    loader, epochs = given.get("data_loader"), given.get("epochs")
    if loader is None or epochs is None:  # which Opacus asks for
        return None
    batches = None if given.get("poisson_sampling", True) else scheme_of(loader, assume)
    if batches is None:
        kinds = (DifferentiallyPrivateDistributedDataParallel, DistributedDataParallel)
        spread = isinstance(given.get("module"), kinds)
        batches = loaders.poisson_of(loader, torch.distributed.get_world_size() if spread else 1)
    return TrainingPlan(batches, math.ceil(_checks.finite_above_zero(epochs=epochs)))


def extend(engine: type) -> None:
    """Once, however often this module is imported."""
    ways = {"make_private": _looking, "make_private_with_epsilon": _meeting_a_budget}
    for name, way in ways.items():
        method = getattr(engine, name)
        setattr(engine, name, way(getattr(method, "__wrapped__", method)))
