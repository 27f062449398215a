"""Methods of choosing thresholds (ranks, sample splitting, a band): what each will look at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from tellapart import _checks


@dataclass(frozen=True)
class Ranks:
    """Test at ranks 1, 3, 9, 27, ... from both ends, each for an equal share of the level.

    Nothing is chosen from the data or drawn, no sample is set aside, and each look is exact. A
    twentieth of the level pays for scores that tie, if any do.

    >>> from tellapart import audit
    >>> scores = audit.Scores(members=range(50, 150), non_members=range(100))
    >>> round(audit.many_runs(scores, method=audit.Ranks()).epsilon_lower(delta=0).value, 2)
    2.27
    """

    name: ClassVar[str] = "pre-set ranks"


@dataclass(frozen=True)
class Split:
    """Choose one rank on a random share of the scores, and test it on the rest at the full level.

    The choice aims at the largest ε at this ``delta``.

    >>> from tellapart import audit
    >>> scores = audit.Scores(members=range(50, 150), non_members=range(100))
    >>> evidence = audit.many_runs(scores, method=audit.Split(share=0.5))
    >>> round(evidence.epsilon_lower(delta=0).value, 2)
    2.08
    """

    share: float = 0.3
    delta: float = 0.0
    seed: int = 0
    name: ClassVar[str] = "one rank chosen on held-out scores"

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", _checks.inside_unit(share=self.share))
        object.__setattr__(self, "delta", _checks.probability(delta=self.delta))
        object.__setattr__(self, "seed", _checks.whole(0, 2**63 - 1, seed=self.seed))


@dataclass(frozen=True)
class Band:
    """Bound both rates at all thresholds at once, with equal local levels on each side.

    Weaker at each threshold than ranks fixed beforehand; gives the smoothest curve.

    >>> from tellapart import audit
    >>> scores = audit.Scores(members=range(50, 150), non_members=range(100))
    >>> round(audit.many_runs(scores, method=audit.Band()).epsilon_lower(delta=0).value, 2)
    1.66
    """

    name: ClassVar[str] = "simultaneous band"


@dataclass(frozen=True)
class Fixed:
    """Flag beyond one threshold that was fixed before any of these scores was seen.

    >>> from tellapart import audit
    >>> scores = audit.Scores(members=range(50, 150), non_members=range(100))
    >>> round(audit.many_runs(scores, method=audit.Fixed(99)).epsilon_lower(delta=0).value, 2)
    2.79
    """

    threshold: float
    name: ClassVar[str] = "one fixed threshold"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", _checks.finite(threshold=self.threshold))


class Prior(Enum):
    """What is believed before looking: of both rates together, or of each by itself."""

    JOINT_BETA = "joint beta"
    JEFFREYS = "Jeffreys"


@dataclass(frozen=True)
class Credible:
    """A Bayesian bound at one fixed threshold, for comparison: it can refute nothing.

    >>> from tellapart import audit
    >>> scores = audit.Scores(members=range(50, 150), non_members=range(100))
    >>> audit.many_runs(scores, method=audit.Credible(99)).epsilon_lower(delta=0).basis
    <Basis.BAYESIAN: 'Bayesian'>
    """

    threshold: float
    prior: Prior = Prior.JOINT_BETA
    name: ClassVar[str] = "one fixed threshold, Bayesian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", _checks.finite(threshold=self.threshold))
        _checks.member(Prior, prior=self.prior)


@dataclass(frozen=True)
class Guessing:
    """In one run, guess "in" of so many canaries and "out" of so many, fixed beforehand.

    Of several, each gets its ``share`` of the level, and those without one divide the rest:
    one_run(scores, method=[Guessing(60, 60, share=0.8), Guessing(300, 300)]).

    >>> from tellapart import audit
    >>> scores = audit.Scores(members=range(50, 150), non_members=range(100))
    >>> evidence = audit.one_run(scores, method=audit.Guessing(guesses_in=20))
    >>> round(evidence.epsilon_lower(delta=0).value, 2)
    1.82
    """

    guesses_in: int
    guesses_out: int = 0
    share: float | None = None
    name: ClassVar[str] = "numbers of guesses fixed beforehand"

    def __post_init__(self) -> None:
        for field in ("guesses_in", "guesses_out"):
            object.__setattr__(self, field, _checks.whole(0, **{field: getattr(self, field)}))
        if self.guesses_in + self.guesses_out == 0:
            _checks.refuse("guesses_in + guesses_out", "be at least 1", 0)
        if self.share is not None and _checks.probability(share=self.share) == 0:
            _checks.refuse("share", "be above 0: without a level nothing is tested", self.share)


@dataclass(frozen=True)
class IndependentCanaries:
    """In one run, take canaries as independent and alike, as a stated mechanism makes them.

    Each has its own coin and, by the claim, its own noise, so they are tested as many runs are, at
    pre-set ranks. Sharper than guesses, which hold whatever canaries have in common; but what is
    refuted is the stated mechanism with its independent noise, not differential privacy: a claim of
    ε and δ states none, and cannot be judged.

    >>> from tellapart import audit
    >>> scores = audit.Scores(members=range(50, 150), non_members=range(100))
    >>> evidence = audit.one_run(scores, method=audit.IndependentCanaries())
    >>> round(evidence.epsilon_lower(delta=0).value, 2)
    2.27
    """

    name: ClassVar[str] = "canaries independent by the claim"
    about: ClassVar[str] = (
        "Canaries were taken as independent and alike, as the stated mechanism makes them: what "
        "is bounded or refuted is that mechanism, not differential privacy."
    )
    assumption: ClassVar[str] = (
        "Given their coins, the scores of canaries are independent of each other and follow one "
        "law if in, one if out, as the stated mechanism has it. Nothing in the scores checks this."
    )


Method = Ranks | Split | Band | Fixed | Credible
