"""Sparse vector, new keys and partition selection beside values found otherwise."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta

VALUES = {
    row["id"]: row
    for row in json.loads(Path(__file__).with_name("risks.json").read_text(encoding="utf-8"))
}


def close(found, name):
    row = VALUES[name]
    return found == pytest.approx(row["value"], abs=row["tolerance"]["abs"], rel=0)


def above_threshold(first, second):
    return ta.AboveThreshold(threshold_scale=1 / first, query_scale=2 / second).curve()


@pytest.mark.parametrize("name", ["svt-0.5-0.5-0.75", "svt-1-1-0"])
def test_above_threshold_is_the_value_of_the_game(name):
    given = VALUES[name]["inputs"]
    assert close(above_threshold(given["eps1"], given["eps2"]).delta(given["eps"]), name)


def test_above_threshold_lies_between_an_attack_and_plainer_bounds():
    curve = above_threshold(0.5, 0.5)
    assert VALUES["svt-attack"]["value"] < curve.delta(0) <= 0.2908
    assert curve.delta(0.9) <= 0.0251
    epsilons = np.linspace(0, 1.1, 56)
    assert np.all(curve.delta(epsilons) <= ta.Laplace(1).curve().delta(epsilons) + 1e-12)
    assert curve.epsilon(0) == 1.0


def test_a_key_of_one_person():
    shown = ta.ThresholdedHistogram(ta.Gaussian(sigma=2), threshold=10).new_key()
    assert close(shown, "key-gauss")


def test_the_worst_number_of_new_keys():
    five = ta.ThresholdedHistogram(ta.Gaussian(sigma=10), threshold=45, keys=5)
    assert close(five.curve().delta(1.0), "keys-k5")
    three = ta.ThresholdedHistogram(ta.Gaussian(sigma=5), threshold=25, keys=3)
    naive = 3 * three.new_key() + ta.Gaussian(sigma=5).repeated(3).curve().delta(1.5)
    assert three.curve().delta(1.5) == pytest.approx(2.380e-6, rel=1e-3)
    assert naive == pytest.approx(3.518e-6, rel=1e-3)


@pytest.mark.parametrize("name", ["partition-1-10", "partition-2-10"])
def test_optimal_partition_selection(name):
    given = VALUES[name]["inputs"]
    chosen = ta.PartitionSelection(given["epsilon"], given["delta"])
    assert close(chosen.shown(given["n"]), name)


def test_a_key_that_many_have_is_certain():
    chosen = ta.PartitionSelection(1, 1e-5)
    assert chosen.shown(12) == pytest.approx(0.76031, abs=5e-6)
    assert chosen.shown(22) < 1 == chosen.shown(23)


def test_a_training_with_correlated_noise_is_not_sampled_as_a_whole():
    """One sample for all rounds is another mechanism than one for each round."""
    training = ta.matrix_mechanism(np.eye(10), 1.0, participations=[list(range(10))])
    with pytest.raises(ta.Unsupported, match="sampled"):
        training.sampled(0.01)
    right, wrong = (VALUES[f"matrix-sampled-{name}"] for name in ("right", "wrong"))
    truth = ta.dp_sgd(1, 0.01, 10).advantage()
    assert truth == pytest.approx(right["value"], abs=right["tolerance"]["abs"])
    assert truth > wrong["value"]


def test_of_laplace_vectors_a_move_of_one_coordinate_is_worst():
    one, spread, even = (
        ta.Laplace(1).test(absent=[0, 0], present=move).curve().delta(0)
        for move in ([1, 0], [0.9, 0.1], [0.5, 0.5])
    )
    assert (round(one, 4), round(spread, 4), round(even, 4)) == (0.3935, 0.3631, 0.2418)
    assert one == pytest.approx(-math.expm1(-0.5), abs=1e-12)


def test_no_threshold_is_beyond_the_noise():
    """A key that one person has is shown with a chance that no double holds, and yet above 0."""
    far = ta.ThresholdedHistogram(ta.Laplace(1), threshold=800)
    assert far.new_key() > 0
    assert far.epsilon(0.0) == math.inf


def test_a_first_person_is_shown_with_delta_whatever_epsilon_is():
    assert ta.PartitionSelection(750, 1e-5).shown(1) == 1e-5
