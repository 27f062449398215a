"""Tests of independence between calls: where they share noise, no count of them says anything.

Three tests, on outputs as they came. Each has a level so small that calls which are independent
fail any of them with probability below 1e-8, whatever the law of the outputs, discrete or not:

- a stretch of outputs comes again, elsewhere or under the other input. Two stretches of w outputs
  that do not overlap agree with probability cʷ, c being the probability that two outputs agree;
- outputs a fixed number of calls apart, or at the same call of both inputs, agree more often
  than outputs paired at random, or differ by the same number more often;
- whether an output is large tells whether the next, or the other input's, is (Hoeffding's bound
  for the signs about a threshold taken from outputs that are not tested).

Outputs that never change pass: a mechanism may be deterministic, and then it is judged as such.
Noise that is drawn once and kept looks the same from within one process. `exchangeability`
asks processes in which the mechanism was never called.

What is tested is a trace: a code, and a size, for each output. Equal outputs have equal codes
whatever they were packed with, so that traces of blocks that were run apart can be joined.
"""

from __future__ import annotations

import hashlib
import math
import pickle
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from tellapart import run
from tellapart._checks import Array
from tellapart.audit.probing.calling.calls import BLOCK
from tellapart.audit.probing.calling.outputs import (
    Broken,
    CallOutputs,
    beyond_doubles,
    looking,
    packed,
)

Codes = NDArray[np.uint64]

_ODD = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class CallTrace:
    """A code for each call, a number where outputs are numbers, and the break if all broke."""

    codes: Codes
    sizes: Array | None
    broken: Broken | None

    @property
    def constant(self) -> bool:
        """Whether all calls gave the same output."""
        return bool((self.codes == self.codes[0]).all())


def traced(outputs: CallOutputs) -> CallTrace:
    """The trace of these outputs."""
    return CallTrace(codes_of(outputs), _sized(outputs), outputs.first_broken())


def joined_traces(parts: Sequence[CallTrace]) -> CallTrace:
    """Traces one after the other."""
    sizes = [part.sizes for part in parts if part.sizes is not None]
    broken = [part.broken for part in parts]
    return CallTrace(
        np.concatenate([part.codes for part in parts]),
        np.concatenate(sizes) if len(sizes) == len(parts) else None,
        None if None in broken else broken[0],
    )


def codes_of(outputs: CallOutputs) -> Codes:
    """A code for each output: equal ones have equal codes."""
    values = outputs.values
    if isinstance(values, np.ndarray):
        return _of_numbers(values)
    codes = np.empty(len(values), dtype=np.uint64)
    plain = np.array([type(value) in (float, int) for value in values], dtype=bool)
    numbers = packed([values[place] for place in np.flatnonzero(plain)])
    if isinstance(numbers.values, np.ndarray):
        codes[plain] = _of_numbers(numbers.values)
    else:
        plain[:] = False
    with looking():
        for place in np.flatnonzero(~plain):
            codes[place] = _code(values[place])
    return codes


def _of_numbers(values: NDArray[Any]) -> Codes:
    rows = values.reshape(len(values), -1)
    codes = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        bits = np.ascontiguousarray(column.astype(np.float64) + 0.0).view(np.uint64)
        codes = _mixed(codes * np.uint64(_ODD) + bits + _rest(column))
    return codes


def _rest(column: NDArray[Any]) -> Codes | np.uint64:
    """What the nearest doubles leave out of whole numbers."""
    if not beyond_doubles(column):
        return np.uint64(0)
    left = ((value - int(float(value))) % 2**64 for value in column.tolist())
    return np.fromiter(left, dtype=np.uint64, count=len(column))


def _mixed(codes: Codes) -> Codes:
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(codes ^ (codes >> np.uint64(31)))


def _code(value: Any) -> int:
    """The code of one output, as it would be among others of its kind."""
    if not isinstance(value, str | bytes | dict | Broken | None):
        alone = packed([value])
        if isinstance(alone.values, np.ndarray):
            return int(_of_numbers(alone.values)[0])
    try:
        shown = pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError):
        shown = repr(value).encode()
    return zlib.crc32(shown)


def _sized(outputs: CallOutputs) -> Array | None:
    """One number a call, where outputs are numbers."""
    values = outputs.values
    if not isinstance(values, np.ndarray):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(values.reshape(len(values), -1).astype(np.float64).sum(axis=1))


