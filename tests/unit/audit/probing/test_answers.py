"""Guesses at answers and scales hold the truth where a person would have guessed it."""

import math

import numpy as np
import pytest

from tellapart.audit.probing.float_samplers import guesses

N = 1_000


def drawn(centres, scale, law="laplace", seed=0):
    rng = np.random.default_rng(seed)
    shape = (N, np.size(centres[0]))
    first, second = (one + getattr(rng, law)(0.0, scale, shape) for one in centres)
    return first, second


def tried(outputs, inputs=(None, None), centres=None, scale=None, epsilon=None):
    found = guesses(outputs, inputs, centres, scale, epsilon)
    return {(*(tuple(c.tolist()) for c in one.centres), one.scale, one.law) for one in found}


@pytest.mark.parametrize(
    ("inputs", "centres"),
    [
        ((2.5, 3.5), (2.5, 3.5)),
        (([7, 8], [7, 8, 9]), (2.0, 3.0)),
        (([0.125, 0.5], [0.125, 0.5, 1.0]), (0.625, 1.625)),
        (((), (0.75,)), (0.0, 0.75)),
        (([0.0, 3.0], [0.0, 4.0]), (1.5, 2.0)),
        (({"a": 1}, {"a": 1, "b": 2}), (1.0, 2.0)),
        (("some text", "another"), (4.0, 5.0)),
    ],
    ids=["number", "count", "sum", "empty", "mean", "length", "rounded"],
)
def test_the_answer_is_among_them(inputs, centres):
    found = tried(drawn(centres, 1.0), inputs, epsilon=1.0)
    assert ((centres[0],), (centres[1],), 1.0, "Laplace") in found
    assert len(found) < 150


@pytest.mark.parametrize("law", ["laplace", "normal"])
@pytest.mark.parametrize("scale", [0.5, 1 / 3, 10.0, 1 / 0.15, 2.4e-5])
def test_a_short_scale_is_among_them_whatever_the_claim(scale, law):
    centres = np.array([0.0]), np.array([0.25])
    scales = {one[2] for one in tried(drawn(centres, scale, law), centres=centres)}
    assert scale in scales


def test_what_is_known_is_not_guessed():
    known = np.array([0.1]), np.array([0.2])
    found = tried(drawn((0.1, 0.2), 1.0), centres=known, scale=math.pi)
    assert found == {((0.1,), (0.2,), math.pi, law) for law in ("Laplace", "Gaussian")}


def test_vectors_have_an_answer_a_number():
    centres = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    found = tried(drawn(centres, 2.0), ([1, 2], [1, 3]), epsilon=0.5)
    assert ((1.0, 2.0), (1.0, 3.0), 2.0, "Laplace") in found


def test_outputs_without_numbers_give_no_guess():
    nothing = np.full((N, 1), np.nan)
    assert not tried((nothing, nothing))
    assert not tried((np.zeros((N, 1)), np.zeros((N, 1))), (0, 0))
