"""An accountant with dp_accounting's interface (extra ``accounting``).

Where there was ``accountant = pld.PLDAccountant()``, write ``accountant = CurveAccountant()``.
"""

from __future__ import annotations

from tellapart import _checks
from tellapart.accountants import spent
from tellapart.accountants.events import from_dp_event
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import UnreadableEvent, Unsupported
from tellapart.mechanisms.base import Mechanism

try:
    from dp_accounting.dp_event import (
        ComposedDpEvent,
        DpEvent,
        GaussianDpEvent,
        SelfComposedDpEvent,
    )
    from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant
except ImportError as missing:
    raise Unsupported(
        "an accountant for dp_accounting needs: pip install 'tellapart[accounting]'"
    ) from missing

__all__ = ["CurveAccountant"]


class CurveAccountant(PrivacyAccountant):
    """What an attacker can learn from all composed events, in dp_accounting's own interface.

    ε and δ are those of the curve of the whole ledger, right to about 1e-10; where the curve has
    too few digits they come from a certified bracket, on the side of the guarantee.

    What was composed counts as a plan fixed beforehand. To stop when ε reaches a target is no
    privacy filter for steps that were chosen after looking at outputs: docs/sharp-edges.md.

    >>> import dp_accounting as dp
    >>> spent = CurveAccountant(dp.NeighboringRelation.REPLACE_ONE)
    >>> _ = spent.compose(dp.RandomizedResponseDpEvent(0.5, 2), 100)
    >>> round(spent.get_epsilon(1e-5), 4)
    90.7815
    """

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    ) -> None:
        super().__init__(neighboring_relation)

    def _maybe_compose(
        self, event: DpEvent, count: int, do_compose: bool
    ) -> PrivacyAccountant.CompositionErrorDetails | None:
        """Only checks: the ledger, which the base class keeps, is all the state there is."""
        return None if do_compose else self._refusal(event)

    def _refusal(self, event: DpEvent) -> PrivacyAccountant.CompositionErrorDetails | None:
        """Why an event cannot be accounted for, with the innermost one that is to blame."""
        try:
            from_dp_event(event, self.neighboring_relation)
            # Not all that has a curve of its own can be composed; beside a Gaussian it must be.
            both = ComposedDpEvent([event, GaussianDpEvent(1.0)])
            from_dp_event(both, self.neighboring_relation).curve()
        except UnreadableEvent as reason:
            return PrivacyAccountant.CompositionErrorDetails(reason.event, str(reason))
        except Unsupported as reason:
            inner = (self._refusal(part) for part in _composed_of(event))
            itself = PrivacyAccountant.CompositionErrorDetails(event, str(reason))
            return next((refused for refused in inner if refused is not None), itself)
        return None

    def get_epsilon(self, target_delta: float) -> float:
        """The ε spent at this δ."""
        asked = _checks.probability(target_delta=target_delta)
        return spent.epsilon(self._mechanism(), asked)

    def get_delta(self, target_epsilon: float) -> float:
        """The δ spent at this ε."""
        asked = _checks.number(target_epsilon=target_epsilon)
        return spent.delta(self._mechanism(), asked)

    def curve(self) -> TradeoffCurve:
        """What all composed events let an attacker do: every other number is in here."""
        return self._mechanism().curve()

    def _mechanism(self) -> Mechanism:
        return from_dp_event(self.ledger, self.neighboring_relation)


def _composed_of(event: DpEvent) -> list[DpEvent]:
    """The events that this one composes, if it is a composition."""
    if isinstance(event, ComposedDpEvent):
        return list(event.events)
    return [event.event] if isinstance(event, SelfComposedDpEvent) else []
