"""Where the contour engine fails: a log-uniform sample of DP-SGD, each answer asked twice.

Points are σ ∈ [0.4, 20], q ∈ [1e-5, 1], T ∈ [1, 10^7], δ ∈ [1e-30, 1e-2], always the same ones.
Every ε is computed again from other lines and from moments summed on another mesh; the two must
agree to 1e-9·max(1, ε). Run it under a memory limit: (ulimit -v 8000000; python benchmarks/grid.py)
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
from tellapart._numeric.contour import Line
from tellapart.curve.composed import ComposedCurve, Total
from tellapart.curve.mixture_loss import MixtureLoss
from tellapart.errors import NotCertified

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

    def mechanism(self) -> ta.Mechanism:
        """The training run."""
        return ta.Gaussian(self.sigma).sampled(self.rate).repeated(self.steps)

    def __str__(self) -> str:
        return f"({self.sigma!r}, {self.rate!r}, {self.steps}, {self.delta!r})"


@dataclass
class Outcome:
    """What became of one point; disagreements are NaN where they could not be asked."""

    point: Point
    cpu: float = math.nan
    epsilon: float = math.nan
    refused: str = ""
    broken: str = ""
    back: float = math.nan  # δ(ε(δ))/δ − 1
    moved: float = math.nan  # ε from other lines, less ε, over max(1, ε)
    reflected: float = math.nan  # the profiles of the two orders, as one law says they must be


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


def other_lines(point: Point, epsilon: float, absent: bool) -> float:
    """ε again, by one Newton step from another line and moments summed on another mesh."""
    # A weight of nothing makes the moments be summed along another line of outputs.
    law = MixtureLoss(1 / point.sigma, (1 - point.rate, point.rate, 0.0))
    total = Total(((law.swapped() if absent else law, point.steps),))
    curve = ComposedCurve(((law.swapped() if absent else law, point.steps),))
    ((line, _),) = curve._by_line(np.array([epsilon]))
    pole = min(abs(line.c), abs(line.c - 1))
    moved = Line(total, line.c + 0.3 * min(pole, 1 / line.spread), epsilon)
    at = np.array([epsilon])
    sums, lift = moved.sums(at), math.exp(moved.scale(at)[0] + epsilon)
    delta, tilted = lift * sums.by_both[0], lift * sums.by_z[0]
    if 0 < moved.c < 1:
        delta += 1
    elif moved.c < 0:
        delta, tilted = delta - math.expm1(epsilon), tilted + math.exp(epsilon)
    return float(epsilon + math.log(delta / point.delta) * delta / tilted)


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
        except (NotCertified, TooSlow, ValueError, MemoryError, OverflowError) as error:
            print("  not asked again:", point, repr(error))
    return outcome


def _again(outcome: Outcome) -> None:
    point, epsilon = outcome.point, outcome.epsilon
    present = point.mechanism().curve(ta.Order.PRESENT)
    absent = point.mechanism().curve(ta.Order.ABSENT)
    worse = absent.delta(epsilon) > present.delta(epsilon)
    outcome.back = max(present.delta(epsilon), absent.delta(epsilon)) / point.delta - 1
    for a in (epsilon, epsilon / 3):
        there, here = present.delta(-a), absent.delta(a)
        want = math.exp(-a) * here - math.expm1(-a)
        outcome.reflected = np.fmax(outcome.reflected, abs(there - want))
    other = other_lines(point, epsilon, bool(worse))
    outcome.moved = abs(other - epsilon) / max(1.0, epsilon)


def report(outcomes: list[Outcome]) -> bool:
    """Print the table; whether the targets are met."""
    refused = [o for o in outcomes if o.refused]
    late = [o for o in refused if o.point.steps >= MANY]
    broken = [o for o in outcomes if o.broken]
    doubtful = [o for o in outcomes if o.moved > TARGET or abs(o.back) > 1e-8]
    print(f"{len(outcomes)} points")
    print(f"NotCertified: {len(refused)} ({100 * len(refused) / len(outcomes):.1f} %)")
    print(f"NotCertified, T >= {MANY}: {len(late)}")
    print(f"anything else raised, or no number: {len(broken)}")
    cpu = np.array([o.cpu for o in outcomes])
    shares = (0.1, 0.5, 0.9, 0.99, 1.0)
    quantiles = ", ".join(f"{s:.0%} {1e3 * np.quantile(cpu, s):.1f}" for s in shares)
    print(f"CPU ms: {quantiles}")
    for name in ("moved", "back", "reflected"):
        values = np.abs([getattr(o, name) for o in outcomes])
        asked = values[np.isfinite(values)]
        print(f"{name}: median {np.median(asked):.1e}, worst {asked.max():.1e} of {asked.size}")
    for o in refused:
        print("refused ", o.point, o.refused)
    for o in broken:
        print("broken  ", o.point, o.broken)
    for o in doubtful:
        print(f"doubtful {o.point} eps={o.epsilon!r} moved={o.moved:.1e} back={o.back:.1e}")
    slow = sorted(outcomes, key=lambda o: -o.cpu)[:5]
    for o in slow:
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
