"""Black-box auditing: find a distinguishing event on some calls, certify it on others."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tellapart import _checks, _progress, deadline, run
from tellapart._checks import Array
from tellapart._numeric.solve import first_whole
from tellapart._numeric.text import short
from tellapart.audit import checkpoints
from tellapart.audit.alternatives import AlternativeHypotheses, planned_finding
from tellapart.audit.evidence.base import Design, Evidence, claimed_delta
from tellapart.audit.evidence.count import CountEvidence, at_one_cut, uncounted
from tellapart.audit.evidence.cuts import CutEvidence
from tellapart.audit.evidence.e_process import Pairs, Wager
from tellapart.audit.evidence.rank import RankEvidence
from tellapart.audit.evidence.sequential_test import FIRST_PAIRS, WagerEvidence, planned
from tellapart.audit.evidence.thresholds import End, Look
from tellapart.audit.level_budget import LevelBudget
from tellapart.audit.many_run_audit import Favoured, at_ranks, unseen_scores
from tellapart.audit.models_needed import curve_needs_less
from tellapart.audit.probing import pace
from tellapart.audit.probing.calling.caller import (
    Caller,
    asked_for,
    detect_convention,
    refuse_equal_inputs,
)
from tellapart.audit.probing.calling.calls import calls_apart, draw
from tellapart.audit.probing.calling.kept_calls import KeptCalls, opened_calls
from tellapart.audit.probing.calling.outputs import CallOutputs, joined
from tellapart.audit.probing.classifiers import checked
from tellapart.audit.probing.events import FAVOUR, SOUGHT_LEVEL, SOUGHT_MORE, Event, EventSearch
from tellapart.audit.probing.exchangeability import (
    needs_more,
    refuse_if_calls_share,
    refuse_unjudgeable,
)
from tellapart.audit.probing.pace import SlowProbe
from tellapart.audit.probing.probe_power import probe_power
from tellapart.audit.probing.remote_counts import AT_HOME, Calls, counted, scored
from tellapart.audit.probing.scorers import Scorer
from tellapart.audit.probing.sequential_power import could_be_decided, sequential_plan
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.verdict import Verdict, describe, judge
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.run import Progress

# The share of the calls on which an event is sought.
_ASIDE = 0.1
_ASIDE_TO_LEARN = 0.25
FEWEST = 20
# So many calls that came home tell whether others are like them.
_ENOUGH = 1000
_SIDES = ("outputs on d1", "outputs on d0")


def probe(
    mechanism: Callable[..., Any],
    d0: Any,
    d1: Any,
    *,
    claim: Subject,
    samples: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    seconds: float | None = None,
    timeout: float | None = None,
    until_decided: bool | None = None,
    features: Callable[[Any], Any] | None = None,
    classifier: Any = None,
    folder: str | os.PathLike[str] | None = None,
    progress: run.Progress | bool | None = None,
) -> Verdict:
    """Whether a mechanism one can only call keeps its claim on two neighbouring inputs.

    It is called ``samples`` times on each input, as ``mechanism(data)``; one that takes ``rng`` is
    handed a NumPy generator, one that takes ``size`` is asked for batches. Unless told, that is as
    often as takes about a minute, from 200 to 100,000 times; where it takes longer, or finds gross
    leaks alone, a warning says so before it starts, and a claim of (ε, δ) is then tested
    ``until_decided``. ``seconds`` is a budget of calls: as many as fit are made, none is begun
    once it is spent, and where it does not suffice for a verdict, `LimitReached` says what would;
    starting workers and working out the verdict take some seconds more.
    Outputs may be anything, and a call that takes longer
    than ``timeout`` seconds is one, too; a function that raises on both inputs is refused after its
    first calls. A tenth of the calls serves
    to find an event, the others to certify it; of more than a million, counts alone leave the
    workers that joblib is told of. With ``until_decided`` it bets on events as it goes and stops
    when the claim, of (ε, δ), is refuted or out of reach within ``samples``. ``features`` makes
    numbers of an output; a ``classifier`` ("boosting", "tree", "logistic" or an estimator of
    scikit-learn) is one more score to try, on a fourth of the calls. With ``folder`` the outputs
    of finished calls are kept, and a probe that was killed goes on where it stopped and says the
    same; it belongs to one probe, of this code, with all that is said here, and draws other random
    numbers than the same ``seed`` without a folder. ``progress`` is told
    which share of the calls was begun, and 1 at the end; with True there is a bar at terminals, and
    a line a minute elsewhere.

    >>> def noisy_count(data, rng, size=None):
    ...     return len(data) + rng.laplace(0, 0.5, size)     # claims ε = 1, needs scale 1
    >>> import tellapart as ta
    >>> verdict = probe(noisy_count, [1, 2], [1, 2, 3], claim=ta.guarantee(epsilon=1))
    >>> verdict.refuted
    True

    See Also
    --------
    tellapart.testing.assert_private : the same as one line of a test suite
    """
    curve = curve_of(claim, "claim")
    at_most = None if samples is None else _checks.whole(FEWEST, 10**9, samples=samples)
    _checks.inside_unit(confidence=confidence)
    key = _checks.whole(0, 2**62, seed=seed)
    for name, given in (("features", features), ("progress", progress)):
        if given is not None and not isinstance(given, bool):
            _checks.function(**{name: given})
    purse = pace.Purse(seconds)
    refuse_equal_inputs(d0, d1)
    seek = EventSearch(claimed_delta(curve), features, checked(classifier))
    if until_decided and not isinstance(curve, GuaranteeCurve):
        raise Unsupported("until_decided tests claims of (ε, δ) alone; leave it out")
    kept, count = None, pace.USUAL if at_most is None else at_most
    if folder is not None:
        asked = {
            "claim": repr(claim),
            "samples": count,
            "confidence": confidence,
            "seed": key,
            "timeout": timeout,
            "until_decided": bool(until_decided),
            "features": checkpoints.code_fingerprint(features),
            "classifier": repr(classifier),
        }
        kept = opened_calls(folder, mechanism, (d0, d1), asked)
        purse.hint = f"or run the same again: finished calls are kept in {folder}"
    few = 2 * FIRST_PAIRS if until_decided else FEWEST
    takes_size = asked_for(mechanism)[1] if callable(mechanism) else False
    least = few if at_most is None or until_decided else at_most
    purse.needed = pace.in_all(least, batches=takes_size)
    with pace.spending(purse):
        caller = detect_convention(mechanism, d0, d1, timeout=timeout, seed=key)
        pace.refuse_hopeless(caller, (d0, d1), key)
        if purse.limited:
            if folder is not None:  # what comes at the end must fit into one run
                least = few if until_decided else count  # which may be decided after one batch
                purse.needed = purse.calls + 2 * (least + calls_apart(caller, least))
                if not purse.affords(2 * calls_apart(caller, least)):
                    purse.hint = ""
                    purse.refuse()
            elif not until_decided:
                each = pace.seconds_a_call(caller, d0, key)
                count = _affordable(claim, caller, at_most, each, 1 - confidence, purse)
        elif at_most is None and not until_decided:  # which ends when it is decided
            each = pace.seconds_a_call(caller, d0, key)
            fits = pace.affordable(2 * each, pace.MINUTE)
            slow = fits < pace.FEW
            if folder is None:
                count = fits
                if until_decided is None and slow and isinstance(curve, GuaranteeCurve):
                    until_decided = could_be_decided(curve, count, 1 - confidence)
            if slow or pace.takes_long(2 * count * each):
                plan = _Announced(claim, count, each, confidence, bool(until_decided))
                warnings.warn(plan.words(), SlowProbe, stacklevel=2)
        with _progress.shown(progress, "calls on each input", count) as tell:
            evidence: Evidence
            if until_decided and isinstance(curve, GuaranteeCurve):
                evidence = sequential_evidence(
                    caller, (d0, d1), curve, count, confidence, key, seek, tell, kept, purse
                )
            else:
                calls = Calls(caller, (d0, d1), count, key, tell, kept)
                evidence = _certified(calls, seek, confidence)
            if tell is not None:
                tell(1.0)
    return judge(claim, evidence)


def probe_scores(
    mechanism: Callable[..., Any],
    inputs: tuple[Any, Any],
    *,
    claim: Subject,
    samples: int,
    confidence: float,
    seed: int,
    expected: int,
) -> Verdict:
    """The same by ``samples`` calls that return scores, of which one is expected to show most."""
    seek = EventSearch(claimed_delta(curve_of(claim, "claim")), expected=(expected,))
    caller = detect_convention(mechanism, *inputs, seed=seed)
    pace.refuse_hopeless(caller, inputs, seed)
    return judge(claim, _certified(Calls(caller, inputs, samples, seed), seek, confidence))


def _affordable(
    claim: Subject,
    caller: Caller,
    samples: int | None,
    each: float,
    level: float,
    purse: pace.Purse,
) -> int:
    """How many calls on each input fit into the budget; refused where they could refute nothing."""
    fits = pace.fitting(caller, each, purse.plannable)
    fewest = fewest_calls(claim, level) if samples is None else samples
    count = fits if samples is None else samples
    purse.needed = purse.calls + 2 * (fewest + calls_apart(caller, fewest))
    if fits < fewest:
        purse.refuse(each)
    purse.needed = purse.calls + 2 * (count + calls_apart(caller, count))
    return count


def fewest_calls(claim: Subject, level: float) -> int:
    """How many calls on each input it takes at least that some outcome refutes a claim.

    >>> import tellapart as ta
    >>> fewest_calls(ta.guarantee(epsilon=1), 0.05)
    20
    """

    def could(calls: int) -> bool:
        return could_refute(claim, calls, level)

    high = FEWEST
    while not could(high):
        if high >= pace.USUAL:  # nothing refutes it, or many more calls: then that is the verdict
            return FEWEST
        high *= 2
    return first_whole(could, high // 2, high) if high > FEWEST else FEWEST


def could_refute(claim: Subject, calls: int, level: float, *, until_decided: bool = False) -> bool:
    """Whether some outcome of so many calls on each input refutes a claim.

    The best outcome is an event that always happens on one input and never on the other: of few
    outputs it is one cut, of many a rank, and the first one is the surest.
    """
    claimed = curve_of(claim, "claim")
    if until_decided and isinstance(claimed, GuaranteeCurve):
        return could_be_decided(claimed, calls, level)
    kept = calls - held_out(calls)
    first = Favoured(End.FLAG, True, (1,), FAVOUR)
    return uncounted(kept, level).could_refute(claim) or at_ranks(
        unseen_scores(2 * kept), level, first
    ).could_refute(claim)


def refuse_unable(
    claim: Subject, calls: int, level: float, size: str, *, until_decided: bool = False
) -> None:
    """Raise where no outcome of so many calls, ``size`` in words, could refute a claim."""
    if could_refute(claim, calls, level, until_decided=until_decided):
        return
    less = curve_needs_less(claim, 1 - level, unit="calls in all that test it")
    raise Unsupported(
        f"no outcome of {size}, could refute {describe(claim)}. "
        + (f"{less}. " if less else "")
        + _OTHERWISE
    )


class _Announced(NamedTuple):
    """Calls that take long, and what is said of them before they are made."""

    claim: Subject
    calls: int
    seconds: float  # each takes
    confidence: float
    until_decided: bool

    def words(self) -> str:
        """How many calls, how long they take, and the smallest leak that they find."""
        size, level = self._size(), 1 - self.confidence
        refuse_unable(self.claim, self.calls, level, size, until_decided=self.until_decided)
        finds = planned_finding(self.claim, self._power(roughly=False), self._power(roughly=True))
        most = ", until decided" if self.until_decided else ""
        return (
            f"one call takes {short(self.seconds, 2)} s: {size}{most}, which {finds}. {_OTHERWISE}"
        )

    def _size(self) -> str:
        took = _progress.in_words(2 * self.calls * self.seconds)
        at_most = "at most " if self.until_decided else ""
        return f"{at_most}{self.calls:,} calls on each input, about {took} in all"

    def _power(self, *, roughly: bool) -> Callable[[float], float]:
        level, claimed = 1 - self.confidence, curve_of(self.claim, "claim")
        if not self.until_decided or not isinstance(claimed, GuaranteeCurve):
            return planned_power(self.claim, self.calls, level, roughly=roughly)
        return lambda strength: (
            sequential_plan(claimed, strength, self.calls, level, roughly=roughly).power
        )


_OTHERWISE = (
    "samples=N takes as many as you say, seconds=S as many as fit; audit.plan and `tellapart plan` "
    "say what they find"
)


def planned_power(
    claim: Subject,
    calls: int,
    level: float,
    *,
    roughly: bool = False,
    leaks: AlternativeHypotheses | None = None,
) -> Callable[[float], float]:
    """What so many calls on each input find, before any is made, of noise so much too small."""
    aside = held_out(calls)
    return probe_power(claim, (aside, calls - aside), level, roughly=roughly, leaks=leaks)


def held_out(calls: int, *, learns: bool = False) -> int:
    """How many calls on each input serve to choose the event, and to nothing else."""
    share = _ASIDE_TO_LEARN if learns else _ASIDE
    return max(int(share * min(calls, AT_HOME)), FEWEST // 2)


def _certified(calls: Calls, seek: EventSearch, confidence: float) -> Evidence:
    aside = held_out(calls.count, learns=seek.classifier is not None)
    home = calls.first(aside)
    with deadline.unpaid():
        event = seek((home[0][:aside], home[1][:aside]), 1 - confidence, calls.count - aside)
    evidence: Evidence
    if calls.count > AT_HOME:
        evidence = counted(calls, home, aside, event, confidence)
    else:
        non_members, members = scored(calls, home, aside, event)
        with deadline.unpaid():
            evidence = _evidence(event, non_members, members, confidence)
    _refuse_if_shared(calls, home, aside, event)
    return of_calls(evidence, calls.count, remarks(calls.caller, home))


def _refuse_if_shared(
    calls: Calls, home: tuple[CallOutputs, CallOutputs], aside: int, event: Event
) -> None:
    """Raise where calls share something; the calls set aside are asked where no others are home."""
    few = len(home[0]) - aside < min(aside, _ENOUGH)
    some = home if few else (home[0][aside:], home[1][aside:])
    refuse_if_calls_share(calls.caller, calls.inputs, some, event.read, calls.seed, learnt=few)


def _evidence(event: Event, non_members: Array, members: Array, confidence: float) -> Evidence:
    """The certificate: one cut where scores are few, ranks where they are many."""
    orientation = Orientation.HIGHER if event.higher else Orientation.LOWER
    scores = Scores(members=members, non_members=non_members, orientation=orientation)
    if event.by_rank:
        evidence = at_ranks(scores, 1 - confidence, _favoured(event, len(non_members)))
        return replace(
            evidence, looks=tuple(_with_words(look, event.scorer) for look in evidence.looks)
        )
    at_cut = at_one_cut(scores, event.cut, event.higher, 1 - confidence)
    sides = _SIDES[::-1] if event.clears else _SIDES
    return replace(at_cut, event=event.words(), sides=sides, clears=event.clears)


def _with_words(look: Look, scorer: Scorer) -> Look:
    return replace(look, event=scorer.beyond(look.threshold, look.higher), sides=_SIDES)


def _favoured(event: Event, calls: int) -> Favoured:
    """The rank at which the event should happen, for it was found on other calls."""
    end = End.CLEAR if event.clears else End.FLAG
    rank = min(max(round(event.rate * calls), 1), calls)
    return Favoured(end, event.higher, (rank,), FAVOUR)


_RANKS = {
    End.FLAG: "ranks of outputs on d0 (TPR at small FPR)",
    End.CLEAR: "ranks of outputs on d1 (TNR at small FNR)",
}
_CHOSEN = "one event, chosen on held-out calls"
_CHANGES = "The function modifies its input: every call was given a fresh copy."


def of_calls(evidence: Evidence, calls: int, about: str = "") -> Evidence:
    """The same evidence, which says of itself that it is of so many calls on each input."""
    if isinstance(evidence, CutEvidence):
        return replace(evidence, calls=calls, about=about)
    if isinstance(evidence, RankEvidence):
        ends = dict.fromkeys(look.end for look in evidence.looks)
        words = tuple(_RANKS[end] for end in ends)
        ledger = _in_words_of_calls(evidence.ledger, words, calls - evidence.looks[0].tested)
        return replace(evidence, ledger=ledger, design=Design.CALLS, calls=calls, about=about)
    if isinstance(evidence, CountEvidence):
        ledger = _in_words_of_calls(
            evidence.ledger, (f"the event {evidence.event}",), calls - evidence.counts.members
        )
        own = replace(evidence, ledger=ledger, method=_CHOSEN, design=Design.CALLS)
        return replace(own, calls=calls, about=about)
    return evidence


def remarks(caller: Caller, home: tuple[CallOutputs, CallOutputs]) -> str:
    """A remark where the mechanism fails on one input, or changes its inputs."""
    for name, outputs in zip(("d0", "d1"), home, strict=True):
        broken = outputs.first_broken()
        if broken is not None:
            return f"No call on {name} returned a value: the first one {broken}."
    return _CHANGES if caller.changes else ""


def _in_words_of_calls(ledger: LevelBudget, words: tuple[str, ...], aside: int) -> LevelBudget:
    """The first tests in other words, and why choosing them needs no correction."""
    named, rest = ledger.entries[: len(words)], ledger.entries[len(words) :]
    entries = tuple(replace(entry, what=what) for entry, what in zip(named, words, strict=True))
    choice = (
        f"no correction is needed for choosing the event: it was chosen on {aside:,} held-out "
        "calls on each input"
    )
    return replace(ledger, entries=(*entries, *rest), free=(*ledger.free, choice))


def sequential_evidence(
    caller: Caller,
    inputs: tuple[Any, Any],
    claim: GuaranteeCurve,
    samples: int,
    confidence: float,
    seed: int,
    seek: EventSearch,
    progress: Progress | None = None,
    kept: KeptCalls | None = None,
    purse: pace.Purse | None = None,
) -> WagerEvidence:
    """Draw pairs and bet on each batch, until refuted, or out of hope, of calls or of time."""
    past = _drawn(caller, inputs, min(FIRST_PAIRS, samples), seed, 0, kept)
    event = _sought(past, seek)
    wager = Wager(claim.claimed_epsilon, claim.claimed_delta, confidence, both_orders=False)
    batches = tuple(planned(len(past[0]), samples))
    before, by_clock = Pairs(), ""
    for place, batch in enumerate(batches, start=1):
        if progress is not None:
            progress(len(past[0]) / samples)
        after = len(past[0]) + batch.size
        if purse is not None and not purse.affords(2 * (batch.size + calls_apart(caller, after))):
            if place == 1:
                purse.refuse()
            batches, by_clock = (
                batches[: place - 1],
                f" The budget of {short(purse.given)} s ended it.",
            )
            break
        fresh = _drawn(caller, inputs, batch.size, seed, place, kept)
        wager = wager.update(*_happened(event, fresh))
        past = [joined([old, new]) for old, new in zip(past, fresh, strict=True)]
        if wager.refuted:
            if not needs_more(caller, inputs, (past[0], past[1])):
                break
        elif not batch.hope(wager, wager.seen.counted(), before.counted()):
            break
        if batch.seek:
            event, before = _sought(past, seek), wager.seen
    refuse_unjudgeable(caller, inputs, (past[0], past[1]))
    refuse_if_calls_share(caller, inputs, (past[0], past[1]), event.read, seed, learnt=True)
    about = (remarks(caller, (past[0], past[1])) + by_clock).strip()
    return WagerEvidence.of(wager, len(past[0]), event.words(), batches, about)


def _drawn(
    caller: Caller,
    inputs: tuple[Any, Any],
    count: int,
    seed: int,
    place: int,
    kept: KeptCalls | None,
) -> list[CallOutputs]:
    return [draw(caller, data, count, (seed, k, place), kept=kept) for k, data in enumerate(inputs)]


def _sought(past: list[CallOutputs], seek: EventSearch) -> Event:
    with deadline.unpaid():
        return seek((past[0], past[1]), SOUGHT_LEVEL, int(SOUGHT_MORE * len(past[0])))


def _happened(event: Event, fresh: list[CallOutputs]) -> tuple[Array, Array]:
    """Whether the event happened on each input, in the order in which it incriminates."""
    absent, present = (event.happened(outputs) for outputs in fresh)
    if event.clears:
        return np.asarray(~absent), np.asarray(~present)
    return np.asarray(present), np.asarray(absent)
