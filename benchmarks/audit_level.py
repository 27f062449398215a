"""How often each auditor claims a leak where there is none; 5 % is what each may.

Needs the extra ``peers``. Members' and others' scores come from one law, so that ε = 0 and every
ε above 0 is a false claim. In one run each canary is in by a fair coin.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import _auditors as peers
import numpy as np
from _auditors import DELTA, LEVEL, Array, Bound
from _timing import print_rows, told, versions
from scipy.special import betaincinv

import tellapart as ta
from tellapart import audit
from tellapart._numeric.text import short
from tellapart.audit.methods import Method

RUNS = 2_000
N = 200


def many(members: Array, others: Array, seed: int, method: Method | None = None) -> float:
    """ε of many runs."""
    return audit.many_runs(audit.Scores(members, others), method=method).epsilon_lower(DELTA).value


def many_split(members: Array, others: Array, seed: int) -> float:
    """ε of many runs, with a part set aside."""
    return many(members, others, seed, audit.Split(delta=DELTA, seed=seed))


def many_gaussian(members: Array, others: Array, seed: int) -> float:
    """ε of many runs against claims of Gaussian DP."""
    return audit.many_runs(audit.Scores(members, others)).gaussian_epsilon_lower(DELTA).value


def one(members: Array, others: Array, seed: int) -> float:
    """ε of one run."""
    return audit.one_run(audit.Scores(members, others)).epsilon_lower(DELTA).value


def one_gaussian(members: Array, others: Array, seed: int) -> float:
    """ε of one run against claims of Gaussian DP."""
    return audit.one_run(audit.Scores(members, others)).gaussian_epsilon_lower(DELTA).value


MANY: dict[str, Bound] = {
    "tellapart (default: Ranks)": many,
    "tellapart, Split": many_split,
    "tellapart, Band": partial(many, method=audit.Band()),
    "tellapart, Gaussian": many_gaussian,
    "jax-privacy, Clopper-Pearson, Bonferroni": peers.jax_bonferroni,
    "jax-privacy, Clopper-Pearson, Split": partial(peers.jax_split, one_sided=False),
    "jax-privacy, epsilon_from_gdp": peers.jax_gaussian,
}
ONE: dict[str, Bound] = {
    "tellapart, one run": one,
    "tellapart, one run, Gaussian": one_gaussian,
    "jax-privacy, one_run, Bonferroni": peers.jax_one_run,
    "jax-privacy, one_run, Split": partial(peers.jax_one_run, split=True),
}


def two_samples(seed: int) -> tuple[Array, Array]:
    """N of each side."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=N), rng.normal(size=N)


def coins(seed: int) -> tuple[Array, Array]:
    """2N canaries, in or out by fair coins."""
    rng = np.random.default_rng(seed)
    scores, inside = rng.normal(size=2 * N), rng.random(2 * N) < 0.5
    return scores[inside], scores[~inside]


def rows(methods: dict[str, Bound], draw: Callable[[int], tuple[Array, Array]]) -> list[list[str]]:
    """How many runs claim something, the least rate that leaves plausible, and the mean claim."""
    claims: dict[str, list[float]] = {name: [] for name in methods}
    for seed in range(RUNS):
        members, others = draw(seed)
        for name, method in methods.items():
            claims[name].append(method(members, others, seed))
    lines = []
    for name, values in claims.items():
        false = [value for value in values if value > 0]
        many = len(false)
        least = betaincinv(many, RUNS - many + 1, LEVEL / 2) if many else 0.0
        mean = f"{np.mean(false):.3f}" if false else "-"
        lines.append([name, str(many), f"{many / RUNS:.2%}", f"{least:.2%}", mean])
    return lines


def main() -> int:
    """Print the table; 1 if one of ours claims too often beyond doubt."""
    print(f"tellapart {ta.__version__}, {versions('numpy', 'scipy', 'jax-privacy')}")
    audits = f"{RUNS:,} audits at 95 % confidence"
    print(f"{N} members, {N} non-members, ε = 0, δ = {short(DELTA)}; {audits}.\n")
    lines = rows(MANY, two_samples) + rows(ONE, coins)
    print_rows(["", "claims", "share", "at least", "mean claim"], lines)
    print('"At least": the lower end of a 95 % interval for the true share of false claims.')
    worst = max(float(row[3].rstrip("%")) for row in lines if row[0].startswith("tellapart"))
    return int(told(f"none of ours above 5 %; at least {worst:.2f} %", worst <= 100 * LEVEL))


if __name__ == "__main__":
    sys.exit(main())
