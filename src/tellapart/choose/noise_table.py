"""Every method of setting Laplace noise for one promise, side by side, and what each gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.choose.noise import noise, pure
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.fitting import ChainSet, TableSet, chain_scale_bound, table_scale_bound
from tellapart.worlds.frameworks.dependent import dependence_sensitivity
from tellapart.worlds.frameworks.neighbours import differential_privacy, group_privacy
from tellapart.worlds.frameworks.pufferfish import pufferfish
from tellapart.worlds.frameworks.standing import Side
from tellapart.worlds.models.base import FiniteModel
from tellapart.worlds.models.chain import MarkovChain
from tellapart.worlds.models.queries import Query
from tellapart.worlds.models.secrets import RecordValue
from tellapart.worlds.policies import Policy
from tellapart.worlds.quilts import quilt_scale
from tellapart.worlds.wasserstein import widest

# So many records have every pair's coefficient worked out, and every law its distance.
_MOST_PAIRED, _MOST_APART = 10, 1000


@dataclass(frozen=True)
class NoiseRow:
    """One way to set the noise: how much it adds, what that really gives, and whom it protects.

    ``true_epsilon`` is what that noise really gives under this model and for this query, exactly
    or, by ``side``, at most. ``sound`` says whether the method keeps its promise whatever the
    model it is given; one that is not may still keep it here, as ``true_epsilon`` shows.
    """

    method: str
    scale: float
    true_epsilon: float
    side: Side
    sound: bool
    protects: str


def noise_table(
    model: FiniteModel,
    query: Query,
    epsilon: float,
    *,
    policy: Policy | None = None,
    believed: ChainSet | TableSet | None = None,
) -> tuple[NoiseRow, ...]:
    """How much Laplace noise each method adds so that no secret's odds move by more than ε.

    From the least to the most that is sound, then what is not: plain DP, which knows nothing of
    the model, published heuristics, and a ``policy``'s sensitivity. ``believed`` is the set of
    models that data leave open; noise for all of them has a row of its own. Methods that do not
    fit the model are left out.

    >>> from tellapart.worlds import MarkovChain, Sum
    >>> chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=100)
    >>> for row in noise_table(chain, Sum(), 1):
    ...     print(f"{row.method}: {row.scale:.2f}")
    exact: 3.34
    Wasserstein: 4.00
    Markov quilt: 12.84
    Markov quilt, approximate: 31.71
    group privacy: 100.00
    plain DP: 1.00
    """
    _checks.instance(FiniteModel, "a data model with finitely many values", model=model)
    epsilon = _checks.finite_above_zero(epsilon=epsilon)
    sound = sorted(_sound(model, query, epsilon, believed), key=lambda one: one[1])
    found = [(*one, True) for one in sound]
    found += [(*one, False) for one in _unsound(model, query, epsilon, policy)]
    return tuple(_row(model, query, *one) for one in found)


Named = tuple[str, float, str]
_THIS = "this query, under this model"


def _sound(
    model: FiniteModel, query: Query, epsilon: float, believed: ChainSet | TableSet | None
) -> Iterator[Named]:
    least = noise(model, query, pure(epsilon))
    yield "exact" if least.exact else "proved, maybe not least", least.scale, _THIS
    if believed is not None:
        yield from _for_all(believed, query, epsilon)
    if model.records <= _MOST_APART:
        yield "Wasserstein", widest(model, query).distance / epsilon, _THIS
    if isinstance(model, MarkovChain):
        same = "every query that one record moves as much, under this model"
        yield "Markov quilt", quilt_scale(model, epsilon, query=query).scale, same
        rough = quilt_scale(model, epsilon, exact=False, query=query).scale
        mixing = "every such query, under every chain that forgets as fast"
        yield "Markov quilt, approximate", rough, mixing
    together = group_privacy(model, query, Laplace(1)).epsilon
    yield "group privacy", together / epsilon, "this query, whatever the model; adds up"


def _for_all(believed: ChainSet | TableSet, query: Query, epsilon: float) -> Iterator[Named]:
    bound: Callable[..., float] = (
        chain_scale_bound if isinstance(believed, ChainSet) else table_scale_bound
    )
    sure = "" if believed.confidence is None else f", {100 * believed.confidence:g} % sure"
    everyone = f"this query, under every model that the data leave open{sure}"
    yield "all that data leave open", bound(believed, epsilon, query), everyone


def _unsound(
    model: FiniteModel, query: Query, epsilon: float, policy: Policy | None
) -> Iterator[Named]:
    plain = differential_privacy(model, query, Laplace(1)).epsilon
    yield "plain DP", plain / epsilon, "records that are independent"
    if policy is not None:
        kept = "the policy's neighbours, not those who have a prior"
        yield "Blowfish", policy.sensitivity(query).value / epsilon, kept
    if model.records <= _MOST_PAIRED and _every_record_varies(model):
        pairs = "a published heuristic: looks at two records at a time"
        yield "pairwise coefficients", _pairwise(model, query, epsilon), pairs


def _every_record_varies(model: FiniteModel) -> bool:
    """Whether all records have two possible values, as coefficients of pairs take for granted."""
    return all(
        sum(model.prior(RecordValue(i, x)) > 0 for x in model.domain(i)) > 1
        for i in range(model.records)
    )


def _pairwise(model: FiniteModel, query: Query, epsilon: float) -> float:
    """Noise b with b·ε the dependent sensitivity, which itself depends on b."""

    def excess(log_scale: Array) -> Array:
        scale = math.exp(float(log_scale[0]))
        return np.array([dependence_sensitivity(model, query, scale) - epsilon * scale])

    low = math.log(differential_privacy(model, query, Laplace(1)).epsilon / epsilon) - 1e-9
    high = math.log(group_privacy(model, query, Laplace(1)).epsilon / epsilon) + 1e-9
    return math.exp(solve.falling_root(excess, np.array([low]), np.array([high]), 1e-12)[1][0])


def _row(
    model: FiniteModel, query: Query, method: str, scale: float, protects: str, sound: bool
) -> NoiseRow:
    if scale == 0:
        return NoiseRow(method, scale, math.inf, Side.EXACT, sound, protects)
    true = pufferfish(model, query, Laplace(scale))
    return NoiseRow(method, scale, true.epsilon, true.side, sound, protects)
