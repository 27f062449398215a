"""Stored values of what data loaders do, asked of the public API."""

import json
from pathlib import Path

import pytest

import tellapart as ta
from tellapart.mechanisms.batches.truncated_poisson import TruncatedPoisson
from tellapart.mechanisms.batches.with_replacement import WithReplacement

RECORDS = json.loads(Path(__file__).with_name("loaders.json").read_text(encoding="utf-8"))
ORDERS = {"remove": ta.Order.PRESENT, "add": ta.Order.ABSENT}
ALLOCATIONS = [record for record in RECORDS if record["id"].startswith("alloc")]
SHUFFLED = [record for record in RECORDS if record["id"].startswith("shuffle")]
OFTEN = [record for record in RECORDS if record["id"].startswith("koft")]
POISSON = [record for record in RECORDS if record["id"].startswith("poisson")]


def _names(records):
    return [record["id"] for record in records]


@pytest.mark.parametrize("record", ALLOCATIONS, ids=_names(ALLOCATIONS))
def test_a_bracket_of_random_allocation_holds_the_stored_value(record):
    asked = record["inputs"]
    epoch = ta.Gaussian(asked["sigma"]).allocated(steps=asked["t"])
    order, delta = ORDERS[asked["order"]], asked["delta"]
    bracket = epoch.repeated(asked["epochs"]).bracket(delta, gap=1e-3, order=order)
    least, most = bracket.upper.epsilon(delta), bracket.lower.epsilon(delta)
    assert most - least <= 1e-3 * max(1, least)
    value = record["value"]
    low, high = value if isinstance(value, list) else (value, value)
    rounding = record["tolerance"] if isinstance(record["tolerance"], float) else 0.0
    # Of two brackets neither need lie within the other, but they have the truth in common.
    assert least <= high + rounding
    assert most >= low - rounding
    curve = epoch.repeated(asked["epochs"]).curve(order)
    assert curve.bound is ta.Bound.LOWER
    assert curve.epsilon(delta) >= low - rounding


@pytest.mark.parametrize("record", OFTEN, ids=_names(OFTEN))
def test_a_bracket_of_several_participations_is_about_that_stored(record):
    asked, (low, high) = record["inputs"], record["value"]
    epoch = ta.Gaussian(asked["sigma"]).allocated(asked["t"], participations=asked["k"])
    bracket = epoch.bracket(asked["delta"], gap=1e-3, order=ORDERS[asked["order"]])
    least, most = (side.epsilon(asked["delta"]) for side in (bracket.upper, bracket.lower))
    assert low - 5e-4 <= least <= high
    assert low <= most == pytest.approx(high, rel=1e-3)


@pytest.mark.parametrize("record", SHUFFLED, ids=_names(SHUFFLED))
def test_a_bracket_of_shuffled_batches_has_the_stored_attack_and_the_gaussian(record):
    asked = record["inputs"]
    epochs = asked.get("epochs", 1)
    training = ta.dp_sgd(
        asked["sigma"], 1 / asked["t"], asked["t"] * epochs, scheme=ta.Sampling.SHUFFLED
    )
    bracket = training.bracket(asked["delta"], order=ORDERS[asked["order"]])
    attack = bracket.upper.epsilon(asked["delta"])
    # Stored with each lower bound: an attacker finds at least this, and at most the upper.
    assert record["value"] - 2e-3 <= attack <= record["upper"]
    assert bracket.lower.epsilon(asked["delta"]) == pytest.approx(record["upper"], rel=1e-10)
    assert training.curve().epsilon(asked["delta"]) == pytest.approx(record["upper"], rel=1e-10)


# Both ends of ε at δ = 1e-5 in the worse order: σ, steps an epoch, epochs, least, most.
SHUFFLED_EPOCHS = [
    (1, 100, 10, 9.45, 17.86),
    (2, 100, 50, 2.50, 20.68),
    (0.5, 1000, 3, 19.97, 20.13),
]


@pytest.mark.parametrize(("sigma", "steps", "epochs", "least", "most"), SHUFFLED_EPOCHS)
def test_epochs_of_shuffled_batches(sigma, steps, epochs, least, most):
    training = ta.dp_sgd(sigma, 1 / steps, steps * epochs, scheme=ta.Sampling.SHUFFLED)
    lower, upper = training.bracket(1e-5)
    assert upper.epsilon(1e-5) == pytest.approx(least, abs=0.01)
    assert lower.epsilon(1e-5) == pytest.approx(most, abs=0.005)


