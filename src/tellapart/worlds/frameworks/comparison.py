"""One release under every privacy framework, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart._shown import Displayed
from tellapart.errors import InvalidArgument, TellapartError, Unsupported
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.worlds.frameworks.at_delta import (
    approximate_dp,
    approximate_group,
    approximate_pufferfish,
)
from tellapart.worlds.frameworks.bayesian_dp import bayesian
from tellapart.worlds.frameworks.blowfish_privacy import blowfish
from tellapart.worlds.frameworks.dependent_dp import dependent
from tellapart.worlds.frameworks.dp import differential_privacy, group_privacy
from tellapart.worlds.frameworks.inferential_privacy import ghosh_kleinberg
from tellapart.worlds.frameworks.membership_privacy import membership
from tellapart.worlds.frameworks.mutual_information_dp import Form, mutual_information
from tellapart.worlds.frameworks.pufferfish_privacy import Pairs, pufferfish
from tellapart.worlds.frameworks.result import FrameworkResult, Side
from tellapart.worlds.frameworks.results_text import as_table
from tellapart.worlds.frameworks.secret_pairs import check_policy, secret_pairs
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.chain_sets import ChainSet
from tellapart.worlds.models.queries import Linear, Sum
from tellapart.worlds.models.table_sets import TableSet
from tellapart.worlds.policies import Policy
from tellapart.worlds.releases import Release, check_release
from tellapart.worlds.secret_test import Model

USUAL_DELTA = 1e-5
# Seconds on a usual machine for an output under Laplace noise, and for a term under normal noise.
_A_NODE, _A_TERM = 2.5e-7, 1e-8
FORMS: tuple[Form, ...] = ("prior-free", "record", "given others")
Believed = ChainSet | TableSet
FrameworkCall = tuple[str, Callable[[], FrameworkResult]]


@dataclass(frozen=True)
class FrameworkLeftOut:
    """A framework that has no number here, and why."""

    framework: str
    reason: str


@dataclass(frozen=True)
class FrameworkComparison(Displayed):
    """What each framework says of one release, and which of them cannot say anything."""

    rows: tuple[FrameworkResult, ...]
    left_out: tuple[FrameworkLeftOut, ...] = ()

    def __str__(self) -> str:
        return as_table(self.rows)

    def __repr__(self) -> str:
        return f"FrameworkComparison({len(self.rows)} frameworks, {len(self.left_out)} left out)"


def compare_frameworks(
    model: Model,
    query: Any,
    release: Release,
    policy: Policy | None = None,
    believed: Believed | None = None,
    delta: float | None = None,
) -> FrameworkComparison:
    """How much one release tells, by each framework's own adversary.

    Blowfish is asked where a ``policy`` is given. ``believed`` is what data leave open where the
    model was fitted to them, as ``fitted.confidence_set``: no chain or table in it tells more than
    its row says. With a ``delta`` DP, group privacy and Pufferfish are also asked for their ε at
    it; under Gaussian noise, whose ε alone is infinite, it is 1e-5 unless given. A framework that
    this model is too large for is left out, with the reason.

    >>> import tellapart as ta
    >>> from tellapart.worlds import Exchangeable, Sum
    >>> flu = Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1])
    >>> found = {one.framework: one for one in compare_frameworks(flu, Sum(), ta.Laplace(2)).rows}
    >>> round(found["Pufferfish"].epsilon, 4)
    0.5604

    See Also
    --------
    tellapart.plot.standings : its picture
    tellapart.worlds.described.read : a model from a file
    """
    check_release(release)
    rows, left, errors = [], [], []
    if delta is None and isinstance(release, Gaussian):
        delta = USUAL_DELTA
    if delta is not None:
        _checks.inside_unit(delta=delta)
    if policy is not None:
        check_policy(policy, model)
    for name, ask in _asked(model, query, release, policy, believed, delta):
        try:
            rows.append(ask())
        except (Unsupported, InvalidArgument) as error:
            if name == _BLOWFISH and isinstance(error, InvalidArgument):
                raise  # a policy that no database keeps is a mistake of whoever wrote it
            left.append(FrameworkLeftOut(name, str(error)))
            errors.append(error)
    if not rows:
        raise _first(errors)
    return FrameworkComparison(tuple(rows), tuple(left))


def expected_seconds(model: Model, query: Any, release: Release) -> float:
    """About how long a comparison takes, for chains of records; 0 where nothing is known.

    What grows is the average over outputs that each record's mutual information is: nodes beside
    all sums, for each state of each record, as `pairs.integrals` places them.
    """
    if not isinstance(model, MarkovChain) or not isinstance(query, Sum | Linear):
        return 0.0
    if not isinstance(release, Laplace | Gaussian):
        return 0.0
    values = np.unique(np.concatenate([model.domain(record) for record in range(model.records)]))
    if values.size < 2:
        return 0.0
    step = float(np.diff(values).min())
    sums = model.records * float(values[-1] - values[0]) / step
    work = model.records * values.size * sums
    if isinstance(release, Laplace):
        nodes, cost = 8 * min(step / release.scale, 126.0), _A_NODE
    else:
        nodes, cost = 64 * min(step / release.sigma, 27.0), _A_TERM * min(sums, 128.0)
    return model.records / 100 + work * nodes * cost


def _asked(
    model: Model,
    query: Any,
    release: Release,
    policy: Policy | None,
    believed: Believed | None,
    delta: float | None,
) -> Iterator[FrameworkCall]:
    terms = (model, query, release)
    if delta is not None:
        yield f"differential privacy, δ = {short(delta)}", partial(approximate_dp, *terms, delta)
        yield f"group privacy, δ = {short(delta)}", partial(approximate_group, *terms, delta)
        yield f"Pufferfish, δ = {short(delta)}", partial(approximate_pufferfish, *terms, delta)
    yield "differential privacy", partial(differential_privacy, *terms)
    yield "group privacy", partial(group_privacy, *terms)
    if policy is not None:
        yield _BLOWFISH, partial(blowfish, policy, query, release)
        # Where any two values are a secret, and there is a list of them, Pufferfish asks them all.
        if (pairs := secret_pairs(policy, model)) is not None:
            yield _OF_POLICY, partial(_of_policy, *terms, pairs)
    of_pairs = cache(partial(pufferfish, *terms))
    yield "Pufferfish", of_pairs
    if believed is not None:
        yield _LEFT_OPEN, partial(_left_open, believed, query, release)
    # For values of records and one prior these two ask what Pufferfish asks.
    for name in ("dependent DP (probabilistic)", "inferential privacy (this prior)"):
        yield name, partial(_named, name, of_pairs)
    yield "Bayesian DP", partial(bayesian, *terms)
    yield "inferential privacy (transfer)", partial(_transferred, *terms)
    yield "dependent DP (support)", partial(dependent, *terms, reading="support")
    yield "membership privacy", partial(membership, *terms)
    for form in FORMS:
        name = f"mutual-information DP ({form})"
        yield name, partial(mutual_information, *terms, form=form)


def _named(name: str, ask: Callable[[], FrameworkResult]) -> FrameworkResult:
    return replace(ask(), framework=name)


def _transferred(model: Model, query: Any, release: Release) -> FrameworkResult:
    return ghosh_kleinberg(model, differential_privacy(model, query, release).epsilon)


_BLOWFISH = "Blowfish"
_OF_POLICY = "Pufferfish (the policy's pairs)"
_LEFT_OPEN = "Pufferfish (all that data leave open)"


def _of_policy(model: Model, query: Any, release: Release, pairs: Pairs) -> FrameworkResult:
    return replace(pufferfish(model, query, release, pairs=pairs), framework=_OF_POLICY)


def _left_open(believed: Believed, query: Any, release: Release) -> FrameworkResult:
    """A bound for every model that the data do not rule out, as an estimate is no safe side."""
    if not isinstance(release, Laplace):
        raise Unsupported("what data leave open is bounded for Laplace noise only")
    epsilons = believed.epsilon_bound(release.scale, query)
    sure = (
        ""
        if believed.confidence is None
        else f", with {short(100 * believed.confidence)} % confidence"
    )
    kind = "chain" if isinstance(believed, ChainSet) else "table"
    terms = f"the adversary believes in any {kind} that the data leave open{sure}"
    epsilon = float(np.nanmax(epsilons))
    return FrameworkResult(_LEFT_OPEN, epsilon, Side.AT_MOST, None, terms, composes=False)


def _first(errors: Sequence[TellapartError]) -> TellapartError:
    """The mistake to name where no framework has an answer: rather one in what was given."""
    return next((error for error in errors if isinstance(error, InvalidArgument)), errors[0])
