"""Matrices of models by records: seconds for 1,000 x 10,000 float32, and what each reading finds.

The target is 10 s of CPU time for the check of the mask, the attack and the verdict together. Then
the power of each reading on 64 models x 500 records whose logits are N(leak, 1) for members, around
levels of their own, against the claim ε = 1, δ = 1e-5, in 40 matrices a row; beside them what there
was before: one model described by LiRA fitted on all others, and a game's most exposed target.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from _timing import print_rows, versions

import tellapart as ta
from tellapart import audit
from tellapart.audit import Coins, Evidence, Matrix, Outputs
from tellapart.audit.trainings import attacks

MODELS, RECORDS, TARGET = 1_000, 10_000, 10.0
CLAIM = ta.guarantee(epsilon=1, delta=1e-5)
AUDITS = 40
LEAKS = (0.6, 0.8, 1.0, 1.5, 2.5, 4.0)


def drawn(coins: Coins, rng: np.random.Generator, models: int, records: int) -> np.ndarray:
    """A mask of this design."""
    numbers = rng.random((models, records), dtype=np.float32)
    if coins is Coins.FIXED_SIZE:
        return np.asarray(numbers.argsort(axis=1).argsort(axis=1) < records // 2)
    if coins is Coins.BALANCED:
        return np.asarray(numbers.argsort(axis=0).argsort(axis=0) < models // 2)
    return np.asarray(numbers < 0.5)


READINGS: dict[str, tuple[Coins, Callable[[Matrix], Evidence]]] = {
    "one_run, LiRA": (
        Coins.INDEPENDENT,
        lambda matrix: matrix.one_run(attack=attacks.Lira(), claim=CLAIM),
    ),
    "pooled, LiRA": (
        Coins.INDEPENDENT,
        lambda matrix: matrix.pooled(attack=attacks.Lira(), claim=CLAIM),
    ),
    "pooled, LiRA offline": (
        Coins.INDEPENDENT,
        lambda matrix: matrix.pooled(attack=attacks.Lira(online=False), claim=CLAIM),
    ),
    "pooled, RMIA": (
        Coins.INDEPENDENT,
        lambda matrix: matrix.pooled(attack=attacks.Rmia(), claim=CLAIM),
    ),
    "by_record, LiRA": (
        Coins.INDEPENDENT,
        lambda matrix: matrix.by_record(attack=attacks.Lira(), delta=1e-5),
    ),
    "fixed size: one_run, LiRA": (
        Coins.FIXED_SIZE,
        lambda matrix: matrix.one_run(attack=attacks.Lira(), claim=CLAIM),
    ),
    "fixed size: pooled, LiRA": (
        Coins.FIXED_SIZE,
        lambda matrix: matrix.pooled(attack=attacks.Lira(), claim=CLAIM),
    ),
    "balanced: one_run, LiRA": (
        Coins.BALANCED,
        lambda matrix: matrix.one_run(attack=attacks.Lira(), claim=CLAIM),
    ),
    "before: attacks.lira of one model": (
        Coins.INDEPENDENT,
        lambda matrix: audit.one_run(
            attacks.lira(matrix.scores, matrix.inclusion, scaled=True).of_model(0), claim=CLAIM
        ),
    ),
    "before: game_evidence": (
        Coins.INDEPENDENT,
        lambda matrix: audit.game_evidence(
            audit.MembershipGame(matrix.records, audit.Pool(), models=matrix.models).with_outputs(
                matrix.scores, inclusion=matrix.inclusion
            ),
            delta=1e-5,
        ),
    ),
}


def seconds(name: str) -> tuple[list[str], bool]:
    """A row of times, and whether the target was met."""
    coins, read = READINGS[name]
    rng = np.random.default_rng(0)
    mask = drawn(coins, rng, MODELS, RECORDS)
    logits = rng.standard_normal(mask.shape, dtype=np.float32) + mask
    wall, cpu = time.perf_counter(), time.process_time()
    evidence = read(Matrix(logits, mask, coins, Outputs.LOGIT))
    evidence.refutes(CLAIM)
    took = time.process_time() - cpu
    shown = evidence.epsilon_lower(1e-5).value
    cells = [name, f"{took:.1f}", f"{time.perf_counter() - wall:.1f}", f"{shown:.2f}"]
    return cells, took <= TARGET


def power(name: str, leak: float) -> str:
    """In which share of the matrices the claim is refuted."""
    coins, read = READINGS[name]
    refuted = 0
    for seed in range(AUDITS):
        rng = np.random.default_rng([seed, 1])
        mask = drawn(coins, rng, 64, 500)
        logits = rng.normal(size=mask.shape) + 2 * rng.normal(size=500) + leak * mask
        refuted += read(Matrix(logits, mask, coins, Outputs.LOGIT)).refutes(CLAIM)
    return f"{refuted / AUDITS:.2f}"


def main() -> int:
    """Print both tables; 1 if a reading takes too long."""
    print(versions("numpy", "scipy"))
    print(f"{MODELS:,} models x {RECORDS:,} records of float32; target: {TARGET:g} s of CPU time")
    rows = [seconds(name) for name in READINGS if not name.startswith("before")]
    print_rows(["reading", "CPU s", "s", "ε ≥"], [cells for cells, _ in rows])
    print(f"Share of {AUDITS} matrices that refute ε = 1, δ = 1e-5, by the leak")
    print_rows(
        ["reading", *(f"{leak:g}" for leak in LEAKS)],
        ([name, *(power(name, leak) for leak in LEAKS)] for name in READINGS),
    )
    return 0 if all(met for _, met in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
