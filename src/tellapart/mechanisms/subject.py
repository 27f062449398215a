"""The subject of risks, plots and choices: a mechanism, or a trade-off curve for many of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from tellapart import _checks
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.batches.random_allocation import Allocated
from tellapart.mechanisms.combine import Sampled, parts_of
from tellapart.mechanisms.custom import Promise

Subject = Mechanism | TradeoffCurve


@runtime_checkable
class NoisyAnswer(Protocol):
    """A mechanism whose answer is a number, and that knows how far off it may be."""

    def deviation(self) -> float:
        """How far the noisy answer usually lies from the true one (standard deviation)."""

    def margin(self, coverage: float = 0.95) -> float:
        """How far the noisy answer lies from the true one at most, this share of the time."""


def answer_error(subject: object) -> tuple[float | None, float | None]:
    """How far off an answer is: its deviation, and ± what 95 % lie within; None for no number."""
    if isinstance(subject, NoisyAnswer):
        return subject.deviation(), subject.margin(0.95)
    return None, None


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
    >>> scope(ta.dp_sgd(1.0, 0.01, 100)).partition("; ")[0]
    'specific to this mechanism with Poisson sampling (neighbours add or remove one record)'
    """
    if isinstance(subject, Promise):
        return scope(subject.curve())
    if isinstance(subject, Mechanism):
        return (
            f"specific to this mechanism{_drawn(subject)}; another (ε, δ) mechanism may leak more"
        )
    if subject.bound is Bound.LOWER:
        return "valid for every mechanism with this guarantee"
    if subject.bound is Bound.UPPER:
        return "shown by this attack; another attack may do better"
    return "specific to this pair of distributions"


_SCHEMES = {
    Sampling.POISSON: "Poisson sampling",
    Sampling.WITHOUT_REPLACEMENT: "batches of fixed size",
    Sampling.RANDOM_ALLOCATION: "random allocation",
}


def _drawn(mechanism: Mechanism) -> str:
    """How batches are drawn, which changes every number, and between which neighbours."""
    schemes = dict.fromkeys(filter(None, (_scheme(step) for step, _ in parts_of(mechanism))))
    if not schemes:
        return ""
    said = " and ".join(_SCHEMES[scheme] for scheme in schemes)
    return f" with {said} (neighbours {mechanism.neighbours.value.partition(' (')[0]})"


def _scheme(step: Mechanism) -> Sampling | None:
    """How a step picks records; an epoch of random allocation that is cut short is one, too."""
    scheme = None
    while isinstance(step, Sampled):
        scheme, step = scheme or step.scheme, step.base
    return Sampling.RANDOM_ALLOCATION if isinstance(step, Allocated) else scheme
