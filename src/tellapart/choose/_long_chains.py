"""Noise for every record of a long chain at once, where laws of all sums would be too many.

An upper bound for all chains says how much noise suffices; what the tails of Laplace noise see
says how much is needed. For two states that tend to stay the two agree, so that the answer is
exact; elsewhere `pufferfish` is asked again and again, which is on the safe side, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.choose.limit import Limit
from tellapart.errors import NotCertified
from tellapart.mechanisms.noise import Laplace
from tellapart.risk.rates import epsilon as epsilon_of
from tellapart.worlds.fitting import chain_epsilon_bound, chain_scale_bound
from tellapart.worlds.frameworks.pufferfish import pufferfish
from tellapart.worlds.frameworks.standing import Side, Standing
from tellapart.worlds.models.chain import MarkovChain
from tellapart.worlds.models.queries import Query
from tellapart.worlds.models.secrets import RecordValue, Secret
from tellapart.worlds.models.tilted import chain_log_mgf, tail_pair
from tellapart.worlds.secret_test import Model, SecretTest, tell_apart

# Shorter chains are searched record by record, to the last double.
_SHORT = 50
_TIGHT = 1e-8


class Found(NamedTuple):
    """Noise that suffices, the test that comes closest, impossible values, and if it is needed."""

    release: Laplace
    tightest: SecretTest
    skipped: tuple[Secret, ...]
    exact: bool


def noise(
    models: Sequence[Model], query: Any, limits: Sequence[Limit], family: Any, pairs: Any
) -> Found | None:
    """The answer for long chains under a limit on ε; None where another route is to be taken."""
    chains = [one for one in models if isinstance(one, MarkovChain)]
    wanted = _pure(limits)
    if len(chains) < len(models) or wanted is None or family is not Laplace or pairs is not None:
        return None
    longest = max(chain.length for chain in chains)
    if longest <= _SHORT or not isinstance(query, Query):
        return None
    scales = [chain_scale_bound(chain, wanted, query) for chain in chains]
    scale = max(scales)
    worst = chains[int(np.argmax(scales))]
    record = int(np.nanargmax(chain_epsilon_bound(worst, scale, query)))
    test = _best_pair(worst, query, record, scale)
    exact = test.epsilon >= wanted * (1 - _TIGHT)
    if not exact:
        scale, exact = _by_windows(chains, query, wanted, scale)
        test = _attained(chains, query, scale)
    return Found(Laplace(scale), test, _impossible(chains), exact)


def _by_windows(
    chains: Sequence[MarkovChain], query: Query, epsilon: float, enough: float
) -> tuple[float, bool]:
    """Less noise than is enough for sure, where a closer look at each record allows it."""
    seen: dict[float, Standing] = {}

    def excess(log_scale: Array) -> Array:
        scale = math.exp(float(log_scale[0]))
        seen[scale] = pufferfish(chains, query, Laplace(scale))
        return np.array([math.log(max(seen[scale].epsilon, 1e-300) / epsilon)])

    high = np.array([math.log(enough)])
    if excess(high)[0] > 0:  # rounding, at the very end of what was proved
        return enough, False
    low = high - 1.0
    while excess(low)[0] <= 0:
        low = 2 * low - high
        if low[0] < math.log(enough) - 60:  # the records hardly count
            return enough, False
    scale = math.exp(float(solve.falling_root(excess, low, high, 1e-10)[1][0]))
    return scale, seen[scale].side is Side.EXACT


def _attained(chains: Sequence[MarkovChain], query: Query, scale: float) -> SecretTest:
    """The two values that are told apart most, as far as is known."""
    found = [pufferfish(chain, query, Laplace(scale)).witness for chain in chains]
    ratios = [-math.inf if one is None else one.log_ratio for one in found]
    place = int(np.argmax(ratios))
    worst = found[place]
    if worst is None:
        raise NotCertified("no output was found that tells anything of a chain")
    return tell_apart(chains[place], query, Laplace(scale), worst.likelier, worst.other)


def _pure(limits: Sequence[Limit]) -> float | None:
    """The ε that is asked, if that is the only limit."""
    if len(limits) != 1 or limits[0].least or limits[0].measure is not epsilon_of:
        return None
    return limits[0].bound if dict(limits[0].arguments).get("delta") == 0 else None


def _best_pair(chain: MarkovChain, query: Query, record: int, scale: float) -> SecretTest:
    """The two values of a record that far-out outputs tell apart best."""
    tails = chain_log_mgf(chain, [1 / scale, -1 / scale], query)[:, record]
    _, *places = tail_pair(tails)
    values = chain.domain(record)
    h1, h0 = (RecordValue(record, float(values[place])) for place in places)
    return tell_apart(chain, query, Laplace(scale), h1, h0)


def _impossible(chains: Sequence[MarkovChain]) -> tuple[RecordValue, ...]:
    """Values that a record cannot have."""
    found = {secret for chain in chains for secret in chain.impossible}
    return tuple(sorted(found, key=lambda one: (one.record, one.value)))
