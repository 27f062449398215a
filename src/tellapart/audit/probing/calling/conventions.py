"""The calling convention (rng, size) of a mechanism, from trial calls whose outputs are dropped.

Were it decided from outputs that are kept, those would no longer be a fair sample.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tellapart import _checks, run
from tellapart.audit.probing.calling.caller import Caller, Size, asked_for, length, rows
from tellapart.audit.probing.calling.child import leave_unless
from tellapart.audit.probing.calling.guarded import sealed
from tellapart.audit.probing.calling.inputs import changed, copied, fingerprint, own_globals
from tellapart.audit.probing.calling.outputs import GONE, HANGS, Broken
from tellapart.audit.probing.calling.program import Program
from tellapart.errors import InvalidArgument, LimitReached, Unsupported

# Lengths that an output has by chance rarely, and both never.
_TRIAL_SIZES = (7, 11)
_TRIAL_CALLS = 3
# Keeps the numbers of trial calls apart from all that are kept. Below 2**32, as all such keys: a
# larger one is two words to the generator, and 2**32 the same as input 0, block 1.
_TRIAL_KEY = 2**32 - 1
_LARGE = 1 << 20
REPEATS = (
    "calls are not independent, cannot judge: the program repeats its outputs when it is started "
    "again (let it draw its noise from the seed in each line, or from the system, and not from a "
    "fixed seed or the clock)"
)


def detect_convention(
    mechanism: Callable[..., Any], *inputs: Any, timeout: float | None = None, seed: int = 0
) -> Caller:
    """How this mechanism wants to be called, from a few calls on each input."""
    if not callable(mechanism):
        _checks.refuse("mechanism", "be callable", mechanism)
    limit = None if timeout is None else _checks.finite_above_zero(timeout=timeout)
    if isinstance(mechanism, Program) and limit is not None:  # it is a process, and cuts itself off
        mechanism, limit = replace(mechanism, timeout=limit), None
    takes_rng, takes_size, needs_size = asked_for(mechanism)
    rng = run.generator((*run.checked_seed(seed), _TRIAL_KEY))
    plain = Caller(mechanism, limit, takes_rng, sealed=_sealed(mechanism))
    size = Size.MANY if isinstance(mechanism, Program) else Size.UNASKED
    if takes_size and size is Size.UNASKED:
        size = _trial_of_batches(plain, inputs, rng, needs_size)
    extra = {"size": 1} if size is not Size.UNASKED else {}
    seen = {_spoils(plain, data, extra, rng) for data in inputs} if size is not Size.MANY else set()
    settled = replace(plain, size=size, spoils=seen - {False} != set(), changes=True in seen)
    if (mechanism.timeout if isinstance(mechanism, Program) else limit) is not None:
        _refuse_if_hopeless(settled, inputs, rng)
    if isinstance(mechanism, Program) and any(
        mechanism.repeats_itself(data, rng) for data in inputs
    ):
        raise Unsupported(REPEATS)
    return settled


def _sealed(mechanism: Callable[..., Any]) -> bytes | None:
    """The mechanism as it is before its first call, unless it is large or cannot travel."""
    try:
        pickled = sealed(mechanism)
    except Unsupported:
        return None
    return pickled if len(pickled) <= _LARGE else None


def _trial_of_batches(
    plain: Caller, inputs: tuple[Any, ...], rng: np.random.Generator, needs_size: bool
) -> Size:
    for data in inputs:
        for count in _TRIAL_SIZES:
            (batch,) = plain.calls(data, 1, {"size": count}, rng)
            if isinstance(batch, Broken):
                return Size.ONE if needs_size else Size.UNASKED
            if needs_size:
                rows(batch, count)
            elif length(batch) != count:
                return Size.UNASKED
    return Size.MANY


def _spoils(
    plain: Caller, data: Any, extra: dict[str, Any], rng: np.random.Generator
) -> bool | None:
    """Whether calls change their input; None where that cannot be seen."""
    if plain.timeout is not None:
        return None
    own = copied(data)
    before = fingerprint(own)
    if before is None:
        return None
    home = os.getpid()
    with own_globals(rng):
        for _ in range(_TRIAL_CALLS):
            try:
                plain.mechanism(own, **extra, **plain.handed(rng))
            except LimitReached:
                raise
            except (Exception, SystemExit):  # noqa: BLE001, S110 (will be an output)
                pass
            leave_unless(home)
    return changed(before, own, data)


def _refuse_if_hopeless(caller: Caller, inputs: tuple[Any, ...], rng: np.random.Generator) -> None:
    """Refuse at once what never ends: each call that is cut off costs its time and a process."""
    failures = [caller.block(data, _TRIAL_CALLS, rng).first_broken() for data in inputs]
    if any(failure not in (HANGS, GONE) for failure in failures):
        return
    why = f"mechanism must end: none of {_TRIAL_CALLS} trial calls on each input did in time"
    if failures[0] == GONE:
        raise Unsupported(
            "no verdict: when it was called, the code ended its process by itself, in each of "
            f"{_TRIAL_CALLS} trial calls"
        )
    if isinstance(caller.mechanism, Program):
        why += (
            " (a program must flush its output after every answer, and the timeout of its first "
            "answer includes its start)"
        )
    raise InvalidArgument(why)
