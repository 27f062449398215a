"""What an attacker gains over one unit of each deployment, from least to most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tellapart import _checks
from tellapart.curve.base import TradeoffCurve
from tellapart.deployments._registry import DEPLOYMENTS, SOURCE
from tellapart.deployments.deployment import Deployment
from tellapart.mechanisms.subject import Subject, curves_of
from tellapart.risk import Reading, summary

CAVEATS = (
    "A promise's number is the most that any mechanism with that promise lets an attacker gain: "
    "what was deployed may leak less. Where that is 1.0000 the promise by itself rules out next to "
    "nothing.",
    "Units differ: a user-day is not a user. What is promised about one day or one event adds up "
    "over all that a person gives, so compare deployments of the same unit only.",
    "In the local model the curator is an attacker, too; in the central model the curator sees "
    "everything, and only others are kept in the dark.",
    f"Parameters and units are those of the {SOURCE}, and so is each entry's status (Draft or "
    "Pending); nobody has checked here what runs in the deployed systems.",
)
_SHOWN = ("advantage", "tpr", "ppv")


@dataclass(frozen=True)
class Gain:
    """What an attacker gains over one unit of a deployment, or from a mechanism set beside it.

    Each reading says on which side the truth lies: "≤" for every deployment.
    """

    name: str
    deployment: Deployment | None
    readings: tuple[Reading, ...]

    @property
    def advantage(self) -> float:
        """How much more often an attacker accuses those present than those absent."""
        return self.readings[0].value

    @property
    def tpr(self) -> float:
        """The share of those present that it finds at the FPR asked for."""
        return self.readings[1].value

    @property
    def ppv(self) -> float:
        """The share of its accusations that are right, at that FPR and under the prior."""
        return self.readings[2].value


def gains(
    asked: Iterable[Deployment] = DEPLOYMENTS,
    *,
    beside: Mapping[str, Subject] | None = None,
    fpr: float = 0.01,
    prior: float = 0.5,
) -> tuple[Gain, ...]:
    """What an attacker gains over one unit of each deployment, from least to most.

    ``beside`` maps names to mechanisms or curves to set among them. Each `Gain` has the advantage,
    the TPR at ``fpr`` and the PPV there under ``prior``. Read `CAVEATS` before comparing.

    >>> from tellapart import deployments
    >>> for gain in gains(deployments.find("apple"))[:2]:
    ...     print(f"{gain.name}, {gain.deployment.per}: {gain.readings[0]}")
    HealthKit Usage Statistics, one event: advantage ≤ 0.7616
    Popular Emojis, one event: advantage ≤ 0.9641
    """
    _checks.instance(Iterable, "a list of deployments", asked=asked)
    chosen = list(asked)
    for one in chosen:
        _checks.instance(Deployment, "deployments, as deployments.find returns", asked=one)
    others = {} if beside is None or beside == {} else curves_of(beside)
    if not chosen and not others:
        _checks.refuse("asked", "hold at least one deployment", asked)
    rows = [_gain(one.name, one, one.curve(), fpr, prior) for one in dict.fromkeys(chosen)]
    rows += [_gain(name, None, curve, fpr, prior) for name, curve in others.items()]
    return tuple(sorted(rows, key=lambda row: (row.advantage, row.tpr, row.name)))


def _gain(
    name: str, deployment: Deployment | None, curve: TradeoffCurve, fpr: float, prior: float
) -> Gain:
    found = {one.key: one for one in summary(curve, fpr=fpr, prior=prior)}
    return Gain(name, deployment, tuple(found[key] for key in _SHOWN))
