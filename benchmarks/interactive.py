"""Is it fast enough to play with? Each risk of a curve, and each choice, in ms.

CPU time, the least of nine calls after one that warms up. Targets: any single risk of a closed form
under 1 ms, any choice under 20 ms; what bounds guesses about a record (reconstruction, singling
out, …) under 1 ms of a closed form and 20 ms of DP-SGD, a choice by it under 100 ms and 2 s; a map
of the noise of DP-SGD over 20 batch sizes and 20 numbers of epochs under 10 s of one core. A curve
of DP-SGD is a new one each time. Where dp_accounting can answer the same question, it runs beside
us in this process and the ratio is printed.
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
from _timing import cpu_seconds, versions
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
    "max posterior": lambda c: risk.max_posterior(c, prior=0.01),
    "F-score": lambda c: risk.f_score(c, weight=1, prior=0.01),
    "accuracy": lambda c: risk.accuracy(c, prior=0.01),
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
REPLACED = ta.Neighbours.REPLACE
REPLACED_CURVES = {
    "any (ε, δ)": ta.guarantee(1, 1e-5, neighbours=REPLACED),
    "Laplace": ta.Laplace.with_epsilon(1, neighbours=REPLACED).curve(),
    "Gaussian": ta.Gaussian(1, neighbours=REPLACED).curve(),
    "randomised response": ta.RandomizedResponse(1, 10).curve(),
}
ATTACKERS: dict[str, Callable[[ta.TradeoffCurve], object]] = {
    "reconstruction": lambda c: risk.reconstruction(c, 0.01),
    "attribute inference": lambda c: risk.attribute_inference(c, prior=[0.2, 0.8]),
    "re-identification": lambda c: risk.reidentification(c, candidates=100),
    "singling out": lambda c: risk.singling_out(c, weight=1e-6, people=1000),
    "extra cost": lambda c: risk.extra_cost(c, costs={0.01: 1000}),
    "μ-GDP from 1e-6 on": lambda c: risk.gdp(c, at_least=1e-6),
}


def guess(curve: ta.TradeoffCurve) -> object:
    """Which of ten values a record has, where neighbours replace one."""
    return risk.guess(curve, values=10)


ATTACKER_LIMITS = {
    "reconstruction": choose.at_most(0.02, risk.reconstruction, baseline=0.01),
    "attribute inference": choose.at_most(0.85, risk.attribute_inference, baseline=0.8),
    "singling out": choose.at_most(0.01, risk.singling_out, weight=1e-6, people=1000),
    "μ-GDP": choose.at_most(0.5, risk.gdp, at_least=1e-6),
    "extra cost": choose.by_cost(costs={0.01: 1000}, allowed=5),
}
# Noise multiplier, sampling rate, steps.
TRAININGS = [(1.0, 0.01, 1000), (0.6, 0.001, 50_000), (1.1, 0.02, 3000)]
TRAINED_MS, ATTACKER_CHOICE_MS, TRAINED_CHOICE_MS = 20.0, 100.0, 2000.0
# Curves with a formula; planar Laplace noise is an integral at every point.
FAMILIES = ["any", "laplace", "gaussian", "gaussian:delta=1e-5", "exponential", "staircase"]
RISK_MS, CHOICE_MS, REPEATS = 1.0, 20.0, 9
MAP_S = 10.0
MAP_LIMITS = [choose.at_most(0.1, risk.advantage), choose.at_most(0.02, risk.tpr, fpr=0.01)]


def milliseconds(task: Callable[..., object], made: Callable[[], object] | None = None) -> float:
    """The least CPU time of a call, of what was ``made`` for it and is not counted."""
    times = []
    for _ in range(REPEATS + 1):
        given = () if made is None else (made(),)
        times.append(cpu_seconds(lambda given=given: task(*given)))
    return 1e3 * min(times[1:])


def slowest_choice(limits: list[choose.Limit]) -> float:
    """The time of a choice by these limits, in the family where it takes longest."""
    times = []
    for family in map(named_family, FAMILIES):
        search = choose.least if family.grows_private else choose.largest
        times.append(milliseconds(lambda s=search, f=family: s(f.make, limits)))
    return max(times)


def trained(schedule: tuple[float, float, int], scheme: ta.Sampling) -> Callable[[], object]:
    """A curve of DP-SGD, new each time."""
    return lambda: ta.dp_sgd(*schedule, scheme=scheme).curve()


def attackers() -> bool:
    """What bounds guesses about a record; whether all targets are met."""
    print("One bound on guesses about a record, the slowest of the closed forms")
    closed = {
        name: max(milliseconds(lambda f=f, c=c: f(c)) for c in CURVES.values())
        for name, f in ATTACKERS.items()
    }
    closed["guess of ten values"] = max(
        milliseconds(lambda c=c: guess(c)) for c in REPLACED_CURVES.values()
    )
    met = worst_of(closed, RISK_MS, "bound")
    print(f"The same of DP-SGD, the slowest of {TRAININGS}")
    poisson, fixed = ta.Sampling.POISSON, ta.Sampling.WITHOUT_REPLACEMENT
    of_trainings = {
        name: max(milliseconds(f, trained(each, poisson)) for each in TRAININGS)
        for name, f in ATTACKERS.items()
    }
    of_trainings |= {
        f"{name}, fixed-size batches": max(milliseconds(f, trained(t, fixed)) for t in TRAININGS)
        for name, f in [*ATTACKERS.items(), ("guess of ten values", guess)]
    }
    met &= worst_of(of_trainings, TRAINED_MS, "bound of a training")
    print("One choice by such a bound, the slowest of six families")
    chosen = {f"limit on {n}": slowest_choice([limit]) for n, limit in ATTACKER_LIMITS.items()}
    met &= worst_of(chosen, ATTACKER_CHOICE_MS, "choice")
    print("The noise multiplier of DP-SGD by such a bound")
    noise = {
        f"limit on {name}": milliseconds(
            lambda x=limit: choose.least(lambda s: ta.dp_sgd(s, 0.01, 1000), [x])
        )
        for name, limit in ATTACKER_LIMITS.items()
    }
    return met & worst_of(noise, TRAINED_CHOICE_MS, "choice of noise")


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
        chosen[f"limit on {name}"] = slowest_choice(limits)
    met &= worst_of(chosen, CHOICE_MS, "choice")
    met &= attackers()

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
