"""What other accountants are asked, each in its own words; imported where used, never timed."""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

DELTA = 1e-5
RATE, STEPS = 0.01, 1_000  # of the training that noise is sought for

# Everything that a task below imports, so that no import is counted in anyone's seconds.
MODULES = {
    "dp-accounting": ["dp_accounting", "dp_accounting.pld"],
    "prv-accountant": ["prv_accountant", "prv_accountant.dpsgd"],
    "opacus": ["opacus.accountants", "opacus.accountants.utils"],
    "riskcal": ["riskcal", "riskcal.calibration.dpsgd"],
}


def installed(package: str) -> bool:
    """Whether a peer is there to be measured."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def warm_up() -> None:
    """Import whatever is installed."""
    for package, modules in MODULES.items():
        if installed(package):
            for module in modules:
                importlib.import_module(module)


# -- dp_accounting: privacy-loss distributions, mesh 1e-4, both orders ---------------------------


def _training(sigma: float, rate: float, steps: int) -> Any:
    import dp_accounting

    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    return dp_accounting.SelfComposedDpEvent(step, steps)


def pld_epsilon(sigma: float, rate: float, steps: int) -> float:
    """From parameters to ε."""
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    accountant.compose(_training(sigma, rate, steps))
    return float(accountant.get_epsilon(DELTA))


def pld_noise(epsilon: float) -> float:
    """Noise for (ε, 1e-5)."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    return float(
        dp_accounting.calibrate_dp_mechanism(
            PLDAccountant, lambda sigma: _training(sigma, RATE, STEPS), epsilon, DELTA
        )
    )


def pld_mixture(sizes: NDArray[np.float64]) -> float:
    """A Gaussian and a Laplace step of each size."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    for size in sizes:
        accountant.compose(dp_accounting.GaussianDpEvent(float(size)))
        accountant.compose(dp_accounting.LaplaceDpEvent(float(size)))
    return float(accountant.get_epsilon(DELTA))


# -- prv_accountant: an interval, one order -----------------------------------------------------


def prv_interval(sigma: float, rate: float, steps: int) -> tuple[float, float]:
    """Both ends, with eps_error = 0.01."""
    from prv_accountant.dpsgd import DPSGDAccountant

    accountant = DPSGDAccountant(
        noise_multiplier=sigma,
        sampling_probability=rate,
        eps_error=0.01,
        delta_error=DELTA / 1_000,
        max_steps=steps,
    )
    low, _, high = accountant.compute_epsilon(delta=DELTA, num_steps=steps)
    return float(low), float(high)


def prv_noise(epsilon: float) -> float:
    """Noise for (ε, 1e-5), with its default eps_error = 0.1."""
    from prv_accountant.dpsgd import find_noise_multiplier

    return float(find_noise_multiplier(RATE, STEPS, epsilon, DELTA))


# -- Opacus: the same method, one order ---------------------------------------------------------


def opacus_epsilon(sigma: float, rate: float, steps: int) -> float:
    """The PRV accountant as it comes."""
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(sigma, rate, steps)]
    return float(accountant.get_epsilon(DELTA))


def opacus_noise(epsilon: float) -> float:
    """Noise for (ε, 1e-5)."""
    from opacus.accountants.utils import get_noise_multiplier

    sigma = get_noise_multiplier(
        target_epsilon=epsilon,
        target_delta=DELTA,
        sample_rate=RATE,
        steps=STEPS,
        accountant="prv",
    )
    return float(sigma)


# -- riskcal: trade-off curves from dp_accounting's distributions --------------------------------


def riskcal_betas(
    alphas: NDArray[np.float64], sigma: float, rate: float, steps: int
) -> NDArray[np.float64]:
    """The curve at these FPRs."""
    from riskcal.calibration.dpsgd import get_beta_for_dpsgd

    betas = get_beta_for_dpsgd(
        alpha=alphas, noise_multiplier=sigma, sample_rate=rate, num_steps=steps
    )
    return np.asarray(betas, dtype=float)


def riskcal_advantage(advantage: float) -> float:
    """Noise for an advantage."""
    from riskcal.calibration.dpsgd import find_noise_multiplier_for_advantage

    return float(
        find_noise_multiplier_for_advantage(advantage=advantage, sample_rate=RATE, num_steps=STEPS)
    )


def riskcal_rates(alpha: float, beta: float) -> float:
    """Noise for a pair of error rates; without noise_min it takes minutes."""
    from riskcal.calibration.dpsgd import find_noise_multiplier_for_err_rates

    return float(
        find_noise_multiplier_for_err_rates(
            alpha=alpha, beta=beta, sample_rate=RATE, num_steps=STEPS, noise_min=0.4
        )
    )
