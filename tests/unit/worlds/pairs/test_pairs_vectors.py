"""Several answers at once, beside sums over all points, random outputs and known compositions."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp

import tellapart as ta
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.worlds import (
    Channel,
    Independent,
    JointTable,
    Linear,
    MarkovChain,
    RecordValue,
    Sum,
    Vector,
    tell_apart,
)
from tellapart.worlds.models.laws import VectorLaw
from tellapart.worlds.pairs import vectors
from tellapart.worlds.pairs.finite_outputs import log_ratio

BIT = JointTable([[0, 1]], [0.5, 0.5])
ONE, ZERO = RecordValue(0, 1), RecordValue(0, 0)


def _table(seed, records=3):
    rng = np.random.default_rng(seed)
    return JointTable([[0, 1]] * records, rng.dirichlet(np.ones(2**records)).reshape([2] * records))


def _told(lie):
    return Channel({0: [1 - lie, lie], 1: [lie, 1 - lie], 2: [0.5, 0.5]})


def _log_density(law, outputs, scales):
    away = np.abs(outputs[:, None, :] - law.points) / scales
    return logsumexp(law.log_weights - away.sum(axis=-1), axis=1)


@pytest.mark.parametrize("seed", range(4))
def test_no_list_of_outputs_has_a_larger_ratio_than_the_grid(seed):
    rng = np.random.default_rng(seed)
    query = Vector([Linear([1, 1, 0]), Linear([0, 1, 2.5]), lambda d: d[0] * d[2]])
    scales = np.array([1.0, 0.7, 2.0])
    test = tell_apart(_table(seed), query, [ta.Laplace(b) for b in scales], ONE, ZERO)
    outputs = rng.uniform(-2, 5, size=(40_000, 3))
    ratios = _log_density(test.present, outputs, scales) - _log_density(
        test.absent, outputs, scales
    )
    assert np.abs(ratios).max() <= test.epsilon + 1e-12
    at = np.array([test.witness.output])
    there = _log_density(test.present, at, scales) - _log_density(test.absent, at, scales)
    assert abs(there[0]) == pytest.approx(test.epsilon, rel=1e-12)
    assert (there[0] > 0) == (test.witness.likelier == ONE)


def test_one_answer_in_a_list_is_that_answer():
    table = _table(7)
    for release in (ta.Laplace(0.8), _told(0.2)):
        query = Linear([1, 1, 0])
        alone = tell_apart(table, query, release, ONE, ZERO)
        listed = tell_apart(table, Vector([query]), [release], ONE, ZERO)
        assert listed.epsilon == pytest.approx(alone.epsilon, rel=1e-12)
        below, alphas = listed.curve.beta([0.05, 0.3, 0.7]), [0.05, 0.3, 0.7]
        assert np.all(below <= alone.curve.beta(alphas) + 1e-12)
        np.testing.assert_allclose(below, alone.curve.beta(alphas), atol=2e-6)


def test_channels_together_are_exact():
    """Beside a sum over all outputs and databases."""
    table = _table(3)
    query = Vector([Linear([1, 1, 0]), lambda d: d[0] * d[2]])
    releases = [_told(0.2), _told(0.35)]
    test = tell_apart(table, query, releases, ONE, ZERO)
    laws = []
    for value in (0, 1):
        shares = {}
        for rest in itertools.product((0, 1), repeat=2):
            d = (value, *rest)
            weight = table.probabilities[d] / table.probabilities[value].sum()
            answers = d[0] + d[1], d[0] * d[2]
            for outputs in itertools.product((0, 1), repeat=2):
                rows = [r.rows[a][o] for r, a, o in zip(releases, answers, outputs, strict=True)]
                shares[outputs] = shares.get(outputs, 0) + weight * math.prod(rows)
        laws.append([shares[outputs] for outputs in itertools.product((0, 1), repeat=2)])
    expected = ta.from_pmfs(*laws)
    assert test.curve.bound is ta.Bound.EXACT
    np.testing.assert_allclose(test.curve.beta([0.1, 0.4]), expected.beta([0.1, 0.4]), rtol=1e-12)
    ratios = np.log(laws[1]) - np.log(laws[0])
    assert test.epsilon == pytest.approx(np.abs(ratios).max(), rel=1e-12)
    assert test.renyi(2) == pytest.approx(math.log(np.exp(2 * ratios) @ laws[0]), rel=1e-12)


def test_noise_on_each_of_two_equal_answers_is_a_composition():
    test = tell_apart(BIT, Vector([Sum(), Sum()]), ta.Laplace(1), ONE, ZERO)
    twice = ta.Laplace(1).repeated(2).curve()
    alphas = np.array([0.01, 0.1, 0.3, 0.6, 0.9])
    assert test.curve.bound is ta.Bound.LOWER
    assert np.all(test.curve.beta(alphas) <= twice.beta(alphas) + 1e-12)
    np.testing.assert_allclose(test.curve.beta(alphas), twice.beta(alphas), atol=1e-6)
    assert test.epsilon == pytest.approx(2.0)
    assert test.curve.beta(0.1) == pytest.approx(0.491, abs=5e-4)
    assert ta.Laplace(0.5).curve().beta(0.1) == pytest.approx(0.338, abs=5e-4)


def test_a_noisy_answer_beside_a_channel():
    """A bit through a channel and with noise; outputs of both are independent given the bit."""
    test = tell_apart(BIT, Vector([Sum(), Sum()]), [_told(0.25), ta.Laplace(1)], ONE, ZERO)
    assert test.epsilon == pytest.approx(1 + math.log(3), rel=1e-12)
    noise, levels = ta.Laplace(1).curve(), np.array([-1.5, -0.8, 0.3, 1.6])
    said, denied = (noise.rates(levels + change) for change in (-math.log(3), math.log(3)))
    fpr, fnr = 0.25 * said.fpr + 0.75 * denied.fpr, 0.75 * said.fnr + 0.25 * denied.fnr
    found = test.curve.beta(fpr)
    assert np.all(found <= fnr + 1e-12)
    np.testing.assert_allclose(found, fnr, atol=2e-6)


def test_a_curve_from_below_lies_below_what_random_outputs_show():
    table = _table(1, records=2)
    query = Vector([Sum(), Linear([1, -1])])
    test = tell_apart(table, query, ta.Laplace(3), ONE, ZERO)
    rng = np.random.default_rng(0)
    ranked = []
    for law in (test.absent, test.present):
        rows = rng.choice(len(law.points), size=100_000, p=np.exp(law.log_weights))
        outputs = law.points[rows] + rng.laplace(scale=3, size=(100_000, 2))
        logs = [_log_density(one, outputs, 3.0) for one in (test.present, test.absent)]
        ranked.append(logs[0] - logs[1])
    cut = np.quantile(ranked[0], 0.9)
    missed = np.mean(ranked[1] <= cut)
    assert abs(test.curve.beta(0.1) - missed) < 5 * math.sqrt(0.25 / 100_000) * 2


def test_impossible_outputs_of_a_channel_are_no_evidence():
    sure = Channel({0: [1, 0, 0], 1: [0.5, 0.5, 0]})
    test = tell_apart(BIT, Vector([Sum(), Sum()]), [sure, ta.Laplace(1)], ONE, ZERO)
    assert test.epsilon == math.inf
    assert test.witness.likelier == ONE
    assert test.witness.output[0] == 1
    assert test.curve.delta(50) == pytest.approx(0.5, rel=1e-14)


def test_weights_far_below_the_smallest_double_still_count():
    points = np.array([[0.0, 0.0], [1.0, 2.0]])
    rare = VectorLaw(points, np.array([0.0, -900.0]))
    rarer = VectorLaw(points, np.array([0.0, -1000.0]))
    (largest, output), _ = vectors.vector_extremes(rare, rarer, [ta.Laplace(0.001)] * 2)
    assert largest == pytest.approx(100.0)
    assert output == (1.0, 2.0)


def test_corners_by_products_are_those_by_logarithms():
    """Points too rare for doubles, and outputs that a channel cannot have, among them."""
    rng = np.random.default_rng(2)
    points = np.stack([rng.integers(0, 3, 6), rng.integers(0, 900, 6)], axis=1).astype(float)
    releases = [Channel({0: [1, 0], 1: [0.3, 0.7], 2: [0, 1]}), ta.Laplace(1)]
    axes = [vectors._axis(points[:, i], one, 1) for i, one in enumerate(releases)]
    logs = [np.array([0.0, -1.0, -700.0, -2.0, -1500.0, -np.inf]), rng.normal(size=6) - 3]
    fast, plain = (
        log_ratio(*(corners(one, axes) for one in logs))
        for corners in (vectors._at_corners, vectors.grid_logs)
    )
    np.testing.assert_allclose(fast, plain, rtol=1e-12, atol=1e-12)


def test_what_cannot_be_answered_says_so():
    two = Vector([Sum(), Sum()])
    with pytest.raises(Unsupported, match="JointTable"):
        tell_apart(Independent([[0.5, 0.5]] * 2), two, ta.Laplace(1), ONE, ZERO)
    chain = MarkovChain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 3)
    with pytest.raises(Unsupported, match="JointTable"):
        tell_apart(chain, two, ta.Laplace(1), ONE, ZERO)
    gaussian = tell_apart(BIT, two, [ta.Laplace(1), ta.Gaussian(1)], ONE, ZERO)
    for ask in (lambda: gaussian.epsilon, lambda: gaussian.curve):
        with pytest.raises(Unsupported, match="Gaussian"):
            ask()
    noisy = tell_apart(BIT, two, ta.Laplace(1), ONE, ZERO)
    with pytest.raises(Unsupported, match="channels alone"):
        noisy.renyi(2)
    with pytest.raises(Unsupported, match="single numbers"):
        _ = noisy.monotone


def test_bad_input():
    with pytest.raises(InvalidArgument, match="release must be one, or one for each of 2"):
        tell_apart(BIT, Vector([Sum(), Sum()]), [ta.Laplace(1)], ONE, ZERO)
    with pytest.raises(InvalidArgument, match="release must be"):
        tell_apart(BIT, Sum(), [ta.Laplace(1)], ONE, ZERO)
    with pytest.raises(InvalidArgument, match="queries must not be empty"):
        Vector([])
    with pytest.raises(InvalidArgument, match="queries must each be"):
        Vector([3])
    with pytest.raises(InvalidArgument, match="points must be rows"):
        VectorLaw([1.0, 2.0], [0.0, 0.0])
    with pytest.raises(InvalidArgument, match="sum 1"):
        VectorLaw([[1.0], [2.0]], [0.0, 0.0])
    law = VectorLaw([[1.0], [1.0]], np.log([0.5, 0.5]))
    assert law.points.shape == (1, 1)
    with pytest.raises(InvalidArgument, match="other must have 1 answers"):
        law.beside(VectorLaw([[1.0, 2.0]], [0.0]))


def test_a_grid_too_large_is_refused_with_its_size():
    rng = np.random.default_rng(0)
    law = VectorLaw(rng.normal(size=(300, 3)), np.full(300, -math.log(300)))
    other = VectorLaw(law.points + 1, law.log_weights)
    with pytest.raises(Unsupported, match=r"2\.2e8 outputs"):
        vectors.vector_extremes(law, other, [ta.Laplace(1)] * 3)
    with pytest.raises(Unsupported, match="cells"):
        vectors.vector_curve(law, other, [ta.Laplace(1)] * 3)
