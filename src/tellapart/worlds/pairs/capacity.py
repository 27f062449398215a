"""The most that an output can tell of an input, whatever the prior: a channel's capacity."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tellapart._checks import Array
from tellapart.worlds.pairs.information import Outcomes

_MOST_STEPS = 500


class Capacity(NamedTuple):
    """Between what bounds the capacity lies, in nats, and the prior that attains the lower one.

    Any prior gives both: what it tells on average, and the largest divergence of an input's law
    from the mixture (Blahut 1972; Arimoto 1972).
    """

    lower: float
    upper: float
    prior: Array


def capacity(seen: Outcomes, gap: float = 1e-11) -> Capacity:
    """What the worst prior lets an outcome tell of the law that holds, on average.

    Steps of Blahut and Arimoto, each followed by one of Newton's wherever that gains more, until
    the bounds are this close.
    """
    size = seen.logs.shape[0]
    prior = np.full(size, 1 / size)
    apart = seen.divergences(seen.mixed(prior))
    best = Capacity(float(prior @ apart), float(apart.max()), prior)
    for _ in range(_MOST_STEPS):
        if best.upper - best.lower <= gap:
            break
        tried = [_blahut(prior, apart), *_newton(seen, prior, apart)]
        mixtures = [(one, seen.mixed(one)) for one in tried]
        # Where an outcome has become impossible, the input that shows it was given up too early.
        found = [(one, seen.divergences(mix)) for one, mix in mixtures if np.isfinite(mix).all()]
        prior, apart = max(found, key=lambda pair: float(pair[0] @ pair[1]))
        best = Capacity(
            max(best.lower, float(prior @ apart)), min(best.upper, float(apart.max())), prior
        )
    return best


def _blahut(prior: Array, apart: Array) -> Array:
    """A step that never loses."""
    tilted = prior * np.exp(apart - apart.max())
    return np.asarray(tilted / tilted.sum())


def _newton(seen: Outcomes, prior: Array, apart: Array) -> list[Array]:
    """Towards the best prior of the quadratic model, whole and part of the way.

    Among weights that are at least 0 that is a least-squares problem; a heavy row makes them sum
    to 1, and a little on the diagonal keeps inputs apart that outputs do not.
    """
    import scipy.optimize  # slow to import

    optimize: Any = scipy.optimize
    rows = np.exp(seen.logs - seen.mixed(prior) / 2)
    curved = (rows * seen.weights) @ rows.T
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
