"""Probing until it is decided: events are chosen from calls that are past, and bet on next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tellapart._checks import Array
from tellapart.audit._by_wager import WagerEvidence
from tellapart.audit._events import Event, best_event
from tellapart.audit.sequential import Wager
from tellapart.blackbox.calls import Caller, draw
from tellapart.blackbox.features import Features, learn
from tellapart.blackbox.kept_noise import refuse_unjudgeable
from tellapart.blackbox.outputs import Outputs, joined
from tellapart.curve.closed import GuaranteeCurve
from tellapart.run import Progress

_FIRST = 32
_BATCH = 16
# An event is sought again when there are so many times the calls of last time.
_AGAIN = 1.5
# At what level, and on how many times the calls, an event should pay.
_LEVEL, _MORE = 0.05, 8.0


class _Choice(NamedTuple):
    event: Event
    read: Callable[[Outputs], Features]
    calls: int


def until_decided(
    caller: Caller,
    inputs: tuple[Any, Any],
    claim: GuaranteeCurve,
    samples: int,
    confidence: float,
    seed: int,
    user: Callable[[Any], Any] | None,
    progress: Progress | None = None,
) -> WagerEvidence:
    """Draw pairs and bet on each batch, until refuted, out of hope or out of calls."""
    past = _drawn(caller, inputs, min(_FIRST, samples), seed, 0)
    choice = _chosen(past, claim, user)
    wager = Wager(
        claim.claimed_epsilon,
        claim.claimed_delta,
        confidence,
        both_orders=False,
        at_most=max(samples - _FIRST, 1),
    )
    place = 1
    while not wager.decided and len(past[0]) < samples:
        if progress is not None:
            progress(len(past[0]) / samples)
        size = min(max(_BATCH, len(past[0]) // 8), samples - len(past[0]))
        fresh = _drawn(caller, inputs, size, seed, place)
        wager = wager.update(*_happened(choice, fresh))
        past = [joined([old, new]) for old, new in zip(past, fresh, strict=True)]
        if len(past[0]) >= _AGAIN * choice.calls:
            choice = _chosen(past, claim, user)
        place += 1
    refuse_unjudgeable(caller, inputs, (past[0], past[1]))
    return WagerEvidence.of(wager, len(past[0]), choice.event.words())


def _drawn(
    caller: Caller, inputs: tuple[Any, Any], count: int, seed: int, place: int
) -> list[Outputs]:
    return [draw(caller, data, count, (seed, k, place)) for k, data in enumerate(inputs)]


def _chosen(
    past: list[Outputs], claim: GuaranteeCurve, user: Callable[[Any], Any] | None
) -> _Choice:
    read = learn(past[0], past[1], user)
    half = len(past[0]) // 2
    learnt = [read(one[:half]) for one in past]
    weighed = [read(one[half:]) for one in past]
    event = best_event(learnt, weighed, claim.claimed_delta, _LEVEL, _MORE)
    return _Choice(event, read, len(past[0]))


def _happened(choice: _Choice, fresh: list[Outputs]) -> tuple[Array, Array]:
    """Whether the event happened on each input, in the order in which it incriminates."""
    absent, present = (choice.event.happened(choice.read(one)) for one in fresh)
    if choice.event.clears:
        return np.asarray(~absent), np.asarray(~present)
    return np.asarray(present), np.asarray(absent)
