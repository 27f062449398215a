"""Stored values of what data loaders do, asked of the public API."""

import json
from pathlib import Path

import pytest

import tellapart as ta

RECORDS = json.loads(Path(__file__).with_name("loaders.json").read_text(encoding="utf-8"))
ORDERS = {"remove": ta.Order.PRESENT, "add": ta.Order.ABSENT}
ALLOCATIONS = [record for record in RECORDS if record["id"].startswith("alloc")]
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


@pytest.mark.parametrize("record", POISSON, ids=_names(POISSON))
def test_poisson_samples_are_what_they_are_contrasted_with(record):
    asked = record["inputs"]
    training = ta.dp_sgd(asked["sigma"], 1 / asked["t"], asked["t"])
    for name, value in record["value"].items():
        epsilon = training.curve(ORDERS[name]).epsilon(asked["delta"])
        assert abs(epsilon - value) <= record["tolerance"] * max(1, value)
