"""Audits of a training function by membership inference: play the game, attack, judge the claim.

What is chosen or learnt, be it a target, an attack or a rank, is so on models that are not counted.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tellapart import _checks, _progress, run
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.audit.alternatives import against_alternatives, alternative, planned_finding
from tellapart.audit.bounds import LowerBound
from tellapart.audit.evidence.base import Evidence, claimed_delta
from tellapart.audit.evidence.joint import together
from tellapart.audit.evidence.rank import RankEvidence
from tellapart.audit.evidence.thresholds import best_rank
from tellapart.audit.many_run_audit import Favoured, at_ranks, unseen_scores
from tellapart.audit.models_needed import curve_needs_less, fewest_models, refutable
from tellapart.audit.probing import pace
from tellapart.audit.scores import Scores
from tellapart.audit.trainings.attacks import Attack, Rmia
from tellapart.audit.trainings.lira import Inclusion, Lira
from tellapart.audit.trainings.membership_game import (
    Design,
    MembershipGame,
    Played,
    Score,
    Targets,
    Train,
    column_scores,
    same_neighbours,
)
from tellapart.audit.trainings.shadow_models import ShadowTraining, put_back
from tellapart.audit.verdict import Verdict, judge
from tellapart.errors import BadScores, Unsupported
from tellapart.mechanisms.subject import Subject, curve_of

_NOT_RANDOM = (
    "Trainings on the same data all gave the same score: nothing in them is random, or the score "
    "does not show it, or they do not use the seed they are handed; in the last case this verdict "
    "is of one seed alone."
)


def training(
    train: Train,
    data: Any,
    *,
    claim: Subject,
    targets: int | Iterable[int] | Design = 0,
    models: int | None = None,
    score: Score | None = None,
    attack: Attacking = None,
    population: Iterable[int] = (),
    confidence: float = 0.95,
    seed: int = 0,
    seconds: float | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: run.Progress | bool = False,
) -> Verdict:
    """Whether a training function keeps its claim for one example in or out of the data.

    It trains ``models`` models (1,000 unless told; where the default takes longer than a minute, a
    warning says how long before it starts), each target in or out by a coin of its own, as
    ``train(dataset, seed)``; ``score(model, examples)`` says how much each target looks like a
    member, or ``train`` returns these numbers itself. An ``attack`` makes better scores of them.
    The claim must be about adding or removing a record.
    Of several targets the most exposed is sought on models that are not counted. With ``folder``
    finished models are kept and a killed audit goes on. ``seconds`` is a budget: as many models as
    fit are trained, none is begun once it is spent, and where it does not suffice for a verdict,
    `LimitReached` says what would. See `MembershipGame.play`.

    >>> import tellapart as ta
    >>> def noisy_sum(people, seed):               # claims ε = 1, but its noise is half that
    ...     return [people.sum() + np.random.default_rng(seed).laplace(0, 0.5)]
    >>> people = np.array([1.0, 0.0, 1.0, 0.0])
    >>> training(noisy_sum, people, claim=ta.guarantee(epsilon=1), models=1_000).refuted
    True

    See Also
    --------
    tellapart.audit.trainings.attacks.Lira : an attack that learns from other models
    tellapart.fleet.train : thousands of small models at once
    """
    promise = curve_of(claim, "claim")
    sure = _checks.inside_unit(confidence=confidence)
    design = targets if isinstance(targets, Design) else Targets(targets)
    same_neighbours(claim, design)
    _checks.instance(Iterable, "places of examples, listed", population=population)
    game = MembershipGame(data, design, models or _USUAL, seed, tuple(population))
    check_attack(attack, game)
    enough_models(claim, game.models, set_aside(game, attack), sure, design.prior)
    purse = pace.Purse(seconds, "models")
    purse.hint = (
        "or name a folder=, which keeps finished models, and run the same again"
        if folder is None
        else f"or run the same again: finished models are kept in {folder}"
    )
    plans = models is None and (folder is None or not purse.limited)
    if purse.limited:
        purse.needed = 1 + _needed(claim, game, attack, sure) if plans else game.models
    with pace.spending(purse):
        if plans:
            models = _affordable(claim, game, train, score, attack, sure, purse)
            game = replace(game, models=models)
            if purse.limited and not _suffices(claim, game, attack, sure):
                purse.refuse()
        played = game.play(train, score, folder=folder, progress=progress)
        if not _enough_trained(claim, played, attack, sure):
            purse.needed = game.models
            purse.refuse()
    evidence = game_evidence(played, sure, attack=attack, delta=claimed_delta(promise))
    verdict = judge(claim, evidence)
    # Of a claim that is true the luckiest look says more than there is: no outlook on that.
    known = verdict.samples_needed is not None
    remarks = [outlook(evidence, game.models, verdict.delta)] if known else []
    if trained(played) < game.models:
        remarks.append(
            f"seconds={short(purse.given)} ended after {trained(played):,} of {game.models:,} "
            "models: the attack counts as mistaken on all the others."
        )
    return replace(verdict, remarks=(*remarks, *([_NOT_RANDOM] if _all_the_same(played) else [])))


class SlowTraining(UserWarning):
    """One training takes so long that the default number of models takes more than a minute."""


_USUAL = 1_000
# So many models show which share of them is set aside.
_MANY = 10_000


def _affordable(
    claim: Subject,
    game: MembershipGame,
    train: Train,
    score: Score | None,
    attack: Attacking,
    confidence: float,
    purse: pace.Purse,
) -> int:
    """How many models are trained unless told, by one training that is timed and not counted."""
    _checks.function(train=train)
    before = purse.took
    with put_back():
        ShadowTraining(game, train, score, None).one(0)
    each = max(purse.took - before, 1e-9)
    if purse.limited:
        return max(min(int(purse.plannable / each), _USUAL), 2)
    if pace.takes_long(_USUAL * each):
        warnings.warn(
            f"one training takes {short(each, 2)} s: {_USUAL:,} models take about "
            f"{_progress.in_words(_USUAL * each)} on one worker, which "
            f"{_finds(claim, game, attack, confidence)}. models=N trains as many as you say, "
            "seconds=S as many as fit; joblib.parallel_config(n_jobs=N) shares them out, folder= "
            "lets a killed audit go on, and audit.step of one training step is cheaper "
            "(audit.plan compares them)",
            SlowTraining,
            stacklevel=3,
        )
    return _USUAL


def _finds(claim: Subject, game: MembershipGame, attack: Attacking, confidence: float) -> str:
    """What the models that count find with 90 % power, in words."""
    count = game.models - set_aside(game, attack)
    inside = min(max(round(count * game.design.prior), 1), count - 1)
    evidence = at_ranks(unseen_scores(count, inside), 1 - confidence)
    leaks = alternative(claim)
    power = evidence.power_against(leaks.claimed)
    return planned_finding(claim, against_alternatives(leaks, power))


def _suffices(claim: Subject, game: MembershipGame, attack: Attacking, confidence: float) -> bool:
    """Whether some outcome of these models would refute the claim."""
    aside = set_aside(game, attack)
    return refutable(claim, game.models - aside, game.design.prior, 1 - confidence)


def _needed(claim: Subject, game: MembershipGame, attack: Attacking, confidence: float) -> int:
    """About how many models it takes at least, with those set aside."""
    needed = fewest_models(claim, confidence, game.design.prior)
    many = replace(game, models=_MANY)
    return -(-needed * _MANY // (_MANY - set_aside(many, attack)))


def trained(played: Played) -> int:
    """How many of the models were trained, the first ones, before a budget of seconds ended."""
    return int(np.isfinite(played.seconds).sum())


def _enough_trained(claim: Subject, played: Played, attack: Attacking, confidence: float) -> bool:
    """Whether models that were trained could refute the claim, the others being mistaken."""
    done, aside = trained(played), set_aside(played.game, attack)
    if done == played.game.models:
        return True
    if done < aside + 2:
        return False
    inside = played.inclusion[aside:, :1]
    perfect = _completed(inside[: done - aside].astype(np.float64), inside)
    sides = inside.any() and not inside.all()
    return bool(sides) and at_ranks(
        column_scores(perfect[:, 0], inside[:, 0]), 1 - confidence
    ).refutes(claim)


def _completed(scores: Array, inside: Inclusion) -> Array:
    """Scores of the first models, and of those that were not trained the worst there could be.

    Members look least like members and non-members most, so that whatever their scores would have
    been, every test shows as much or more with them: when training stopped, and why, is no matter.
    """
    left = inside[len(scores) :]
    if not len(left):
        return scores
    below, above = (
        np.nextafter(scores.min(axis=0), -np.inf),
        np.nextafter(scores.max(axis=0), np.inf),
    )
    return np.concatenate([scores, np.where(left, below, above)])


def _all_the_same(played: Played) -> bool:
    """Whether models with the same coins always have the same scores, and some have the same."""
    done = trained(played)
    played = replace(played, raw=played.raw[:done], inclusion=played.inclusion[:done])
    patterns, which = np.unique(played.inclusion, axis=0, return_inverse=True)
    if len(patterns) == len(played.raw):
        return False
    places = which.reshape(-1)
    first = np.full(len(patterns), -1)
    first[places[::-1]] = np.arange(len(places))[::-1]
    return bool(np.array_equal(played.raw, played.raw[first[places]]))


_FACTORS = (4.0, 16.0)


def enough_models(claim: Subject, models: int, aside: int, confidence: float, prior: float) -> None:
    """Raise where not even an attack that never errs could refute the claim."""
    if refutable(claim, models - aside, prior, 1 - confidence):
        return
    needed = fewest_models(claim, confidence, prior)
    total = -(-needed * models // max(models - aside, 1))
    _checks.refuse(
        "models",
        f"be about {total:,} or more to refute this claim at all, even if every one of them is "
        "classified rightly (audit.game_evidence says what fewer show, audit.plan what other "
        f"designs could). {curve_needs_less(claim, confidence, prior)}".rstrip(),
        models,
    )


def outlook(
    evidence: Evidence, models: int, delta: float, factors: Sequence[float] = _FACTORS
) -> str:
    """What ε more models would show, about, by the same tests at the rates observed."""
    parts = [
        f"{short(factor)} times as many ({round(models * factor):,}) about "
        f"{short(evidence.scaled(factor).epsilon_lower(delta).value, 3)}"
        for factor in factors
    ]
    return (
        f"More models would show, of ε at δ = {short(delta)}: {', '.join(parts)}, if rates stay as "
        "observed; chance alone may have raised them. To audit again for this reason is a "
        "further test: 1 - confidence must be divided among all tests beforehand."
    )


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
    check_attack(attack, played.game, played.inclusion, each_target=each_target)
    aside = set_aside(played.game, attack, each_target=each_target)
    if trained(played) - aside < 2:
        _checks.refuse("models", "leave two or more beside those set aside", trained(played))
    inside = played.inclusion[aside:]
    kept = _completed(_attacked(played, attack, aside), inside)
    if each_target:
        return together(_each(played, kept, level))
    if not aside:
        return at_ranks(column_scores(kept[:, 0], inside[:, 0]), level)
    first = _tried(played, attack, aside)
    return _chosen(played, first, kept, level, at)


def check_attack(
    attack: Attacking,
    game: MembershipGame,
    inclusion: Inclusion | None = None,
    *,
    each_target: bool = False,
) -> None:
    """Refuse what is no attack, or one that this game has too little for."""
    usable = attack is None or callable(attack) or hasattr(attack, "fit")
    if not usable or (isinstance(attack, type) and hasattr(attack, "fit")):
        rule = "be a function of outputs, or an object with a method fit, as attacks.Lira() is"
        _checks.refuse("attack", rule, attack)
    if isinstance(attack, Lira | Rmia):
        inside = game.inclusion if inclusion is None else inclusion
        first = inside[: set_aside(game, attack)]
        for learnt in [first] if each_target else [first, *np.array_split(first, 2)]:
            attack.check(learnt, len(game.population))


def _attacked(played: Played, attack: Attacking, aside: int) -> Array:
    """Scores of the models that count, by an attack that knows the others alone."""
    return attack_scores(played, attack, np.arange(aside), np.arange(aside, trained(played)))


def attack_scores(played: Played, attack: Attacking, learnt: Any, asked: Any) -> Array:
    """Scores of the models asked, by an attack that knows those learnt alone, if any."""
    if hasattr(attack, "fit"):
        return _scored(attack, played, learnt, asked)
    return _plain(attack, played.raw[asked])


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
        raise Unsupported(f"{aside} models set aside are too few: play more models")
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
    what = (
        f"no correction is needed for choosing target, attack and rank: {aside:,} held-out models"
    )
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
    """For each target, the largest TPR − FPR over thresholds."""
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
    check_attack(attack, played.game, played.inclusion, each_target=True)
    aside = set_aside(played.game, attack, each_target=True)
    parts = _each(played, _attacked(played, attack, aside), level).values()
    ranking = [
        Exposed(place, replace(part.epsilon_lower(at), confidence=1 - level), part)
        for place, part in zip(played.game.targets.tolist(), parts, strict=True)
    ]
    return tuple(sorted(ranking, key=lambda exposed: -exposed.epsilon.value))
