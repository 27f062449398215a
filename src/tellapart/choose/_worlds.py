"""All the tests that a promise about secrets speaks of, at any amount of noise.

The laws of the true answer do not depend on the noise, so they are worked out once. More noise of
the kinds used here is less noise with more on top, so that every risk falls as it grows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scipy.special import expit

from tellapart import _checks
from tellapart.choose.limit import FROM_MODEL, Limit
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import Unsupported
from tellapart.worlds.models.base import FiniteModel, ImpossibleSecret
from tellapart.worlds.models.secrets import RecordIn, RecordValue, Secret
from tellapart.worlds.pairs.curves import pair_curve
from tellapart.worlds.pairs.extremes import Law
from tellapart.worlds.releases import Release
from tellapart.worlds.secret_test import Model, SecretTest, prior_log_odds

Family = Callable[[float], Release]


@dataclass(frozen=True)
class Asked:
    """One secret against another, or against all others of its record, with its prior odds."""

    h1: Secret
    h0: Secret
    present: Law
    absent: Law
    log_odds: float | None

    @property
    def prior(self) -> float | None:
        return None if self.log_odds is None else float(expit(self.log_odds))

    def curve(self, release: Release) -> TradeoffCurve:
        return pair_curve(self.present, self.absent, release)

    def test(self, release: Release) -> SecretTest:
        return SecretTest(self.h1, self.h0, release, self.present, self.absent, self.log_odds)


@dataclass(frozen=True)
class Questions:
    """Pairs of secrets, and values against the rest of their record.

    Secrets of probability 0 and those of probability 1, which no noise hides, are kept apart.
    """

    pairs: tuple[Asked, ...]
    rests: tuple[Asked, ...]
    skipped: tuple[Secret, ...]
    certain: tuple[Secret, ...]


def questions(
    models: Sequence[Model],
    query: Any,
    pairs: Sequence[tuple[Secret, Secret]] | None,
    secrets: Sequence[Secret] | None,
) -> Questions:
    """What is to be told apart, under every model that the adversary may believe in."""
    found: list[Asked] = []
    rests: list[Asked] = []
    skipped: dict[Secret, None] = {}
    certain: dict[Secret, None] = {}
    for model in models:
        wanted = _all_pairs(model) if pairs is None else list(pairs)
        laws, never = _laws(model, query, wanted)
        skipped |= dict.fromkeys(never)
        asked = _asked(model, wanted, laws)
        found += asked
        if pairs is not None or not isinstance(model, FiniteModel):
            rests += asked
            continue
        chosen = laws if secrets is None else {one: laws[one] for one in secrets if one in laws}
        more, sure = _against_rests(model, query, chosen)
        rests += more
        certain |= dict.fromkeys(sure)
    if not found:
        _checks.refuse("pairs", "name two secrets that are possible", pairs)
    return Questions(tuple(found), tuple(rests), tuple(skipped), tuple(certain))


def excess(asked: Questions, limits: Sequence[Limit], release: Release) -> tuple[float, Asked]:
    """How far the worst test exceeds its limits, and which one it is."""
    worst: tuple[float, Asked] | None = None
    for limit in limits:
        uses_prior = _wants_prior(limit)
        for one in asked.rests if uses_prior else asked.pairs:
            found = (_with_prior(limit, one) if uses_prior else limit).excess(one.curve(release))
            if worst is None or found > worst[0]:
                worst = found, one
    if worst is None:
        rule = "speak of some value that is neither impossible nor certain"
        _checks.refuse("secrets", rule, [one.h1 for one in asked.rests])
    return worst


def _all_pairs(model: Model) -> list[tuple[Secret, Secret]]:
    """Both orders of every two values of a record."""
    by_record = itertools.groupby(model.secrets(), key=lambda secret: secret.record)
    return [pair for _, values in by_record for pair in itertools.permutations(values, 2)]


def _laws(
    model: Model, query: Any, pairs: Sequence[tuple[Secret, Secret]]
) -> tuple[dict[Secret, Law], set[Secret]]:
    laws: dict[Secret, Law] = {}
    never: set[Secret] = set()
    for secret in dict.fromkeys(itertools.chain.from_iterable(pairs)):
        try:
            laws[secret] = model.law(query, secret)
        except ImpossibleSecret:
            never.add(secret)
    return laws, never


def _asked(
    model: Model, pairs: Sequence[tuple[Secret, Secret]], laws: dict[Secret, Law]
) -> list[Asked]:
    return [
        Asked(h1, h0, laws[h1], laws[h0], prior_log_odds(model, h1, h0))
        for h1, h0 in pairs
        if h1 in laws and h0 in laws
    ]


def _against_rests(
    model: FiniteModel, query: Any, laws: dict[Secret, Law]
) -> tuple[list[Asked], list[Secret]]:
    """Is it this value or another one? With two values that is the pair itself."""
    found: list[Asked] = []
    certain: list[Secret] = []
    for secret in laws:
        if not isinstance(secret, RecordValue):
            _checks.refuse("secrets", "be RecordValue, one for each value that counts", secret)
        others = [x for x in model.domain(secret.record).tolist() if x != secret.value]
        rest = RecordIn(secret.record, tuple(others)) if others else None
        if rest is None or model.log_prior(rest) == -math.inf:
            certain.append(secret)
            continue
        odds = prior_log_odds(model, secret, rest)
        found.append(Asked(secret, rest, laws[secret], model.law(query, rest), odds))
    return found, certain


def _wants_prior(limit: Limit) -> bool:
    return FROM_MODEL in dict(limit.arguments).values()


def _with_prior(limit: Limit, asked: Asked) -> Limit:
    """The same limit with the prior of one test filled in."""
    if asked.prior is None:
        _checks.refuse("limits", "state a prior as a number where the model has none", str(limit))
    if asked.prior == 0:
        raise Unsupported(
            f"{asked.h1!r} has a prior below the smallest double, so that no risk can be read "
            "off it; name the values that count by secrets=, or limit ε"
        )
    given = tuple((k, asked.prior if v is FROM_MODEL else v) for k, v in limit.arguments)
    return replace(limit, arguments=given)
