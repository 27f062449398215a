"""How many models an audit of trainings needs, and what more of them would show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart import _checks, deadline
from tellapart.audit.evidence.base import Evidence
from tellapart.audit.many_run_audit import at_ranks
from tellapart.audit.scores import Scores
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject

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
    while high - low > 1:
        deadline.check()
        middle = (low + high) // 2
        low, high = (low, middle) if _refutable(claim, middle, share, level) else (middle, high)
    return high


def enough_models(claim: Subject, models: int, aside: int, confidence: float, prior: float) -> None:
    """Raise where not even an attack that never errs could refute the claim."""
    share = _checks.inside_unit(prior=prior)
    if _refutable(claim, models - aside, share, 1 - confidence):
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
