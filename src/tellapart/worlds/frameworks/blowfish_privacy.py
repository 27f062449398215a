"""Blowfish: what a policy's neighbours are told apart by (He, Machanavajjhala and Ding 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart import _checks
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.frameworks.result import FrameworkResult, Side
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.pairs.curves import Extreme, furthest
from tellapart.worlds.policies import Policy
from tellapart.worlds.releases import Channel, Release, check_release
from tellapart.worlds.secret_test import Witness


def blowfish(policy: Policy, query: Any, release: Release) -> FrameworkResult:
    """How well databases that a policy calls neighbours are told apart by one release.

    With constraints this is indistinguishability of the policy's pairs and no more: someone with
    a prior on what the constraints leave open may learn more, so ask `pufferfish` beside it.

    >>> import tellapart as ta
    >>> from tellapart.worlds import Sum
    >>> from tellapart.worlds.policies import DistanceGraph
    >>> blowfish(Policy(range(5), DistanceGraph(2), records=3), Sum(), ta.Laplace(1)).epsilon
    2.0
    """
    _checks.instance(Policy, "a worlds.policies.Policy", policy=policy)
    check_release(release)
    if isinstance(release, Laplace):
        sensitivity = policy.sensitivity(query)
        epsilon, pair, output = sensitivity.value / release.scale, sensitivity.pair, None
    elif isinstance(release, Channel):
        epsilon, pair, output = _through_channel(policy, query, release)
    else:
        raise Unsupported(
            "under normal noise neighbours have no finite ε; ask for the curve of two answers: "
            "ta.Gaussian(sigma, sensitivity=policy.sensitivity(query).value).curve()"
        )
    witness = None if pair is None else Witness(pair[0], pair[1], output, epsilon)
    return FrameworkResult("Blowfish", epsilon, Side.EXACT, witness, _terms(policy), composes=True)


def _terms(policy: Policy) -> str:
    if policy.constraints:
        return (
            "the policy's minimal neighbours under its constraints; someone with a prior on "
            "the rest may learn more"
        )
    return "all other records are known, or independent of the target"


def _through_channel(policy: Policy, query: Any, release: Channel) -> tuple[float, Any, Any]:
    """The pair of neighbours whose answers the channel keeps apart best."""
    worst, where = Extreme(0.0, None), None
    seen: dict[tuple[float, float], Extreme] = {}
    for first, other in policy.neighbours():
        key = _answer(query, first), _answer(query, other)
        if key not in seen:
            laws = [FiniteLaw(np.array([x]), np.zeros(1)) for x in key]
            seen[key] = furthest(laws[0], laws[1], release)
        if abs(seen[key].log_ratio) > abs(worst.log_ratio):
            pair = (first, other) if seen[key].log_ratio > 0 else (other, first)
            worst, where = seen[key], pair
    return abs(worst.log_ratio), where, worst.output


def _answer(query: Any, database: tuple[Any, ...]) -> float:
    """A single true answer, as a channel takes no more."""
    if hasattr(query, "over"):
        return float(np.dot(query.over(len(database)), np.asarray(database, dtype=float)))
    if not callable(query):
        _checks.refuse("query", "be Sum(), Linear(weights) or a function of records", query)
    return _checks.finite(answer=query(database))
