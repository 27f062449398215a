"""Chains that data do not rule out: transition probabilities between bounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart.errors import InvalidArgument
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.reversal import reversals
from tellapart.worlds.models.base import check_values
from tellapart.worlds.models.queries import Query

_ROUNDING = 1e-9
_SHRINKS = 60


@dataclass(frozen=True, eq=False)
class ChainSet:
    """Every chain that an attacker may believe in: rows between a low and a high matrix.

    ``forward`` bounds P(next = j | now = i) and ``backward`` P(previous = j | now = i), each as a
    pair (low, high) of matrices with rows i. Two-state chains that have run for ever look the same
    in both directions, so that for two states ``backward`` may be left out. ``confidence`` is that
    of the data the set comes from, if it does. Values are 0, 1, ... unless given.

    >>> ChainSet(([[0.8, 0.1], [0.3, 0.5]], [[0.9, 0.2], [0.5, 0.7]]), length=100).states
    2
    """

    forward: tuple[Array, Array]
    backward: tuple[Array, Array] | None = None
    length: int = 1
    values: Array | None = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        forward = _check_box("forward", self.forward)
        size = len(forward[0])
        if self.backward is None and size > 2:
            _checks.refuse("backward", "be given for more than 2 states", None)
        backward = forward if self.backward is None else _check_box("backward", self.backward)
        if backward[0].shape != forward[0].shape:
            _checks.refuse("backward", f"have {size} states, as forward", len(backward[0]))
        fields: dict[str, Any] = {
            "forward": forward,
            "backward": backward,
            "length": _checks.whole(1, 10**7, length=self.length),
            "values": check_values(size, values=self.values),
        }
        if self.confidence is not None:
            fields["confidence"] = _checks.inside_unit(confidence=self.confidence)
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.forward[0])

    def of_length(self, length: int) -> ChainSet:
        """The same bounds for chains with so many records."""
        return replace(self, length=length)

    def epsilon_bound(self, scale: float, query: Query | None = None) -> Array:
        """At most how much Laplace noise on a sum gives away about each record of any chain here.

        As ``chain_epsilon_bound``.
        """
        from tellapart.worlds.markov.bounds import chain_epsilon_bound

        return chain_epsilon_bound(self, scale, query)

    def scale_bound(self, epsilon: float, query: Query | None = None) -> float:
        """A scale of Laplace noise that keeps the promise ε for every chain here.

        As ``chain_scale_bound``.
        """
        from tellapart.worlds.markov.bounds import chain_scale_bound

        return chain_scale_bound(self, epsilon, query)

    def contains(self, chain: MarkovChain) -> bool:
        """Whether the chain keeps all bounds at all of its times, read in both directions."""
        _checks.instance(MarkovChain, "a MarkovChain", chain=chain)
        if chain.initial.size != self.states:
            _checks.refuse("chain", f"have {self.states} states", chain.initial.size)
        boxes, possible = reversals(chain)
        back = all(
            _inside(self.backward, box.high, possible[t + 1])
            for t, box in _distinct(boxes, possible)
        )
        return back and _inside(self.forward, chain.transition, possible[:-1].any(axis=0))

    def members(self, number: int, seed: int) -> list[MarkovChain]:
        """Some chains of the set, its corners first: what they leak bounds the worst from below.

        All are stationary. Corners that are none of the set's chains, read backwards, are moved
        towards its middle until they are.
        """
        number = _checks.whole(1, number=number)
        rng = np.random.default_rng(_checks.whole(0, seed=seed))
        corners = itertools.chain(_corners(self.forward), _random(self.forward, rng))
        drawn = (self._towards_middle(one) for one in corners)
        return list(itertools.islice((one for one in drawn if one is not None), number))

    def _towards_middle(self, rows: Array) -> MarkovChain | None:
        centre = middle(*self.forward)
        for share in [*0.8 ** np.arange(_SHRINKS), 0.0]:
            try:
                mixed = share * rows + (1 - share) * centre
                chain = MarkovChain.stationary(mixed, self.length, self.values)
            except InvalidArgument:  # no single stationary law
                continue
            if self.contains(chain):
                return chain
        return None


def filled(low: Array, high: Array, order: Any) -> Array:
    """A corner: places get all they may have, in this order, until the mass is spent."""
    row, left = low.copy(), 1 - low.sum()
    for place in order:
        more = min(high[place] - low[place], max(left, 0.0))
        row[place], left = row[place] + more, left - more
    return np.asarray(row / row.sum())


def middle(low: Array, high: Array) -> Array:
    """In each row, the law that lies as far along from low to high in every place."""
    room = (high - low).sum(axis=-1, keepdims=True)
    share = np.divide(1 - low.sum(axis=-1, keepdims=True), room, out=room * 0, where=room > 0)
    rows = low + np.clip(share, 0.0, 1.0) * (high - low)
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


def _check_box(name: str, given: Any) -> tuple[Array, Array]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        _checks.refuse(name, "be a pair (low, high) of matrices", given)
    low, high = (np.array(_checks.probabilities(**{name: one})) for one in given)
    if low.ndim != 2 or low.shape[0] != low.shape[1] or low.shape != high.shape or len(low) < 2:
        _checks.refuse(name, "be two square matrices of one size", (low.shape, high.shape))
    for row, (least, most) in enumerate(zip(low, high, strict=True)):
        if np.any(least > most) or least.sum() > 1 + _ROUNDING or most.sum() < 1 - _ROUNDING:
            rule = "have low ≤ high, with a law between them"
            _checks.refuse(f"{name} row {row}", rule, (least.tolist(), most.tolist()))
    low.flags.writeable = high.flags.writeable = False
    return low, high


def _inside(bounds: Any, rows: Array, asked: Any) -> bool:
    low, high = bounds
    kept = (rows >= low - _ROUNDING) & (rows <= high + _ROUNDING)
    return bool(kept[asked].all())


def _distinct(boxes: list[Any], possible: Any) -> Iterator[tuple[int, Any]]:
    """Each box once where it and the possible states repeat."""
    last: Any = None
    for t, box in enumerate(boxes):
        if box is not last or not np.array_equal(possible[t + 1], possible[t]):
            yield t, box
        last = box


def _corners(bounds: tuple[Array, Array]) -> Iterator[Array]:
    """For each choice of a first state in every row, the corner with most mass there.

    Only for few states, as there are n^n of them.
    """
    low, high = bounds
    states = len(low)
    if states > 3:
        return
    orders = [np.roll(np.arange(states), -first) for first in range(states)]
    for chosen in itertools.product(orders, repeat=states):
        yield np.array([filled(a, b, o) for a, b, o in zip(low, high, chosen, strict=True)])


def _random(bounds: tuple[Array, Array], rng: np.random.Generator) -> Iterator[Array]:
    """Corners filled in random orders, and points between them and the middle."""
    low, high = bounds
    centre = middle(low, high)
    while True:
        deadline.check()
        orders = [rng.permutation(len(low)) for _ in low]
        corner = np.array([filled(a, b, o) for a, b, o in zip(low, high, orders, strict=True)])
        share = rng.choice([1.0, rng.random()])
        yield share * corner + (1 - share) * centre
