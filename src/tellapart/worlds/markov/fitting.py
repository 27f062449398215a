"""Markov chains fitted to observed sequences, with confidence sets that hold at any time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.chain_sets import ChainSet
from tellapart.worlds.markov.marginals import stationary_law
from tellapart.worlds.markov.reversal import reversed_chain
from tellapart.worlds.markov.sequences import Missing, counted_as, gathered, numbered
from tellapart.worlds.markov.step import EPS
from tellapart.worlds.models.base import check_values

Counts = NDArray[np.int64]
_SMOOTHING = 0.5


@dataclass(frozen=True, eq=False)
class FittedChain:
    """A chain as data show it: counts, an estimate, and all chains that they leave possible.

    ``counts[i, j]`` is how often state j followed state i, ``starts[i]`` how many sequences began
    in i; ``values`` is what each state counts in a sum. An estimate is no safe side: noise chosen
    for it is too little about half the time. Noise chosen for ``confidence_set`` is not, with the
    stated confidence.
    """

    states: tuple[Any, ...]
    values: Array
    counts: Counts
    starts: Counts
    length: int
    confidence: float

    @property
    def coding(self) -> dict[Any, float]:
        """What each state counts in a sum."""
        return dict(zip(self.states, self.values.tolist(), strict=True))

    @property
    def transition(self) -> Array:
        """The estimate of P(next = j | now = i): each count and 1/2, so that nothing is 0."""
        return _smoothed(self.counts)

    @property
    def backward(self) -> Array:
        """The estimate of P(previous = j | now = i), for a chain that has run for ever."""
        forward = self.transition
        return np.asarray(reversed_chain(forward, stationary_law(forward), length=2)[0])

    @property
    def unseen(self) -> tuple[tuple[Any, Any], ...]:
        """The moves (from, to) that the data do not show; only smoothing makes them possible."""
        cells = np.argwhere(self.counts == 0)
        return tuple((self.states[i], self.states[j]) for i, j in cells)

    def chain(self, length: int | None = None, *, stationary: bool = True) -> MarkovChain:
        """The estimated chain, begun long ago or as the sequences in the data did.

        ``length`` is that of the longest sequence unless given.
        """
        records = self.length if length is None else length
        if stationary:
            return MarkovChain.stationary(self.transition, records, self.values)
        return MarkovChain(_smoothed(self.starts), self.transition, records, self.values)

    @cached_property
    def confidence_set(self) -> ChainSet:
        """All chains that the data leave possible, with the stated confidence.

        Each transition probability has an interval, and all of them hold at once with at least
        this confidence. They rest on this: from each state the next is drawn by one and the same
        law, whatever came before (a Markov chain, the same for all sequences and times), and
        where a sequence stops or has a gap does not depend on what came next. How often a state
        was visited is itself random; the intervals hold for any such number (Ville's inequality
        for a mixture of wagers), not just for one that was fixed beforehand.

        Backwards the same counts are read from the end, which needs chains that have run for
        ever, watched for a time that does not depend on them. With two states such chains look
        alike in both directions, so nothing is counted twice. The set bounds stationary chains.
        """
        size = len(self.states)
        level = 1 - self.confidence
        if size == 2:
            forward = _box(self.counts, level / 2, self.transition)
            return ChainSet(forward, None, self.length, self.values, self.confidence)
        share = level / (2 * size**2)
        return ChainSet(
            _box(self.counts, share, self.transition),
            _box(self.counts.T, share, self.backward),
            self.length,
            self.values,
            self.confidence,
        )


def fit_chain(
    data: Any,
    *,
    column: str | None = None,
    by: str | None = None,
    order: str | None = None,
    states: Sequence[Any] | None = None,
    length: int | None = None,
    confidence: float = 0.95,
    values: Sequence[float] | Mapping[Any, float] | None = None,
    missing: Missing = "refuse",
) -> FittedChain:
    """Learn from data how a person's states follow each other, and how surely.

    ``data`` is a sequence of states, a list of sequences, a matrix with one sequence per row, or a
    table: pandas, Polars, Arrow, a dict of columns, or the path of CSV or Parquet files (extra
    ``files``). Of a table ``column`` holds the states, ``by`` who they belong to (one sequence
    each) and ``order`` the time, by which rows are sorted; steps of time are taken as equal.

    States are numbered in rising or alphabetical order, or as ``states`` lists them (also ones
    that the data never visit). ``values`` says what each counts in a sum, in that order or by
    name: by default a number counts as itself, and text as its place, 0, 1, .... Missing states
    are refused with their row unless ``missing="split"`` begins a new sequence there.

    >>> fitted = fit_chain(list("ssssrrssssrrrsss"), values={"s": 0, "r": 1})
    >>> fitted.states, fitted.counts.tolist()
    (('r', 's'), [[3, 2], [2, 8]])
    """
    confidence = _checks.inside_unit(confidence=confidence)
    sequences = gathered(data, column, by, order, missing)
    known, numbers = numbered(sequences, states)
    counts = np.zeros((len(known), len(known)), dtype=np.int64)
    starts = np.zeros(len(known), dtype=np.int64)
    for sequence in numbers:
        starts[sequence[0]] += 1
        np.add.at(counts, (sequence[:-1], sequence[1:]), 1)
    if not counts.any():
        _checks.refuse("data", "show at least one step from a state to the next", "none")
    longest = max(sequence.size for sequence in numbers)
    counted = check_values(len(known), values=counted_as(known, values))
    records = _checks.whole(1, 10**7, length=longest if length is None else length)
    for array in (counts, starts):
        array.flags.writeable = False
    return FittedChain(known, counted, counts, starts, records, confidence)


def _smoothed(counts: Counts) -> Array:
    more = counts + _SMOOTHING
    return np.asarray(more / more.sum(axis=-1, keepdims=True))


def _box(counts: Counts, level: float, estimate: Array) -> tuple[Array, Array]:
    """Intervals of all cells, made to hold the estimate, and cut where a row's sum of 1 says so."""
    visits = counts.sum(axis=1, keepdims=True)
    if len(counts) == 2:
        first_low, first_high = anytime(counts[:, :1], visits, level)
        low = np.hstack([first_low, 1 - first_high])
        high = np.hstack([first_high, 1 - first_low])
    else:
        low, high = anytime(counts, visits, level)
    low, high = np.minimum(low, estimate), np.maximum(high, estimate)
    slack = len(counts) * EPS
    others_low = low.sum(axis=1, keepdims=True) - low
    others_high = high.sum(axis=1, keepdims=True) - high
    return (
        np.clip(np.maximum(low, 1 - others_high - slack), 0.0, 1.0),
        np.clip(np.minimum(high, 1 - others_low + slack), 0.0, 1.0),
    )


