"""What mechanisms put out, straight from their definitions: nothing here asks `src` for a law.

`OUTPUTS` gives, for every public mechanism class, the chances of finitely many sets of outputs
without and with the record, for neighbours as far apart as the sensitivity allows. Whoever sees
only which set was hit knows less than the attacker, so no test on them may beat the curve. The
sets follow the likelihood ratio closely, so the best of them nearly reaches it, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tellapart as ta

Pair = tuple[np.ndarray, np.ndarray]

SIZES = np.array([0.01, 0.1, 0.25, 0.5, 0.75, 0.9])  # here a pair must come close to the curve
LEAST = 1e-300  # noise without ends reaches every cell, even where its mass underflows
STEPS = np.linspace(-6, 6, 121)  # thresholds around a centre, in units of the noise


def custom(mechanism: Any) -> list[Pair]:
    return [(mechanism.test.absent, mechanism.test.present)]


def laplace(mechanism: Any) -> list[Pair]:
    def below(x: np.ndarray) -> np.ndarray:
        return _laplace_below(x / mechanism.scale)

    return [_shifted(below, mechanism.sensitivity, mechanism.scale)]


def gaussian(mechanism: Any) -> list[Pair]:
    def below(x: np.ndarray) -> np.ndarray:
        return _normal_below(x / mechanism.sigma)

    return [_shifted(below, mechanism.sensitivity, mechanism.sigma)]


def truncated_laplace(mechanism: Any) -> list[Pair]:
    cutoff, shift = mechanism.cutoff, mechanism.sensitivity

    def below(x: np.ndarray) -> np.ndarray:
        return truncated_below(x / mechanism.scale, cutoff / mechanism.scale)

    ends = [-cutoff, cutoff, shift - cutoff, shift + cutoff]
    return [_shifted(below, shift, mechanism.scale, ends)]


def truncated_below(x: np.ndarray, cutoff: float) -> np.ndarray:
    """P(noise ≤ x) of Laplace noise of scale 1 that never exceeds the cut-off."""
    outer = np.minimum(np.abs(x), cutoff)
    tail = np.exp(-outer) * -np.expm1(outer - cutoff) / (-2 * np.expm1(-cutoff))
    return np.where(x < 0, tail, 1 - tail)


def discrete_laplace(mechanism: Any) -> list[Pair]:
    def below(x: np.ndarray) -> np.ndarray:
        tail = np.exp(-(np.abs(x) + 0.5) / mechanism.scale) / (1 + math.exp(-1 / mechanism.scale))
        return np.where(x < 0, tail, 1 - tail)

    between = np.arange(-3, mechanism.sensitivity + 3) + 0.5
    return [tuple(_cells(below, between - centre) for centre in (0, mechanism.sensitivity))]


def discrete_gaussian(mechanism: Any) -> list[Pair]:
    sigma, shift = mechanism.sigma, mechanism.sensitivity
    if sigma < 200:
        x = np.arange(-math.ceil(38 * sigma), math.ceil(38 * sigma) + shift + 1)
        return [tuple(_normalised(np.exp(-(((x - c) / sigma) ** 2) / 2)) for c in (0, shift))]

    def below(x: np.ndarray) -> np.ndarray:
        # Euler-Maclaurin between half-integers: the next term is of order 1/sigma⁶.
        t = x / sigma
        density = np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)
        slopes = t / (24 * sigma**2) + 7 * (3 * t - t**3) / (5760 * sigma**4)
        return _normal_below(t) + slopes * density

    edges = np.unique(np.floor(np.concatenate([STEPS * sigma, shift + STEPS * sigma]))) + 0.5
    return [tuple(_cells(below, edges - centre).clip(LEAST) for centre in (0, shift))]


def staircase(mechanism: Any) -> list[Pair]:
    """Each stair of length 1 in three pieces, cut where the step of either law may end."""
    epsilon, share = mechanism.epsilon, mechanism.fraction
    share = 1 / (1 + math.exp(epsilon / 2)) if share is None else share
    top = -math.expm1(-epsilon) / (2 * (share + math.exp(-epsilon) * (1 - share)))
    short, reach = min(share, 1 - share), 4
    widths, down = np.array([short, 1 - 2 * short, short]), np.array([0, share < 0.5, 1])

    def stair(away: int) -> np.ndarray:
        falls = down + away if away >= 0 else down[::-1] - away - 1
        return top * np.exp(-epsilon * falls) * widths

    def law(centre: int) -> np.ndarray:
        stairs = [stair(start - centre) for start in range(-reach, reach)]
        tails = np.exp(-epsilon * np.array([reach + centre, reach - centre])) / 2
        return _normalised(np.concatenate([*stairs, tails]))

    return [(law(0), law(1))]


def uniform(mechanism: Any) -> list[Pair]:
    shift, half, atom = mechanism.sensitivity, mechanism.width / 2, mechanism.atom
    edges = np.sort([-half, 0, half, shift - half, shift, shift + half])

    def law(centre: float, atoms: list[float]) -> np.ndarray:
        below = np.clip((edges - centre) / mechanism.width + 0.5, 0, 1)
        return np.array([*((1 - atom) * np.diff(below)), *atoms])

    return [(law(0, [atom, 0]), law(shift, [0, atom]))]


def planar_laplace(mechanism: Any) -> list[Pair]:
    """Cells between hyperbolas: how much further away one place is than the other."""
    apart = mechanism.epsilon * mechanism.distance
    if apart == 0:
        return [(np.ones(1), np.ones(1))]
    span = np.linspace(0, math.pi, 200)[1:-1, None]  # of directions that cross a hyperbola
    u = np.linspace(-3.5, 3.5, 401)
    share = 1 / (1 + np.exp(math.pi * np.sinh(u)))  # tanh-sinh: far finer towards both ends
    weights = math.pi * np.cosh(u) * share * (1 - share) * (u[1] - u[0])
    # Seen from the first place, each of them does so at one radius.
    fall = 4 * np.sin(span * (1 - share / 2)) * np.sin(span * share / 2)
    radius = apart * np.sin(span) ** 2 / fall
    beyond = ((1 + radius) * np.exp(-radius)) @ weights * span[:, 0] / math.pi
    p = np.diff(beyond, prepend=0, append=1).clip(0)
    return [(p, p[::-1])]


def randomized_response(mechanism: Any) -> list[Pair]:
    odds = np.full((2, mechanism.categories), math.exp(-mechanism.epsilon))
    odds[0, 0] = odds[1, 1] = 1
    return [(_normalised(odds[0]), _normalised(odds[1]))]


def unary_encoding(mechanism: Any) -> list[Pair]:
    """The bits of the two true categories; all others are alike."""
    true = [missed(mechanism), mechanism.keep]
    other = [1 - mechanism.flip, mechanism.flip]
    return [(np.outer(true, other).ravel(), np.outer(other, true).ravel())]


def missed(mechanism: ta.UnaryEncoding) -> float:
    """1 − keep, to all the digits that are known."""
    return 1 - mechanism.keep if mechanism.miss is None else mechanism.miss


def selection(chances: Callable[[Any, np.ndarray], np.ndarray]) -> Callable[[Any], list[Pair]]:
    """The pair of given utilities; else many pairs of two options, pushed apart as far as can be.

    Their gaps give the first option each of SIZES by logistic or by Laplace noise.
    """

    def outputs(mechanism: Any) -> list[Pair]:
        epsilon, share = mechanism.epsilon, 1 if mechanism.monotone else 1 / 2
        if mechanism.absent is not None:
            rate = share * epsilon / mechanism.sensitivity
            utilities = [(rate * mechanism.absent, rate * mechanism.present)]
        else:
            tail = np.log(2 * np.minimum(SIZES, 1 - SIZES))
            gaps = [*np.log(SIZES / (1 - SIZES)), *np.where(SIZES < 0.5, tail, -tail)]
            move = epsilon * np.array([share, share - 1])
            utilities = [(u, u + move) for u in np.array([[gap, 0.0] for gap in gaps])]
        return [tuple(chances(mechanism, utility) for utility in pair) for pair in utilities]

    return outputs


def _softmax(_: Any, utility: np.ndarray) -> np.ndarray:
    return _normalised(np.exp(utility - utility.max()))


def _permute_and_flip(_: Any, utility: np.ndarray) -> np.ndarray:
    """P(r) = w_r·∫₀¹ Π_{s≠r} (1 − w_s·t) dt, the product multiplied out."""
    taken = np.exp(utility - utility.max())

    def mean_chance(others: np.ndarray) -> float:
        product = np.ones(1)
        for w in others:
            product = np.convolve(product, [1, -w])
        return float(product @ (1 / np.arange(1, product.size + 1)))

    return _normalised([w * mean_chance(np.delete(taken, r)) for r, w in enumerate(taken)])


def _noisy_max(mechanism: Any, utility: np.ndarray) -> np.ndarray:
    if mechanism.noise is ta.MaxNoise.GUMBEL:
        return _softmax(mechanism, utility)
    away = np.unique(np.add.outer(utility, np.linspace(-40, 40, 41)))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(away)[:, None] / 2
    noise = (away[:-1, None] + half * (1 + nodes)).reshape(-1, 1) - utility
    below, density = _laplace_below(noise), np.exp(-np.abs(noise)) / 2
    others = [np.prod(np.delete(below, r, axis=1), axis=1) for r in range(utility.size)]
    return _normalised((half * weights).ravel() @ (density * np.transpose(others)))


def _laplace_below(x: np.ndarray) -> np.ndarray:
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)


def _normal_below(x: np.ndarray) -> np.ndarray:
    return np.array([math.erfc(-point / math.sqrt(2)) / 2 for point in x])


def _shifted(below: Any, shift: float, unit: float, ends: Any = ()) -> Pair:
    """Cells around both centres, of symmetric noise of which ``below`` is accurate below 0."""
    edges = np.unique(np.concatenate([STEPS * unit, shift + STEPS * unit, ends]))
    least = 0 if len(ends) else LEAST
    return _cells(below, edges).clip(least), _cells(below, edges - shift).clip(least)


def _cells(below: Any, edges: np.ndarray) -> np.ndarray:
    up, down = (np.array([0, *below(x), 1]) for x in (edges, -edges[::-1]))
    rising, falling = np.diff(up), np.diff(down)[::-1]
    # Beyond the centre the tails have the digits.
    return np.where(np.append(edges, math.inf) > 0, falling, rising).clip(0)


def _normalised(weights: Any) -> np.ndarray:
    return np.asarray(weights) / np.sum(weights)


def promise(mechanism: Any) -> list[Pair]:
    """The worst that keeps it: all is revealed with chance δ, else a coin of odds e^ε."""
    rare = (1 - mechanism.delta) / (1 + math.exp(mechanism.epsilon))
    likely = (1 - mechanism.delta) / (1 + math.exp(-mechanism.epsilon))
    absent = np.array([mechanism.delta, likely, rare, 0.0])
    return [(absent, absent[::-1])]


def last_iterate(mechanism: Any) -> list[Pair]:
    """Losses m·x²/2 + a·x, x followed step by step: two normal laws of one deviation."""
    moved, variance = 0.0, 0.0
    for _ in range(mechanism.steps):
        shrink = 1 - mechanism.step_size * mechanism.strong_convexity
        push = mechanism.step_size * mechanism.gradient_sensitivity / mechanism.data_size
        moved = shrink * moved + push
        variance = shrink**2 * variance + (mechanism.step_size * mechanism.sigma) ** 2
    unit = math.sqrt(variance)
    return [_shifted(lambda x: _normal_below(x / unit), moved, unit)]


def above_threshold(mechanism: Any) -> list[Pair]:
    """Which of a few questions are answered "above", whose answers move as far as they may.

    By quadrature over the noise of the threshold, cut where any density has a kink.
    """
    scale, other, size = mechanism.threshold_scale, mechanism.query_scale, mechanism.sensitivity
    pairs = []
    for start in (np.array([0.0, 0.0, 0.0]), np.array([2.0, -1.0, 0.5]) * scale):
        moved = start + size * (np.ones(3) if mechanism.monotone else np.array([1, -1, 1]))
        reach = max(scale, other) * 45 + 4 * size
        kinks = np.concatenate([[-reach, 0.0, reach], start, moved, 3 * start, 3 * moved])
        fine = np.concatenate([np.outer(kinks, np.ones(9)) + min(scale, other) * np.arange(-4, 5)])
        edges = np.unique(np.concatenate([kinks, fine.ravel(), np.linspace(-reach, reach, 200)]))
        edges = edges[np.abs(edges) <= reach]
        nodes, weights = np.polynomial.legendre.leggauss(12)
        half = np.diff(edges)[:, None] / 2
        at = (edges[:-1, None] + half * (1 + nodes)).ravel()
        mass = (half * weights).ravel() * np.exp(-np.abs(at) / scale) / (2 * scale)
        laws = []
        for answers in (start, moved):
            chances = []
            for said in itertools.product([False, True], repeat=3):
                if sum(said) > mechanism.answers:
                    continue
                given, left = np.ones(at.size), mechanism.answers
                for answer, above in zip(answers, said, strict=True):
                    if left == 0:  # it has ended, and says no more
                        given = given * (not above)
                        continue
                    below = _laplace_below((at - answer) / other)
                    given = given * (1 - below if above else below)
                    left -= above
                chances.append(mass @ given)
            laws.append(_normalised(chances))
        pairs.append(tuple(laws))
    return pairs


def partition_selection(mechanism: Any) -> list[Pair]:
    """Shown or not, with n people or one more, up to where it is certain."""
    chances = [0.0]
    while chances[-1] < 1 and len(chances) < 400:
        chance, grown = chances[-1], math.exp(mechanism.epsilon)
        rest = (1 - chance - mechanism.delta) / grown
        chances.append(min(grown * chance + mechanism.delta, 1 - rest, 1.0))
    laws = [np.array([1 - chance, chance]) for chance in chances]
    return list(itertools.pairwise(laws))


def thresholded_histogram(mechanism: Any) -> list[Pair]:
    """New keys that are shown or not, beside one count that moves; those of one kind alone, too."""
    noise = mechanism.noise
    (moved,) = {ta.Gaussian: gaussian, ta.Laplace: laplace, ta.DiscreteLaplace: discrete_laplace}[
        type(noise)
    ](noise)
    away = mechanism.threshold - noise.sensitivity
    if isinstance(noise, ta.Gaussian):
        shown = math.erfc(away / noise.sigma / math.sqrt(2)) / 2
    elif isinstance(noise, ta.Laplace):
        shown = float(1 - _laplace_below(np.array(away / noise.scale)))
        shown = math.exp(-away / noise.scale) / 2 if away > 0 else shown
    else:
        k = math.ceil(away)
        tail = math.exp(-max(k, 1 - k) / noise.scale) / (1 + math.exp(-1 / noise.scale))
        shown = tail if k > 0 else 1 - tail
    pairs = []
    for new in range(mechanism.keys + 1):
        hidden = (1 - shown) ** new
        seen = -math.expm1(new * math.log1p(-shown)) if shown < 1 else float(new > 0)
        absent, present = np.array([1.0, 0.0]), np.array([hidden, seen])
        for _ in range(min(mechanism.keys - new, 2)):
            absent, present = (
                np.multiply.outer(law, one).ravel()
                for law, one in ((absent, moved[0]), (present, moved[1]))
            )
        pairs.append((absent, present))
    return pairs


OUTPUTS: dict[type, Callable[[Any], list[Pair]]] = {
    ta.AboveThreshold: above_threshold,
    ta.CustomMechanism: custom,
    ta.DiscreteGaussian: discrete_gaussian,
    ta.DiscreteLaplace: discrete_laplace,
    ta.ExponentialMechanism: selection(_softmax),
    ta.Gaussian: gaussian,
    ta.Laplace: laplace,
    ta.LastIterate: last_iterate,
    ta.PartitionSelection: partition_selection,
    ta.PermuteAndFlip: selection(_permute_and_flip),
    ta.PlanarLaplace: planar_laplace,
    ta.Promise: promise,
    ta.RandomizedResponse: randomized_response,
    ta.ReportNoisyMax: selection(_noisy_max),
    ta.Staircase: staircase,
    ta.ThresholdedHistogram: thresholded_histogram,
    ta.TruncatedLaplace: truncated_laplace,
    ta.UnaryEncoding: unary_encoding,
    ta.UniformNoise: uniform,
}
