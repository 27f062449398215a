"""Random mechanisms of every public class, and random curves of every kind.

`MECHANISM_FAMILIES` must cover the public registry; a test says so, so that a new mechanism
cannot escape the laws.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

import tellapart as ta
from tellapart.worlds.pairs.one_sided import OneSided

epsilons = st.one_of(st.floats(1e-3, 8), st.sampled_from([0.0, 1e-9, 30.0, 100.0]))
positive_epsilons = st.one_of(st.floats(1e-3, 8), st.sampled_from([1e-6, 30.0, 100.0]))
deltas = st.one_of(st.floats(1e-9, 0.9), st.sampled_from([1e-15, 0.5]))
sizes = st.floats(0.1, 10)
chances = st.one_of(st.just(0.0), st.floats(1e-250, 1))
neighbours = st.sampled_from(ta.Neighbours)


@st.composite
def pmf_pairs(draw: Any, most: int = 7, least: float = 1e-200) -> tuple[np.ndarray, np.ndarray]:
    """Two laws on the same outcomes, with zeros, ties and very small probabilities."""
    size = draw(st.integers(2, most))
    weights = st.lists(
        st.one_of(
            st.just(0.0), st.floats(0.01, 1), st.sampled_from([max(1e-12, least), least, 0.5])
        ),
        min_size=size,
        max_size=size,
    ).filter(lambda w: sum(w) > 0.01)
    p, q = np.array(draw(weights)), np.array(draw(weights))
    return p / p.sum(), q / q.sum()


@st.composite
def selections(draw: Any, kind: type, **options: Any) -> Any:
    """A selection mechanism: the worst case, or two given lists of utilities."""
    epsilon, sensitivity = draw(epsilons), draw(sizes)
    if draw(st.booleans()):
        return kind(epsilon, sensitivity=sensitivity, **options)
    size, monotone = draw(st.integers(1, 6)), draw(st.booleans())
    absent = np.array(draw(st.lists(st.floats(-5, 5), min_size=size, max_size=size)))
    low = 0.0 if monotone else -1.0
    moves = np.array(draw(st.lists(st.floats(low, 1), min_size=size, max_size=size)))
    return kind(epsilon, absent, absent + sensitivity * moves, sensitivity, monotone, **options)


@st.composite
def last_iterates(draw: Any) -> ta.LastIterate:
    """Noisy gradient descent under conditions that are met, steps short and long."""
    convexity = draw(st.floats(0.01, 10))
    smoothness = convexity * draw(st.floats(1, 50))
    size, steps = draw(st.sampled_from([1, 100, 10_000])), draw(st.sampled_from([1, 2, 10, 300]))
    return ta.LastIterate(
        draw(st.floats(0.05, 50)) / size * math.sqrt(steps),
        steps,
        step_size=draw(st.floats(0.001, 1.99)) / smoothness,
        strong_convexity=convexity,
        smoothness=smoothness,
        gradient_sensitivity=draw(sizes),
        batch_size=size,
        data_size=size,
    )


@st.composite
def thresholded(draw: Any) -> ta.ThresholdedHistogram:
    """Noise of every kind that counts take, with thresholds near and far."""
    size = draw(st.integers(1, 3))
    scale = draw(st.floats(0.2, 20))
    kind = draw(st.sampled_from([ta.DiscreteLaplace, ta.DiscreteLaplace, ta.Laplace, ta.Gaussian]))
    noise = kind(scale, size)
    away = draw(st.floats(-2, 20)) * noise.deviation()
    most = 3 if isinstance(noise, ta.DiscreteLaplace) else 1  # smooth curves take longer
    return ta.ThresholdedHistogram(noise, size + away, draw(st.integers(1, most)))


MECHANISM_FAMILIES: dict[type, st.SearchStrategy[Any]] = {
    ta.AboveThreshold: st.one_of(
        st.builds(
            ta.AboveThreshold,
            st.floats(0.05, 50),
            st.floats(0.1, 100),
            sizes,
            st.sampled_from([1, 1, 2, 3, 200]),
            st.booleans(),
        ),
        st.builds(ta.AboveThreshold.with_epsilon, positive_epsilons, sizes),
    ),
    ta.CustomMechanism: pmf_pairs().map(lambda pair: ta.CustomMechanism.from_pmfs(*pair)),
    ta.DiscreteGaussian: st.builds(
        ta.DiscreteGaussian,
        st.floats(0.2, 30),
        st.integers(1, 5),
    )
    | st.builds(
        ta.DiscreteGaussian,
        st.one_of(st.floats(1000, 1e6), st.sampled_from([1e9, 1e12])),
        st.one_of(st.integers(1, 5), st.integers(1000, 100_000)),
    ),
    ta.DiscreteLaplace: st.builds(ta.DiscreteLaplace, st.floats(0.05, 50), st.integers(0, 9)),
    ta.ExponentialMechanism: selections(ta.ExponentialMechanism),
    ta.Gaussian: st.builds(
        ta.Gaussian, st.one_of(st.floats(0.05, 50), st.just(1e8)), sizes, neighbours=neighbours
    ),
    ta.Laplace: st.builds(
        ta.Laplace, st.one_of(st.floats(0.01, 50), st.just(1e8)), sizes, neighbours=neighbours
    ),
    ta.LastIterate: last_iterates(),
    ta.PartitionSelection: st.builds(ta.PartitionSelection, epsilons, st.floats(1e-4, 0.9)),
    ta.PermuteAndFlip: selections(ta.PermuteAndFlip),
    ta.PlanarLaplace: st.builds(ta.PlanarLaplace, epsilons, st.floats(0, 5)),
    ta.Promise: st.builds(ta.Promise, epsilons, st.one_of(st.just(0.0), deltas)),
    ta.RandomizedResponse: st.builds(ta.RandomizedResponse, epsilons, st.integers(2, 50)),
    ta.ReportNoisyMax: st.sampled_from(ta.MaxNoise).flatmap(
        lambda noise: selections(ta.ReportNoisyMax, noise=noise)
    ),
    ta.Staircase: st.builds(ta.Staircase, epsilons, sizes, st.one_of(st.none(), st.floats(0, 1))),
    ta.ThresholdedHistogram: thresholded(),
    ta.TruncatedLaplace: st.one_of(
        st.builds(ta.TruncatedLaplace, st.floats(0.1, 10), st.floats(0.1, 30), sizes),
        st.builds(ta.TruncatedLaplace.with_epsilon, positive_epsilons, st.floats(1e-9, 0.5), sizes),
    ),
    ta.UnaryEncoding: st.one_of(
        st.builds(ta.UnaryEncoding.symmetric, epsilons),
        st.builds(ta.UnaryEncoding.optimised, epsilons),
        st.tuples(chances, chances).map(lambda pair: ta.UnaryEncoding(max(pair), min(pair))),
    ),
    ta.UniformNoise: st.one_of(
        st.builds(ta.UniformNoise, st.floats(0.1, 100), st.floats(0, 1), sizes),
        st.builds(ta.UniformNoise.optimal, deltas, sizes, st.sampled_from([1.0, 2.0])),
    ),
}

orders = st.sampled_from([None, ta.Order.PRESENT, ta.Order.ABSENT])


@st.composite
def attacks(draw: Any) -> ta.TradeoffCurve:
    rate = st.floats(0, 1, allow_subnormal=False)
    points = draw(st.lists(st.tuples(rate, rate), min_size=1, max_size=6))
    return ta.attack(points=sorted(points))


guarantee_pairs = st.lists(st.tuples(epsilons, deltas), min_size=1, max_size=6)
divergences = st.one_of(st.floats(0.01, 5), st.sampled_from([1e-14, 1e-9, 1e-4, 60.0, 900.0]))
rdp_pairs = st.lists(st.tuples(st.floats(1.1, 64), divergences), min_size=1, max_size=4)


@st.composite
def densities(draw: Any) -> ta.TradeoffCurve:
    """Two normal laws, or two triangular ones whose ratio runs from 0 to infinity."""
    if draw(st.booleans()):
        return ta.from_densities(lambda x: 2 * x, lambda x: 2 * (1 - x), (0, 1), cells=2000)
    shift = draw(st.floats(0.05, 4))
    bells = [lambda x, c=c: np.exp(-((x - c) ** 2) / 2) / np.sqrt(2 * np.pi) for c in (0.0, shift)]
    return ta.from_densities(*bells, (-12, 12 + shift), cells=2000)


def there_and_back(curve: ta.TradeoffCurve, mesh: float = 0.0123) -> ta.TradeoffCurve:
    """Through a mesh that shares no loss with the thresholds that the laws ask about."""
    return ta.from_dp_accounting(ta.to_dp_accounting(curve, mesh), mesh)


RHOS = [0.0, 1e-14, 1e-6, 0.01, 0.5, 20.0, 400.0]

CURVE_FAMILIES: dict[str, st.SearchStrategy[ta.TradeoffCurve]] = {
    "guarantee": st.builds(lambda e, d: ta.guarantee(e, d), epsilons, deltas),
    "pure guarantee": st.builds(lambda e: ta.guarantee(epsilon=e), epsilons),
    "pairs": st.builds(lambda pairs: ta.guarantee(pairs=pairs), guarantee_pairs),
    "mu": st.builds(lambda mu: ta.guarantee(mu=mu), st.floats(0, 20)),
    "rdp": st.builds(lambda pairs: ta.guarantee(rdp=pairs), rdp_pairs),
    "zcdp": st.builds(lambda rho: ta.guarantee(zcdp=rho), st.sampled_from(RHOS)),
    "attack": attacks(),
    "pmfs": pmf_pairs().map(lambda pair: ta.from_pmfs(*pair)),
    "densities": densities(),
    "dp_accounting": st.one_of(
        st.builds(lambda e: ta.Laplace.with_epsilon(e).curve(), st.floats(0.05, 3)),
        st.builds(lambda s: ta.Gaussian(s).curve(), st.floats(1, 5)),
        pmf_pairs(most=4, least=0.01).map(lambda pair: ta.from_pmfs(*pair)),
    ).map(there_and_back),
    "worst case": st.lists(
        st.one_of(
            pmf_pairs().map(lambda pair: ta.from_pmfs(*pair)),
            st.builds(lambda e: ta.Laplace.with_epsilon(e).curve(), epsilons),
            st.builds(lambda s: ta.Gaussian(s).curve(), st.floats(0.2, 10)),
        ),
        min_size=1,
        max_size=3,
    ).map(ta.worst_case),
}

widths = st.one_of(st.floats(0.01, 20), st.sampled_from([1e-9, 1e-4, 300.0, 1e5]))
distances = st.one_of(st.floats(0, 12), st.sampled_from([0.0, 1e-7, 80.0]))


@st.composite
def uniform_questions(draw: Any, noise: Any) -> ta.TradeoffCurve:
    """Whether a value that is as likely anywhere is at most 0."""
    return OneSided(noise, cut=0, low=-draw(widths), high=draw(widths)).curve()


@st.composite
def finite_questions(draw: Any, noise: Any) -> ta.TradeoffCurve:
    """Whether one of a few values, the first at most 0 and the second not, is at most 0."""
    values = [-draw(distances), draw(distances.filter(bool))]
    signed = st.tuples(st.sampled_from([-1, 1]), distances).map(lambda pair: pair[0] * pair[1])
    values += draw(st.lists(signed, max_size=4))
    chances = st.lists(st.floats(0.01, 1), min_size=len(values), max_size=len(values))
    weights = np.array(draw(chances))
    question = OneSided(noise, cut=0, low=-100, high=100)
    return question.curve(values, weights / weights.sum())


# Curves of what an adversary holds likely; `test_one_sided_laws` runs the laws of curves on them.
WORLD_FAMILIES: dict[str, st.SearchStrategy[ta.TradeoffCurve]] = {
    "uniform Laplace": uniform_questions(ta.Laplace(1)),
    "uniform Gaussian": uniform_questions(ta.Gaussian(1)),
    "finite Laplace": finite_questions(ta.Laplace(1)),
    "finite Gaussian": finite_questions(ta.Gaussian(1)),
}


def any_mechanism() -> st.SearchStrategy[Any]:
    return st.one_of(list(MECHANISM_FAMILIES.values()))
