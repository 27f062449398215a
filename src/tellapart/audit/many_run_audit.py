"""Membership inference over many independent runs: from scores to evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._numeric import binomial
from tellapart.audit.bounds import percent
from tellapart.audit.counts.confidence_band import default_ranks
from tellapart.audit.evidence.band import band_evidence
from tellapart.audit.evidence.base import Evidence
from tellapart.audit.evidence.count import credible_evidence, fixed_evidence
from tellapart.audit.evidence.joint import together
from tellapart.audit.evidence.rank import RankEvidence
from tellapart.audit.evidence.thresholds import End, best_rank, directions, geometric_ranks, look_at
from tellapart.audit.level_budget import CLAIMS_ARE_FREE, Entry, LevelBudget, divided
from tellapart.audit.methods import Band, Fixed, Method, Ranks, Split
from tellapart.audit.scores import Scores
from tellapart.errors import Unsupported

# How unlikely the numbers of a group must be to rule out that both sides have the same mix.
_OTHER_MIX = 1e-9
_METHODS = "audit.Ranks(), Split(), Band(), Fixed(threshold) or Credible(threshold)"


def many_runs(
    scores: Scores,
    confidence: float = 0.95,
    method: Method | None = None,
    *,
    each_group: bool = False,
    shares: Mapping[Any, float] | None = None,
) -> Evidence:
    """What membership-inference scores of independent trainings or calls show about a mechanism.

    Every score must come from its own run, with the record in (members) or out (non-members).
    Scores of several records may be pooled if both sides have the same mix of them; groups whose
    mix plainly differs are refused. With ``each_group`` every group is audited by itself, for an
    equal share of the level: use it where groups are records, of which some may leak more. Or for
    its own of ``shares``, as {"outlier": 0.5}: groups not named divide what is left. Fix them
    before any score is seen.

    >>> scores = Scores(members=[3.1, 2.9, 2.5, 2.2] * 25, non_members=[0.3, 0.1, -0.2, 0] * 25)
    >>> evidence = many_runs(scores)
    >>> print(evidence.epsilon_lower(delta=1e-5))
    ≥ 3.6408 (95 % confidence, exact, pre-set ranks)
    """
    _checks.instance(Scores, "audit.Scores", scores=scores)
    level = 1 - _checks.inside_unit(confidence=confidence)
    chosen = Ranks() if method is None else method
    _checks.instance(Method, _METHODS, method=chosen)
    if each_group:
        groups = scores.by_group()
        each = zip(groups.items(), divided(level, list(groups), shares, "groups"), strict=True)
        return together(
            {f"group {label}": _evidence(group, own, chosen) for (label, group), own in each}
        )
    if shares is not None:
        _checks.refuse("shares", "come with each_group=True: groups share the level", shares)
    _check_same_mix(scores)
    return _evidence(scores, level, chosen)


def _check_same_mix(scores: Scores) -> None:
    """Refuse sides of unlike groups: these differ without any leak."""
    if scores.member_groups is None or scores.non_member_groups is None:
        return
    of_members, of_non_members = scores.member_groups, scores.non_member_groups
    labels, which = np.unique(np.concatenate([of_members, of_non_members]), return_inverse=True)
    members = np.bincount(which[: len(of_members)], minlength=len(labels))
    both = np.bincount(which, minlength=len(labels))
    share = len(of_members) / len(which)
    fewer = binomial.lower_tail(members, both, share)
    more = binomial.upper_tail(members, both, share)
    unlikely = 2 * len(labels) * np.minimum(fewer, more)
    odd = int(np.argmin(unlikely))
    if unlikely[odd] < _OTHER_MIX:
        raise Unsupported(
            f"the mix of groups must be alike on both sides: group {labels.tolist()[odd]!r} "
            f"has {members[odd]} of {len(of_members)} members and "
            f"{both[odd] - members[odd]} of {len(of_non_members)} non-members; "
            "use each_group"
        )


def _check_independent(scores: Scores) -> None:
    shared = scores.repeated_runs()
    if shared:
        raise Unsupported(
            f"scores of run {next(iter(shared))!r} are not independent, as many_runs "
            "needs: keep one score per run, or, if the inclusion of each canary was drawn by its "
            "own fair coin, use one_run"
        )


def _evidence(scores: Scores, level: float, method: Method) -> Evidence:
    _check_independent(scores)
    if isinstance(method, Ranks):
        return at_ranks(scores, level)
    if isinstance(method, Split):
        return _at_one_rank(scores, level, method)
    if isinstance(method, Band):
        return band_evidence(scores, level)
    if isinstance(method, Fixed):
        return fixed_evidence(scores, level, method)
    return credible_evidence(scores, level, method)


@dataclass(frozen=True)
class Favoured:
    """Ranks chosen on other samples than these, and their share of the level."""

    end: End
    higher: bool
    ranks: tuple[int, ...]
    share: float


def at_ranks(scores: Scores, level: float, favoured: Favoured | None = None) -> RankEvidence:
    """Tests at pre-set ranks from both ends; some may be favoured with a share of the level."""
    ways = directions(scores.orientation)
    places = [
        (end, higher, geometric_ranks(_reference(scores, end))) for higher in ways for end in End
    ]
    rest = level * (1 - favoured.share) if favoured else level
    share = rest / sum(len(ranks) for _, _, ranks in places)
    looks = [
        look for end, higher, ranks in places for look in look_at(scores, end, higher, ranks, share)
    ]
    entries = [
        Entry(_words(end, higher, len(ways) > 1), len(ranks), share)
        for end, higher, ranks in places
    ]
    if favoured:
        each = level * favoured.share / len(favoured.ranks)
        looks += look_at(scores, favoured.end, favoured.higher, favoured.ranks, each)
        entries.append(Entry("the rank chosen on held-out calls", len(favoured.ranks), each))
    ledger = LevelBudget(level, tuple(entries), (CLAIMS_ARE_FREE,))
    return RankEvidence(tuple(looks), ledger, Ranks.name)


def unseen_scores(count: int, inside: int | None = None) -> Scores:
    """As many scores, half of them members' unless told: power does not depend on what they are."""
    members = max(count // 2, 1) if inside is None else inside
    return Scores(
        members=np.arange(members) + 0.5, non_members=np.arange(float(max(count - members, 1)))
    )


def _words(end: End, higher: bool, both: bool) -> str:
    ranks = "ranks of non-members (TPR at small FPR)"
    if end is End.CLEAR:
        ranks = "ranks of members (TNR at small FNR)"
    return ranks + (f", {'higher' if higher else 'lower'} means member" if both else "")


def _reference(scores: Scores, end: End) -> int:
    return scores.non_members.count if end is End.FLAG else scores.members.count


def _at_one_rank(scores: Scores, level: float, method: Split) -> RankEvidence:
    aside, kept = scores.split(method.share, split_seed(scores, method.seed))
    choice = best_rank(aside, kept, method.delta, level)
    looks = look_at(kept, choice.end, choice.higher, [choice.rank], level)
    entry = Entry(
        f"rank {choice.rank:,}, chosen on held-out scores ({percent(method.share)})", 1, level
    )
    return RankEvidence(tuple(looks), LevelBudget(level, (entry,), (CLAIMS_ARE_FREE,)), method.name)


def split_seed(scores: Scores, seed: int) -> int:
    """A seed that changes with the scores: a split by ranks must not be the same for all data.

    The ranks that one seed sets aside would be a fixed choice, and favour one side for good. How
    the sides lie among each other is as good as a fresh draw, and the same whenever asked.
    """
    ranks = default_ranks(scores.non_members.count)
    among = scores.members.above(scores.non_members.descending(ranks))
    return int(np.random.SeedSequence([seed, *among.tolist()]).generate_state(1, np.uint64)[0])
