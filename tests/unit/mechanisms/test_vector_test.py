"""The Neyman-Pearson test of a vector: a composition of coordinates, or a length."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellapart as ta

moves = st.lists(st.floats(-1, 1).filter(lambda x: abs(x) > 1e-3), min_size=2, max_size=4)
RATES = np.array([1e-4, 0.01, 0.1, 0.5, 0.9])


@given(move=moves, scale=st.floats(0.3, 3))
def test_a_laplace_vector_is_the_composition_of_its_coordinates(move, scale):
    attack = ta.Laplace(scale, sensitivity=5).test([1.0] * len(move), 1 + np.array(move))
    shifts = np.abs((1 + np.array(move)) - 1)
    steps = [ta.Laplace(scale, sensitivity=float(shift)) for shift in shifts]
    whole = ta.compose(steps).curve()
    assert attack.curve().tpr(RATES) == pytest.approx(whole.tpr(RATES), rel=1e-9)
    # Moving one coordinate by all of it can only reveal more.
    alone = ta.Laplace(scale, sensitivity=float(shifts.sum())).curve()
    assert np.all(attack.curve().tpr(RATES) <= alone.tpr(RATES) * (1 + 1e-9))


@pytest.mark.parametrize("move", [(0.5, 0.5), (0.7, -0.2), (1.0, 0.3)])
def test_brute_force_over_a_grid_of_outputs_agrees(move):
    """Cells of outputs, ordered by likelihood ratio: the curve with no formula in it."""
    edges = np.linspace(-14, 15, 1451)
    masses = []
    for shift in move:
        above = [ta.Laplace(1).noise.above(edges - centre) for centre in (0.0, shift)]
        masses.append([-np.diff(tail) for tail in above])
    absent = np.outer(masses[0][0], masses[1][0]).ravel()
    present = np.outer(masses[0][1], masses[1][1]).ravel()
    brute = ta.from_pmfs(absent / absent.sum(), present / present.sum())
    curve = ta.Laplace(1, sensitivity=2).test([0, 0], move).curve()
    assert brute.tpr(RATES) == pytest.approx(curve.tpr(RATES), rel=2e-3)
    assert np.all(brute.tpr(RATES) <= curve.tpr(RATES) * (1 + 1e-4))


@pytest.mark.parametrize("fpr", [0.01, 0.2, 0.5])
@pytest.mark.parametrize("move", [(0.5, 0.5), (0.6, -0.3, 0.0), (0.2, 0.2, -0.2)])
def test_the_attack_flags_as_often_as_it_says(fpr, move):
    attack = ta.Laplace(1).test([0] * len(move), move)
    noise = np.random.default_rng(3).laplace(0, 1, (100_000, len(move)))
    expected = fpr, attack.curve().tpr(fpr)
    for outputs, rate in zip((noise, noise + move), expected, strict=True):
        seen = np.mean(attack.flags(outputs, fpr))
        assert abs(seen - rate) < 5 * np.sqrt(rate * (1 - rate) / 100_000)


def test_the_log_ratio_is_the_sum_over_coordinates():
    attack = ta.Laplace(2).test([0, 0], [0.5, -0.5])
    output = np.array([0.2, 3.0])
    log_density = [-np.abs(output - centre).sum() / 2 for centre in ([0, 0], [0.5, -0.5])]
    assert attack.log_ratio(output) == pytest.approx(log_density[1] - log_density[0])
    assert attack.log_ratio([output, output]).shape == (2,)


def test_a_gaussian_vector_is_a_shift_by_its_length():
    attack = ta.Gaussian(2, sensitivity=5).test([1, 1], [4, 5])
    assert attack.curve().tpr(RATES) == pytest.approx(ta.Gaussian(2, 5).curve().tpr(RATES))


def test_refusals():
    with pytest.raises(ta.InvalidArgument, match=re.escape("sensitivity 1.0 (L1 norm)")):
        ta.Laplace(1).test([0, 0], [0.7, 0.7])
    with pytest.raises(ta.InvalidArgument, match="output must have 2 coordinates"):
        ta.Laplace(1).test([0, 0], [0.5, 0.5]).log_ratio([1, 2, 3])
    with pytest.raises(ta.Unsupported, match="compare log_ratio"):
        ta.Laplace(1).test([0, 0, 0], [0.5, 0.3, 0.2]).flags([1, 2, 3], 0.1)
    with pytest.raises(ta.Unsupported, match="Gaussian and Laplace noise only"):
        ta.DiscreteLaplace(1, sensitivity=2).test([0, 0], [1, 1])


def test_deniability_is_that_of_the_likelihoods():
    answers, output = [0.0, 1.0, 2.0, 8.0], 0.3
    likelihoods = np.exp(-np.abs(output - np.array(answers)) / 2)
    for k in (1, 2, 3, 4):
        for record in range(4):
            for ratio in (1.2, 2, 10):
                asked = {"record": record, "ratio": ratio, "k": k}
                assert ta.Laplace(2).plausibly_deniable(output, answers, **asked) == (
                    ta.plausibly_deniable(likelihoods, **asked)
                )
