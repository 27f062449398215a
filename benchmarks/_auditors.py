"""What other auditors are asked, each in its own words."""

from __future__ import annotations

import os

# One thread for everyone: CPU seconds of threads that wait for each other say nothing.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from collections.abc import Callable
from typing import Any

import numpy as np
from jax_privacy import auditing
from numpy.typing import NDArray
from privacy_estimates import AttackResults, compute_eps_lo

DELTA = 1e-5
LEVEL = 0.05
Array = NDArray[np.float64]
Bound = Callable[[Array, Array, int], float]


# -- jax-privacy ----------------------------------------------------------------------------------


def jax_bonferroni(members: Array, others: Array, seed: int) -> float:
    """All thresholds. With ``one_sided=False`` it looks at both ratios and never proves less."""
    auditor = auditing.CanaryScoreAuditor(members, others)
    return float(auditor.epsilon_clopper_pearson(LEVEL, DELTA, one_sided=False))


def jax_split(members: Array, others: Array, seed: int, one_sided: bool = True) -> float:
    """The best threshold of one half, on the other half."""
    auditor = auditing.CanaryScoreAuditor(members, others)
    strategy = auditing.Split(seed=seed)
    epsilon = auditor.epsilon_clopper_pearson(
        LEVEL, DELTA, one_sided=one_sided, threshold_strategy=strategy
    )
    return float(epsilon)


def jax_gaussian(members: Array, others: Array, seed: int) -> float:
    """ε by way of a bound on μ."""
    return float(auditing.CanaryScoreAuditor(members, others).epsilon_from_gdp(LEVEL, DELTA))


def jax_one_run(members: Array, others: Array, seed: int, split: bool = False) -> float:
    """Steinke et al., all thresholds or one chosen on a half."""
    auditor = auditing.CanaryScoreAuditor(members, others)
    return float(auditor.epsilon_one_run(LEVEL, DELTA, threshold_strategy=_strategy(split, seed)))


def jax_one_run_gaussian(members: Array, others: Array, seed: int, split: bool = False) -> float:
    """Mahloujifar et al. for Gaussian curves, all thresholds or one chosen on a half."""
    auditor = auditing.CanaryScoreAuditor(members, others)
    epsilon = auditor.epsilon_one_run_fdp(LEVEL, DELTA, threshold_strategy=_strategy(split, seed))
    return float(epsilon)


def _strategy(split: bool, seed: int) -> Any:
    return auditing.Split(seed=seed) if split else auditing.Bonferroni()


# -- privacy-estimates ----------------------------------------------------------------------------


def estimates(method: str, true_positives: int, false_positives: int, n: int) -> float:
    """From counts of n members and n others: "beta", "jeffreys" or "joint-beta"."""
    count = AttackResults(
        FN=n - true_positives, FP=false_positives, TN=n - false_positives, TP=true_positives
    )
    return float(compute_eps_lo(count=count, delta=DELTA, alpha=LEVEL, method=method))
