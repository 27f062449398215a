"""A watched training in a report: its two parts told apart, and every test of conformance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tellapart._numeric.text import short
from tellapart.audit.bounds import LowerBound
from tellapart.audit.summary import Shown
from tellapart.audit.trainings.watch_verdict import ASSUMPTIONS, PRODUCTION, WatchVerdict
from tellapart.risk.catalogue import DELTA

DESIGN = "watched-training"
SAMPLE = (
    "one training, into whose every step canary gradients were put by fresh fair coins, and whose "
    "releases were read along them"
)
METHOD = "bets on each step (an e-process), and tests of conformance with exact laws"
_BETS = "exact and anytime-valid: some step leaks more, whatever mechanism was run"


@dataclass(frozen=True)
class ConformanceTest:
    """One test of the stated mechanism: what was seen, its p-value, and whether it refutes."""

    name: str
    words: str
    p_value: str
    refutes: bool


@dataclass(frozen=True)
class WatchedTraining:
    """Both parts of a white-box audit: whether steps are private, and whether they are as stated.

    ``not_private`` refutes that every step is μ-GDP; ``not_as_stated`` refutes the mechanism
    stated, and another one may be as private.
    """

    steps: int
    not_private: bool
    not_as_stated: bool
    enough_steps: bool  # for bets to refute anything
    mu_claimed: float
    tests: tuple[ConformanceTest, ...]

    @property
    def counted(self) -> str:
        """How many steps there were, in words."""
        return f"{self.steps:,} steps"


def watched_training(verdict: WatchVerdict) -> WatchedTraining:
    """The two parts as plain data, those tests first that refute."""
    failed = set(map(id, verdict.failed))
    tests = sorted(verdict.checks, key=lambda check: id(check) not in failed)
    return WatchedTraining(
        verdict.steps,
        verdict.not_private,
        bool(verdict.failed),
        verdict.could_refute,
        verdict.mu_claimed,
        tuple(
            ConformanceTest(each.name, each.words, verdict.p_of(each), id(each) in failed)
            for each in tests
        ),
    )


def sentences(verdict: WatchVerdict) -> tuple[str, ...]:
    """What each part says; single tests have a table of their own."""
    said = (line for line in verdict.grounds() if not line.startswith("- "))
    return (*said, PRODUCTION)


def assumptions() -> tuple[str, ...]:
    """What both parts take on trust, as sentences."""
    return tuple(f"{each[0].upper()}{each[1:]}." for each in ASSUMPTIONS)


def shown(verdict: WatchVerdict, deltas: Sequence[float]) -> tuple[Shown, ...]:
    """The μ of some step, and the ε of the training under the assumption that it names."""
    rows = [_row("μ of some step, by bets", verdict.mu_lower, _BETS)]
    for delta in (each for each in deltas or (DELTA.default,) if 0 < each < 1):
        bound = verdict.epsilon_if_steps_alike(delta)
        what = f"ε at δ = {short(delta)}, if all steps leak alike"
        rows.append(_row(what, bound, "an assumption: one step may have leaked, and no other"))
    return tuple(rows)


def _row(what: str, bound: LowerBound, basis: str) -> Shown:
    return Shown(what, bound.value, bound.words, basis if bound.value else "nothing shown")
