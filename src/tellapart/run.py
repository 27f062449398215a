"""Parallel tasks, each with a random generator of its own, on whatever workers joblib is told of.

>>> from tellapart import run
>>> run.map(lambda item, rng: item + int(rng.integers(6)), [10, 20, 30], seed=1)
[10, 25, 32]

``with joblib.parallel_config(backend="loky", n_jobs=4):`` around the call spreads the tasks over
four processes, and so do threads, dask and ray. The numbers stay the same: those of a task depend
on the seed and on its place in the list alone, and results come back in that order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from tellapart import _checks, deadline
from tellapart.errors import Unsupported

__all__ = ["map"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Seed = int | Sequence[int]
# Told now and then which share of the tasks was begun.
Progress = Callable[[float], None]

# How often all is begun anew where a worker died and its backend does not replace it.
_TRIES = 3


def map(  # noqa: A001
    task: Callable[[Item, np.random.Generator], Result],
    items: Iterable[Item],
    seed: Seed,
    progress: Progress | None = None,
) -> list[Result]:
    """Each item's result, the same whoever runs it and however often a worker dies.

    ``task(item, rng)`` gets a generator of its own. A ``seed`` of several whole numbers keeps
    apart what is drawn for different purposes: (7, 0) and (7, 1) share nothing. ``progress`` is
    called with the share of the tasks that was begun.

    >>> from tellapart import run
    >>> run.map(lambda item, rng: item + int(rng.integers(6)), [10, 20, 30], seed=1)
    [10, 25, 32]
    """
    keys, todo = checked_seed(seed), list(items)
    if not callable(task):
        _checks.refuse("task", "be a function of an item and a generator", task)
    # Whoever asked joblib for workers has imported it; without, it need not be loaded.
    if "joblib" not in sys.modules:
        begun, limits = _begun(todo, progress), deadline.carried()
        return [_one(task, item, (*keys, place), *limits())[0] for place, item in begun]
    for _ in range(_TRIES):
        try:
            return _by_joblib(task, todo, keys, progress)
        except BrokenExecutor as died:
            last = died
    raise Unsupported(
        f"workers died {_TRIES} times in a row; run the tasks one after another to see why"
    ) from last


@contextmanager
def here() -> Iterator[None]:
    """Tasks run in this process, one after another, whatever workers joblib is told of."""
    if "joblib" not in sys.modules:
        yield
        return
    from joblib import parallel_config

    with parallel_config(backend="sequential", n_jobs=1):
        yield


def generator(key: Sequence[int]) -> np.random.Generator:
    """The numbers that belong to a key: a seed, followed by places."""
    first, *places = checked_seed(key)
    return np.random.default_rng(np.random.SeedSequence(first, spawn_key=tuple(places)))


def checked_seed(seed: Seed) -> tuple[int, ...]:
    """A seed as a tuple of whole numbers, all but the first below 2^32.

    NumPy splits larger ones, so that (7, 2^32) would be the same as (7, 0, 1).
    """
    if isinstance(seed, Sequence):
        if not seed or isinstance(seed, str | bytes):
            _checks.refuse("seed", "be a whole number or several", seed)
        limits = [2**128 - 1, *[2**32 - 1] * (len(seed) - 1)]
        return tuple(
            _checks.whole(0, most, seed=part) for part, most in zip(seed, limits, strict=True)
        )
    return (_checks.whole(0, 2**128 - 1, seed=seed),)


def _begun(todo: list[Item], progress: Progress | None) -> Iterator[tuple[int, Item]]:
    for place, item in enumerate(todo):
        deadline.check()
        if progress is not None:
            progress(place / len(todo))
        yield place, item


def _one(
    task: Callable[[Item, np.random.Generator], Result],
    item: Item,
    key: tuple[int, ...],
    limits: tuple[float, float],
    calls: float,
) -> tuple[Result, deadline.Receipt]:
    with deadline.on_worker(limits, calls) as receipt:
        return task(item, generator(key)), receipt()


def _started(task: object) -> None:
    """Nothing: whoever was sent a task has started, and loaded what it takes."""


def _by_joblib(
    task: Callable[[Item, np.random.Generator], Result],
    todo: list[Item],
    keys: tuple[int, ...],
    progress: Progress | None,
) -> list[Result]:
    from joblib import Parallel, delayed, effective_n_jobs

    # Large arrays travel whole: as read-only files they would behave otherwise than at home.
    workers, limits = Parallel(max_nbytes=None), deadline.carried()
    jobs = effective_n_jobs(None)
    if jobs != 1 and deadline.sent_elsewhere():
        with deadline.unpaid():
            workers(delayed(_started)(task) for _ in range(jobs))
    call = delayed(_one)
    both = list(
        workers(
            call(task, item, (*keys, place), *limits()) for place, item in _begun(todo, progress)
        )
    )
    deadline.paid_elsewhere(receipt for _, receipt in both)
    return [result for result, _ in both]
