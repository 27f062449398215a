"""Floating-point attacks: what the last bits reveal, by which doubles a sampler can return."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.evidence.base import Power, claimed_delta
from tellapart.audit.evidence.count import CountEvidence, from_counts
from tellapart.audit.probing.calling.caller import detect_convention, refuse_equal_inputs
from tellapart.audit.probing.calling.calls import draw
from tellapart.audit.probing.calling.outputs import CallOutputs
from tellapart.audit.probing.exchangeability import refuse_if_calls_share, refuse_unjudgeable
from tellapart.audit.probing.features.columns import What
from tellapart.audit.probing.features.extract import Encoding, learn
from tellapart.audit.probing.float_samplers import (
    NO_BITS,
    SAMPLERS,
    Both,
    FloatSampler,
    Guess,
    bits,
    guesses,
)
from tellapart.audit.verdict import Verdict, describe, judge
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject, curve_of

Flags = NDArray[np.bool_]
W = TypeVar("W", int, NDArray[np.int64])

# How much likelier, as a logarithm, one input must have made a pair of bits.
_RATIOS = (1.5, 2.5)
_MOST_SINGLE = 16
_MOST_WORDS = 3
# A sampler that gave these outputs gives all of them.
_FEW = 64
_BLOCK = 1 << 16
_DOUBT = 0.5
# What pairs of bits must promise beyond simpler events: rare pairs may yet turn up elsewhere.
_EXTRA = 0.5


class BitEvent(ABC):
    """Something that the bits of an output say, and the same for every output."""

    @abstractmethod
    def happened(self, outputs: Array) -> Flags:
        """Whether it is so, output by output, one row each."""

    @abstractmethod
    def words(self, happened: bool) -> str:
        """That it is so, or that it is not."""


@dataclass(frozen=True)
class Finer(BitEvent):
    """Some number has bits below a power of two."""

    places: tuple[int, ...]
    exponent: int
    name: str

    def happened(self, outputs: Array) -> Flags:
        return np.asarray((bits(outputs[:, self.places]).lowest < self.exponent).any(axis=1))

    def words(self, happened: bool) -> str:
        return f"{self.name} has {'' if happened else 'no '}bits below 2^{self.exponent}"


@dataclass(frozen=True)
class Ends(BitEvent):
    """The highest and the lowest bit of a number are one of some pairs."""

    place: int
    pairs: frozenset[tuple[int, int]]
    name: str

    def happened(self, outputs: Array) -> Flags:
        return np.isin(_codes(outputs[:, self.place]), [_code(*pair) for pair in self.pairs])

    def words(self, happened: bool) -> str:
        listed = [f"2^{high} and 2^{low}" for high, low in sorted(self.pairs)]
        more = len(listed) - _MOST_WORDS
        said = " or ".join(listed[:_MOST_WORDS]) + (f" or {more} other pairs" if more > 0 else "")
        verb = "are" if happened else "are not"
        return f"the highest and lowest bits of {self.name} {verb} {said}"


@dataclass(frozen=True)
class Unreached(BitEvent):
    """No uniform number makes a sampler give this output around one input's answer."""

    sampler: FloatSampler
    groups: tuple[tuple[int, ...], ...]
    centre: tuple[float, ...]
    scale: float
    side: str
    name: str

    def happened(self, outputs: Array) -> Flags:
        middle = np.array(self.centre)
        reached = [
            self.sampler.reached(outputs[:, group], middle[list(group)], self.scale)
            for group in self.groups
        ]
        return np.asarray(~np.logical_and.reduce(reached))

    def words(self, happened: bool) -> str:
        places = list(itertools.chain.from_iterable(self.groups))
        around = ", ".join(short(self.centre[place]) for place in places[:_MOST_WORDS])
        around += ", ..." if len(places) > _MOST_WORDS else ""
        verb = "cannot" if happened else "can"
        return (
            f"{self.sampler.name} of scale {short(self.scale)} around {around}, the answer "
            f"assumed on {self.side}, {verb} produce the bits of {self.name}"
        )


