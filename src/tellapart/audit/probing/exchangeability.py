"""Tests of exchangeability: whether calls made apart, or in a fresh process, give the same law.

Noise that a whole batch shares, that is drawn once and kept beside something that does change,
and numbers that count calls or tell the time look like honest outputs from within: given what is
shared, calls are independent. So a few more are made, the inputs in turn and no two in one batch,
and where some number of the output never changes, in processes of their own too. Numbers from
both kinds of calls must be exchangeable: cut anywhere, the counts are hypergeometric. Calls that
are independent fail with probability below 1e-9.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import run
from tellapart._checks import Array
from tellapart._numeric.binomial import log_choose
from tellapart.audit.probing.calling.caller import Caller, Size
from tellapart.audit.probing.calling.calls import BLOCK, apart
from tellapart.audit.probing.calling.guarded import guarded
from tellapart.audit.probing.calling.independence import (
    CallTrace,
    Dependence,
    dependence,
    never_changes,
    traced,
)
from tellapart.audit.probing.calling.outputs import ENDS, HANGS, Broken, CallOutputs, joined, packed
from tellapart.audit.probing.features.columns import What
from tellapart.audit.probing.features.extract import Encoding
from tellapart.errors import InvalidArgument, Unsupported

_LEVEL = 5e-10  # of each of the two tests
# Either way there is no verdict; above this chance it may be noise that seldom shows.
_SELDOM = 0.05
_CUTS = 15
_MOST_COLUMNS = 64
_KEY = 2**32 - 4
_OF_WORDS = (What.CATEGORY, What.COUNT, What.FIRST)


def refuse_if_calls_share(
    caller: Caller,
    inputs: tuple[Any, Any],
    outputs: tuple[CallOutputs, CallOutputs],
    read: Encoding,
    seed: int,
    *,
    learnt: bool = False,
) -> None:
    """Raise where outputs are not those of calls made apart, or of another start.

    Where ``read`` was ``learnt`` on these outputs, words in it that came once come no more
    elsewhere, so that only numbers are compared.
    """
    first = outputs[0][:BLOCK], outputs[1][:BLOCK]
    # Not the user's features: some outputs, like iterators, can be read but once.
    read = Encoding(tuple(column for column in read.columns if column.what is not What.USER))
    others = apart(caller, inputs, (seed, _KEY), len(first[0]))
    pairs = [_both(read, *pair) for pair in zip(first, others, strict=True)]
    some = [k for k, column in enumerate(read.columns) if not (learnt and column.what in _OF_WORDS)]
    reasons = chain(
        _moved(pairs, some[:_MOST_COLUMNS]),
        _kept(caller, inputs, first, [before for before, _ in pairs], read),
    )
    for reason in reasons:
        raise Unsupported(str(Dependence(reason)))


def _both(read: Encoding, before: CallOutputs, after: CallOutputs) -> tuple[Array, Array]:
    """Read together, so that long lists are cut alike."""
    matrix = read(joined([before, after])).matrix
    return matrix[: len(before)], matrix[len(before) :]


# -- calls made apart ----------------------------------------------------------------------------


def _moved(pairs: list[tuple[Array, Array]], columns: list[int]) -> Iterator[str]:
    for name, (before, after) in zip(("d0", "d1"), pairs, strict=True):
        level = _LEVEL / (2 * max(len(columns), 1) * _CUTS)
        for k in columns:
            if _least(before[:, k], after[:, k]) < level:
                yield (
                    f"calls on {name} made later, and one by one, have another distribution: do "
                    "calls share noise or count themselves, or does the output contain the time?"
                )


def _least(before: Array, after: Array) -> float:
    """The least p-value of cuts at quantiles of all numbers; NaN lies below all others."""
    first, second = (np.where(np.isnan(part), -math.inf, part) for part in (before, after))
    everything = np.sort(np.concatenate([first, second]))
    places = (np.arange(1, _CUTS + 1) * len(everything)) // (_CUTS + 1)
    cuts = np.unique(everything[places])
    return min(
        unlikely(
            int((second <= cut).sum()), len(second), int((everything <= cut).sum()), len(everything)
        )
        for cut in cuts
    )


def unlikely(hits: int, drawn: int, marked: int, count: int) -> float:
    """Twice the chance of so few, or so many, marked among those drawn without replacement."""
    values = np.arange(max(0, drawn + marked - count), min(drawn, marked) + 1)
    logs = log_choose(marked, values) + log_choose(count - marked, drawn - values)
    chances = np.exp(logs - log_choose(count, drawn))
    tails = chances[values <= hits].sum(), chances[values >= hits].sum()
    return min(2.0 * float(min(tails)), 1.0)


# -- another start -------------------------------------------------------------------------------


def _kept(
    caller: Caller,
    inputs: tuple[Any, Any],
    outputs: tuple[CallOutputs, CallOutputs],
    read_off: list[Array],
    read: Encoding,
) -> Iterator[str]:
    """A number that never changes on either input, and tells them apart, must be no noise."""
    firsts = [matrix[0] for matrix in read_off]
    never = [
        _same(matrix, first).all(axis=0) for matrix, first in zip(read_off, firsts, strict=True)
    ]
    columns = np.flatnonzero(never[0] & never[1] & ~_same(firsts[0], firsts[1]))
    if not columns.size:
        return
    for data, seen in zip(inputs, outputs, strict=True):
        for ignore_seeds, why in STARTS_AFRESH:
            try:
                fresh = packed(fresh_outputs(caller, data, ignore_seeds))
            except Unsupported as reason:
                yield f"part of the output never changes, and no fresh process starts: {reason}"
                return
            before, after = (part[:, columns] for part in _both(read, seen, fresh))
            changes = (~_same(after, before[0])).sum(axis=0)
            count, drawn = len(before) + len(after), len(after)
            level = _LEVEL / (4 * columns.size)
            if any(
                unlikely(int(changed), drawn, int(changed), count) < level for changed in changes
            ):
                yield f"part of the output never changes, but {why}"


def _same(left: Array, right: Array) -> NDArray[np.bool_]:
    return np.asarray((left == right) | (np.isnan(left) & np.isnan(right)))


# Noise that gives the same output in two starts out of three passes with probability 1e-11.
FORKS = 64
_STARTS = 3
_FRESH_KEY = 2**32 - 2
STARTS_AFRESH = (
    (False, "a fresh process gives another output"),
    (
        True,
        "it changes with the seed: the function seeds its generator at each call; remove the seed",
    ),
)


def refuse_unjudgeable(
    caller: Caller,
    inputs: tuple[Any, Any],
    outputs: tuple[CallOutputs, CallOutputs],
    traces: tuple[CallTrace, CallTrace] | None = None,
) -> None:
    """Raise where calls say nothing: none gave a value, all gave None, or they share their noise.

    ``traces`` are those of all calls, where some outputs stayed where they were drawn.
    """
    left = traces or (traced(outputs[0]), traced(outputs[1]))
    refuse_if_all_broke(*left)
    constant = all(trace.constant for trace in left)
    if constant and all(side.listed()[0] is None for side in outputs):
        raise Unsupported(
            "no verdict: every call returned None: does the function print instead of return?"
        )
    shared = dependence(*left)
    if shared is None and constant:
        shared = kept_noise(caller, inputs, outputs)
    if shared is not None:
        raise Unsupported(str(shared))


def refuse_if_all_broke(first: CallTrace, second: CallTrace) -> None:
    """Where no call on either input gave a value, the mechanism was called wrongly.

    One that ends its process may have been called rightly, and cannot be judged.
    """
    broken, other = first.broken, second.broken
    if broken is None or other is None:
        return
    if broken in ENDS or other in ENDS:
        raise Unsupported(
            f"no verdict: the code ended its own process when called: the first call {broken}"
        )
    if HANGS in (broken, other):
        raise InvalidArgument(f"the function must return, but no call did: the first one {broken}")
    raised = str(broken).removeprefix("raises ")
    if raised != str(broken):
        raise InvalidArgument(f"the function raised on every call: {raised}")
    raise InvalidArgument(f"the function failed on every call: the first one {broken}")


def kept_noise(
    caller: Caller, inputs: tuple[Any, Any], outputs: tuple[CallOutputs, CallOutputs]
) -> Dependence | None:
    """Whether outputs that never change do change in another start, or with other seeds.

    To be asked only where both inputs' outputs never change.
    """
    for data, seen in zip(inputs, outputs, strict=True):
        for ignore_seeds, why in STARTS_AFRESH:
            try:
                fresh = packed(fresh_outputs(caller, data, ignore_seeds))
            except Unsupported as reason:
                why_not = f"the output never changes, and no fresh process starts: {reason}"
                return Dependence(why_not)
            drawn, count = len(fresh), len(seen) + len(fresh)
            changed = sum(
                not never_changes(joined([seen[:1], fresh[k : k + 1]])) for k in range(drawn)
            )
            if changed and unlikely(changed, drawn, changed, count) > _SELDOM:
                return Dependence(
                    f"{len(seen):,} calls gave one output, and {changed} of {drawn} in processes "
                    "of their own another: too few calls to tell noise that seldom shows from "
                    "noise that calls share. Make more calls",
                    certain=False,
                )
            if changed:
                return Dependence(f"the output never changes, but {why}")
    return None


def needs_more(
    caller: Caller, inputs: tuple[Any, Any], outputs: tuple[CallOutputs, CallOutputs]
) -> bool:
    """Whether calls never changed, and are too few to tell whether they share their noise."""
    if not all(traced(side).constant for side in outputs):
        return False
    shared = kept_noise(caller, inputs, outputs)
    return shared is not None and not shared.certain


def fresh_outputs(caller: Caller, data: Any, ignore_seeds: bool) -> list[Any]:
    """First calls of processes: forks of one that has loaded the mechanism and not called it.

    They are made once for an input: whoever asks again looks at the same calls.
    """
    for known, ignored, values in caller.fresh:
        if known is data and ignored == ignore_seeds:
            return values
    values = _fresh_outputs(caller, data, ignore_seeds)
    caller.fresh.append((data, ignore_seeds, values))
    return values


def _fresh_outputs(caller: Caller, data: Any, ignore_seeds: bool) -> list[Any]:
    if caller.sealed is None:
        raise Unsupported("mechanism cannot be sent to a process")
    rng = run.generator((*run.checked_seed(0), _FRESH_KEY))
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
    starts, rounds = (1, FORKS) if forks else (_STARTS, 1)
    values = [
        value for _ in range(starts) for value in guarded(order, rounds, caller.timeout, seeds)
    ]
    return (
        [value if isinstance(value, Broken) else value[0] for value in values] if size else values
    )
