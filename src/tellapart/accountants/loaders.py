"""Sampling schemes of data loaders: how a torch loader picks the records of its batches.

`batches_of` reads a loader by the exact types of its samplers, as a subclass may do anything;
`listened` has its batches counted as they are drawn. A `Pass` holds what was drawn and trained on,
and `training` is all of that as a mechanism, each scheme with the theorem that covers it.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import torch
from opacus.utils.batch_memory_manager import BatchSplittingSampler
from opacus.utils.uniform_sampler import (
    DistributedUniformWithReplacementSampler,
    UniformWithReplacementSampler,
)
from torch.utils import data

from tellapart import _checks
from tellapart.curve.base import Bound
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.announced import AnnouncedCurve
from tellapart.curve.guarantees import everything, nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.batches.with_replacement import WithReplacement
from tellapart.mechanisms.combine import compose
from tellapart.mechanisms.custom import CustomMechanism
from tellapart.mechanisms.noise import Gaussian
from tellapart.mechanisms.training import dp_sgd
from tellapart.neighbours import Neighbours

_INSTEAD = "leave poisson_sampling=True in make_private, and train with the loader that it returns"
# A noise multiplier and the sampling rate that Opacus reports with it.
Step = tuple[float, float]


class Draw(Enum):
    """How a loader picks records."""

    POISSON = "Poisson samples"
    SHUFFLED = "shuffled batches (a new random order each epoch, cut into batches)"
    FIXED_ORDER = "a fixed order, cut into batches"
    WITH_REPLACEMENT = "batches drawn with replacement"


@dataclass(frozen=True)
class Batches:
    """How the batches of a loader are drawn, as far as ε depends on it.

    A record is in a batch with probability ``rate``, if chance has a say. ``batches`` make up a
    pass over the loader, which uses the share ``used`` of the records.
    ``empty`` bounds the chance that no other record is in a batch of a distributed Poisson
    sampler, which leaves empty batches out.
    """

    draw: Draw
    sampler: str
    data_size: int
    rate: float
    batches: int
    used: float = 1.0
    empty: float = 0.0

    @property
    def batch_size(self) -> int:
        """The size of a batch, or the nearest to the expected one."""
        return round(self.rate * self.data_size)

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation that the accounting is for."""
        poisson = self.draw is Draw.POISSON
        return Neighbours.ADD_REMOVE if poisson else Neighbours.ZERO_OUT

    def whole_pass(self, noise: float) -> Pass:
        """A pass over the loader with this noise, a step on each batch."""
        steps = Counter({(noise, self.rate): self.batches})
        return Pass(self, self.batches, self.batches, steps)

    def mechanism(self, noise: float, drawn: int, *, exactly: bool) -> Mechanism:
        """A pass that drew so many batches, none of them trained on with less noise.

        `Draw.SHUFFLED`, `Draw.FIXED_ORDER`: given the order, the record is in at most one step,
        which is a Gaussian answer (`ShuffledEpoch`, which also has an attack). In a fixed order it
        may be any step, so the whole pass leaks as that answer. `Draw.WITH_REPLACEMENT`: every
        batch is a step of its own (`WithReplacement`). Unless the steps were ``exactly`` those,
        with that noise, this is known for a guarantee alone.
        """
        step = Gaussian(noise, neighbours=Neighbours.ZERO_OUT)
        if self.draw is Draw.WITH_REPLACEMENT:
            return WithReplacement(step, self.batch_size, self.data_size).repeated(drawn)
        if self.draw is Draw.FIXED_ORDER:
            guarantee = GaussianCurve(1 / noise, Bound.LOWER)
            return step if exactly else CustomMechanism(guarantee, neighbours=step.neighbours)
        size = self.batch_size
        full, rest = divmod(round(self.used * self.data_size), size)
        if drawn < self.batches:  # cut short
            full, rest = min(drawn, full), 0
        used = min(self.used, drawn * size / self.data_size)
        last = rest / size if full else 0.0
        epoch = step.shuffled_batches(max(full, 1), last, used)
        return epoch if exactly else CustomMechanism(epoch.curve())


