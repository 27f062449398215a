"""Attack scores of many runs beside jax-privacy: the ε each proves, and CPU seconds.

Needs the extra ``peers``. Everyone sees the same scores; seconds run from raw arrays to ε. Of
jax-privacy's bounds those are shown that keep their level in audit_level.py: Clopper-Pearson with
Bonferroni's correction and on a split half. MultiSplit is left out: it splits 100 times, and proved
less than Bonferroni at 10^3 and 10^4. Our Band remembers the levels of a sample size: its first
audit of one takes a tenth of a second or more. ``--seeds N`` sets the runs at the largest size.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from functools import partial

import _auditors as peers
import numpy as np
from _auditors import DELTA, Array, Bound
from _timing import power_of_ten, print_rows, timed, told, versions

import tellapart as ta
from tellapart import audit
from tellapart._numeric.text import short
from tellapart.audit.methods import Method

Law = Callable[[np.random.Generator, int], tuple[Array, Array]]
SEEDS, SEEDS_LARGEST = 20, 5
SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)
SOME_SIZES = (10**3, 10**5)
OURS = "tellapart (default: Ranks)"
BONFERRONI = "jax-privacy, Bonferroni"


def ours(members: Array, others: Array, seed: int, method: Method | None = None) -> float:
    """From raw arrays to ε."""
    return audit.many_runs(audit.Scores(members, others), method=method).epsilon_lower(DELTA).value


def ours_split(members: Array, others: Array, seed: int) -> float:
    """One rank, chosen on a part set aside."""
    return ours(members, others, seed, audit.Split(delta=DELTA, seed=seed))


METHODS: dict[str, Bound] = {
    OURS: ours,
    "tellapart, Split": ours_split,
    "tellapart, Band": partial(ours, method=audit.Band()),
    BONFERRONI: peers.jax_bonferroni,
    "jax-privacy, Split": peers.jax_split,
    "jax-privacy, Split, one_sided=False": partial(peers.jax_split, one_sided=False),
}


# -- laws -----------------------------------------------------------------------------------------


def gaussian(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """N(1, 1) against N(0, 1)."""
    return rng.normal(1, 1, n), rng.normal(0, 1, n)


def laplace(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """A shift by one scale."""
    return rng.laplace(1, 1, n), rng.laplace(0, 1, n)


def few_outliers(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """One member in a hundred stands out by four deviations; the others look like non-members."""
    outside = 4.0 * (rng.random(n) < 0.01)
    return rng.normal(0, 1, n) + outside, rng.normal(0, 1, n)


# -- measuring ------------------------------------------------------------------------------------


def measured(law: Law, n: int, seeds: int) -> dict[str, tuple[float, float]]:
    """The median ε and the median CPU seconds of each method."""
    by_method: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
    for seed in range(seeds):
        members, others = law(np.random.default_rng(seed), n)
        for name, method in METHODS.items():
            by_method[name].append(timed(method, members, others, seed))
    return {
        name: (statistics.median(e for e, _ in runs), statistics.median(s for _, s in runs))
        for name, runs in by_method.items()
    }


def print_law(
    title: str, law: Law, repeats: dict[int, int]
) -> dict[int, dict[str, tuple[float, float]]]:
    """Both tables of one law."""
    print(title)
    results = {n: measured(law, n, seeds) for n, seeds in repeats.items()}
    head = [power_of_ten(n) for n in repeats]
    print_rows(
        ["median ε ≥, n per side", *head],
        [
            *(
                [name, *(f"{result[name][0]:.4f}" for result in results.values())]
                for name in METHODS
            ),
            ["ours over the peer's best", *(f"{gain(result):.3f}" for result in results.values())],
            ["runs", *map(str, repeats.values())],
        ],
    )
    print_rows(
        ["median CPU seconds", *head],
        [
            *(
                [name, *(f"{result[name][1]:.4f}" for result in results.values())]
                for name in METHODS
            ),
            ["Bonferroni's over ours", *(f"{speed(result):.2f}" for result in results.values())],
        ],
    )
    return results


def gain(result: dict[str, tuple[float, float]]) -> float:
    """Our ε over the best of the peer's, whichever method that is at this size."""
    best = max(epsilon for name, (epsilon, _) in result.items() if name.startswith("jax"))
    return result[OURS][0] / best if best > 0 else np.inf


def speed(result: dict[str, tuple[float, float]]) -> float:
    """How many times as long as ours the peer's default takes."""
    return result[BONFERRONI][1] / result[OURS][1]


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    print(f"tellapart {ta.__version__}, {versions('numpy', 'scipy', 'jax-privacy')}")
    largest = int(sys.argv[sys.argv.index("--seeds") + 1]) if "--seeds" in sys.argv else None
    repeats = dict.fromkeys(SIZES, SEEDS) | {SIZES[-1]: largest or SEEDS_LARGEST}
    measured(gaussian, 1_000, 1)  # a warm-up
    title = (
        f"\nN(1, 1) against N(0, 1), δ = {short(DELTA)}, 95 % confidence; the truth is ε = 4.3772"
    )
    results = print_law(title, gaussian, repeats)
    small, large = [gain(results[n]) for n in SIZES[:2]], [speed(results[n]) for n in SIZES[-2:]]
    least = min(gain(result) for result in results.values())
    missed = told(f"ε as large as the peer's best at every n; least ratio {least:.3f}", least >= 1)
    missed |= told(f"5 % larger up to n = 10^4; least ratio {min(small):.3f}", min(small) >= 1.05)
    reached = f"{large[0]:.2f} and {large[1]:.2f}"
    missed |= told(f"Bonferroni takes 5 times as long at 10^6, 10^7; {reached}", min(large) >= 5)
    some = dict.fromkeys(SOME_SIZES, SEEDS)
    print_law("\nFor information: Laplace noise; the truth is ε = 1", laplace, some)
    title = "For information: one member in 100 is shifted by 4 deviations; the truth is ε = 15.02"
    print_law(title, few_outliers, some)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
