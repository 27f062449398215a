"""Inverted samplers against brute force: every grid point run forwards, every double asked."""

import math
import random

import numpy as np
import pytest

from tellapart.audit.probing.float_samplers import (
    GAUSSIAN,
    LAPLACE,
    SAMPLERS,
    BoxMullerPair,
    LogUniform,
    PolarPair,
)

NUMPY, INVERSE, TEXTBOOK, _, DIVIDED = LAPLACE
CENTRES = [(0.0, 1.0), (1.0, 1.0), (3.0, 0.5), (-0.3, 1 / 0.3), (100.0, 2.0)]


def column(values):
    return np.asarray(values, dtype=float)[:, None]


def reached(sampler, values, centre, scale):
    return sampler.reached(column(values), np.array([centre]), scale).tolist()


def doubles(low, high):
    """Every double from one to another."""
    found = [low]
    while found[-1] < high:
        found.append(math.nextafter(found[-1], math.inf))
    return found


# -- all of a small grid -------------------------------------------------------------------------


@pytest.mark.parametrize(("centre", "scale"), CENTRES)
def test_a_small_grid_is_inverted_exactly(centre, scale):
    sampler = LogUniform("coarse", above=frozenset({0, 1, 4, 7}), below=frozenset({0, 2}), bits=8)
    given = set()
    for step in range(1, 257):
        noise = scale * math.log(step / 256)
        given |= {centre - noise} if step % 8 in (0, 1, 4, 7) else set()
        given |= {centre + noise} if step % 8 in (0, 2) else set()
    beside = {math.nextafter(one, way) for one in given for way in (-math.inf, math.inf)}
    beside |= {centre + (-1) ** j * scale * math.log(j / 256) for j in range(1, 257)}
    # NumPy's own logarithm of arrays may differ from the C library's in the last bit.
    by_arrays = centre + np.outer([1, -1], scale * np.log(np.arange(1, 257) / 256)).ravel()
    asked = sorted(given) + sorted(beside - given - set(by_arrays.tolist()))
    assert reached(sampler, asked, centre, scale) == [one in given for one in asked]
    assert len(asked) > 1.5 * len(given)


# -- a stretch of the true grid ------------------------------------------------------------------


def by_numpy(uniform, centre, scale):
    """As NumPy's generators do it."""
    if uniform >= 0.5:
        return centre - scale * math.log(2.0 - uniform - uniform)
    return centre + scale * math.log(uniform + uniform)


def by_inversion(uniform, centre, scale):
    shifted = uniform - 0.5
    return centre - scale * math.copysign(1, shifted) * math.log(1 - 2 * abs(shifted))


def by_sign(uniform, centre, scale):
    return centre - scale * math.log(1 - uniform)


def by_division(uniform, centre, scale):
    return centre - math.log(1 - uniform) / float(f"{1 / scale:.12g}")


@pytest.mark.parametrize("start", [0.07, 0.31, 0.52, 0.9])
@pytest.mark.parametrize(("centre", "scale"), CENTRES)
@pytest.mark.parametrize(
    ("sampler", "forwards"),
    [(NUMPY, by_numpy), (INVERSE, by_inversion), (TEXTBOOK, by_sign), (DIVIDED, by_division)],
    ids=["numpy", "inversion", "textbook", "divided"],
)
def test_every_double_in_a_stretch_is_asked(sampler, forwards, centre, scale, start):
    """Of neighbouring uniform numbers the outputs are all there is between the outer ones."""
    first = int(start * 2**53)
    given = [forwards(step * 2.0**-53, centre, scale) for step in range(first, first + 400)]
    inner = doubles(min(given), max(given))[8:-8][:4000]
    found, naive = reached(sampler, inner, centre, scale), [one in set(given) for one in inner]
    wrong = sum(a != b for a, b in zip(found, naive, strict=True))
    # Doubles that only NumPy's logarithm of arrays gives: about 1 in 300 where it is another.
    assert all(a for a, b in zip(found, naive, strict=True) if b)
    assert wrong <= max(8, 0.02 * len(inner))


def test_draws_are_reached_and_half_an_ulp_of_scale_is_noticed():
    rng = np.random.default_rng(1)
    for centre, scale in CENTRES:
        drawn = rng.laplace(centre, scale, 5_000)
        assert all(reached(NUMPY, drawn, centre, scale))
        added = centre + rng.laplace(0.0, scale, 5_000)
        assert all(reached(NUMPY, added, centre, scale))
    near = np.mean(reached(NUMPY, rng.laplace(0.0, 1.0, 5_000), 0.0, math.nextafter(1.0, 2.0)))
    assert near < 0.6


# -- pairs ---------------------------------------------------------------------------------------


def by_polar(first, second, centre, scale):
    square = first * first + second * second
    factor = math.sqrt(-2.0 * math.log(square) / square)
    return centre + scale * (factor * first), centre + scale * (factor * second)


def by_box_muller(first, second, centre, scale):
    radius, turned = math.sqrt(-2.0 * math.log(first)), 2 * math.pi * second
    return centre + scale * (radius * math.cos(turned)), centre + scale * (
        radius * math.sin(turned)
    )


@pytest.mark.parametrize(
    ("sampler", "forwards", "spread"),
    [(GAUSSIAN[0], by_polar, 2.0**-52), (GAUSSIAN[1], by_box_muller, 2.0**-53)],
    ids=["polar", "box-muller"],
)
def test_pairs_around_a_grid_point_are_asked(sampler, forwards, spread):
    """Every output of a patch of the grid, and doubles beside it that no point of it gives."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        place = np.floor(rng.uniform(0.2, 0.6, 2) / spread)
        patch = {
            forwards(*((place + np.array([i, j])) * spread), 0.1, 1.0)
            for i in range(-12, 13)
            for j in range(-12, 13)
        }
        one, two = forwards(*(place * spread), 0.1, 1.0)
        ups = [
            (math.nextafter(one, way), math.nextafter(two, also))
            for way in (-math.inf, one, math.inf)
            for also in (-math.inf, two, math.inf)
        ]
        found = sampler.reached(np.array(ups), np.array([0.1, 0.1]), 1.0).tolist()
        assert found == [pair in patch for pair in ups]


def test_pairs_as_libraries_draw_them_are_reached():
    state, source = np.random.RandomState(3), random.Random(3)  # noqa: S311
    drawn = 2.0 + state.normal(0.0, 0.5, (2_000, 2))
    assert PolarPair("polar").reached(drawn, np.array([2.0, 2.0]), 0.5).all()
    assert not PolarPair("polar").reached(drawn, np.array([1.0, 1.0]), 0.5).mean() > 0.5
    pairs = np.array([[source.gauss(1.0, 1.0), source.gauss(1.0, 1.0)] for _ in range(2_000)])
    assert BoxMullerPair("pair").reached(pairs, np.array([1.0, 1.0]), 1.0).all()
    assert BoxMullerPair("pair").reached(pairs, np.array([0.0, 0.0]), 1.0).mean() < 0.2


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda one: one.name)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_given_by_nothing(sampler, value):
    outputs = np.full((1, sampler.takes), value)
    assert not sampler.reached(outputs, np.zeros(sampler.takes), 1.0).any()
