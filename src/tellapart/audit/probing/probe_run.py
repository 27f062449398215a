"""Probing a mechanism one can only call: find an event on some calls, certify it on others."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tellapart import _checks, run
from tellapart._checks import Array
from tellapart.audit.evidence.base import Evidence
from tellapart.audit.evidence.count import at_one_cut
from tellapart.audit.evidence.thresholds import End, Look
from tellapart.audit.many_run_audit import Favoured, at_ranks
from tellapart.audit.probing import code_identity, probe_folder
from tellapart.audit.probing.calling.conventions import settle
from tellapart.audit.probing.calling.fresh_calls import refuse_if_calls_share
from tellapart.audit.probing.calling.inputs import fingerprint
from tellapart.audit.probing.calling.outputs import Outputs
from tellapart.audit.probing.classifiers import checked
from tellapart.audit.probing.events import FAVOUR, Event, Seeker
from tellapart.audit.probing.evidence_of_calls import of_calls, remarks
from tellapart.audit.probing.remote_counts import AT_HOME, Calls, counted, scored
from tellapart.audit.probing.scorers import Scorer
from tellapart.audit.probing.until_decided import until_decided as bet
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.verdict import Verdict, judge
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject, curve_of

# The share of the calls on which an event is sought.
_ASIDE = 0.1
_ASIDE_TO_LEARN = 0.25
_FEWEST = 20
# So many calls that came home tell whether others are like them.
_ENOUGH = 1000
_SIDES = ("outputs on d1", "outputs on d0")


def probe(
    mechanism: Callable[..., Any],
    d0: Any,
    d1: Any,
    *,
    claim: Subject,
    samples: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
    timeout: float | None = None,
    until_decided: bool = False,
    features: Callable[[Any], Any] | None = None,
    classifier: Any = None,
    folder: str | os.PathLike[str] | None = None,
    progress: run.Progress | None = None,
) -> Verdict:
    """Whether a mechanism one can only call keeps its claim on two neighbouring inputs.

    It is called ``samples`` times on each input, as ``mechanism(data)``; one that takes ``rng`` is
    handed a NumPy generator, one that takes ``size`` is asked for batches. Outputs may be anything,
    and a call that takes longer than ``timeout`` seconds is one, too. A tenth of the calls serves
    to find an event, the others to certify it; of more than a million, counts alone leave the
    workers that joblib is told of. With ``until_decided`` it bets on events as it goes and stops
    when the claim, of (ε, δ), is refuted or out of reach within ``samples``. ``features`` makes
    numbers of an output; a ``classifier`` ("boosting", "tree", "logistic" or an estimator of
    scikit-learn) is one more score to try, on a fourth of the calls. With ``folder`` the outputs
    of finished calls are kept, and a probe that was killed goes on where it stopped and says the
    same; it belongs to one probe, of this code, with all that is said here. ``progress`` is told
    which share of the calls was begun, and 1 at the end.

    >>> def noisy_count(data, rng, size=None):
    ...     return len(data) + rng.laplace(0, 0.5, size)     # claims ε = 1, needs scale 1
    >>> import tellapart as ta
    >>> verdict = probe(noisy_count, [1, 2], [1, 2, 3], claim=ta.guarantee(epsilon=1))
    >>> verdict.refuted
    True
    """
    curve = curve_of(claim, "claim")
    count = _checks.whole(_FEWEST, 10**9, samples=samples)
    _checks.inside_unit(confidence=confidence)
    key = _checks.whole(0, 2**62, seed=seed)
    delta = curve.claimed_delta if isinstance(curve, GuaranteeCurve) else 0.0
    for name, given in (("features", features), ("progress", progress)):
        if given is not None and not callable(given):
            _checks.refuse(name, "be callable", given)
    same = fingerprint(d0)
    if same is not None and same == fingerprint(d1):
        _checks.refuse("d1", "differ from d0, or nothing can be told apart", d1)
    seek = Seeker(delta, features, checked(classifier))
    if until_decided and not isinstance(curve, GuaranteeCurve):
        raise Unsupported("until_decided bets against claims of (ε, δ) alone; leave it out")
    kept = None
    if folder is not None:
        asked = {
            "claim": repr(claim),
            "samples": count,
            "confidence": confidence,
            "seed": key,
            "timeout": timeout,
            "until_decided": until_decided,
            "features": code_identity.code(features),
            "classifier": repr(classifier),
        }
        kept = probe_folder.opened(folder, mechanism, (d0, d1), asked)
    caller = settle(mechanism, d0, d1, timeout=timeout, seed=key)
    found: Evidence
    if until_decided and isinstance(curve, GuaranteeCurve):
        found = bet(caller, (d0, d1), curve, count, confidence, key, seek, progress, kept)
    else:
        found = _certified(Calls(caller, (d0, d1), count, key, progress, kept), seek, confidence)
    if progress is not None:
        progress(1.0)
    return judge(claim, found)


def _certified(calls: Calls, seek: Seeker, confidence: float) -> Evidence:
    share = _ASIDE if seek.classifier is None else _ASIDE_TO_LEARN
    aside = max(int(share * min(calls.count, AT_HOME)), _FEWEST // 2)
    home = calls.first(aside)
    event = seek((home[0][:aside], home[1][:aside]), 1 - confidence, calls.count - aside)
    found: Evidence
    if calls.count > AT_HOME:
        found = counted(calls, home, aside, event, confidence)
    else:
        others, members = scored(calls, home, aside, event)
        found = _evidence(event, others, members, confidence)
    _refuse_if_shared(calls, home, aside, event)
    return of_calls(found, calls.count, remarks(calls.caller, home))


def _refuse_if_shared(
    calls: Calls, home: tuple[Outputs, Outputs], aside: int, event: Event
) -> None:
    """Raise where calls share something; the calls set aside are asked where no others are home."""
    few = len(home[0]) - aside < min(aside, _ENOUGH)
    some = home if few else (home[0][aside:], home[1][aside:])
    refuse_if_calls_share(calls.caller, calls.inputs, some, event.read, calls.seed, learnt=few)


def _evidence(event: Event, others: Array, members: Array, confidence: float) -> Evidence:
    """The certificate: one cut where scores are few, ranks where they are many."""
    orientation = Orientation.HIGHER if event.higher else Orientation.LOWER
    scores = Scores(members=members, others=others, orientation=orientation)
    if event.by_rank:
        found = at_ranks(scores, 1 - confidence, _favoured(event, len(others)))
        return replace(found, looks=tuple(_told(look, event.scorer) for look in found.looks))
    at_cut = at_one_cut(scores, event.cut, event.higher, 1 - confidence)
    sides = _SIDES[::-1] if event.clears else _SIDES
    return replace(at_cut, event=event.words(), sides=sides, clears=event.clears)


def _told(look: Look, scorer: Scorer) -> Look:
    return replace(look, event=scorer.beyond(look.threshold, look.higher), sides=_SIDES)


def _favoured(event: Event, calls: int) -> Favoured:
    """The rank at which the event should happen, for it was found on other calls."""
    end = End.CLEAR if event.clears else End.ACCUSE
    rank = min(max(round(event.rate * calls), 1), calls)
    return Favoured(end, event.higher, (rank,), FAVOUR)