def test_an_epoch_that_drops_records_is_no_affine_mixture():
    """One batch that takes half of the records: exactly 4.208, where 3.534 was thought."""
    step = ta.Gaussian(1, neighbours=ta.Neighbours.ZERO_OUT)
    lower, upper = step.shuffled_batches(steps=1, used=0.5).bracket(1e-5)
    assert upper.epsilon(1e-5) == pytest.approx(4.208, abs=1e-3)
    assert lower.epsilon(1e-5) == pytest.approx(4.212, abs=1e-3)


def _record(name):
    (record,) = (each for each in RECORDS if each["id"] == name)
    return record["inputs"], record


def test_a_mixture_of_gaussians():
    asked, record = _record("mog-1")
    step = ta.MixtureOfGaussians(asked["sigma"], asked["c"], asked["p"])
    training = step.repeated(asked["T"])
    assert abs(training.epsilon(asked["delta"]) - record["value"]) <= record["tolerance"] * 5
    back = training.curve(ta.Order.ABSENT).epsilon(asked["delta"])
    assert abs(back - record["add_order"]) <= 1e-4


def test_poisson_samples_where_a_record_is_replaced():
    asked, record = _record("replace-1")
    training = ta.dp_sgd(asked["sigma"], asked["q"], asked["T"], neighbours=ta.Neighbours.REPLACE)
    assert training.curve().bound is ta.Bound.EXACT
    assert abs(training.epsilon(asked["delta"]) - record["value"]) <= record["tolerance"]
    bracket = training.bracket(asked["delta"])
    assert bracket.upper.epsilon(1e-5) <= record["value"] + record["tolerance"]
    assert bracket.lower.epsilon(1e-5) >= record["value"] - record["tolerance"]
    assert ta.dp_sgd(1, 0.1, 20, neighbours=ta.Neighbours.REPLACE).epsilon(1e-5) == pytest.approx(
        4.590373, abs=2e-6
    )


# σ = 1, 200 steps at rate 0.05 of 1,000 records: largest batch and ε at δ = 1e-5.
@pytest.mark.parametrize(("largest", "epsilon"), [(60, 10.552), (75, 5.199), (1000, 4.766)])
def test_truncated_poisson_samples(largest, epsilon):
    training = ta.dp_sgd(
        1.0,
        0.05,
        200,
        data_size=1000,
        largest_batch=largest,
        scheme=ta.Sampling.TRUNCATED_POISSON,
    )
    assert training.curve().bound is ta.Bound.LOWER
    assert training.epsilon(1e-5) == pytest.approx(epsilon, abs=5e-4)


def test_a_cap_is_not_free_where_a_record_is_zeroed_out():
    """Two records, of which one is kept: 3.639 exactly, where a shift of 1 would say 3.534."""
    step = ta.Gaussian(1.0, neighbours=ta.Neighbours.ZERO_OUT)
    assert step.sampled(0.5).epsilon(1e-5) == pytest.approx(3.534, abs=1e-3)
    assert TruncatedPoisson(step, 0.5, 1, 2).epsilon(1e-5) == pytest.approx(3.892, abs=1e-3)


def test_draws_with_replacement():
    """Against an attack with all other records on the other side, 7.612."""
    step = ta.Gaussian(1.0, neighbours=ta.Neighbours.ZERO_OUT)
    assert WithReplacement(step, 10, 100).epsilon(1e-5) == pytest.approx(8.161, abs=1e-3)
    attack = WithReplacement(step, 10, 100).bracket(1e-5).upper
    assert attack.epsilon(1e-5) == pytest.approx(7.612, abs=1e-3)


# σ = 1, 100 steps an epoch, ε at δ = 1e-5: epochs, order, value and its tolerance.
FIELD = [
    (1, "remove", 0.62094, 5e-5),
    (1, "add", 0.42195, 5e-5),
    (10, "remove", 1.7015, 3e-4),
    (10, "add", 1.5477, 3e-4),
]


@pytest.mark.parametrize(("epochs", "order", "value", "tolerance"), FIELD)
def test_random_allocation_is_what_a_grid_with_richardson_steps_gives(
    epochs, order, value, tolerance
):
    training = ta.dp_sgd(1, 0.01, 100 * epochs, scheme=ta.Sampling.RANDOM_ALLOCATION)
    lower, upper = training.bracket(1e-5, gap=2e-4, order=ORDERS[order])
    assert upper.epsilon(1e-5) - tolerance <= value <= lower.epsilon(1e-5) + tolerance


@pytest.mark.parametrize("record", POISSON, ids=_names(POISSON))
def test_poisson_samples_are_what_they_are_contrasted_with(record):
    asked = record["inputs"]
    training = ta.dp_sgd(asked["sigma"], 1 / asked["t"], asked["t"])
    for name, value in record["value"].items():
        epsilon = training.curve(ORDERS[name]).epsilon(asked["delta"])
        assert abs(epsilon - value) <= record["tolerance"] * max(1, value)
