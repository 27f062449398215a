"""How much an output tells of an input on average: mutual information, in nats.

Every release becomes finitely many outcomes with weights. Under Laplace noise, densities between
neighbouring atoms are sums of e^t and e^−t, whose logarithms have no singularity within π/2 of the
line: 12 nodes for each unit of noise leave nothing beyond rounding. Tails are single outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.special import roots_legendre

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.models.base import logs_of
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.pairs.finite import log_chances
from tellapart.worlds.releases import Channel, Release, check_release

_NODES, _SHARES = (half / 2 for half in roots_legendre(12))
# Further from every atom than this is too little to count: e^−40.
_FAR = 40.0
_MOST = 2**27


class Outcomes(NamedTuple):
    """What may be seen: a row of log-densities for each law, and the weight of each outcome."""

    logs: Array
    weights: Array

    def mixed(self, priors: Array) -> Array:
        """The log-densities for someone who believes in each law with these probabilities."""
        return np.asarray(logpoly.total(self.logs + logs_of(priors)[:, None], axis=0))

    def divergences(self, mixture: Array) -> Array:
        """How far each law is from a mixture of them, in nats."""
        away = np.where(self.logs > -np.inf, self.logs - mixture, 0.0)
        own, other = np.exp(self.logs), np.exp(mixture)
        gone = np.where(self.logs > -np.inf, np.expm1(away), -1.0)
        # Terms that are never negative, so that small divergences keep their digits.
        return np.asarray((own * away - other * gone) @ self.weights)

    def information(self, priors: Array) -> float:
        """What an outcome tells of which law holds, on average."""
        shown = priors > 0
        kept = Outcomes(self.logs[shown], self.weights)
        return float(priors[shown] @ kept.divergences(kept.mixed(priors[shown])))


def mutual_information(laws: Sequence[FiniteLaw], priors: Array, release: Release) -> float:
    """How much an output tells on average of which law the answer has, in nats.

    >>> from tellapart.worlds.releases import Channel
    >>> laws = [FiniteLaw.of({0: 1}), FiniteLaw.of({1: 1})]
    >>> mutual_information(laws, [0.5, 0.5], Channel({0: [1, 0], 1: [0, 1]}))  # ln 2
    0.6931471805599453
    """
    check_release(release)
    shares = _checks.pmf(priors=priors)
    if shares.size != len(laws):
        _checks.refuse("priors", f"be {len(laws)} numbers, one for each law", shares.size)
    return max(outcomes(laws, release).information(shares), 0.0)


def outcomes(laws: Sequence[FiniteLaw], release: Release) -> Outcomes:
    """All that a release may show of answers that have these laws."""
    for law in laws:
        if not isinstance(law, FiniteLaw):
            raise Unsupported("mutual information is worked out for answers with finite laws only")
    if isinstance(release, Channel):
        rows = np.array([log_chances(law, release) for law in laws])
        seen = (rows > -np.inf).any(axis=0)
        return Outcomes(rows[:, seen], np.ones(int(seen.sum())))
    if isinstance(release, Laplace):
        return _under_laplace(laws, release.scale)
    return _under_gaussian(laws, release.sigma)


def _under_laplace(laws: Sequence[FiniteLaw], scale: float) -> Outcomes:
    knots = _knots(reduce(np.union1d, [law.values / scale for law in laws]))
    gaps = np.diff(knots)
    _check_size(len(laws) * gaps.size * _NODES.size)
    logs = np.array([_spread(law, scale, knots) for law in laws])
    left, right = _swept(logs, gaps), _swept(logs[:, ::-1], gaps[::-1])[:, ::-1]
    steps = gaps[:, None] * (_NODES + 0.5)
    falling = left[:, :-1, None] - steps
    rising = (right[:, 1:] - gaps)[:, :, None] + steps
    inner = (np.logaddexp(falling, rising) - math.log(2)).reshape(len(laws), -1)
    tails = np.stack([right[:, 0], left[:, -1]], axis=1) - math.log(2)
    weights = np.append((gaps[:, None] * _SHARES).ravel(), [1.0, 1.0])
    return Outcomes(np.concatenate([inner, tails], axis=1), weights)


def _knots(atoms: Array) -> Array:
    """Atoms, and places between them no more than 1 apart as long as an atom is near."""
    added = [atoms]
    gaps = np.diff(atoms)
    for start, gap in zip(atoms[:-1][gaps > 1].tolist(), gaps[gaps > 1].tolist(), strict=True):
        if gap <= 2 * _FAR:
            added.append(np.linspace(start, start + gap, math.ceil(gap) + 1)[1:-1])
        else:
            reach = np.arange(1.0, _FAR + 1)
            added.extend([start + reach, start + gap - reach])
    return np.unique(np.concatenate(added))


def _spread(law: FiniteLaw, scale: float, knots: Array) -> Array:
    logs = np.full(knots.size, -np.inf)
    logs[np.searchsorted(knots, law.values / scale)] = law.log_weights
    return logs


def _swept(logs: Array, gaps: Array) -> Array:
    """Log-sums of the weights so far, each faded by its distance."""
    found = logs.copy()
    for place, gap in enumerate(gaps.tolist()):
        found[:, place + 1] = np.logaddexp(found[:, place] - gap, logs[:, place + 1])
    return found


def _under_gaussian(laws: Sequence[FiniteLaw], sigma: float) -> Outcomes:
    low = min(law.values[0] for law in laws) / sigma - 12
    high = max(law.values[-1] for law in laws) / sigma + 12
    # Two atoms d apart make a mixture vanish π/d off the line.
    step = min(0.5, 2 / (high - low - 24)) if high - low > 24 else 0.5
    pieces = math.ceil((high - low) / step)
    _check_size(pieces * _NODES.size * max(law.values.size for law in laws))
    width = (high - low) / pieces
    places = (low + width * (np.arange(pieces)[:, None] + _NODES + 0.5)).ravel()
    rows = [
        logpoly.total(law.log_weights - (places[:, None] - law.values / sigma) ** 2 / 2, axis=1)
        for law in laws
    ]
    weights = np.tile(width * _SHARES, pieces) / math.sqrt(2 * math.pi)
    return Outcomes(np.array(rows), weights)


def _check_size(size: int) -> None:
    if size > _MOST:
        raise Unsupported(
            f"an integral over {size} numbers is too large, at most {_MOST} are; ask coarser "
            "answers or more noise"
        )
