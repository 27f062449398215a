"""ROC, AUC and TPR at low FPR of one attack: a description of membership inference, no audit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.audit.bounds import percent
from tellapart.audit.counts.clopper_pearson import clopper_pearson
from tellapart.audit.counts.confidence_band import fpr_upper_above, tpr_lower
from tellapart.audit.scores import Orientation, Scores
from tellapart.data.ranked import Ranked
from tellapart.errors import Unsupported

FPRS = (0.001, 0.01, 0.1)

# Scores of one side that are looked at together: both sides in order, a part at a time.
_BLOCK = 2**21
_ROC_POINTS = 100

_INDEPENDENT = ", or a training of its own for each score (audit.many_runs)"


ABOUT_PPV = (
    "Positive predictive values are of this attack on this population alone: a better attack, or "
    "other people, may give more."
)


def attacked(models: int | None) -> str:
    """What an attack was on, in words: so many models, or where nobody said it, scores."""
    if models is None:
        return "these scores"
    return "one model" if models == 1 else f"{models:,} models"


def why_no_epsilon(models: int | None) -> str:
    """Why rates that describe an attack are no bound."""
    return (
        f"these numbers describe one attack on {attacked(models)} and bound no ε: membership was "
        "not randomised, so members may differ from non-members in more than membership; an audit "
        "needs records whose inclusion was drawn at random (audit.one_run)"
        f"{'' if models == 1 else _INDEPENDENT}"
    )


@dataclass(frozen=True)
class PredictiveValue:
    """How likely a flagged record is a member, for this attack and population alone.

    ``low`` and ``high`` hold with the confidence, together with all others of the same metrics,
    for records drawn independently from the members and non-members of this model. ``value`` is
    that of the rates observed; None where nobody was flagged.
    """

    prior: float
    value: float | None
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        value = "not observed" if self.value is None else short(self.value, 4)
        sure = percent(self.confidence)
        return f"PPV {value} ({sure} interval {short(self.low, 4)} to {short(self.high, 4)})"


@dataclass(frozen=True)
class AtThreshold:
    """FPR and TPR of the attack that flags scores beyond one threshold."""

    threshold: float
    fpr: float
    tpr: float
    ppv: PredictiveValue | None = None


@dataclass(frozen=True)
class Metrics:
    """How well one attack separates members from non-members: a description without a verdict.

    Membership was not randomised. If non-members differ from members in any other way (in age,
    source or difficulty), an attack may separate the two groups although the model leaks nothing.
    So there is no ε here, no refuted claim and no curve. `models` is how many models the scores
    are of, as their runs say; None where they name none.

    `direction` says whether higher or lower scores, strictly beyond a threshold, are flagged. Where
    it was not known it is the one with the larger AUC. Every number is exact for these scores.
    """

    members: int
    non_members: int
    direction: Orientation
    looked_both_ways: bool
    auc: float
    at_fpr: dict[float, AtThreshold]
    largest_advantage: AtThreshold
    roc: tuple[tuple[float, float], ...] = field(repr=False)
    models: int | None = None
    prior: float | None = None
    # What was flagged beyond a threshold settled beforehand, where one was given.
    at_threshold: AtThreshold | None = None

    @property
    def predictive_values(self) -> dict[str, PredictiveValue]:
        """How likely a flagged record is a member, by threshold; empty without a prior."""
        places = {f"FPR ≤ {short(most)}": at for most, at in self.at_fpr.items()}
        places["the largest advantage"] = self.largest_advantage
        if self.at_threshold is not None:
            places[f"score {self._beyond} {short(self.at_threshold.threshold)}"] = self.at_threshold
        return {where: at.ppv for where, at in places.items() if at.ppv is not None}

    @property
    def _beyond(self) -> str:
        return ">" if self.direction is Orientation.HIGHER else "<"

    @property
    def advantage(self) -> float:
        """The largest TPR - FPR over all thresholds."""
        return self.largest_advantage.tpr - self.largest_advantage.fpr

    def epsilon_lower(self, *_: object, **__: object) -> NoReturn:
        """Always refused: see the class."""
        raise Unsupported(why_no_epsilon(self.models))

    def refutes(self, *_: object, **__: object) -> NoReturn:
        """Always refused: see the class."""
        raise Unsupported(why_no_epsilon(self.models))

    def curve(self, *_: object, **__: object) -> NoReturn:
        """Always refused: see the class."""
        raise Unsupported(why_no_epsilon(self.models))

    def __str__(self) -> str:
        beyond = self._beyond
        chosen = ", chosen after testing both directions" if self.looked_both_ways else ""
        lines = [
            f"AUC {self.auc:.4f} ({self.members:,} members, {self.non_members:,} non-members,"
            f" {self.direction.meaning}{chosen})"
        ]
        for most, at in self.at_fpr.items():
            lines.append(
                f"TPR {short(at.tpr, 4)} at FPR {short(at.fpr, 4)} (at most {short(most)}):"
                f" score {beyond} {short(at.threshold)}"
            )
        at = self.largest_advantage
        lines.append(
            f"largest advantage {short(self.advantage, 4)}: score {beyond} {short(at.threshold)}"
        )
        for where, ppv in self.predictive_values.items():
            lines.append(f"{ppv} at prior {short(ppv.prior)}, at {where}")
        if self.predictive_values:
            lines.append(ABOUT_PPV)
        why = why_no_epsilon(self.models)
        return "\n".join([*lines, f"{why[0].upper()}{why[1:]}."])


def metrics(
    scores: Scores,
    *,
    fprs: Sequence[float] = FPRS,
    prior: float | None = None,
    threshold: float | None = None,
    confidence: float = 0.95,
) -> Metrics:
    """AUC, TPR at small FPRs and largest advantage of one attack: a description, no verdict.

    With a ``prior``, also how likely a flagged record is a member (PPV), with an exact interval. At
    a ``threshold`` settled without these scores it is that of two Clopper-Pearson intervals; else
    thresholds are chosen on these scores, and simultaneous confidence bands pay for the choice.

    >>> print(metrics(Scores([3, 4, 5, 1], [0, 1, 2, 3]), fprs=[0.25]).auc)
    0.8125
    """
    _checks.instance(Scores, "audit.Scores", scores=scores)
    wanted = [_checks.inside_unit(fprs=fpr) for fpr in fprs]
    level = 1 - _checks.inside_unit(confidence=confidence)
    settled = None if threshold is None else _checks.finite(threshold=threshold)
    likely = None if prior is None else _checks.inside_unit(prior=prior)
    known = scores.orientation is not Orientation.EITHER
    if settled is not None and not known:
        rule = "come with a stated orientation: which way scores point was not settled beforehand"
        _checks.refuse("threshold", rule, settled)
    direction = scores.orientation if known else Orientation.HIGHER
    members, non_members = Scores(scores.members, scores.non_members, direction).sides
    auc, best = _swept(members, non_members)
    if not known and auc < 0.5:
        direction = Orientation.LOWER
        members, non_members = Scores(scores.members, scores.non_members, direction).sides
        auc, best = _swept(members, non_members)
    sign = 1.0 if direction is Orientation.HIGHER else -1.0

    def at(beyond: float, chosen: bool = True) -> AtThreshold:
        hits, wrong = int(members.above(beyond)), int(non_members.above(beyond))
        ppv = None
        if likely is not None and chosen == (settled is None):
            limits = _band_limits if chosen else _exact_limits
            tpr = limits(hits, members.count, level / 2)
            fpr = limits(wrong, non_members.count, level / 2)
            observed = _ppv(hits / members.count, wrong / non_members.count, likely)
            low, high = _ppv(tpr[0], fpr[1], likely), _ppv(tpr[1], fpr[0], likely)
            ppv = PredictiveValue(
                likely, observed, low or 0.0, 1.0 if high is None else high, 1 - level
            )
        return AtThreshold(
            sign * beyond + 0.0, wrong / non_members.count, hits / members.count, ppv
        )

    return Metrics(
        members=members.count,
        non_members=non_members.count,
        direction=direction,
        looked_both_ways=not known,
        auc=auc,
        at_fpr={fpr: at(_threshold(non_members, fpr)) for fpr in wanted},
        largest_advantage=at(best),
        roc=_roc(members, non_members),
        models=len(scores.runs()) or None,
        prior=likely,
        at_threshold=None if settled is None else at(sign * settled, chosen=False),
    )


def _ppv(tpr: float, fpr: float, prior: float) -> float | None:
    """P(member | flagged); None where nobody is flagged."""
    flagged = prior * tpr + (1 - prior) * fpr
    return prior * tpr / flagged if flagged > 0 else None


def _exact_limits(flagged: int, everyone: int, level: float) -> tuple[float, float]:
    """Both Clopper-Pearson limits of a rate, at a threshold settled beforehand."""
    return clopper_pearson(flagged, everyone, confidence=1 - level)


def _band_limits(flagged: int, everyone: int, level: float) -> tuple[float, float]:
    """Limits of a rate that hold at all thresholds at once, on whichever side of them."""
    low = float(tpr_lower(flagged, everyone, level / 2))
    return low, float(fpr_upper_above(flagged, everyone, level / 2))


def _threshold(non_members: Ranked, fpr: float) -> float:
    """The lowest score beyond which at most this share of the non-members lies."""
    allowed = math.floor(fpr * non_members.count * (1 + 1e-12))
    return float(non_members.descending(allowed + 1))


def _swept(members: Ranked, non_members: Ranked) -> tuple[float, float]:
    """The AUC, ties counted half, and the threshold of the largest TPR - FPR."""
    wins = 0  # twice the pairs that the member wins
    gone_members = gone_non_members = 0
    best, at = 0.0, math.inf
    for inside, outside in _in_order(members, non_members):
        lower = np.searchsorted(outside, inside, "left") + np.searchsorted(outside, inside, "right")
        wins += int(lower.sum()) + 2 * gone_non_members * inside.size
        if outside.size:
            flagged = members.count - gone_members - np.searchsorted(inside, outside, "right")
            wrongly = (
                non_members.count - gone_non_members - np.searchsorted(outside, outside, "right")
            )
            advantage = flagged / members.count - wrongly / non_members.count
            top = int(np.argmax(advantage))
            if advantage[top] > best:
                best, at = float(advantage[top]), float(outside[top])
        gone_members, gone_non_members = gone_members + inside.size, gone_non_members + outside.size
    return wins / (2 * members.count * non_members.count), at


def _in_order(members: Ranked, non_members: Ranked) -> Iterator[tuple[Array, Array]]:
    """Both sides, sorted, in parts that do not overlap: equal scores are in one part."""
    ends = [
        side.ascending(np.arange(_BLOCK, side.count, _BLOCK)) for side in (members, non_members)
    ]
    low = -math.inf
    for high in [*np.unique(np.concatenate(ends)).tolist(), math.inf]:
        yield members.between(low, high), non_members.between(low, high)
        low = high


def _roc(members: Ranked, non_members: Ranked) -> tuple[tuple[float, float], ...]:
    """Points of the ROC curve from (0, 0) to (1, 1), the small rates finely."""
    thresholds = []
    for side in (members, non_members):
        fine = np.geomspace(1, side.count, _ROC_POINTS)
        even = np.linspace(1, side.count, _ROC_POINTS)
        ranks = np.unique(np.concatenate([fine, even]).astype(np.int64))
        thresholds.append(side.descending(ranks))
    at = np.unique(np.concatenate(thresholds))[::-1]
    fpr, tpr = non_members.above(at) / non_members.count, members.above(at) / members.count
    points = [(0.0, 0.0), *zip(fpr.tolist(), tpr.tolist(), strict=True), (1.0, 1.0)]
    return tuple(dict.fromkeys(points))
