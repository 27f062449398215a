"""Accounting of DP-SGD beside the peers: CPU seconds, ratios, and what each answers.

Needs the extra ``peers``; a peer that is not installed is left out and said to be. All run in this
process, on one thread, imports not counted: the least CPU time of up to five runs, or of one that
takes longer than two seconds. We and dp_accounting compute both orders of neighbours, the others
one. Give ``--markdown FILE`` to write the tables for the documentation.
"""

from __future__ import annotations

import os

# One thread for everyone: CPU seconds of threads that wait for each other say nothing.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import _peers as peers
import numpy as np
from _timing import versions

import tellapart as ta
from tellapart import choose, risk
from tellapart._checks import plain_exponent
from tellapart._numeric.text import short
from tellapart.choose.limit import Limit
from tellapart.mechanisms.combine import Repeated

DELTA = peers.DELTA
Setting = tuple[float, float, int]
# With ε at δ = 1e-5; the tests hold these values between certified bounds.
EXACT: dict[Setting, float] = {
    (1.0, 0.01, 1_000): 1.82823667,
    (1.0, 0.01, 10_000): 6.18771239,
    (1.0, 0.01, 100_000): 25.57310699,
    (0.6, 0.001, 50_000): 4.38009783,
}
ALPHAS = np.concatenate([np.logspace(-6, np.log10(0.5), 500), np.linspace(0.5, 0.999, 500)])
CAREFUL = np.array([1e-6, 1e-5, 1e-3, 1e-2])
SPREAD = np.linspace(20, 60, 1_000)
MIXTURE = 5.87895856

LONG = 2.0
_KNOWN: dict[tuple[str, str, object], Outcome] = {}
# How many times as long as ours each package took at least, in the table at hand.
_LEAST: dict[str, float] = {}
Task = Callable[[], Any]
Rows = Iterator[tuple[str, ...]]


def training(sigma: float, rate: float, steps: int) -> Repeated:
    """DP-SGD in words."""
    return ta.Gaussian(sigma).sampled(rate).repeated(steps)


def wanted(sigma: float) -> Repeated:
    """The training that noise is sought for."""
    return training(sigma, peers.RATE, peers.STEPS)


# -- what we answer -----------------------------------------------------------------------------


def our_epsilon(*setting: Any) -> float:
    """From parameters to ε."""
    return float(training(*setting).curve().epsilon(DELTA))


def our_interval(gap: float, *setting: Any) -> tuple[float, float]:
    """The certified bracket of this gap."""
    lower, upper = training(*setting).bracket(DELTA, gap)
    return float(upper.epsilon(DELTA)), float(lower.epsilon(DELTA))


def our_betas(*setting: Any) -> Any:
    """The curve at a thousand FPRs."""
    return training(*setting).curve().beta(ALPHAS)


def our_noise(limit: Limit) -> float:
    """The least noise multiplier."""
    return choose.least(wanted, [limit]).parameter


def our_mixture() -> float:
    """A Gaussian and a Laplace step of each size."""
    parts = [*map(ta.Gaussian, SPREAD), *map(ta.Laplace, SPREAD)]
    return float(ta.compose(parts).curve().epsilon(DELTA))


# -- measuring ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What someone answered in how many CPU seconds, or why not."""

    seconds: float
    answer: Any
    reason: str = ""


def measured(package: str, task: Task) -> Outcome:
    """The least CPU time of a few runs, and the answer. A peer may crash; that is told."""
    if package != "tellapart" and not peers.installed(package):
        return Outcome(np.nan, None, "not installed")
    best, spent, answer = np.inf, 0.0, None
    for _ in range(5):
        start = time.process_time()
        try:
            answer = task()
        except ta.TellapartError:
            raise
        except Exception as crash:  # noqa: BLE001
            what = str(crash).strip().splitlines()
            return Outcome(np.nan, None, f"crashed: {what[0] if what else repr(crash)}")
        taken = time.process_time() - start
        best, spent = min(best, taken), spent + taken
        if spent > LONG:
            break
    return Outcome(best, answer)


