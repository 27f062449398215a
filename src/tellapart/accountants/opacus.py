"""An accountant for Opacus (extra ``opacus``), registered as ``"tellapart"`` by this import.

After ``import tellapart.accountants.opacus``, ``PrivacyEngine(accountant="tellapart")`` has it.

Opacus tells an accountant noise and rate alone, and ε depends on how batches are drawn as well:
so ``make_private`` is extended here by a look at its data loader. Batches that are no Poisson
samples are refused before anything is trained; where no loader was seen, ε is given only to those
who say ``assume=ta.Sampling.POISSON``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.accountants import spent
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.guarantees import everything, nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.combine import compose
from tellapart.mechanisms.custom import CustomMechanism
from tellapart.mechanisms.training import dp_sgd

try:
    from opacus import PrivacyEngine
    from opacus.accountants import IAccountant, register_accountant
    from opacus.utils.uniform_sampler import UniformWithReplacementSampler
    from torch.utils import data as torch_data
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
# What was seen of the loader for which a budget is being met: Opacus's search for the noise makes
# accountants of its own.
_SEEN: ContextVar[Sampling | None] = ContextVar("_SEEN", default=None)
# How much a rate times the number of batches may exceed 1 by rounding.
_ROUNDING = 1e-9
# Ways to pick records that torch has, none of them a Poisson sample.
_ORDERS: dict[type, str] = {
    torch_data.RandomSampler: "a random order, cut into batches",
    torch_data.SequentialSampler: "a fixed order, cut into batches",
    torch_data.SubsetRandomSampler: "a random order, cut into batches",
    torch_data.WeightedRandomSampler: "drawn by weights, in batches of fixed size",
    torch_data.DistributedSampler: "a random order, cut into batches",
}
_Step = tuple[float, float]


class _CountedSampler(UniformWithReplacementSampler):  # type: ignore[misc]
    """A Poisson sampler that counts its batches, to be compared with the steps taken."""

    drawn = 0

    def __iter__(self) -> Iterator[Any]:
        for batch in super().__iter__():
            self.drawn += 1
            yield batch


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

    ``history`` holds (noise multiplier, sample rate, number of steps), as in Opacus; neighbours
    add or remove one record. ``sampling`` is how batches are drawn, as ``make_private`` saw it;
    without it, and without ``assume``, no ε is given.

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
        self.sampling = _SEEN.get()
        self._samplers: list[_CountedSampler] = []
        self._steps_seen = 0

    @classmethod
    def mechanism(cls) -> str:
        """What Opacus calls this accountant."""
        return _NAME

    def __len__(self) -> int:
        return sum(_steps(self.history).values())

    def look_at(self, loader: Any) -> None:
        """See how a data loader draws its batches; those that are no Poisson samples are refused.

        ``make_private`` does this by itself. Steps taken before, unseen, stay unseen.
        """
        seen, self.sampling = self.sampling, None
        sampling = _sampling_of(loader, self.assume)
        self.sampling = sampling if seen is not None or len(self) == 0 else None
        if sampling is not None and loader.batch_sampler not in self._samplers:
            loader.batch_sampler.__class__ = _CountedSampler
            self._samplers.append(loader.batch_sampler)

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One step more, counted with the last if it is like it."""
        step = _step(noise_multiplier, sample_rate)
        self._steps_seen += 1
        if self.history and tuple(self.history[-1][:2]) == step:
            self.history[-1] = (*step, self.history[-1][2] + 1)
        else:
            self.history.append((*step, 1))

    def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
        """The ε spent so far, on the side of a guarantee.

        What other accountants are told here about orders or meshes is not needed, so ignored.
        """
        asked = _checks.probability(delta=delta)
        return spent.epsilon(self._training(), asked)

    def curve(self) -> TradeoffCurve:
        """What all steps so far let an attacker do: every other number is in here."""
        return self._training().curve()

    def _training(self) -> Mechanism:
        taken = [(*step, n) for step, n in _steps(self.history).items() if n and step[1]]
        if not taken:
            return CustomMechanism(nothing())
        if any(noise == 0 for noise, _, _ in taken):
            return CustomMechanism(everything(Bound.LOWER))
        if self.sampling is None and self.assume is None and any(rate < 1 for _, rate, _ in taken):
            raise Unsupported(
                "no data loader was seen, and ε depends on how batches are drawn: call "
                f"make_private on this engine; or, if they are Poisson samples, {_SAY_SO}"
            )
        drawn = sum(sampler.drawn for sampler in self._samplers)
        if self._samplers and self.assume is None and self._steps_seen > drawn:
            raise Unsupported(
                f"{self._steps_seen:,} steps were taken on {drawn:,} batches of the loader that "
                "make_private returned, so that others came from elsewhere: train on that loader; "
                f"or, if all were Poisson samples, {_SAY_SO}"
            )
        return compose([dp_sgd(*step) for step in taken])

    def state_dict(self, destination: Any = None) -> Any:
        """The history, and how its batches were drawn."""
        state = super().state_dict(destination)
        state["sampling"] = None if self.sampling is None else self.sampling.name
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The history that ``state_dict`` returned; one that cannot be accounted for is refused."""
        given = state_dict
        if given and given.get("mechanism") in (_NAME, _ASSUMING):
            given = {**given, "mechanism": self.mechanism()}
        kept = self.history
        super().load_state_dict(given)
        loaded, self.history = self.history, kept
        _steps(loaded)
        seen = given.get("sampling")
        if seen not in (None, Sampling.POISSON.name):
            _checks.refuse("sampling", "be POISSON, or None where no loader was seen", seen)
        self.history = [(noise, rate, count) for noise, rate, count in loaded]
        self.sampling = None if seen is None else Sampling.POISSON


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


def _sampling_of(loader: Any, assume: Sampling | None) -> Sampling | None:
    """How a loader draws its batches: as Poisson samples, or (where that is assumed) unknown."""
    batches: Any = getattr(loader, "batch_sampler", None)
    order = type(getattr(batches, "sampler", None))
    if type(batches) in (UniformWithReplacementSampler, _CountedSampler):
        _check_rate(batches.sample_rate, len(loader))
        return Sampling.POISSON
    if type(batches) is torch_data.BatchSampler and order in _ORDERS:
        raise Unsupported(
            f"batches of {type(loader).__name__} with {order.__name__} are no Poisson samples "
            f"({_ORDERS[order]}), and they may leak several times as much: leave "
            "poisson_sampling=True in make_private, and train with the loader that it returns"
        )
    if assume is None:
        kind = type(loader if batches is None else batches).__name__
        raise Unsupported(f"{kind} is not known to draw Poisson samples: if it does, {_SAY_SO}")
    return None


def _check_rate(rate: float, batches: int) -> None:
    """Opacus takes the rate to be 1 / number of batches: a larger one would leak more than told."""
    if rate * batches > 1 + _ROUNDING:
        raise Unsupported(
            f"the loader's sampling rate is {short(rate)}, and Opacus reports 1/{batches}, "
            f"from the number of its batches: make it with at most {int(1 / rate)} batches an epoch"
        )


def _step(noise_multiplier: Any, sample_rate: Any) -> _Step:
    return (
        _checks.finite_at_least_zero(noise_multiplier=noise_multiplier),
        _checks.probability(sample_rate=sample_rate),
    )


def _steps(history: Any) -> dict[_Step, int]:
    """How often each kind of step was taken."""
    rule = "be a list of (noise multiplier, sample rate, number of steps)"
    if isinstance(history, (str, Mapping)) or not isinstance(history, Iterable):
        _checks.refuse("history", rule, history)
    counts: dict[_Step, int] = {}
    for entry in history:
        if not isinstance(entry, (tuple, list)) or len(entry) != 3:
            _checks.refuse("history", rule, history)
        step = _step(entry[0], entry[1])
        counts[step] = counts.get(step, 0) + _checks.whole(0, 10**15, steps=entry[2])
    return counts


def _looking(make_private: Callable[..., Any]) -> Callable[..., Any]:
    """Opacus's ``make_private``, which also shows the loader to an accountant that looks at it."""

    @wraps(make_private)
    def with_a_look(engine: Any, *args: Any, **given: Any) -> Any:
        look_at = getattr(engine.accountant, "look_at", None)
        if look_at is None:
            return make_private(engine, *args, **given)
        if not given.get("poisson_sampling", True):  # the loader stays: refuse it while all does
            look_at(given.get("data_loader"))
        made = make_private(engine, *args, **given)
        look_at(made[-1])
        return made

    return with_a_look


def _meeting_a_budget(make_private_with_epsilon: Callable[..., Any]) -> Callable[..., Any]:
    """The same for ``make_private_with_epsilon``, which looks for the noise first."""

    @wraps(make_private_with_epsilon)
    def with_a_look(engine: Any, *args: Any, **given: Any) -> Any:
        seen = None
        if hasattr(engine.accountant, "look_at"):
            assume, loader = engine.accountant.assume, given.get("data_loader")
            poisson = given.get("poisson_sampling", True)
            seen = Sampling.POISSON if poisson else _sampling_of(loader, assume) or assume
        token = _SEEN.set(seen)
        try:
            return make_private_with_epsilon(engine, *args, **given)
        finally:
            _SEEN.reset(token)

    return with_a_look


def _extend(engine: type) -> None:
    """Once, however often this module is imported."""
    ways = {"make_private": _looking, "make_private_with_epsilon": _meeting_a_budget}
    for name, way in ways.items():
        method = getattr(engine, name)
        setattr(engine, name, way(getattr(method, "__wrapped__", method)))


_extend(PrivacyEngine)
register_accountant(_NAME, CurveAccountant, force=True)
register_accountant(_ASSUMING, _Assuming, force=True)
