"""Reconstruction, guesses and singling out against values computed independently."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import tellapart as ta
from tellapart import risk

RECORDS = json.loads((Path(__file__).parent / "risks.json").read_text(encoding="utf-8"))
REPLACE = ta.Neighbours.REPLACE


@cache
def trained(noise_multiplier, sampling_rate, steps):
    return ta.dp_sgd(
        noise_multiplier=noise_multiplier, sampling_rate=sampling_rate, steps=steps
    ).curve()


def of_kind(start):
    records = [record for record in RECORDS if record["id"].startswith(start)]
    assert records
    return pytest.mark.parametrize("record", records, ids=lambda record: record["id"])


def close(record, value):
    return value == pytest.approx(
        record["value"], abs=record["tolerance"]["abs"], rel=record["tolerance"]["rel"]
    )


@of_kind("rero")
def test_reconstruction_takes_the_order_of_absent_against_present(record):
    curve = trained(**record["inputs"]["dp_sgd"])
    bound = risk.reconstruction(curve, record["inputs"]["kappa"])
    assert bound.order is ta.Order.PRESENT
    assert bound.neighbours is ta.Neighbours.ADD_REMOVE
    assert close(record, bound) == (record["side"] != "wrong")
    # However the curve is asked for, the order is the same; unless nobody knows which it is.
    assert risk.reconstruction(curve._provenance.ordered.mirrored(), bound.baseline) == bound
    assert bound > record["value"] * (1 - 1e-4)


@of_kind("kvalues")
def test_the_sharper_bound_for_equally_likely_values(record):
    given = record["inputs"]
    curve = ta.Laplace.with_epsilon(given["laplace_epsilon"], neighbours=REPLACE).curve()
    assert close(record, risk.guess(curve, values=given["k"]))


@of_kind("krr")
def test_randomised_response_reaches_it(record):
    epsilon, k = record["inputs"]["epsilon"], record["inputs"]["k"]
    assert close(record, math.exp(epsilon) / (math.exp(epsilon) + k - 1))
    response = ta.RandomizedResponse(epsilon=epsilon, categories=k).curve()
    for curve in (response, ta.guarantee(epsilon=epsilon, neighbours=REPLACE)):
        bound = risk.guess(curve, values=k)
        assert close(record, bound)
        assert bound >= record["value"] * (1 - 1e-15)


@of_kind("mary")
def test_the_exact_best_guess_is_not_above_the_bound(record):
    given = record["inputs"]
    noise = (
        ta.Laplace.with_epsilon(given["laplace_epsilon"], neighbours=REPLACE)
        if "laplace_epsilon" in given
        else ta.Gaussian(sigma=1 / given["mu"], neighbours=REPLACE)
    )
    bound = risk.guess(noise.curve(), values=given["k"])
    assert record["value"] <= bound <= risk.reconstruction(noise.curve(), 1 / given["k"])


@of_kind("onehot")
def test_a_noisy_histogram(record):
    given = record["inputs"]
    bound = risk.reidentification(ta.Gaussian(sigma=1 / given["mu"]).curve(), candidates=given["k"])
    if record["side"] == "exact":
        assert record["value"] < bound == pytest.approx(0.3721, abs=1e-4)
    else:
        assert close(record, bound)


@of_kind("group")
def test_a_group_has_a_baseline_of_its_own(record):
    given = record["inputs"]
    group = ta.Gaussian(sigma=1 / given["mu"]).for_group(given["g"])
    assert close(record, risk.reconstruction(group.curve(), given["kappa"]))


def test_two_values_of_a_pure_promise():
    curve = ta.guarantee(epsilon=1, neighbours=REPLACE)
    assert risk.guess(curve, values=2) == pytest.approx(0.731059, abs=1e-6)
    assert risk.reconstruction(curve, 0.5) == pytest.approx(0.816060, abs=1e-6)


def test_ten_copies_of_a_bit_are_a_group():
    """The plain bound does not hold where others tell the bit: take the group's curve."""
    noise = ta.Gaussian(sigma=2)  # μ = 0.5
    truth = norm.cdf(10 * 0.5 / 2)  # ten copies move the answer ten times as far
    assert truth == pytest.approx(0.9938, abs=1e-4)
    assert risk.reconstruction(noise.curve(), 0.5) == pytest.approx(0.6915, abs=1e-4)
    assert risk.reconstruction(noise.for_group(10).curve(), 0.5) >= truth


# -- singling out ---------------------------------------------------------------------------


def test_singling_out_by_a_few_revealed_records():
    """(0, 0.001)-DP: each of 1000 people is shown with chance 0.001; some are with 0.632."""
    curve = ta.guarantee(epsilon=0, delta=0.001, neighbours=ta.Neighbours.ADD_REMOVE)
    people, weight = 1000, 1e-9
    attack = 1 - (1 - 0.001) ** people
    assert attack == pytest.approx(0.632, abs=1e-3)
    bound = risk.singling_out(curve, weight=weight, people=people)
    wrong = curve.tpr(bound.baseline)  # 1 − f of the blind chance
    assert wrong < 0.0011 < attack <= bound


@pytest.mark.parametrize(
    ("mu", "people", "cells", "wrong", "wrong_replaced"),
    [(4.0, 1e3, 1e8, 0.396, 0.918), (5.0, 1e4, 1e12, 0.270, 0.928)],
)
def test_singling_out_by_the_largest_cell(mu, people, cells, wrong, wrong_replaced):
    """The largest cell of a noisy histogram is one person's with a chance that 1 − f(κ) denies."""
    x = np.linspace(-2, 20, 400_001)
    # The largest of people's cells has law Φ(x − μ)^n, and all empty ones lie below it.
    density = people * norm.pdf(x - mu) * np.exp((people - 1) * norm.logcdf(x - mu))
    largest = np.trapezoid(density * np.exp((cells - people) * norm.logcdf(x)), x)
    attack = largest - people**2 / (2 * cells)  # nobody shares a cell
    added = ta.guarantee(mu=mu, neighbours=ta.Neighbours.ADD_REMOVE)
    replaced = ta.guarantee(mu=math.sqrt(2) * mu, neighbours=REPLACE)
    bound = risk.singling_out(added, weight=1 / cells, people=int(people))
    assert added.tpr(bound.baseline) == pytest.approx(wrong, abs=1e-3)
    assert replaced.tpr(bound.baseline) == pytest.approx(wrong_replaced, abs=1e-3)
    assert wrong < wrong_replaced < 0.99 < attack <= bound
    assert attack <= risk.singling_out(replaced, weight=1 / cells, people=int(people))
