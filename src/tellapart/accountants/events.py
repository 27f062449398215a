"""dp_accounting's event trees (DpEvent) as mechanisms.

Events are known by the names of their classes, so that reading one imports nothing. The table at
the end says what becomes of each; what is not in it is refused, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from tellapart import _checks
from tellapart.curve.base import Bound
from tellapart.curve.guarantees import everything, nothing
from tellapart.errors import UnreadableEvent
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.choice import RandomizedResponse
from tellapart.mechanisms.combine import compose
from tellapart.mechanisms.custom import CustomMechanism
from tellapart.mechanisms.discrete import DiscreteLaplace
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.neighbours import Neighbours

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent
    from dp_accounting.privacy_accountant import NeighboringRelation


class _Relation(Enum):
    """dp_accounting's neighbouring relations, by their names there."""

    ADD_OR_REMOVE_ONE = "a record is there or not"
    REPLACE_ONE = "a record is this or that"
    REPLACE_SPECIAL = "a record is there or blank"  # to a sum the same as not there

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE if self is _Relation.REPLACE_ONE else Neighbours.ADD_REMOVE

    @property
    def reach(self) -> int:
        """How far an answer moves if each record contributes at most 1: replacing may undo −1."""
        return 2 if self is _Relation.REPLACE_ONE else 1


class _End(Enum):
    """Events that need no mechanism, as they decide what becomes of everything around them."""

    NOTHING = "nothing is released"
    EVERYTHING = "nothing is promised"


_Found = Mechanism | _End


@dataclass(frozen=True)
class _EventPath:
    """Where in the tree an event stands, and under which relation."""

    path: str
    relation: _Relation
    on_sample: bool = False

    def inside(self, name: str, on_sample: bool = False) -> _EventPath:
        """The place of a part of this event."""
        return replace(self, path=f"{self.path}.{name}", on_sample=self.on_sample or on_sample)

    def refuse(self, event: DpEvent, why: str) -> NoReturn:
        raise UnreadableEvent(event, f"{type(event).__name__} at {self.path} cannot be read: {why}")

    def named(self, **value_by_name: Any) -> dict[str, Any]:
        """A value under its full name, for a check."""
        return {f"{self.path}.{name}": value for name, value in value_by_name.items()}


def from_dp_event(
    event: DpEvent, neighboring_relation: NeighboringRelation | None = None
) -> Mechanism:
    """A dp_accounting event tree as a mechanism, whose curve answers every question about it.

    The relation is dp_accounting's, and add-or-remove where none is given. Under ``REPLACE_ONE``
    an answer moves twice as far as one record contributes; ``REPLACE_SPECIAL`` reads as add or
    remove. What has no exact counterpart raises `Unsupported`, which says where in the tree.

    >>> import dp_accounting as dp
    >>> step = dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0))
    >>> from_dp_event(dp.SelfComposedDpEvent(step, 1_000))
    Gaussian(sigma=1.0).sampled(0.01).repeated(1000)

    See Also
    --------
    tellapart.accountants.dp_accounting.CurveAccountant : a ledger of such events
    """
    relation = _relation(neighboring_relation)
    reading = _read(event, _EventPath("event", relation))
    if isinstance(reading, Mechanism):
        return reading
    # No more is known of what is not private than that nothing is promised: a lower bound.
    test = nothing() if reading is _End.NOTHING else everything(Bound.LOWER)
    return CustomMechanism(test, neighbours=relation.neighbours)


def _relation(given: Any) -> _Relation:
    if given is None:
        return _Relation.ADD_OR_REMOVE_ONE
    known = _Relation.__members__ if _is_theirs(type(given), "NeighboringRelation") else {}
    if getattr(given, "name", None) not in known:
        _checks.refuse("neighboring_relation", "be a dp_accounting NeighboringRelation", given)
    return known[given.name]


def _is_theirs(kind: type, name: str) -> bool:
    return kind.__name__ == name and kind.__module__.partition(".")[0] == "dp_accounting"


def _read(event: Any, place: _EventPath) -> _Found:
    kinds = type(event).__mro__
    if not any(_is_theirs(kind, "DpEvent") for kind in kinds):
        _checks.refuse(place.path, "be a dp_accounting DpEvent", event)
    # An event that extends another is that other, as in dp_accounting.
    names = (kind.__name__ for kind in kinds if _is_theirs(kind, kind.__name__))
    read = next((READERS[name] for name in names if name in READERS), _refused)
    return read(event, place)


def _refused(event: Any, place: _EventPath) -> _Found:
    why = _REASONS.get(type(event).__name__, "tellapart knows no mechanism for it")
    place.refuse(event, why)


def _noisy(kind: type[Gaussian] | type[Laplace], event: Any, place: _EventPath) -> _Found:
    """A sum with noise told in units of what one record contributes."""
    noise = _checks.at_least_zero(**place.named(noise_multiplier=event.noise_multiplier))
    relation = place.relation
    if noise == 0:
        return _End.EVERYTHING
    return kind(noise, relation.reach, neighbours=relation.neighbours)


def _discrete_laplace(event: Any, place: _EventPath) -> _Found:
    rate = _checks.finite_at_least_zero(**place.named(noise_parameter=event.noise_parameter))
    size = _checks.whole(0, **place.named(sensitivity=event.sensitivity))
    relation = place.relation
    if rate == 0:  # no law at all; dp_accounting takes it for no privacy
        return _End.EVERYTHING
    return DiscreteLaplace(1 / rate, size * relation.reach, neighbours=relation.neighbours)


