"""All frameworks at once for a small release and prior, by sums over every database."""

from __future__ import annotations

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart.worlds.policies.policy import minimal_neighbours

_STEPS = 60


def dp(rows: Array) -> float:
    """Databases that differ in one record."""
    logs = np.log(rows)
    return max(float(np.ptp(logs, axis=axis).max()) for axis in range(rows.ndim - 1))


def beliefs(joint: Array, rows: Array) -> dict[str, float]:
    """What an output does to the belief in a record's value: DDP, IP, MP and I(X; O)."""
    both = joint[..., None] * rows
    seen = both.sum(axis=tuple(range(joint.ndim)))
    epsilons = {"DDP": 0.0, "IP": 0.0, "MP": 0.0, "MI": 0.0}
    for record in range(joint.ndim):
        axes = tuple(i for i in range(joint.ndim) if i != record)
        prior = joint.sum(axis=axes)
        marginal, prior = both.sum(axis=axes)[prior > 0], prior[prior > 0][:, None]
        posterior = marginal / seen
        odds = [
            np.abs(np.log(posterior[a] / posterior[b]) - np.log(prior[a, 0] / prior[b, 0])).max()
            for a, b in itertools.combinations(range(len(prior)), 2)
        ]
        each = {
            "DDP": np.ptp(np.log(marginal / prior), axis=0).max(),
            "IP": max(odds, default=0.0),
            "MP": np.abs(np.log(posterior / prior)).max(),
            "MI": (marginal * np.log(posterior / prior)).sum(),
        }
        epsilons = {name: max(epsilons[name], float(each[name])) for name in epsilons}
    return epsilons


def bayesian(joint: Array, rows: Array) -> float:
    """The same as DDP for someone who knows any other records."""
    worst = 0.0
    both = joint[..., None] * rows
    for record in range(joint.ndim):
        others = [i for i in range(joint.ndim) if i != record]
        for size in range(joint.ndim):
            for unknown in itertools.combinations(others, size):
                prior = joint.sum(axis=unknown, keepdims=True)[..., None]
                shown = np.broadcast_to(prior > 0, (*prior.shape[:-1], rows.shape[-1]))
                marginal = both.sum(axis=unknown, keepdims=True)
                logs = np.log(np.where(shown, marginal, 1.0) / np.where(shown, prior, 1.0))
                top = np.where(shown, logs, -np.inf).max(axis=record)
                bottom = np.where(shown, logs, np.inf).min(axis=record)
                worst = max(worst, float((top - bottom)[shown.any(axis=record)].max()))
    return worst


def given_others(joint: Array, rows: Array) -> float:
    """I(X; O | all others) of the worst record."""
    both = joint[..., None] * rows
    largest = 0.0
    for record in range(joint.ndim):
        whole = joint.sum(axis=record, keepdims=True)[..., None]
        mixed = both.sum(axis=record, keepdims=True) / np.where(whole > 0, whole, 1.0)
        logs = np.log(rows / np.where(whole > 0, mixed, rows))
        largest = max(largest, float((both * logs).sum()))
    return largest


def capacity(rows: Array) -> float:
    """The most nats of one record over all priors, from above: steps of Blahut and Arimoto."""
    largest = 0.0
    for record in range(rows.ndim - 1):
        size = rows.shape[record]
        each = np.moveaxis(rows, record, -2).reshape(-1, size, rows.shape[-1])
        logs = np.log(each)
        own = (each * logs).sum(axis=-1)
        prior = np.full(each.shape[:2], 1 / size)
        upper = np.full(each.shape[0], np.inf)
        for _ in range(_STEPS):
            deadline.check()
            mixed = np.log((prior[:, None] @ each)[:, 0])
            apart = own - (each @ mixed[..., None])[..., 0]
            upper = np.minimum(upper, apart.max(axis=1))
            prior = prior * np.exp(apart - apart.max(axis=1, keepdims=True))
            prior /= prior.sum(axis=1, keepdims=True)
        largest = max(largest, float(upper.max()))
    return largest


# -- policies ------------------------------------------------------------------------------------


def blowfish(rows: Array, allowed: Array) -> float:
    """Minimal neighbours among the databases that are possible, all values being secret."""
    pairs = _neighbours(allowed.shape, allowed.tobytes())
    if not len(pairs):
        return 0.0
    logs = np.log(rows[allowed])
    return float(np.abs(logs[pairs[:, 0]] - logs[pairs[:, 1]]).max())


@cache
def _neighbours(shape: tuple[int, ...], allowed: bytes) -> Array:
    chosen = np.frombuffer(allowed, dtype=bool).reshape(shape)
    return np.asarray(minimal_neighbours(np.argwhere(chosen), ~np.eye(shape[0], dtype=bool)))


class Under(NamedTuple):
    """What a policy asks of a release, and DDP of a prior within it; None where there is none."""

    policy: float
    leaked: float | None


def known_total(joint: Array, rows: Array) -> list[Under]:
    """Blowfish where everyone knows the sum, for each sum."""
    sums = np.indices(joint.shape).sum(axis=0)
    return [constrained(joint, rows, sums == total) for total in range(int(sums.max()) + 1)]


def constrained(joint: Array, rows: Array, allowed: Array) -> Under:
    """Blowfish under any constraint, with DDP of the prior given it."""
    share = np.where(allowed, joint, 0.0)
    policy = blowfish(rows, allowed)
    if not share.any():
        return Under(policy, None)
    return Under(policy, beliefs(share / share.sum(), rows)["DDP"])
