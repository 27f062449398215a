"""Accounting of DP-SGD beside the peers: CPU seconds, ratios, and what each answers.

Needs the extra ``peers``; a peer that is not installed is left out and said to be. Every task runs
in this process, ours first; both orders of neighbours are computed by us and by dp_accounting,
one order by the others. Give ``--markdown FILE`` to write the table for the documentation.
"""

from __future__ import annotations

import os

# One thread for everyone: CPU seconds of threads that wait for each other say nothing.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

import tellapart as ta
from tellapart import choose, risk

DELTA = 1e-5
SETTINGS = [(1.0, 0.01, 1_000), (1.0, 0.01, 10_000), (1.0, 0.01, 100_000), (0.6, 0.001, 50_000)]
ALPHAS = np.concatenate([np.logspace(-6, np.log10(0.5), 500), np.linspace(0.5, 0.999, 500)])
SPREAD = np.linspace(20, 60, 1_000)

Task = Callable[[], object]


def training(sigma: float, rate: float, steps: int) -> ta.Mechanism:
    """DP-SGD in words."""
    return ta.Gaussian(sigma).sampled(rate).repeated(steps)


# -- tellapart ----------------------------------------------------------------------------------


def our_epsilon(*setting: float) -> float:
    """Both orders, from parameters to ε."""
    return float(training(*setting).curve().epsilon(DELTA))


def our_betas(*setting: float) -> float:
    """The curve of both orders at 1,000 FPRs; one of them is shown."""
    return float(training(*setting).curve().beta(ALPHAS)[250])


def our_noise(limit: choose.Limit) -> float:
    """The least noise multiplier for 1,000 steps at rate 0.01."""
    return choose.least(lambda sigma: training(sigma, 0.01, 1_000), [limit]).parameter


def our_mixture() -> float:
    """A thousand Gaussians and a thousand Laplaces, all different."""
    parts = [*map(ta.Gaussian, SPREAD), *map(ta.Laplace, SPREAD)]
    return float(ta.compose(parts).curve().epsilon(DELTA))


# -- peers --------------------------------------------------------------------------------------


def dp_accounting_epsilon(sigma: float, rate: float, steps: int) -> float:
    """PLD with the default mesh of 1e-4."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    accountant = PLDAccountant()
    accountant.compose(dp_accounting.SelfComposedDpEvent(step, steps))
    return float(accountant.get_epsilon(DELTA))


def dp_accounting_noise() -> float:
    """Noise for (2, 1e-5)."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    def event(sigma: float) -> dp_accounting.DpEvent:
        step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(sigma))
        return dp_accounting.SelfComposedDpEvent(step, 1_000)

    return float(dp_accounting.calibrate_dp_mechanism(PLDAccountant, event, 2.0, DELTA))


