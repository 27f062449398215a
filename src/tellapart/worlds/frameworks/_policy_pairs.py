"""The secrets of a policy, asked of a data model."""

from __future__ import annotations

from tellapart import _checks
from tellapart.worlds.models.base import FiniteModel
from tellapart.worlds.models.secrets import Secret
from tellapart.worlds.policies import CompleteGraph, Policy
from tellapart.worlds.secret_test import Model


def check_policy(policy: Policy, model: Model) -> None:
    """A policy must speak of the records that the model describes."""
    _checks.instance(Policy, "a worlds.policies.Policy", policy=policy)
    if policy.records != model.records:
        _checks.refuse("policy", f"be about the model's {model.records} records", policy.records)
    if not isinstance(model, FiniteModel) or isinstance(policy.domain[0], tuple):
        return
    for record in range(model.records if model.records <= 1000 else 1):
        missing = set(model.domain(record).tolist()) - set(policy.domain)
        if missing:
            rule = f"have every value of record {record} in its domain"
            _checks.refuse("policy", rule, f"none of {sorted(missing)}")


def secret_pairs(policy: Policy, model: Model) -> list[tuple[Secret, Secret]] | None:
    """Two values along each edge, for every record; None where any two values are a secret."""
    check_policy(policy, model)
    if isinstance(policy.graph, CompleteGraph) and isinstance(model, FiniteModel):
        return None
    pairs = [pair for record in range(model.records) for pair in policy.pairs(record)]
    if not isinstance(model, FiniteModel):
        return [*pairs]
    return [
        (one, other)
        for one, other in pairs
        if {one.value, other.value} <= set(model.domain(one.record).tolist())
    ]
