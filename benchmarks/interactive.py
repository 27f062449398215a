"""Is it fast enough to play with? Each risk of a closed-form curve, and each choice, in ms.

Targets: any single risk under 1 ms, any choice under 20 ms, a map of the noise of DP-SGD over 20
batch sizes and 20 numbers of epochs under 10 s of one core. Where dp_accounting can answer the
same question, it runs beside us in this process and the ratio is printed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported

import dp_accounting
import numpy as np
from _timing import medians, versions
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism

import tellapart as ta
from tellapart import choose, risk
from tellapart.mechanisms.catalogue import named_family
from tellapart.risk.decisions import best_decision

CURVES = {
    "any (ε, δ)": ta.guarantee(1, 1e-5),
    "Laplace": ta.Laplace.with_epsilon(1).curve(),
    "Gaussian": ta.Gaussian(1).curve(),
    "exponential": ta.ExponentialMechanism(1).curve(),
    "randomised response": ta.RandomizedResponse(1, 10).curve(),
}
RISKS: dict[str, Callable[[ta.TradeoffCurve], object]] = {
    "advantage": risk.advantage,
    "advantage at FPR": lambda c: risk.advantage(c, fpr=0.01),
    "TPR at FPR": lambda c: risk.tpr(c, 0.01),
    "PPV": lambda c: risk.ppv(c, fpr=0.01, prior=0.01),
    "precision at recall": lambda c: risk.precision(c, recall=0.5),
    "posterior": lambda c: risk.posterior(c, loss=0.5, prior=0.01),
    "largest posterior": lambda c: risk.max_posterior(c, prior=0.01),
    "F-score": lambda c: risk.f_score(c, weight=1, prior=0.01),
    "success": lambda c: risk.success(c, prior=0.01),
    "Bayes error": lambda c: risk.bayes_error(c, prior=0.01),
    "best decision": lambda c: best_decision(c, miss_cost=5),
    "AUC": risk.auc,
    "ε at δ": lambda c: c.epsilon(1e-5),
    "all, summed up": risk.summary,
}
LIMITS = {
    "F-score": choose.at_most(0.75, risk.f_score, weight=1),
    "advantage": choose.at_most(0.1, risk.advantage),
    "PPV": choose.at_most(0.3, risk.ppv, fpr=0.01, prior=0.1),
    "TPR": choose.at_most(0.02, risk.tpr, fpr=0.01),
    "all four": None,
}
# Curves with a formula; planar Laplace noise is an integral at every point.
FAMILIES = ["any", "laplace", "gaussian", "gaussian:delta=1e-5", "exponential", "staircase"]
RISK_MS, CHOICE_MS, REPEATS = 1.0, 20.0, 9
MAP_S = 10.0
MAP_LIMITS = [choose.at_most(0.1, risk.advantage), choose.at_most(0.02, risk.tpr, fpr=0.01)]


def milliseconds(task: Callable[[], object]) -> float:
    """The median wall time of a call."""

    def sample() -> float:
        start = time.perf_counter()
        task()
        return 1e3 * (time.perf_counter() - start)

    return medians([sample], REPEATS)[0]


def worst_of(times: dict[str, float], budget: float, what: str) -> bool:
    """Print a table, slowest last; say whether all stay within the budget."""
    for name, ms in sorted(times.items(), key=lambda item: item[1]):
        print(f"  {name:<44}{ms:>9.3f} ms{'' if ms <= budget else '  missed'}")
    print(f"  slowest {what}: {max(times.values()):.3f} ms (target {budget:g} ms)\n")
    return max(times.values()) <= budget


def main() -> int:
    """Print every time; 1 if a target is missed."""
    print(versions("tellapart", "numpy", "scipy", "dp-accounting"))
    print("\nOne risk of one curve, the slowest of five closed forms")
    single = {
        name: max(milliseconds(lambda f=f, c=c: f(c)) for c in CURVES.values())
        for name, f in RISKS.items()
    }
    met = worst_of(single, RISK_MS, "risk")

    print("One choice, the slowest of six families")
    chosen = {}
    for name, limit in LIMITS.items():
        limits = [limit] if limit else [x for x in LIMITS.values() if x]
        times = []
        for family in map(named_family, FAMILIES):
            search = choose.least if family.grows_private else choose.largest
            times.append(milliseconds(lambda s=search, f=family, x=limits: s(f.make, x)))
        chosen[f"limit on {name}"] = max(times)
    met &= worst_of(chosen, CHOICE_MS, "choice")

    print("A map of 20 x 20 trainings, CPU seconds")
    start = time.process_time()
    choose.training_map(
        data_size=60_000,
        batches=np.geomspace(64, 4096, 20).round(),
        epochs=np.geomspace(5, 60, 20).round(1),
        limits=MAP_LIMITS,
    )
    seconds = time.process_time() - start
    print(f"  advantage 0.1 and TPR 0.02 at FPR 0.01: {seconds:.1f} s (target {MAP_S:g} s)\n")
    met &= seconds <= MAP_S

    print("Beside dp_accounting, from parameters to answer")
    ours = milliseconds(lambda: risk.advantage(ta.Laplace.with_epsilon(1).curve()))
    theirs = milliseconds(lambda: from_laplace_mechanism(1.0).get_delta_for_epsilon(0.0))
    print(f"  advantage of Laplace noise: {ours:.3f} ms, {theirs:.1f} ms: {theirs / ours:.0f}x")
    ours = milliseconds(lambda: choose.least(ta.Gaussian, [LIMITS["advantage"]]))
    theirs = milliseconds(
        lambda: dp_accounting.calibrate_dp_mechanism(
            PLDAccountant, dp_accounting.GaussianDpEvent, target_epsilon=0.0, target_delta=0.1
        )
    )
    print(f"  Gaussian noise for advantage 0.1: {ours:.2f} ms, {theirs:.0f} ms: "
          f"{theirs / ours:.0f}x")  # fmt: skip
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
