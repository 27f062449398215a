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
from tellapart.curve.composition.best_of import negative_binomial, poisson
from tellapart.curve.guarantees import everything, guarantee, nothing
from tellapart.errors import UnreadableEvent
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.batches.mixture_of_gaussians import MixtureOfGaussians
from tellapart.mechanisms.batches.poisson_replace_one import PoissonReplaceOne
from tellapart.mechanisms.batches.truncated_poisson import TruncatedPoisson
from tellapart.mechanisms.batches.with_replacement import WithReplacement
from tellapart.mechanisms.choice import ExponentialMechanism, PermuteAndFlip, RandomizedResponse
from tellapart.mechanisms.combine import compose
from tellapart.mechanisms.custom import CustomMechanism, Promise
from tellapart.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.neighbours import Neighbours

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent
    from dp_accounting.privacy_accountant import NeighboringRelation


_NEIGHBOURS = {
    "ADD_OR_REMOVE_ONE": Neighbours.ADD_REMOVE,
    "REPLACE_ONE": Neighbours.REPLACE,
    "REPLACE_SPECIAL": Neighbours.ZERO_OUT,
}


class _Relation(Enum):
    """dp_accounting's neighbouring relations, by their names there."""

    ADD_OR_REMOVE_ONE = "a record is there or not"
    REPLACE_ONE = "a record is this or that"
    REPLACE_SPECIAL = "a record is there or blank"

    @property
    def neighbours(self) -> Neighbours:
        return _NEIGHBOURS[self.name]

    @property
    def reach(self) -> int:
        """How far an answer moves if each record contributes at most 1: replacing may undo −1."""
        return 2 if self is _Relation.REPLACE_ONE else 1


class _End(Enum):
    """Events that need no mechanism, as they decide what becomes of everything around them."""

    NOTHING = "nothing is released"
    EVERYTHING = "nothing is promised"


_Found = Mechanism | _End
# Orders of Rényi divergence at which a promise of (ξ, ρ)-zCDP with ξ > 0 is read.
_ORDERS = tuple(1 + 2.0 ** (k / 4) for k in range(-24, 41))


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

    def need(self, event: DpEvent, relations: str, why: str) -> NoReturn:
        """Refuse a relation, in dp_accounting's own words where it has some."""
        listed = " or ".join(f"`{relation}`" for relation in relations.split())
        self.refuse(event, f"neighboring_relation must be {listed}, {why}")

    def named(self, **value_by_name: Any) -> dict[str, Any]:
        """A value under its full name, for a check."""
        return {f"{self.path}.{name}": value for name, value in value_by_name.items()}


_Reader = Callable[[Any, _EventPath], _Found]


