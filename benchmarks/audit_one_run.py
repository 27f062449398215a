"""One training run with m canaries beside jax-privacy and Steinke et al.: the ε each proves.

Needs the extra ``peers``. Each canary is in by a fair coin; scores are N(1, 1) if in, N(0, 1) if
out, or with Laplace noise. Everyone sees the same scores; seconds run from raw arrays to ε. Ours
guesses at both ends, as many as the claim fixes; jax-privacy guesses "in" alone. Its Bonferroni
divides by a number that the scores decide; how often that claims too much is in audit_level.py.
Steinke et al.'s bound (`tests/steinke.py`) is given the best number of guesses of our plan.
"""

from __future__ import annotations

import statistics
import sys
import time
from functools import partial
from pathlib import Path

import _auditors as peers
import numpy as np
from _auditors import DELTA, LEVEL, Array, Bound
from _timing import power_of_ten, print_rows, timed, told, versions

import tellapart as ta
from tellapart import audit
from tellapart._numeric.text import short
from tellapart.audit.counts.one_run_worst_case import mu_lower

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from steinke import steinke_epsilon_lower

SEEDS = 20
SIZES = (10**2, 10**3, 10**4, 10**5, 10**6)
SECONDS = 2.0
GAUSSIAN_CLAIM = ta.Gaussian(sigma=1.0)
PAIR = ta.guarantee(epsilon=GAUSSIAN_CLAIM.curve().epsilon(DELTA), delta=DELTA)
LAPLACE_PAIR = ta.guarantee(epsilon=2, delta=DELTA)
COMPOSED = ta.dp_sgd(noise_multiplier=1.1, sampling_rate=0.01, steps=1000)


def ours(members: Array, others: Array, seed: int, claim: ta.TradeoffCurve = PAIR) -> float:
    """For any mechanism, against a bare (ε, δ)."""
    return audit.one_run(audit.Scores(members, others), claim=claim).epsilon_lower(DELTA).value


def ours_split(members: Array, others: Array, seed: int) -> float:
    """A number of guesses chosen on canaries set aside."""
    method = audit.Split(delta=DELTA, seed=seed)
    return audit.one_run(audit.Scores(members, others), method=method).epsilon_lower(DELTA).value


def steinke(members: Array, others: Array, seed: int, claim: ta.TradeoffCurve = PAIR) -> float:
    """The published bound, of as many guesses as ours: the fewer, at the full level."""
    made = audit.one_run(audit.Scores(members, others), claim=claim).tries[0].guesses
    return steinke_epsilon_lower(made, DELTA, LEVEL)


def ours_gaussian(
    members: Array, others: Array, seed: int, claim: ta.Mechanism = GAUSSIAN_CLAIM
) -> float:
    """Against the claim of Gaussian noise."""
    scores = audit.Scores(members, others)
    return audit.one_run(scores, claim=claim).gaussian_epsilon_lower(DELTA).value


def ours_gaussian_anew(members: Array, others: Array, seed: int) -> float:
    """The same, where what was found for the same counts is forgotten."""
    mu_lower.cache_clear()
    return ours_gaussian(members, others, seed)


def ours_independent(members: Array, others: Array, seed: int) -> float:
    """Against Gaussian noise that is independent across canaries."""
    scores = audit.Scores(members, others)
    return (
        audit.one_run(scores, method=audit.IndependentCanaries())
        .gaussian_epsilon_lower(DELTA)
        .value
    )


