"""The best guess of a record's value: laws, brute force, correlated records, odd input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import laplace, norm

import tellapart as ta
from tellapart import risk
from tellapart.worlds import (
    Channel,
    Independent,
    JointTable,
    Linear,
    MarkovChain,
    RecordValue,
    Sum,
    Vector,
    best_guess,
    tell_apart,
)

NOISES = [
    (ta.Laplace(0.4), laplace(scale=0.4)),
    (ta.Laplace(2), laplace(scale=2)),
    (ta.Gaussian(0.4), norm(scale=0.4)),
    (ta.Gaussian(2), norm(scale=2)),
]


def drawn(rng, others):
    k = int(rng.integers(2, 6))
    values = [rng.normal(size=k), *(rng.normal(size=3) for _ in range(others))]
    laws = [rng.dirichlet(np.ones(k)), *(rng.dirichlet(np.ones(3)) for _ in range(others))]
    return Independent(laws, values)


@pytest.mark.parametrize("noise", [ta.Laplace, ta.Gaussian])
@pytest.mark.parametrize("seed", range(3))
def test_less_noise_never_makes_a_guess_harder_or_is_refused(noise, seed):
    """Data processing, down to noise far below the last digit of the answers."""
    rng = np.random.default_rng(seed)
    laws = [rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3))]
    model = Independent(laws)
    joint = np.outer(*laws)[::-1]  # answers are its diagonals
    exact = sum(np.diagonal(joint, k).max() for k in range(-2, 3))
    success = []
    for scale in (1, 0.1, 1e-2, 1e-5, 1e-9, 1e-13, 1e-16, 1e-17, 1e-30, 1e-160, 1e-299):
        try:
            success.append(best_guess(model, Sum(), noise(scale)).success)
        except ta.NotCertified:
            assert noise is ta.Gaussian
            assert scale < 1e-11
    assert np.diff(success).min() >= -1e-12
    assert success[-1] == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize(("release", "noise"), NOISES)
@pytest.mark.parametrize("others", [0, 1, 2])
def test_the_envelope_as_a_fine_sum_has_it_and_the_rule_reaches_it(release, noise, others):
    rng = np.random.default_rng(others)
    for _ in range(3):
        model = drawn(rng, others)
        guess = best_guess(model, Sum(), release)
        laws = model.record_laws(Sum(), 0)
        # Beyond it nearly nothing is released: 1e-14 at most of any law.
        reach = max(np.abs(law.values).max() for law in laws) + noise.isf(1e-14)
        outputs = np.linspace(-reach, reach, int(reach / 1e-4) + 1)
        reached = 0.0
        envelope = np.zeros(outputs.size)
        for law, value, prior in zip(laws, guess.values, guess.prior, strict=True):
            parts = list(zip(law.values, law.weights, strict=True))
            density = sum(weight * noise.pdf(outputs - atom) for atom, weight in parts)
            envelope = np.maximum(envelope, prior * density)
            for low, high, guessed in guess.rule:
                if guessed == value:
                    reached += prior * sum(
                        w * (noise.cdf(high - a) - noise.cdf(low - a)) for a, w in parts
                    )
        assert guess.success == pytest.approx(np.trapezoid(envelope, outputs), abs=2e-8)
        assert guess.success == pytest.approx(reached, abs=1e-12)
        assert (guess.rule[0].low, guess.rule[-1].high) == (-math.inf, math.inf)


@pytest.mark.parametrize(("release", "_"), NOISES)
def test_two_values_are_the_test_of_two_hypotheses(release, _):
    chain = MarkovChain.stationary([[0.8, 0.2], [0.3, 0.7]], length=12)
    test = tell_apart(chain, Sum(), release, RecordValue(5, 1), RecordValue(5, 0))
    guess = best_guess(chain, Sum(), release, record=5)
    assert guess.success == pytest.approx(risk.accuracy(test.curve, prior=test.prior), abs=1e-9)


def test_any_channel_by_enumeration():
    rng = np.random.default_rng(3)
    for _ in range(20):
        k, outputs = rng.integers(2, 7, size=2)
        rows, prior = rng.dirichlet(np.ones(outputs), size=k), rng.dirichlet(np.ones(k))
        guess = best_guess(Independent([prior]), Sum(), Channel(dict(enumerate(rows))))
        assert guess.success == pytest.approx((prior[:, None] * rows).max(axis=0).sum(), rel=1e-13)
        assert set(guess.rule) == set(range(outputs))


def test_guesses_drawn_at_random_are_right_as_often():
    rng, n = np.random.default_rng(4), 400_000
    model = Independent([[0.5, 0.3, 0.2], [0.4, 0.6]], [[0, 1, 3], [0, 2]])
    secret = rng.choice(3, p=[0.5, 0.3, 0.2], size=n)
    true = np.array([0, 1, 3])[secret] + 2 * (rng.random(n) < 0.6)
    for release, noise in ((ta.Laplace(0.7), rng.laplace), (ta.Gaussian(0.7), rng.normal)):
        guess = best_guess(model, Sum(), release)
        cuts = [interval.low for interval in guess.rule[1:]]
        said = np.array([i.value for i in guess.rule])[
            np.searchsorted(cuts, true + noise(scale=0.7, size=n))
        ]
        right = (said == np.array([0, 1, 3])[secret]).mean()
        assert abs(right - guess.success) < 5 * math.sqrt(0.25 / n)


@pytest.mark.parametrize("release", [ta.Laplace(1), ta.Gaussian(1), ta.Gaussian(0.5)])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_never_above_the_bound_for_reconstruction(release, k):
    curve = release.curve().symmetrised()
    rng = np.random.default_rng(k)
    for prior in ([1 / k] * k, rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k) / 5)):
        guess = best_guess(Independent([prior], [np.linspace(0, 1, k)]), Sum(), release)
        assert guess.success <= 1 - curve.beta(guess.baseline) + 1e-12
        assert guess.gain <= risk.advantage(curve) + 1e-12


def test_two_equally_likely_values_reach_the_bound_for_k_values():
    for release in (ta.Laplace(1), ta.Gaussian(1)):
        # 1 − a where TPR(a) = 1 − a
        success = best_guess(Independent([[0.5, 0.5]]), Sum(), release).success
        assert release.curve().tpr(1 - success) == pytest.approx(success, abs=1e-12)


@pytest.mark.parametrize("k", [2, 3, 10, 100])
def test_randomised_response_reaches_the_bound_for_k_values(k):
    told = Channel.randomized_response(1, range(k))
    success = best_guess(Independent([[1 / k] * k]), Sum(), told).success
    wrong = (1 - success) / (k - 1)
    assert ta.guarantee(epsilon=1).tpr(wrong) == pytest.approx(1 - (k - 1) * wrong, abs=1e-12)


@pytest.mark.parametrize(
    "curve", [ta.guarantee(mu=1), ta.guarantee(epsilon=1, delta=0.05), ta.Laplace(1).curve()]
)
@pytest.mark.parametrize("n", [4, 20])
def test_likelihood_ratios_round_a_circle_reach_the_bound_of_add_remove(curve, n):
    """Outputs on a circle, uniform without the record; the likeliest lie around its own value."""
    tpr = np.array([float(curve.tpr(i / n)) for i in range(n + 1)])
    ranked = np.diff(tpr)
    rows = {}
    for z in range(n):
        away = np.array([min((y - z) % n, (z - y) % n) for y in range(n)])
        row = np.zeros(2 * n)
        row[np.argsort(away, kind="stable")] = ranked
        row[n + z] = tpr[0]  # what no output without the record looks like
        rows[z] = row / row.sum()
    guess = best_guess(Independent([[1 / n] * n]), Sum(), Channel(rows))
    assert guess.success == pytest.approx(float(curve.tpr(1 / n)), abs=1e-12)


def test_ten_copies_of_a_bit_break_the_bound_for_independent_records():
    copies = MarkovChain([0.5, 0.5], [[1, 0], [0, 1]], 10)
    guess = best_guess(copies, Sum(), ta.Gaussian(2))  # μ = 0.5 for each record
    assert guess.success == pytest.approx(norm.cdf(2.5), abs=1e-12)
    assert guess.success > 1 - ta.Gaussian(2).curve().beta(0.5) + 0.3
    # With the other records known the secret is no secret, and the bound holds again.
    assert best_guess(copies, Sum(), ta.Gaussian(2), known={4: 1}).baseline == 1
    # The curve of the group is a bound, too.
    assert guess.success <= 1 - ta.Gaussian(2).for_group(10).curve().beta(0.5) + 1e-12


def test_what_is_known_conditions_prior_and_output():
    table = JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.1, 0.4]])
    told = best_guess(table, Sum(), ta.Laplace(1), record=0, known={1: 1})
    alone = best_guess(Independent([[0.2, 0.8]]), Sum(), ta.Laplace(1))
    assert told.baseline == pytest.approx(0.8)
    assert told.success == pytest.approx(alone.success, rel=1e-12)


def test_several_answers_on_a_line_are_one():
    table = JointTable([[0, 1, 2]], [0.5, 0.3, 0.2])
    twice = best_guess(table, Vector([Sum(), Linear([2])]), [ta.Gaussian(1), ta.Gaussian(2)])
    # Two answers of which each moves by one deviation: √2 deviations together.
    once = best_guess(table, Sum(), ta.Gaussian(1 / math.sqrt(2)))
    assert twice.success == pytest.approx(once.success, abs=1e-12)
    assert twice.rule is None


def test_one_hot_with_unlike_priors_by_simulation():
    rng, n, prior = np.random.default_rng(5), 400_000, np.array([0.5, 0.3, 0.2])
    bins = Vector([lambda d, i=i: float(d[0] == i) for i in range(3)])
    guess = best_guess(JointTable([range(3)], prior), bins, ta.Gaussian(0.8))
    secret = rng.choice(3, p=prior, size=n)
    seen = np.eye(3)[secret] + 0.8 * rng.normal(size=(n, 3))
    said = (np.log(prior) + seen / 0.64).argmax(axis=1)
    assert abs((said == secret).mean() - guess.success) < 5 * math.sqrt(0.25 / n)


def test_several_channels_by_enumeration():
    table = JointTable([[0, 1, 2]], [0.5, 0.3, 0.2])
    first, other = (Channel.randomized_response(e, range(3)) for e in (1, 2))
    guess = best_guess(table, Vector([Sum(), Sum()]), [first, other])
    rows = [np.exp(c.log_chances(np.arange(3.0))) for c in (first, other)]
    joint = np.array([0.5, 0.3, 0.2])[:, None, None] * rows[0][:, :, None] * rows[1][:, None, :]
    assert guess.success == pytest.approx(joint.max(axis=0).sum(), rel=1e-12)
    assert guess.rule[(2, 2)] == 2


def test_what_the_output_does_not_depend_on_is_not_learnt():
    model = Independent([[0.3, 0.3, 0.4], [0.5, 0.5]])
    for release in (ta.Laplace(1), ta.Gaussian(1)):
        guess = best_guess(model, Linear([0, 1]), release)
        assert guess.gain == pytest.approx(0, abs=1e-12)
        assert guess.success >= guess.baseline


def test_refused_with_a_reason():
    coin = Independent([[0.5, 0.5]])
    with pytest.raises(ta.InvalidArgument, match="known must leave out the record"):
        best_guess(coin, Sum(), ta.Laplace(1), known={0: 1})
    with pytest.raises(ta.InvalidArgument, match="record must be"):
        best_guess(coin, Sum(), ta.Laplace(1), record=1)
    with pytest.raises(ta.InvalidArgument, match="data model with finitely many values"):
        best_guess([0.5, 0.5], Sum(), ta.Laplace(1))
    table, bent = JointTable([range(3)], [0.5, 0.3, 0.2]), Vector([Sum(), lambda d: d[0] ** 2])
    with pytest.raises(ta.Unsupported, match="equally far apart"):
        best_guess(table, bent, ta.Gaussian(1))
    with pytest.raises(ta.InvalidArgument, match="values must differ"):
        Channel.randomized_response(1, [0, 0])
