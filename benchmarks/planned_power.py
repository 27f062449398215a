"""What plans promise, and what audits then find: simulated audits of leaks found with 90 %.

``--draws`` sets how many audits there are of each design. The table comes as Markdown, for the
documentation with ``--page FILE``.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _markdown import Page
from _timing import versions

import tellapart as ta
from tellapart import audit
from tellapart.audit import Access
from tellapart.audit.probing.pace import in_all

POINTS = 0.03
HEAD = """# Planned power, and what audits find

Written by `make planned-power` (`benchmarks/planned_power.py`); do not edit. `audit.plan` says
before anything is run which leak an audit finds with 90 % probability at 95 % confidence. Here
{draws} audits of each design meet just that leak: the claimed mechanism with its noise divided by
x, or for a claim of ε alone randomised response whose ε is x times as large. Samples are calls on
each input, models, canaries or steps. [How to plan](audit.md#plan-first).
"""
COLUMNS = ("design", "claim", "samples", "x", "found", "to find x = 1.2")


@dataclass(frozen=True)
class Case:
    """A claim, what can be done, how much of it, and the audit of a leak."""

    name: str
    claim: Any
    access: Access
    count: int
    audited: Callable[[Any, int, float, int], bool]
    pairs: int = 0  # of inputs that are called
    until_decided: bool = False
    bets: bool = False  # of a watched training, and not its tests of conformance

    def planned(self) -> audit.planning.PlannedDesign:
        """The design of this count."""
        budget = self.pairs * in_all(self.count) or self.count
        canaries = self.count if self.access is Access.ONE_RUN else 1_000
        designs = audit.plan(
            self.claim, seconds=1.0, budget=float(budget), available=self.access, canaries=canaries
        ).designs
        return next(each for each in designs if bool(each.stops) == self.until_decided)


def noisy(claim: Any, x: float) -> Callable[..., Any]:
    """A count with the claim's noise divided by x; or randomised response of x times the ε."""
    if isinstance(claim, ta.Laplace):
        return lambda data, rng, size=None: len(data) + rng.laplace(0, claim.scale / x, size)
    if isinstance(claim, ta.Gaussian):
        return lambda data, rng, size=None: len(data) + rng.normal(0, claim.sigma / x, size)
    epsilon = claim.epsilon if isinstance(claim, ta.RandomizedResponse) else claim.claimed_epsilon
    lie = 1 / (1 + math.exp(epsilon * x))
    return lambda data, rng, size=None: 1 * ((len(data) == 2) ^ (rng.random(size) < lie))


def probed(claim: Any, count: int, x: float, seed: int, *, until_decided: bool = False) -> bool:
    """Calls on two inputs."""
    return audit.probe(
        noisy(claim, x),
        [1],
        [1, 2],
        claim=claim,
        samples=count,
        seed=seed,
        until_decided=until_decided,
    ).refuted


def stepped(claim: Any, count: int, x: float, seed: int) -> bool:
    """Calls of one step."""
    noise = claim.base.base.sigma

    def step(gradients: Any, rng: Any, size: int) -> Any:
        clipped = gradients / np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True), 1.0)
        return clipped.sum(axis=0) + rng.normal(0, noise / x, (size, gradients.shape[1]))

    told = {"clip": 1.0, "noise_multiplier": noise, "samples": count, "seed": seed}
    return audit.step(step, **told).refuted


def scored(claim: Any, count: int, x: float, seed: int, *, one_run: bool) -> bool:
    """The best scores, of models with the target in by coins, or of canaries of one run."""
    rng = np.random.default_rng((seed, count))
    members, release = rng.binomial(count, 0.5), noisy(claim, x)

    def scores(data: list[int], count: int) -> Any:
        # The best attack breaks ties by chance.
        return release(data, rng, count) + rng.uniform(0, 1e-6, count)

    seen = audit.Scores(members=scores([1, 2], members), non_members=scores([1], count - members))
    evidence = audit.one_run(seen, claim=claim) if one_run else audit.many_runs(seen)
    return evidence.refutes(claim)


def watched(claim: Any, count: int, x: float, seed: int, *, bets: bool = False) -> bool:
    """Steps of a training with x times too little noise: in one of 20 layers, or for bets in all.

    Each layer has ten weights.
    """
    rng = np.random.default_rng((seed, 7))
    watch = audit.watch_updates([10] * 20, claim=claim, clip=1.0, records=50, seed=seed)
    for _ in range(count):
        batch = np.flatnonzero(rng.random(50) < claim.base.rate)
        canaries = watch.canaries()
        norms = np.linalg.norm(canaries, axis=1, keepdims=True)
        noise = rng.normal(size=200) / np.repeat([x if bets else 1.0, x], [190, 10])
        release = (canaries / np.maximum(norms, 1.0)).sum(axis=0) + noise
        watch.saw(release, np.zeros((len(batch), 200)), batch)
    verdict = watch.verdict()
    return verdict.not_private if bets else "noise of a layer" in verdict.refuting