def compared(
    task: str, tasks: dict[str, Task], shown: Callable[[Any], tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    """A row for each package, ours first; ratios are how many times as long as ours."""
    ours = None
    for package, task_of in tasks.items():
        # Two tables may show the same run; some take half a minute.
        key = (task, package, getattr(task_of, "func", task_of))
        measurement = _KNOWN[key] if key in _KNOWN else measured(package, task_of)
        _KNOWN[key] = measurement
        ours = measurement.seconds if ours is None else ours
        if measurement.reason:
            yield task, package, "", "", measurement.reason
            continue
        times = measurement.seconds / ours
        _LEAST[package] = min(_LEAST.get(package, np.inf), times)
        ratio = f"{times:,.0f}" if times >= 10 else f"{times:.1f}"
        ratio = "" if package == "tellapart" else ratio
        yield task, package, f"{measurement.seconds:.4f}", ratio, *shown(measurement.answer)


# -- the tables ---------------------------------------------------------------------------------


def epsilons() -> Rows:
    """ε at δ = 1e-5."""
    for setting, exact in EXACT.items():
        tasks: dict[str, Task] = {
            "tellapart": partial(our_epsilon, *setting),
            "dp-accounting": partial(peers.pld_epsilon, *setting),
            "prv-accountant": partial(peers.prv_interval, *setting),
            "opacus": partial(peers.opacus_epsilon, *setting),
        }

        def shown(answer: Any, exact: float = exact) -> tuple[str, ...]:
            most = answer[1] if isinstance(answer, tuple) else answer
            return f"{most:.8f}", off(most, exact)

        yield from compared(told(setting), tasks, shown)


def brackets(gap: float) -> Rows:
    """The certified bracket, beside an interval and beside a bound from one side."""
    for setting, exact in EXACT.items():
        tasks: dict[str, Task] = {
            "tellapart": partial(our_interval, gap, *setting),
            "dp-accounting": partial(peers.pld_epsilon, *setting),
            "prv-accountant": partial(peers.prv_interval, *setting),
        }

        def shown(answer: Any, exact: float = exact) -> tuple[str, ...]:
            low, high = answer if isinstance(answer, tuple) else (-np.inf, answer)
            held = "yes" if low <= exact <= high else "no"
            if low == -np.inf:
                return f"≤ {high:.6f}", "no lower end", held
            width = (high - low) / max(1.0, low)
            return f"{low:.8f} … {high:.8f}", plain_exponent(f"{width:.1e}"), held

        yield from compared(f"{told(setting)}, to {short(gap)}", tasks, shown)


def betas() -> Rows:
    """A thousand β: how long."""
    for setting in EXACT:
        tasks: dict[str, Task] = {
            "tellapart": partial(our_betas, *setting),
            "riskcal": partial(peers.riskcal_betas, ALPHAS, *setting),
        }
        yield from compared(told(setting), tasks, lambda answers: (f"{answers[250]:.8f}",))


def careful() -> Rows:
    """TPR of a careful attacker: riskcal's is on the unsafe side."""
    if not peers.installed("riskcal"):
        return
    for setting in EXACT:
        lower, upper = training(*setting).bracket(DELTA)
        exact = training(*setting).curve().tpr(CAREFUL)
        theirs = 1 - peers.riskcal_betas(CAREFUL, *setting)
        for alpha, sure, tpr, most, other in zip(
            CAREFUL, upper.tpr(CAREFUL), exact, lower.tpr(CAREFUL), theirs, strict=True
        ):
            verdict = "" if other >= sure else "below what an attacker surely reaches"
            verdict = "below the FPR itself: impossible" if other < alpha else verdict
            bounds = f"{short(sure, 4)} … {short(most, 4)}"
            yield told(setting), short(alpha), short(tpr), bounds, short(other, 4), verdict


def noises() -> Rows:
    """The least noise for a limit, and whether it keeps it."""
    limits: list[tuple[str, Limit, dict[str, Task]]] = [
        (
            "advantage ≤ 0.1",
            choose.at_most(0.1, risk.advantage),
            {"riskcal": partial(peers.riskcal_advantage, 0.1)},
        ),
        (
            "β ≥ 0.9 at α = 0.01",
            choose.at_most(0.1, risk.tpr, fpr=0.01),
            {"riskcal": partial(peers.riskcal_rates, 0.01, 0.9)},
        ),
        (
            "ε ≤ 2 at δ = 1e-5",
            choose.at_most(2.0, risk.epsilon, delta=DELTA),
            {
                "dp-accounting": partial(peers.pld_noise, 2.0),
                "opacus": partial(peers.opacus_noise, 2.0),
                "prv-accountant": partial(peers.prv_noise, 2.0),
            },
        ),
    ]
    for name, limit, others in limits:
        tasks = {"tellapart": partial(our_noise, limit), **others}

        def shown(sigma: float, limit: Limit = limit) -> tuple[str, ...]:
            value = limit.value(wanted(sigma).curve())
            kept = "kept" if value <= limit.bound else "broken"
            return f"{sigma:.7f}", f"{kept}, by {plain_exponent(f'{abs(limit.bound - value):.0e}')}"

        yield from compared(name, tasks, shown)


def mixture() -> Rows:
    """2,000 steps, no two alike."""
    tasks: dict[str, Task] = {
        "tellapart": our_mixture,
        "dp-accounting": partial(peers.pld_mixture, SPREAD),
    }
    task = "1,000 Gaussian and 1,000 Laplace steps, sizes 20 to 60"
    yield from compared(task, tasks, lambda answer: (f"{answer:.8f}", off(answer, MIXTURE)))


def off(answer: float, exact: float) -> str:
    """The error, as far as the digits of the exact value go."""
    error = answer - exact
    return "under 1e-8" if abs(error) < 1e-8 else plain_exponent(f"{error:+.0e}")


def told(setting: Setting) -> str:
    """A setting in words."""
    sigma, rate, steps = setting
    return f"σ = {sigma:g}, q = {rate:g}, T = {steps:,}"


TIMED = ("task", "package", "CPU s", "times ours")
# Title, note, head, rows, and how many times as long as ours a peer must take at least.
TABLES: list[tuple[str, str, tuple[str, ...], Callable[[], Rows], dict[str, float]]] = [
    (
        "ε at δ = 1e-5",
        "The last column is the answer less the exact value. dp_accounting, prv_accountant "
        "(eps_error = 0.01) and Opacus (PRV) mean to err upwards.",
        (*TIMED, "ε", "error"),
        epsilons,
        {"dp-accounting": 40},
    ),
    (
        "ε at δ = 1e-5, certified",
        "Ours and prv_accountant's (eps_error = 0.01) have two ends; dp_accounting's only one. The "
        "gap is that between them, divided by ε where that exceeds 1.",
        (*TIMED, "ε between", "gap", "holds the exact value"),
        partial(brackets, 1e-5),
        {"dp-accounting": 1},
    ),
    (
        "ε at δ = 1e-5, certified to the sixth digit",
        "The same, ten times as close, with no target: what it costs is shown.",
        (*TIMED, "ε between", "gap", "holds the exact value"),
        partial(brackets, 1e-6),
        {},
    ),
    (
        "The whole curve: β at 1,000 α",
        "The β shown is that at α = 7.2e-4.",
        (*TIMED, "β"),
        betas,
        {"riskcal": 8},
    ),
    (
        "A careful attacker: TPR at small FPR",
        "riskcal reads its curve off dp_accounting's distributions, whose rounded masses sum to "
        "more than 1. At small FPRs its attacker is weaker than some attacker surely is.",
        ("task", "FPR", "TPR", "certified between", "riskcal's TPR", ""),
        careful,
        {},
    ),
    (
        f"The least noise multiplier, T = {peers.STEPS:,}, q = {peers.RATE:g}",
        "The last column is whether the exact curve of that noise keeps the limit. riskcal is told "
        "to start at 0.4 for (α, β); without that hint it takes minutes.",
        (*TIMED, "σ", "limit"),
        noises,
        {"riskcal": 100, "dp-accounting": 100},
    ),
    (
        "2,000 different steps",
        "ε at δ = 1e-5.",
        (*TIMED, "ε", "error"),
        mixture,
        {"dp-accounting": 100},
    ),
]


def main() -> int:
    """Print, and if asked write, the tables."""
    peers.warm_up()
    page = [f"Versions: {used()}. CPU seconds on one thread, imports not counted.\n\n"]
    print(page[0], end="")
    missed = False
    for title, note, head, rows, targets in TABLES:
        _LEAST.clear()
        print(f"{title}\n{note}\n{' | '.join(head)}", flush=True)
        page.append(f"### {title}\n\n{note}\n\n{line(head)}{line(['---'] * len(head))}")
        for row in rows():
            cells = [*row, *[""] * (len(head) - len(row))]
            print("  " + " | ".join(cells), flush=True)
            page.append(line(cells))
        for package, least in targets.items():
            least_noise = _LEAST.get(package)
            if least_noise is not None:
                missed |= least_noise < least
                said = f"Target: {package} takes at least {least:g} times as long; least "
                said += f"{least_noise:.3g}, {'met' if least_noise >= least else 'missed'}."
                print(said)
                page.append(f"\n{said}\n")
        print()
        page.append("\n")
    if "--markdown" in sys.argv:
        path = Path(sys.argv[sys.argv.index("--markdown") + 1])
        # Blank lines between tables, none inside.
        path.write_text("".join(page).replace("\n\n\n", "\n\n"), encoding="utf-8")
    return int(missed)


def line(cells: Any) -> str:
    """One line of a Markdown table."""
    return f"| {' | '.join(cells)} |\n"


def used() -> str:
    """Everything behind the numbers."""
    others = [package for package in peers.MODULES if peers.installed(package)]
    return f"tellapart {ta.__version__}, {versions('numpy', 'scipy', *others)}"


if __name__ == "__main__":
    sys.exit(main())
