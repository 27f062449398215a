"""Correlated records of one person: Pufferfish privacy under the model that a decision states."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tellapart import _checks
from tellapart.curve.guarantees import guarantee
from tellapart.decision.unit import faced
from tellapart.errors import Unsupported
from tellapart.mechanisms.catalogue import NamedFamily
from tellapart.mechanisms.noise import Laplace
from tellapart.mechanisms.subject import Subject
from tellapart.worlds.described import model_in_words, tables
from tellapart.worlds.described.keys import Keys
from tellapart.worlds.frameworks.pufferfish_privacy import pufferfish
from tellapart.worlds.models.queries import Query
from tellapart.worlds.secret_test import Model

if TYPE_CHECKING:
    from tellapart.decision.record import Correlation, Decision

_TABLE = "correlation"


class CorrelatedRecords(NamedTuple):
    """A model of the records of one person, and what of them goes into the answer."""

    model: Model
    query: Query

    def __str__(self) -> str:
        return model_in_words(self.model)

    def faced(self, subject: Subject) -> Subject:
        """What the noise leaves to someone who knows the model, of two values of one record.

        All such pairs are ε-indistinguishable with the ε of Pufferfish (Kifer and Machanavajjhala
        2014), so that no attack on any of them does better than on a mechanism with this ε. The
        records of others are independent of these: knowing them all changes nothing.
        """
        if not isinstance(subject, Laplace):
            raise Unsupported(
                "under a model of correlation the noise must be laplace, added once: of other "
                'noise write records_per_unit instead, or name = "laplace"'
            )
        return guarantee(float(pufferfish(self.model, self.query, subject).epsilon))

    def family(self, family: NamedFamily) -> NamedFamily:
        """The family as someone who knows the model faces it; each value is worked out once."""
        return replace(family, make=lru_cache(None)(lambda value: self.faced(family.make(value))))


def correlated(correlation: Correlation) -> CorrelatedRecords:
    """The model that a decision states, read as a description of correlated data is."""
    own = {key: x for key, x in correlation.keys.items() if key != "weights"}
    model = tables.model(Keys.of(_TABLE, {"kind": correlation.kind, **own}), Path()).model
    weights = {key: x for key, x in correlation.keys.items() if key == "weights"}
    return CorrelatedRecords(
        model, tables.query(Keys.of(_TABLE, weights) if weights else None, model.records)
    )


def refuse_correlation(decision: Decision) -> None:
    """A model of correlation is about the values of one record, not about several together."""
    privacy = decision.privacy
    if privacy.neighbours != "replace":
        rule = f'be "replace" beside [{_TABLE}], which tells values of one record apart'
        _checks.refuse("privacy.neighbours", rule, privacy.neighbours)
    if privacy.group > 1:
        rule = f"be left out, or 1, beside [{_TABLE}]: the model says how other records follow"
        _checks.refuse("privacy.records_per_unit", rule, privacy.records_per_unit)
    if decision.correlation is not None:
        correlated(decision.correlation)


def unit_family(decision: Decision, family: NamedFamily) -> NamedFamily:
    """The family as the unit of privacy faces it: its records together, or as they correlate."""
    if decision.correlation is not None:
        return correlated(decision.correlation).family(family)
    return faced(family, decision.privacy.relation, decision.privacy.group)
