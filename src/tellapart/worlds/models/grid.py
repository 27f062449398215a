"""Laws of sums on a lattice: weighted values as whole steps, so that laws are polynomials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart._numeric.text import count_in_words, short
from tellapart.errors import Unsupported

MOST_WORK = 2**34


@dataclass(frozen=True, eq=False)
class Grid:
    """Each record's values as steps above its least one; a sum is ``least + width·steps``."""

    least: float
    width: float
    steps: list[NDArray[np.int64]]

    @property
    def reach(self) -> int:
        """The largest sum, in steps."""
        return sum(int(counts.max()) for counts in self.steps)

    def sums(self, size: int) -> Array:
        """The sums that belong to so many coefficients."""
        return np.asarray(self.least + self.width * np.arange(size))


def grid_of(weights: Array, domains: list[Array]) -> Grid:
    """The coarsest grid that holds every record's weighted values."""
    # Long rows of records count alike: each kind is laid out once and then shared.
    kinds = [(float(w), id(domain)) for w, domain in zip(weights, domains, strict=True)]
    products: dict[tuple[float, int], Array] = {}
    for record, (kind, domain) in enumerate(zip(kinds, domains, strict=True)):
        if kind not in products:
            products[kind] = kind[0] * domain
            _check_whole(record, products[kind])
    above = {
        kind: np.rint(products_of - products_of.min()).astype(np.int64)
        for kind, products_of in products.items()
    }
    width = (
        int(np.gcd.reduce([int(np.gcd.reduce(products_of)) for products_of in above.values()])) or 1
    )
    least = {kind: float(products_of.min()) for kind, products_of in products.items()}
    steps = {kind: products_of // width for kind, products_of in above.items()}
    return Grid(sum(least[kind] for kind in kinds), float(width), [steps[kind] for kind in kinds])


def _check_whole(record: int, values: Array) -> None:
    if not on_grid(values):
        _checks.refuse(
            f"weight times value of record {record}",
            "be whole, as sums are laid out on whole numbers (change the unit)",
            values.tolist(),
        )


def on_grid(values: Array) -> bool:
    """Whether these are whole numbers whose sums a double holds."""
    return bool(np.all(values == np.rint(values)) and np.abs(values).max() < 2**40)


def check_work(states: int, records: int, reach: int, model: str) -> None:
    """Refuse laws of sums that would take minutes, with what can be asked instead."""
    work = states * max(states * records, reach) * (reach + 1)
    if work > MOST_WORK:
        raise Unsupported(
            f"the law of this sum takes {count_in_words(work)} steps for this {model}, more than "
            f"{short(MOST_WORK, 2)}; use coarser units, fewer records or, for the tails of Laplace "
            "noise on a chain, chain_log_mgf"
        )


def emitted(polynomials: Array, steps: NDArray[np.int64], allowed: NDArray[np.bool_]) -> Array:
    """Each state's polynomial moved up by that state's steps; states not allowed vanish."""
    states, size = polynomials.shape
    moved = np.full((states, size + int(steps.max())), -np.inf)
    for state in np.flatnonzero(allowed):
        moved[state, steps[state] : steps[state] + size] = polynomials[state]
    return moved


def product(polynomials: list[Array]) -> Array:
    """The product of many polynomials, halves first, so that sizes stay even."""
    while len(polynomials) > 1:
        deadline.check()
        odd = polynomials[-1:] if len(polynomials) % 2 else []
        pairs = zip(polynomials[::2], polynomials[1::2], strict=False)
        polynomials = [logpoly.multiply(left, two) for left, two in pairs] + odd
    return polynomials[0] if polynomials else np.zeros(1)
