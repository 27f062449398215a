"""Whether calls made apart from the others give what the others gave.

Noise that a whole batch shares, that is drawn once and kept beside something that does change,
and numbers that count calls or tell the time look like honest outputs from within: given what is
shared, calls are independent. So a few more are made, the inputs in turn and no two in one batch,
and where some number of the output never changes, in processes of their own too. Numbers from
both kinds of calls must be exchangeable: cut anywhere, the counts are hypergeometric. Calls that
are independent fail with probability below 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric.binomial import log_choose
from tellapart.audit.probing.calling.caller import Caller
from tellapart.audit.probing.calling.calls import BLOCK, apart
from tellapart.audit.probing.calling.independence import Dependence
from tellapart.audit.probing.calling.kept_noise import STARTS_AFRESH, fresh_outputs
from tellapart.audit.probing.calling.outputs import Outputs, joined, packed
from tellapart.audit.probing.features.columns import What
from tellapart.audit.probing.features.extract import Encoding
from tellapart.errors import Unsupported

_LEVEL = 5e-10  # of each of the two tests
_CUTS = 15
_MOST_COLUMNS = 64
_KEY = 2**32 - 4
_OF_WORDS = (What.CATEGORY, What.COUNT, What.FIRST)


def refuse_if_calls_share(
    caller: Caller,
    inputs: tuple[Any, Any],
    outputs: tuple[Outputs, Outputs],
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
    read = Encoding(tuple(one for one in read.columns if one.what is not What.USER))
    others = apart(caller, inputs, (seed, _KEY), len(first[0]))
    pairs = [_both(read, *pair) for pair in zip(first, others, strict=True)]
    some = [k for k, one in enumerate(read.columns) if not (learnt and one.what in _OF_WORDS)]
    reasons = chain(
        _moved(pairs, some[:_MOST_COLUMNS]),
        _kept(caller, inputs, first, [one for one, _ in pairs], read),
    )
    for found in reasons:
        raise Unsupported(str(Dependence(found)))


def _both(read: Encoding, one: Outputs, other: Outputs) -> tuple[Array, Array]:
    """Read together, so that long lists are cut alike."""
    matrix = read(joined([one, other])).matrix
    return matrix[: len(one)], matrix[len(one) :]


# -- calls made apart ----------------------------------------------------------------------------


def _moved(pairs: list[tuple[Array, Array]], columns: list[int]) -> Iterator[str]:
    for name, (before, after) in zip(("d0", "d1"), pairs, strict=True):
        level = _LEVEL / (2 * max(len(columns), 1) * _CUTS)
        for k in columns:
            if _least(before[:, k], after[:, k]) < level:
                yield (
                    f"calls on {name} made later, and one by one, give other outputs (calls share "
                    "noise or count themselves, or the output tells the time)"
                )


def _least(before: Array, after: Array) -> float:
    """The least p-value of cuts at quantiles of all numbers; NaN lies below all others."""
    one, two = (np.where(np.isnan(part), -math.inf, part) for part in (before, after))
    everything = np.sort(np.concatenate([one, two]))
    places = (np.arange(1, _CUTS + 1) * len(everything)) // (_CUTS + 1)
    cuts = np.unique(everything[places])
    return min(
        unlikely(int((two <= cut).sum()), len(two), int((everything <= cut).sum()), len(everything))
        for cut in cuts
    )


def unlikely(found: int, drawn: int, marked: int, count: int) -> float:
    """Twice the chance of so few, or so many, marked among those drawn without replacement."""
    values = np.arange(max(0, drawn + marked - count), min(drawn, marked) + 1)
    logs = log_choose(marked, values) + log_choose(count - marked, drawn - values)
    chances = np.exp(logs - log_choose(count, drawn))
    tails = chances[values <= found].sum(), chances[values >= found].sum()
    return min(2.0 * float(min(tails)), 1.0)


# -- another start -------------------------------------------------------------------------------


def _kept(
    caller: Caller,
    inputs: tuple[Any, Any],
    outputs: tuple[Outputs, Outputs],
    read_off: list[Array],
    read: Encoding,
) -> Iterator[str]:
    """A number that never changes on either input, and tells them apart, must be no noise."""
    firsts = [one[0] for one in read_off]
    never = [_same(one, first).all(axis=0) for one, first in zip(read_off, firsts, strict=True)]
    columns = np.flatnonzero(never[0] & never[1] & ~_same(firsts[0], firsts[1]))
    if not columns.size:
        return
    for data, found in zip(inputs, outputs, strict=True):
        for ignore_seeds, why in STARTS_AFRESH:
            try:
                fresh = packed(fresh_outputs(caller, data, 0, ignore_seeds))
            except Unsupported as reason:
                yield f"a part of the output never changes, and a fresh start fails: {reason}"
                return
            before, after = (part[:, columns] for part in _both(read, found, fresh))
            changes = (~_same(after, before[0])).sum(axis=0)
            count, drawn = len(before) + len(after), len(after)
            level = _LEVEL / (4 * columns.size)
            if any(unlikely(int(one), drawn, int(one), count) < level for one in changes):
                yield f"a part of the output never changes, but {why}"


def _same(one: Array, other: Array) -> NDArray[np.bool_]:
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))
