"""Blowfish: neighbours under a policy, which says what must not be told apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.frameworks.standing import Side, Standing
from tellapart.worlds.models.queries import Linear, Sum, weights_of
from tellapart.worlds.pairs.finite import log_ratio
from tellapart.worlds.policies import Policy
from tellapart.worlds.releases import Channel, Release, check_release
from tellapart.worlds.secret_test import Witness

_PLAIN = "all other records known, and any two values that the policy joins, whatever the model"
_COUNTS = (
    "databases are told apart, not beliefs: a prior on those that the known counts leave may be "
    "moved further, so read it beside Pufferfish"
)


def blowfish(policy: Policy, query: Any, release: Release) -> Standing:
    """What an output can tell of two databases that a policy says must look alike.

    Its ε adds up over releases under the same policy (He, Machanavajjhala and Ding 2014). With
    known counts it bounds no one's belief: some prior may be moved further.

    >>> import tellapart as ta
    >>> from tellapart.worlds import Sum, policies
    >>> near = policies.Policy(range(5), policies.DistanceGraph(2), records=3)
    >>> blowfish(near, Sum(), ta.Laplace(4)).epsilon
    0.5
    """
    _checks.instance(Policy, "a policies.Policy", policy=policy)
    check_release(release)
    through = isinstance(release, Channel)
    found = _through(policy, query, release) if through else _noisy(policy, query, release)
    epsilon = 0.0 if found is None else found.log_ratio
    terms = _COUNTS if policy.constraints else _PLAIN
    return Standing("Blowfish", epsilon, Side.EXACT, found, terms, composes=True)


def _noisy(policy: Policy, query: Any, release: Release) -> Witness | None:
    """Noise tells two answers apart by their distance alone."""
    widest = policy.sensitivity(query)
    if widest.pair is None or widest.value == 0:
        return None
    ratio = widest.value / release.scale if isinstance(release, Laplace) else math.inf
    one, other = widest.pair
    if not isinstance(query, Sum | Linear):
        return Witness(one, other, None, ratio)
    rising = _answer(query, one) > _answer(query, other)
    return Witness(one, other, math.inf if rising else -math.inf, ratio)


def _through(policy: Policy, query: Any, channel: Any) -> Witness | None:
    """A channel may tell any two answers apart: every pair of neighbours is asked."""
    best: Witness | None = None
    asked = set()
    pairs = policy.neighbours()
    for one, other in [*pairs, *((other, one) for one, other in pairs)]:
        answers = _answer(query, one), _answer(query, other)
        if answers in asked:
            continue
        asked.add(answers)
        rows = channel.log_chances(np.array(answers))
        ratios = log_ratio(rows[0], rows[1])
        place = int(np.argmax(ratios))
        if ratios[place] > (0.0 if best is None else best.log_ratio):
            best = Witness(one, other, channel.outputs[place], float(ratios[place]))
    return best


def _answer(query: Any, database: tuple[Any, ...]) -> float:
    if isinstance(query, Sum | Linear):
        return math.fsum(weights_of(query, len(database)) * np.array(database, dtype=float))
    return _checks.finite(answer=query(database))
