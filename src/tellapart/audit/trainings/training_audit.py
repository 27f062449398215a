"""Audits of a training function by membership inference: play the game, attack, judge the claim."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tellapart import _checks, deadline, run
from tellapart._numeric.solve import first_whole
from tellapart.audit.evidence.base import Evidence
from tellapart.audit.many_run_audit import at_ranks
from tellapart.audit.scores import Scores
from tellapart.audit.trainings.designs import Design, Targets, same_neighbours
from tellapart.audit.trainings.evidence_of_game import (
    Attacking,
    check_attack,
    game_evidence,
    set_aside,
)
from tellapart.audit.trainings.membership_game import MembershipGame, Played, Score, Train
from tellapart.audit.verdict import Verdict, judge
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject, curve_of

_SAME = (
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
    models: int = 1_000,
    score: Score | None = None,
    attack: Attacking = None,
    population: Iterable[int] = (),
    confidence: float = 0.95,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    progress: run.Progress | bool = False,
) -> Verdict:
    """Whether a training function keeps its claim for one example in or out of the data.

    It trains ``models`` models, each target in or out by a coin of its own, as
    ``train(dataset, seed)``; ``score(model, examples)`` says how much each target looks like a
    member, or ``train`` returns these numbers itself. An ``attack`` makes better scores of them.
    The claim must be about adding or removing a record.
    Of several targets the most exposed is sought on models that are not counted. With ``folder``
    finished models are kept and a killed audit goes on. See `MembershipGame.play`.

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
    game = MembershipGame(data, design, models, seed, tuple(population))
    check_attack(attack, game)
    enough_models(claim, game.models, set_aside(game, attack), sure, design.prior)
    played = game.play(train, score, folder=folder, progress=progress)
    delta = promise.claimed_delta if isinstance(promise, GuaranteeCurve) else 0.0
    evidence = game_evidence(played, sure, attack=attack, delta=delta)
    verdict = judge(claim, evidence)
    # Of a claim that is true the luckiest look says more than there is: no outlook on that.
    known = verdict.samples_needed is not None
    remarks = [outlook(evidence, game.models, verdict.delta)] if known else []
    return replace(verdict, remarks=(*remarks, *([_SAME] if _all_the_same(played) else [])))


def _all_the_same(played: Played) -> bool:
    """Whether models with the same coins always have the same scores, and some have the same."""
    patterns, which = np.unique(played.inclusion, axis=0, return_inverse=True)
    if len(patterns) == len(played.raw):
        return False
    places = which.reshape(-1)
    first = np.full(len(patterns), -1)
    first[places[::-1]] = np.arange(len(places))[::-1]
    return bool(np.array_equal(played.raw, played.raw[first[places]]))


_MOST = 2_000_000
_FACTORS = (4.0, 16.0)


def fewest_models(claim: Subject, confidence: float = 0.95, prior: float = 0.5) -> int:
    """About how many models it takes at least to refute a claim, with an attack that never errs.

    For one target in by coins of this prior; models on which something is chosen come on top.

    >>> import tellapart as ta
    >>> fewest_models(ta.guarantee(epsilon=1))
    17
    """
    level = 1 - _checks.inside_unit(confidence=confidence)
    share = _checks.inside_unit(prior=prior)
    low, high = 1, 2
    while not _refutable(claim, high, share, level):
        deadline.check()
        low, high = high, 2 * high
        if high > _MOST:
            raise Unsupported(
                f"refuting this claim takes more than {_MOST:,} models even if every one of them "
                "is told apart: audit the steps of the training instead"
            )
    return first_whole(lambda models: _refutable(claim, models, share, level), low, high)


def enough_models(claim: Subject, models: int, aside: int, confidence: float, prior: float) -> None:
    """Raise where not even an attack that never errs could refute the claim."""
    if _refutable(claim, models - aside, prior, 1 - confidence):
        return
    needed = fewest_models(claim, confidence, prior)
    total = -(-needed * models // max(models - aside, 1))
    _checks.refuse(
        "models",
        f"be about {total:,} or more to refute this claim at all, even if every one of them is "
        "told apart (audit.game_evidence says what fewer show)",
        models,
    )


def _refutable(claim: Subject, models: int, prior: float, level: float) -> bool:
    if models < 2:
        return False
    inside = min(max(round(models * prior), 1), models - 1)
    others, members = np.split(np.arange(float(models)), [models - inside])
    return at_ranks(Scores(members, others), level).refutes(claim)


def outlook(
    evidence: Evidence, models: int, delta: float, factors: Sequence[float] = _FACTORS
) -> str:
    """What ε more models would show, about, by the same looks at the rates observed."""
    parts = [
        f"{factor:g} times as many ({round(models * factor):,}) about "
        f"{evidence.scaled(factor).epsilon_lower(delta).value:.3g}"
        for factor in factors
    ]
    return (
        f"More models would show, of ε at δ = {delta:g}: {', '.join(parts)}, if rates stay as "
        "observed; chance alone may have raised them. To audit again for this reason is a second "
        "look: 1 - confidence must be shared out among all looks beforehand."
    )
