"""Probing a mechanism one can only call: find an event on some calls, certify it on others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit._by_count import CountEvidence
from tellapart.audit._by_rank import RankEvidence
from tellapart.audit._many_runs import many_runs
from tellapart.audit._scorers import ByCell, ByColumn, ByDifference, Scorer, candidates
from tellapart.audit.evidence import Evidence
from tellapart.audit.methods import Fixed, Ranks
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.verdict import Verdict, judge
from tellapart.blackbox.calls import draw, refuse_if_all_broke, settle
from tellapart.blackbox.features import Features, learn
from tellapart.blackbox.independence import dependence, never_changes
from tellapart.blackbox.kept_noise import kept_noise
from tellapart.blackbox.outputs import Outputs
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject, curve_of

# The share of the calls on which an event is sought; half of it learns scores, half weighs them.
_ASIDE = 0.1
_FEWEST = 20
# So many scores or fewer are events by themselves; more are ranked.
_FEW_SCORES = 64
_CUTS = 128
# About how many looks share the level where scores are ranked.
_LOOKS = 20
_DOUBT = 0.5
# What cells of a number that hardly repeats must promise beyond the number itself, which is
# certified at all ranks at once and in a fraction of the time.
_EXTRA = 0.1
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
    features: Callable[[Any], Any] | None = None,
) -> Verdict:
    """Whether a mechanism one can only call keeps its claim on two neighbouring inputs.

    It is called ``samples`` times on each input, as ``mechanism(data)``; one that takes ``rng`` is
    handed a NumPy generator, one that takes ``size`` is asked for batches. Outputs may be
    anything. A tenth of the calls serves to find an event, the others to certify it.

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
    absent, present = (draw(caller, data, count, (key, k)) for k, data in enumerate((d0, d1)))
    refuse_if_all_broke(absent, present)
    shared = dependence(absent, present)
    if shared is None and never_changes(absent) and never_changes(present):
        shared = kept_noise(caller, (d0, d1), (absent, present))
    if shared is not None:
        raise Unsupported(str(shared))
    delta = curve.claimed_delta if isinstance(curve, GuaranteeCurve) else 0.0
    return judge(claim, _certified(absent, present, delta, confidence, features))


@dataclass(frozen=True)
class _Event:
    """The most promising score, the way it points, and where to cut it."""

    promise: float
    scorer: Scorer
    higher: bool
    cut: float
    few: bool


def _certified(
    absent: Outputs,
    present: Outputs,
    delta: float,
    confidence: float,
    user: Callable[[Any], Any] | None,
) -> Evidence:
    aside = max(int(_ASIDE * len(absent)), _FEWEST // 2)
    half = aside // 2
    encoding = learn(absent[:aside], present[:aside], user)
    learnt = [encoding(outputs[:half]) for outputs in (absent, present)]
    weighed = [encoding(outputs[half:aside]) for outputs in (absent, present)]
    kept = [encoding(outputs[aside:]) for outputs in (absent, present)]
    more = (len(absent) - aside) / (aside - half)
    events = (
        event
        for scorer in candidates(learnt[0], learnt[1])
        for event in _events(scorer, weighed, delta, 1 - confidence, more)
    )
    return _evidence(max(events, key=_worth), kept, confidence)


def _worth(event: _Event) -> float:
    return event.promise - _EXTRA * (isinstance(event.scorer, ByCell) and event.scorer.smooth)


def _evidence(event: _Event, kept: list[Features], confidence: float) -> Evidence:
    """The certificate: one event where scores are few, pre-set ranks where they are many."""
    orientation = Orientation.HIGHER if event.higher else Orientation.LOWER
    others, members = (event.scorer(one) for one in kept)
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


def _events(
    scorer: Scorer, weighed: list[Features], delta: float, level: float, more: float
) -> list[_Event]:
    """The best cut of a score, for each way in which it may point."""
    absent, present = (scorer(one) for one in weighed)
    seen = np.unique(np.concatenate([absent, present]))
    few = seen.size <= _FEW_SCORES
    places = np.unique(np.linspace(0, seen.size - 1, _CUTS).astype(int))
    # A cut lies between scores that were seen, so that equal ones fall on one side.
    cuts = seen[places]
    lowest = max(cuts[0] - 1.0, -np.finfo(float).max)
    cuts = np.concatenate([[lowest], cuts])
    z = float(ndtri(level if few else level / _LOOKS))
    found = []
    for higher in (True, False):
        counts = [_beyond(side, cuts, higher) for side in (absent, present)]
        promise = np.maximum(
            _promise(counts[1], len(present), counts[0], len(absent), delta, z, more),
            _promise(
                len(absent) - counts[0],
                len(absent),
                len(present) - counts[1],
                len(present),
                delta,
                z,
                more,
            ),
        )
        best = int(np.argmax(promise))
        found.append(_Event(float(promise[best]), scorer, higher, float(cuts[best]), few))
    return found


def _beyond(side: Array, cuts: Array, higher: bool) -> Array:
    ordered = np.sort(side)
    if higher:
        return np.asarray(ordered.size - np.searchsorted(ordered, cuts, side="right"), dtype=float)
    return np.asarray(np.searchsorted(ordered, cuts, side="left"), dtype=float)


def _promise(
    tested: Array,
    of_tested: int,
    reference: Array,
    of_reference: int,
    delta: float,
    z: float,
    more: float,
) -> Array:
    """Roughly the bound on ε that ``more`` times the calls will give, with doubt about these."""
    with np.errstate(divide="ignore"):
        ratio = np.log(np.maximum(tested / of_tested - delta, 0.0))
    ratio = ratio - np.log((reference + 0.5) / (of_reference + 1))
    noise = np.sqrt(1 / ((tested + 0.5) * more) + 1 / ((reference + 0.5) * more))
    doubt = np.sqrt(1 / (tested + 0.5) + 1 / (reference + 0.5))
    return np.asarray(ratio + z * noise - _DOUBT * doubt)
