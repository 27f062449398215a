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

_INDEPENDENT = ", or scores each of a training of its own (audit.many_runs)"


def attacked(models: int | None) -> str:
    """What an attack was on, in words: so many models, or where nobody said it, scores."""
    if models is None:
        return "these scores"
    return "one model" if models == 1 else f"{models:,} models"


def why_no_epsilon(models: int | None) -> str:
    """Why rates that describe an attack are no bound."""
    return (
        f"these numbers describe one attack on {attacked(models)} and bound no ε: nobody drew who "
        "is a member, so the difference may lie in the data and not in what a model leaks; an "
        "audit needs records whose inclusion was drawn at random (audit.one_run)"
        f"{'' if models == 1 else _INDEPENDENT}"
    )


@dataclass(frozen=True)
class AtThreshold:
    """Whom the attack accuses beyond one threshold: shares of the others and of the members."""

    threshold: float
    fpr: float
    tpr: float


@dataclass(frozen=True)
class Metrics:
    """How well one attack separates members from others: a description without a verdict.

    Nobody drew who is a member. If others differ from members in any other way (in age, source or
    difficulty), an attack may tell the two groups apart although the model leaks nothing. So there
    is no ε here, no refuted claim and no curve. `models` is how many models the scores are of, as
    their runs say; None where they name none.

    `direction` says which scores accuse: those strictly beyond a threshold. Where it was not known
    it is the one with the larger AUC. Every number is exact for these scores.
    """

    members: int
    others: int
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
        chosen = ", chosen after looking both ways" if self.looked_both_ways else ""
        lines = [
            f"AUC {self.auc:.4f} ({self.members:,} members, {self.others:,} others,"
            f" {self.direction.value} scores accuse{chosen})"
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
    members, others = Scores(scores.members, scores.others, direction).sides
    auc, best = _swept(members, others)
    if not known and auc < 0.5:
        direction = Orientation.LOWER
        members, others = Scores(scores.members, scores.others, direction).sides
        auc, best = _swept(members, others)
    sign = 1.0 if direction is Orientation.HIGHER else -1.0

    def at(threshold: float) -> AtThreshold:
        fpr, tpr = _rate(others, threshold), _rate(members, threshold)
        return AtThreshold(sign * threshold + 0.0, fpr, tpr)

    return Metrics(
        members=members.count,
        others=others.count,
        direction=direction,
        looked_both_ways=not known,
        auc=auc,
        at_fpr={fpr: at(_threshold(others, fpr)) for fpr in wanted},
        largest_advantage=at(best),
        roc=_roc(members, others),
        models=len(scores.runs()) or None,
    )


def _rate(side: Ranked, threshold: float) -> float:
    return int(side.above(threshold)) / side.count


def _threshold(others: Ranked, fpr: float) -> float:
    """The lowest score beyond which at most this share of the others lies."""
    allowed = math.floor(fpr * others.count * (1 + 1e-12))
    return float(others.descending(allowed + 1))


def _swept(members: Ranked, others: Ranked) -> tuple[float, float]:
    """The AUC, ties counted half, and the threshold of the largest TPR - FPR."""
    wins = 0  # twice the pairs that the member wins
    gone_members = gone_others = 0
    best, at = 0.0, math.inf
    for inside, outside in _in_order(members, others):
        lower = np.searchsorted(outside, inside, "left") + np.searchsorted(outside, inside, "right")
        wins += int(lower.sum()) + 2 * gone_others * inside.size
        if outside.size:
            accused = members.count - gone_members - np.searchsorted(inside, outside, "right")
            wrongly = others.count - gone_others - np.searchsorted(outside, outside, "right")
            advantage = accused / members.count - wrongly / others.count
            top = int(np.argmax(advantage))
            if advantage[top] > best:
                best, at = float(advantage[top]), float(outside[top])
        gone_members, gone_others = gone_members + inside.size, gone_others + outside.size
    return wins / (2 * members.count * others.count), at


def _in_order(members: Ranked, others: Ranked) -> Iterator[tuple[Array, Array]]:
    """Both sides, sorted, in parts that do not overlap: equal scores are in one part."""
    ends = [side.ascending(np.arange(_BLOCK, side.count, _BLOCK)) for side in (members, others)]
    low = -math.inf
    for high in [*np.unique(np.concatenate(ends)).tolist(), math.inf]:
        yield members.between(low, high), others.between(low, high)
        low = high


def _roc(members: Ranked, others: Ranked) -> tuple[tuple[float, float], ...]:
    """Points of the ROC curve from (0, 0) to (1, 1), the small rates finely."""
    thresholds = []
    for side in (members, others):
        fine = np.geomspace(1, side.count, _ROC_POINTS)
        even = np.linspace(1, side.count, _ROC_POINTS)
        ranks = np.unique(np.concatenate([fine, even]).astype(np.int64))
        thresholds.append(side.descending(ranks))
    at = np.unique(np.concatenate(thresholds))[::-1]
    fpr, tpr = others.above(at) / others.count, members.above(at) / members.count
    points = [(0.0, 0.0), *zip(fpr.tolist(), tpr.tolist(), strict=True), (1.0, 1.0)]
    return tuple(dict.fromkeys(points))