def best(
    events: Iterable[BitEvent], learnt: Both, weighed: Both, delta: float
) -> tuple[BitEvent, bool]:
    """The event that should show the largest ε, and whether it is d1 that makes it likelier."""
    whole = np.concatenate([learnt[0], weighed[0]]), np.concatenate([learnt[1], weighed[1]])
    candidates = [
        # Pairs were chosen by how often they were seen, and must show it anew.
        (*_promise(*_counts(event, weighed if isinstance(event, Ends) else whole), delta), event)
        for event in events
    ]
    _, more, event = max(
        candidates, key=lambda candidate: candidate[0] - _EXTRA * isinstance(candidate[2], Ends)
    )
    return event, more


def times(event: BitEvent, outputs: Array) -> int:
    """How often it happened; a block at a time, as samplers try many grid points."""
    starts = range(0, len(outputs), _BLOCK)
    return sum(int(event.happened(outputs[at : at + _BLOCK]).sum()) for at in starts)


def _counts(event: BitEvent, weighed: Both) -> tuple[int, int, int]:
    return times(event, weighed[0]), times(event, weighed[1]), len(weighed[0])


def _promise(absent: int, present: int, count: int, delta: float) -> tuple[float, bool]:
    """Roughly the ε it shows, in either order, by what happens or by what does not."""
    some = np.array([present, absent, count - absent, count - present], dtype=float)
    others = np.array([absent, present, count - present, count - absent], dtype=float)
    share = np.maximum(some / count - delta, 1e-300)
    doubt = np.sqrt(1 / (some + 0.5) + 1 / (others + 0.5))
    worth = np.log(share) - np.log((others + 0.5) / (count + 1)) - _DOUBT * doubt
    return float(worth.max()), present >= absent


# -- what is tried -------------------------------------------------------------------------------


def precision(learnt: Both, names: tuple[str, ...]) -> Iterator[BitEvent]:
    """Events that need nothing known: how fine outputs are, and how large with that."""
    columns = range(len(names))
    lowest = bits(np.concatenate(learnt)).lowest
    some = "output" if len(names) == 1 else "some number of the output"
    groups = {(place,): names[place] for place in columns} | {tuple(columns): some}
    for places, name in groups.items():
        # What is a whole number has no last bits.
        for exponent in np.unique(np.minimum(lowest[:, places], 0)).tolist():
            yield Finer(places, exponent, name)
    for place in columns:
        yield from _ends(learnt, place, names[place])


def _ends(learnt: Both, place: int, name: str) -> Iterator[Ends]:
    codes = [_codes(side[:, place]) for side in learnt]
    seen = np.unique(np.concatenate(codes))
    seen = seen[seen < _code(NO_BITS, NO_BITS)]
    counts = [np.searchsorted(np.sort(side), [seen, seen + 1]) for side in codes]
    absent, present = ((end - start) + 0.5 for start, end in counts)
    ratios = np.log(present / absent)
    for ratio, way in itertools.product(_RATIOS, (1, -1)):
        telling = seen[way * ratios > ratio].tolist()
        if telling:
            yield Ends(place, frozenset(map(_pair, telling)), name)


def _codes(values: Array) -> NDArray[np.int64]:
    placed = bits(values)
    return np.asarray(_code(placed.highest, placed.lowest))


def _code(highest: W, lowest: W) -> W:
    return (highest + NO_BITS) * 4 * NO_BITS + lowest + NO_BITS


def _pair(code: int) -> tuple[int, int]:
    high, low = divmod(code, 4 * NO_BITS)
    return high - NO_BITS, low - NO_BITS


def reach(learnt: Both, names: tuple[str, ...], tried: Iterable[Guess]) -> Iterator[BitEvent]:
    """Events of samplers that can have given all outputs on one input, by a guess."""
    for guess, sampler in itertools.product(tried, SAMPLERS):
        if sampler.law != guess.law:
            continue
        for groups, name in _groups(sampler, names, guess):
            sides = zip(("d0", "d1"), guess.centres, learnt, strict=True)
            for side, centre, outputs in sides:
                middle = tuple(centre.tolist())
                event = Unreached(sampler, groups, middle, guess.scale, side, name)
                # A few outputs are enough to drop most guesses.
                if not event.happened(outputs[:_FEW]).any() and not event.happened(outputs).any():
                    yield event


