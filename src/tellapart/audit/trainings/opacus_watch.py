"""White-box audits of Opacus trainings (extra ``opacus``): its own optimizer, in your own loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.audit.trainings.gradient_check import GradientCheck
from tellapart.audit.trainings.watch_verdict import WatchVerdict
from tellapart.audit.trainings.white_box import LONG, UpdateWatch, read_claim, watch_updates
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject

# What Opacus adds to a norm before it divides by it.
_TINY = 1e-6
# Beside which a canary of this norm, and more, is clipped to all but the norm.
_LEAST = 1e-2
# A claimed rate this close to the loader's is batch_size/len(data), which Opacus does not draw at.
_ROUNDED = 0.1
_MIXED = (
    "Batches: the loader was gone through by two loops at once, so that the records of some steps "
    "are not known; that each step used the batch drawn for it is not checked."
)
_SKIPPED = (
    "Batches: no step used some of those that were drawn; whether that depends on their records is "
    "not seen."
)
_UNKNOWN = (
    "Batches: several were drawn before a step whose number of records is that of none; that each "
    "step used the batch drawn for it is not checked."
)
_GHOST = "Ghost clipping: canaries enter after clipping, so that their gain says nothing of it; "


def watch(
    optimizer: Any,
    loader: Any,
    *,
    claim: Subject,
    clip: float,
    model: Any = None,
    canaries: int = 40,
    confidence: float = 0.95,
    conformance: float | None = None,
    seed: int = 0,
) -> OpacusWatch:
    """Audit one whole training with Opacus: train as ever, then ask for the `verdict`.

    ``optimizer``, ``loader`` and ``model`` are what ``make_private`` returned; virtual steps and
    any optimizer are fine. The claim is `dp_sgd` on Poisson batches, as you would account for it,
    and ``clip`` its clipping norm. With ``model`` per-example gradients are checked too: each
    record alone against the same record in its batch, for what mixes examples (batch norm), for
    layers that compute them wrongly, and for ghost clipping.

    The model of an audited run was trained on canaries, and is not the one to release. Needs:
    pip install 'tellapart[opacus]'.

    >>> import torch
    >>> import tellapart as ta
    >>> from opacus.data_loader import DPDataLoader
    >>> from opacus.grad_sample import GradSampleModule
    >>> from opacus.optimizers import DPOptimizer
    >>> people = torch.utils.data.TensorDataset(torch.ones(40, 30))
    >>> loader = DPDataLoader(people, sample_rate=0.25)
    >>> model = GradSampleModule(torch.nn.Linear(30, 1))
    >>> optimizer = DPOptimizer(                       # forgets its noise; make_private would not
    ...     torch.optim.SGD(model.parameters(), lr=0.1), noise_multiplier=0.0, max_grad_norm=1.0,
    ...     expected_batch_size=10)
    >>> watching = watch(optimizer, loader, claim=ta.dp_sgd(1.0, 0.25, steps=4), clip=1.0)
    >>> for (batch,) in loader:
    ...     optimizer.zero_grad()
    ...     model(batch.requires_grad_()).mean().backward()
    ...     _ = optimizer.step()
    >>> watching.verdict().refuting[0]
    'noise of a layer'

    See Also
    --------
    tellapart.audit.watch_updates : the same for any framework
    tellapart.audit.step : a single step, called many times
    """
    return OpacusWatch(
        optimizer, loader, model, claim, clip, canaries, confidence, conformance, seed
    )


class OpacusWatch:
    """A training with Opacus that is being watched; ``stop`` leaves it as it was."""

    def __init__(
        self,
        optimizer: Any,
        loader: Any,
        model: Any,
        claim: Subject,
        clip: float,
        canaries: int,
        confidence: float,
        conformance: float | None,
        seed: int,
    ) -> None:
        self._ghost = _is_ghost(optimizer)
        sampler = _batch_sampler(loader)
        if "pre_step" in vars(optimizer):
            _checks.refuse(
                "optimizer", "be watched once: call stop() on the other watch", optimizer
            )
        parameters = [layer for layer in optimizer.params if layer.requires_grad]
        _same_model(model, parameters)
        if optimizer.max_grad_norm != clip:
            rule = f"be the clipping norm of the optimizer, {short(optimizer.max_grad_norm)}"
            _checks.refuse("clip", rule, clip)
        records = len(loader.dataset)
        rate = read_claim(claim)[1]
        _same_rate(loader, rate)
        self.updates: UpdateWatch = watch_updates(
            [layer.numel() for layer in parameters],
            claim=claim,
            clip=clip,
            records=records,
            expected_batch=rate * records,
            names=_names(model, parameters),
            canaries=canaries,
            confidence=confidence,
            conformance=conformance,
            seed=seed,
        )
        self._optimizer, self._layers = optimizer, parameters
        self._drawn = _Draws()
        self._sampler = sampler
        self._kind = type(sampler)
        sampler.__class__ = _logging(type(sampler), self._drawn)
        self._step = optimizer.pre_step
        optimizer.pre_step = self._watched
        self._sums: list[Any] | None = None
        self._rows = 0
        self._check = None if model is None else GradientCheck(model, optimizer, parameters)
        if self._ghost:
            more = (
                "it is checked by the gradients of records alone."
                if model is not None
                else ("pass model= to have clipping checked.")
            )
            self.updates.remarks.append(_GHOST + more)

    def verdict(self) -> WatchVerdict:
        """What the steps so far show: the bets whenever and however often one asks.

        The tests of conformance hold at their level for one verdict, at a time they do not decide.
        """
        if self._check is not None:
            missing = [said for said in self._check.remarks if said not in self.updates.remarks]
            self.updates.remarks.extend(missing)
        return self.updates.verdict()

    def stop(self) -> None:
        """Leave optimizer, loader and model as they were."""
        if vars(self._optimizer).pop("pre_step", None) is not None:
            self._sampler.__class__ = self._kind
            if self._check is not None:
                self._check.remove()

    def _watched(self, *given: Any) -> Any:
        """A step of the optimizer, with canaries among its gradients."""
        self._take_in()
        if self._check is not None and (wrong := self._check.wrong(self.updates.clip)):
            self.updates.refute("per-example gradients", wrong)
        last = not self._optimizer._check_skip_next_step(pop_next=False)
        if last:
            self._insert()
        made = self._step(*given)
        if last:
            self._read()
        return made

    def _take_in(self) -> None:
        """Add the clipped gradients of this batch, or of this part of one, to their sum."""
        if self._ghost:
            own = [layer.grad.detach().clone() for layer in self._layers]
        else:
            rows = [self._optimizer._get_flat_grad_sample(layer) for layer in self._layers]
            self._rows += len(rows[0])
            own = clipped_sums(rows, self.updates.clip)
        if self._sums is None:
            self._sums = own
        else:
            for total, part in zip(self._sums, own, strict=True):
                total += part

    def _insert(self) -> None:
        """Append the rows of canaries that are in to the per-example gradients."""
        import torch

        drawn = self.updates.draw()
        inside, rows = drawn.inside, drawn.member_rows()
        places, entries = drawn.places[inside], drawn.entries[inside]
        start = 0
        for layer in self._layers:
            here = (places >= start) & (places < start + layer.numel())
            at = torch.as_tensor(places[here] - start, device=layer.device)
            value = torch.as_tensor(entries[here], device=layer.device, dtype=layer.dtype)
            start += layer.numel()
            if self._ghost:  # nothing would clip them
                layer.grad.view(-1)[at] += self.updates.clip * value
                continue
            held = layer.grad_sample
            latest = held[-1] if isinstance(held, list) else held
            more = latest.new_zeros((int(drawn.coins.sum()), layer.numel()))
            row = torch.as_tensor(rows[here], device=layer.device)
            more[row, at] = (LONG * max(self.updates.clip, _LEAST) * value).to(more.dtype)
            joined = torch.cat([latest, more.view(-1, *layer.shape)])
            layer.grad_sample = [*held[:-1], joined] if isinstance(held, list) else joined

    def _read(self) -> None:
        """What was released, less the sum of the records' own gradients."""
        import torch

        scale = _divisor(self._optimizer, self.updates.expected_batch)
        sums, self._sums = self._sums or [], None
        parts = [
            (layer.grad.detach() * scale - own.view_as(layer)).reshape(-1).to("cpu", torch.float32)
            for layer, own in zip(self._layers, sums, strict=True)
        ]
        batch = self._batch()
        size = len(batch or ()) if self._ghost else self._rows
        self._rows = 0
        self.updates.record(torch.cat(parts).numpy(), size, batch)

    def _batch(self) -> list[int] | None:
        """Which records the loader drew for this step; None where nobody can say."""
        waiting = self._drawn.waiting()
        if waiting is None:
            raise Unsupported(
                "a step was made on a batch that the watched loader did not draw: give watch() the "
                "loader that your loop goes through, before it starts"
            )
        if self._ghost:
            return list(waiting.popleft())
        match = _used(list(waiting), self._rows)
        if match is not None:
            if match.first:
                self._remark(_SKIPPED)
            for _ in range(match.after):
                waiting.popleft()
            return match.records
        batch = list(waiting.popleft())
        if self._drawn.mixed or waiting:
            self._remark(_MIXED if self._drawn.mixed else _UNKNOWN)
            return None
        words = f"a step used {self._rows} records where {len(batch)} were drawn"
        self.updates.refute("batches", words)
        return batch

    def _remark(self, said: str) -> None:
        if said not in self.updates.remarks:
            self.updates.remarks.append(said)


