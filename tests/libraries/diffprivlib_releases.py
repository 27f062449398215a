"""diffprivlib as its pages show it, drawing from the generator that a probe hands over.

Mechanisms are asked of values that differ by their ``sensitivity``. The pages of its tools do not
say which data are neighbours; here they are those for which its noise is made: one record replaced
for sums, means, variances and quantiles, one record more for histograms.
"""

import warnings

import numpy as np
from audited import Release, pure
from diffprivlib import mechanisms, tools

import tellapart as ta

FIVE = [5.0, 5.0, 5.0, 5.0]
FIRST, SECOND = [1, 0, 0], [0, 1, 1]
APART = [("A", "B", 1), ("A", "C", 2), ("B", "C", 2)]
NAN = float("nan")


def seeded(rng):
    """The generator in the form that diffprivlib takes."""
    return np.random.RandomState(rng.bit_generator)


def noise(name, kind, d0, d1, claim=None, **settings):
    """A mechanism that randomises a value; to make one takes longer than to ask it."""

    def mechanism(data, rng, size):
        made = kind(random_state=seeded(rng), **settings)
        return [made.randomise(data) for _ in range(size)]

    return Release(name, mechanism, d0, d1, claim or pure(settings["epsilon"]))


def choice(name, kind, d0, d1, **settings):
    """A mechanism that chooses by utilities."""

    def mechanism(data, rng, size):
        made = kind(epsilon=1.0, sensitivity=1, utility=data, random_state=seeded(rng), **settings)
        return [made.randomise() for _ in range(size)]

    return Release(name, mechanism, d0, d1, pure(1.0))


def tool(name, function, d0, d1, epsilon=1.0, **settings):
    """A function of arrays."""

    def mechanism(data, rng):
        return function(data, epsilon=epsilon, random_state=seeded(rng), **settings)

    return Release(name, mechanism, d0, d1, pure(epsilon))


def _quantile(data, **settings):
    return tools.quantile(data, 0.3, **settings)


def _counts(data, **settings):
    return tools.histogram(data, bins=3, range=(0, 3), **settings)[0]


def _weighted(data, **settings):
    ages, weights = zip(*data, strict=True)
    return tools.histogram(ages, bins=3, range=(0, 3), weights=weights, **settings)[0]


def _bounds_from_data(data, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does say that this leaks
        return tools.mean(data, **settings)


def correct():
    """Releases that promise what they do."""
    m, unit = mechanisms, {"epsilon": 1.0, "sensitivity": 1.0}
    whole, inside = {"epsilon": 1.0, "sensitivity": 1}, {"lower": 0, "upper": 3}
    yield noise("laplace", m.Laplace, 0.0, 1.0, **unit)
    some = ta.guarantee(0.5, 0.1)
    yield noise("laplace-delta", m.Laplace, 0.0, 1.0, some, epsilon=0.5, delta=0.1, sensitivity=1.0)
    yield noise("laplace-truncated", m.LaplaceTruncated, 0.0, 1.0, **unit, **inside)
    yield noise("laplace-folded", m.LaplaceFolded, 0.0, 1.0, **unit, **inside)
    yield noise("laplace-bounded-domain", m.LaplaceBoundedDomain, 0.0, 1.0, **unit, **inside)
    some = ta.guarantee(1.0, 0.1)
    yield noise("laplace-bounded-noise", m.LaplaceBoundedNoise, 0.0, 1.0, some, delta=0.1, **unit)
    yield noise("geometric", m.Geometric, 0, 1, **whole)
    yield noise("geometric-of-2", m.Geometric, 0, 2, epsilon=1.0, sensitivity=2)
    yield noise("geometric-truncated", m.GeometricTruncated, 1, 2, **whole, **inside)
    yield noise("geometric-folded", m.GeometricFolded, 1, 2, **whole, **inside)
    some = ta.guarantee(1.0, 0.05)
    yield noise("gaussian", m.Gaussian, 0.0, 1.0, some, delta=0.05, **unit)
    yield noise("gaussian-analytic", m.GaussianAnalytic, 0.0, 1.0, some, delta=0.05, **unit)
    yield noise("gaussian-discrete", m.GaussianDiscrete, 0, 1, some, delta=0.05, **whole)
    yield noise("staircase", m.Staircase, 0.0, 1.0, **unit)
    yield noise("snapping", m.Snapping, 1.0, 2.0, **unit, **inside)
    some = ta.guarantee(0.0, 0.2)
    yield noise("uniform", m.Uniform, 0.0, 1.0, some, delta=0.2, sensitivity=1.0)
    yield noise("binary", m.Binary, "no", "yes", epsilon=1.0, value0="no", value1="yes")
    yield noise("categorical", m.ExponentialCategorical, "A", "C", epsilon=1.0, utility_list=APART)
    tree = [["A", "B"], ["C", "D"]]
    yield noise("hierarchical", m.ExponentialHierarchical, "A", "D", epsilon=1.0, hierarchy=tree)
    axes = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    yield noise("bingham", m.Bingham, *axes, **unit)
    yield choice("exponential", m.Exponential, FIRST, SECOND)
    yield choice("exponential-monotonic", m.Exponential, [1, 0], [1, 1], monotonic=True)
    yield choice("permute-and-flip", m.PermuteAndFlip, FIRST, SECOND)
    between, replaced = {"bounds": (0.0, 10.0)}, ([*FIVE, 0.0], [*FIVE, 10.0])
    yield tool("count-nonzero", tools.count_nonzero, [1, 0, 0], [1, 0, 1])
    yield tool("sum", tools.sum, *replaced, **between)
    yield tool("mean", tools.mean, *replaced, **between)
    yield tool("nanmean-without-nan", tools.nanmean, *replaced, **between)
    yield tool("var", tools.var, *replaced, **between)
    yield tool("std", tools.std, *replaced, **between)
    yield tool("median", tools.median, *replaced, **between)
    yield tool("quantile", _quantile, [1.0, 2.0, 9.0], [1.0, 2.0, 0.5], **between)
    yield tool("histogram", _counts, [0.5, 1.5], [0.5, 1.5, 1.5])


def wrong():
    """Releases that do not promise what they do, see docs/findings.md."""
    known, missing = {"bounds": (0.0, 10.0)}, [NAN] * 9
    replaced = [0.0, *missing], [10.0, *missing]
    yield tool("nanmean-of-few", tools.nanmean, *replaced, **known)
    spread = [0.0, 0.0, *missing], [0.0, 10.0, *missing]
    yield tool("nanvar-of-few", tools.nanvar, *spread, **known)
    yield tool("nanstd-of-few", tools.nanstd, *spread, **known)
    answered = [50.0, 50.0, NAN], [50.0, 50.0, 50.0]
    yield tool("nansum-far-from-0", tools.nansum, *answered, bounds=(40.0, 60.0))
    heavy = [(0.5, 1), (1.5, 10)], [(0.5, 1), (2.5, 10)]
    yield tool("histogram-weighted", _weighted, *heavy)


def misused():
    """Releases under neighbours or values that their noise is not made for."""
    yield noise("sensitivity-too-small", mechanisms.Laplace, 0.0, 2.0, epsilon=1.0, sensitivity=1.0)
    yield tool("histogram-replaced", _counts, [0.5, 1.5], [0.5, 2.5])
    yield tool("bounds-from-data", _bounds_from_data, [1.0, 2.0, 3.0], [1.0, 2.0, 30.0])
    more = [0.0], [0.0, 10.0]
    yield tool("mean-of-one-more", tools.mean, *more, epsilon=0.1, bounds=(0.0, 10.0))
