"""Calling a mechanism that one knows nothing of, often, and on inputs it may not spoil.

A mechanism is called as ``mechanism(data)``. One with a parameter ``rng`` is handed a NumPy
generator, one with a parameter ``size`` is asked for many independent outputs at once. How it
wants to be called is settled once, by calls whose outputs are thrown away: were it decided from
outputs that are kept, those would no longer be a fair sample.

Calls come in blocks, each with numbers keyed by the seed and the block's place, so that the
outputs are the same wherever the blocks are run. Python's and NumPy's global generators are
seeded for each block too, and left as they were found; threads take turns with them, unless the
mechanism is handed a generator.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NoReturn, TypeVar

import numpy as np

from tellapart import _checks, run
from tellapart.blackbox.guarded import guarded, sealed
from tellapart.blackbox.inputs import changed, copied, fingerprint, own_globals
from tellapart.blackbox.outputs import GONE, HANGS, Broken, Outputs, joined, packed
from tellapart.blackbox.program import BadProgram, Program
from tellapart.blackbox.signature import asked_for
from tellapart.blackbox.traces import Trace
from tellapart.errors import InvalidArgument, Unsupported

T = TypeVar("T")

BLOCK = 8192
_MOST_TASKS = 1024
# Lengths that an output has by chance rarely, and both never.
_TRIAL_SIZES = (7, 11)
_TRIAL_CALLS = 3
# Keeps the numbers of trial calls apart from all that are kept.
_TRIAL_KEY = 2**31
_LARGE = 1 << 20
REPEATS = (
    "calls are not independent, cannot judge: the program repeats its outputs when it is started "
    "again (let it draw its noise from the seed in each line, or from the system, and not from a "
    "fixed seed or the clock)"
)
_COPIES: dict[type, Callable[[Any], Any]] = {
    list: list.copy,
    dict: dict.copy,
    set: set.copy,
    bytearray: bytes,
    np.ndarray: np.copy,
}


class Size(Enum):
    """Whether a mechanism is asked for many outputs at once, for one of them, or not asked."""

    MANY = "many"
    ONE = "one"
    UNASKED = "unasked"


@dataclass(frozen=True)
class Caller:
    """A mechanism and how it wants to be called; `settle` finds that out."""

    mechanism: Callable[..., Any]
    timeout: float | None = None
    takes_rng: bool = False
    size: Size = Size.UNASKED
    spoils: bool = False  # it may change its input, so that each call gets a copy
    sealed: bytes | None = field(default=None, repr=False)  # as it was before its first call

    def block(self, data: Any, count: int, rng: np.random.Generator) -> Outputs:
        """The outputs of so many calls on one input."""
        if self.size is Size.MANY:
            return self._batch(data, count, rng)
        extra: dict[str, Any] = {"size": 1} if self.size is Size.ONE else {}
        found = self._calls(data, count, extra, rng)
        if self.size is Size.ONE:
            found = [one if isinstance(one, Broken) else _rows(one, 1)[0] for one in found]
        return packed(found)

    def _batch(self, data: Any, count: int, rng: np.random.Generator) -> Outputs:
        (found,) = self._calls(data, 1, {"size": count}, rng)
        if isinstance(found, Broken):
            raise Unsupported(
                f"mechanism broke off a batch of {count} calls ({found}), and which of them did "
                "it cannot be told; give it without its parameter size"
            )
        return packed(_rows(found, count))

    def _calls(
        self, data: Any, count: int, extra: dict[str, Any], rng: np.random.Generator
    ) -> list[Any]:
        if self.timeout is None:
            return self._here(data, count, extra | self.handed(rng), rng)

        def seeds() -> dict[str, Any]:
            (own,) = rng.spawn(1)
            return {"seed": int(own.integers(2**62)), "extra": extra | self.handed(own)}

        # Whether an input was spoilt cannot be seen from here.
        order = {"mechanism": self.mechanism, "data": data, "copies": True}
        return guarded(order, count, self.timeout, seeds)

    def handed(self, rng: np.random.Generator) -> dict[str, Any]:
        """What a call is handed besides its input and a size."""
        return {"rng": rng} if self.takes_rng else {}

    def _here(
        self, data: Any, count: int, extra: dict[str, Any], rng: np.random.Generator
    ) -> list[Any]:
        own, outputs = copied(data), list[Any]()
        before = None if self.spoils or count == 1 else fingerprint(own)
        with own_globals(rng, alone=not self.takes_rng):
            for place in range(count):
                # The first call may have the copy that is there already.
                given = copied(data) if self.spoils and place else own
                try:
                    value = self.mechanism(given, **extra)
                except BadProgram:
                    raise
                except (Exception, SystemExit) as error:  # noqa: BLE001 (an output like any other)
                    value = Broken.by(error)
                # A buffer that the mechanism fills anew would change what is kept.
                keep = _COPIES.get(type(value))
                outputs.append(keep(value) if keep else value)
        if before is not None and changed(before, own, data):
            _checks.refuse(
                "mechanism", "leave its input unchanged, or change it from its first call on", own
            )
        return outputs


def settle(
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
    spoils = size is not Size.MANY and any(_spoils(plain, one, extra, rng) for one in inputs)
    settled = replace(plain, size=size, spoils=spoils)
    if (mechanism.timeout if isinstance(mechanism, Program) else limit) is not None:
        _refuse_if_hopeless(settled, inputs, rng)
    if isinstance(mechanism, Program) and any(mechanism.repeats_itself(one, rng) for one in inputs):
        raise Unsupported(REPEATS)
    return settled


def draw(
    caller: Caller, data: Any, count: int, seed: run.Seed, progress: run.Progress | None = None
) -> Outputs:
    """The outputs of so many calls on one input; no two inputs may share a seed."""
    return joined(gathered(caller, data, count, seed, _unchanged, progress=progress))


def gathered(
    caller: Caller,
    data: Any,
    count: int,
    seed: run.Seed,
    reduce: Callable[[Outputs], T],
    *,
    skip: int = 0,
    merge: Callable[[T, T], T] | None = None,
    progress: run.Progress | None = None,
) -> list[T]:
    """What ``reduce`` makes of each block, where the block was run: outputs never travel.

    Without the first ``skip`` blocks. With ``merge`` neighbouring blocks come back as one result.
    """
    total = _checks.whole(1, 10**15, count=count)
    sizes = [BLOCK] * (total // BLOCK) + [total % BLOCK] * (total % BLOCK > 0)
    blocks = list(enumerate(sizes))[skip:]
    task = _Blocks(replace(caller, sealed=None), data, run.checked_seed(seed), reduce, merge)
    # Many blocks a task where there are many: schedulers mind numbers of tasks, not their size.
    together = max(1, math.ceil(len(blocks) / _MOST_TASKS))
    tasks = [blocks[start : start + together] for start in range(0, len(blocks), together)]
    return [one for part in run.map(task, tasks, seed, progress) for one in part]


def refuse_if_all_broke(first: Trace, second: Trace) -> None:
    """Where no call on either input gave a value, the mechanism was called wrongly."""
    broken, other = first.broken, second.broken
    if broken is None or other is None:
        return
    if HANGS in (broken, other):
        raise InvalidArgument(
            f"mechanism must end: every call broke off, and the first one {broken}"
        )
    raise InvalidArgument(
        f"mechanism must return something: every call broke off, and the first one {broken}"
    )


@dataclass(frozen=True)
class _Blocks:
    """Some blocks as one task; each has the numbers of its own place, whatever the task's."""

    caller: Caller
    data: Any
    seed: tuple[int, ...]
    reduce: Callable[[Outputs], Any]
    merge: Callable[[Any, Any], Any] | None

    def __call__(self, blocks: list[tuple[int, int]], rng: np.random.Generator) -> list[Any]:
        found = (self._one(place, count) for place, count in blocks)
        return list(found) if self.merge is None else [functools.reduce(self.merge, found)]

    def _one(self, place: int, count: int) -> Any:
        rng = run.generator((*self.seed, place))
        return self.reduce(self.caller.block(self.data, count, rng))