_LEVEL = 1e-10  # of each bound; fewer than 100 are used
_LAGS = (1, 2, 3, BLOCK)
_REFERENCES = 64
_PAIRS = 20_000
_PAIRING_KEY = 2**33


@dataclass(frozen=True)
class Dependence:
    """Why nothing can be said of a single call: several of them share their noise."""

    reason: str
    certain: bool = True  # or perhaps they were too few to tell

    def __str__(self) -> str:
        known = "calls are not independent; " if self.certain else ""
        return f"no verdict: {known}{self.reason}"


def dependence(
    first: CallOutputs | CallTrace, second: CallOutputs | CallTrace
) -> Dependence | None:
    """How calls on two inputs, or on one of them, depend on each other; None if nothing shows."""
    traces = [side if isinstance(side, CallTrace) else traced(side) for side in (first, second)]
    codes, sizes = [trace.codes for trace in traces], [trace.sizes for trace in traces]
    reasons = chain(_recurring(codes), _agreeing(codes), _shifted(*sizes), _following(*sizes))
    reason = next(reasons, None)
    return None if reason is None else Dependence(reason)


def never_changes(outputs: CallOutputs) -> bool:
    """Whether all calls gave the same output."""
    return traced(outputs).constant


def signing(first: CallTrace, second: CallTrace, blocks: int) -> int | None:
    """How many outputs at its start tell a block from all others; None if none would do."""
    agree = max(_agreement(trace.codes, trace.codes) for trace in (first, second))
    length = _telling(agree, blocks * blocks)
    return None if length is None or length > BLOCK else length


def repeated(signatures: Sequence[bytes], length: int) -> Dependence | None:
    """Whether two blocks begin with the same outputs, as on workers whose noise is the same."""
    if len(set(signatures)) == len(signatures):
        return None
    return Dependence(f"a sequence of {length} outputs repeats exactly in another block")


def signature(outputs: CallOutputs, length: int) -> bytes | None:
    """What stands for a block's first outputs; None if it has fewer."""
    if len(outputs) < length:
        return None
    return hashlib.blake2b(codes_of(outputs[:length]).tobytes(), digest_size=16).digest()


# -- stretches that come again -------------------------------------------------------------------


def _recurring(codes: list[Codes]) -> Iterator[str]:
    agree = max(_agreement(side, side) for side in codes)
    length = _telling(agree, 2 * sum(len(side) for side in codes) * _REFERENCES)
    if length is None or any(len(side) < 2 * length for side in codes):
        return
    stretches = [_stretches(side, length) for side in codes]
    for here, others in enumerate(codes):
        places = np.arange(0, len(others) - length, BLOCK)[-_REFERENCES:]
        for there, windows in enumerate(stretches):
            for place in places:
                hits = np.flatnonzero(windows == stretches[here][place])
                if there == here:
                    hits = hits[np.abs(hits - place) >= length]
                asked = codes[here][place : place + length]
                if any(np.array_equal(codes[there][hit : hit + length], asked) for hit in hits):
                    yield _where(length, here == there)
                    return


def _where(length: int, same_input: bool) -> str:
    elsewhere = "in later calls" if same_input else "under the other input"
    return f"a sequence of {length} outputs repeats exactly {elsewhere}"


def _telling(agree: float, comparisons: int) -> int | None:
    """How long stretches must be that none agree by chance; None if no length will do."""
    if agree >= 1:
        return None
    return max(2, math.ceil(math.log(_LEVEL / comparisons) / math.log(agree)))


def _stretches(codes: Codes, length: int) -> Codes:
    """A code of the stretch from each place on, by differences of one running sum mod 2^64."""
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(len(codes), _ODD, dtype=np.uint64))
        inverses = np.cumprod(np.full(len(codes), pow(_ODD, -1, 2**64), dtype=np.uint64))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(codes * powers)])
        return np.asarray((sums[length:] - sums[:-length]) * inverses[: len(codes) - length + 1])


# -- outputs that agree more often than chance has it ---------------------------------------------


def _agreement(first: Codes, second: Codes) -> float:
    """At most this is the probability that two independent outputs agree (Clopper-Pearson)."""
    left, right = _at_random(min(len(first), len(second)))
    return _at_most(int(np.count_nonzero(first[left] == second[right])), len(left))


