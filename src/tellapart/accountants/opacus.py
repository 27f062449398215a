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
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple

from tellapart import _checks
from tellapart.accountants import spent
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism, Sampling

try:
    import torch
    from opacus import PrivacyEngine
    from opacus.accountants import IAccountant, register_accountant
    from opacus.distributed import DifferentiallyPrivateDistributedDataParallel
    from torch.nn.parallel import DistributedDataParallel

    from tellapart.accountants import loaders
    from tellapart.accountants.clipping import ADAPTIVE, Clipping
    from tellapart.accountants.loaders import Batches, Draw, Pass
except ImportError as missing:
    raise Unsupported(
        "an accountant for Opacus needs: pip install 'tellapart[opacus]'"
    ) from missing

__all__ = ["CurveAccountant", "accountant"]

_NAME = "tellapart"
_ASSUMING = "tellapart, Poisson samples assumed"
_SAY_SO = (
    "say so: PrivacyEngine(accountant=tellapart.accountants.opacus.accountant("
    "assume=ta.Sampling.POISSON))"
)


class _Plan(NamedTuple):
    """A training to come, for which Opacus looks for the noise."""

    batches: Batches
    epochs: int


# Opacus's search for the noise makes accountants of its own: what they plan for.
_PLAN: ContextVar[_Plan | None] = ContextVar("_PLAN", default=None)


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


class CurveAccountant(IAccountant):  # type: ignore[misc]
    """What an attacker can learn from all training steps so far, in Opacus's own interface.

    ``history`` holds (noise multiplier, sample rate, number of steps), as in Opacus; the noise is
    in units of the norm at which gradients were really clipped. ``batches`` is how the loader that
    was last looked at draws them. Poisson samples are for neighbours that add or remove a record,
    all others for those that zero one out; shuffled batches count on the side of a guarantee.
    Batches are taken to be trained on in the order in which they are drawn.

    The steps taken count as a plan fixed beforehand. To stop when ε reaches a target is no privacy
    filter where noise or rate was chosen after looking at outputs: docs/sharp-edges.md.

    >>> import tellapart as ta
    >>> spent = CurveAccountant(assume=ta.Sampling.POISSON)
    >>> spent.history = [(1.0, 0.01, 1_000)]
    >>> round(spent.get_epsilon(delta=1e-5), 6)
    1.828237
    """

    def __init__(self, *, assume: Sampling | None = None) -> None:
        super().__init__()
        self.history: list[tuple[float, float, int]] = []
        self.assume = _assumed(assume)
        self.batches: Batches | None = None
        self._plan = _PLAN.get()
        self._passes: list[Pass] = []
        self._current: Pass | None = None
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
        self.batches = self._scheme_of(loader)
        if self.batches is not None:
            loaders.listened(loader, self._drawn)

    def _scheme_of(self, loader: Any) -> Batches | None:
        """How a loader draws its batches; None where that is unknown, and taken for Poisson."""
        batches = loaders.batches_of(loader)
        if batches is None and self.assume is None:
            sampler = getattr(loader, "batch_sampler", None)
            kind = type(loader if sampler is None else getattr(sampler, "sampler", sampler))
            raise Unsupported(
                f"{kind.__name__} is not known to draw batches that a theorem covers: if they are "
                f"Poisson samples, {_SAY_SO}"
            )
        return batches

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

    def training(self) -> Mechanism:
        """All steps so far as a mechanism, whose ``bracket`` has both ends of ε."""
        unseen = loaders.counted(self.history)
        for each in self._passes:
            unseen.subtract(each.steps)
        unseen = +unseen
        if self._plan is not None:
            return loaders.training(_planned(self._plan, unseen), {})
        if self._doubts:
            raise Unsupported(f"no ε for these steps: {'; '.join(dict.fromkeys(self._doubts))}")
        if self.assume is None:
            self._refuse(unseen)
        return loaders.training(self._passes, unseen)

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
        self._current = None

    # -- in training -----------------------------------------------------------------------------

    def _clipping(self, optimizer: Any, module: Any = None) -> Clipping:
        for known in self._clippings:
            if known.optimizer is optimizer:
                return known
        self._clippings.append(Clipping(optimizer, module))
        return self._clippings[-1]

    def _drawn(self, of: Pass) -> None:
        """A loader draws a batch."""
        if of.drawn == 1:
            if self._passes and any(each.unfinished for each in self._clippings):
                self._doubts.append(
                    "a pass ended within a batch that was split to fit memory, and Opacus adds "
                    "what it has of that batch to the next step (end loops where a batch ends)"
                )
            self._passes.append(of)
        self._current = of

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
            current.taken += batches
            current.steps[step] += 1

    def _doubt_accumulation(self, current: Pass | None, batches: int) -> None:
        """A record is in a step once if its batches are of one pass that has no record twice."""
        seen = current.batches.draw if current is not None else Draw.POISSON
        before = [each for each in self._passes if each is not current and each.steps]
        if seen in (Draw.POISSON, Draw.WITH_REPLACEMENT):
            self._doubts.append(
                f"gradients of {batches} batches of {seen.value} were accumulated in one step, in "
                "which a record may be several times (take a step on each batch; to fit memory, "
                "use Opacus's BatchMemoryManager)"
            )
        elif any(each.taken < each.drawn for each in before):
            self._doubts.append(
                "gradients of batches of two passes may have been accumulated in one step, in "
                "which a record is then twice (take a step at the end of each pass)"
            )

    def _refuse(self, unseen: Counter[loaders.Step]) -> None:
        """Steps of which nobody knows how their batches were drawn; whole data need no sample."""
        missing = sum(count for (_, rate), count in unseen.items() if 0 < rate < 1)
        if not missing:
            return
        if self._passes:
            drawn = sum(each.drawn for each in self._passes)
            raise Unsupported(
                f"{len(self):,} steps were taken on {drawn:,} batches of the loader that "
                "make_private returned, so that others came from elsewhere: train on that loader; "
                f"or, if all were Poisson samples, {_SAY_SO}"
            )
        raise Unsupported(
            "no data loader was seen, and ε depends on how batches are drawn: call "
            f"make_private on this engine; or, if they are Poisson samples, {_SAY_SO}"
        )


