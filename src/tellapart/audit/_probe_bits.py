"""What the last bits of floats reveal: which doubles a sampler can return on which input."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit._bit_events import best, precision, reach, times
from tellapart.audit._by_count import CountEvidence, from_counts
from tellapart.audit.counts import Counts
from tellapart.audit.evidence import Power
from tellapart.audit.verdict import Verdict, describe, judge
from tellapart.blackbox.afresh import refuse_if_calls_share
from tellapart.blackbox.answers import Both, guesses
from tellapart.blackbox.calls import draw
from tellapart.blackbox.columns import What
from tellapart.blackbox.features import Encoding, learn
from tellapart.blackbox.kept_noise import refuse_unjudgeable
from tellapart.blackbox.outputs import Outputs
from tellapart.blackbox.settling import settle
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject, curve_of

# The share of the calls on which an event is sought; half of it learns, half weighs.
_ASIDE = 0.1
_FEWEST = 100
_NO_FLOATS = (
    "outputs hold no floats, and only floats have last bits to read: "
    "audit.probe judges whole numbers and categories"
)


@dataclass(frozen=True, repr=False)
class BitEvidence(CountEvidence):
    """How often an event of bits happened on either input, chosen on calls set aside."""

    sides: tuple[str, str] = ("outputs on d1", "outputs on d0")
    method = "one event of bits, chosen on a part set aside"
    about: str = (
        "This is about the bits of the sampler: which doubles the program can return. Whether "
        "the mechanism on paper, of real numbers, keeps the claim is what audit.probe asks."
    )

    def _power(self, claim: TradeoffCurve) -> Power:
        raise Unsupported("leaks of bits come in no strengths that could be compared")


def probe_bits(
    mechanism: Callable[..., Any],
    d0: Any,
    d1: Any,
    *,
    claim: Subject,
    samples: int = 20_000,
    confidence: float = 0.95,
    seed: int = 0,
    timeout: float | None = None,
    centres: tuple[Any, Any] | None = None,
    scale: float | None = None,
) -> Verdict:
    """Whether the last bits of a mechanism's floats break its claim on two neighbouring inputs.

    Noise added in doubles is rounded, and a sampler reaches only some doubles: both depend on
    the true answer. ``centres`` are the true answers on ``d0`` and ``d1``, ``scale`` is that of
    the noise; what is not given is guessed. A tenth of the calls serves to find an event of
    bits, the others to certify it, so that a wrong guess costs power and no soundness.

    >>> def noisy_count(data, rng, size=None):
    ...     return len(data) + rng.laplace(0, 1, size)       # keeps ε = 1 on paper
    >>> import tellapart as ta
    >>> verdict = probe_bits(noisy_count, [], [5], claim=ta.guarantee(epsilon=1))
    >>> verdict.refuted
    True
    """
    curve = curve_of(claim, "claim")
    count = _checks.whole(_FEWEST, 10**8, samples=samples)
    _checks.inside_unit(confidence=confidence)
    key = _checks.whole(0, 2**62, seed=seed)
    known = None if centres is None else _answers(centres)
    width = None if scale is None else _checks.finite_above_zero(scale=scale)
    caller = settle(mechanism, d0, d1, timeout=timeout, seed=key)
    outputs = [draw(caller, data, count, (key, k)) for k, data in enumerate((d0, d1))]
    refuse_unjudgeable(caller, (d0, d1), (outputs[0], outputs[1]))
    aside = int(_ASIDE * count)
    encoding = _floats(outputs[0][:aside], outputs[1][:aside], known)
    refuse_if_calls_share(caller, (d0, d1), (outputs[0], outputs[1]), encoding, key)
    absent, present = (encoding(one).matrix for one in outputs)
    names = tuple(column.name for column in encoding.columns)
    half = aside // 2
    learnt, weighed = ((absent[part], present[part]) for part in (slice(half), slice(half, aside)))
    epsilon, delta = _claimed(curve)
    tried = guesses(learnt, (d0, d1), known, width, epsilon)
    events = itertools.chain(precision(learnt, names), reach(learnt, names, tried))
    event, likelier = best(events, learnt, weighed, delta)
    left = count - aside
    seen = [times(event, one[aside:]) for one in (present, absent)]
    accused = seen if likelier else [left - one for one in seen]
    counts = Counts(accused[0], left, accused[1], left)
    found = BitEvidence(counts, from_counts(counts, confidence).ledger, event.words(likelier))
    return judge(claim, found, name=f"{describe(claim)}, for the bits of its floats")


def _claimed(curve: TradeoffCurve) -> tuple[float | None, float]:
    if isinstance(curve, GuaranteeCurve):
        return curve.claimed_epsilon, curve.claimed_delta
    return None, 0.0


def _answers(centres: Any) -> Both:
    """The true answers on both inputs, each as a row of numbers."""
    if not isinstance(centres, Sequence | np.ndarray) or len(centres) != 2:
        _checks.refuse("centres", "be the two answers, on d0 and on d1", centres)
    first, second = (np.atleast_1d(_checks.reals(centres=one)).ravel() for one in centres)
    if first.shape != second.shape or not np.isfinite(first + second).all():
        _checks.refuse("centres", "be two finite answers of one length", centres)
    return first, second


def _floats(first: Outputs, second: Outputs, centres: Both | None) -> Encoding:
    """How the floats of an output are read."""
    arrays = [one.values for one in (first, second) if isinstance(one.values, np.ndarray)]
    if any(array.dtype.kind != "f" for array in arrays):
        raise Unsupported(_NO_FLOATS)
    encoding = learn(first, second)
    encoding = Encoding(tuple(one for one in encoding.columns if one.what is What.VALUE))
    if not encoding.columns:
        raise Unsupported(_NO_FLOATS)
    if len(arrays) < 2 and not any(_fractions(encoding(one).matrix) for one in (first, second)):
        raise Unsupported(_NO_FLOATS)
    if centres is not None and len(centres[0]) != len(encoding.columns):
        rule = f"hold as many numbers as an output ({len(encoding.columns)})"
        _checks.refuse("centres", rule, centres)
    return encoding


def _fractions(values: Array) -> bool:
    known = values[np.isfinite(values)]
    return bool((known != np.rint(known)).any())
