"""Black-box access: a mechanism and its calling convention, on inputs it may not spoil.

The convention (rng, size) is settled by trial calls whose outputs are dropped: were it decided from
outputs that are kept, those would no longer be a fair sample.
"""

from __future__ import annotations

import copy
import functools
import inspect
import os
import pickle
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from tellapart import _checks, deadline, run
from tellapart.audit.probing.calling.child import leave_unless, seed_globals
from tellapart.audit.probing.calling.guarded import guarded, sealed
from tellapart.audit.probing.calling.outputs import GONE, HANGS, Broken, CallOutputs, packed
from tellapart.audit.probing.calling.program import Program
from tellapart.errors import BadProgram, InvalidArgument, LimitReached, Unsupported

_TURN = threading.RLock()


def copied(data: Any) -> Any:
    """The same data, that nobody else holds."""
    try:
        return copy.deepcopy(data)
    except (TypeError, copy.Error, pickle.PicklingError) as error:
        raise InvalidArgument(f"data must be something that can be copied: {error}") from error


def fingerprint(data: Any) -> bytes | None:
    """Data as bytes, the same only for the same content; None if they cannot be told so."""
    try:
        return pickle.dumps(data, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def refuse_equal_inputs(d0: Any, d1: Any) -> None:
    """On one input twice nothing can be refuted, whatever the code does."""
    same = fingerprint(d0)
    if same is not None and same == fingerprint(d1):
        _checks.refuse("d1", "differ from d0", d1)


def changed(before: bytes, after: Any, original: Any) -> bool:
    """Whether data are no longer what their fingerprint says."""
    if before == fingerprint(after):
        return False
    # Tables may rearrange themselves when read.
    equals = getattr(after, "equals", None)
    return not (callable(equals) and equals(original))


@contextmanager
def own_globals(rng: np.random.Generator, alone: bool = True) -> Iterator[None]:
    """Seed the global generators, which forked workers would share, and restore them after.

    One thread at a time: all draw from the same ones. Who is handed numbers and so need not be
    ``alone`` goes without them in threads, instead of waiting.
    """
    seed = int(rng.integers(2**62))
    if not alone and threading.current_thread() is not threading.main_thread():
        yield
        return
    with _TURN:
        old, old_numpy = random.getstate(), np.random.get_state()
        seed_globals(seed)
        try:
            yield
        finally:
            random.setstate(old)
            np.random.set_state(old_numpy)


# Of how many outputs one is kept where each is to be of a batch of its own.
SOME = 7
# Containers that are copied with what they hold, and how deep.
_DEEPEST_COPY = 8
_COPIES: dict[type, Callable[[Any], Any]] = {
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
    """A mechanism and how it wants to be called; `detect_convention` finds that out."""

    mechanism: Callable[..., Any]
    timeout: float | None = None
    takes_rng: bool = False
    size: Size = Size.UNASKED
    spoils: bool = False  # it may change its input, so that each call gets a copy
    changes: bool = False  # and was seen to
    failed: bool = False  # whether every call that found this out raised
    sealed: bytes | None = field(default=None, repr=False)  # as it was before its first call
    # Calls of fresh processes: the input, whether seeds were ignored, and what came out.
    fresh: list[tuple[Any, bool, list[Any]]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def block(self, data: Any, count: int, rng: np.random.Generator) -> CallOutputs:
        """The outputs of so many calls on one input."""
        if self.size is Size.MANY:
            return self._batch(data, count, rng)
        extra: dict[str, Any] = {"size": 1} if self.size is Size.ONE else {}
        values = self.calls(data, count, extra, rng)
        if self.size is Size.ONE:
            values = [value if isinstance(value, Broken) else rows(value, 1)[0] for value in values]
        return packed(values)

    def apart(self, data: Any, count: int, rng: np.random.Generator) -> CallOutputs:
        """The outputs of so many calls, each of a batch of its own where batches are asked for."""
        if self.size is not Size.MANY or isinstance(self.mechanism, Program):
            return self.block(data, count, rng)
        batches = self.calls(data, count, {"size": SOME}, rng)
        return packed(
            [
                batch if isinstance(batch, Broken) else packed(rows(batch, SOME)).listed()[0]
                for batch in batches
            ]
        )

    def _batch(self, data: Any, count: int, rng: np.random.Generator) -> CallOutputs:
        (batch,) = self.calls(data, 1, {"size": count}, rng)
        if isinstance(batch, Broken):
            raise Unsupported(
                f"mechanism broke off a batch of {count} calls ({batch}), and which of them did "
                "it cannot be told; give it without its parameter size"
            )
        return packed(rows(batch, count))

    def calls(
        self, data: Any, count: int, extra: dict[str, Any], rng: np.random.Generator
    ) -> list[Any]:
        if self.timeout is None:
            return self._here(data, count, extra | self.handed(rng), rng)
        # Whether an input was spoilt cannot be seen from here.
        order = {"mechanism": self.mechanism, "data": data, "copies": True}
        return guarded(order, count, self.timeout, self.seeds(extra, rng))

    def seeds(
        self, extra: dict[str, Any], rng: np.random.Generator
    ) -> Callable[[], dict[str, Any]]:
        """What each call in a process is told anew: a seed, and what it is handed."""

        def one() -> dict[str, Any]:
            (own,) = rng.spawn(1)
            return {"seed": int(own.integers(2**62)), "extra": extra | self.handed(own)}

        return one

    def handed(self, rng: np.random.Generator) -> dict[str, Any]:
        """What a call is handed besides its input and a size."""
        return {"rng": rng} if self.takes_rng else {}

    def _here(
        self, data: Any, count: int, extra: dict[str, Any], rng: np.random.Generator
    ) -> list[Any]:
        own, outputs, home = copied(data), list[Any](), os.getpid()
        before = None if self.spoils or count == 1 else fingerprint(own)
        with own_globals(rng, alone=not self.takes_rng):
            for place in range(count):
                deadline.before_call(extra.get("size", 1))
                # The first call may have the copy that is there already.
                given = copied(data) if self.spoils and place else own
                try:
                    value = self.mechanism(given, **extra)
                except (BadProgram, LimitReached):
                    raise
                except (Exception, SystemExit) as error:  # noqa: BLE001 (an output like any other)
                    value = Broken.by(error)
                leave_unless(home)
                outputs.append(_own(value))
        if before is not None and changed(before, own, data):
            _checks.refuse(
                "mechanism", "leave its input unchanged, or change it from its first call on", own
            )
        return outputs


def _own(value: Any, depth: int = 0) -> Any:
    """An output that the mechanism cannot change: a buffer that it fills anew is copied."""
    kind = type(value)
    if kind in (list, tuple, dict) and depth < _DEEPEST_COPY:
        if kind is dict:
            return {key: _own(item, depth + 1) for key, item in value.items()}
        return kind([_own(item, depth + 1) for item in value])
    keep = _COPIES.get(kind)
    return keep(value) if keep else value


def length(batch: Any) -> int | None:
    """How many outputs a batch holds; None if it is none."""
    if isinstance(batch, str | bytes | dict | set) or not hasattr(batch, "__len__"):
        return None
    return None if isinstance(batch, np.ndarray) and batch.ndim == 0 else len(batch)


def rows(batch: Any, count: int) -> Any:
    """The outputs of a batch."""
    if length(batch) != count:
        _not_so_many(batch, count)
    return batch if isinstance(batch, np.ndarray) else list(batch)


def _not_so_many(batch: Any, count: int) -> NoReturn:
    _checks.refuse("mechanism", f"return {count} outputs when asked for size={count}", batch)


_Parameter = inspect.Parameter
_BY_NAME = (_Parameter.POSITIONAL_OR_KEYWORD, _Parameter.KEYWORD_ONLY)


def asked_for(mechanism: Callable[..., Any]) -> tuple[bool, bool, bool]:
    """Whether it takes a generator, whether it takes a size, and whether it cannot do without.

    >>> asked_for(lambda data, rng, size=None: 0)
    (True, True, False)
    """
    beside = _beside_the_input(mechanism)
    needs = "size" in beside and beside["size"].default is _Parameter.empty
    return "rng" in beside, "size" in beside, needs


def _beside_the_input(mechanism: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """All parameters by name but the first, which is the input whatever it is called."""
    try:
        parameters = list(inspect.signature(mechanism).parameters.values())
    except (TypeError, ValueError):
        return {}
    if parameters and parameters[0].kind is not _Parameter.KEYWORD_ONLY:
        parameters = parameters[1:]
    bound = mechanism.keywords if isinstance(mechanism, functools.partial) else {}
    return {
        parameter.name: parameter
        for parameter in parameters
        if parameter.kind in _BY_NAME and parameter.name not in bound
    }


# Lengths that an output has by chance rarely, and both never.
_TRIAL_SIZES = (7, 11)
_TRIAL_CALLS = 3
# Keeps the numbers of trial calls apart from all that are kept. Below 2**32, as all such keys: a
# larger one is two words to the generator, and 2**32 the same as input 0, block 1.
_TRIAL_KEY = 2**32 - 1
_LARGE = 1 << 20
REPEATS = (
    "no verdict: calls are not independent; the program repeats its outputs when it is started "
    "again (let it draw its noise from the seed in each line, or from the system, and not from a "
    "fixed seed or the clock)"
)


def detect_convention(
    mechanism: Callable[..., Any], *inputs: Any, timeout: float | None = None, seed: int = 0
) -> Caller:
    """How this mechanism wants to be called, from a few calls on each input."""
    _checks.function(mechanism=mechanism)
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
    tried = [_tried(plain, data, extra, rng) for data in inputs] if size is not Size.MANY else []
    seen = {spoils for spoils, _ in tried}
    settled = replace(
        plain,
        size=size,
        spoils=seen - {False} != set(),
        changes=True in seen,
        failed=bool(tried) and all(raised for _, raised in tried),
    )
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


def _tried(
    plain: Caller, data: Any, extra: dict[str, Any], rng: np.random.Generator
) -> tuple[bool | None, bool]:
    """Whether calls change their input, None where that cannot be seen; and whether all raised."""
    if plain.timeout is not None:
        return None, False
    own = copied(data)
    before = fingerprint(own)
    if before is None:
        return None, True  # as far as is known
    home, raised = os.getpid(), 0
    with own_globals(rng):
        for _ in range(_TRIAL_CALLS):
            deadline.before_call()
            try:
                plain.mechanism(own, **extra, **plain.handed(rng))
            except LimitReached:
                raise
            except (Exception, SystemExit):  # noqa: BLE001 (will be an output)
                raised += 1
            leave_unless(home)
    return changed(before, own, data), raised == _TRIAL_CALLS


def _refuse_if_hopeless(caller: Caller, inputs: tuple[Any, ...], rng: np.random.Generator) -> None:
    """Refuse at once what never ends: each call that is cut off costs its time and a process."""
    failures = [caller.block(data, _TRIAL_CALLS, rng).first_broken() for data in inputs]
    if any(failure not in (HANGS, GONE) for failure in failures):
        return
    why = f"the function must return in time: none of {_TRIAL_CALLS} trial calls on each input did"
    if failures[0] == GONE:
        raise Unsupported(
            "no verdict: the code ended its own process when called, in each of "
            f"{_TRIAL_CALLS} trial calls"
        )
    if isinstance(caller.mechanism, Program):
        why += (
            " (a program must flush its output after every answer, and the timeout of its first "
            "answer includes its start)"
        )
    raise InvalidArgument(why)