ANY = "tellapart, claim by (ε, δ)"
GAUSSIAN = "tellapart, claim by its curve"
BONFERRONI = "jax-privacy, one_run, Bonferroni"
SPLIT = "jax-privacy, one_run, Split"
FOR_ANY: dict[str, Bound] = {
    ANY: ours,
    "tellapart, Split": ours_split,
    "Steinke et al., as many guesses": steinke,
    BONFERRONI: peers.jax_one_run,
    SPLIT: partial(peers.jax_one_run, split=True),
}
FOR_GAUSSIAN: dict[str, Bound] = {
    GAUSSIAN: ours_gaussian_anew,
    "jax-privacy, one_run_fdp, Bonferroni": peers.jax_one_run_gaussian,
    "jax-privacy, one_run_fdp, Split": partial(peers.jax_one_run_gaussian, split=True),
    "tellapart, independent by the claim": ours_independent,
}
FOR_LAPLACE: dict[str, Bound] = {
    ANY: partial(ours, claim=LAPLACE_PAIR),
    "Steinke et al., as many guesses": partial(steinke, claim=LAPLACE_PAIR),
    BONFERRONI: peers.jax_one_run,
    SPLIT: partial(peers.jax_one_run, split=True),
}
# 14 CPU seconds a run, for ε ≥ 0.09.
LEFT_OUT = {(BONFERRONI, 10**6)}


def canaries(m: int, seed: int, laplace: bool = False, mu: float = 1.0) -> tuple[Array, Array]:
    """Scores of those put in, and of those left out."""
    rng = np.random.default_rng(seed)
    inside = rng.random(m) < 0.5
    noise = rng.laplace(scale=0.5, size=m) if laplace else rng.normal(size=m)
    scores = noise + mu * inside
    return scores[inside], scores[~inside]


Medians = dict[str, tuple[float, float]]


def measured(m: int, seeds: int, methods: dict[str, Bound], laplace: bool = False) -> Medians:
    """The median ε and the median CPU seconds of each method."""
    by_method: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
    for seed in range(seeds):
        members, others = canaries(m, seed, laplace)
        for name, method in methods.items():
            if (name, m) not in LEFT_OUT:
                by_method[name].append(timed(method, members, others, seed))
    return {
        name: (statistics.median(e for e, _ in runs), statistics.median(s for _, s in runs))
        for name, runs in by_method.items()
        if runs
    }


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    print(f"tellapart {ta.__version__}, {versions('numpy', 'scipy', 'jax-privacy')}")
    print(f"δ = {short(DELTA)}, 95 % confidence; medians of {SEEDS} runs\n")
    head, seconds = [power_of_ten(m) for m in SIZES], []
    for title, methods, laplace in (
        ("ε ≥, truth 4.377; canaries", FOR_ANY, False),
        ("ε ≥ if Gaussian noise is claimed", FOR_GAUSSIAN, False),
        ("ε ≥, Laplace noise with ε = 2", FOR_LAPLACE, True),
    ):
        measured(1_000, 1, methods, laplace)  # a warm-up
        results = {m: measured(m, SEEDS, methods, laplace) for m in SIZES}
        shown = [[name, *_column(results, name, 0)] for name in methods]
        print_rows([title, *head], [*shown, ["ours over jax's best", *_gains(results, methods)]])
        timed_rows = ([name, *_column(results, name, 1)] for name in methods)
        print_rows(["CPU seconds", *head], timed_rows)
        seconds.append(results[SIZES[-1]][next(iter(methods))][1])
    longest, composed = max(seconds), composed_seconds()
    quick = told(
        f"10^6 canaries in under {SECONDS:g} CPU seconds; {longest:.2f}", longest < SECONDS
    )
    said = f"a verdict on DP-SGD with 10^4 canaries in under {SECONDS:g} CPU seconds"
    return int(told(f"{said}; {composed:.2f}", composed < SECONDS) or quick)


def composed_seconds() -> float:
    """CPU seconds of a verdict on a composed claim, with its power, in words."""
    scores = audit.Scores(*canaries(10**4, 0))
    start = time.process_time()
    str(audit.judge(COMPOSED, audit.one_run(scores, claim=COMPOSED)))
    return time.process_time() - start


def _column(results: dict[int, Medians], name: str, which: int) -> list[str]:
    return [
        f"{methods[name][which]:.4f}" if name in methods else "left out"
        for methods in results.values()
    ]


def _gains(results: dict[int, Medians], methods: dict[str, Bound]) -> list[str]:
    first, *others = methods
    ratios = []
    for result in results.values():
        best = max(result[name][0] for name in others if name.startswith("jax") and name in result)
        ratios.append(f"{result[first][0] / best:.3f}" if best > 0 else "-")
    return ratios


if __name__ == "__main__":
    sys.exit(main())
