"""Probing until it is decided: events are chosen from calls that are past, and bet on next."""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart._checks import Array
from tellapart.audit.evidence.e_process import Pairs, Wager
from tellapart.audit.evidence.sequential_test import WagerEvidence, planned
from tellapart.audit.probing.calling.caller import Caller
from tellapart.audit.probing.calling.calls import draw
from tellapart.audit.probing.calling.fresh_calls import refuse_if_calls_share
from tellapart.audit.probing.calling.kept_calls import KeptCalls
from tellapart.audit.probing.calling.kept_noise import refuse_unjudgeable
from tellapart.audit.probing.calling.outputs import Outputs, joined
from tellapart.audit.probing.events import Event, Seeker
from tellapart.audit.probing.evidence_of_calls import remarks
from tellapart.curve.closed import GuaranteeCurve
from tellapart.run import Progress

_FIRST = 32
# At what level, and on how many times the calls, an event should pay.
_LEVEL, _MORE = 0.05, 8.0


def until_decided(
    caller: Caller,
    inputs: tuple[Any, Any],
    claim: GuaranteeCurve,
    samples: int,
    confidence: float,
    seed: int,
    seek: Seeker,
    progress: Progress | None = None,
    kept: KeptCalls | None = None,
) -> WagerEvidence:
    """Draw pairs and bet on each batch, until refuted, out of hope or out of calls."""
    past = _drawn(caller, inputs, min(_FIRST, samples), seed, 0, kept)
    event = _sought(past, seek)
    wager = Wager(claim.claimed_epsilon, claim.claimed_delta, confidence, both_orders=False)
    batches = tuple(planned(len(past[0]), samples))
    before = Pairs()
    for place, batch in enumerate(batches, start=1):
        if progress is not None:
            progress(len(past[0]) / samples)
        fresh = _drawn(caller, inputs, batch.size, seed, place, kept)
        wager = wager.update(*_happened(event, fresh))
        past = [joined([old, new]) for old, new in zip(past, fresh, strict=True)]
        if wager.refuted or not batch.hope(wager, wager.seen.counted(), before.counted()):
            break
        if batch.seek:
            event, before = _sought(past, seek), wager.seen
    refuse_unjudgeable(caller, inputs, (past[0], past[1]))
    refuse_if_calls_share(caller, inputs, (past[0], past[1]), event.read, seed, learnt=True)
    about = remarks(caller, (past[0], past[1]))
    return WagerEvidence.of(wager, len(past[0]), event.words(), batches, about)


def _drawn(
    caller: Caller,
    inputs: tuple[Any, Any],
    count: int,
    seed: int,
    place: int,
    kept: KeptCalls | None,
) -> list[Outputs]:
    return [draw(caller, data, count, (seed, k, place), kept=kept) for k, data in enumerate(inputs)]


def _sought(past: list[Outputs], seek: Seeker) -> Event:
    return seek((past[0], past[1]), _LEVEL, int(_MORE * len(past[0])))


def _happened(event: Event, fresh: list[Outputs]) -> tuple[Array, Array]:
    """Whether the event happened on each input, in the order in which it incriminates."""
    absent, present = (event.happened(one) for one in fresh)
    if event.clears:
        return np.asarray(~absent), np.asarray(~present)
    return np.asarray(present), np.asarray(absent)
