"""Mechanisms that set Laplace noise for correlated records, side by side, and what each gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.text import fixed, related, short
from tellapart.choose.noise_choice import NoiseChoice, noise, pure
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.frameworks.dependent_dp import dependence_sensitivity
from tellapart.worlds.frameworks.dp import differential_privacy, group_privacy
from tellapart.worlds.frameworks.pufferfish_privacy import Pairs, pufferfish
from tellapart.worlds.frameworks.result import Side
from tellapart.worlds.frameworks.secret_pairs import secret_pairs
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.chain_sets import ChainSet
from tellapart.worlds.markov.quilts import quilt_scale
from tellapart.worlds.models.base import FiniteModel
from tellapart.worlds.models.queries import Query
from tellapart.worlds.models.secrets import RecordValue, Secret
from tellapart.worlds.models.table_sets import TableSet
from tellapart.worlds.policies import Policy
from tellapart.worlds.wasserstein_distance import widest

# So many records have every pair's coefficient worked out, and every law its distance.
_MOST_PAIRED, _MOST_APART = 10, 1000


@dataclass(frozen=True)
class NoiseRow:
    """One way to set the noise: how much it adds, what that really gives, and whom it protects.

    ``true_epsilon`` is what that noise really gives under this model and for this query, exactly
    or, by ``side``, at most. ``sound`` says whether the method keeps its promise whatever the
    model it is given; one that is not may still keep it here, as ``true_epsilon`` shows.
    ``trusts_model`` says whether it keeps it only if the model is true.
    """

    method: str
    scale: float
    true_epsilon: float
    side: Side
    sound: bool
    protects: str
    trusts_model: bool = True


@dataclass(frozen=True)
class NoiseTable(Sequence[NoiseRow]):
    """Methods of setting Laplace noise for one ε, the least noise first, then what is not sound.

    ``skipped`` lists secrets of probability 0, of which nothing can be told.
    """

    rows: tuple[NoiseRow, ...]
    epsilon: float
    skipped: tuple[Secret, ...]

    @overload
    def __getitem__(self, place: int) -> NoiseRow: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[NoiseRow, ...]: ...
    def __getitem__(self, place: int | slice) -> NoiseRow | tuple[NoiseRow, ...]:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        wide = max(len(row.method) for row in self.rows)
        lines = [f"{'method':{wide}}       scale    true ε"]
        for row in self.rows:
            true = related(row.side.value, row.true_epsilon)
            kept = "" if row.sound else "  not sound in general"
            lines.append(f"{row.method:{wide}}  {fixed(row.scale, True):>10}  {true:>8}{kept}")
        return "\n".join(lines)


def noise_table(
    model: FiniteModel,
    query: Query,
    epsilon: float,
    *,
    policy: Policy | None = None,
    believed: ChainSet | TableSet | None = None,
) -> NoiseTable:
    """How much Laplace noise each method adds so that no secret's odds move by more than ε.

    From the least to the most that is sound, then what is not: plain DP, which knows nothing of
    the model, published heuristics, and a ``policy``'s sensitivity. Secrets are any two values of
    a record, or those along the policy's edges. ``believed`` is the set of models that data leave
    open; noise for all of them has a row of its own. Methods that do not fit the model are left
    out.

    >>> from tellapart.worlds import MarkovChain, Sum
    >>> print(noise_table(MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=100), Sum(), 1))
    method                          scale    true ε
    exact                          3.3365  = 1.0000
    Wasserstein                    4.0000  ≈ 0.8220
    Markov quilt                  12.8400  ≈ 0.2409
    Markov quilt, approximate     31.7098  ≈ 0.0958
    group privacy                100.0000  ≈ 0.0301
    plain DP                       1.0000  ≈ 3.2982  not sound in general

    See Also
    --------
    tellapart.plot.noise : its picture
    """
    _checks.instance(FiniteModel, "a data model with finitely many values", model=model)
    epsilon = _checks.finite_above_zero(epsilon=epsilon)
    pairs = None if policy is None else secret_pairs(policy, model)
    least = noise(model, query, pure(epsilon), pairs=pairs)
    sound = [*_sound(model, query, epsilon, pairs, least), *_for_all(believed, query, epsilon)]
    # Ties by rounding must not put a cruder method first.
    sound.sort(key=lambda option: float(f"{option.scale:.9g}"))
    options = [*sound, *_unsound(model, query, epsilon, policy)]
    rows = tuple(
        _row(model, query, pairs, option, place < len(sound))
        for place, option in enumerate(options)
    )
    return NoiseTable(rows, epsilon, least.skipped)


class _Method(NamedTuple):
    name: str
    scale: float
    protects: str
    trusts_model: bool = True


_THIS = "this query, under this model"


def _sound(
    model: FiniteModel, query: Query, epsilon: float, pairs: Pairs | None, least: NoiseChoice
) -> Iterator[_Method]:
    yield _Method("exact" if least.exact else "proved, maybe not least", least.scale, _THIS)
    if model.records <= _MOST_APART:
        yield _Method("Wasserstein", widest(model, query, pairs).distance / epsilon, _THIS)
    if isinstance(model, MarkovChain):
        same = "every query that one record moves as much, under this model"
        yield _Method("Markov quilt", quilt_scale(model, epsilon, query=query).scale, same)
        yield from _rough_quilt(model, query, epsilon)
    together = group_privacy(model, query, Laplace(1)).epsilon / epsilon
    yield _Method("group privacy", together, "this query, whatever the model; composes", False)


def _rough_quilt(chain: MarkovChain, query: Query, epsilon: float) -> Iterator[_Method]:
    """By how fast the chain forgets, if it does."""
    try:
        rough = quilt_scale(chain, epsilon, exact=False, query=query).scale
    except InvalidArgument:  # it has several stationary laws
        return
    mixing = "every such query, under every chain that forgets as fast"
    yield _Method("Markov quilt, approximate", rough, mixing)


def _for_all(
    believed: ChainSet | TableSet | None, query: Query, epsilon: float
) -> Iterator[_Method]:
    if believed is None:
        return
    sure = "" if believed.confidence is None else f", {short(100 * believed.confidence)} % sure"
    everyone = f"this query, under every model that the data leave open{sure}"
    scale = believed.scale_bound(epsilon, query)
    yield _Method("all that data leave open", scale, everyone, False)


def _unsound(
    model: FiniteModel, query: Query, epsilon: float, policy: Policy | None
) -> Iterator[_Method]:
    plain = differential_privacy(model, query, Laplace(1)).epsilon
    yield _Method("plain DP", plain / epsilon, "records that are independent")
    if policy is not None:
        kept = "the policy's neighbours" + (
            ", not those who have a prior on what is left open"
            if policy.constraints
            else ", if records are independent"
        )
        yield _Method("Blowfish", policy.sensitivity(query).value / epsilon, kept)
    if model.records <= _MOST_PAIRED and _every_record_varies(model):
        pairs = "a published heuristic: looks at two records at a time"
        yield _Method("pairwise coefficients", _pairwise(model, query, epsilon), pairs)


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

    alone = differential_privacy(model, query, Laplace(1)).epsilon
    if alone == 0:
        return 0.0
    low = math.log(alone / epsilon) - 1e-9
    high = math.log(group_privacy(model, query, Laplace(1)).epsilon / epsilon) + 1e-9
    return math.exp(solve.falling_root(excess, np.array([low]), np.array([high]), 1e-12)[1][0])


def _row(
    model: FiniteModel, query: Query, pairs: Pairs | None, method: _Method, sound: bool
) -> NoiseRow:
    name, scale, protects, trusts = method
    if scale == 0:
        return NoiseRow(name, scale, math.inf, Side.EXACT, sound, protects, trusts)
    true = pufferfish(model, query, Laplace(scale), pairs)
    return NoiseRow(name, scale, true.epsilon, true.side, sound, protects, trusts)
