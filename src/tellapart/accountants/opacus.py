"""An accountant for Opacus (extra ``opacus``), registered as ``"tellapart"`` by this import.

After ``import tellapart.accountants.opacus``, ``PrivacyEngine(accountant="tellapart")`` has it.

Opacus tells an accountant noise and rate alone, and ε depends on how batches are drawn as well:
so ``make_private`` is extended here by a look at its data loader and its optimizer. Each sampling
scheme is accounted for by its own theorem (`tellapart.accountants.loaders`), and what none covers
is refused by name before anything is trained. Where no loader was seen, ε is given only to those
who say ``assume=ta.Sampling.POISSON``.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from tellapart import _checks, _moved
from tellapart.accountants import spent
from tellapart.accountants.training_promise import TrainingPromise
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import InvalidArgument, NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism, Sampling

try:
    from opacus import PrivacyEngine
    from opacus.accountants import IAccountant, create_accountant, register_accountant
    from opacus.optimizers import DPOptimizer
    from opacus.schedulers.grad_clip_scheduler import _GradClipScheduler
    from opacus.schedulers.noise_scheduler import _NoiseScheduler
    from opacus.utils.batch_memory_manager import BatchSplittingSampler
    from torch.utils.data import DataLoader

    from tellapart.accountants import loaders
    from tellapart.accountants.clipping import Clipping
    from tellapart.accountants.engine import PLAN, SAY_SO, extend, known_scheme, scheme_of
    from tellapart.accountants.loaders import Batches, Draw, Pass
except ImportError as missing:
    raise Unsupported(
        "an accountant for Opacus needs: pip install 'tellapart[opacus]'"
    ) from missing

__all__ = ["OpacusAccountant", "accountant", "check_training"]

_NAME = "tellapart"
_ASSUMING = "tellapart, Poisson samples assumed"
# Of these a record may be in several batches of a pass.
_REPEATING = (Draw.POISSON, Draw.WITH_REPLACEMENT)
# The accountant that Opacus takes where none is named.
_USUAL = "prv"


def accountant(*, assume: Sampling | None = None) -> str:
    """The name by which Opacus makes this accountant: ``PrivacyEngine(accountant=accountant())``.

    ``assume=Sampling.POISSON`` says that batches are Poisson samples where no loader is seen.

    >>> import tellapart as ta
    >>> from opacus.accountants import create_accountant
    >>> spent = create_accountant(accountant(assume=ta.Sampling.POISSON))
    >>> spent.history = [(1.0, 0.01, 1_000)]
    >>> round(spent.get_epsilon(delta=1e-5), 6)
    1.828237
    """
    return _NAME if _assumed(assume) is None else _ASSUMING


class OpacusAccountant(IAccountant):  # type: ignore[misc]
    """What an attacker can learn from all training steps so far, in Opacus's own interface.

    ``history`` holds (noise multiplier, sample rate, number of steps), as in Opacus; the noise is
    in units of the norm at which gradients were really clipped. ``batches`` is how the loader that
    was last looked at draws them. Poisson samples are for neighbours that add or remove a record,
    all others for those that zero one out; shuffled batches count on the side of a guarantee.
    Batches are taken to be trained on in the order in which they are drawn.

    The steps taken count as a plan fixed beforehand. To stop when ε reaches a target is no privacy
    filter where noise or rate was chosen after looking at outputs: docs/sharp-edges.md.

    >>> import tellapart as ta
    >>> spent = OpacusAccountant(assume=ta.Sampling.POISSON)
    >>> spent.history = [(1.0, 0.01, 1_000)]
    >>> round(spent.get_epsilon(delta=1e-5), 6)
    1.828237
    """

    def __init__(self, *, assume: Sampling | None = None) -> None:
        super().__init__()
        self.history: list[tuple[float, float, int]] = []
        self.assume = _assumed(assume)
        self.batches: Batches | None = None
        self._plan = PLAN.get()
        self._passes: list[Pass] = []
        # Those of them that loaders have told of, by name.
        self._begun: dict[object, Pass] = {}
        self._current: Pass | None = None
        # How many batches loaders draw before they are trained on.
        self._ahead = 0
        self._clippings: list[Clipping] = []
        # What was seen in training that no theorem covers.
        self._doubts: list[str] = []

    @classmethod
    def mechanism(cls) -> str:
        """What Opacus calls this accountant."""
        return _NAME

    def __len__(self) -> int:
        return loaders.counted(self.history).total()

    def look_at(self, loader: Any, optimizer: Any = None, module: Any = None) -> None:
        """See how a loader draws its batches, and how an optimizer clips and adds noise.

        ``make_private`` does this by itself; what no theorem covers is refused.
        """
        self.batches = self._current = None
        if optimizer is not None:
            self._clipping(optimizer, module)
        self.batches = scheme_of(loader, self.assume)
        if self.batches is not None:
            loaders.check_replicas(loader, optimizer)
            loaders.listened(loader, self._drawn)
            self._ahead = max(self._ahead, loaders.drawn_ahead(loader))

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """What Opacus calls at each step: it looks at the optimizer as well."""

        def at_step(optimizer: Any) -> None:
            noise = self._clipping(optimizer).noise_multiplier()
            self._take(noise, sample_rate, optimizer.accumulated_iterations)

        return at_step

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One step more, counted with the last if it is like it."""
        self._take(noise_multiplier, sample_rate)

    def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
        """The ε spent so far, on the side of a guarantee.

        What other accountants are told here about orders or meshes is not needed, so ignored.
        """
        asked = _checks.probability(delta=delta)
        return spent.epsilon(self.training(), asked)

    def curve(self) -> TradeoffCurve:
        """What all steps so far let an attacker do: every other number is in here."""
        return self.training().curve()

    def training(self, planned: Iterable[Pass] = ()) -> Mechanism:
        """All steps so far as a mechanism, whose ``bracket`` has both ends of ε.

        Passes that are ``planned`` come after them.
        """
        unseen = loaders.counted(self.history)
        for each in self._passes:
            unseen.subtract(each.steps)
        unseen = +unseen
        if self._plan is not None:
            return loaders.training(self._plan.passes(unseen), {})
        if any(each.untold for each in self._clippings):
            self._doubt(
                "an optimizer took steps of which this accountant was not told (attach_step_hook "
                "puts another hook in its place: call this one's from yours)"
            )
        if self._doubts:
            raise Unsupported(f"no ε for these steps: {'; '.join(self._doubts)}")
        if self.assume is None:
            self._refuse(unseen)
        return loaders.training([*self._passes, *planned], unseen)

    def state_dict(self, destination: Any = None) -> Any:
        """The history, how its batches were drawn, and what no theorem covers of it."""
        state = super().state_dict(destination)
        state["passes"] = [each.record() for each in self._passes if each.steps]
        state["doubts"] = list(self._doubts)
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The history that ``state_dict`` returned; one that cannot be accounted for is refused."""
        given = state_dict
        if given and given.get("mechanism") in (_NAME, _ASSUMING):
            given = {**given, "mechanism": self.mechanism()}
        kept = self.history
        super().load_state_dict(given)
        loaded, self.history = self.history, kept
        loaders.counted(loaded)
        records, doubts = given.get("passes", []), given.get("doubts", [])
        _checks.instance(list, "a list of records as state_dict has them", passes=records)
        self._passes = [Pass.of(record) for record in records]
        self._doubts = [str(doubt) for doubt in doubts]
        self.history = [(noise, rate, count) for noise, rate, count in loaded]
        self._begun, self._current = {}, None

    # -- in training -----------------------------------------------------------------------------

    def _clipping(self, optimizer: Any, module: Any = None) -> Clipping:
        for known in self._clippings:
            if known.optimizer is optimizer:
                return known
        self._clippings.append(Clipping(optimizer, module))
        self._clippings[-1].watch()
        return self._clippings[-1]

    def _drawn(self, name: object, batches: Batches) -> None:
        """A loader draws a batch, of the pass of this name."""
        if name not in self._begun:
            if self._begun and any(each.unfinished for each in self._clippings):
                self._doubt(
                    "a pass ended within a batch that was split to fit memory, and Opacus adds "
                    "what it has of that batch to the next step (end loops where a batch ends)"
                )
            self._begun[name] = Pass(batches)
            self._passes.append(self._begun[name])
        elif batches.draw in _REPEATING and any(
            each.holds_over(self._ahead) for each in self._clippings
        ):
            self._doubt(
                f"a step was skipped (signal_skip_step), so that the next has records of several "
                f"batches of {batches.draw.value}, in which a record may be several times (take a "
                "step on each batch; to fit memory, use Opacus's BatchMemoryManager, and train on "
                "each of its pieces)"
            )
        self._current = self._begun[name]
        self._current.drawn += 1

    def _take(self, noise_multiplier: float, sample_rate: float, batches: int = 1) -> None:
        """A step on so many batches: of the pass that is drawn from, if it drew as many."""
        # Opacus would call k batches of one step a batch of k times the rate.
        step = loaders.checked_step(noise_multiplier, sample_rate)
        if self.history and tuple(self.history[-1][:2]) == step:
            self.history[-1] = (*step, self.history[-1][2] + 1)
        else:
            self.history.append((*step, 1))
        current = self._current
        if batches > 1:
            self._doubt_accumulation(current, batches)
        if current is not None and current.taken + batches <= current.drawn:
            # Batches that were passed over are gone: a step on the same batch is none of theirs.
            current.taken = max(current.taken + batches, current.drawn - self._ahead)
            current.steps[step] += 1

    def _doubt_accumulation(self, current: Pass | None, batches: int) -> None:
        """A record is in a step once if its batches are of one pass that has no record twice."""
        seen = current.batches.draw if current is not None else Draw.POISSON
        before = [each for each in self._passes if each is not current and each.steps]
        if seen in _REPEATING:
            self._doubt(
                f"gradients of {batches} batches of {seen.value} were accumulated in one step, in "
                "which a record may be several times (take a step on each batch; to fit memory, "
                "use Opacus's BatchMemoryManager)"
            )
        elif any(each.taken < each.drawn for each in before):
            self._doubt(
                "gradients of batches of two passes may have been accumulated in one step, in "
                "which a record is then twice (take a step at the end of each pass)"
            )

    def _doubt(self, seen: str) -> None:
        if seen not in self._doubts:
            self._doubts.append(seen)

    def _refuse(self, unseen: Counter[loaders.Step]) -> None:
        """Steps of which nobody knows how their batches were drawn; whole data need no sample."""
        missing = sum(count for (_, rate), count in unseen.items() if 0 < rate < 1)
        if not missing:
            return
        if self._passes:
            drawn = sum(each.drawn for each in self._passes)
            raise Unsupported(
                f"{len(self):,} steps were taken on {drawn:,} batches of the loader that "
                "make_private returned, so that some were on others, or twice on one: train on "
                f"that loader, a step on each batch; or, if all were Poisson samples, {SAY_SO}"
            )
        raise Unsupported(
            "no data loader was seen, and ε depends on how batches are drawn: call "
            f"make_private on this engine; or, if they are Poisson samples, {SAY_SO}"
        )


class _Assuming(OpacusAccountant):
    """The accountant of those who say that batches are Poisson samples."""

    def __init__(self) -> None:
        super().__init__(assume=Sampling.POISSON)

    @classmethod
    def mechanism(cls) -> str:
        return _ASSUMING


def _assumed(assume: Sampling | None) -> Sampling | None:
    if assume not in (None, Sampling.POISSON):
        _checks.refuse("assume", "be ta.Sampling.POISSON or left out", assume)
    return assume


# -- before training -----------------------------------------------------------------------------


def check_training(made: Any, *, epochs: int, delta: float = 1e-5) -> TrainingPromise:
    """What a training would really promise, beside what Opacus would report of it.

    ``made`` is what ``make_private`` returned, or any tuple, list or dict that holds the optimizer
    it returned and the loader that you train on; schedulers of noise and clipping among them are
    taken to be stepped once an epoch. Of an engine the accountant is the one compared with, and the
    steps in its history, as of a checkpoint, count as well. Nothing is trained. Each step is taken
    to be on one batch.

    >>> import torch
    >>> rows = torch.utils.data.TensorDataset(torch.zeros(64, 4))
    >>> loader = DataLoader(rows, batch_size=8, shuffle=True)
    >>> plain = torch.optim.SGD(torch.nn.Linear(4, 1).parameters(), lr=0.1)
    >>> noise = {"noise_multiplier": 1.0, "max_grad_norm": 1.0}
    >>> optimizer = DPOptimizer(plain, **noise, expected_batch_size=8)
    >>> promise = check_training([optimizer, loader], epochs=1, delta=1e-5)
    >>> round(promise.attack, 2), round(promise.epsilon, 2), round(promise.reported, 1)
    (4.35, 4.38, 3.2)
    """
    held = _held(made)
    loader, optimizer = _one_of(held, DataLoader), _one_of(held, DPOptimizer)
    rounds = _checks.whole(1, 10**6, epochs=epochs)
    asked = _checks.inside_unit(delta=delta)
    batches = known_scheme(loader)
    loaders.check_replicas(loader, optimizer)
    clips = [each for each in held if hasattr(each, "max_grad_norm") and each is not optimizer]
    schedules = [each for each in held if isinstance(each, (_NoiseScheduler, _GradClipScheduler))]
    plan = _noise_by_epoch(Clipping(optimizer, clips[0] if clips else None), schedules, rounds)
    noises, norms = [each.noise for each in plan], [each.norm for each in plan]
    before = [each.accountant for each in held if isinstance(each, PrivacyEngine)]
    training = _after(before).training([batches.whole_pass(noise) for noise in noises])
    names = [each.mechanism() for each in before]
    name = next((each for each in names if each not in (_NAME, _ASSUMING)), _USUAL)
    history = [step for each in before for step in each.history]
    return TrainingPromise(
        sampling=batches.draw.value,
        sampler=batches.sampler,
        data_size=batches.data_size,
        sampling_rate=batches.rate,
        batch_size=batches.batch_size,
        steps_per_epoch=batches.batches,
        epochs=rounds,
        optimizer=type(optimizer).__name__,
        noise_multipliers=(min(noises), max(noises)),
        clipping_norms=(min(norms), max(norms)),
        neighbours=training.neighbours,
        delta=asked,
        epsilon=spent.epsilon(training, asked),
        attack=math.inf if min(noises) == 0 else _attack(training, asked),
        reported_by=name,
        reported=_reported(name, history, [each.told for each in plan], batches.batches, asked),
        notes=tuple(_notes(loader, plan, schedules, history)),
    )


class _Epoch(NamedTuple):
    """The noise multiplier and clipping norm of an epoch, and the noise that Opacus is told of."""

    noise: float
    norm: float
    told: float


def _noise_by_epoch(clipping: Clipping, schedules: list[Any], epochs: int) -> list[_Epoch]:
    """What schedules would do, all of them stepped once an epoch and then put back."""
    optimizer, plan = clipping.optimizer, []
    before = (optimizer.noise_multiplier, optimizer.max_grad_norm)
    states = [dict(schedule.state_dict()) for schedule in schedules]
    for _ in range(epochs):
        noise, reported = clipping.noise_multiplier(), float(optimizer.noise_multiplier)
        plan.append(_Epoch(noise, clipping.norm(), reported))
        for schedule in schedules:
            schedule.step()
    optimizer.noise_multiplier, optimizer.max_grad_norm = before
    for schedule, state in zip(schedules, states, strict=True):
        schedule.load_state_dict(state)
    return plan


def _held(made: Any) -> list[Any]:
    """All that a tuple, list or dict holds, and those within it."""
    if isinstance(made, Mapping):
        made = list(made.values())
    if not isinstance(made, (tuple, list)):
        return [made]
    return [each for part in made for each in _held(part)]


def _one_of(held: list[Any], kind: type) -> Any:
    """The one loader, or the one optimizer, of a training."""
    matching = [each for each in held if isinstance(each, kind)]
    if len(matching) == 1:
        return matching[0]
    rule = (
        "hold the one DataLoader that you train on"
        if kind is DataLoader
        else "hold the optimizer that make_private returned"
    )
    kinds = ", ".join(type(each).__name__ for each in held)
    raise InvalidArgument(f"made (what make() returns) must {rule}, got {kinds}")


def _attack(training: Mechanism, delta: float) -> float | None:
    """The ε that some attack surely reaches; None where none is known."""
    try:
        bracket = training.bracket(delta)
    except NotCertified:
        return None
    return None if bracket.one_sided else float(bracket.upper.epsilon(delta))


def _after(before: list[Any]) -> OpacusAccountant:
    """What was spent before, by an accountant that knows how batches were drawn."""
    used = [each for each in before if each.history]
    if len(used) > 1 or not all(isinstance(each, OpacusAccountant) for each in used):
        raise Unsupported(
            "steps were taken before, and nobody knows how all their batches were drawn: train "
            "with one engine, PrivacyEngine(accountant='tellapart')"
        )
    return used[0] if used else OpacusAccountant()


def _reported(
    name: str, history: list[Any], noises: list[float], steps: int, delta: float
) -> float | None:
    """What one of Opacus's accountants says of all steps that it would be told of."""
    theirs = create_accountant(name)
    planned = [(noise, 1 / steps, steps * len(list(alike))) for noise, alike in groupby(noises)]
    theirs.history = [*history, *planned]
    with warnings.catch_warnings(action="ignore"):
        try:
            return float(theirs.get_epsilon(delta=delta))
        except (ArithmeticError, RuntimeError, ValueError):  # too little noise for its mesh
            return None


def _notes(
    loader: Any, plan: list[_Epoch], schedules: list[Any], history: list[Any]
) -> Iterator[str]:
    if history:
        steps = loaders.counted(history).total()
        yield f"{steps:,} steps that were taken before count as well."
    if schedules:
        names = " and ".join(type(schedule).__name__ for schedule in schedules)
        yield f"{names}: taken to be stepped once an epoch."
    if any(each.noise < each.told for each in plan):
        yield (
            "The schedule moves the norm by which noise is scaled, and not the one at which this "
            "optimizer clips: there is less noise for each gradient than Opacus takes it to be."
        )
    if type(loader.batch_sampler) is BatchSplittingSampler:
        yield "Batches are split to fit memory, and count whole."


extend(PrivacyEngine)
register_accountant(_NAME, OpacusAccountant, force=True)
register_accountant(_ASSUMING, _Assuming, force=True)


if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
