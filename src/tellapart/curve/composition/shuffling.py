"""Amplification by shuffling: what is left of a local answer once it hides among many others.

A local ε₀-randomiser sends one of two messages, the likelier with odds e^ε₀ (Kairouz, Oh and
Viswanath 2015); each other person sends one of the same two, at random, with some chance: a clone.
With C clones, A of them of the first kind, the attacker at best tells (A + Δ, C − A + 1 − Δ) from
(A + 1 − Δ, C − A + Δ), Δ the better message (Feldman, McMillan and Talwar 2021, Theorem 3.1).

The chance is e^−ε₀ for any randomiser, as R(x) ≥ e^−ε₀·(R(x₀) + R(x₁))/2. The 2/(e^ε₀ + 1) of the
stronger clones (2023) is taken where R(x) ≥ (R(x₀) + R(x₁))/(e^ε₀ + 1) is plain: for yes-no
randomised response. In general others may give an answer on which x₀ and x₁ agree less often.
"""

from __future__ import annotations

import math

import numpy as np

from tellapart._checks import Array
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound

# Up to so many others every number of clones is listed, and every outcome kept apart.
_LISTED = 150
# About so many outcomes are looked at, by leaving out some numbers of clones.
_OUTCOMES = 1e6
# Beyond so many deviations outcomes are joined.
_FAR = 15.0


def shuffled_curve(epsilon: float, others: int, chance: float) -> AtomicCurve:
    """The curve, from below, where each of the others is a clone with this chance."""
    losses, masses = [], []
    chance = min(chance, 1 - 1e-15)
    for count, mass in zip(*_levels(others, chance), strict=True):
        loss, present = _outcomes(epsilon, int(count))
        losses.append(loss)
        masses.append(mass * present)
    loss, present = np.concatenate(losses), np.concatenate(masses)
    present /= math.fsum(present)
    if others > _LISTED:
        loss, present = _on_grid(loss, present, epsilon)
    return from_atoms(loss, present * np.exp(-loss), present, Bound.LOWER)


def _levels(others: int, chance: float) -> tuple[Array, Array]:
    """Numbers of clones and how likely; rounded down where many, as fewer clones hide less."""
    mean, spread = others * chance, math.sqrt(others * chance * (1 - chance))
    first = max(math.floor(mean - _FAR * spread), 0) if others > _LISTED else 0
    last = min(math.ceil(mean + _FAR * spread), others) if others > _LISTED else others
    count = np.arange(first, last + 1.0)
    mass = _binomial(others, chance / (1 - chance), count)
    if others <= _LISTED:
        return count, mass
    # Fewer than are listed: as likely as Bernstein's bound allows, and taken for none at all.
    reach = mean - first
    rare = math.exp(-(reach**2) / 2 / (spread**2 + reach / 3)) if first > 0 else 0.0
    most = min(max(_OUTCOMES / (2 * _FAR * math.sqrt(mean + 1)), 100), 2000)
    stride = max(1, math.ceil(count.size / most))
    levels, starts = count[::stride], np.arange(0, count.size, stride)
    return np.append(0.0, levels), np.append(rare, np.add.reduceat(mass, starts))


def _binomial(total: int, odds: float, count: Array) -> Array:
    """Chances of neighbouring counts from their ratios, which keep their digits; they sum to 1."""
    ratios = np.log(total - count[:-1]) - np.log(count[1:]) + math.log(odds)
    peak = int(np.count_nonzero(ratios > 0))
    logs = np.zeros(count.size)
    logs[peak + 1 :] = np.cumsum(ratios[peak:])
    logs[:peak] = -np.cumsum(ratios[:peak][::-1])[::-1]
    mass = np.exp(logs)
    return np.asarray(mass / math.fsum(mass))


def _outcomes(epsilon: float, count: int) -> tuple[Array, Array]:
    """Losses and masses under h1 with so many clones; the rarest joined at the largest losses."""
    size = count + 1
    reach = _FAR * math.sqrt(size) / 2 + 5
    first, last = max(math.floor(size / 2 - reach), 0), min(math.ceil(size / 2 + reach), size)
    a = np.arange(first, last + 1.0)
    even = _binomial(size, 1.0, a)
    # e^ε weighs the likelier message; both worlds divided by 1 + e^ε.
    rare, likely = 1 / (1 + math.exp(epsilon)), 1 / (1 + math.exp(-epsilon))
    absent, present = a * likely + (size - a) * rare, a * rare + (size - a) * likely
    loss = np.log(present) - np.log(absent)
    loss[a == 0], loss[a == size] = epsilon, -epsilon
    # What is left out is less likely than this (Hoeffding): told apart like one answer alone.
    left = 4 * math.exp(-(_FAR**2) / 2) if last - first < size else 0.0
    loss = np.append(loss, [epsilon, -epsilon])
    return loss, np.append(even * present * 2 / size, [left, left])


def _on_grid(loss: Array, present: Array, epsilon: float) -> tuple[Array, Array]:
    """Each outcome sent to the two grid losses around it, both its masses kept."""
    bulk = np.abs(loss[np.abs(loss) < epsilon * (1 - 1e-9)])
    near = min(float(bulk.max()) if bulk.size else epsilon, epsilon)
    half = np.concatenate([np.linspace(0, near, 3001), np.geomspace(near, epsilon, 100)])
    half = np.unique(np.append(half, epsilon))
    grid = np.concatenate([-half[:0:-1], half])
    k = np.clip(np.searchsorted(grid, loss, side="right") - 1, 0, grid.size - 2)
    ahead = np.clip(loss - grid[k], 0.0, None)
    up = np.minimum(present * np.expm1(-ahead) / np.expm1(grid[k] - grid[k + 1]), present)
    mass = np.bincount(k, present - up, grid.size) + np.bincount(k + 1, up, grid.size)
    return grid, np.asarray(mass, dtype=float)
