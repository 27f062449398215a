"""Neighbouring inputs, copied so that calls cannot spoil them, and the global generators."""

from __future__ import annotations

import copy
import pickle
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tellapart.audit.probing.calling.child import seed_globals
from tellapart.errors import InvalidArgument

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