def anytime(successes: Any, trials: Any, level: float) -> tuple[Array, Array]:
    """A confidence sequence for p: intervals that miss it with probability at most ``level``.

    Rounded outward; no trials give [0, 1]. They hold at all n at once, whatever made one stop:
    also where n is the number of times that a chain came by. A mixture of all p with weights
    Beta(1/2, 1/2) bets against one p, and its likelihood ratio

        R(p) = B(s + 1/2, n − s + 1/2)/B(1/2, 1/2) / (p^s·(1 − p)^(n − s))

    is a martingale under p that starts at 1, so that it ever reaches 1/level with probability at
    most ``level`` (Ville). Robbins (1970); Waudby-Smith, Ramdas (2020) for this form, the
    prior-posterior ratio.
    """
    s, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    return _low_end(s, n, level), _complement(_low_end(n - s, n, level))


def _complement(low: Array) -> Array:
    """The same end seen from the other outcome, rounded up."""
    return np.where(low > 0, np.minimum((1 - low) * (1 + 4 * EPS), 1.0), 1.0)


def _low_end(s: Array, n: Array, level: float) -> Array:
    """The largest p found below s/n at which the bet has surely been won."""
    ends = np.zeros(s.shape)
    some = s > 0
    if not some.any():
        return ends
    k, trials = s[some], n[some]
    won = betaln(k + 0.5, trials - k + 0.5) - math.log(math.pi)

    def surely(p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            likely = xlogy(k, p) + xlog1py(trials - k, -p)
            # What rounding may have added to a difference of two large numbers.
            slack = 64 * EPS * (1 + np.abs(won) + np.abs(likely))
            return np.where(p > 0, won - likely - slack + math.log(level), np.inf)

    ends[some] = solve.falling_root(surely, np.zeros(k.shape), k / trials)[0]
    return ends
