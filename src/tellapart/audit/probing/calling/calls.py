"""Black-box queries: many independent calls of a mechanism, wherever there are workers.

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
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from tellapart import _checks, run
from tellapart.audit.probing.calling.caller import SOME, Caller, Size
from tellapart.audit.probing.calling.kept_calls import KeptCalls
from tellapart.audit.probing.calling.outputs import CallOutputs, joined
from tellapart.audit.probing.calling.program import Program

T = TypeVar("T")

BLOCK = 8192
_MOST_TASKS = 1024
# How many calls are made apart from the others, and in how many turns.
_LEAST_APART, MOST_APART, _TURNS = 16, 256, 8


def draw(
    caller: Caller,
    data: Any,
    count: int,
    seed: run.Seed,
    progress: run.Progress | None = None,
    kept: KeptCalls | None = None,
) -> CallOutputs:
    """The outputs of so many calls on one input; no two inputs may share a seed."""
    return joined(gathered(caller, data, count, seed, _unchanged, progress=progress, kept=kept))


def gathered(
    caller: Caller,
    data: Any,
    count: int,
    seed: run.Seed,
    reduce: Callable[[CallOutputs], T],
    *,
    skip: int = 0,
    merge: Callable[[T, T], T] | None = None,
    progress: run.Progress | None = None,
    kept: KeptCalls | None = None,
) -> list[T]:
    """What ``reduce`` makes of each block, where the block was run: outputs never travel.

    Without the first ``skip`` blocks. With ``merge`` neighbouring blocks come back as one result.
    Calls that were ``kept`` are not made again.
    """
    blocks = list(enumerate(block_sizes(_checks.whole(1, 10**15, count=count))))[skip:]
    task = _Blocks(replace(caller, sealed=None), data, run.checked_seed(seed), reduce, merge, kept)
    # Many blocks a task where there are many: schedulers mind numbers of tasks, not their size.
    together = max(1, math.ceil(len(blocks) / _MOST_TASKS))
    tasks = [blocks[start : start + together] for start in range(0, len(blocks), together)]
    return [result for part in run.map(task, tasks, seed, progress) for result in part]


def block_sizes(count: int) -> list[int]:
    """How so many calls fall into blocks."""
    return [BLOCK] * (count // BLOCK) + [count % BLOCK] * (count % BLOCK > 0)


def apart(
    caller: Caller, inputs: tuple[Any, ...], seed: run.Seed, beside: int
) -> list[CallOutputs]:
    """A few calls on each input, beside so many, in turn and no two of them in one batch.

    Of a batch, which costs little, one output is kept.
    """
    count = _turns_apart(caller, beside)
    # Where each turn is a process of its own, one is enough.
    turns = _TURNS if caller.timeout is None and not isinstance(caller.mechanism, Program) else 1
    outputs: list[list[CallOutputs]] = [[] for _ in inputs]
    for turn in range(turns):
        for k, data in enumerate(inputs):
            rng = run.generator((*run.checked_seed(seed), k, turn))
            outputs[k].append(caller.apart(data, count // turns, rng))
    return [joined(parts) for parts in outputs]


def calls_apart(caller: Caller, beside: int) -> int:
    """How many outputs on each input `apart` asks for, beside so many."""
    return _turns_apart(caller, beside) * (SOME if _in_batches(caller) else 1)


def _turns_apart(caller: Caller, beside: int) -> int:
    share = beside if _in_batches(caller) else beside // 8
    return min(max(share, _LEAST_APART), MOST_APART)


def _in_batches(caller: Caller) -> bool:
    return caller.size is Size.MANY and not isinstance(caller.mechanism, Program)


@dataclass(frozen=True)
class _Blocks:
    """Some blocks as one task; each has the numbers of its own place, whatever the task's."""

    caller: Caller
    data: Any
    seed: tuple[int, ...]
    reduce: Callable[[CallOutputs], Any]
    merge: Callable[[Any, Any], Any] | None
    kept: KeptCalls | None

    def __call__(self, blocks: list[tuple[int, int]], rng: np.random.Generator) -> list[Any]:
        results = (self._one(place, count) for place, count in blocks)
        return list(results) if self.merge is None else [functools.reduce(self.merge, results)]

    def _one(self, place: int, count: int) -> Any:
        key = (*self.seed, place)
        if self.kept is not None:
            return self.reduce(self.kept.block(self.caller, self.data, count, key))
        return self.reduce(self.caller.block(self.data, count, run.generator(key)))


def _unchanged(outputs: CallOutputs) -> CallOutputs:
    return outputs
