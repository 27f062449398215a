"""An accountant for Opacus (extra ``opacus``), registered as ``"tellapart"`` by this import.

After ``import tellapart.accountants.opacus``, ``PrivacyEngine(accountant="tellapart")`` has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tellapart import _checks
from tellapart.accountants import _spent
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.guarantees import everything, nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import compose
from tellapart.mechanisms.custom import CustomMechanism
from tellapart.mechanisms.training import dp_sgd

try:
    from opacus.accountants import IAccountant, register_accountant
except ImportError as missing:
    raise Unsupported(
        "an accountant for Opacus needs: pip install 'tellapart[opacus]'"
    ) from missing

_NAME = "tellapart"
_Step = tuple[float, float]


class CurveAccountant(IAccountant):  # type: ignore[misc]
    """What an attacker can learn from all training steps so far, in Opacus's own interface.

    ``history`` holds (noise multiplier, sample rate, number of steps), as in Opacus; neighbours
    add or remove one record, and batches are Poisson samples, whatever the data loader does.

    The steps taken count as a plan fixed beforehand. To stop when ε reaches a target is no privacy
    filter where noise or rate was chosen after looking at outputs: docs/sharp-edges.md.

    >>> spent = CurveAccountant()
    >>> spent.history = [(1.0, 0.01, 1_000)]
    >>> round(spent.get_epsilon(delta=1e-5), 6)
    1.828237
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: list[tuple[float, float, int]] = []

    @classmethod
    def mechanism(cls) -> str:
        return _NAME

    def __len__(self) -> int:
        return sum(_steps(self.history).values())

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One step more, counted with the last if it is like it."""
        step = _step(noise_multiplier, sample_rate)
        if self.history and tuple(self.history[-1][:2]) == step:
            self.history[-1] = (*step, self.history[-1][2] + 1)
        else:
            self.history.append((*step, 1))

    def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
        """The ε spent so far, on the side of a guarantee.

        What other accountants are told here about orders or meshes is not needed, so ignored.
        """
        return _spent.epsilon(_training(self.history), _checks.probability(delta=delta))

    def curve(self) -> TradeoffCurve:
        """What all steps so far let an attacker do: every other number is in here."""
        return _training(self.history).curve()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The history that ``state_dict`` returned; one that cannot be accounted for is refused."""
        kept = self.history
        super().load_state_dict(state_dict)
        loaded, self.history = self.history, kept
        _steps(loaded)
        self.history = [(noise, rate, count) for noise, rate, count in loaded]


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


def _training(history: Any) -> Mechanism:
    taken = [(*step, count) for step, count in _steps(history).items() if count and step[1]]
    if not taken:
        return CustomMechanism(nothing())
    if any(noise == 0 for noise, _, _ in taken):
        return CustomMechanism(everything(Bound.LOWER))
    return compose([dp_sgd(*one) for one in taken])


register_accountant(_NAME, CurveAccountant, force=True)
