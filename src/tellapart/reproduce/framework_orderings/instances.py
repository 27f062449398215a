"""Random small channels and priors, and every framework's ε on them by exact enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from typing import NamedTuple

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.policies.policy import minimal_neighbours
from tellapart.worlds.releases import Channel

Rng = np.random.Generator
Shape = tuple[int, ...]

SHAPES: tuple[Shape, ...] = ((2, 2), (3, 3), (2, 2, 2), (3, 3, 3), (2, 2, 2, 2))
# Probabilities are whole thousandths, so that what is printed is what was computed.
_PARTS = 1000


@dataclass(frozen=True, eq=False)
class Instance:
    """A prior on small databases and a release of them, drawn at random.

    ``joint`` has one axis for each record; ``rows`` has one more, for the outputs.
    """

    prior: str
    mechanism: str
    joint: Array
    rows: Array
    allowed: Array
    noise: str = ""

    @property
    def additive(self) -> bool:
        """Whether noise is added to a sum of records, or to every record by itself."""
        return self.mechanism in ADDITIVE

    @cached_property
    def model(self) -> JointTable:
        """The prior, as a model that every framework takes."""
        return JointTable(tuple(np.arange(float(size)) for size in self.joint.shape), self.joint)

    @cached_property
    def release(self) -> Channel:
        """The release, as a channel of the database's number."""
        flat = self.rows.reshape(-1, self.rows.shape[-1])
        return Channel({float(i): row.tolist() for i, row in enumerate(flat)})

    def query(self, records: tuple[float, ...]) -> float:
        """The number of a database."""
        return float(np.ravel_multi_index([int(record) for record in records], self.joint.shape))

    def __str__(self) -> str:
        shares = [f"{name(place)}: {short(p)}" for place, p in np.ndenumerate(self.joint) if p > 0]
        rows = [f"{name(p)}: {_row(self.rows[p])}" for p in np.ndindex(self.joint.shape)]
        released = self.noise or "{" + ", ".join(rows) + "}"
        return f"{self.prior} prior {{{', '.join(shares)}}}; {self.mechanism}, {released}"


def name(place: tuple[int, ...]) -> str:
    """A database as its digits."""
    return "".join(map(str, place))


def _row(row: Array) -> str:
    return "(" + " ".join(short(value, 4) for value in row) + ")"


def draw(rng: Rng, shape: Shape, prior: str, mechanism: str) -> Instance:
    """One prior and one release of these kinds."""
    joint = PRIORS[prior](rng, shape)
    rows, noise = MECHANISMS[mechanism](rng, shape)
    size = math.prod(shape)
    allowed = np.zeros(size, dtype=bool)
    allowed[rng.choice(size, size=int(rng.integers(3, min(size, 6) + 1)), replace=False)] = True
    return Instance(prior, mechanism, joint, rows, allowed.reshape(shape), noise)


# -- priors --------------------------------------------------------------------------------------


def _dirichlet(rng: Rng, shape: Shape) -> Array:
    size = math.prod(shape)
    return _rounded(rng.dirichlet([rng.choice([0.3, 1.0])] * size)).reshape(shape)


def _sparse(rng: Rng, shape: Shape) -> Array:
    """Few databases of any sums or of one, or all that have one of two neighbouring sums."""
    sums = np.indices(shape).sum(axis=0)
    usual = int(np.argmax(np.bincount(sums.ravel())))
    kind = rng.integers(3)
    if kind == 2:
        among = (sums == usual) | (sums == usual + 1)
        return np.asarray(among / among.sum())
    places = np.flatnonzero(sums == usual) if kind else np.arange(sums.size)
    size = int(rng.integers(2, max(3, places.size // 2 + 1)))
    joint = np.zeros(sums.size)
    joint[rng.choice(places, size=size, replace=False)] = _rounded(rng.dirichlet([1.0] * size))
    return joint.reshape(shape)


def _positive(rng: Rng, shape: Shape) -> Array:
    """Records are alike: something that they have in common makes all of them larger."""
    share = rng.integers(20, 81) / 100
    low, high = (_rounded(rng.dirichlet([0.4] * shape[0]), 100) for _ in range(2))
    order = np.argsort(high / low)
    each = [reduce(np.multiply.outer, [law[order]] * len(shape)) for law in (low, high)]
    return np.asarray(share * each[0] + (1 - share) * each[1])


def _product(rng: Rng, shape: Shape) -> Array:
    laws = [_rounded(rng.dirichlet([1.0] * size), 100) for size in shape]
    return np.asarray(reduce(np.multiply.outer, laws))


def _uniform(rng: Rng, shape: Shape) -> Array:
    return np.full(shape, 1 / math.prod(shape))


# -- releases ------------------------------------------------------------------------------------


def _any_rows(rng: Rng, shape: Shape) -> tuple[Array, str]:
    """Each database has chances of its own."""
    outputs = int(rng.integers(2, 4))
    rows = [_rounded(rng.dirichlet([1.0] * outputs)) for _ in range(math.prod(shape))]
    return np.array(rows).reshape(*shape, outputs), ""


def _noisy_sum(rng: Rng, shape: Shape) -> tuple[Array, str]:
    """Geometric noise on the sum; all outputs beyond an end tell the same and are one."""
    epsilon = float(rng.choice([0.1, 0.5, 1.0, 2.0, 8.0]))
    sums = np.indices(shape).sum(axis=0)
    outputs = np.arange(sums.max() + 1)
    faded = np.exp(-epsilon * np.abs(sums[..., None] - outputs)) / (1 + math.exp(-epsilon))
    faded[..., 1:-1] *= -math.expm1(-epsilon)
    return faded, f"e^−{short(epsilon)} for each step"


def _responses(rng: Rng, shape: Shape) -> tuple[Array, str]:
    """Every record is answered by itself, at random."""
    each, epsilon = _at_random(rng, shape[0])
    flat = each
    for _ in shape[1:]:
        flat = np.asarray(np.kron(flat, each), dtype=float)
    return flat.reshape(*shape, -1), f"ε = {short(epsilon)} for each record"


def _parity(rng: Rng, shape: Shape) -> tuple[Array, str]:
    """The sum modulo the number of values, answered at random."""
    each, epsilon = _at_random(rng, shape[0])
    return each[np.indices(shape).sum(axis=0) % shape[0]], f"ε = {short(epsilon)}"


def _at_random(rng: Rng, size: int) -> tuple[Array, float]:
    epsilon = float(rng.choice([0.5, 1.0, 2.0]))
    each = (np.eye(size) * math.expm1(epsilon) + 1) / (math.exp(epsilon) + size - 1)
    return np.asarray(each), epsilon


def _rounded(law: Array, parts: int = _PARTS) -> Array:
    """Whole parts that sum to 1, none of them 0."""
    spare = parts - law.size
    whole = np.floor(law * spare)
    left = np.argsort(whole - law * spare)[: round(float(spare - whole.sum()))]
    whole[left] += 1
    return np.asarray((whole + 1) / parts)


PRIORS: dict[str, Callable[[Rng, Shape], Array]] = {
    "any": _dirichlet,
    "sparse": _sparse,
    "positive": _positive,
    "independent": _product,
    "uniform": _uniform,
}
MECHANISMS: dict[str, Callable[[Rng, Shape], tuple[Array, str]]] = {
    "any channel": _any_rows,
    "noise on the sum": _noisy_sum,
    "randomised response": _responses,
    "noisy parity": _parity,
}
ADDITIVE = frozenset({"noise on the sum", "randomised response"})
INDEPENDENT = frozenset({"independent", "uniform"})


# -- frameworks by enumeration --------------------------------------------------------------------

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
