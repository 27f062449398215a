"""Two laws of a true answer through a channel with finitely many outputs."""

from __future__ import annotations

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound
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
