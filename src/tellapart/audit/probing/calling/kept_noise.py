"""Noise that is kept, or drawn from one seed in every call: it looks like no noise at all."""

from __future__ import annotations

import os
from typing import Any

from tellapart import run
from tellapart.audit.probing.calling.caller import Caller, Size
from tellapart.audit.probing.calling.calls import refuse_if_all_broke
from tellapart.audit.probing.calling.guarded import guarded
from tellapart.audit.probing.calling.independence import Dependence, dependence, never_changes
from tellapart.audit.probing.calling.outputs import Broken, Outputs, joined, packed
from tellapart.audit.probing.calling.traces import Trace, traced
from tellapart.errors import Unsupported

# Noise that gives the same output in two starts out of three passes with probability 1e-11.
_FORKS = 64
_STARTS = 3
_FRESH_KEY = 2**32 - 2
STARTS_AFRESH = (
    (False, "another start gives another output"),
    (True, "every call seeds its noise alike: with other seeds it does change"),
)


def refuse_unjudgeable(
    caller: Caller,
    inputs: tuple[Any, Any],
    outputs: tuple[Outputs, Outputs],
    traces: tuple[Trace, Trace] | None = None,
) -> None:
    """Raise where calls say nothing: none gave a value, or they share their noise.

    ``traces`` are those of all calls, where some outputs stayed where they were drawn.
    """
    left = traces or (traced(outputs[0]), traced(outputs[1]))
    refuse_if_all_broke(*left)
    shared = dependence(*left)
    if shared is None and all(one.constant for one in left):
        shared = kept_noise(caller, inputs, outputs)
    if shared is not None:
        raise Unsupported(str(shared))


def kept_noise(
    caller: Caller, inputs: tuple[Any, Any], outputs: tuple[Outputs, Outputs], seed: int = 0
) -> Dependence | None:
    """Whether outputs that never change do change in another start, or with other seeds.

    To be asked only where both inputs' outputs never change.
    """
    for data, found in zip(inputs, outputs, strict=True):
        for ignore_seeds, why in STARTS_AFRESH:
            try:
                fresh = packed(fresh_outputs(caller, data, seed, ignore_seeds))
            except Unsupported as reason:
                told = f"the output never changes, and a fresh start cannot be tried: {reason}"
                return Dependence(told)
            if not never_changes(joined([found[:1], fresh])):
                return Dependence(f"the output never changes, but {why}")
    return None


def fresh_outputs(caller: Caller, data: Any, seed: int, ignore_seeds: bool) -> list[Any]:
    """First calls of processes: forks of one that has loaded the mechanism and not called it."""
    if caller.sealed is None:
        raise Unsupported("mechanism cannot be sent to a process")
    rng = run.generator((*run.checked_seed(seed), _FRESH_KEY))
    forks = hasattr(os, "fork")
    size = {} if caller.size is Size.UNASKED else {"size": 1}
    seeds = caller.seeds(size, rng)
    order = {
        "mechanism": caller.sealed,
        "data": data,
        "copies": False,
        "afresh": forks,
        "ignore_seeds": ignore_seeds,
    }
    starts, rounds = (1, _FORKS) if forks else (_STARTS, 1)
    found = [one for _ in range(starts) for one in guarded(order, rounds, caller.timeout, seeds)]
    return [one if isinstance(one, Broken) else one[0] for one in found] if size else found
