"""What a curve with a formula costs beside that formula alone, written in bare NumPy and SciPy.

The bare line is what one would write without a library: it checks nothing, knows ε ≥ 0 only, and
overflows or loses its digits in the corners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from _timing import Comparison, cpu_seconds, medians, print_table, versions
from numpy import exp, maximum, minimum, where
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

import tellapart as ta
from tellapart._checks import plain_exponent
from tellapart._numeric.text import short

Array = NDArray[np.float64]
Formula = Callable[[Array], Array]

POINTS = 1_000_000
REPEATS = 15
TARGET = 3.0

RATES = (np.arange(POINTS) + 0.5) / POINTS
EPSILONS = np.linspace(0.0, 2.0, POINTS)


@dataclass(frozen=True)
class Case:
    """A curve of ours, and the three formulas one would write in its place."""

    name: str
    curve: ta.TradeoffCurve
    beta: Formula
    tpr: Formula
    delta: Formula

    def questions(self) -> Iterator[tuple[str, Formula, Formula, Array]]:
        """Each question, our answer, the bare formula, and the points to ask at."""
        yield f"{self.name} beta", self.curve.beta, self.beta, RATES
        yield f"{self.name} tpr", self.curve.tpr, self.tpr, RATES
        yield f"{self.name} delta", self.curve.delta, self.delta, EPSILONS


# fmt: off
def laplace(e: float) -> Case:
    """Laplace noise of scale 1/ε."""
    return Case(
        f"Laplace(ε={e:g})",
        ta.Laplace.with_epsilon(e).curve(),
        beta=lambda a: where(a < exp(-e) / 2, 1 - exp(e) * a,
                             where(a <= 0.5, exp(-e) / (4 * a), exp(-e) * (1 - a))),
        tpr=lambda a: where(a < exp(-e) / 2, exp(e) * a,
                            where(a <= 0.5, 1 - exp(-e) / (4 * a), 1 - exp(-e) * (1 - a))),
        delta=lambda x: maximum(0, 1 - exp((x - e) / 2)),
    )


def gaussian(mu: float) -> Case:
    """Gaussian noise of deviation 1/μ."""
    return Case(
        f"Gaussian(μ={mu:g})",
        ta.Gaussian(sigma=1 / mu).curve(),
        beta=lambda a: ndtr(-ndtri(a) - mu),
        tpr=lambda a: ndtr(ndtri(a) + mu),
        delta=lambda x: ndtr(mu / 2 - x / mu) - exp(x) * ndtr(-mu / 2 - x / mu),
    )


def guarantee(e: float, d: float) -> Case:
    """Anything that keeps (ε, δ)."""
    return Case(
        f"guarantee(ε={short(e)}, δ={short(d)})",
        ta.guarantee(epsilon=e, delta=d),
        beta=lambda a: maximum(0, maximum(1 - d - exp(e) * a, exp(-e) * (1 - d - a))),
        tpr=lambda a: minimum(1, minimum(d + exp(e) * a, 1 - exp(-e) * (1 - d - a))),
        delta=lambda x: d + (1 - d) * maximum(0, (exp(e) - exp(x)) / (1 + exp(e))),
    )


def exponential(e: float) -> Case:
    """The exponential mechanism in its worst case: a logistic curve."""
    return Case(
        f"exponential(ε={e:g})",
        ta.ExponentialMechanism(epsilon=e).curve(),
        beta=lambda a: (1 - a) / (1 - a + exp(e) * a),
        tpr=lambda a: exp(e) * a / (1 - a + exp(e) * a),
        delta=lambda x: (1 - exp(minimum(0, x - e) / 2)) ** 2 / (1 - exp(-e)),
    )
# fmt: on


# Below μ = 0.1 the Gaussian's δ takes another path, because the bare difference cancels. It comes
# last: once malloc has freed arrays of that size it keeps them, and later rows skip page faults.
CASES = [laplace(1), gaussian(1), guarantee(1, 1e-5), exponential(1), gaussian(0.05)]


def compare(name: str, ours: Formula, bare: Formula, asked: Array) -> tuple[Comparison, float]:
    """Both CPU times of one question, and the largest difference of the two answers."""
    tasks = [partial(cpu_seconds, partial(formula, asked)) for formula in (ours, bare)]
    seconds, bare_seconds = medians(tasks, REPEATS)
    difference = float(np.max(np.abs(ours(asked) - bare(asked))))
    return Comparison(name, seconds, bare_seconds, TARGET), difference


def main() -> None:
    """Ask every curve every question."""
    comparisons = [compare(*question) for case in CASES for question in case.questions()]
    print(f"Curves with formulas at {POINTS:,} points, median CPU time of {REPEATS} calls")
    print(versions("tellapart", "numpy", "scipy"), end="\n\n")
    print_table("beside the bare formula", [comparison for comparison, _ in comparisons])
    print(
        "\nThe answers differ by at most "
        + plain_exponent(f"{max(difference for _, difference in comparisons):.0e}.")
    )


if __name__ == "__main__":
    main()