def dp_accounting_mixture() -> float:
    """The two thousand different steps."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    for size in SPREAD:
        accountant.compose(dp_accounting.GaussianDpEvent(float(size)))
        accountant.compose(dp_accounting.LaplaceDpEvent(float(size)))
    return float(accountant.get_epsilon(DELTA))


def prv_epsilon(sigma: float, rate: float, steps: int) -> float:
    """Upper end of the interval with eps_error = 0.01."""
    from prv_accountant.dpsgd import DPSGDAccountant

    accountant = DPSGDAccountant(
        noise_multiplier=sigma,
        sampling_probability=rate,
        eps_error=0.01,
        delta_error=DELTA / 1_000,
        max_steps=steps,
    )
    return float(accountant.compute_epsilon(delta=DELTA, num_steps=steps)[2])


def opacus_epsilon(sigma: float, rate: float, steps: int) -> float:
    """The PRV accountant as it comes."""
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(sigma, rate, steps)]
    return float(accountant.get_epsilon(DELTA))


def opacus_noise() -> float:
    """Noise for (2, 1e-5)."""
    from opacus.accountants.utils import get_noise_multiplier

    found = get_noise_multiplier(
        target_epsilon=2.0, target_delta=DELTA, sample_rate=0.01, steps=1_000, accountant="prv"
    )
    return float(found)


def riskcal_betas(sigma: float, rate: float, steps: int) -> float:
    """The curve at 1,000 FPRs."""
    from riskcal.calibration.dpsgd import get_beta_for_dpsgd

    found = get_beta_for_dpsgd(
        alpha=ALPHAS, noise_multiplier=sigma, sample_rate=rate, num_steps=steps
    )
    return float(np.asarray(found)[250])


def riskcal_advantage() -> float:
    """Noise for advantage 0.1."""
    from riskcal.calibration.dpsgd import find_noise_multiplier_for_advantage

    found = find_noise_multiplier_for_advantage(advantage=0.1, sample_rate=0.01, num_steps=1_000)
    return float(found)


def riskcal_rates() -> float:
    """Noise for (α, β) = (.01, .9); without noise_min it takes minutes."""
    from riskcal.calibration.dpsgd import find_noise_multiplier_for_err_rates

    found = find_noise_multiplier_for_err_rates(
        alpha=0.01, beta=0.9, sample_rate=0.01, num_steps=1_000, noise_min=0.4
    )
    return float(found)


# -- the table ----------------------------------------------------------------------------------


def tasks() -> list[tuple[str, Task, list[tuple[str, Task]]]]:
    """Each task: its name, ours, and the peers' by package."""
    listed: list[tuple[str, Task, list[tuple[str, Task]]]] = []
    for one in SETTINGS:
        peers: list[tuple[str, Task]] = [
            ("dp-accounting", lambda s=one: dp_accounting_epsilon(*s)),  # type: ignore[misc]
            ("prv-accountant", lambda s=one: prv_epsilon(*s)),  # type: ignore[misc]
            ("opacus", lambda s=one: opacus_epsilon(*s)),  # type: ignore[misc]
        ]
        if one[2] > 50_000:  # half a minute and gigabytes for each
            peers = peers[:1]
        listed.append((f"ε of {one}", lambda s=one: our_epsilon(*s), peers))  # type: ignore[misc]
    for one in SETTINGS[:2] + SETTINGS[3:]:
        peers = [("riskcal", lambda s=one: riskcal_betas(*s))]  # type: ignore[misc]
        listed.append((f"1,000 β of {one}", lambda s=one: our_betas(*s), peers))  # type: ignore[misc]
    advantage = choose.at_most(0.1, risk.advantage)
    rates = choose.at_most(0.1, risk.tpr, fpr=0.01)
    usual = choose.at_most(2.0, _epsilon)
    listed += [
        ("noise for advantage 0.1", lambda: our_noise(advantage), [("riskcal", riskcal_advantage)]),
        ("noise for (α, β) = (.01, .9)", lambda: our_noise(rates), [("riskcal", riskcal_rates)]),
        (
            "noise for (ε, δ) = (2, 1e-5)",
            lambda: our_noise(usual),
            [("dp-accounting", dp_accounting_noise), ("opacus", opacus_noise)],
        ),
        ("2,000 different steps", our_mixture, [("dp-accounting", dp_accounting_mixture)]),
    ]
    return listed


def _epsilon(curve: ta.TradeoffCurve) -> float:
    return float(curve.epsilon(DELTA))


def measured(task: Task, repeats: int) -> tuple[float, object]:
    """The least CPU time of a few runs, and the answer."""
    best = float("inf")
    answer: object = None
    for _ in range(repeats):
        start = time.process_time()
        answer = task()
        best = min(best, time.process_time() - start)
    return best, answer


def installed(package: str) -> bool:
    """Whether a peer is there to be measured."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def main() -> int:
    """Print, and if asked write, the table."""
    rows = []
    for name, ours, peers in tasks():
        seconds, answer = measured(ours, 5)
        rows.append((name, "tellapart", seconds, 1.0, answer))
        print(f"{name:<32}{'tellapart':<16}{seconds:>10.4f} s {'':>8}  {answer:.8g}", flush=True)
        for package, task in peers:
            if not installed(package):
                print(f"{'':<32}{package:<16}{'not installed':>12}")
                continue
            taken, said = measured(task, 1)
            rows.append((name, package, taken, taken / seconds, said))
            print(f"{'':<32}{package:<16}{taken:>10.4f} s {taken / seconds:>7.0f}x  {said:.8g}")
    if "--markdown" in sys.argv:
        path = Path(sys.argv[sys.argv.index("--markdown") + 1])
        path.write_text(markdown(rows), encoding="utf-8")
    return 0


def markdown(rows: list[tuple[str, str, float, float, object]]) -> str:
    """The table for the documentation, with the versions behind it."""
    packages = [one for one in dict.fromkeys(row[1] for row in rows) if installed(one)]
    used = ", ".join(f"{one} {version(one)}" for one in packages)
    head = "| task | package | CPU s | times ours | answer |\n|---|---|---|---|---|\n"
    body = "".join(
        f"| {task} | {package} | {seconds:.4f} | {ratio:.0f} | {answer:.8g} |\n"
        for task, package, seconds, ratio, answer in rows
    )
    title = f"# Accounting beside the peers\n\nPrinted by `benchmarks/accounting.py` ({used}).\n\n"
    return title + head + body


if __name__ == "__main__":
    sys.exit(main())
