"""Distributed calls: outputs are scored or counted on the workers, and only that is sent back.

Outputs of the calls set aside come home whole. All others are encoded and scored where they were
drawn. Few of them send a score and a trace each; from there on, each block sends how many of its
outputs lie beyond cuts that were settled on the calls set aside, and a signature of its first
outputs, in which workers that repeat each other's noise show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tellapart import run
from tellapart._checks import Array
from tellapart.audit.evidence.cuts import CutEvidence, EventCounts, cut_ledger
from tellapart.audit.evidence.thresholds import End, geometric_ranks
from tellapart.audit.probing.calling.caller import Caller
from tellapart.audit.probing.calling.calls import BLOCK, draw, gathered
from tellapart.audit.probing.calling.independence import (
    CallTrace,
    joined_traces,
    repeated,
    signature,
    signing,
    traced,
)
from tellapart.audit.probing.calling.kept_calls import KeptCalls
from tellapart.audit.probing.calling.outputs import CallOutputs
from tellapart.audit.probing.events import Event
from tellapart.audit.probing.exchangeability import refuse_unjudgeable
from tellapart.errors import Unsupported

T = TypeVar("T")
Pair = tuple[CallOutputs, CallOutputs]

# So many calls on each input send a score each; more are counted where they were made.
AT_HOME = 2**20


@dataclass(frozen=True)
class Calls:
    """So many calls on each of two inputs, in blocks; some come home, some are reduced first."""

    caller: Caller
    inputs: tuple[Any, Any]
    count: int
    seed: int
    progress: run.Progress | None = None
    kept: KeptCalls | None = None

    def first(self, least: int) -> Pair:
        """The outputs of the first blocks, of at least so many calls."""
        count = min(-(-least // BLOCK) * BLOCK, self.count)
        first, second = (
            draw(self.caller, data, count, (self.seed, k), self._part(k * count, count), self.kept)
            for k, data in enumerate(self.inputs)
        )
        return first, second

    def others(
        self, home: Pair, make: Callable[[CallOutputs], T], merge: Callable[[T, T], T] | None = None
    ) -> list[list[T]]:
        """What is made of all further blocks, of each input."""
        if len(home[0]) == self.count:
            return [[], []]
        done, skip = 2 * len(home[0]), len(home[0]) // BLOCK
        left = self.count - len(home[0])
        return [
            gathered(
                self.caller,
                data,
                self.count,
                (self.seed, k),
                make,
                skip=skip,
                merge=merge,
                progress=self._part(done + k * left, left),
                kept=self.kept,
            )
            for k, data in enumerate(self.inputs)
        ]

    def _part(self, done: int, more: int) -> run.Progress | None:
        """Told of some calls, tell of all."""
        if self.progress is None:
            return None
        tell, total = self.progress, 2 * self.count
        return lambda share: tell((done + share * more) / total)


# -- a score each --------------------------------------------------------------------------------


class _Scored(NamedTuple):
    scores: Array
    trace: CallTrace


@dataclass(frozen=True)
class _Scoring:
    event: Event

    def __call__(self, outputs: CallOutputs) -> _Scored:
        return _Scored(self.event.scores(outputs), traced(outputs))


def scored(calls: Calls, home: Pair, aside: int, event: Event) -> list[Array]:
    """The scores of all calls on each input but those set aside, if calls can be judged."""
    others = calls.others(home, _Scoring(event))
    traces = [
        joined_traces([traced(outputs), *(block.trace for block in far)])
        for outputs, far in zip(home, others, strict=True)
    ]
    refuse_unjudgeable(calls.caller, calls.inputs, home, (traces[0], traces[1]))
    near = [[event.scores(outputs[aside:])] if len(outputs) > aside else [] for outputs in home]
    return [
        np.concatenate([*here, *(block.scores for block in far)])
        for here, far in zip(near, others, strict=True)
    ]


# -- counts alone --------------------------------------------------------------------------------


class _ScoreCut(NamedTuple):
    """A cut of the score: outputs strictly beyond it, or where ``inside`` the others."""

    threshold: float
    higher: bool
    inside: bool
    end: End

    def count(self, scores: Array) -> int:
        """In how many outputs the event happened."""
        beyond = scores > self.threshold if self.higher else scores < self.threshold
        times = int(np.count_nonzero(beyond))
        return len(scores) - times if self.inside else times


class _Tally(NamedTuple):
    calls: int
    happened: NDArray[np.int64]
    signatures: tuple[bytes, ...]


@dataclass(frozen=True)
class _Counting:
    event: Event
    places: tuple[_ScoreCut, ...]
    length: int | None

    def __call__(self, outputs: CallOutputs) -> _Tally:
        scores = self.event.scores(outputs)
        happened = np.array([place.count(scores) for place in self.places], dtype=np.int64)
        return _Tally(len(scores), happened, signatures(outputs, self.length))


def signatures(outputs: CallOutputs, length: int | None) -> tuple[bytes, ...]:
    """The signatures of one block, if it is long enough to have one."""
    sign = None if length is None else signature(outputs, length)
    return () if sign is None else (sign,)


def _added(left: _Tally, right: _Tally) -> _Tally:
    return _Tally(
        left.calls + right.calls,
        left.happened + right.happened,
        left.signatures + right.signatures,
    )


def counted(calls: Calls, home: Pair, aside: int, event: Event, confidence: float) -> CutEvidence:
    """What counts of all calls but those set aside show, if calls can be judged."""
    refuse_unjudgeable(calls.caller, calls.inputs, home)
    places = _places(event, [event.scores(outputs[:aside]) for outputs in home])
    blocks = 2 * -(-calls.count // BLOCK)
    length = signing(traced(home[0]), traced(home[1]), blocks)
    counting = _Counting(event, places, length)
    sides = [
        reduce(_added, [*_near(counting, outputs, aside), *far])
        for outputs, far in zip(home, calls.others(home, counting, _added), strict=True)
    ]
    if length is not None:
        every = [sign for side in sides for sign in side.signatures]
        shared = repeated(every, length)
        if shared is not None:
            raise Unsupported(str(shared))
    return _evidence(event, places, sides[0], sides[1], 1 - confidence)


def _near(counting: _Counting, outputs: CallOutputs, aside: int) -> list[_Tally]:
    """Blocks that came home: their signatures, and counts of what was not set aside."""
    whole = [outputs[start : start + BLOCK] for start in range(0, len(outputs), BLOCK)]
    signs = tuple(sign for block in whole for sign in signatures(block, counting.length))
    none = _Tally(0, np.zeros(len(counting.places), dtype=np.int64), signs)
    kept = outputs[aside:]
    return [none, counting(kept)._replace(signatures=())] if len(kept) else [none]


def _places(event: Event, scores: list[Array]) -> tuple[_ScoreCut, ...]:
    """The event's own cut, and where scores are many, cuts at ranks from both ends."""
    end = End.CLEAR if event.clears else End.FLAG
    own = _ScoreCut(event.cut, event.higher, event.clears, end)
    if not event.by_rank:
        return (own,)
    further = []
    for end, side in zip(End, scores, strict=True):
        higher = event.higher if end is End.FLAG else not event.higher
        ordered = np.sort(side)[::-1] if higher else np.sort(side)
        cuts = dict.fromkeys(float(ordered[rank - 1]) for rank in geometric_ranks(len(ordered)))
        further += [_ScoreCut(cut, higher, False, end) for cut in cuts]
    return (own, *further)


def _evidence(
    event: Event, places: tuple[_ScoreCut, ...], absent: _Tally, present: _Tally, level: float
) -> CutEvidence:
    ledger, own, each = cut_ledger(level, len(places) - 1)
    cuts = []
    for k, place in enumerate(places):
        say = event.scorer.within if place.inside else event.scorer.beyond
        tested, reference = (present, absent) if place.end is End.FLAG else (absent, present)
        cuts.append(
            EventCounts(
                say(place.threshold, place.higher),
                place.end,
                int(tested.happened[k]),
                tested.calls,
                int(reference.happened[k]),
                reference.calls,
                each if k else own,
            )
        )
    return CutEvidence(tuple(cuts), ledger)