@dataclass
class Pass:
    """One pass over a loader: batches drawn, those trained on, and the steps with their noise."""

    batches: Batches
    drawn: int = 0
    taken: int = 0
    steps: Counter[Step] = field(default_factory=Counter)

    def record(self) -> dict[str, Any]:
        """What a checkpoint holds of it."""
        batches = {**asdict(self.batches), "draw": self.batches.draw.name}
        steps = [(*step, count) for step, count in self.steps.items()]
        return {"batches": batches, "drawn": self.drawn, "taken": self.taken, "steps": steps}

    @classmethod
    def of(cls, record: Any) -> Pass:
        """The pass of a record."""
        rule = "be a list of records as state_dict has them"
        if not isinstance(record, Mapping) or {*record} != {"batches", "drawn", "taken", "steps"}:
            _checks.refuse("passes", rule, record)
        batches = record["batches"]
        known = isinstance(batches, Mapping) and {*batches} == {*Batches.__dataclass_fields__}
        if not known or batches["draw"] not in Draw.__members__:
            _checks.refuse("passes", rule, record)
        return cls(
            Batches(
                Draw[batches["draw"]],
                str(batches["sampler"]),
                _checks.whole(1, data_size=batches["data_size"]),
                _checks.finite_at_least_zero(rate=batches["rate"]),
                _checks.whole(1, batches=batches["batches"]),
                _checks.probability(used=batches["used"]),
                _checks.probability(empty=batches["empty"]),
            ),
            _checks.whole(0, drawn=record["drawn"]),
            _checks.whole(0, taken=record["taken"]),
            counted(record["steps"]),
        )


def checked_step(noise_multiplier: Any, sample_rate: Any) -> Step:
    """One step, as Opacus tells of it."""
    return (
        _checks.finite_at_least_zero(noise_multiplier=noise_multiplier),
        _checks.probability(sample_rate=sample_rate),
    )


def counted(history: Any) -> Counter[Step]:
    """How often each kind of step was taken, by a history as Opacus keeps it."""
    rule = "be a list of (noise multiplier, sample rate, number of steps)"
    if isinstance(history, (str, Mapping)) or not isinstance(history, Iterable):
        _checks.refuse("history", rule, history)
    counts: Counter[Step] = Counter()
    for entry in history:
        if not isinstance(entry, (tuple, list)) or len(entry) != 3:
            _checks.refuse("history", rule, history)
        counts[checked_step(entry[0], entry[1])] += _checks.whole(0, 10**15, steps=entry[2])
    return counts


def training(passes: Iterable[Pass], assumed: Mapping[Step, int]) -> Mechanism:
    """All passes that were trained on, and steps that are taken for Poisson samples.

    Poisson samples count by their steps; of every other scheme a pass counts by its batches drawn,
    on which no more steps than those can have been taken. If all are Poisson samples, neighbours
    add or remove a record, else they zero one out: for Poisson samples the curve is the same.
    """
    trained = [each for each in passes if each.steps]
    fixed = [each for each in trained if each.batches.draw is not Draw.POISSON]
    poisson = Counter(assumed)
    log_hidden = 0.0  # of the chance that no record is shown by being alone in a batch
    for each in trained:
        if each.batches.draw is not Draw.POISSON:
            continue
        rate, empty = each.batches.rate, each.batches.empty
        for (noise, _), count in each.steps.items():
            poisson[noise, rate] += count
        # Batches that were left out count as if they had been steps: by a distributed sampler,
        # which has no empty ones, or in training, where they may have been empty, too.
        unseen = each.drawn - each.steps.total()
        if empty:
            unseen = max(each.batches.batches - each.steps.total(), 0)
        elif unseen > 0:
            empty = (1 - rate) ** (each.batches.data_size - 1)
        if empty:
            poisson[min(noise for noise, _ in each.steps), rate] += unseen
            log_hidden += (each.steps.total() + unseen) * math.log1p(-rate * empty)
    taken = {step: count for step, count in poisson.items() if count and step[1]}
    if any(noise == 0 for noise, _ in (*taken, *(step for each in fixed for step in each.steps))):
        return CustomMechanism(everything(Bound.LOWER))
    relation = Neighbours.ZERO_OUT if fixed else Neighbours.ADD_REMOVE
    alike = Counter(_kind(each) for each in fixed)
    parts: list[Mechanism] = [
        *(dp_sgd(*step, count, neighbours=relation) for step, count in taken.items()),
        *(
            batches.mechanism(noise, drawn, exactly=exactly).repeated(count)
            for (batches, noise, drawn, exactly), count in alike.items()
        ),
    ]
    if log_hidden < 0:
        announced = (
            (-math.expm1(log_hidden), everything(Bound.LOWER)),
            (math.exp(log_hidden), nothing()),
        )
        parts.append(CustomMechanism(AnnouncedCurve(announced), neighbours=relation))
    return compose(parts) if parts else CustomMechanism(nothing())


