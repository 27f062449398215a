"""The hypothesis test behind every framework: secret against secret, given model and release."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scipy.special import expit

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import Unsupported
from tellapart.worlds.models.base import FiniteModel, Known
from tellapart.worlds.models.gaussian import GaussianRecords
from tellapart.worlds.models.laws import NormalLaw
from tellapart.worlds.models.queries import Vector
from tellapart.worlds.models.secrets import Predicate, RecordIn, RecordValue, Secret
from tellapart.worlds.pairs.curves import Extreme, Law, extremes, pair_curve
from tellapart.worlds.pairs.gaussian import GaussianPair
from tellapart.worlds.pairs.integrals import mutual_information, renyi
from tellapart.worlds.pairs.laplace import LaplacePair
from tellapart.worlds.releases import Release, Releases, each_release, one_release

Model = FiniteModel | GaussianRecords


@dataclass(frozen=True)
class Witness:
    """The output and the two secrets between which it tells most.

    ``log_ratio`` is log P(output | likelier) − log P(output | other), at least 0.
    """

    likelier: Any
    other: Any
    output: Any
    log_ratio: float
    known: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, eq=False)
class SecretTest:
    """How well someone who knows the model can tell that h1 holds rather than h0.

    ``present`` and ``absent`` are the laws of the true answer in the two worlds, ``log_odds`` is
    the logarithm of how much likelier h1 is than h0 before any output; None where a value has no
    probability, or both may hold at once.
    """

    h1: Secret
    h0: Secret
    release: Releases
    present: Law
    absent: Law
    log_odds: float | None
    known: tuple[tuple[int, float], ...] = ()

    def __str__(self) -> str:
        prior = "" if self.prior is None else f", prior {short(self.prior, 4)}"
        return f"{self.h1} against {self.h0}{prior}: ε = {short(self.epsilon)}"

    @cached_property
    def curve(self) -> TradeoffCurve:
        """The least false-negative rate at each false-positive rate, where h0 is the null.

        ``curve.mirrored()`` has h1 as the null; the two differ in general.
        """
        return pair_curve(self.present, self.absent, self.release)

    @property
    def prior(self) -> float | None:
        """The probability of h1 before any output, given that one of the two holds."""
        return None if self.log_odds is None else float(expit(self.log_odds))

    @property
    def epsilon(self) -> float:
        """By how much an output may change the log-odds of the two secrets, either way."""
        return self.witness.log_ratio

    @cached_property
    def witness(self) -> Witness:
        """The output that tells most, and for which of the two secrets it speaks."""
        largest, smallest = self._extremes
        if largest.log_ratio >= -smallest.log_ratio:
            return Witness(self.h1, self.h0, largest.output, largest.log_ratio, self.known)
        return Witness(self.h0, self.h1, smallest.output, -smallest.log_ratio, self.known)

    @property
    def max_posterior(self) -> float:
        """The most certain anyone can become that h1 holds, given that one of the two does."""
        return float(expit(self._known_odds() + self._extremes[0].log_ratio))

    @cached_property
    def monotone(self) -> bool:
        """Whether a threshold on the output is a best test, at every false-positive rate."""
        if isinstance(self.curve, LaplacePair | GaussianPair):
            return self.curve.monotone
        if isinstance(self.present, NormalLaw):  # sums of log-concave laws are log-concave
            return True
        raise Unsupported("only outputs that are single numbers have thresholds; ask test.curve")

    def renyi(self, order: float) -> float:
        """How far the two worlds' outputs are apart on a scale that adds up, in nats.

        The Renyi divergence of this order of the outputs under h1 from those under h0.
        """
        return renyi(self.present, self.absent, self.release, order)

    def mutual_information(self) -> float:
        """How much an output tells on average of which of the two secrets holds, in nats."""
        odds = self._known_odds()
        prior = float(expit(odds))
        laws = [self.present, self.absent]
        return mutual_information(laws, [prior, float(expit(-odds))], self.release)

    @cached_property
    def _extremes(self) -> tuple[Extreme, Extreme]:
        return extremes(self.present, self.absent, self.release)

    def _known_odds(self) -> float:
        if self.log_odds is None:
            raise Unsupported(
                "these two secrets have no prior odds, as values have densities or both may hold; "
                "ask risk.max_posterior(test.curve, prior=...)"
            )
        return self.log_odds


def tell_apart(
    model: Model,
    query: Any,
    release: Releases | list[Release],
    h1: Secret,
    h0: Secret,
    known: Known | None = None,
) -> SecretTest:
    """The exact test of one secret against another, by someone who knows the correlations.

    The adversary knows the model and the records in ``known``, and sees the release of the query.
    A `Vector` of queries has a list of releases, or one that serves each answer anew.

    >>> import tellapart as ta
    >>> from tellapart.worlds import JointTable, RecordValue, Sum
    >>> twins = JointTable([[0, 1], [0, 1]], [[0.5, 0], [0, 0.5]])
    >>> test = tell_apart(twins, Sum(), ta.Laplace(1), RecordValue(0, 1), RecordValue(0, 0))
    >>> test.epsilon
    2.0

    See Also
    --------
    tellapart.worlds.frameworks.pufferfish : the worst of all pairs of secrets
    tellapart.choose.noise : the noise that keeps them apart
    """
    _checks.instance(Model, "a data model of tellapart.worlds", model=model)
    seen: Releases
    if isinstance(query, Vector):
        seen = each_release(release, len(query.queries))
    else:
        seen = one_release(release)
    present, absent = model.law(query, h1, known), model.law(query, h0, known)
    evidence = tuple(sorted((known or {}).items()))
    return SecretTest(h1, h0, seen, present, absent, prior_log_odds(model, h1, h0, known), evidence)


def one_vs_rest(
    model: FiniteModel, query: Any, release: Releases | list[Release], secret: RecordValue
) -> SecretTest:
    """The exact test of one value of a record against all its other values together.

    The others count by their prior probabilities; those of probability 0 not at all.

    >>> import tellapart as ta
    >>> from tellapart.worlds import Independent, RecordValue, Sum
    >>> dice = Independent([[0.2, 0.3, 0.5], [0.5, 0.5]])
    >>> one_vs_rest(dice, Sum(), ta.Laplace(1), RecordValue(0, 1)).prior
    0.3
    """
    _checks.instance(FiniteModel, "a data model with finitely many values", model=model)
    _checks.instance(RecordValue, "a RecordValue", secret=secret)
    domain = model.domain(_checks.whole(0, model.records - 1, record=secret.record))
    rest = RecordIn(secret.record, tuple(value for value in domain if value != secret.value))
    return tell_apart(model, query, release, secret, rest)


def prior_log_odds(
    model: Model, h1: Secret, h0: Secret, known: Known | None = None
) -> float | None:
    """How much likelier h1 is than h0 beforehand; None where that is no question."""
    if isinstance(model, GaussianRecords) or _may_hold_together(model, h1, h0, known):
        return None
    return model.log_prior(h1, known) - model.log_prior(h0, known)


def _may_hold_together(model: FiniteModel, h1: Secret, h0: Secret, known: Known | None) -> bool:
    """Whether two secrets do not exclude each other; values of one record always should."""
    if isinstance(h1, Predicate) or isinstance(h0, Predicate):
        both = Predicate(lambda records: _holds(h1, records) and _holds(h0, records))
        return model.prior(both, known) > 0
    if h1.record != h0.record:
        return True
    shared = set(h1.values) & set(h0.values)
    if shared:
        _checks.refuse("h0", "exclude h1, with which it shares no value", sorted(shared))
    return False


def _holds(secret: Secret, records: tuple[float, ...]) -> bool:
    if isinstance(secret, Predicate):
        return bool(secret.function(records))
    return records[secret.record] in secret.values