def _groups(
    sampler: FloatSampler, names: tuple[str, ...], guess: Guess
) -> Iterator[tuple[tuple[tuple[int, ...], ...], str]]:
    """Numbers to look at: each by itself whose answers differ, and all of them."""
    starts = range(0, len(names) - sampler.takes + 1, sampler.takes)
    every = tuple(tuple(range(start, start + sampler.takes)) for start in starts)
    moved = guess.centres[0] != guess.centres[1]
    telling = [group for group in every if moved[list(group)].any()][:_MOST_SINGLE]
    for group in telling:
        yield (group,), " and ".join(names[place] for place in group)
    if len(every) > 1 and telling:
        yield every, "the output"


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
    method = "one event of bits, chosen on held-out calls"
    about: str = (
        "This is about the bits of the sampler: which doubles the program can return. Whether "
        "the mechanism on paper, of real numbers, keeps the claim is what audit.probe asks."
    )

    def _power(self, claim: TradeoffCurve) -> Power:
        raise Unsupported("no family of alternatives is known for leaks by bits")


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
    refuse_equal_inputs(d0, d1)
    caller = detect_convention(mechanism, d0, d1, timeout=timeout, seed=key)
    outputs = [draw(caller, data, count, (key, k)) for k, data in enumerate((d0, d1))]
    refuse_unjudgeable(caller, (d0, d1), (outputs[0], outputs[1]))
    aside = int(_ASIDE * count)
    encoding = _floats(outputs[0][:aside], outputs[1][:aside], known)
    refuse_if_calls_share(caller, (d0, d1), (outputs[0], outputs[1]), encoding, key)
    absent, present = (encoding(side).matrix for side in outputs)
    names = tuple(column.name for column in encoding.columns)
    half = aside // 2
    learnt, weighed = ((absent[part], present[part]) for part in (slice(half), slice(half, aside)))
    epsilon = curve.claimed_epsilon if isinstance(curve, GuaranteeCurve) else None
    tried = guesses(learnt, (d0, d1), known, width, epsilon)
    events = itertools.chain(precision(learnt, names), reach(learnt, names, tried))
    event, likelier = best(events, learnt, weighed, claimed_delta(curve))
    left = count - aside
    seen = [times(event, side[aside:]) for side in (present, absent)]
    flagged = seen if likelier else [left - times_seen for times_seen in seen]
    counts = Counts(flagged[0], left, flagged[1], left)
    evidence = BitEvidence(counts, from_counts(counts, confidence).ledger, event.words(likelier))
    return judge(claim, evidence, name=f"{describe(claim)}, for the bits of its floats")


def _answers(centres: Any) -> Both:
    """The true answers on both inputs, each as a row of numbers."""
    if not isinstance(centres, Sequence | np.ndarray) or len(centres) != 2:
        _checks.refuse("centres", "be the two answers, on d0 and on d1", centres)
    first, second = (np.atleast_1d(_checks.reals(centres=answer)).ravel() for answer in centres)
    if first.shape != second.shape or not np.isfinite(first + second).all():
        _checks.refuse("centres", "be two finite answers of one length", centres)
    return first, second


def _floats(first: CallOutputs, second: CallOutputs, centres: Both | None) -> Encoding:
    """How the floats of an output are read."""
    arrays = [side.values for side in (first, second) if isinstance(side.values, np.ndarray)]
    if any(array.dtype.kind != "f" for array in arrays):
        raise Unsupported(_NO_FLOATS)
    encoding = learn(first, second)
    encoding = Encoding(tuple(column for column in encoding.columns if column.what is What.VALUE))
    if not encoding.columns:
        raise Unsupported(_NO_FLOATS)
    if len(arrays) < 2 and not any(_fractions(encoding(side).matrix) for side in (first, second)):
        raise Unsupported(_NO_FLOATS)
    if centres is not None and len(centres[0]) != len(encoding.columns):
        rule = f"hold as many numbers as an output ({len(encoding.columns)})"
        _checks.refuse("centres", rule, centres)
    return encoding


def _fractions(values: Array) -> bool:
    known = values[np.isfinite(values)]
    return bool((known != np.rint(known)).any())
