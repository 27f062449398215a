"""The least noise that keeps a promise about secrets, when data hang together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.choose import _long_chains, _worlds
from tellapart.choose._search import Infeasible
from tellapart.choose.limit import Limit, at_most
from tellapart.mechanisms.noise import Laplace
from tellapart.risk.rates import epsilon as epsilon_of
from tellapart.worlds.frameworks.standing import models_of
from tellapart.worlds.models.secrets import RecordValue, Secret
from tellapart.worlds.releases import Release
from tellapart.worlds.secret_test import Model, SecretTest

# Noise is searched between these; a root is as good as found at this relative width.
_LEAST, _MOST, _NARROW = 1e-9, 1e12, 1e-13


@dataclass(frozen=True)
class NoiseChoice:
    """An amount of noise that keeps every limit, and the test that comes closest to breaking one.

    ``exact`` is False where less noise may do, but none less is proved to. ``skipped`` lists
    secrets of probability 0, of which nothing can be told, and ``certain`` values of probability
    1, which no noise hides.
    """

    scale: float
    release: Release
    tightest: SecretTest
    limits: tuple[Limit, ...]
    skipped: tuple[Secret, ...]
    exact: bool = True
    certain: tuple[Secret, ...] = ()

    def __str__(self) -> str:
        wanted = " and ".join(str(limit) for limit in self.limits)
        return f"noise {self.scale:.6g} keeps {wanted}"


def noise(
    model: Model | Sequence[Model],
    query: Any,
    limits: Sequence[Limit],
    *,
    family: _worlds.Family = Laplace,
    pairs: Sequence[tuple[Secret, Secret]] | None = None,
    secrets: Sequence[RecordValue] | None = None,
) -> NoiseChoice:
    """The least noise with which no test of a secret breaks a limit, found by bisection.

    Limits on ε or any risk hold for every ``pairs`` of secrets, in both orders: by default all
    values of every record. A risk asked with ``prior=FROM_MODEL`` is that of each value against
    all others of its record, under the prior that the model gives it; ``secrets`` are the values
    that count, all by default, as what is likely anyway cannot be hidden. Several models mean
    that the adversary may believe in any of them.

    >>> from tellapart import risk
    >>> from tellapart.choose import at_most
    >>> from tellapart.worlds import Exchangeable, Sum
    >>> flu = Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1])
    >>> found = noise(flu, Sum(), [at_most(1, risk.epsilon, delta=0)])
    >>> round(found.scale, 4)
    1.1545
    """
    listed = _checked(limits)
    if secrets is not None and pairs is not None:
        _checks.refuse("secrets", "be left out where pairs are given", secrets)
    found = _long_chains.noise(models_of(model), query, listed, family, pairs)
    if found is not None:
        scale = found.release.scale
        return NoiseChoice(
            scale, found.release, found.tightest, tuple(listed), found.skipped, found.exact
        )
    asked = _worlds.questions(models_of(model), query, _both_orders(pairs), secrets)

    def excess(position: Array) -> Array:
        release = family(math.exp(float(position[0])))
        return np.array([_worlds.excess(asked, listed, release)[0]])

    _refuse_infeasible(asked, listed, family)
    scale = math.exp(_least(excess))
    while _worlds.excess(asked, listed, family(scale))[0] > 0:  # exp() may have moved the end
        scale = math.nextafter(scale, math.inf)
    release = family(scale)
    worst = _worlds.excess(asked, listed, release)[1]
    return NoiseChoice(
        scale,
        release,
        worst.test(release),
        tuple(listed),
        asked.skipped,
        certain=asked.certain,
    )


def _refuse_infeasible(
    asked: _worlds.Questions, limits: Sequence[Limit], family: _worlds.Family
) -> None:
    """Where even endless noise breaks a limit, say of what."""
    off, worst = _worlds.excess(asked, limits, family(_MOST))
    if off <= 0:
        return
    kept = " and ".join(str(limit) for limit in limits)
    before = "" if worst.prior is None else f" has the prior {worst.prior:.3g} and"
    raise Infeasible(
        f"infeasible: {kept} cannot be kept, as {worst.h1!r}{before} exceeds the limit without "
        "any output; name the values that count by secrets=, or raise the limit"
    )


def _least(excess: solve.Falling) -> float:
    """The logarithm of the least noise that keeps the limits, which endless noise does."""
    low, high = math.log(_LEAST), math.log(_MOST)
    start = np.zeros(1)
    if excess(start)[0] > 0:
        leaky, safe = start, start + 1.0
        while excess(safe)[0] > 0:
            leaky, safe = safe, np.minimum(2 * safe + 1.0, high)
    else:
        safe, leaky = start, start - 1.0
        while excess(leaky)[0] <= 0:
            safe, leaky = leaky, 2 * leaky - 1.0
            if safe[0] < low:
                return low
    return float(solve.falling_root(excess, leaky, safe, _NARROW)[1][0])


def _checked(limits: Sequence[Limit]) -> list[Limit]:
    listed = list(limits) if isinstance(limits, Sequence) else []
    if not listed or not all(isinstance(one, Limit) for one in listed):
        _checks.refuse("limits", "be a list of choose.at_most(...) or choose.at_least(...)", limits)
    return listed


def _both_orders(
    pairs: Sequence[tuple[Secret, Secret]] | None,
) -> list[tuple[Secret, Secret]] | None:
    if pairs is None:
        return None
    return [order for one, other in pairs for order in ((one, other), (other, one))]


def pure(epsilon: float) -> list[Limit]:
    """The limit that framework after framework sets: no output changes any odds by more than ε."""
    return [at_most(_checks.finite_above_zero(epsilon=epsilon), epsilon_of, delta=0.0)]
