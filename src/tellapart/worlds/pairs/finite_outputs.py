"""Likelihoods over finitely many outputs: a channel's, or those where Laplace noise is extreme.

Under Laplace noise a ratio of two mixtures is extreme at an atom, and through a channel there are
finitely many outputs. The largest log-ratio over all pairs of many laws is then the largest range
of their log-likelihoods at one of these outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.releases import Channel


def log_chances(law: FiniteLaw, channel: Channel) -> Array:
    """The log-probability of each output for someone to whom the answer has this law."""
    rows = channel.log_chances(law.values)
    return np.asarray(logpoly.total(rows + law.log_weights[:, None], axis=0))


def channel_pair(present: FiniteLaw, absent: FiniteLaw, channel: Channel) -> AtomicCurve:
    """The curve of two laws of a true answer of which only a channel's output is seen."""
    logs_1, logs_0 = log_chances(present, channel), log_chances(absent, channel)
    seen = (logs_1 > -np.inf) | (logs_0 > -np.inf)
    losses = log_ratio(logs_1[seen], logs_0[seen])
    return from_atoms(losses, np.exp(logs_0[seen]), np.exp(logs_1[seen]), Bound.EXACT)


def log_ratio(logs_1: Array, logs_0: Array) -> Array:
    """Differences of log-probabilities; 0 where both worlds find an output impossible."""
    with np.errstate(invalid="ignore"):
        ratios = logs_1 - logs_0
    return np.where(np.isnan(ratios), 0.0, ratios)


class Furthest(NamedTuple):
    """Which of some laws are told apart most, by which output, and by how much."""

    log_ratio: float
    likelier: int
    other: int
    output: Any


def furthest_of(laws: Sequence[FiniteLaw], release: Laplace | Channel) -> Furthest:
    """The two of these laws that some output tells apart most."""
    values = np.unique(np.concatenate([law.values for law in laws]))
    logs = np.full((len(laws), values.size), -np.inf)
    for row, law in zip(logs, laws, strict=True):
        row[np.searchsorted(values, law.values)] = law.log_weights
    seen = log_likelihoods(values, logs, release)
    wide = ranges(seen, axis=0)
    place = int(np.argmax(wide))
    output = values[place].item() if isinstance(release, Laplace) else _name(release, place)
    column = seen[:, place]
    return Furthest(float(wide[place]), int(column.argmax()), int(column.argmin()), output)


def log_likelihoods(values: Array, log_weights: Array, release: Laplace | Channel) -> Array:
    """For each law, a row of log-weights at these values, how likely it makes the outputs.

    Those are the values themselves under Laplace noise, where a common factor is left out.
    """
    if isinstance(release, Laplace):
        gaps = np.diff(values) / release.scale
        with np.errstate(invalid="ignore"):
            left = _faded(log_weights, gaps)
            right = _faded(log_weights[:, ::-1], gaps[::-1])[:, ::-1]
            # The atom itself is in both sweeps; the right one is taken from its neighbour on.
            beyond = np.full(log_weights.shape, -np.inf)
            beyond[:, :-1] = right[:, 1:] - gaps
            return np.asarray(np.logaddexp(left, beyond))
    rows = release.log_chances(values)
    return np.array([logpoly.total(rows + row[:, None], axis=0) for row in log_weights])


def ranges(logs: Array, axis: int | tuple[int, ...]) -> Array:
    """Largest less smallest of log-likelihoods; 0 where no law can make an output."""
    high, low = logs.max(axis=axis), logs.min(axis=axis)
    with np.errstate(invalid="ignore"):
        return np.where(high == -np.inf, 0.0, high - low)


def _name(channel: Channel, place: int) -> Any:
    names: Any = channel.outputs
    return names[place]


def _faded(log_weights: Array, gaps: Array) -> Array:
    """Log-sums of the weights so far, each faded by its distance."""
    logs = np.array(log_weights.T)
    for place, gap in enumerate(gaps, start=1):
        np.logaddexp(logs[place - 1] - gap, logs[place], out=logs[place])
    return logs.T
