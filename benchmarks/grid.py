"""Where deployments of DP-SGD get an ε, how fast, and whether two engines agree.

A log-uniform sample of σ ∈ [0.4, 20], q ∈ [1e-5, 1], T ∈ [1, 10^7], δ ∈ [1e-30, 1e-2]. Targets: an
answer everywhere (NotCertified on under 1 %, and never for T ≥ 100), and an ε that the other
engine, or a certified bracket, confirms to 1e-9·max(1, ε), or within the bracket.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import numpy as np

import tellapart as ta
from tellapart.curve.composition.contour import ComposedCurve
from tellapart.errors import NotCertified
from tellapart.mechanisms.combine import Repeated

POINTS = 200
SEED = 20240607
SECONDS = 20.0
MANY = 100  # steps from which no answer may be refused
TARGET = 1e-9


@dataclass(frozen=True)
class Point:
    """One deployment and the δ its ε is asked at."""

    sigma: float
    rate: float
    steps: int
    delta: float

    def mechanism(self) -> Repeated:
        """The training run."""
        return ta.Gaussian(self.sigma).sampled(self.rate).repeated(self.steps)

    def __str__(self) -> str:
        return f"({self.sigma!r}, {self.rate!r}, {self.steps}, {self.delta!r})"


@dataclass
class Outcome:
    """What became of one point; `apart` is NaN where no second engine could be asked."""

    point: Point
    cpu: float = math.nan
    epsilon: float = math.nan
    engine: str = ""
    refused: str = ""
    broken: str = ""
    apart: float = math.nan  # ε by the other engine, less ε, over max(1, ε)
    outside: str = ""  # of its bracket


class TooSlow(Exception):
    """A point took longer than it may."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Stop what takes longer."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def sample(points: int, seed: int) -> list[Point]:
    """Log-uniform points of the grid."""
    rng = np.random.default_rng(seed)
    ends = np.log([(0.4, 20), (1e-5, 1), (1, 1e7), (1e-30, 1e-2)])
    drawn = np.exp(rng.uniform(ends[:, 0], ends[:, 1], (points, 4)))
    return [Point(float(s), float(q), max(1, round(t)), float(d)) for s, q, t, d in drawn]


def ask(point: Point) -> Outcome:
    """ε at δ, and the same again in other ways."""
    outcome = Outcome(point)
    start = time.process_time()
    try:
        with within(SECONDS):
            outcome.epsilon = float(point.mechanism().curve().epsilon(point.delta))
    except NotCertified as error:
        outcome.refused = str(error)
    except TooSlow:
        outcome.broken = f"more than {SECONDS:g} s"
    except Exception as error:  # noqa: BLE001 — whatever it is, it is to be listed
        outcome.broken = repr(error)
    outcome.cpu = time.process_time() - start
    if not (outcome.refused or outcome.broken) and not outcome.epsilon >= 0:
        outcome.broken = f"ε = {outcome.epsilon}"
    if not (outcome.refused or outcome.broken) and outcome.epsilon > 0 and point.steps > 1:
        try:
            with within(SECONDS):
                _again(outcome)
        except (NotCertified, TooSlow):
            pass
    return outcome


def _again(outcome: Outcome) -> None:
    """By convolution where a contour answered, else by a bracket."""
    point, epsilon = outcome.point, outcome.epsilon
    mechanism = point.mechanism()
    orders = [mechanism.curve(order) for order in ta.Order]
    worse = max(orders, key=lambda curve: float(curve.delta(epsilon)))
    if not isinstance(worse, ComposedCurve):
        return
    made = worse._engine._made
    outcome.engine = type(made[max(made)]).__name__
    if outcome.engine == "Contour" and worse._convolution is not None:
        tails = worse._convolution.tails(np.array([epsilon]))
        slope = float(tails.fpr[0]) * math.exp(epsilon) / float(tails.delta[0])
        off = math.log(float(tails.delta[0]) / point.delta) / slope
        outcome.apart = abs(off) / max(1.0, epsilon)
    elif outcome.engine != "Contour":
        bracket = mechanism.bracket(point.delta)
        low, high = bracket.upper.epsilon(point.delta), bracket.lower.epsilon(point.delta)
        if not low - TARGET <= epsilon <= high + TARGET:
            outcome.outside = f"[{low}, {high}]"


def report(outcomes: list[Outcome]) -> bool:
    """Print the table; whether the targets are met."""
    refused = [o for o in outcomes if o.refused]
    late = [o for o in refused if o.point.steps >= MANY]
    broken = [o for o in outcomes if o.broken]
    doubtful = [o for o in outcomes if o.apart > TARGET or o.outside]
    print(f"{len(outcomes)} points")
    print(f"NotCertified: {len(refused)} ({100 * len(refused) / len(outcomes):.1f} %)")
    print(f"NotCertified, T >= {MANY}: {len(late)}")
    print(f"anything else raised, or no number: {len(broken)}")
    cpu = np.array([o.cpu for o in outcomes])
    shares = (0.1, 0.5, 0.9, 0.99, 1.0)
    quantiles = ", ".join(f"{s:.0%} {1e3 * np.quantile(cpu, s):.1f}" for s in shares)
    print(f"CPU ms: {quantiles}")
    folded = [o for o in outcomes if o.engine not in ("", "Contour")]
    outside = [o for o in folded if o.outside]
    print(f"answered by folds: {len(folded)}, outside their bracket: {len(outside)}")
    apart = np.array([o.apart for o in outcomes if math.isfinite(o.apart)])
    print(f"contour and folds apart: worst {apart.max():.1e}·max(1, ε) of {apart.size}")
    for o in refused:
        print("refused ", o.point, o.refused)
    for o in broken:
        print("broken  ", o.point, o.broken)
    for o in doubtful:
        print(f"doubtful {o.point} eps={o.epsilon!r} apart={o.apart:.1e} {o.outside}")
    for o in sorted(outcomes, key=lambda o: -o.cpu)[:5]:
        print(f"slowest  {o.point} {o.cpu:.2f} s")
    return len(refused) < 0.01 * len(outcomes) and not late and not broken and not doubtful


def main() -> None:
    """Ask all points; exit with an error where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    met = report([ask(point) for point in sample(options.points, options.seed)])
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
