"""Black-box access: a mechanism and its calling convention, on inputs it may not spoil."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from tellapart import _checks, deadline
from tellapart.audit.probing.calling.child import leave_unless
from tellapart.audit.probing.calling.guarded import guarded
from tellapart.audit.probing.calling.inputs import changed, copied, fingerprint, own_globals
from tellapart.audit.probing.calling.outputs import Broken, Outputs, packed
from tellapart.audit.probing.calling.program import Program
from tellapart.errors import BadProgram, LimitReached, Unsupported

# Of how many outputs one is kept where each is to be of a batch of its own.
_SOME = 7
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
    sealed: bytes | None = field(default=None, repr=False)  # as it was before its first call

    def block(self, data: Any, count: int, rng: np.random.Generator) -> Outputs:
        """The outputs of so many calls on one input."""
        if self.size is Size.MANY:
            return self._batch(data, count, rng)
        extra: dict[str, Any] = {"size": 1} if self.size is Size.ONE else {}
        values = self.calls(data, count, extra, rng)
        if self.size is Size.ONE:
            values = [value if isinstance(value, Broken) else rows(value, 1)[0] for value in values]
        return packed(values)

    def apart(self, data: Any, count: int, rng: np.random.Generator) -> Outputs:
        """The outputs of so many calls, each of a batch of its own where batches are asked for."""
        if self.size is not Size.MANY or isinstance(self.mechanism, Program):
            return self.block(data, count, rng)
        batches = self.calls(data, count, {"size": _SOME}, rng)
        return packed(
            [
                batch if isinstance(batch, Broken) else packed(rows(batch, _SOME)).listed()[0]
                for batch in batches
            ]
        )

    def _batch(self, data: Any, count: int, rng: np.random.Generator) -> Outputs:
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
                deadline.check()
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
