"""The worst case of a one-run audit: how often any f-DP mechanism is guessed so well (exact LP).

Of m canaries r are guessed, and p_k is the chance that k guesses are right. For one canary, given
the other coins, "guessed in (or out), v of the others right" are events of two worlds P and Q that
differ in its coin. Let R_v and L_v be the chances, averaged over the canaries, that it is guessed
right and wrong while v others are right:

    R_v = (v + 1)·p_{v+1}/m,   L_v = (r − v)·p_v/m,   v = 0, ..., r − 1.

A curve with the privacy profile δ(ε), kept in both orders, allows for every b ≥ 1

    Σ_v (R_v − b·L_v)⁺ + Σ_v (L_v − b·R_v)⁺ ≤ δ(ln b):                                        (1)

for each canary the four parts "in or out, right or wrong" are events of P against Q or Q against P,
and the positive part is convex, so that averages over canaries, coins and orders obey (1), too.
"Draw W with law p, draw r canaries, tell the truth about W of them and lie about the others" makes
every canary's pair that of (1) exactly, so the largest P[W ≥ c] subject to (1) is attained: no test
of the number of right guesses is sharper. (1) contains the sets of Mahloujifar, Melis and Chaudhuri
(2024), whose recursion uses those with v ≥ j alone.

For a list of b this is a linear programme, and a finite list only adds to the maximum. Between two
of its b the left side of (1) is linear in the pair (R_v, L_v), so every pair may be split between
the two rays next to it: with the weights of rays as variables, r + 1 rows tie p_k's two readings,
and a row for each b says (1). What is reported is no maximum but a certificate from the dual: if
λ_b ≥ 0 and (α_v, β_v) satisfy α_v·R + β_v·L ≤ φ(R, L) := Σ_b λ_b·[(R − bL)⁺ + (L − bR)⁺] for all
R, L ≥ 0 (which is checked on the rays, where φ bends), then by weak duality

    P[W ≥ c] ≤ max_k (1[k ≥ c] − α_{k−1}·k/m − β_k·(r − k)/m) + Σ_b λ_b·δ(ln b).              (2)

(2) holds whatever the solver did, and for every curve at once: λ does not depend on δ.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric.solve import first_whole
from tellapart.audit.counts import one_run_guesses as recursion
from tellapart.audit.counts.one_run_guesses import Guesses, largest_refuted
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GaussianCurve

# Beyond so many guesses the programme takes seconds, and gains little over the recursion.
MOST_GUESSES = 500
# How many b are tried over the whole range, and then among those that matter.
_COARSE, _FINE = 10, 12
# By how much the finer list may lower a chance.
_REFINED = 1.12
# From here on δ·m counts for nothing.
_NEGLIGIBLE = 1e-2
# No ln b beyond it: rays so near the end would fall together with it, and leaks be charged for b
# that they do not exceed. What is lost is a mass of e^−30.
_STEEPEST = 30.0
# Above what sums of a few thousand terms, and a claimed curve's δ, are off by.
_ROUNDING, _LEAST = 1e-9, 1e-13
_ULPS = 32 * 2.0**-53
# The programme refutes a few right guesses earlier than the recursion: not worth asking before.
_GAIN = 3, 50
# By so many guesses one fewer right one is usually needed.
_USUAL = 150
# By how much the programme's μ usually exceeds the recursion's: near enough to it, the certificate
# of one μ ends where that of any other would, but for squares of what is left.
FURTHER = 1.025

Profile = Callable[[Array], Array]


@dataclass(frozen=True)
class Certificate:
    """P[so many right or more] ≤ base + Σ weights·δ(ln b), whatever the mechanism."""

    log_ratios: Array
    weights: Array
    base: float

    def p_value(self, profile: Profile) -> float:
        """How likely so many right guesses are for a mechanism with this δ(ε), at most."""
        delta = np.asarray(profile(self.log_ratios)) * (1 + _ROUNDING) + _LEAST
        chance = max(self.base + float(self.weights @ delta), 0.0) * (1 + _ROUNDING)
        return chance if chance < 1 else 1.0  # and where it is no number


def certificate(
    guesses: Guesses, profile: Profile, widest: float, level: float | None = None
) -> Certificate | None:
    """The certificate that says most of a curve with this δ(ε); None where no solver finds one.

    ``widest`` is an ε beyond which δ(ε) counts for nothing, or is 0. With a ``level`` it is looked
    for among a few b, and among more only where they may decide whether it stays below that.
    """
    coarse = np.linspace(0.0, widest, _COARSE)
    proof = _solved(guesses, coarse, profile)
    if proof is None:
        return None
    chance, used = proof.p_value(profile), np.flatnonzero(proof.weights > 0)
    decided = level is not None and not level <= chance <= _REFINED * level
    if decided or used.size == 0:
        return proof
    low, high = max(used[0] - 1, 0), min(used[-1] + 1, _COARSE - 1)
    finer = _solved(guesses, np.linspace(coarse[low], coarse[high], _FINE), profile)
    return proof if finer is None or finer.p_value(profile) > chance else finer


def _solved(guesses: Guesses, log_ratios: Array, profile: Profile) -> Certificate | None:
    # Loaded late: it takes as long as an audit.
    optimize: Any = importlib.import_module("scipy.optimize")
    deadline.check()
    rays = _Rays(guesses, log_ratios)
    limits = np.maximum(np.asarray(profile(log_ratios)), 0.0) * guesses.canaries
    scale = np.maximum(limits, _NEGLIGIBLE)  # rows of like size keep the solver's tolerances sharp
    solved = optimize.linprog(
        -rays.objective().ravel(),
        A_ub=rays.charged(scale),
        b_ub=limits / scale,
        A_eq=rays.balanced(),
        b_eq=np.append(np.zeros(guesses.made - 1), 1.0),
        method="highs-ds",
        options={"presolve": False},  # three times faster: nothing is to be left out here
    )
    if solved.status != 0:
        return None
    return rays.certified(-solved.ineqlin.marginals / scale, -solved.eqlin.marginals)


class _Rays:
    """The programme in weights of rays (R, L), R + L = 1: all pairs are mixtures of neighbours."""

    def __init__(self, guesses: Guesses, log_ratios: Array) -> None:
        self.m, self.r, self.c = guesses.canaries, guesses.made, guesses.right
        self.log_ratios, b = log_ratios, np.exp(log_ratios)
        # ln R/L where (1) bends; the smaller of R and L keeps its digits, as 1 − R would not.
        bends = np.unique(np.concatenate([-log_ratios, log_ratios, [-np.inf, np.inf]]))
        self.right, self.wrong = expit(bends), expit(-bends)
        self.charge = np.maximum(self.right - b[:, None] * self.wrong, 0) + np.maximum(
            self.wrong - b[:, None] * self.right, 0
        )
        self.v = np.arange(self.r)
        # What a unit of a ray at v adds to p_{v+1} by its right part, to p_v by its wrong part.
        self.up = self.right / (self.v + 1)[:, None]
        self.down = self.wrong / (self.r - self.v)[:, None]

    def objective(self) -> Array:
        counts = np.where((self.v + 1 >= self.c)[:, None], self.up, 0.0)
        if self.c == 0:
            counts[0] += self.down[0]
        return counts

    def balanced(self) -> Any:
        """For 0 < k < r that p_k is the same by R_{k−1} and by L_k; and that all p_k add up to 1.

        A row is multiplied by k, which keeps its numbers near one.
        """
        rays, r = self.right.size, self.r
        columns = np.arange(r * rays).reshape(r, rays)
        above, below = self.v[:-1, None], self.v[1:, None]
        whole = self.up.copy()
        whole[0] += self.down[0]
        parts = (
            (np.broadcast_to(above, (r - 1, rays)), columns[:-1], self.up[:-1] * (above + 1)),
            (np.broadcast_to(below - 1, (r - 1, rays)), columns[1:], -self.down[1:] * below),
            (np.full((r, rays), r - 1), columns, whole),
        )
        rows, places, values = (
            np.concatenate([np.ravel(part) for part in kind]) for kind in zip(*parts, strict=True)
        )
        return _sparse((values, (rows, places)), shape=(r, r * rays))

    def charged(self, scale: Array) -> Any:
        return _sparse(np.tile(self.charge / scale[:, None], self.r))

    def certified(self, weights: Array, potentials: Array) -> Certificate:
        """(2) of the module, with supports that are lowered until they hold on every ray."""
        lam, k = np.maximum(weights, 0.0), np.arange(self.r + 1)
        total, between = potentials[-1], np.append(potentials[:-1], 0.0)
        alpha = ((self.v + 1 >= self.c) - total) / (self.v + 1) - between
        carried = np.append(0.0, potentials[:-1])
        beta = carried * self.v / (self.r - self.v)
        beta[0] = (float(self.c == 0) - total) / self.r
        cost = lam @ self.charge
        over = np.max(alpha[:, None] * self.right + beta[:, None] * self.wrong - cost, axis=1)
        # Lowered by what sums may be off by, too, here and in the sums of gains.
        size = np.abs(alpha) + np.abs(beta) + np.max(cost)
        slack = np.maximum(over, 0.0) + _ULPS * size + _LEAST * (1 + lam.sum())
        gain = (k >= self.c) - np.append(0.0, (alpha - slack) * (self.v + 1))
        gain = gain - np.append((beta - slack) * (self.r - self.v), 0.0)
        lost = _ULPS * self.r * float(np.max(size))
        return Certificate(self.log_ratios, lam * self.m, float(np.max(gain)) + lost)


def _sparse(*given: Any, **more: Any) -> Any:
    sparse: Any = importlib.import_module("scipy.sparse")
    return sparse.csc_array(*given, **more)


@dataclass(frozen=True)
class CurveTest:
    """The test of one claimed curve by how many of so many guesses are right, at one level.

    It refutes where the recursion or the linear programme says that so many right guesses are
    less likely than the level. Both bound P[W ≥ c] for a c that the claim fixes, so the smaller of
    their two c is one that a true claim meets with at most the level.
    """

    claim: TradeoffCurve
    canaries: int
    made: int
    level: float

    def refutes(self, right: int) -> bool:
        """Whether so many right guesses refute the claim; errs towards no."""
        if self.by_recursion(right):
            return True
        if not self.exact or not self.by_recursion(min(right + self._gain, self.made)):
            return False
        if isinstance(self.claim, GaussianCurve):  # so that bound and verdict agree to the digit
            guesses = Guesses(self.canaries, self.made, right)
            return self.claim.mu <= mu_lower(guesses, self.level)
        return self.p_value(right) < self.level

    @cached_property
    def least_refuting(self) -> int:
        """The least number of right guesses that refutes the claim; one too many if none does."""
        least = first_whole(self.by_recursion, 0, self.made + 1)
        if not self.exact:
            return least
        earliest = max(least - self._gain, 0)
        start = max(least - max(self.made // _USUAL, 1), earliest)
        raised = False
        while start < least and not self.p_value(start) < self.level:
            start, raised = start + 1, True
        while not raised and start > earliest and self.p_value(start - 1) < self.level:
            start -= 1
        return start

    @property
    def exact(self) -> bool:
        """Whether the guesses are few enough for the linear programme."""
        return 2 <= self.made <= MOST_GUESSES

    @property
    def _gain(self) -> int:
        return max(_GAIN[0], self.made // _GAIN[1])

    def p_value(self, right: int) -> float:
        """How likely so many right guesses or more are at most, if the claim is true."""
        if right <= self.made / 2 or not self.exact:
            return 1.0
        proof = certificate(
            Guesses(self.canaries, self.made, right), self._both.delta, self._widest, self.level
        )
        return 1.0 if proof is None else proof.p_value(self._both.delta)

    def by_recursion(self, right: int) -> bool:
        """Whether the recursion alone refutes the claim."""
        return right > 0 and recursion.overflows(
            Guesses(self.canaries, self.made, right), self._fpr_at, self.level
        )

    @cached_property
    def _fpr_at(self) -> recursion.Inverse:
        share = self.made / self.canaries
        return recursion.tabulated(self._both, min(self.level / self.canaries, share / 2), share)

    @cached_property
    def _both(self) -> TradeoffCurve:
        return self.claim.symmetrised()

    @cached_property
    def _widest(self) -> float:
        return _widest(self._both, self.canaries)


def _widest(claim: TradeoffCurve, canaries: int) -> float:
    """An ε beyond which δ(ε) counts for nothing: the largest loss where that is near."""
    least = float(claim.delta(np.inf))
    far = float(claim.epsilon(min(least + _NEGLIGIBLE / canaries, 1.0)))
    most = float(claim.epsilon(least))
    return min(most if most <= 1.05 * far else far, _STEEPEST)


@lru_cache(maxsize=32)
def curve_test(claim: TradeoffCurve, canaries: int, made: int, level: float) -> CurveTest:
    """The test of a claim, kept while the same claim is asked about again."""
    return CurveTest(claim, canaries, made, level)


@lru_cache(maxsize=1024)
def mu_lower(guesses: Guesses, level: float) -> float:
    """The largest μ for which so many right guesses refute Gaussian DP; 0 if for none.

    From the recursion's answer upwards: the certificate found at one μ bounds the chance at every
    μ, so the largest μ at which it stays below the level is refuted, and hardly any larger one is.

    >>> round(mu_lower(Guesses(canaries=1000, made=100, right=95), level=0.05), 2)
    0.8
    """
    mu = recursion.mu_lower(guesses, level)
    if mu == 0 or not 2 <= guesses.made <= MOST_GUESSES:
        return mu
    claim = GaussianCurve(mu * FURTHER)
    proof = certificate(guesses, claim.delta, _widest(claim, guesses.canaries))
    if proof is None:
        return mu
    return max(mu, largest_refuted(_below(proof, level), recursion.LARGEST_MU))


def _below(proof: Certificate, level: float) -> Callable[[float], bool]:
    return lambda mu: mu == 0 or proof.p_value(GaussianCurve(mu).delta) < level
