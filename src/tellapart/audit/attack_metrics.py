"""ROC, AUC and TPR at low FPR of one attack: a description of membership inference, no audit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.scores import Orientation, Scores
from tellapart.data.ranked import Ranked
from tellapart.errors import Unsupported

FPRS = (0.001, 0.01, 0.1)

# Scores of one side that are looked at together: both sides in order, a part at a time.
_BLOCK = 2**21
_ROC_POINTS = 100

_INDEPENDENT = ", or a training of its own for each score (audit.many_runs)"


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
class AtThreshold:
    """FPR and TPR of the attack that flags scores beyond one threshold."""

    threshold: float
    fpr: float
    tpr: float


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
        beyond = ">" if self.direction is Orientation.HIGHER else "<"
        chosen = ", chosen after testing both directions" if self.looked_both_ways else ""
        lines = [
            f"AUC {self.auc:.4f} ({self.members:,} members, {self.non_members:,} non-members,"
            f" {self.direction.meaning}{chosen})"
        ]
        for most, at in self.at_fpr.items():
            lines.append(
                f"TPR {at.tpr:.4g} at FPR {at.fpr:.4g} (at most {most:g}):"
                f" score {beyond} {at.threshold:.6g}"
            )
        at = self.largest_advantage
        lines.append(f"largest advantage {self.advantage:.4g}: score {beyond} {at.threshold:.6g}")
        why = why_no_epsilon(self.models)
        return "\n".join([*lines, f"{why[0].upper()}{why[1:]}."])


def metrics(scores: Scores, *, fprs: Sequence[float] = FPRS) -> Metrics:
    """AUC, TPR at small FPRs and largest advantage of one attack: a description, no verdict.

    >>> print(metrics(Scores([3, 4, 5, 1], [0, 1, 2, 3]), fprs=[0.25]).auc)
    0.8125
    """
    _checks.instance(Scores, "audit.Scores", scores=scores)
    wanted = [_checks.inside_unit(fprs=fpr) for fpr in fprs]
    known = scores.orientation is not Orientation.EITHER
    direction = scores.orientation if known else Orientation.HIGHER
    members, non_members = Scores(scores.members, scores.non_members, direction).sides
    auc, best = _swept(members, non_members)
    if not known and auc < 0.5:
        direction = Orientation.LOWER
        members, non_members = Scores(scores.members, scores.non_members, direction).sides
        auc, best = _swept(members, non_members)
    sign = 1.0 if direction is Orientation.HIGHER else -1.0

    def at(threshold: float) -> AtThreshold:
        fpr, tpr = _rate(non_members, threshold), _rate(members, threshold)
        return AtThreshold(sign * threshold + 0.0, fpr, tpr)

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
    )


def _rate(side: Ranked, threshold: float) -> float:
    return int(side.above(threshold)) / side.count


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
