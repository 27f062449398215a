"""Canaries for one run: how they are made, put in and scored, and a training of known leak."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart import audit
from tellapart.audit import canaries
from tellapart.errors import Unsupported


def trained(gradients, rng, noise=1.0, clip=1.0, steps=4):
    """Full-batch DP-SGD in NumPy: a clipped sum with noise at every step, all of them released."""
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    total = (gradients * np.minimum(1, clip / np.maximum(norms, 1e-300))).sum(axis=0)
    return total + rng.normal(0, noise * clip, (steps, len(total)))


def audited(noise, seed=0, count=1_000, steps=4):
    """One training with canaries of norm 10 among records that say nothing of them."""
    made = canaries.dirac_gradients(count, count + 5, norm=10.0)
    coins = made.inclusion(seed)
    rng = np.random.default_rng(seed)
    records = np.hstack([rng.normal(size=(50, 5)), np.zeros((50, count))])
    updates = trained(np.vstack([records, made.included(coins)]), rng, noise, steps=steps)
    return audit.one_run(made.scores(made.along(updates), coins), 0.99)


def test_a_training_of_known_leak_is_bounded_from_below():
    """Four steps with noise σ are one of Gaussian DP with μ = 2/σ; each canary is its own."""
    exact = ta.dp_sgd(2.0, 1.0, 4)
    evidence = audited(noise=2.0)
    assert 0.3 < evidence.mu_lower().value <= 1
    assert evidence.epsilon_lower(1e-5).value <= exact.curve().epsilon(1e-5)
    assert not evidence.refutes(exact)


def test_a_training_with_a_quarter_of_the_noise_is_refuted():
    assert audited(noise=0.5, count=1_000).refutes(ta.dp_sgd(2.0, 1.0, 4))


def test_right_trainings_are_spared():
    """At a level of 0.01 so many false alarms come with probability below 1e-7."""
    runs = 20
    alarms = sum(
        audited(noise=2.0, seed=k, count=200).refutes(ta.dp_sgd(2.0, 1.0, 4)) for k in range(runs)
    )
    assert alarms <= binom.isf(1e-7, runs, 0.01)


def test_dirac_gradients_share_no_coordinate():
    made = canaries.dirac_gradients(3, 5, norm=2.0)
    expected = [[0, 0, 2, 0, 0], [0, 0, 0, 2, 0], [0, 0, 0, 0, 2]]
    assert made.records.tolist() == expected
    assert made.count == 3


def test_coins_are_fair_and_kept_by_their_seed():
    made = canaries.dirac_gradients(2_000, 2_000, norm=1.0)
    coins = made.inclusion(3)
    assert np.array_equal(coins, made.inclusion(3))
    assert not np.array_equal(coins, made.inclusion(4))
    assert abs(coins.sum() - 1_000) < 6 * math.sqrt(500)


def test_mislabelled_examples_have_another_label():
    rng = np.random.default_rng(1)
    X, y = np.arange(3_000).reshape(1_000, 3), rng.integers(0, 3, 1_000) * 10
    made = canaries.mislabelled(X, y, 600, seed=2)
    rows = made.records[:, 0] // 3
    assert len(set(rows)) == 600
    assert np.array_equal(made.records, X[rows])
    assert (made.labels != y[rows]).all()
    assert set(made.labels) == {0, 10, 20}
    after = (made.labels - y[rows]) % 30 == 10
    assert abs(after.sum() - 300) < 6 * math.sqrt(150)
    inside, labels = made.included(made.inclusion(0))
    assert len(inside) == len(labels) == made.inclusion(0).sum()


def test_scores_go_with_their_coins():
    made = canaries.dirac_gradients(6, 6, norm=1.0)
    coins = np.array([True, False, True, False, False, True])
    scores = made.scores([6, 1, 5, 2, 3, 4], coins)
    assert scores.members.descending([1, 2, 3]).tolist() == [6, 5, 4]
    assert scores.non_members.count == 3
    updates = np.arange(12.0).reshape(2, 6)
    naive = [sum(row @ canary for row in updates) for canary in made.records]
    assert made.along(updates).tolist() == naive


def test_canaries_of_one_training_are_no_independent_runs():
    made = canaries.dirac_gradients(6, 6, norm=1.0)
    coins = np.array([True, False, True, False, False, True])
    scores = made.scores([6, 1, 5, 2, 3, 4], coins)
    assert scores.independent is False
    with pytest.raises(Unsupported, match="not independent"):
        audit.many_runs(scores)


MADE = canaries.dirac_gradients(3, 4, norm=1.0)
COINS = np.array([True, False, True])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: canaries.dirac_gradients(5, 4, 1.0), r"count must be at most dimension \(4\)"),
        (lambda: canaries.dirac_gradients(2, 4, 0.0), "norm must be"),
        (lambda: canaries.dirac_gradients(99_999, 10**6, 1.0), "count must be at most 100 for"),
        (lambda: canaries.mislabelled([[1], [2]], [1], 1, 0), "y must have a label for each of 2"),
        (lambda: canaries.mislabelled([[1], [2]], [1, 1], 1, 0), "y must hold two labels"),
        (lambda: canaries.mislabelled([[1], [2]], [1, 0], 3, 0), "count must be"),
        (lambda: MADE.included([1, 0, 1]), "inclusion must say True or False of each of 3"),
        (lambda: MADE.scores([1, 2], COINS), "values must be one number for each of 3"),
        (lambda: MADE.scores("abc", COINS), "values must be numbers"),
        (lambda: canaries.mislabelled("abc", [1, 0], 1, 0), "X must be rows of examples"),
        (lambda: MADE.along(np.zeros((2, 5))), "updates must be rows of 4 numbers"),
        (lambda: MADE.inclusion(-1), "seed must be"),
        (
            lambda: canaries.CanarySet(np.eye(2), np.zeros(2)).along(np.eye(2)),
            "canaries must be gradients, without labels",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ta.InvalidArgument, match=message):
        call()
