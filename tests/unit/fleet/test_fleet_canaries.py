"""Canaries take part as examples do, and the fleet passes the audit of its own claim."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tellapart as ta  # noqa: E402
from tellapart import audit, fleet  # noqa: E402
from tellapart.errors import InvalidArgument  # noqa: E402
from tellapart.fleet import _random  # noqa: E402

TINY = fleet.LogisticRegression(inputs=1, classes=2)


def worst_case(runs, recipe, *, observed=True, seed=1):
    """One canary of the clipping norm, in for the first half of the runs; nobody else is."""
    inside = (np.arange(runs) < runs // 2)[:, None]
    canaries = fleet.Canaries.dirac([2], TINY.parameters, inside, observed=observed)
    nobody = np.zeros((runs, 1), dtype=bool)
    return fleet.train(TINY, recipe, [[0.0]], [0], nobody, seed=seed, canaries=canaries)


def recipe(noise_multiplier, steps=10, rate=0.3):
    return fleet.DPSGD(
        steps=steps,
        learning_rate=0.1,
        sampling_rate=rate,
        expected_batch=1.0,
        clip=1.0,
        noise_multiplier=noise_multiplier,
    )


def evidence(trained, sigma, rate, confidence=0.999):
    """The best attack: the likelihood ratio of each step, for noise as claimed."""
    seen = trained.observed[:, :, 0].astype(float)
    gain = np.logaddexp(np.log1p(-rate), np.log(rate) + (seen - 0.5) / sigma**2).sum(axis=1)
    half = len(gain) // 2
    return audit.many_runs(audit.Scores(gain[:half], gain[half:]), confidence)


def test_a_canary_joins_the_sum_as_sampled_and_clipped():
    gradients = np.array([[3.0, 0, 0, 4.0], [0, 0.25, 0, 0]])
    inside = np.array([[True, True], [False, True]] * 20)
    canaries = fleet.Canaries(gradients, inside, observed=True)
    nobody = np.zeros((40, 1), dtype=bool)
    found = fleet.train(TINY, recipe(0.0), [[1.0]], [0], nobody, seed=9, canaries=canaries, chunk=7)
    wanted = np.zeros((40, 10, 2))
    for step in range(10):
        key = _random.keys((9,), _random.CANARIES, np.arange(40), step + 1, "cpu")[step]
        places = _random.counters(np.arange(40), 2, "cpu")
        drawn = _random.coins(places, *key, _random.limit_of(0.3)).numpy()
        wanted[:, step] = (drawn & inside) * [1.0, 0.25]
    np.testing.assert_allclose(found.observed, wanted, atol=1e-6)
    np.testing.assert_allclose(found.released, wanted.sum(axis=1), atol=2e-5)


def test_all_steps_together_are_what_the_weights_give_away():
    found = worst_case(50, recipe(1.0))
    np.testing.assert_allclose(found.released, found.observed.sum(axis=1), atol=1e-4)


def test_the_fleet_passes_its_own_audit():
    # The chance that a true claim is refuted is at most 0.001; the seed is fixed.
    claim = ta.dp_sgd(noise_multiplier=1.0, sampling_rate=0.3, steps=10)
    trained = worst_case(20_000, recipe(1.0))
    verdict = audit.judge(claim, evidence(trained, 1.0, 0.3))
    assert not verdict.refuted
    # The attack is not a weak one: it shows most of what there is to see.
    epsilon = claim.curve().epsilon(1e-2)
    assert 0.7 * epsilon < verdict.epsilon_lower(1e-2).value < epsilon


@pytest.mark.parametrize("wrong", [recipe(0.5), recipe(1.0, rate=0.6), recipe(1.0, steps=30)])
def test_the_audit_refutes_half_the_noise_or_twice_the_data(wrong):
    claim = ta.dp_sgd(noise_multiplier=1.0, sampling_rate=0.3, steps=10)
    trained = worst_case(20_000, wrong)
    assert audit.judge(claim, evidence(trained, 1.0, 0.3)).refuted


def test_canaries_are_checked():
    with pytest.raises(InvalidArgument, match="gradients must have no row of zeros"):
        fleet.Canaries([[0.0, 0.0]], [[True]])
    with pytest.raises(InvalidArgument, match="inclusion must be True or False"):
        fleet.Canaries([[1.0, 0.0]], [[True, False]])
    with pytest.raises(InvalidArgument, match="places must lie in 0 to 3"):
        fleet.Canaries.dirac([4], 4, [[True]])
    wrong = fleet.Canaries([[1.0, 0.0]], [[True]])
    with pytest.raises(InvalidArgument, match="canaries must have a gradient"):
        fleet.train(TINY, recipe(1.0), [[1.0]], [0], seed=0, canaries=wrong)