class _UsedBatches(NamedTuple):
    """Batches that a step used: the place of the first one, that after the last, their records."""

    first: int
    after: int
    records: list[int]


def _used(drawn: list[Sequence[int]], rows: int) -> _UsedBatches | None:
    """Batches drawn one after another, the first there are, that have so many records in all."""
    for first in range(len(drawn)):
        records, after = list(drawn[first]), first + 1
        while len(records) < rows and after < len(drawn):  # a step of several batches
            records += drawn[after]
            after += 1
        if len(records) == rows:
            return _UsedBatches(first, after, records)
    return None


@dataclass(eq=False)
class _Pass:
    """What one pass through the loader drew that no step has used yet."""

    batches: deque[Sequence[int]] = field(default_factory=deque)
    running: bool = True


@dataclass(eq=False)
class _Draws:
    """What the loader drew, by pass: a second one may begin inside a loop, to look at a batch."""

    passes: list[_Pass] = field(default_factory=list)
    # Whether a pass began while another ran or had batches left: whose batch a step used is unknown
    # then, so that no number of records is a fact.
    mixed: bool = False

    def begin(self) -> _Pass:
        """A further pass; of those that ended, what is left was looked at, or is of no use."""
        self.mixed |= any(each.running or each.batches for each in self.passes)
        self.passes = [each for each in self.passes if each.running]
        self.passes.append(_Pass())
        return self.passes[-1]

    def waiting(self) -> deque[Sequence[int]] | None:
        """The batches that a step may have used: of the last pass that still runs, if any does."""
        held = [each for each in self.passes if each.batches]
        held.sort(key=lambda each: each.running)  # stable: the latest of a kind stays last
        return held[-1].batches if held else None


