"""Thirteen bugs of Opacus trainings under `audit.watch`: by which verdict each falls, how often.

Tables come as Markdown, for the documentation with ``--page FILE``. ``--seeds`` sets how many
trainings there are of each. CPU seconds are of this process, on one thread.
"""

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _markdown import Page
from _timing import versions

from tellapart.audit.trainings.step_bets import StepBets
from tellapart.audit.trainings.watch_verdict import BETS

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "libraries"))
HEAD = """# Training bugs under a white-box audit

Written by `make watched-bugs` (`benchmarks/watched_bugs.py`); do not edit. Each row is one training
of 60 steps with Opacus (a small network on digits, 400 records, sampling rate 1/8, noise multiplier
1), right or with one bug, [watched](watching.md) by `audit.watch`. Bets ask whether steps are
private, at a level of 0.049; tests of conformance whether they are as stated, at 0.001. What each
step leaks is claimed to be μ = 1.
"""
COLUMNS = ("training", "refuted", "by bets", "by conformance", "median μ ≥", "first test", "s")
TRUTH = """## What bets show of a right mechanism

Simulated readings of 45 canaries a step, with noise as claimed: the truth is μ = 1. The median and
the lowest tenth of the μ shown, at a level of 0.049.
"""


def main() -> int:
    """Print the tables; 1 if a bug escapes more than once in twenty trainings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()

    import opacus_trainings as trainings
    import torch

    torch.set_num_threads(1)
    page, escaped = Page(), list[str]()
    page.say(*HEAD.splitlines(), "", versions("numpy", "opacus", "torch"), "")
    page.table(COLUMNS, rows(trainings, options.seeds, escaped))
    page.target("every bug refuted in 19 of 20 trainings at least", not escaped)
    page.say(*TRUTH.splitlines())
    page.table(("steps", "median μ ≥", "lowest tenth"), shown(options.seeds))
    if options.page:
        page.write(options.page)
    return int(page.missed)


def rows(trainings: Any, seeds: int, escaped: list[str]) -> Iterator[tuple[str, ...]]:
    """A row for each bug, after that of the right training."""
    for name, bug in {"as it should be": None, **trainings.BUGS}.items():
        begun = time.process_time()
        verdicts = [trainings.watched(seed, bug) for seed in range(100, 100 + seeds)]
        bounds = [verdict.mu_lower.value for verdict in verdicts]
        spent = (time.process_time() - begun) / seeds
        refuted = sum(verdict.refuted for verdict in verdicts)
        if bug is not None and refuted < 0.95 * seeds:
            escaped.append(name)
        first = Counter(verdict.failed[0].name for verdict in verdicts if verdict.failed)
        yield (
            name,
            f"{refuted} of {seeds}",
            str(sum(BETS in verdict.refuting for verdict in verdicts)),
            str(sum(bool(verdict.failed) for verdict in verdicts)),
            f"{np.floor(100 * np.median(bounds)) / 100:g}",
            first.most_common(1)[0][0] if first else "",
            f"{spent:.1f}",
        )


def shown(seeds: int) -> Iterator[tuple[str, ...]]:
    """What is shown of μ = 1 after so many steps."""
    groups = np.repeat(np.arange(5), [10, 10, 10, 10, 5])
    for steps in (60, 200, 600, 2_000):
        bounds = []
        for seed in range(seeds):
            rng = np.random.default_rng((seed, steps))
            coins = rng.random((steps, 45)) < 0.5
            noise, before = rng.normal(size=(2, steps, 45))
            places, labels = np.tile(groups, (steps, 1)), tuple(range(5))
            bets = StepBets(coins + noise, before, coins, places, 1.0, labels)
            bounds.append(bets.mu_lower(0.049))
        low, middle = np.floor(100 * np.quantile(bounds, [0.1, 0.5])) / 100
        yield f"{steps:,}", f"{middle:g}", f"{low:g}"


if __name__ == "__main__":
    sys.exit(main())