def _kind(trained: Pass) -> tuple[Batches, float, int, bool]:
    """What two passes have in common that leak alike."""
    noises = {noise for noise, _ in trained.steps}
    exactly = len(noises) == 1 and trained.steps.total() == trained.drawn
    return trained.batches, min(noises), trained.drawn, exactly


# -- reading a loader ----------------------------------------------------------------------------


def batches_of(loader: Any) -> Batches | None:
    """How a loader draws its batches; None where its sampler is unknown.

    Schemes that are known, and for which no theorem is, are refused.
    """
    _refuse_stream(loader)
    _refuse_repeats(loader)
    return _read(_whole(loader))


def poisson_of(loader: Any, replicas: int) -> Batches:
    """The Poisson samples that Opacus will draw instead of a loader's batches."""
    _refuse_stream(loader)
    _refuse_repeats(loader)
    size, asked = len(loader.dataset), 1 / len(loader)
    rate, batches = coin(asked), int(1 / asked)
    if replicas > 1:
        return distributed_poisson(size, rate, batches, replicas)
    return Batches(Draw.POISSON, UniformWithReplacementSampler.__name__, size, rate, batches)


def coin(rate: float) -> float:
    """How likely ``torch.rand(...) < rate`` is, as Opacus draws: a little more than the rate.

    ``torch.rand`` gives multiples of 2⁻ᵈ, d the binary digits of its type (24 for floats), and the
    rate is rounded to that type: 0.01 becomes 0.01000005, and no rate is less than 2⁻²⁴.
    """
    kind = torch.get_default_dtype()
    steps = int(2 / torch.finfo(kind).eps)
    return math.ceil(float(torch.tensor(rate, dtype=kind)) * steps) / steps


def warn_of_discarded(loader: Any) -> None:
    """Say so where Opacus draws Poisson samples of all records, whatever a sampler picks."""
    sampler: Any = getattr(loader, "batch_sampler", None)
    order = sampler.sampler if type(sampler) in _BATCH_SAMPLERS else sampler
    plain = type(order) in (data.SequentialSampler, data.DistributedSampler, *_POISSON)
    if type(order) is data.RandomSampler:
        plain = not order.replacement and order.num_samples == len(order.data_source)
    if not plain and sampler is not None:
        warnings.warn(
            f"Opacus discards {type(order).__name__} and draws Poisson samples of all "
            f"{len(loader.dataset):,} records of the data set: to train on some of them, give it a "
            "torch.utils.data.Subset",
            stacklevel=3,
        )


def drawn_ahead(loader: Any) -> int:
    """How many batches the workers of a loader draw before they are asked for."""
    return int(getattr(loader, "num_workers", 0) * (getattr(loader, "prefetch_factor", 0) or 0))