@lru_cache(maxsize=4)
def _at_random(calls: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of different calls; no call is in two of them."""
    order = run.generator((_PAIRING_KEY,)).permutation(calls)[: 2 * _PAIRS]
    count = len(order) // 2
    return order[:count], order[count : 2 * count]


def _at_most(happened: int, count: int) -> float:
    if happened == count:
        return 1.0
    return float(betaincinv(happened + 1.0, float(count - happened), 1 - _LEVEL))


def _agreeing(codes: list[Codes]) -> Iterator[str]:
    for side in codes:
        limit = _agreement(side, side)
        for lag in _LAGS:
            if len(side) > lag and _too_often(side[:-lag] == side[lag:], lag, limit):
                yield _correlated(lag)
    count = min(len(side) for side in codes)
    together = codes[0][:count] == codes[1][:count]
    if _above(together, _agreement(codes[0], codes[1])):
        yield "outputs on d0 and d1 at one call repeat each other: is the generator re-seeded?"


def _correlated(lag: int) -> str:
    apart = "consecutive outputs" if lag == 1 else f"outputs {lag} calls apart"
    return f"{apart} are correlated: is the generator re-seeded, for example from the clock?"


def _too_often(agree: NDArray[np.bool_], lag: int, limit: float) -> bool:
    """Pairs a lag apart overlap with those a lag further on, so that these are counted apart."""
    whole = len(agree) // (2 * lag) * (2 * lag)
    halves = agree[:whole].reshape(-1, 2, lag)
    return any(_above(halves[:, half].ravel(), limit) for half in (0, 1))


def _above(agree: NDArray[np.bool_], limit: float) -> bool:
    """Whether these happened more often than at any rate up to the limit (Hoeffding)."""
    spread = math.sqrt(math.log(1 / _LEVEL) / (2 * max(len(agree), 1)))
    return bool(agree.size) and float(agree.mean()) > limit + spread


def _shifted(first: Array | None, second: Array | None) -> Iterator[str]:
    """Differences between the inputs agree more often than those of calls paired at random."""
    if first is None or second is None:
        return
    count = min(len(first), len(second))
    left, right = _at_random(count)
    with np.errstate(all="ignore"):
        together, apart = second[:count] - first[:count], second[right] - first[left]
        typical = float(np.median(np.abs(apart))) if apart.size else 0.0
        unit = 1e-9 * (typical if 0 < typical < math.inf else 1.0)
        # Equal up to rounding becomes equal.
        together, apart = np.floor(together / unit + 0.37), np.floor(apart / unit + 0.37)
    half, pairs = count // 2, len(left) // 2
    limit = _at_most(int(np.count_nonzero(apart[:pairs] == apart[pairs : 2 * pairs])), pairs)
    if _above(together[:half] == together[half : 2 * half], limit):
        yield "outputs on d0 and d1 at one call share their noise: is the generator re-seeded?"


# -- large outputs that follow large ones ---------------------------------------------------------


def _following(first: Array | None, second: Array | None) -> Iterator[str]:
    signs = [_signs(sizes) for sizes in (first, second) if sizes is not None]
    for side in signs:
        for lag in _LAGS:
            if len(side) > 2 * lag and _tells(side[:-lag], side[lag:], classes=2):
                yield _correlated(lag)
    if len(signs) == 2:
        count = min(len(side) for side in signs)
        if _tells(signs[0][:count], signs[1][:count], classes=1):
            yield "outputs on d0 and d1 at one call are correlated: is the generator re-seeded?"


def _signs(sizes: Array) -> Array:
    """Above the threshold or not, by a threshold from outputs that are then left out."""
    part = min(1000, len(sizes) // 10)
    head = sizes[:part]
    threshold = np.median(head) if part else 0.0
    if part and not (head > threshold).any():
        # Half of them or more are the largest, like flags that are mostly set.
        threshold = head.min()
    return np.where(sizes[part:] > threshold, 1.0, -1.0)


def _tells(first: Array, second: Array, classes: int) -> bool:
    """Whether signs go together more than independent ones do, or less.

    Pairs that overlap fall into two classes of pairs that do not; each mean is within its own
    Hoeffding bound, and so are the means of the signs.
    """
    log, count = math.log(2 / _LEVEL), len(first)
    if not count:
        return False
    pairs = math.sqrt(2 * log * classes / count)
    single = math.sqrt(2 * log / count)
    return abs(float((first * second).mean() - first.mean() * second.mean())) > pairs + 2 * single