class _Assuming(CurveAccountant):
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


def _planned(plan: _Plan, history: Mapping[loaders.Step, int]) -> list[Pass]:
    """The passes of a plan. Opacus rounds the number of its steps down, so the epochs count."""
    batches, passes = plan.batches, []
    for step in history:
        for _ in range(plan.epochs):
            full = Counter({step: batches.batches})
            passes.append(Pass(batches, batches.batches, batches.batches, full))
    return passes


# -- what make_private is extended by ------------------------------------------------------------


def _looking(make_private: Callable[..., Any]) -> Callable[..., Any]:
    """Opacus's ``make_private``, which also shows its parts to an accountant that looks at them."""

    @wraps(make_private)
    def with_a_look(engine: Any, *args: Any, **given: Any) -> Any:
        look_at = getattr(engine.accountant, "look_at", None)
        if look_at is None:
            return make_private(engine, *args, **given)
        if "target_unclipped_quantile" in given:
            raise Unsupported(ADAPTIVE)
        if given.get("poisson_sampling", True):
            loaders.warn_of_discarded(given.get("data_loader"))
        else:  # the loader stays: refuse it while all does
            look_at(given.get("data_loader"))
        module, optimizer, *_, loader = made = make_private(engine, *args, **given)
        look_at(loader, optimizer, module)
        return made

    return with_a_look


def _meeting_a_budget(make_private_with_epsilon: Callable[..., Any]) -> Callable[..., Any]:
    """The same for ``make_private_with_epsilon``, which looks for the noise first."""

    @wraps(make_private_with_epsilon)
    def with_a_look(engine: Any, *args: Any, **given: Any) -> Any:
        plan = None
        if hasattr(engine.accountant, "look_at"):
            plan = _plan_of(engine.accountant, given)
        token = _PLAN.set(plan)
        try:
            return make_private_with_epsilon(engine, *args, **given)
        finally:
            _PLAN.reset(token)

    return with_a_look


def _plan_of(looking: CurveAccountant, given: Mapping[str, Any]) -> _Plan | None:
    """The training that ``make_private_with_epsilon`` is asked for."""
    loader, epochs = given.get("data_loader"), given.get("epochs")
    if loader is None or epochs is None:  # which Opacus asks for
        return None
    batches = None if given.get("poisson_sampling", True) else looking._scheme_of(loader)
    if batches is None:
        kinds = (DifferentiallyPrivateDistributedDataParallel, DistributedDataParallel)
        spread = isinstance(given.get("module"), kinds)
        batches = loaders.poisson_of(loader, torch.distributed.get_world_size() if spread else 1)
    return _Plan(batches, math.ceil(_checks.finite_above_zero(epochs=epochs)))


def _extend(engine: type) -> None:
    """Once, however often this module is imported."""
    ways = {"make_private": _looking, "make_private_with_epsilon": _meeting_a_budget}
    for name, way in ways.items():
        method = getattr(engine, name)
        setattr(engine, name, way(getattr(method, "__wrapped__", method)))


_extend(PrivacyEngine)
register_accountant(_NAME, CurveAccountant, force=True)
register_accountant(_ASSUMING, _Assuming, force=True)
