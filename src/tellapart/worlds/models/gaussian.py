"""Jointly normal records, so that any weighted sum of them is normal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.errors import Unsupported
from tellapart.worlds.models.base import ImpossibleSecret, Known, check_mapping
from tellapart.worlds.models.laws import NormalLaw
from tellapart.worlds.models.queries import Query, weights_of
from tellapart.worlds.models.secrets import RecordValue, Secret

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class GaussianRecords:
    """People whose records are normal together, such as heights in a family.

    >>> model = GaussianRecords([0, 0], [[1, 0.5], [0.5, 1]])
    >>> from tellapart.worlds import Sum
    >>> model.law(Sum(), RecordValue(0, 2))
    NormalLaw(mean=3.0, variance=0.75)
    """

    mean: Array
    covariance: Array

    def __post_init__(self) -> None:
        mean = np.array(_checks.vector(mean=self.mean))
        covariance = np.array(_checks.reals(covariance=self.covariance))
        if covariance.shape != (mean.size, mean.size):
            _checks.refuse("covariance", f"be {mean.size} by {mean.size}", covariance.shape)
        if not np.all(np.isfinite(covariance)):
            _checks.refuse("covariance", "be finite", self.covariance)
        scale = float(np.abs(covariance).max())
        if np.abs(covariance - covariance.T).max() > _ROUNDING * scale:
            _checks.refuse("covariance", "be symmetric", self.covariance)
        covariance = (covariance + covariance.T) / 2
        least = float(np.linalg.eigvalsh(covariance)[0])
        if least < -_ROUNDING * scale:
            _checks.refuse("covariance", "have no negative eigenvalue", least)
        for name, array in {"mean": mean, "covariance": covariance}.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.mean.size

    def law(self, query: Query, secret: Secret, known: Known | None = None) -> NormalLaw:
        """The law of the true answer for someone told the secret and the known records."""
        weights = weights_of(query, self.records)
        if not isinstance(secret, RecordValue):
            raise Unsupported(
                "the law of normal records is normal given a record's value only; "
                f"ask RecordValue instead of {type(secret).__name__}"
            )
        evidence = self._told(secret, known)
        places, values = list(evidence), np.array(list(evidence.values()))
        inner = self.covariance[np.ix_(places, places)]
        outer = self.covariance[places] @ weights
        pull = _solved(inner, outer)
        surprise = values - self.mean[places]
        self._check_possible(inner, surprise, secret, known)
        variance = float(weights @ self.covariance @ weights - outer @ pull)
        return NormalLaw(float(weights @ self.mean + pull @ surprise), max(variance, 0.0))

    def prior(self, secret: Secret, known: Known | None = None) -> float:
        """Always refused: a single value of a continuous record has no probability."""
        raise Unsupported(
            "a value of a normal record has a density, not a probability; give the prior of the "
            "two values that are told apart as a number"
        )

    def secrets(self) -> list[RecordValue]:
        """Always refused: a continuous record has no list of values."""
        raise Unsupported("normal records have endlessly many values; name two to tell apart")

    def _told(self, secret: RecordValue, known: Known | None) -> dict[int, float]:
        last = self.records - 1
        evidence = {_checks.whole(0, last, record=secret.record): secret.value}
        for known_record, value in check_mapping(known).items():
            record = _checks.whole(0, last, record=known_record)
            if record in evidence:
                _checks.refuse("known", "leave out the record that the secret is about", known)
            evidence[record] = _checks.finite(known=value)
        return evidence

    def _check_possible(
        self, inner: Array, surprise: Array, secret: RecordValue, known: Known | None
    ) -> None:
        """Where some records determine others, the values told must agree with that."""
        left = surprise - inner @ _solved(inner, surprise)
        if np.abs(left).max() > 1e-6 * (np.abs(surprise).max() + 1e-300):
            given = f" given {dict(known)!r}" if known else ""
            raise ImpossibleSecret(f"secret must be possible{given}, got {secret!r}")


def _solved(inner: Array, right: Array) -> Array:
    """A solution that also exists where some records determine others."""
    return np.asarray(np.linalg.lstsq(inner, right, rcond=1e-12)[0])
