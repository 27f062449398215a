"""Evidence from the membership game: what is chosen or learnt, is so on models not counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.bounds import LowerBound
from tellapart.audit.evidence.base import Evidence
from tellapart.audit.evidence.joint import together
from tellapart.audit.evidence.rank import RankEvidence
from tellapart.audit.evidence.thresholds import best_rank
from tellapart.audit.many_run_audit import Favoured, at_ranks
from tellapart.audit.scores import Scores
from tellapart.audit.trainings.attacks import Attack
from tellapart.audit.trainings.lira import Inclusion, Lira
from tellapart.audit.trainings.membership_game import MembershipGame, Played, column_scores
from tellapart.audit.trainings.rmia import Rmia
from tellapart.errors import BadScores, Unsupported

# The share of the models on which a target is chosen, or an attack fitted.
_TO_CHOOSE, _TO_FIT = 0.3, 0.5
# Of the level, for the rank that did best on the models set aside.
_FAVOUR = 0.5
# Of so many targets the bound itself is asked, on models set aside.
_SHORT_LIST = 8

# Products of matrices round otherwise with fewer rows.
_SAME = 1e-6

Attacking = Attack | Callable[[Array], Array] | None


def set_aside(game: MembershipGame, attack: Attacking, *, each_target: bool = False) -> int:
    """How many of the first models serve to choose or to learn, and to nothing else."""
    if hasattr(attack, "fit"):
        return max(int(_TO_FIT * game.models), 1)
    several = game.targets.size > 1 and not each_target
    return max(int(_TO_CHOOSE * game.models), 1) if several else 0


def game_evidence(
    played: Played,
    confidence: float = 0.95,
    *,
    attack: Attacking = None,
    delta: float = 0.0,
    each_target: bool = False,
) -> Evidence:
    """What a game's models show about the training, each with a target in or out.

    Of several targets the most exposed is chosen on the first models and certified on the others;
    with ``each_target`` all are certified, for an equal share of the level. An ``attack`` that
    learns, as `attacks.Lira`, does so on the first half; one that is a function of the outputs
    must treat every model's row by itself. ``delta`` is where ε should be largest.

    >>> import tellapart as ta
    >>> from tellapart import audit
    >>> game = audit.MembershipGame([3.0, 1.0, 4.0], audit.Targets(at=2), models=100)
    >>> played = game.play(lambda data, seed: sum(data), lambda model, example: model)
    >>> audit.game_evidence(played).refutes(ta.guarantee(epsilon=1))
    True
    """
    _checks.instance(Played, "a game that was played, as game.play gives", played=played)
    level = 1 - _checks.inside_unit(confidence=confidence)
    at = _checks.probability(delta=delta)
    check_attack(attack, played.game, each_target=each_target)
    aside = set_aside(played.game, attack, each_target=each_target)
    if played.game.models - aside < 2:
        _checks.refuse("models", "leave two or more beside those set aside", played.game.models)
    kept = _attacked(played, attack, aside)
    inside = played.inclusion[aside:]
    if each_target:
        return together(_each(played, kept, level))
    if not aside:
        return at_ranks(column_scores(kept[:, 0], inside[:, 0]), level)
    first = _tried(played, attack, aside)
    return _chosen(played, first, kept, level, at)


def check_attack(attack: Attacking, game: MembershipGame, *, each_target: bool = False) -> None:
    """Refuse what is no attack, or one that this game has too little for."""
    usable = attack is None or callable(attack) or hasattr(attack, "fit")
    if not usable or (isinstance(attack, type) and hasattr(attack, "fit")):
        rule = "be a function of outputs, or an object with a method fit, as attacks.Lira() is"
        _checks.refuse("attack", rule, attack)
    if isinstance(attack, Lira | Rmia):
        first = game.inclusion[: set_aside(game, attack)]
        for learnt in [first] if each_target else [first, *np.array_split(first, 2)]:
            attack.check(learnt, len(game.population))


def _attacked(played: Played, attack: Attacking, aside: int) -> Array:
    """Scores of the models that count, by an attack that knows the others alone."""
    if hasattr(attack, "fit"):
        return _scored(attack, played, np.arange(aside), np.arange(aside, len(played.raw)))
    return _plain(attack, played.raw[aside:])


def _tried(played: Played, attack: Attacking, aside: int) -> Array:
    """Scores of the models set aside; where the attack learns, each half by a fit on the other."""
    if not hasattr(attack, "fit"):
        return _plain(attack, played.raw[:aside])
    halves = np.array_split(np.arange(aside), 2)
    return np.concatenate(
        [_scored(attack, played, halves[1], halves[0]), _scored(attack, played, *halves)]
    )


def _scored(attack: Any, played: Played, learnt: Any, asked: Any) -> Array:
    fitted = attack.fit(played.raw[learnt], played.inclusion[learnt], played.population[learnt])
    raw, population = played.raw[asked], played.population[asked]
    return _by_rows(lambda some: fitted(raw[some], population[some]), raw)


def _plain(attack: Any, raw: Array) -> Array:
    return raw if attack is None else _by_rows(lambda some: attack(raw[some]), raw)


def _by_rows(attack: Callable[[slice], Any], raw: Array) -> Array:
    """Scores of an attack; a few models are asked again by themselves, as none may tell of others.

    An attack that reads other models that count, as their mean, would make scores depend on each
    other, and so would one that looks up who was in.
    """
    scores = _shaped(attack(slice(None)), raw)
    for model in {0, len(raw) // 2, len(raw) - 1}:
        alone = slice(model, model + 1)
        if not np.allclose(_shaped(attack(alone), raw[alone]), scores[alone], _SAME, _SAME):
            raise BadScores(
                "attack must score each model by its own outputs: asked of one model alone it "
                "gives other scores than among others"
            )
    return scores


def _shaped(given: Any, raw: Array) -> Array:
    scores = np.asarray(given, dtype=np.float64)
    if scores.shape != raw.shape or not np.isfinite(scores).all():
        raise BadScores(
            f"attack must give one finite score for each model and target, {raw.shape}, "
            f"got {scores.shape if scores.shape != raw.shape else 'some that are not finite'}"
        )
    return scores


def _chosen(played: Played, first: Array, kept: Array, level: float, delta: float) -> Evidence:
    """The target that did best on the first models, certified on the rest."""
    aside, inside = len(first), played.inclusion
    members = inside[:aside].sum(axis=0)
    sides = np.asarray((members > 0) & (members < aside))
    if not sides.any():
        raise Unsupported(f"{aside} models set aside tell nothing: play more models")
    apart = np.where(sides, _apart(first, inside[:aside]), -1.0)
    listed = [int(k) for k in np.argsort(-apart, kind="stable")[:_SHORT_LIST] if sides[k]]
    tried = {k: column_scores(first[:, k], inside[:aside, k]) for k in listed}
    shown = {k: _bound(scores, level, delta) for k, scores in tried.items()}
    # Where no bound tells them apart, the list's own order does.
    best = max(listed, key=lambda k: (shown[k], -listed.index(k)))
    counted = column_scores(kept[:, best], inside[aside:, best])
    choice = best_rank(tried[best], counted, delta, level)
    favoured = Favoured(choice.end, choice.higher, (choice.rank,), _FAVOUR)
    evidence = at_ranks(counted, level, favoured)
    what = f"the target, the attack and one rank: chosen on {aside:,} models that are not counted"
    targets = inside.shape[1]
    chosen = f"one of {targets:,} targets: chosen" if targets > 1 else "with an attack fitted"
    about = (
        f"About example {played.game.targets[best]}, {chosen} on the first {aside:,} models and "
        f"certified on the other {len(kept):,}."
    )
    ledger = replace(evidence.ledger, free=(*evidence.ledger.free, what))
    return replace(evidence, ledger=ledger, about=about)


def _each(played: Played, kept: Array, level: float) -> dict[str, RankEvidence]:
    """Every target by itself, for an equal share of the level."""
    inside = played.inclusion[len(played.raw) - len(kept) :]
    share = level / inside.shape[1]
    return {
        f"example {place}": at_ranks(column_scores(kept[:, k], inside[:, k]), share)
        for k, place in enumerate(played.game.targets.tolist())
    }


def _bound(scores: Scores, level: float, delta: float) -> float:
    return at_ranks(scores, level).epsilon_lower(delta).value


def _apart(scores: Array, inside: Inclusion) -> Array:
    """For each target, how much more often members than others lie above the best threshold."""
    order = np.argsort(-scores, axis=0, kind="stable")
    member = np.take_along_axis(inside, order, axis=0)
    ranked = np.take_along_axis(scores, order, axis=0)
    tpr = np.cumsum(member, axis=0) / np.maximum(member.sum(axis=0), 1)
    fpr = np.cumsum(~member, axis=0) / np.maximum((~member).sum(axis=0), 1)
    last = np.diff(ranked, axis=0, append=-np.inf) != 0  # of those that tie
    return np.asarray(np.where(last, tpr - fpr, 0.0).max(axis=0))


@dataclass(frozen=True)
class Exposed:
    """How much one example was shown to leak, at the confidence of the whole ranking."""

    example: int
    epsilon: LowerBound
    evidence: RankEvidence  # of this example alone, with its share of the level


def exposure(
    played: Played, confidence: float = 0.95, *, attack: Attacking = None, delta: float = 0.0
) -> tuple[Exposed, ...]:
    """The targets by how much they leak, most exposed first; all bounds hold at once.

    Each has an equal share of the level, so that the bounds of all hold together with this
    confidence, and so does each example's own curve. That the order is right is not shown.

    >>> import numpy as np
    >>> from tellapart import audit
    >>> game = audit.MembershipGame([0.0, 1.0, 4.0], audit.Pool(), models=200)
    >>> def score(leaked, asked):
    ...     return 1.0 * leaked * (np.asarray(asked) == 4.0)
    >>> played = game.play(lambda data, seed: 4.0 in data, score)
    >>> audit.exposure(played)[0].example
    2
    """
    _checks.instance(Played, "a game that was played, as game.play gives", played=played)
    level, at = 1 - _checks.inside_unit(confidence=confidence), _checks.probability(delta=delta)
    check_attack(attack, played.game, each_target=True)
    aside = set_aside(played.game, attack, each_target=True)
    parts = _each(played, _attacked(played, attack, aside), level).values()
    ranking = [
        Exposed(place, replace(part.epsilon_lower(at), confidence=1 - level), part)
        for place, part in zip(played.game.targets.tolist(), parts, strict=True)
    ]
    return tuple(sorted(ranking, key=lambda exposed: -exposed.epsilon.value))