def check_replicas(loader: Any, optimizer: Any) -> None:
    """Refuse a loader that gives every replica all records, where replicas sum their gradients."""
    sampler, replicas = _whole(loader), getattr(optimizer, "world_size", 1)
    parts = [getattr(each, "num_replicas", 1) for each in (sampler, getattr(sampler, "sampler", 0))]
    if replicas > max(parts):
        raise Unsupported(
            f"the loader gives each of {replicas} replicas all records, so that one may be in a "
            f"step {replicas} times: give it a DistributedSampler; or {_INSTEAD}"
        )


def _refuse_repeats(loader: Any) -> None:
    """Refuse a data set that was put together with some of its records more than once."""
    places: dict[int, list[Any]] = {}

    def look(part: Any, chosen: Any) -> None:
        if isinstance(part, data.Subset):
            indices = np.asarray(part.indices)
            look(part.dataset, indices if chosen is None else indices[chosen])
        elif isinstance(part, data.ConcatDataset):
            chosen = np.arange(len(part)) if chosen is None else chosen
            for inner, end in zip(part.datasets, part.cumulative_sizes, strict=True):
                start = end - len(inner)
                look(inner, chosen[(chosen >= start) & (chosen < end)] - start)
        elif chosen is not None:
            places.setdefault(id(part), []).append(chosen)

    look(getattr(loader, "dataset", None), None)
    for chosen in map(np.concatenate, places.values()):
        if len(np.unique(chosen)) < len(chosen):
            raise Unsupported(
                "the data set (torch's Subset or ConcatDataset) has a record more than once, which "
                "is then in a step several times: have each once, or weigh its loss before clipping"
            )


def _refuse_stream(loader: Any) -> None:
    if isinstance(getattr(loader, "dataset", None), data.IterableDataset):
        raise Unsupported(
            "batches of a stream (IterableDataset) are as its author picks them, and no theorem "
            f"is known for that: use a data set with a length, and {_INSTEAD}"
        )


def _whole(loader: Any) -> Any:
    """The sampler of whole batches, also of those that are split to fit memory."""
    sampler: Any = getattr(loader, "batch_sampler", None)
    while type(sampler) is BatchSplittingSampler:
        sampler = sampler.sampler
    return sampler


def _read(sampler: Any) -> Batches | None:
    kind = _READ_AS.get(type(sampler), type(sampler))
    if kind is UniformWithReplacementSampler:
        size, rate = sampler.num_samples, coin(sampler.sample_rate)
        return Batches(Draw.POISSON, kind.__name__, size, rate, len(sampler))
    if kind is DistributedUniformWithReplacementSampler:
        size, rate = sampler.total_size, coin(sampler.sample_rate)
        return distributed_poisson(size, rate, len(sampler), sampler.num_replicas)
    if kind is data.BatchSampler and type(sampler.sampler) in _ORDERS:
        return _ORDERS[type(sampler.sampler)](sampler)
    return None