def clipped_sums(rows: Sequence[Any], clip: float) -> list[Any]:
    """The sums of per-example gradients, each clipped over all layers, as Opacus states it."""
    import torch

    if not len(rows[0]):
        return [row.sum(dim=0) for row in rows]
    norms = torch.stack([torch.linalg.vector_norm(row.flatten(1), dim=1) for row in rows])
    factor = (clip / (torch.linalg.vector_norm(norms, dim=0) + _TINY)).clamp(max=1.0)
    return [torch.tensordot(factor.to(row.dtype), row, dims=1) for row in rows]


def _logging(kind: type, draws: _Draws) -> type:
    """The same kind of batch sampler, which also says what it drew."""

    def logged(self: Any) -> Iterator[Any]:
        own = draws.begin()
        try:
            for batch in kind.__iter__(self):  # type: ignore[attr-defined]
                own.batches.append(batch)
                yield batch
        finally:  # at its end, or where the loop let go of it
            own.running = False

    return type(kind.__name__, (kind,), {"__iter__": logged})


def _is_ghost(optimizer: Any) -> bool:
    """Whether an optimizer of Opacus clips without per-example gradients; others are refused."""
    try:
        from opacus import optimizers
    except ImportError as missing:
        raise Unsupported(
            "watching Opacus needs: pip install 'tellapart[opacus]'; for another framework use "
            "audit.watch_updates"
        ) from missing
    if not isinstance(optimizer, optimizers.DPOptimizer):
        rule = "be what Opacus' make_private returned (for others there is audit.watch_updates)"
        _checks.refuse("optimizer", rule, type(optimizer).__name__)
    others = (
        optimizers.AdaClipDPOptimizer,
        optimizers.DistributedDPOptimizer,
        optimizers.DPPerLayerOptimizer,
    )
    if isinstance(optimizer, others):
        raise Unsupported(
            f"{type(optimizer).__name__} clips or adds noise by rules that watch() does not know: "
            "use audit.watch_updates, or flat clipping on one worker"
        )
    return isinstance(optimizer, optimizers.DPOptimizerFastGradientClipping)


