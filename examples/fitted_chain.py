"""How much noise hides one day in a count of correlated days.

Someone takes the bus on wet days and walks on dry ones, and publishes how many days a year they
took the bus. Whether today is wet says much about tomorrow, and everybody can learn how much from
old weather. The chain is fitted to four years of real days, examples/data/seattle_weather.csv.

What is certain with 95 % confidence is what the days say about a chain that never changes. That
weather is such a chain, the same in summer and winter, is an assumption that no count can prove.

Run `python examples/fitted_chain.py`.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from tellapart.worlds import (
    ChainSet,
    MarkovChain,
    chain_epsilon_bound,
    chain_scale_bound,
    fit_chain,
)

DAYS = Path(__file__).parent / "data" / "seattle_weather.csv"
YEAR = 365
CONFIDENCE = 0.95


def main() -> None:
    """Print the fit, what it leaves open, and what noise gives away and costs in both."""
    fitted = fit_chain(DAYS, column="day", order="date", length=YEAR, confidence=CONFIDENCE)
    chains = fitted.confidence_set
    print(f"{fitted.counts.sum() + 1} days; how often one kind followed another:")
    for state, row in zip(fitted.states, fitted.counts, strict=True):
        after = ", ".join(f"{n} {name}" for n, name in zip(row, fitted.states, strict=True))
        print(f"  after a {state} day: {after}")
    print(f"\nChance of a change, with all that {CONFIDENCE:.0%} confidence leaves open:")
    low, high = chains.forward
    for i, state in enumerate(fitted.states):
        print(
            f"  after a {state} day: {fitted.transition[i, 1 - i]:.3f}"
            f" (from {low[i, 1 - i]:.3f} to {high[i, 1 - i]:.3f})"
        )
    print(f"\nThe number of wet days in {YEAR}, with Laplace noise (rounded up):")
    show("if days were independent", MarkovChain.stationary(alike(fitted.transition), YEAR))
    show("for the fitted chain", fitted.chain())
    show("for the worst chain left open", chains)


def alike(transition: np.ndarray) -> np.ndarray:
    """The same share of wet days, but no day says anything about another."""
    return np.tile(MarkovChain.stationary(transition, 1).initial, (2, 1))


def show(words: str, chain: MarkovChain | ChainSet) -> None:
    """What noise of scale 1 gives away about one day, and how much noise keeps ε = 1."""
    leaks = chain_epsilon_bound(chain, scale=1).max()
    needed = chain_scale_bound(chain, epsilon=1)
    print(f"  {words:30} scale 1 gives ε = {up(leaks)}; ε = 1 needs scale {up(needed)}")


def up(number: float) -> str:
    """Three decimals that are not less, but for the last digits of a double."""
    return f"{math.ceil(1000 * number - 1e-5) / 1000:.3f}"


if __name__ == "__main__":
    main()
