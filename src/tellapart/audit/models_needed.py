"""Sample size of a refutation: the fewest models with which an attack without errors refutes."""

from __future__ import annotations

from tellapart import _checks, deadline
from tellapart._numeric.solve import first_whole
from tellapart._numeric.text import short
from tellapart.audit.many_run_audit import at_ranks, unseen_scores
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Gaussian
from tellapart.mechanisms.subject import Subject, curve_of

MOST_MODELS = 2_000_000
# Where Gaussian noise has the ε of a claim that names no δ.
_USUAL_DELTA = 1e-5


def fewest_models(claim: Subject, confidence: float = 0.95, prior: float = 0.5) -> int:
    """About how many models it takes at least to refute a claim, with an attack that never errs.

    For one target in by coins of this prior; models on which something is chosen come on top.

    >>> import tellapart as ta
    >>> fewest_models(ta.guarantee(epsilon=1))
    17
    """
    level = 1 - _checks.inside_unit(confidence=confidence)
    share = _checks.inside_unit(prior=prior)
    needed = models_needed(claim, share, level)
    if needed is None:
        raise Unsupported(
            f"refuting this claim takes more than {MOST_MODELS:,} models even if every one of them "
            "is classified rightly: audit the steps of the training instead (audit.plan says what "
            f"each design could show). {curve_needs_less(claim, confidence)}".rstrip()
        )
    return needed


def models_needed(claim: Subject, share: float, level: float) -> int | None:
    """The same; None beyond `MOST_MODELS`."""
    low, high = 1, 2
    while not refutable(claim, high, share, level):
        deadline.check()
        low, high = high, 2 * high
        if high > MOST_MODELS:
            return None
    return first_whole(lambda models: refutable(claim, models, share, level), low, high)


def curve_needs_less(
    claim: Subject, confidence: float = 0.95, prior: float = 0.5, *, unit: str = "models"
) -> str:
    """For a claim of ε and δ alone: how many models a claim by its curve takes; else nothing."""
    curve = curve_of(claim, "claim")
    if not isinstance(curve, GuaranteeCurve) or curve.claimed_epsilon == 0:
        return ""
    if curve.claimed_delta == 1:  # which no noise has, and no models refute
        return ""
    delta = curve.claimed_delta or _USUAL_DELTA
    stated = Gaussian.with_epsilon(curve.claimed_epsilon, delta)
    needed = models_needed(stated, prior, 1 - confidence)
    if needed is None:
        return ""
    return (
        "State the mechanism if it is known: as the curve of Gaussian noise with "
        f"σ = {short(stated.sigma, 4)}, the same ε (at δ = {short(delta)}) takes {needed:,} {unit}"
    )


def refutable(claim: Subject, models: int, prior: float, level: float) -> bool:
    """Whether so many models could refute the claim, if every one of them is classified rightly."""
    if models < 2:
        return False
    inside = min(max(round(models * prior), 1), models - 1)
    return at_ranks(unseen_scores(models, inside), level).could_refute(claim)
