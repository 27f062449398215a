"""ε from the counts of one attack beside privacy-estimates: what each proves, and CPU seconds.

Needs the extra ``peers``. The counts are those of N(1, 1) against N(0, 1) at the threshold 3, n of
each side. The joint posterior is also computed in a plain way, by scipy's quadrature and root
finder, as a check. Where privacy-estimates gives up, its error is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import _auditors as peers
import numpy as np
from _auditors import DELTA, LEVEL
from _timing import power_of_ten, print_rows, timed, told, versions
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

import tellapart as ta
from tellapart._checks import plain_exponent
from tellapart._numeric.text import short
from tellapart.audit import Counts
from tellapart.audit.counts import intervals
from tellapart.audit.counts.buehler import berger_boos_epsilon
from tellapart.audit.counts.credible import joint_beta_epsilon

# True positives, false positives, n of each side: as expected, and one draw of 10^4.
CASES = [
    (23, 1, 10**3),
    (228, 13, 10**4),
    (221, 9, 10**4),
    (2275, 135, 10**5),
    (227_501, 13_499, 10**7),
]
FASTER = 20.0
CLOSE = 1e-6
PEERS = 1e-2  # the tolerance that privacy-estimates asks of its own root


def plain(true_positives: int, false_positives: int, n: int) -> float:
    """Where the posterior of the (ε, δ) region reaches the level, with nothing clever."""
    fnr = stats.beta(n - true_positives + 0.5, true_positives + 0.5)
    fpr = stats.beta(false_positives + 0.5, n - false_positives + 0.5)
    cuts = fnr.ppf([1e-15, 1e-6, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-6, 1 - 1e-15])

    def density(x: float, epsilon: float) -> float:
        e = np.exp(epsilon)
        low = max(0.0, 1 - DELTA - x * e, (1 - DELTA - x) / e)
        high = min(1.0, 1 + (DELTA - x) / e, DELTA + (1 - x) * e)
        return float(fnr.pdf(x) * max(fpr.cdf(high) - fpr.cdf(low), 0.0))

    def private(epsilon: float) -> float:
        each = (
            quad(density, a, b, (epsilon,), epsabs=1e-12, epsrel=1e-9)[0] for a, b in pairwise(cuts)
        )
        return sum(each) - LEVEL

    return float(brentq(private, 0.0, 10.0, xtol=1e-10))


def ours_joint(true_positives: int, false_positives: int, n: int, rate: bool = True) -> float:
    """The same number; ``rate`` also says how often it claims too much, as by default."""
    counts = Counts(true_positives, n, false_positives, n)
    return joint_beta_epsilon(counts, delta=DELTA, rate=rate).value


def ours(bound: Callable[..., object], true_positives: int, false_positives: int, n: int) -> float:
    """One of our exact bounds."""
    return float(bound(Counts(true_positives, n, false_positives, n), delta=DELTA))  # type: ignore[arg-type]


def least(
    task: Callable[..., float], case: tuple[int, int, int], repeats: int
) -> tuple[float, float]:
    """The answer and the least CPU seconds of some runs."""
    runs = [timed(task, *case) for _ in range(repeats)]
    return runs[0][0], min(seconds for _, seconds in runs)


def theirs(method: str, case: tuple[int, int, int], repeats: int) -> tuple[float, float, str]:
    """The peer's answer, or why there is none."""
    try:
        return (*least(partial(peers.estimates, method), case, repeats), "")
    except (ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
        return np.nan, np.nan, f"{type(error).__name__}: {str(error).splitlines()[0]}"


def joint() -> bool:
    """The joint posterior; True if a target is missed."""
    print('Joint posterior of both rates ("joint-beta"); it is a belief, not a guarantee')
    rows, reasons, ratios, errors = [], [], [], []
    for case in CASES:
        name = told_case(case)
        exact = plain(*case)
        value, seconds = least(ours_joint, case, 5)
        bare = least(partial(ours_joint, rate=False), case, 5)[1]
        peer, peer_seconds, reason = theirs("joint-beta", case, 1)
        errors.append(abs(value - exact))
        ratio = ""
        if not reason:
            ratios.append(peer_seconds / seconds)
            ratio = f"{ratios[-1]:,.0f}"
        else:
            reasons.append(f"{name}: privacy-estimates raised {reason}")
        shown = ["raised", ""] if reason else [f"{peer:.4f}", f"{peer_seconds:.2f}"]
        said = [f"{value:.6f}", f"{exact:.6f}", shown[0], f"{seconds:.4f}", f"{bare:.4f}"]
        wrong = "" if reason or abs(peer - exact) <= PEERS else "wrong"
        rows.append([name, *said, shown[1], ratio, wrong])
    head = ["ours", "plain", "peer", "ours s", "bare s", "peer s", "ratio", ""]
    print_rows(["true, false positives, n", *head], rows)
    print(
        "Ours says how often it claims too much; bare: without that, as the peer. Ratio: to ours."
    )
    print(f"Wrong: further than {short(PEERS)} from the plain computation.")
    print("\n".join(reasons))
    missed = told(
        f"ours takes 1/{FASTER:g} of the time; least {min(ratios):,.0f}", min(ratios) >= FASTER
    )
    said = f"within {short(CLOSE)} of the plain computation; worst "
    said += plain_exponent(f"{max(errors):.0e}")
    return missed | told(said, max(errors) <= CLOSE)


def exact() -> None:
    """Bounds that hold with 95 % confidence whatever the rates."""
    print("\nExact bounds for one attack fixed beforehand, and CPU seconds")
    bounds = {
        "peer's beta": None,
        "Clopper-P.": intervals.clopper_pearson_epsilon,
        "Berger-Boos": berger_boos_epsilon,
        "Buehler": intervals.buehler_epsilon,
    }
    rows = []
    for case in CASES:
        measured = [
            theirs("beta", case, 5)[:2] if bound is None else least(partial(ours, bound), case, 1)
            for bound in bounds.values()
        ]
        rows.append([told_case(case), *(f"{value:.4f}" for value, _ in measured)])
        rows.append(["  CPU seconds", *(f"{seconds:.4f}" for _, seconds in measured)])
    print_rows(["true, false positives, n", *bounds], rows)


def told_case(case: tuple[int, int, int]) -> str:
    """Counts as people read them."""
    return f"{case[0]:,}, {case[1]:,}, {power_of_ten(case[2])}"


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    used = versions("numpy", "scipy", "privacy-estimates")
    print(f"tellapart {ta.__version__}, {used}\nδ = {short(DELTA)}, 95 %\n")
    ours_joint(*CASES[0])  # a warm-up
    missed = joint()
    exact()
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
