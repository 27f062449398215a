"""One μ for DP-SGD beside gdpnum (Gomez et al. 2025), and attackers that refute a μ.

gdpnum reads μ off a discretised curve where both error rates exceed 1e-10, and does not say so: its
μ is printed without a least FPR. Ours has one. An attacker is certified: at this FPR some attack on
the mechanism surely reaches the TPR (the upper curve of a bracket), which is more than μ allows.
"""

from __future__ import annotations

import sys

import numpy as np
from _peers import installed
from _timing import cpu_seconds, medians, versions
from scipy.special import ndtr, ndtri

import tellapart as ta
from tellapart._checks import plain_exponent

# σ, q, T
TRAININGS = [
    (1.0, 0.01, 1_000),
    (0.6, 0.001, 50_000),
    (9.4, 0.328, 2_000),
    (0.5, 0.004, 2_500),
    (2.0, 0.1, 500),
    (1.1, 0.02, 3_000),
]
AT_LEAST = 1e-10  # what gdpnum leaves out
RATES = np.geomspace(1e-14, 1e-2, 13)
DELTAS = (1e-6, 1e-12)  # where the brackets that certify an attacker are sharp
REPEATS = 2
TARGET = 1.0  # times as long as gdpnum


def ours(sigma: float, rate: float, steps: int, at_least: float) -> tuple[float, float]:
    """μ and regret, from parameters to numbers."""
    summary = ta.Gaussian(sigma).sampled(rate).repeated(steps).curve().gdp(at_least)
    return summary.mu, summary.regret


def theirs(sigma: float, rate: float, steps: int) -> tuple[float, float]:
    """μ and regret by gdpnum's defaults."""
    from gdpnum.dpsgd import get_mu_and_regret_for_dpsgd

    mu, regret = get_mu_and_regret_for_dpsgd(
        noise_multiplier=sigma, sample_rate=rate, num_steps=steps
    )
    return float(mu), float(regret)


def refutation(sigma: float, rate: float, steps: int, mu: float) -> str:
    """The attacker at the largest FPR who surely does better than μ allows."""
    mechanism = ta.Gaussian(sigma).sampled(rate).repeated(steps)
    tpr = np.max([mechanism.bracket(delta).upper.tpr(RATES) for delta in DELTAS], axis=0)
    allowed = ndtr(ndtri(RATES) + mu)
    refuting = np.flatnonzero(tpr > allowed)
    if not refuting.size:
        return "none found"
    k = refuting[-1]
    said = f"FPR {RATES[k]:.0e}: TPR ≥ {tpr[k]:.4e}, μ allows {allowed[k]:.4e}"
    return plain_exponent(said)


def main() -> int:
    """Print the table; 1 if we are slower than the target."""
    peer = installed("gdpnum")
    print(f"{versions('tellapart', *(['gdpnum', 'dp-accounting'] if peer else []))}\n")
    print("tellapart, both error rates at least    1e-6           1e-10          √T/σ")
    print("(σ, q, T)                            μ    regret     μ    regret   (all rates)")
    for training in TRAININGS:
        near, far = (ours(*training, at_least) for at_least in (1e-6, AT_LEAST))
        limit = training[2] ** 0.5 / training[0]
        numbers = "".join(f"{number:>9.5f}" for number in (*near, *far))
        print(f"{training!s:<28}{numbers}{limit:>9.1f}")
    if not peer:
        print("\ngdpnum is not installed: pip install gdpnum")
        return 0
    print(
        "\ngdpnum                            μ    regret  CPU s   ours / theirs, and who refutes μ"
    )
    worst = 0.0
    for training in TRAININGS:
        mu, regret = theirs(*training)
        samplers = [
            lambda training=training: cpu_seconds(lambda: ours(*training, AT_LEAST)),
            lambda training=training: cpu_seconds(lambda: theirs(*training)),
        ]
        mine, other = medians(samplers, REPEATS)
        worst = max(worst, mine / other)
        print(
            f"{training!s:<28}{mu:>9.5f}{regret:>9.5f}{other:>7.2f}{mine / other:>8.3f}   "
            + refutation(*training, mu)
        )
    print(f"\nours / theirs: at most {worst:.3f} (target {TARGET:g})")
    return 1 if worst > TARGET else 0


if __name__ == "__main__":
    sys.exit(main())
