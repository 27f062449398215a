"""(ε, δ) versions of frameworks, for noise such as normal noise whose pure ε is infinite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from tellapart import _checks
from tellapart._numeric.text import count_in_words, short
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.worlds.frameworks.dp import differential_privacy, group_privacy
from tellapart.worlds.frameworks.pufferfish_privacy import terms
from tellapart.worlds.frameworks.result import FrameworkResult, Side, models_of
from tellapart.worlds.frameworks.secret_pairs import asked, finite, known_values, nothing_to_tell
from tellapart.worlds.models.base import Known
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.models.secrets import RecordValue, Secret
from tellapart.worlds.pairs.curves import pair_curve
from tellapart.worlds.releases import Release
from tellapart.worlds.secret_test import Model, Witness

# Each curve of two laws takes some hundredths of a second.
_MOST_CURVES = 500


def approximate_dp(
    models: Model | Sequence[Model], query: Any, release: Release, delta: float
) -> FrameworkResult:
    """What noise tells someone who knows every record but one, but for probability δ.

    >>> import tellapart as ta
    >>> from tellapart.worlds import Independent, Sum
    >>> people = Independent([[0.5, 0.5], [0.5, 0.5]])
    >>> round(approximate_dp(people, Sum(), ta.Gaussian(1), delta=1e-5).epsilon, 4)
    4.3772
    """
    return _of_shift(differential_privacy(models, query, Laplace(1)), release, delta)


def approximate_group(
    models: Model | Sequence[Model], query: Any, release: Release, delta: float
) -> FrameworkResult:
    """What noise tells of all records together, but for probability δ."""
    return _of_shift(group_privacy(models, query, Laplace(1)), release, delta)


def approximate_pufferfish(
    models: Model | Sequence[Model],
    query: Any,
    release: Release,
    delta: float,
    known: Known | None = None,
    records: Sequence[int] | None = None,
) -> FrameworkResult:
    """How far outputs move the odds of two values for someone who knows a model, but for δ.

    The least ε with P(output in A | one) ≤ e^ε·P(output in A | other) + δ for all A, all pairs of
    values of ``records`` in both orders, and all models.

    >>> import tellapart as ta
    >>> from tellapart.worlds import JointTable, Sum
    >>> twins = JointTable([[0, 1], [0, 1]], [[0.5, 0], [0, 0.5]])
    >>> round(approximate_pufferfish(twins, Sum(), ta.Gaussian(2), delta=1e-5).epsilon, 4)
    4.3772
    """
    _checks.inside_unit(delta=delta)
    theta = models_of(models)
    worst: Witness | None = None
    skipped: list[Secret] = []
    for model in theta:
        for first, other, h1, h0 in _pairs(model, query, known, records, skipped):
            curve = pair_curve(h1, h0, release)
            for likelier, rest, epsilon in (
                (first, other, curve.epsilon(delta)),
                (other, first, curve.mirrored().epsilon(delta)),
            ):
                if worst is None or epsilon > worst.log_ratio:
                    worst = Witness(likelier, rest, None, epsilon, known_values(known))
    if worst is None:
        raise nothing_to_tell(records if records is not None else [0])
    name = f"Pufferfish, δ = {short(delta)}"
    terms_of = terms(theta, known)
    return FrameworkResult(
        name, worst.log_ratio, Side.EXACT, worst, terms_of, False, tuple(skipped)
    )


def _of_shift(pure: FrameworkResult, release: Release, delta: float) -> FrameworkResult:
    """The same neighbours under other noise: by how far their answers lie apart."""
    if not isinstance(release, Laplace | Gaussian):
        _checks.refuse("release", "be ta.Laplace(scale) or ta.Gaussian(sigma)", release)
    _checks.inside_unit(delta=delta)
    epsilon = math.inf
    if math.isfinite(pure.epsilon):
        epsilon = replace(release, sensitivity=pure.epsilon).curve().epsilon(delta)
    witness = pure.witness
    moved = None if witness is None else replace(witness, output=None, log_ratio=epsilon)
    return replace(
        pure, framework=f"{pure.framework}, δ = {short(delta)}", epsilon=epsilon, witness=moved
    )


def _pairs(
    model: Model,
    query: Any,
    known: Known | None,
    records: Sequence[int] | None,
    skipped: list[Secret],
) -> list[tuple[Secret, Secret, FiniteLaw, FiniteLaw]]:
    """Every two possible values of each record, with the laws of the answer under either."""
    listable = finite(model)
    chosen = asked(listable, records, known)
    sizes = [listable.domain(record).size for record in chosen]
    curves = sum(size * (size - 1) // 2 for size in sizes)
    if curves > _MOST_CURVES:
        raise Unsupported(
            f"{count_in_words(curves)} pairs of values are too many for a curve each, at most "
            f"{_MOST_CURVES} are; name the records whose secrets count: records=[...]"
        )
    pairs: list[tuple[Secret, Secret, FiniteLaw, FiniteLaw]] = []
    for record in chosen:
        laws = dict(
            zip(
                [RecordValue(record, x) for x in listable.domain(record).tolist()],
                listable.record_laws(query, record, known),
                strict=True,
            )
        )
        skipped += [secret for secret, law in laws.items() if law is None and secret not in skipped]
        possible = [(secret, law) for secret, law in laws.items() if law is not None]
        pairs += [(first, other, h1, h0) for (first, h1), (other, h0) in combinations(possible, 2)]
    return pairs
