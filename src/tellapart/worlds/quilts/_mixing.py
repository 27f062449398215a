"""How fast chains forget where they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.worlds.models._stationary import stationary_law
from tellapart.worlds.models.chain import MarkovChain

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Mixing:
    """How fast chains forget: the larger both numbers, the less a record tells of far ones."""

    least_probability: float
    gap: float


def listed(chains: MarkovChain | Sequence[MarkovChain]) -> list[MarkovChain]:
    """One or several chains, as a list."""
    given = [chains] if isinstance(chains, MarkovChain) else chains
    _checks.instance(Sequence, "a MarkovChain or several", chains=given)
    if not given:
        _checks.refuse("chains", "not be empty", given)
    for i, chain in enumerate(given):
        _checks.instance(MarkovChain, "a MarkovChain", **{f"chains[{i}]": chain})
    return list(given)


def mixing(chains: MarkovChain | Sequence[MarkovChain], *, reversible: bool = False) -> Mixing:
    """How fast the slowest of some chains forgets, as ``quilt_scale_approximate`` asks it.

    That is the least stationary probability π of a state and the least eigengap 1 - ``|λ₂(P·P*)|``,
    where P* is the chain run backwards. For chains that look the same backwards
    ``reversible=True`` gives the larger 2(1 - ``|λ₂(P)|``), and less noise. Gaps are rounded down.

    >>> chain = MarkovChain([0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]], length=100)
    >>> found = mixing(chain)
    >>> round(found.least_probability, 9), round(found.gap, 9)
    (0.2, 0.75)
    """
    each = [_one(chain.transition, reversible) for chain in listed(chains)]
    return Mixing(min(one.least_probability for one in each), min(one.gap for one in each))


def _one(transition: Array, reversible: bool) -> Mixing:
    law = stationary_law(transition)
    if law.min() == 0:
        if reversible:
            _checks.refuse("transition", "return to every state to be reversible", transition)
        return Mixing(0.0, 0.0)
    root = np.sqrt(law)
    # Similar to P, and times its own transpose similar to P·P*.
    alike = root[:, None] * transition / root
    if not reversible:
        sizes = np.asarray(np.linalg.svd(alike, compute_uv=False) ** 2)
        return Mixing(float(law.min()), _gap(sizes))
    if np.abs(alike - alike.T).max() > _ROUNDING:
        _checks.refuse("transition", "look the same backwards to be reversible", transition)
    return Mixing(float(law.min()), 2 * _gap(np.abs(np.linalg.eigvalsh(alike))))


def _gap(sizes: Array) -> float:
    second = float(np.sort(sizes)[-2]) if sizes.size > 1 else 0.0
    return max(1 - second - _ROUNDING, 0.0)
