"""Moment generating functions of a Markov chain's sum, which Laplace tails show of each record.

Far out, the ratio of two answers' laws under Laplace noise of scale b is a ratio of means of
e^(±f/b). These follow from one pass forward and one backward, with no law of any sum, and for
endless chains from the Perron vectors of P·diag(e^(rate·value)).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart._numeric.text import short
from tellapart.errors import NotCertified, Unsupported
from tellapart.worlds.markov.chain import MarkovChain, occupation
from tellapart.worlds.markov.marginals import stationary_law
from tellapart.worlds.models.base import Known, check_known, check_table, check_values, logs_of
from tellapart.worlds.models.queries import Query, Sum, weights_of

_POLISH, _LEFT = 64, 1e-10


def chain_log_mgf(
    chain: MarkovChain, rates: Any, query: Query | None = None, known: Known | None = None
) -> Array:
    """What the tails of Laplace noise tell of every record of a chain.

    That is log E[e^(rate·f) | record t = a], with axes rate, t and a; f is the sum by default.
    Rates 1/b and -1/b decide the two tails under Laplace noise of scale b. Values of probability
    0 read NaN, as there is nothing to condition on.

    >>> chain = MarkovChain([0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]], length=1)
    >>> chain_log_mgf(chain, [1, -1])
    array([[[ 0.,  1.]],
    <BLANKLINE>
           [[ 0., -1.]]])
    """
    _checks.instance(MarkovChain, "a MarkovChain", chain=chain)
    tilts = np.concatenate([[0.0], _checks.vector(rates=rates)])
    weights = weights_of(Sum() if query is None else query, chain.records)
    masks = np.where(np.array(chain._allowed(known)), 0.0, -np.inf)
    emissions = np.multiply.outer(tilts, np.multiply.outer(weights, chain.domain(0))) + masks
    logs = occupation(chain.initial, chain.transition, emissions)
    check_known(float(logs[0].max()), known)
    with np.errstate(invalid="ignore"):
        return np.asarray(logs[1:] - logs[0])


def tail_pair(tails: Array) -> tuple[int, int, int]:
    """Of a record the rate at which two values are told apart most, and both values' places.

    ``tails`` is what chain_log_mgf says of that record, with axes rate and value.
    """
    high, low = np.nanargmax(tails, axis=1), np.nanargmin(tails, axis=1)
    rates = np.arange(len(tails))
    rate = int(np.argmax(tails[rates, high] - tails[rates, low]))
    return rate, int(high[rate]), int(low[rate])


def interior_log_mgf(transition: Any, rates: Any, values: Any = None) -> Array:
    """What the tails of Laplace noise tell of a record in the middle of an endless chain.

    That is the limit of log E[e^(rate·f) | X = a] - log E[e^(rate·f)], with axes rate and a.
    """
    rows = check_table("transition", transition)
    table = check_table("transition", rows, (rows.shape[0], rows.shape[0]))
    counts = check_values(table.shape[0], values=values)
    _check_forgetful(table)
    logs = np.log(stationary_law(table))
    return np.array(
        [_one_limit(table, rate * counts) - logs for rate in _checks.vector(rates=rates)]
    )


def _one_limit(table: Array, tilt: Array) -> Array:
    """Logarithms of left times right Perron vector, whose sum is 1."""
    matrix = logs_of(table) + (tilt - tilt.max())
    logs = _log_perron(matrix) + _log_perron(matrix.T)
    return np.asarray(logs - logpoly.total(logs))


def _log_perron(matrix: Array) -> Array:
    """Logarithms of the positive right eigenvector of a matrix given by its logarithms.

    Steps of the chain, taken in logarithms, give the small entries their digits.
    """
    roots, vectors = np.linalg.eig(np.exp(matrix))
    vector = logs_of(np.abs(np.real(vectors[:, np.argmax(np.abs(roots))])))
    for _ in range(_POLISH):
        vector = logpoly.total(matrix + vector, axis=1)
        vector = vector - vector.max()
    left = np.ptp(logpoly.total(matrix + vector, axis=1) - vector)
    if not left <= _LEFT:
        raise NotCertified(
            f"the Perron vector is off by a factor e^{short(left, 2)}; ask chain_log_mgf "
            "for a length"
        )
    return np.asarray(vector)


def _check_forgetful(table: Array) -> None:
    """Every state must be reachable from every other in some one number of steps (Wielandt)."""
    size = table.shape[0]
    reach, steps = (table > 0).astype(float), 1
    while steps < size**2 - 2 * size + 2:
        deadline.check()
        reach, steps = np.minimum(reach @ reach, 1.0), 2 * steps
    if not np.all(reach > 0):
        raise Unsupported(
            "a chain that never forgets its start has no limit in the middle; "
            "ask chain_log_mgf for a length"
        )