def from_dp_event(
    event: DpEvent, neighboring_relation: NeighboringRelation | None = None
) -> Mechanism:
    """A dp_accounting event tree as a mechanism, whose curve answers every question about it.

    The relation is dp_accounting's, and add-or-remove where none is given. Under ``REPLACE_ONE``
    an answer moves twice as far as one record contributes; ``REPLACE_SPECIAL`` zeroes a record
    out. What has no counterpart that is proven raises `Unsupported`, which says where in the tree.

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
    place.refuse(event, "tellapart knows no mechanism for it")


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
        place.need(event, "REPLACE_ONE REPLACE_SPECIAL", "as each person answers")
    if k == 1:
        return _End.NOTHING
    if p == 0:
        return _End.EVERYTHING
    if place.relation is _Relation.REPLACE_SPECIAL:  # a blank answers with any bucket
        truth, other = 1 - p * (k - 1) / k, p * (k - 1) / k
        pair = {"absent": [1 / k, 1 - 1 / k], "present": [truth, other]}
        return CustomMechanism.from_pmfs(**pair, neighbours=Neighbours.ZERO_OUT)
    odds = k * (1 - p) / p
    epsilon = math.log1p(odds) if math.isfinite(odds) else math.log(k) - math.log(p)
    return RandomizedResponse(epsilon, k)


def _tree_aggregation(event: Any, place: _EventPath) -> _Found:
    """A record is in one leaf, so in as many nodes as its tree has levels, each with noise."""
    noise = _checks.at_least_zero(**place.named(noise_multiplier=event.noise_multiplier))
    counts = event.step_counts if isinstance(event.step_counts, Iterable) else [event.step_counts]
    steps = [_checks.whole(0, **place.named(step_counts=count)) for count in counts]
    if place.relation is not _Relation.REPLACE_SPECIAL or place.on_sample:
        place.need(event, "REPLACE_SPECIAL", "with all records, as each keeps its step")
    if not any(steps):
        _checks.refuse(f"{place.path}.step_counts", "count at least one step", event.step_counts)
    levels = max(steps).bit_length()
    if not noise:
        return _End.EVERYTHING
    return Gaussian(noise, math.sqrt(levels), neighbours=Neighbours.ZERO_OUT)


def _poisson_sampled(event: Any, place: _EventPath) -> _Found:
    rate = _checks.probability(**place.named(sampling_probability=event.sampling_probability))
    base = _read(event.event, place.inside("event", on_sample=rate < 1))
    if rate == 0:
        return _End.NOTHING
    if place.relation is _Relation.REPLACE_ONE and rate < 1 and isinstance(base, Mechanism):
        # Only of Gaussian sums is a pair known that no other exceeds.
        if not isinstance(base, Gaussian):
            why = "or the sampled event a GaussianDpEvent"
            place.need(event, "ADD_OR_REMOVE_ONE REPLACE_SPECIAL", why)
        return PoissonReplaceOne(base.sigma, rate, base.sensitivity / place.relation.reach)
    # Some revelation some of the time counts as revelation: no more is known of it.
    return base if rate == 1 or isinstance(base, _End) else base.sampled(rate)


def _fixed_batch(event: Any, place: _EventPath) -> _Found:
    """Batches of fixed size: a guarantee from below, for records that are replaced."""
    total = _checks.whole(1, **place.named(source_dataset_size=event.source_dataset_size))
    size = _checks.whole(0, total, **place.named(sample_size=event.sample_size))
    if place.relation is not _Relation.REPLACE_ONE:
        place.need(event, "REPLACE_ONE", "as batches have a fixed size")
    base = _read(event.event, place.inside("event", on_sample=size < total))
    if size == 0:
        return _End.NOTHING
    if size == total or isinstance(base, _End):
        return base
    return base.sampled(size / total, Sampling.WITHOUT_REPLACEMENT)


def _with_replacement(event: Any, place: _EventPath) -> _Found:
    """Draws that may repeat: a guarantee from below, for records that are blanked or replaced."""
    total = _checks.whole(1, **place.named(source_dataset_size=event.source_dataset_size))
    size = _checks.whole(0, **place.named(sample_size=event.sample_size))
    if place.relation is _Relation.ADD_OR_REMOVE_ONE:
        place.need(event, "REPLACE_SPECIAL REPLACE_ONE", "as draws are a fixed number")
    base = _read(event.event, place.inside("event", on_sample=True))
    if size == 0:
        return _End.NOTHING
    if isinstance(base, _End):
        return base
    if not isinstance(base, Gaussian):
        place.refuse(event, "draws with replacement are those of a GaussianDpEvent")
    return WithReplacement(base, size, total)


def _mixture(event: Any, place: _EventPath) -> _Found:
    noise = _checks.at_least_zero(**place.named(standard_deviation=event.standard_deviation))
    if place.relation is _Relation.REPLACE_ONE:
        place.need(event, "ADD_OR_REMOVE_ONE REPLACE_SPECIAL", "as one world has no such record")
    if not any(event.sensitivities):
        return _End.NOTHING
    if noise == 0:
        return _End.EVERYTHING
    relation = place.relation.neighbours
    return MixtureOfGaussians(noise, event.sensitivities, event.sampling_probs, neighbours=relation)


def _truncated(event: Any, place: _EventPath) -> _Found:
    """Poisson samples cut down to a largest batch; the data set is the larger of two neighbours."""
    noise = _checks.at_least_zero(**place.named(noise_multiplier=event.noise_multiplier))
    size = _checks.whole(0, **place.named(dataset_size=event.dataset_size))
    largest = _checks.whole(0, **place.named(truncated_batch_size=event.truncated_batch_size))
    rate = _checks.probability(**place.named(sampling_probability=event.sampling_probability))
    if place.relation is _Relation.REPLACE_ONE:
        place.need(event, "ADD_OR_REMOVE_ONE REPLACE_SPECIAL", "as no theorem is known")
    if not (size and largest and rate):
        return _End.NOTHING
    if noise == 0:
        return _End.EVERYTHING
    step = Gaussian(noise, neighbours=place.relation.neighbours)
    return TruncatedPoisson(step, rate, largest, size)


def _epsilon_delta(event: Any, place: _EventPath) -> _Found:
    return Promise(event.epsilon, event.delta, neighbours=place.relation.neighbours)


def _selected(kind: type[ExponentialMechanism] | type[PermuteAndFlip]) -> _Reader:
    """A selection whose ε is that of the relation, whichever it is."""
    return lambda event, place: kind(event.epsilon, neighbours=place.relation.neighbours)


def _discrete_gaussian(event: Any, place: _EventPath) -> _Found:
    size = _checks.whole(0, **place.named(sensitivity=event.sensitivity))
    if event.dimension != 1:
        place.refuse(event, "the discrete Gaussian is known in one dimension: give dimension=1")
    relation = place.relation
    return DiscreteGaussian(event.sigma, size * relation.reach, neighbours=relation.neighbours)


def _repeat_and_select(event: Any, place: _EventPath) -> _Found:
    """The best of a random number of runs; an infinite shape is the Poisson law."""
    mean = _checks.finite_above_zero(**place.named(mean=event.mean))
    shape = _checks.at_least_zero(**place.named(shape=event.shape))
    if shape < math.inf and mean < 1:
        place.refuse(event, "there is at least one run unless shape is infinite: mean is below 1")
    base = _read(event.event, place.inside("event"))
    if isinstance(base, _End):
        return base
    return base.best_of(poisson(mean) if shape == math.inf else negative_binomial(shape, mean))


def _concentrated(budget: tuple[float, float], place: _EventPath) -> _Found:
    """A promise of (ξ, ρ)-zCDP, of which no more is known: a lower bound."""
    rho, xi = budget
    if xi == 0:
        promise = guarantee(zcdp=rho)
    else:
        promise = guarantee(rdp=[(order, xi + rho * order) for order in _ORDERS])
    return CustomMechanism(promise, neighbours=place.relation.neighbours)


def _zcdp_of(event: Any, place: _EventPath) -> tuple[float, float] | None:
    """ρ and ξ of an event that is a promise of zCDP, or many of them, which add up."""
    if _is_theirs(type(event), "ZCDpEvent"):
        rho = _checks.finite_at_least_zero(**place.named(rho=event.rho))
        return rho, _checks.finite_at_least_zero(**place.named(xi=event.xi))
    if _is_theirs(type(event), "SelfComposedDpEvent"):
        count = _checks.whole(0, 10**15, **place.named(count=event.count))
        inner = _zcdp_of(event.event, place.inside("event"))
        return None if inner is None else (inner[0] * count, inner[1] * count)
    return None


def _zcdp(event: Any, place: _EventPath) -> _Found:
    budget = _zcdp_of(event, place)
    return _refused(event, place) if budget is None else _concentrated(budget, place)


def _self_composed(event: Any, place: _EventPath) -> _Found:
    count = _checks.whole(0, 10**15, **place.named(count=event.count))
    if (budget := _zcdp_of(event, place)) is not None:
        return _concentrated(budget, place)
    base = _read(event.event, place.inside("event"))
    if count == 0:
        return _End.NOTHING
    return base if count == 1 or isinstance(base, _End) else base.repeated(count)


def _composed(event: Any, place: _EventPath) -> _Found:
    if not isinstance(event.events, Iterable):
        _checks.refuse(f"{place.path}.events", "be a list of events", event.events)
    events = [(inner, place.inside(f"events[{k}]")) for k, inner in enumerate(event.events)]
    budgets = [budget for inner in events if (budget := _zcdp_of(*inner)) is not None]
    readings = [_read(*inner) for inner in events if _zcdp_of(*inner) is None]
    if budgets:
        rhos, xis = zip(*budgets, strict=True)
        readings.append(_concentrated((math.fsum(rhos), math.fsum(xis)), place))
    if _End.EVERYTHING in readings:
        return _End.EVERYTHING
    parts = [reading for reading in readings if isinstance(reading, Mechanism)]
    if len(parts) < 2:
        return parts[0] if parts else _End.NOTHING
    return compose(parts)


READERS: dict[str, _Reader] = {
    "ComposedDpEvent": _composed,
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "EpsilonDeltaDpEvent": _epsilon_delta,
    "ExponentialMechanismDpEvent": _selected(ExponentialMechanism),
    "GaussianDpEvent": partial(_noisy, Gaussian),
    "LaplaceDpEvent": partial(_noisy, Laplace),
    "MixtureOfGaussiansDpEvent": _mixture,
    "NoOpDpEvent": lambda event, place: _End.NOTHING,
    "NonPrivateDpEvent": lambda event, place: _End.EVERYTHING,
    "PermuteAndFlipDpEvent": _selected(PermuteAndFlip),
    "PoissonSampledDpEvent": _poisson_sampled,
    "RandomizedResponseDpEvent": _randomized_response,
    "RepeatAndSelectDpEvent": _repeat_and_select,
    "SampledWithReplacementDpEvent": _with_replacement,
    "SampledWithoutReplacementDpEvent": _fixed_batch,
    "SelfComposedDpEvent": _self_composed,
    "SingleEpochTreeAggregationDpEvent": _tree_aggregation,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
    "ZCDpEvent": _zcdp,
}
