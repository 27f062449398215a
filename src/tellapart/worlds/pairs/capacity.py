"""The most that an output can tell of an input, whatever the prior: a channel's capacity."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.worlds.models.base import logs_of

_MOST_STEPS = 500


class Capacity(NamedTuple):
    """Between what bounds the capacity lies, in nats, and the prior that attains the lower one.

    Any prior gives both: what it tells on average, and the largest divergence of an input's law
    from the mixture (Blahut 1972; Arimoto 1972).
    """

    lower: float
    upper: float
    prior: Array


def capacity(log_masses: Array, gap: float = 1e-11) -> Capacity:
    """What the worst prior lets an outcome tell of the law that holds, on average.

    ``log_masses`` has a row for each law. Steps of Blahut and Arimoto are taken, or Newton's
    wherever they gain more, until the bounds are this close.
    """
    logs = log_masses[:, (log_masses > -np.inf).any(axis=0)]
    prior = np.full(logs.shape[0], 1 / logs.shape[0])
    apart = _divergences(logs, _mixed(logs, prior))
    best = Capacity(float(prior @ apart), float(apart.max()), prior)
    for _ in range(_MOST_STEPS):
        deadline.check()
        if best.upper - best.lower <= gap:
            break
        tried = [_blahut(prior, apart), *_newton(logs, prior, apart)]
        mixtures = [(one, _mixed(logs, one)) for one in tried]
        # Where an outcome has become impossible, the input that shows it was given up too early.
        found = [(one, _divergences(logs, mix)) for one, mix in mixtures if np.isfinite(mix).all()]
        prior, apart = max(found, key=lambda pair: float(pair[0] @ pair[1]))
        best = Capacity(
            max(best.lower, float(prior @ apart)), min(best.upper, float(apart.max())), prior
        )
    return best


def _mixed(logs: Array, prior: Array) -> Array:
    """Log-masses for someone who believes in each law with these probabilities."""
    return np.asarray(logpoly.total(logs + logs_of(prior)[:, None], axis=0))


def _divergences(logs: Array, mixture: Array) -> Array:
    """How far each law is from a mixture of them, in nats: a sum of terms that are at least 0."""
    away = np.where(logs > -np.inf, logs - mixture, 0.0)
    gained = np.where(logs > -np.inf, np.expm1(away), -1.0)
    return np.asarray((np.exp(logs) * away - np.exp(mixture) * gained).sum(axis=1))


def _blahut(prior: Array, apart: Array) -> Array:
    """A step that never loses."""
    tilted = prior * np.exp(apart - apart.max())
    return np.asarray(tilted / tilted.sum())


def _newton(logs: Array, prior: Array, apart: Array) -> list[Array]:
    """Towards the best prior of the quadratic model, whole and part of the way.

    Among weights that are at least 0 that is a least-squares problem; a heavy row makes them sum
    to 1, and a little on the diagonal keeps inputs apart that outputs do not.
    """
    import scipy.optimize  # slow to import

    optimize: Any = scipy.optimize
    rows = np.exp(logs - _mixed(logs, prior) / 2)
    curved = rows @ rows.T
    curved += 1e-10 * np.trace(curved) * np.eye(prior.size)
    root = np.linalg.cholesky(curved)
    aim = np.linalg.solve(root, curved @ prior + apart)
    heavy = 1e5 * np.sqrt(curved.max())
    try:
        found = optimize.nnls(
            np.vstack([root.T, np.full(prior.size, heavy)]), np.append(aim, heavy)
        )[0]
    except RuntimeError:  # it did not settle; the other step still gains
        return []
    found /= found.sum()
    return [prior + share * (found - prior) for share in (1.0, 0.3, 0.03)]