def distributed_poisson(size: int, rate: float, batches: int, replicas: int) -> Batches:
    """Poisson samples of each replica's own part of the records; empty ones are left out.

    A part without the record has others, none of which is drawn with probability ``empty``. If
    one is, the batch is trained on with or without the record: a Poisson sample. If none is, the
    batch is there if and only if the record is drawn, which shows it: δ(ε) is at most
    (1 − empty)·δ of the Poisson sample + empty·rate, by joint convexity.
    """
    empty = (1 - rate) ** (size // replicas - 1)
    name = DistributedUniformWithReplacementSampler.__name__
    return Batches(Draw.POISSON, name, size, rate, batches, empty=empty)


def _in_order(draw: Draw, sampler: Any, of: int) -> Batches:
    """An order of records, cut into batches; of so many records, a pass uses those it has."""
    size, order = sampler.batch_size, sampler.sampler
    each = len(order) // size * size if sampler.drop_last else len(order)
    name = type(order).__name__
    return Batches(draw, name, of, size / of, len(sampler), min(each / of, 1.0))


def _random(sampler: Any) -> Batches:
    order, records = sampler.sampler, len(sampler.sampler.data_source)
    if order.replacement:
        name = "RandomSampler(replacement=True)"
        rate = sampler.batch_size / records
        return Batches(Draw.WITH_REPLACEMENT, name, records, rate, len(sampler))
    if order.num_samples > records:
        raise Unsupported(
            f"RandomSampler with num_samples={order.num_samples:,} of {records:,} records has "
            "records twice in a pass, perhaps in one batch, and no theorem is known for that: "
            f"leave num_samples out; or {_INSTEAD}"
        )
    return _in_order(Draw.SHUFFLED, sampler, records)


def _subset(sampler: Any) -> Batches:
    indices = list(sampler.sampler.indices)
    if len({int(index) for index in indices}) < len(indices):
        raise Unsupported(
            "SubsetRandomSampler names a record more than once, which is then in a pass as often: "
            "name each once"
        )
    return _in_order(Draw.SHUFFLED, sampler, len(indices))


def _sequential(sampler: Any) -> Batches:
    return _in_order(Draw.FIXED_ORDER, sampler, len(sampler.sampler))


def _distributed(sampler: Any) -> Batches:
    """Shuffled by a seed (0 unless given) and the epoch: an order that others can know."""
    order = sampler.sampler
    if order.total_size > len(order.dataset):
        raise Unsupported(
            f"DistributedSampler pads {len(order.dataset):,} records to {order.total_size:,}, so "
            "that some are twice in a pass, perhaps in one step: give it drop_last=True; or "
            f"{_INSTEAD}"
        )
    return _in_order(Draw.FIXED_ORDER, sampler, len(order))


def _weighted(sampler: Any) -> Batches:
    raise Unsupported(
        "WeightedRandomSampler draws records by weights, and no theorem is known for that (weights "
        f"that depend on the data leak as well): {_INSTEAD}, which uses no weights"
    )


_ORDERS: dict[type, Callable[[Any], Batches]] = {
    data.RandomSampler: _random,
    data.SequentialSampler: _sequential,
    data.SubsetRandomSampler: _subset,
    data.WeightedRandomSampler: _weighted,
    data.DistributedSampler: _distributed,
}


# -- counting what is drawn ----------------------------------------------------------------------

# Told of each batch: a name for the pass that it belongs to, and how it is drawn.
Listener = Callable[[object, Batches], None]


def _counting(sampler: Any, drawn: Iterator[Any]) -> Iterator[Any]:
    """The batches of a sampler, of each of which its listeners are told."""
    batches, name = _read(sampler), object()
    for batch in drawn:
        for listener in sampler.listeners if batches is not None else ():
            listener(name, batches)
        yield batch


# Each has one base, so that a sampler can become one.
class _CountedPoisson(UniformWithReplacementSampler):  # type: ignore[misc]
    def __iter__(self) -> Iterator[Any]:
        return _counting(self, super().__iter__())


class _CountedDistributed(DistributedUniformWithReplacementSampler):  # type: ignore[misc]
    def __iter__(self) -> Iterator[Any]:
        return _counting(self, super().__iter__())


class _CountedBatches(data.BatchSampler):  # type: ignore[misc]
    def __iter__(self) -> Iterator[Any]:
        return _counting(self, super().__iter__())


_COUNTED: dict[type, type] = {
    UniformWithReplacementSampler: _CountedPoisson,
    DistributedUniformWithReplacementSampler: _CountedDistributed,
    data.BatchSampler: _CountedBatches,
}
_READ_AS = {counting: kind for kind, counting in _COUNTED.items()}
_BATCH_SAMPLERS = (data.BatchSampler, _CountedBatches)
_POISSON = tuple(kind for kind in (*_COUNTED, *_READ_AS) if kind not in _BATCH_SAMPLERS)


def listened(loader: Any, listener: Listener) -> None:
    """Have the loader, whose scheme is known, tell of the batches that it draws.

    Its sampler stays the same object, as a loader's cannot be changed: it gets another class.
    """
    sampler = _whole(loader)
    if type(sampler) in _COUNTED:
        sampler.__class__ = _COUNTED[type(sampler)]
        sampler.listeners = []
    if listener not in sampler.listeners:
        sampler.listeners.append(listener)
