"""The subject of risks, plots and choices: a mechanism, or a trade-off curve for many of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from tellapart import _checks
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.errors import InvalidArgument, NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.batches.poisson_replace_one import PoissonReplaceOne
from tellapart.mechanisms.batches.random_allocation import Allocated
from tellapart.mechanisms.batches.shuffled_epochs import ShuffledEpoch
from tellapart.mechanisms.batches.truncated_poisson import TruncatedPoisson
from tellapart.mechanisms.combine import Combined, Sampled, stays_open
from tellapart.mechanisms.custom import Promise

Subject = Mechanism | TradeoffCurve

_BATCHES = {
    Sampling.POISSON: "Poisson-sampled batches",
    Sampling.WITHOUT_REPLACEMENT: "batches of fixed size drawn afresh for each step",
    Sampling.RANDOM_ALLOCATION: "batches by random allocation (balls in bins)",
    Sampling.TRUNCATED_POISSON: "Poisson-sampled batches, cut down to the largest batch",
    Sampling.SHUFFLED: "batches cut from a random order of the records, a new one each epoch",
}
_NEAR = 1e-5
_MORE = "shuffled batches can leak far more (documentation: sharp edges)"
_APART = "no amplification by the random order is claimed, as no tight bound is known"


@runtime_checkable
class NoisyAnswer(Protocol):
    """A mechanism whose answer is a number, and that knows how far off it may be."""

    def deviation(self) -> float:
        """How far the noisy answer usually lies from the true one (standard deviation)."""

    def margin(self, coverage: float = 0.95, cells: int = 1) -> float:
        """How far the furthest of so many noisy answers is off at most, this share of the time."""


def curve_of(subject: Subject, name: str = "subject") -> TradeoffCurve:
    """The curve of a mechanism, or a curve itself."""
    if isinstance(subject, Mechanism):
        return subject.curve()
    if not isinstance(subject, TradeoffCurve):
        _checks.refuse(name, "be a mechanism or a curve", subject)
    return subject


def curves_of(subjects: Mapping[str, Subject]) -> dict[str, TradeoffCurve]:
    """The curves behind a mapping from names to mechanisms or curves."""
    if not isinstance(subjects, Mapping) or not subjects:
        rule = 'map names to mechanisms or curves, as {"Laplace": ta.Laplace(1)} does'
        _checks.refuse("subjects", rule, subjects)
    for name in subjects:
        if not isinstance(name, str):
            _checks.refuse("subjects", "have names that are texts", name)
    return {name: curve_of(subject, f"subjects[{name!r}]") for name, subject in subjects.items()}


def scope(subject: Subject) -> str:
    """Whether numbers read off this subject are for one mechanism, or for all with a guarantee.

    >>> import tellapart as ta
    >>> scope(ta.guarantee(epsilon=1))
    'valid for every mechanism with this guarantee'
    >>> scope(ta.Laplace(scale=1))
    'specific to this mechanism; another (ε, δ) mechanism may leak more'
    >>> scope(ta.Laplace(scale=1).sampled(0.1).repeated(2))
    'upper bounds specific to this mechanism; another (ε, δ) mechanism may leak more'
    >>> scope(ta.Promise(epsilon=1).repeated(12))
    'valid for any 12 mechanisms with this guarantee each'
    """
    if isinstance(subject, Promise):
        return scope(subject.curve())
    if isinstance(subject, Combined):
        promises = [(step, count) for step, count in subject.steps() if isinstance(step, Promise)]
        if len(promises) == len(subject.steps()):  # promises compose by their worst cases
            number = sum(count for _, count in promises)
            if len({step for step, _ in promises}) > 1:
                return f"valid for any {number:,} mechanisms with these guarantees"
            return f"valid for any {number:,} mechanisms with this guarantee each"
    if isinstance(subject, Mechanism):
        bounds = "upper bounds " if subject.curve().bound is Bound.LOWER else ""
        return f"{bounds}specific to this mechanism; another (ε, δ) mechanism may leak more"
    if subject.bound is Bound.LOWER:
        return "valid for every mechanism with this guarantee"
    if subject.bound is Bound.UPPER:
        return "shown by this attack; another attack may do better"
    return "specific to this pair of distributions"


def sampling_assumption(subject: Subject) -> str:
    """How batches must be drawn, and which neighbours are meant; empty where nothing is sampled.

    >>> import tellapart as ta
    >>> sampling_assumption(ta.dp_sgd(1, sampling_rate=0.01, steps=100)).partition(", and")[0]
    'Assumes Poisson-sampled batches, neighbours that add or remove one record'
    """
    schemes = list(dict.fromkeys(scheme for scheme, _ in _samples(subject)))
    if not schemes or not isinstance(subject, Mechanism):
        return ""
    batches = " and ".join(_BATCHES[scheme] for scheme in schemes)
    change = subject.neighbours.value.partition(" (")[0]
    rest = _APART if Sampling.SHUFFLED in schemes else _MORE
    return (
        f"Assumes {batches}, neighbours that {change}, and an attacker who sees every step; {rest}."
    )


def attacked(subject: Subject, delta: float) -> TradeoffCurve | None:
    """What some attack surely reaches, near this δ, where that is not as good as the guarantee.

    >>> import tellapart as ta
    >>> attacked(ta.dp_sgd(1, 0.01, 100), delta=1e-5) is None
    True
    >>> shuffled = ta.dp_sgd(1, 0.01, 100, scheme=ta.Sampling.SHUFFLED)
    >>> round(attacked(shuffled, delta=1e-5).epsilon(delta=1e-5), 2)
    4.07
    """
    if not isinstance(subject, Mechanism) or not stays_open(subject):
        return None
    try:
        bracket = subject.bracket(delta if 0 < delta < 1 else _NEAR)
    except (InvalidArgument, NotCertified, Unsupported):  # a δ below what reveals all, among others
        return None
    return None if bracket.one_sided else bracket.upper


def poisson_rates(subject: Subject) -> tuple[float, ...]:
    """The probabilities with which a record is in a Poisson-sampled batch, each once."""
    poisson = (rate for scheme, rate in _samples(subject) if scheme is Sampling.POISSON)
    return tuple(dict.fromkeys(rate for rate in poisson if rate is not None))


def _samples(subject: Subject) -> list[tuple[Sampling, float | None]]:
    """The scheme of every step on a part of the data, and its rate where it has one."""
    samples: list[tuple[Sampling, float | None]] = []
    for step, _ in subject.steps() if isinstance(subject, Combined) else ((subject, 1),):
        # An epoch of random allocation that is cut short is one, too.
        inner = step.base if isinstance(step, Sampled) else step
        if isinstance(step, Sampled) and step.rate < 1 and not isinstance(inner, Allocated):
            samples.append((step.scheme, step.rate))
        elif isinstance(inner, Allocated):
            samples.append((Sampling.RANDOM_ALLOCATION, None))
        elif isinstance(step, ShuffledEpoch):
            samples.append((Sampling.SHUFFLED, None))
        elif isinstance(step, TruncatedPoisson):
            samples.append((Sampling.TRUNCATED_POISSON, None))
        elif isinstance(step, PoissonReplaceOne) and step.rate < 1:
            samples.append((Sampling.POISSON, step.rate))
    return samples
