"""The subsampled Gaussian mechanism (DP-SGD): the privacy loss of a mixture, by its moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

from tellapart._checks import Array
from tellapart._numeric.safe import complex_log1p
from tellapart.curve.base import FourRates
from tellapart.curve.composition.laplace_loss import BoundedLoss
from tellapart.curve.composition.loss_laws import Complex, Cumulants, LossLaw
from tellapart.curve.composition.loss_quadrature import (
    NEGLIGIBLE,
    Nodes,
    Outcomes,
    SmoothLoss,
    Spread,
    dyadic,
)
from tellapart.errors import NotCertified, Unsupported

# Outputs on a mesh, at most: more would be slow, and mean nothing in doubles.
_MOST_POINTS = 300_000
_LOG_ROOT = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class MixtureLoss(LossLaw):
    """N(0, 1) against Σ weights[j]·N(j·mu, 1): a Gaussian step on a random part of the data.

    weights = (1 − q, q) is Poisson sampling at rate q; binomial weights stand for a group. With
    ``shifts``, rising from 0, these stand for j·mu, and mu is the least above 0.
    """

    mu: float
    weights: tuple[float, ...]
    shifts: tuple[float, ...] = ()
    largest = math.inf

    @cached_property
    def _shifts(self) -> Array:
        shifts = self.shifts or [j * self.mu for j in range(len(self.weights))]
        return np.array(shifts, dtype=float)

    @property
    def reach(self) -> float:
        """The furthest shift."""
        return float(self._shifts[-1])

    @property
    def bend(self) -> float:
        """How far apart two shifts are between which the loss may bend sharply."""
        return self.reach if self.shifts else self.mu

    @property
    def least(self) -> float:  # type: ignore[override]
        return math.log(self.weights[0]) if self.weights[0] > 0 else -math.inf

    @property
    def size(self) -> float:  # type: ignore[override]
        weights = [weight for weight in self.weights if weight > 0]
        if self.reach > 1e150:  # its square, which the largest losses come near, is no double
            raise NotCertified("a step has too little noise for its losses to be told apart")
        return self.reach**2 + len(weights) - math.log(min(weights))

    def rates(self, t: Array) -> FourRates:
        """From the output that has this loss; below the least loss that is −∞."""
        x = self._output(t)
        tpr, fnr = np.zeros_like(x), np.zeros_like(x)
        for shift, weight in zip(self._shifts, self.weights, strict=True):
            tpr += weight * ndtr(shift - x)
            fnr += weight * ndtr(x - shift)
        return ndtr(-x), tpr, fnr, ndtr(x)

    def _output(self, t: Array) -> Array:
        """The output with this loss: where Σ over j > 0 makes up e^t − weights[0]."""
        first, others = self.weights[0], math.fsum(self.weights[1:])
        lost = math.log(first) if first > 0 else -math.inf
        with np.errstate(divide="ignore", over="ignore"):
            # Near 0 by what the others weigh, elsewhere by what the first takes off e^t.
            near = np.log(np.maximum(np.expm1(np.clip(t, -1.0, 40.0)) + others, 0.0))
            off = np.log1p(-np.exp(np.minimum(lost - t, 0.0)))
            goal = np.where((t > 40) | (t < -1), t + off, near)
        return self._output_of(goal)

    def _lines(self) -> tuple[Array, Array]:
        """Slopes and heights of the logarithms of the terms with j > 0."""
        pairs = zip(self._shifts, self.weights, strict=True)
        alive = [(shift, weight) for shift, weight in pairs if shift and weight]
        slopes, weights = np.array(alive, dtype=float).T
        return slopes, np.log(weights) - slopes**2 / 2

    def _output_of(self, goal: Array) -> Array:
        """The output where Σ over j > 0 has this logarithm.

        That is convex and rises in x, so that Newton's method from above falls to the root and
        needs no bracket, unlike those of `solve`; with one term left it is a line.
        """
        slopes, heights = self._lines()
        x = ((goal[..., None] - heights) / slopes).min(axis=-1)
        alive = np.isfinite(x)
        at, goal = x[alive], goal[alive]
        for _ in range(0 if slopes.size == 1 else 60):
            terms = np.multiply.outer(at, slopes) + heights
            top = terms.max(axis=-1)
            mass = np.exp(terms - top[..., None])
            total = mass.sum(axis=-1)
            step = (np.log(total) + top - goal) * total / (mass @ slopes)
            at = at - step
            if np.all(np.abs(step) * self.mu <= np.spacing(self.size + np.abs(goal))):
                break
        x[alive] = at
        return np.asarray(x)

    def above_least(self, x: Array) -> Array:
        """The logarithm of how far the loss of an output exceeds the least one."""
        slopes, heights = self._lines()
        ratio = logsumexp(np.multiply.outer(x, slopes) + heights, axis=-1) - self.least
        return np.asarray(np.log(np.logaddexp(0.0, ratio)))

    def log_density_above_least(self, v: Array) -> Array:
        """The logarithm of the density, under h0, of the loss at least + e^v."""
        u = np.exp(v)
        excess = np.where(u > 36, u, np.log(np.expm1(np.minimum(u, 36.0))))
        x = self._output_of(excess + self.least)
        slopes, heights = self._lines()
        terms = np.multiply.outer(x, slopes) + heights
        share = np.exp(terms - terms.max(axis=-1, keepdims=True))
        slope = share @ slopes / share.sum(axis=-1)
        return np.asarray(-x * x / 2 - _LOG_ROOT - np.log(slope) - np.log(-np.expm1(-u)))

    def loss_at(self, x: NDArray[Any]) -> NDArray[Any]:
        """The logarithm of Σ weights[j]·exp(j·mu·x − (j·mu)²/2), of a real or complex output."""
        if len(self.weights) == 2:
            q = self.weights[1]
            w = self.mu * x - self.mu**2 / 2
            big = w.real > 30  # there the 1 in log1p is lost, and exp would overflow
            far = np.where(big, w, 30.0)
            high = far + math.log(q) + np.log1p((1 - q) / q * np.exp(-far))
            w = np.where(big, 0.0, w)
            small = q * np.expm1(w)
            near = complex_log1p(small) if np.iscomplexobj(small) else np.log1p(small)
            # Where little but 1 − q is left, that is added, not what it lacks to 1.
            left = np.log((1 - q) + q * np.exp(w))
            return np.where(big, high, np.where(np.abs(small) < 0.5, near, left))
        j = np.flatnonzero(np.array(self.weights) > 0)
        logs = np.log(np.array(self.weights)[j]) - self._shifts[j] ** 2 / 2
        terms = np.multiply.outer(x, self._shifts[j]) + logs
        top = terms.real.max(axis=-1)
        return np.asarray(np.log(np.exp(terms - top[..., None]).sum(axis=-1)) + top)

    def _step(self, c: Array, frequency: float) -> float:
        """A mesh on which the trapezoidal sum is exact: it converges exponentially."""
        peak = 1 + max(0.0, -float(c.min())) * self.bend**2 / 4
        return min(0.2, 0.5 / math.sqrt(peak), 2 * math.pi / (frequency + 16))

    def cumulants(self, c: Array) -> Cumulants:
        # Further out than this no double holds a probability.
        near = c * self.reach < 4000
        if not near.all():
            columns = [np.full(c.shape, x) for x in (math.inf, math.nan, math.nan)]
            if near.any():
                for column, value in zip(columns, self.cumulants(c[near]), strict=True):
                    column[near] = value
            return Cumulants(*columns)
        loss, base = _outputs(self, _bucket(float(-c.min())), _bucket(float(c.max())))
        tilted = np.multiply.outer(c, loss)
        top = (tilted + base).max(axis=-1, keepdims=True)
        mass = np.exp(tilted + base - top)
        total = mass.sum(axis=-1)
        mean = mass @ loss / total
        square = (mass * (loss - mean[..., None]) ** 2).sum(axis=-1) / total
        value = np.log(total) + top[..., 0]
        # Near M = 1 the sum of e^(c·loss) − 1 − c·(e^loss − 1), whose last term has mean 0, keeps
        # the digits that a million repetitions would lose.
        close = np.abs(value) < 0.1
        if close.any():
            value[close] = np.log1p(_excess(tilted[close], c[close], loss, base))
        return Cumulants(value, mean, square)

    def along(self, c: float, y: Array) -> Complex:
        logs = np.empty(y.shape, dtype=complex)
        for part in dyadic(y):
            line = self._line(c, float(y[part].max()))
            logs[part] = line.moments(c, y[part])
        return logs

    def on_mesh(self, c: float, step: float, points: int) -> Complex:
        return self._line(c, step * points).moments_on_mesh(c, step, points)

    def _line(self, c: float, furthest: float) -> Nodes:
        """The line x + iη, where oscillation turns into decay: any y costs about the same."""
        tilts = np.array([min(c, 0.0), max(c, 1.0)])
        low, high = _span(self, *tilts.tolist())
        shift = min(1.2, math.pi / (3 * self.reach))
        # Beyond this frequency the integrand on the shifted line is dead.
        fastest = 45 * max(self.mu / math.tan(shift * self.mu), 1 / shift)
        mesh = self._step(tilts, min(furthest * self.reach, fastest))
        x = _mesh(low - 0.5, high + 0.5, mesh) + 1j * shift
        return Nodes(self.loss_at(x), np.asarray(math.log(mesh) - _LOG_ROOT - x * x / 2, complex))


def _mesh(low: float, high: float, step: float) -> Array:
    if not (high - low) < _MOST_POINTS * step:
        raise NotCertified("a step has more structure than a mesh of its outputs can hold")
    return np.arange(low, high, step)


def _bucket(tilt: float) -> float:
    """A tilt that stands for all up to it, so that few sets of outputs serve many."""
    if not tilt < 2.0**1023:
        raise NotCertified("a step has too little loss for its sums to be told apart")
    return 2.0 ** math.ceil(math.log2(tilt)) if tilt > 1 else 1.0


@lru_cache(maxsize=64)
def _span(law: MixtureLoss, least: float, most: float) -> tuple[float, float]:
    """Where the tilted law e^(c·loss)·N(0, 1) lives, for all tilts c between two."""
    x = _mesh(-40.0, 41.0 + max(0.0, most) * law.reach, 0.25)
    logs = np.multiply.outer(np.array([least, most]), law.loss_at(x)) - x * x / 2
    alive = np.flatnonzero((logs > logs.max(axis=1, keepdims=True) - NEGLIGIBLE).any(axis=0))
    return float(x[alive[0]]) - 0.25, float(x[alive[-1]]) + 0.25


@lru_cache(maxsize=64)
def _outputs(law: MixtureLoss, back: float, forth: float) -> tuple[Array, Array]:
    """Losses and log-masses of the outputs that matter for tilts from −back to forth."""
    tilts = np.array([-back, forth])
    low, high = _span(law, -back, forth)
    step = law._step(tilts, 0.0)
    x = _mesh(low, high + step, step)
    return law.loss_at(x), np.log(step) - _LOG_ROOT - x * x / 2


def _excess(tilted: Array, c: Array, loss: Array, base: Array) -> Array:
    """M − 1 as the sum of (e^(c·loss) − 1 − c·(e^loss − 1))·e^base."""
    terms = np.expm1(np.minimum(tilted, 300.0))
    terms -= np.multiply.outer(c, np.expm1(np.minimum(loss, 300.0)))
    terms *= np.exp(base)
    # Where an exponential may overflow, it has its mass taken off first, and the 1 is lost in it.
    far = (tilted > 300) | (loss > 300)
    if far.any():
        drift = np.multiply.outer(c, np.exp(loss + base))
        terms[far] = (np.exp(tilted + base) - drift)[far]
    return np.asarray(terms.sum(axis=-1))


# So many deviations beyond the peak of a tilted bell, no double holds its mass.
_UNSEEN = 42.0


@dataclass(frozen=True)
class _BellAbove(Outcomes):
    """Losses above 0 of a Gaussian step on a sample: outputs beyond the middle."""

    law: MixtureLoss
    atoms = ()

    def spread(self, x: Array) -> Spread:
        mu, q = self.law.mu, self.law.weights[1]
        slope = mu * q / (q + (1 - q) * np.exp(-mu * (x - mu / 2)))
        return Spread(np.asarray(self.law.loss_at(x)), slope, -x * x / 2 - _LOG_ROOT)

    def grid(self, tilts: Array) -> Array:
        low = self.law.mu / 2
        peaks = [low, *(float(c) * self.law.mu for c in tilts if c > 0)]
        rows = [np.linspace(max(low, at - _UNSEEN), at + _UNSEEN, 600) for at in peaks]
        return np.unique(np.concatenate([[low], *rows]))


@dataclass(frozen=True)
class _BoundedAbove(Outcomes):
    """Losses above 0 of a bounded step on a sample."""

    law: BoundedLoss

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        return tuple(atom for atom in self.law.atoms if atom[0] > 0)

    def spread(self, x: Array) -> Spread:
        return self.law.spread(x)

    def grid(self, tilts: Array) -> Array:
        return np.linspace(0.0, self.law.reach, 801)


@dataclass(frozen=True)
class ReplacedLoss(SmoothLoss):
    """A step on a sample, in the pair that serves both orders."""

    law: MixtureLoss | BoundedLoss

    @cached_property
    def _above(self) -> Outcomes:
        if isinstance(self.law, BoundedLoss):
            return _BoundedAbove(self.law)
        return _BellAbove(self.law)

    @cached_property
    def _still(self) -> float:
        """The mass at loss 0."""
        _, tpr, _, tnr = self.law.rates(np.zeros(1))
        return max(float(tnr[0] - tpr[0]), 0.0)

    @property
    def least(self) -> float:  # type: ignore[override]
        return -self.law.largest

    @property
    def largest(self) -> float:  # type: ignore[override]
        return self.law.largest

    @property
    def size(self) -> float:  # type: ignore[override]
        return self.law.size

    def swapped(self) -> LossLaw:
        return self

    def rates(self, t: Array) -> FourRates:
        fpr, tpr, fnr, tnr = self.law.rates(np.maximum(t, 0.0))
        under = np.nextafter(np.maximum(-t, 0.0), -np.inf)
        back = self.law.rates(np.maximum(under, 0.0))
        low = t < 0
        return (
            np.where(low, back[2], fpr),
            np.where(low, back[3], tpr),
            np.where(low, back[0], fnr),
            np.where(low, back[1], tnr),
        )

    def points(self, tilts: Array, frequency: float) -> tuple[Array, Array]:
        loss, logs = self._above.points(np.concatenate([tilts, 1 - tilts]), frequency)
        losses, masses = [loss, -loss], [logs, logs + loss]
        if self._still > 0:
            losses, masses = [*losses, np.zeros(1)], [*masses, np.log([self._still])]
        return np.concatenate(losses), np.concatenate(masses)

    def rough(self, c: float, top: float) -> tuple[float, float]:
        parts = [self._above.rough(tilt, top) for tilt in (c, 1 - c)]
        still = self._still * math.exp(-top)
        return still + parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]


def replaced(law: LossLaw) -> LossLaw:
    """The pair for both orders behind the law of one order on a sample."""
    if isinstance(law, BoundedLoss) or (isinstance(law, MixtureLoss) and len(law.weights) == 2):
        return ReplacedLoss(law)
    raise Unsupported(f"a {type(law).__name__} step whose record is replaced cannot be sampled yet")