LAPLACE, GAUSSIAN, BARE = ta.Laplace(1.0), ta.Gaussian(1.0), ta.guarantee(1.0)
TRAINING = ta.dp_sgd(1.0, sampling_rate=0.01, steps=1_000)
WATCHED = ta.dp_sgd(1.0, sampling_rate=0.1, steps=60)
WEAKER = ta.dp_sgd(4.0, sampling_rate=0.01, steps=1_000)
DECIDED = partial(probed, until_decided=True)
CASES = (
    *(
        Case(name, claim, Access.FUNCTION, count, probed, 1)
        for name, claim in (("Laplace, ε = 1", LAPLACE), ("Gaussian, σ = 1", GAUSSIAN))
        for count in (200, 2_000, 20_000)
    ),
    Case("ε = 1", BARE, Access.FUNCTION, 2_000, probed, 1),
    *(Case("ε = 1", BARE, Access.FUNCTION, count, DECIDED, 1, True) for count in (300, 2_000)),
    Case("ε = 3", ta.guarantee(3.0), Access.FUNCTION, 300, DECIDED, 1, True),
    *(Case("DP-SGD, σ = 1", TRAINING, Access.STEP, count, stepped, 5) for count in (200, 2_000)),
    Case("DP-SGD, σ = 4", WEAKER, Access.STEP, 60, stepped, 5),
    Case("DP-SGD, σ = 1", WATCHED, Access.STEPS, 60, watched),
    Case("DP-SGD, σ = 1", WATCHED, Access.STEPS, 60, partial(watched, bets=True), bets=True),
    *(
        Case("Gaussian, σ = 1", GAUSSIAN, Access.TRAININGS, count, partial(scored, one_run=False))
        for count in (100, 1_000)
    ),
    Case("ε = 1", BARE, Access.TRAININGS, 1_000, partial(scored, one_run=False)),
    *(
        Case("Gaussian, σ = 1", GAUSSIAN, Access.ONE_RUN, count, partial(scored, one_run=True))
        for count in (100, 1_000, 10_000)
    ),
    *(
        Case(name, claim, Access.ONE_RUN, count, partial(scored, one_run=True))
        for name, claim, count in (
            ("Laplace, ε = 1", LAPLACE, 500),
            ("randomised response, ε = 1", ta.RandomizedResponse(1.0), 5_000),
            ("ε = 1", BARE, 1_000),
        )
    ),
)
NAMES = {
    Access.FUNCTION: "`audit.probe`",
    Access.STEP: "`audit.step`",
    Access.TRAININGS: "`audit.training`",
    Access.ONE_RUN: "`audit.one_run`",
    Access.STEPS: "`audit.watch`",
}


def main() -> int:
    """Print the table; 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    page, missed = Page(), list[str]()
    page.say(*HEAD.format(draws=f"{options.draws:,}").splitlines(), "")
    page.say(versions("numpy", "scipy"))
    page.table(COLUMNS, rows(options.draws, missed))
    page.target("90 % found, within 3 points and two standard errors", not missed)
    if options.page:
        page.write(options.page)
    return int(page.missed)


def rows(draws: int, missed: list[str]) -> Iterator[tuple[str, ...]]:
    """A row for each design; a promise is missed beyond what two standard errors leave open."""
    chance = 2 * math.sqrt(0.09 / draws)
    for case in CASES:
        design = case.planned()
        x = design.not_private if case.bets else design.detectable
        if x is None or design.count != case.count:
            raise ValueError(f"not planned: {case} {design}")
        found = sum(case.audited(case.claim, case.count, x, seed) for seed in range(draws)) / draws
        if abs(found - 0.9) > POINTS + chance:
            missed.append(design.call)
        until = " until decided" if case.until_decided else " by bets" if case.bets else ""
        yield (
            NAMES[case.access] + until,
            case.name,
            f"{case.count:,}",
            f"{x:.3g}",
            f"{found:.1%}".replace("%", " %"),
            "" if case.bets else "none" if design.price is None else f"{design.price[0]:,}",
        )


if __name__ == "__main__":
    sys.exit(main())
