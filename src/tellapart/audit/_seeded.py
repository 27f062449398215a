"""The generators that a whole process shares, seeded for one training and put back after it.

A training that draws from them and not from its seed is then the same wherever it runs. Left
alone, forked workers would start from the same state, and models trained there would share noise.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

Restore = Callable[[], Any]
# Keeps these numbers apart from those that a training draws from the seed itself.
_SHARED = 2**32 - 6


@contextmanager
def put_back() -> Iterator[None]:
    """Leave the shared generators as they were."""
    before = list(_states()) if _alone() else []
    try:
        yield
    finally:
        for restore in before:
            restore()


def seed_shared(seed: int) -> None:
    """Seed what is shared; left alone beside other threads, whose numbers these would become."""
    if not _alone():
        return
    own = np.random.SeedSequence(seed, spawn_key=(_SHARED,)).generate_state(3).tolist()
    random.seed(own[0])
    np.random.seed(own[1])
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(own[2])  # what manual_seed does besides takes longer
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(own[2])


def _alone() -> bool:
    return threading.current_thread() is threading.main_thread()


def _states() -> Iterator[Restore]:
    """How to put each generator back to where it is now."""
    python, legacy = random.getstate(), np.random.get_state()
    yield lambda: random.setstate(python)
    yield lambda: np.random.set_state(legacy)
    torch = sys.modules.get("torch")
    if torch is None:
        return
    on_cpu = torch.get_rng_state()
    yield lambda: torch.set_rng_state(on_cpu)
    if torch.cuda.is_initialized():
        on_gpus = torch.cuda.get_rng_state_all()
        yield lambda: torch.cuda.set_rng_state_all(on_gpus)