def _randomized_response(event: Any, place: _EventPath) -> _Found:
    p = _checks.probability(**place.named(noise_parameter=event.noise_parameter))
    k = _checks.whole(1, **place.named(num_buckets=event.num_buckets))
    if place.on_sample:
        place.refuse(event, "who is not sampled would be seen not to answer")
    if place.relation is _Relation.ADD_OR_REMOVE_ONE:
        place.refuse(event, "it needs REPLACE_ONE or REPLACE_SPECIAL, as each person answers")
    if k == 1:
        return _End.NOTHING
    if p == 0:
        return _End.EVERYTHING
    if place.relation is _Relation.REPLACE_SPECIAL:  # a blank answers with any bucket
        truth, other = 1 - p * (k - 1) / k, p * (k - 1) / k
        return CustomMechanism.from_pmfs(absent=[1 / k, 1 - 1 / k], present=[truth, other])
    odds = k * (1 - p) / p
    epsilon = math.log1p(odds) if math.isfinite(odds) else math.log(k) - math.log(p)
    return RandomizedResponse(epsilon, k)


def _tree_aggregation(event: Any, place: _EventPath) -> _Found:
    """A record is in one leaf, so in as many nodes as its tree has levels, each with noise."""
    noise = _checks.at_least_zero(**place.named(noise_multiplier=event.noise_multiplier))
    counts = event.step_counts if isinstance(event.step_counts, Iterable) else [event.step_counts]
    steps = [_checks.whole(0, **place.named(step_counts=count)) for count in counts]
    if place.relation is not _Relation.REPLACE_SPECIAL or place.on_sample:
        place.refuse(event, "it needs REPLACE_SPECIAL and all records, as each keeps its step")
    if not any(steps):
        _checks.refuse(f"{place.path}.step_counts", "count at least one step", event.step_counts)
    levels = max(steps).bit_length()
    return Gaussian(noise, math.sqrt(levels)) if noise else _End.EVERYTHING


def _poisson_sampled(event: Any, place: _EventPath) -> _Found:
    rate = _checks.probability(**place.named(sampling_probability=event.sampling_probability))
    if place.relation is _Relation.REPLACE_ONE:
        place.refuse(event, "Poisson samples need neighbours that add or remove one record")
    base = _read(event.event, place.inside("event", on_sample=rate < 1))
    if rate == 0:
        return _End.NOTHING
    # Some revelation some of the time counts as revelation: no more is known of it.
    return base if rate == 1 or isinstance(base, _End) else base.sampled(rate)


def _fixed_batch(event: Any, place: _EventPath) -> _Found:
    """Batches of fixed size: a guarantee from below, for records that are replaced."""
    total = _checks.whole(1, **place.named(source_dataset_size=event.source_dataset_size))
    size = _checks.whole(0, total, **place.named(sample_size=event.sample_size))
    if place.relation is not _Relation.REPLACE_ONE:
        place.refuse(event, "a batch of fixed size needs REPLACE_ONE")
    base = _read(event.event, place.inside("event", on_sample=size < total))
    if size == 0:
        return _End.NOTHING
    if size == total or isinstance(base, _End):
        return base
    return base.sampled(size / total, Sampling.WITHOUT_REPLACEMENT)


def _self_composed(event: Any, place: _EventPath) -> _Found:
    count = _checks.whole(0, 10**15, **place.named(count=event.count))
    base = _read(event.event, place.inside("event"))
    if count == 0:
        return _End.NOTHING
    return base if count == 1 or isinstance(base, _End) else base.repeated(count)


def _composed(event: Any, place: _EventPath) -> _Found:
    if not isinstance(event.events, Iterable):
        _checks.refuse(f"{place.path}.events", "be a list of events", event.events)
    readings = [_read(inner, place.inside(f"events[{k}]")) for k, inner in enumerate(event.events)]
    if _End.EVERYTHING in readings:
        return _End.EVERYTHING
    parts = [reading for reading in readings if isinstance(reading, Mechanism)]
    if len(parts) < 2:
        return parts[0] if parts else _End.NOTHING
    return compose(parts)


READERS: dict[str, Callable[[Any, _EventPath], _Found]] = {
    "ComposedDpEvent": _composed,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "GaussianDpEvent": partial(_noisy, Gaussian),
    "LaplaceDpEvent": partial(_noisy, Laplace),
    "NoOpDpEvent": lambda event, place: _End.NOTHING,
    "NonPrivateDpEvent": lambda event, place: _End.EVERYTHING,
    "PoissonSampledDpEvent": _poisson_sampled,
    "RandomizedResponseDpEvent": _randomized_response,
    "SampledWithoutReplacementDpEvent": _fixed_batch,
    "SelfComposedDpEvent": _self_composed,
    "SingleEpochTreeAggregationDpEvent": _tree_aggregation,
}

# Where the next ones go: an event moves up once tellapart has its mechanism.
_REASONS = {
    "EpsilonDeltaDpEvent": "ta.Promise(epsilon, delta) is its mechanism",
    "MixtureOfGaussiansDpEvent": "mixtures of Gaussians are no mechanism yet",
    "TruncatedSubsampledGaussianDpEvent": "batches that are cut short are no mechanism yet",
    "ZCDpEvent": "a promise of zCDP is no mechanism; ta.guarantee(zcdp=...) is its curve",
}
