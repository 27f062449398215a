"""ε at a δ under a model, against integrals over all outputs."""

import numpy as np
import pytest
from scipy.stats import laplace, norm

import tellapart as ta
from tellapart.errors import Unsupported
from tellapart.worlds import Channel, JointTable, MarkovChain, Sum
from tellapart.worlds.frameworks import compare_frameworks
from tellapart.worlds.frameworks.at_delta import (
    approximate_dp,
    approximate_group,
    approximate_pufferfish,
)

KINDS = {
    "laplace": (ta.Laplace(0.8), laplace(scale=0.8)),
    "gaussian": (ta.Gaussian(0.8), norm(scale=0.8)),
}


def _random_table(seed, shape=(2, 3)):
    shares = np.random.default_rng(seed).dirichlet(np.ones(np.prod(shape)))
    return JointTable([np.arange(n) for n in shape], shares.reshape(shape))


def _delta(model, law, epsilon):
    """The largest ∫(p − e^ε·q)⁺ over records, values and orders, on a fine grid of outputs."""
    outputs = np.linspace(-12, 16, 280_001)
    worst = 0.0
    for record, size in enumerate(model.probabilities.shape):
        densities = []
        for value in range(size):
            rows = np.argwhere(model.probabilities > 0)
            rows = rows[rows[:, record] == value]
            shares = model.probabilities[tuple(rows.T)]
            parts = [w * law.pdf(outputs - row.sum()) for w, row in zip(shares, rows, strict=True)]
            densities.append(np.sum(parts, axis=0) / shares.sum())
        for p in densities:
            for q in densities:
                excess = np.maximum(p - np.exp(epsilon) * q, 0)
                worst = max(worst, float(np.trapezoid(excess, outputs)))
    return worst


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_the_integral_at_this_epsilon_is_delta(seed, kind):
    release, law = KINDS[kind]
    model = _random_table(seed)
    found = approximate_pufferfish(model, Sum(), release, delta=0.01)
    assert _delta(model, law, found.epsilon) == pytest.approx(0.01, rel=1e-5)


def test_neighbours_are_told_apart_as_their_shift_is():
    chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=4)
    alone, together = (ta.Gaussian(2, sensitivity=shift).curve().epsilon(1e-6) for shift in (1, 4))
    assert approximate_dp(chain, Sum(), ta.Gaussian(2), 1e-6).epsilon == alone
    assert approximate_group(chain, Sum(), ta.Gaussian(2), 1e-6).epsilon == together
    between = approximate_pufferfish(chain, Sum(), ta.Gaussian(2), 1e-6).epsilon
    assert alone < between < together


def test_normal_noise_is_asked_at_the_usual_delta():
    chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=3)
    named = {one.framework for one in compare_frameworks(chain, Sum(), ta.Gaussian(1)).rows}
    assert {"differential privacy, δ = 1e-5", "Pufferfish, δ = 1e-5"} <= named
    asked = compare_frameworks(chain, Sum(), ta.Laplace(1), delta=0.1).rows
    assert asked[0].framework == "differential privacy, δ = 0.1"


def test_impossible_values_are_listed_and_what_is_too_much_is_refused():
    certain = MarkovChain([1, 0], [[0.9, 0.1], [0.4, 0.6]], length=3)
    found = approximate_pufferfish(certain, Sum(), ta.Gaussian(1), 0.1)
    assert [secret.record for secret in found.skipped] == [0]
    long = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=501)
    with pytest.raises(Unsupported, match="501 pairs"):
        approximate_pufferfish(long, Sum(), ta.Gaussian(1), 0.1)
    middle = approximate_pufferfish(long, Sum(), ta.Gaussian(9), 1e-9, records=[250])
    assert middle.epsilon > 0


@pytest.mark.parametrize("delta", [0, 1, -0.1, "a"])
def test_delta_lies_between(delta):
    model = _random_table(0)
    for ask in (approximate_dp, approximate_group, approximate_pufferfish):
        with pytest.raises(ta.InvalidArgument, match="delta must"):
            ask(model, Sum(), ta.Gaussian(1), delta)


def test_a_channel_has_no_shift():
    channel = Channel({x: [0.5, 0.5] for x in range(4)})
    with pytest.raises(ta.InvalidArgument, match="release must"):
        approximate_dp(_random_table(0), Sum(), channel, 0.1)


def test_what_is_known_leaves_a_record_its_own_move():
    rng = np.random.default_rng(3)
    model = JointTable([[0, 1]] * 3, rng.dirichlet(np.ones(8)).reshape(2, 2, 2))
    for record in range(3):
        known = {i: float(rng.integers(2)) for i in range(3) if i != record}
        found = approximate_pufferfish(model, Sum(), ta.Gaussian(2), 1e-3, known=known)
        alone = ta.Gaussian(2, sensitivity=1).curve().epsilon(1e-3)
        assert found.epsilon == pytest.approx(alone, rel=1e-9)
        assert dict(found.witness.known) == known