def _unchanged(outputs: Outputs) -> Outputs:
    return outputs


# -- settling --------------------------------------------------------------------------------


def _sealed(mechanism: Callable[..., Any]) -> bytes | None:
    """The mechanism as it is before its first call, unless it is large or cannot travel."""
    try:
        found = sealed(mechanism)
    except Unsupported:
        return None
    return found if len(found) <= _LARGE else None


def _trial_of_batches(
    plain: Caller, inputs: tuple[Any, ...], rng: np.random.Generator, needs_size: bool
) -> Size:
    for data in inputs:
        for count in _TRIAL_SIZES:
            (found,) = plain._calls(data, 1, {"size": count}, rng)
            if isinstance(found, Broken):
                return Size.ONE if needs_size else Size.UNASKED
            if needs_size:
                _rows(found, count)
            elif _length(found) != count:
                return Size.UNASKED
    return Size.MANY


def _spoils(plain: Caller, data: Any, extra: dict[str, Any], rng: np.random.Generator) -> bool:
    """Whether calls change their input; where that cannot be seen, they may."""
    if plain.timeout is not None:
        return True
    own = copied(data)
    before = fingerprint(own)
    if before is None:
        return True
    with own_globals(rng):
        for _ in range(_TRIAL_CALLS):
            try:
                plain.mechanism(own, **extra, **plain.handed(rng))
            except (Exception, SystemExit):  # noqa: BLE001, S112 (will be an output)
                continue
    return changed(before, own, data)


def _refuse_if_hopeless(caller: Caller, inputs: tuple[Any, ...], rng: np.random.Generator) -> None:
    """Refuse at once what never ends: each call that is cut off costs its time and a process."""
    found = [caller.block(data, _TRIAL_CALLS, rng).first_broken() for data in inputs]
    if any(one not in (HANGS, GONE) for one in found):
        return
    told = f"mechanism must end: none of {_TRIAL_CALLS} trial calls on each input did in time"
    if found[0] == GONE:
        told = f"mechanism must return: each of {_TRIAL_CALLS} trial calls {GONE}"
    elif isinstance(caller.mechanism, Program):
        told += (
            " (a program must flush its output after every answer, and the timeout of its first "
            "answer includes its start)"
        )
    raise InvalidArgument(told)


def _length(found: Any) -> int | None:
    if isinstance(found, str | bytes | dict | set) or not hasattr(found, "__len__"):
        return None
    return None if isinstance(found, np.ndarray) and found.ndim == 0 else len(found)


def _rows(found: Any, count: int) -> Any:
    """The outputs of a batch."""
    if _length(found) != count:
        _not_so_many(found, count)
    return found if isinstance(found, np.ndarray) else list(found)


def _not_so_many(found: Any, count: int) -> NoReturn:
    _checks.refuse("mechanism", f"return {count} outputs when asked for size={count}", found)
