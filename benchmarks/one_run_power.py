"""What one training run shows: the median ε of 200 runs beside its targets, jax-privacy, Steinke's.

Needs the extra ``peers``. Tables come as Markdown, for the documentation with ``--page FILE``.
``--draws`` sets how many runs there are of each. Targets with their tolerances are those of
``tests/oracles/one_run_power.json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import _auditors as peers
import audit_one_run as runs
from _auditors import Bound
from _markdown import Page
from _timing import power_of_ten, versions

import tellapart as ta

ROOT = Path(__file__).resolve().parents[1]
RECORDS = json.loads((ROOT / "tests" / "oracles" / "one_run_power.json").read_text("utf-8"))
TARGETS = RECORDS["one_run"]["target_median_eps"]
SIZES = (10**3, 10**4)
SECONDS = 2.0
HEAD = """# Power of one-run audits

Written by `make one-run-power` (`benchmarks/one_run_power.py`); do not edit. Each canary of one
training is in by a fair coin, and scores have the noise named: the truth is known. The table has
the median ε that is shown at δ = 1e-5 with 95 % confidence, over {draws} such runs; everyone sees
the same scores. Targets have tolerances, and a least median that must be reached. jax-privacy's
number is the better one of its strategies, `Bonferroni` and `Split`. Steinke et al.'s bound is
given as many guesses as ours, all of the level on one test, and has none for a claim by its curve.
[How to run such an audit](audit.md#one-run-audit).
"""
COLUMNS = (
    *("claim", "canaries", "truth", "target", "at least"),
    *("tellapart", "jax-privacy", "Steinke et al."),
)
INDEPENDENT = """## Canaries that are independent by the claim

`audit.IndependentCanaries()` takes canaries as independent, as the stated mechanism makes them.
What it bounds or refutes is that mechanism, not differential privacy.
"""
COMPOSED = """## A composed claim

A verdict on DP-SGD with noise multiplier 1.1, sampling rate 0.01 and 1,000 steps, by 10^4 canaries,
in words and with its power.
"""


@dataclass(frozen=True)
class Case:
    """Canaries of one kind of noise, the claim that they are held against, and who bounds ε."""

    claim: str
    record: str
    truth: float
    ours: Bound
    jax: Bound
    mu: float = 1.0
    laplace: bool = False
    steinke: Bound | None = None
    floor: tuple[float, ...] = (0.0, 0.0)  # what must be shown, whatever the tolerance

    def target(self, m: int) -> tuple[float, float]:
        """The median that was recorded, and its tolerance."""
        value, tolerance = TARGETS[self.record][str(m)]
        return value, tolerance

    def least(self, m: int) -> float:
        """The least median that meets the target."""
        value, tolerance = self.target(m)
        return max(value - tolerance, self.floor[SIZES.index(m)])


def _truth(mu: float) -> float:
    return float(ta.Gaussian(sigma=1 / mu).curve().epsilon(runs.DELTA))


def _by_curve(mu: float, record: str, floor: tuple[float, ...]) -> Case:
    ours = partial(runs.ours_gaussian, claim=ta.Gaussian(sigma=1 / mu))
    words = f"by its curve: Gaussian noise, μ = {mu:g}"
    return Case(words, record, _truth(mu), ours, peers.jax_one_run_gaussian, mu, floor=floor)


CASES = (
    _by_curve(1.0, "curve_gauss_mu1", (2.5, 3.0)),
    _by_curve(0.5, "curve_gauss_mu_half", (0.95, 1.3)),
    Case(
        "bare (ε, δ); the noise is Gaussian, μ = 1",
        "pair_two_k_gauss_mu1",
        _truth(1.0),
        runs.ours,
        peers.jax_one_run,
        steinke=runs.steinke,
        floor=(1.5, 2.3),
    ),
    Case(
        "bare (ε, δ); the noise is Laplace, ε = 2",
        "pair_two_k_laplace2",
        2.0,
        partial(runs.ours, claim=runs.LAPLACE_PAIR),
        peers.jax_one_run,
        laplace=True,
        steinke=partial(runs.steinke, claim=runs.LAPLACE_PAIR),
        floor=(1.673, 1.851),
    ),
)


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()

    page, missed = Page(), list[str]()
    page.say(*HEAD.format(draws=options.draws).splitlines(), "")
    page.say(versions("numpy", "scipy", "jax-privacy"), "")
    page.table(COLUMNS, rows(options.draws, missed))
    page.target("every median reaches its target", not missed)
    page.say(*INDEPENDENT.splitlines())
    page.table(("noise", "canaries", "truth", "shown"), independent(options.draws))
    page.say(*COMPOSED.splitlines(), "")
    seconds = runs.composed_seconds()
    page.target(f"in at most {SECONDS:g} CPU seconds; {seconds:.2f}", seconds <= SECONDS)
    if options.page:
        page.write(options.page)
    return int(page.missed)


def rows(draws: int, missed: list[str]) -> Iterator[tuple[str, ...]]:
    """A row for each claim and number of canaries."""
    for case in CASES:
        for m in SIZES:
            methods = {"ours": case.ours, "jax": case.jax, "split": partial(case.jax, split=True)}
            if case.steinke is not None:
                methods["Steinke"] = case.steinke
            shown = medians(case, m, draws, methods)
            value, tolerance = case.target(m)
            if shown["ours"] < case.least(m):
                missed.append(case.claim)
            yield (
                case.claim,
                power_of_ten(m),
                f"{case.truth:.3f}",
                f"{value:g} ± {tolerance:g}",
                f"{case.least(m):.4g}",
                f"{shown['ours']:.3f}",
                f"{max(shown['jax'], shown['split']):.3f}",
                f"{shown['Steinke']:.3f}" if "Steinke" in shown else "",
            )


def independent(draws: int) -> Iterator[tuple[str, ...]]:
    """What is shown where independence is part of the claim."""
    for case in CASES[:2]:
        for m in SIZES:
            shown = medians(case, m, draws, {"ours": runs.ours_independent})
            yield (
                f"Gaussian, μ = {case.mu:g}",
                power_of_ten(m),
                f"{case.truth:.3f}",
                (f"{shown['ours']:.3f}"),
            )


def medians(case: Case, m: int, draws: int, methods: Mapping[str, Bound]) -> dict[str, float]:
    """The median ε of each method, over the same draws."""
    shown: dict[str, list[float]] = {name: [] for name in methods}
    for seed in range(draws):
        members, others = runs.canaries(m, seed, case.laplace, case.mu)
        for name, method in methods.items():
            shown[name].append(method(members, others, seed))
    return {name: statistics.median(values) for name, values in shown.items()}


if __name__ == "__main__":
    sys.exit(main())
