"""Probing a mechanism one can only call: find an event on some calls, certify it on others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit._by_count import CountEvidence
from tellapart.audit._by_rank import RankEvidence
from tellapart.audit._events import Event, best_event
from tellapart.audit._many_runs import many_runs
from tellapart.audit._probe_counts import AT_HOME, Calls, counted, scored
from tellapart.audit._probe_until import until_decided as bet
from tellapart.audit._scorers import ByColumn, ByDifference
from tellapart.audit.evidence import Evidence
from tellapart.audit.methods import Fixed, Ranks
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.verdict import Verdict, judge
from tellapart.blackbox.calls import settle
from tellapart.blackbox.features import learn
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject, curve_of

# The share of the calls on which an event is sought; half of it learns scores, half weighs them.
_ASIDE = 0.1
_FEWEST = 20
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
) -> Verdict:
    """Whether a mechanism one can only call keeps its claim on two neighbouring inputs.

    It is called ``samples`` times on each input, as ``mechanism(data)``; one that takes ``rng`` is
    handed a NumPy generator, one that takes ``size`` is asked for batches. Outputs may be
    anything. A tenth of the calls serves to find an event, the others to certify it; of more than
    a million, counts alone leave the workers that joblib is told of. With
    ``until_decided`` it bets on events as it goes and stops when the claim, of (ε, δ), is refuted
    or out of reach within ``samples``; ``features`` makes numbers of an output.

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
    caller = settle(mechanism, d0, d1, timeout=timeout, seed=key)
    if until_decided:
        if not isinstance(curve, GuaranteeCurve):
            raise Unsupported("until_decided bets against claims of (ε, δ) alone; leave it out")
        found = bet(caller, (d0, d1), curve, count, confidence, key, features)
        return judge(claim, found)
    delta = curve.claimed_delta if isinstance(curve, GuaranteeCurve) else 0.0
    return judge(
        claim, _certified(Calls(caller, (d0, d1), count, key), delta, confidence, features)
    )


def _certified(
    calls: Calls, delta: float, confidence: float, user: Callable[[Any], Any] | None
) -> Evidence:
    aside = max(int(_ASIDE * min(calls.count, AT_HOME)), _FEWEST // 2)
    half = aside // 2
    home = calls.first(aside)
    encoding = learn(home[0][:aside], home[1][:aside], user)
    learnt = [encoding(outputs[:half]) for outputs in home]
    weighed = [encoding(outputs[half:aside]) for outputs in home]
    more = (calls.count - aside) / (aside - half)
    event = best_event(learnt, weighed, delta, 1 - confidence, more)
    if calls.count > AT_HOME:
        return counted(calls, home, aside, event, encoding, confidence)
    return _evidence(event, scored(calls, home, aside, event, encoding), confidence)


def _evidence(event: Event, kept: list[Array], confidence: float) -> Evidence:
    """The certificate: one event where scores are few, pre-set ranks where they are many."""
    orientation = Orientation.HIGHER if event.higher else Orientation.LOWER
    others, members = kept
    scores = Scores(members=members, others=others, orientation=orientation)
    method = Fixed(event.cut) if event.few else Ranks()
    found = many_runs(scores, confidence, method)
    if isinstance(found, CountEvidence):
        words = event.scorer.beyond(event.cut, event.higher)
        return replace(found, event=words, sides=_SIDES)
    if isinstance(found, RankEvidence):
        name = event.scorer.name if isinstance(event.scorer, ByColumn | ByDifference) else "score"
        looks = (replace(look, what=name, sides=_SIDES) for look in found.looks)
        return replace(found, looks=tuple(looks))
    return found
