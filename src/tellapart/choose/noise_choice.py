"""The least noise that keeps limits about secrets when records are correlated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.text import short
from tellapart.choose.limit import FROM_MODEL, Limit, at_most, checked_limits
from tellapart.choose.search import MOST, at_baseline, beyond_perfect, seen_to_leak
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import nothing
from tellapart.errors import Infeasible, NotCertified, Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.risk.rates import epsilon as epsilon_of
from tellapart.worlds.frameworks.pufferfish_privacy import pufferfish
from tellapart.worlds.frameworks.result import FrameworkResult, Side, models_of
from tellapart.worlds.markov.bounds import chain_epsilon_bound, chain_scale_bound
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.laplace_tails import chain_log_mgf, tail_pair
from tellapart.worlds.models.base import FiniteModel, ImpossibleSecret
from tellapart.worlds.models.queries import Query
from tellapart.worlds.models.secrets import RecordIn, RecordValue, Secret
from tellapart.worlds.pairs.curves import Law, pair_curve
from tellapart.worlds.releases import Release
from tellapart.worlds.secret_test import Model, SecretTest, prior_log_odds, tell_apart

# Shorter chains are searched record by record, to the last double.
_SHORT = 50
_TIGHT = 1e-8


class ChainNoise(NamedTuple):
    """Noise that suffices, the test that comes closest, impossible values, and if it is needed."""

    release: Laplace
    tightest: SecretTest
    skipped: tuple[Secret, ...]
    exact: bool


def long_chain_noise(
    models: Sequence[Model], query: Any, limits: Sequence[Limit], family: Any, pairs: Any
) -> ChainNoise | None:
    """The answer for long chains under a limit on ε; None where another route is to be taken."""
    chains = [model for model in models if isinstance(model, MarkovChain)]
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
    return ChainNoise(Laplace(scale), test, _impossible(chains), exact)


def _by_windows(
    chains: Sequence[MarkovChain], query: Query, epsilon: float, enough: float
) -> tuple[float, bool]:
    """Less noise than is enough for sure, where a closer look at each record allows it."""
    seen: dict[float, FrameworkResult] = {}

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
    witnesses = [pufferfish(chain, query, Laplace(scale)).witness for chain in chains]
    ratios = [-math.inf if witness is None else witness.log_ratio for witness in witnesses]
    place = int(np.argmax(ratios))
    worst = witnesses[place]
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
    secrets = {secret for chain in chains for secret in chain.impossible}
    return tuple(sorted(secrets, key=lambda secret: (secret.record, secret.value)))


Family = Callable[[float], Release]


@dataclass(frozen=True)
class SecretQuestion:
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

    pairs: tuple[SecretQuestion, ...]
    rests: tuple[SecretQuestion, ...]
    skipped: tuple[Secret, ...]
    certain: tuple[Secret, ...]


def questions(
    models: Sequence[Model],
    query: Any,
    pairs: Sequence[tuple[Secret, Secret]] | None,
    secrets: Sequence[Secret] | None,
) -> Questions:
    """What is to be told apart, under every model that the adversary may believe in."""
    collected: list[SecretQuestion] = []
    rests: list[SecretQuestion] = []
    skipped: dict[Secret, None] = {}
    certain: dict[Secret, None] = {}
    for model in models:
        wanted = _all_pairs(model) if pairs is None else list(pairs)
        laws, never = _laws(model, query, wanted)
        skipped |= dict.fromkeys(never)
        asked = _asked(model, wanted, laws)
        collected += asked
        if pairs is not None or not isinstance(model, FiniteModel):
            rests += asked
            continue
        chosen = (
            laws
            if secrets is None
            else {secret: laws[secret] for secret in secrets if secret in laws}
        )
        more, sure = _against_rests(model, query, chosen)
        rests += more
        certain |= dict.fromkeys(sure)
    if not collected:
        _checks.refuse("pairs", "name two secrets that are possible", pairs)
    return Questions(tuple(collected), tuple(rests), tuple(skipped), tuple(certain))


def excess_of(
    asked: Questions, limits: Sequence[Limit], release: Release | None
) -> tuple[float, SecretQuestion]:
    """How far the worst test exceeds its limits, and which one it is; None releases nothing."""
    worst: tuple[float, SecretQuestion] | None = None
    for limit in limits:
        uses_prior = _wants_prior(limit)
        for test in asked.rests if uses_prior else asked.pairs:
            curve = nothing() if release is None else test.curve(release)
            excess = _with_prior(limit, test).excess(curve)
            if worst is None or excess > worst[0]:
                worst = excess, test
    if worst is None:
        rule = "speak of some value that is neither impossible nor certain"
        _checks.refuse("secrets", rule, [test.h1 for test in asked.rests])
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
) -> list[SecretQuestion]:
    return [
        SecretQuestion(h1, h0, laws[h1], laws[h0], prior_log_odds(model, h1, h0))
        for h1, h0 in pairs
        if h1 in laws and h0 in laws
    ]


def _against_rests(
    model: FiniteModel, query: Any, laws: dict[Secret, Law]
) -> tuple[list[SecretQuestion], list[Secret]]:
    """Is it this value or another one? With two values that is the pair itself."""
    rests: list[SecretQuestion] = []
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
        rests.append(SecretQuestion(secret, rest, laws[secret], model.law(query, rest), odds))
    return rests, certain


def _wants_prior(limit: Limit) -> bool:
    return FROM_MODEL in dict(limit.arguments).values()


def _with_prior(limit: Limit, asked: SecretQuestion) -> Limit:
    """The same limit with the prior of one test filled in, where it asks for that."""
    if not _wants_prior(limit):
        return limit
    if asked.prior is None:
        _checks.refuse("limits", "state a prior as a number where the model has none", str(limit))
    if asked.prior == 0:
        raise Unsupported(
            f"{asked.h1!r} has a prior below the smallest double, so that no risk can be read "
            "off it; name the values that count by secrets=, or limit ε"
        )
    given = tuple((k, asked.prior if v is FROM_MODEL else v) for k, v in limit.arguments)
    return replace(limit, arguments=given)


# Noise below this is not searched, so that an answer over it keeps its square in a double, nor
# where some test tells so large an ε at this δ: curves have no digits for less noise than that.
_LEAST, _PLAIN, _AT = 2.0**-400, 1e12, 1e-3
# A root is as good as found at this relative width.
_NARROW = 1e-13


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
        return f"noise {short(self.scale)} keeps {wanted}"


def noise(
    model: Model | Sequence[Model],
    query: Any,
    limits: Sequence[Limit],
    *,
    family: Family = Laplace,
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
    listed = checked_limits(limits)
    if secrets is not None and pairs is not None:
        _checks.refuse("secrets", "be left out where pairs are given", secrets)
    settled = long_chain_noise(models_of(model), query, listed, family, pairs)
    if settled is not None:
        scale = settled.release.scale
        return NoiseChoice(
            scale, settled.release, settled.tightest, tuple(listed), settled.skipped, settled.exact
        )
    asked = questions(models_of(model), query, _both_orders(pairs), secrets)

    _refuse_infeasible(asked, listed)
    for limit in listed:
        _refuse_rounding(asked, limit, family)
    scale, binds = _least(asked, listed, family)
    release = family(scale)
    worst = excess_of(asked, listed, release)[1]
    return NoiseChoice(
        scale,
        release,
        worst.test(release),
        tuple(listed),
        asked.skipped,
        exact=binds,
        certain=asked.certain,
    )


def _refuse_infeasible(asked: Questions, limits: Sequence[Limit]) -> None:
    """Where a limit is broken without any output, say of what."""
    off, worst = excess_of(asked, limits, None)
    if off <= 0:
        return
    kept = " and ".join(str(limit) for limit in limits)
    before = "" if worst.prior is None else f" has the prior {short(worst.prior, 3)} and"
    raise Infeasible(
        f"infeasible: {kept} cannot be kept, as {worst.h1!r}{before} exceeds the limit without "
        "any output; name the values that count by secrets=, or raise the limit"
    )


def _refuse_rounding(asked: Questions, limit: Limit, family: Family) -> None:
    """Refuse a limit at its baseline that noise keeps only because risks round to it."""
    bare, worst = excess_of(asked, [limit], None)
    if not at_baseline(bare):
        return
    scale, binds = _least(asked, [limit], family)
    release, filled = family(scale), _with_prior(limit, worst)
    tests = asked.rests if _wants_prior(limit) else asked.pairs
    if binds and not any(seen_to_leak(test.curve(release), filled) for test in tests):
        raise beyond_perfect(filled)


def _least(asked: Questions, limits: Sequence[Limit], family: Family) -> tuple[float, bool]:
    """The least noise that keeps the limits, and True; False where none binds as far as is seen."""

    def over(scale: float) -> float:
        return excess_of(asked, limits, family(scale))[0]

    def excess(position: Array) -> Array:
        return np.array([over(math.exp(float(position[0])))])

    safe = leaky = 1.0
    if over(1.0) > 0:
        while over(safe) > 0:
            if safe == MOST:
                raise Infeasible(
                    f"infeasible: even noise {short(safe, 3)}, the most that a double "
                    f"holds, breaks {' and '.join(str(limit) for limit in limits)}"
                )
            leaky, safe = safe, min(math.e * safe * safe, MOST)
    else:
        while over(leaky) <= 0:
            if leaky == _LEAST or _plain(asked, family(leaky)):
                return leaky, False
            safe, leaky = leaky, max(leaky * leaky / math.e, _LEAST)
    ends = np.log([leaky]), np.log([safe])
    scale = math.exp(float(solve.falling_root(excess, *ends, _NARROW)[1][0]))
    while over(scale) > 0:  # exp() may have moved the end
        scale = math.nextafter(scale, math.inf)
    return scale, True


def _plain(asked: Questions, release: Release) -> bool:
    """Whether some two secrets are told apart as well as without noise."""
    return any(float(test.curve(release).epsilon(_AT)) > _PLAIN for test in asked.pairs)


def _both_orders(
    pairs: Sequence[tuple[Secret, Secret]] | None,
) -> list[tuple[Secret, Secret]] | None:
    if pairs is None:
        return None
    return [order for first, other in pairs for order in ((first, other), (other, first))]


def pure(epsilon: float) -> list[Limit]:
    """The limit that framework after framework sets: no output changes any odds by more than ε."""
    return [at_most(_checks.finite_above_zero(epsilon=epsilon), epsilon_of, delta=0.0)]
