"""One training run with m canaries beside jax-privacy: the ε each proves, and CPU seconds.

Needs the extra ``peers``. Each canary is in by a fair coin; scores are N(1, 1) if in, N(0, 1) if
out. Everyone sees the same scores; seconds run from raw arrays to ε. Ours guesses at both ends;
jax-privacy guesses "in" alone. Its Bonferroni divides by a number that the scores decide; how
often that claims too much is in audit_level.py.
"""

from __future__ import annotations

import statistics
import sys
from functools import partial

import _auditors as peers
import numpy as np
from _auditors import DELTA, Array, Bound
from _timing import power_of_ten, print_rows, timed, told, versions

import tellapart as ta
from tellapart import audit
from tellapart._numeric.text import short

SEEDS = 20
SIZES = (10**2, 10**3, 10**4, 10**5, 10**6)
SECONDS = 2.0


def ours(members: Array, others: Array, seed: int) -> float:
    """For any mechanism."""
    return audit.one_run(audit.Scores(members, others)).epsilon_lower(DELTA).value


def ours_split(members: Array, others: Array, seed: int) -> float:
    """A number of guesses chosen on canaries set aside."""
    method = audit.Split(delta=DELTA, seed=seed)
    return audit.one_run(audit.Scores(members, others), method=method).epsilon_lower(DELTA).value


def ours_gaussian(members: Array, others: Array, seed: int) -> float:
    """Against claims of Gaussian DP."""
    return audit.one_run(audit.Scores(members, others)).gaussian_epsilon_lower(DELTA).value


ANY = "tellapart (default)"
GAUSSIAN = "tellapart, Gaussian"
BONFERRONI = "jax-privacy, one_run, Bonferroni"
FOR_ANY: dict[str, Bound] = {
    ANY: ours,
    "tellapart, Split": ours_split,
    BONFERRONI: peers.jax_one_run,
    "jax-privacy, one_run, Split": partial(peers.jax_one_run, split=True),
}
FOR_GAUSSIAN: dict[str, Bound] = {
    GAUSSIAN: ours_gaussian,
    "jax-privacy, one_run_fdp, Bonferroni": peers.jax_one_run_gaussian,
    "jax-privacy, one_run_fdp, Split": partial(peers.jax_one_run_gaussian, split=True),
}
METHODS = FOR_ANY | FOR_GAUSSIAN
# 14 CPU seconds a run, for ε ≥ 0.09.
LEFT_OUT = {(BONFERRONI, 10**6)}


def canaries(m: int, seed: int) -> tuple[Array, Array]:
    """Scores of those put in, and of those left out."""
    rng = np.random.default_rng(seed)
    inside = rng.random(m) < 0.5
    scores = rng.normal(size=m) + inside
    return scores[inside], scores[~inside]


def measured(m: int, seeds: int) -> dict[str, tuple[float, float]]:
    """The median ε and the median CPU seconds of each method."""
    by_method: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
    for seed in range(seeds):
        members, others = canaries(m, seed)
        for name, method in METHODS.items():
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
    print(
        f"δ = {short(DELTA)}, 95 % confidence; the truth is ε = 4.3772; medians of {SEEDS} runs\n"
    )
    measured(1_000, 1)  # a warm-up
    results = {m: measured(m, SEEDS) for m in SIZES}
    head = [power_of_ten(m) for m in SIZES]
    for title, methods in (
        ("ε ≥ of any mechanism; canaries", FOR_ANY),
        ("ε ≥ if Gaussian DP is claimed", FOR_GAUSSIAN),
    ):
        shown = [*([name, *_column(results, name, 0)] for name in methods)]
        print_rows(
            [title, *head], [*shown, ["ours over the peer's best", *_gains(results, methods)]]
        )
    print_rows(["CPU seconds", *head], ([name, *_column(results, name, 1)] for name in METHODS))
    longest = max(results[SIZES[-1]][name][1] for name in (ANY, GAUSSIAN))
    said = f"10^6 canaries in under {SECONDS:g} CPU seconds; {longest:.2f}"
    return int(told(said, longest < SECONDS))


def _column(results: dict[int, dict[str, tuple[float, float]]], name: str, which: int) -> list[str]:
    return [
        f"{methods[name][which]:.4f}" if name in methods else "left out"
        for methods in results.values()
    ]


def _gains(
    results: dict[int, dict[str, tuple[float, float]]], methods: dict[str, Bound]
) -> list[str]:
    first, *others = methods
    ratios = []
    for result in results.values():
        best = max(result[name][0] for name in others if name.startswith("jax") and name in result)
        ratios.append(f"{result[first][0] / best:.3f}" if best > 0 else "-")
    return ratios


if __name__ == "__main__":
    sys.exit(main())
