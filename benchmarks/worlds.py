"""How long the exact answers about correlated data take: `python benchmarks/worlds.py`.

No other package computes these numbers, so each has a naive way beside it where there is one: the
law of the sum for every record in turn, as one would write it down.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tellapart as ta
from tellapart import risk
from tellapart.choose import at_most, noise
from tellapart.worlds import MarkovChain, RecordValue, Sum, TreeNetwork, tell_apart
from tellapart.worlds.frameworks import pufferfish, pufferfish_by_record
from tellapart.worlds.markov import streams

CHAIN = [[0.9, 0.1], [0.4, 0.6]]
PURE = [at_most(1, risk.epsilon, delta=0)]


def seconds(ask: Callable[[], Any], runs: int = 3) -> tuple[float, Any]:
    """The best time of some runs, and the answer."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        answer = ask()
        times.append(time.perf_counter() - start)
    return min(times), answer


def naive(length: int) -> float:
    """Every record of a chain by the laws of its sum, without any shortcut."""
    chain = MarkovChain.stationary(CHAIN, length)
    tests = [
        tell_apart(chain, Sum(), ta.Laplace(1), RecordValue(t, 1), RecordValue(t, 0))
        for t in range(length)
    ]
    return max(test.epsilon for test in tests)


def chains() -> None:
    """Chains, long and short."""
    long = MarkovChain.stationary(CHAIN, 10_000)
    took, epsilon = seconds(lambda: pufferfish_by_record(long, Sum(), ta.Laplace(1)).worst)
    print(f"chain of 10,000 records, ε at all times     {took:8.3f} s   ε = {epsilon:.6f}")
    took, scale = seconds(lambda: noise(long, Sum(), PURE).scale)
    print(f"chain of 10,000 records, exact noise        {took:8.3f} s   scale = {scale:.6f}")
    short = MarkovChain.stationary(CHAIN, 400)
    fast, quick = seconds(lambda: pufferfish(short, Sum(), ta.Laplace(1)).epsilon)
    slow, plain = seconds(lambda: naive(400), runs=1)
    print(f"chain of 400 records, ε at all times        {fast:8.3f} s   ε = {quick:.6f}")
    print(f"  the same, record by record                {slow:8.3f} s   ε = {plain:.6f}", end="")
    print(f"   {slow / fast:.0f}x")


def trees() -> None:
    """One node of a random tree."""
    rng = np.random.default_rng(0)
    parent = [-1, *(int(rng.integers(0, node)) for node in range(1, 1000))]
    tree = TreeNetwork(parent, [0.75, 0.25], [[0.9, 0.1], [0.3, 0.7]])
    took, epsilon = seconds(lambda: pufferfish(tree, Sum(), ta.Laplace(1), records=[0]).epsilon)
    print(f"tree of 1,000 nodes, ε of the root          {took:8.3f} s   ε = {epsilon:.6f}")


def endless() -> None:
    """A stream that never ends."""
    rows = np.random.default_rng(0).dirichlet(np.ones(50), size=50)
    took, leakage = seconds(lambda: streams.supremum(rows, rows, 0.1))
    print(f"50 states, supremum of temporal leakage     {took:8.3f} s   ε = {leakage:.6f}")


if __name__ == "__main__":
    chains()
    trees()
    endless()