def _batch_sampler(loader: Any) -> Any:
    sampler = getattr(loader, "batch_sampler", None)
    if sampler is None or not hasattr(getattr(loader, "dataset", None), "__len__"):
        rule = "draw batches of a data set of known size, as make_private's does"
        _checks.refuse("loader", rule, type(loader).__name__)
    return sampler


def _divisor(optimizer: Any, expected: float) -> float:
    """What sums are divided by: the claim's expected batch, which Opacus rounds down."""
    if optimizer.loss_reduction != "mean":
        return 1.0
    parts = optimizer.accumulated_iterations
    rounded = float(optimizer.expected_batch_size or 0) * parts
    return rounded if rounded > 0 and abs(rounded - expected) < parts else expected


def _same_rate(loader: Any, rate: float) -> None:
    """Refuse a claim that misses the loader's rate by rounding: no step would be as stated."""
    drawn = getattr(loader, "sample_rate", None)
    if drawn is not None and 1e-9 < abs(drawn / rate - 1) < _ROUNDED:
        rule = (
            f"state the rate that Opacus draws at, 1/len(loader) = {short(drawn)} and not "
            "batch_size/len(data)"
        )
        _checks.refuse("claim", rule, f"sampling_rate={short(rate)}")


def _same_model(model: Any, parameters: Sequence[Any]) -> None:
    """Refuse a model that is not what is trained, as Opacus has wrapped it."""
    if model is None:
        return
    if not hasattr(model, "register_forward_hook") or not hasattr(model, "_module"):
        rule = "be the module that make_private returned, not the one it was given"
        _checks.refuse("model", rule, type(model).__name__)
    own = set(map(id, model.parameters()))
    if not all(id(layer) in own for layer in parameters):
        rule = "be the module whose parameters the optimizer trains, as make_private returned it"
        _checks.refuse("model", rule, type(model).__name__)


def _names(model: Any, parameters: Sequence[Any]) -> list[str]:
    known = {} if model is None else {id(layer): name for name, layer in model.named_parameters()}
    return [
        known[id(layer)].removeprefix("_module.") if id(layer) in known else f"layer {k}"
        for k, layer in enumerate(parameters)
    ]
