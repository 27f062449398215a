"""The best guess of a value (M-ary Bayes) against values computed independently."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds import Channel, Independent, JointTable, Sum, Vector, best_guess

RECORDS = {
    record["id"]: record
    for record in json.loads((Path(__file__).parent / "risks.json").read_text(encoding="utf-8"))
}


def spaced(k):
    return Independent([[1 / k] * k], [np.arange(k) / (k - 1)])


def success(record):
    given = record["inputs"]
    k = given["k"]
    if "laplace_epsilon" in given:
        return best_guess(spaced(k), Sum(), ta.Laplace(1 / given["laplace_epsilon"])).success
    if record["id"].startswith("krr"):
        told = Channel.randomized_response(given["epsilon"], range(k))
        return best_guess(Independent([[1 / k] * k]), Sum(), told).success
    if record["id"].startswith("onehot"):
        bins = Vector([lambda d, i=i: float(d[0] == i) for i in range(k)])
        # Each of two bins moves by 1, so that one-hot lists are √2 apart.
        sigma = 1 / given["mu"]
        return best_guess(JointTable([range(k)], [1 / k] * k), bins, ta.Gaussian(sigma)).success
    return best_guess(spaced(k), Sum(), ta.Gaussian(1 / given["mu"])).success


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, record in RECORDS.items()
        if name.startswith(("mary-", "krr-", "onehot-")) and record["side"] == "exact"
    ],
)
def test_the_best_guess_has_its_value(name):
    record = RECORDS[name]
    assert success(record) == pytest.approx(
        record["value"], abs=record["tolerance"]["abs"], rel=record["tolerance"]["rel"]
    )


def test_the_closed_form_for_spaced_values():
    for k in (2, 5, 40):
        for epsilon in (0.1, 1.0, 6.0):
            half = -math.expm1(-epsilon / (k - 1) / 2)  # 2F(s/2) − 1
            assert best_guess(spaced(k), Sum(), ta.Laplace(1 / epsilon)).success == pytest.approx(
                (1 + (k - 1) * half) / k, rel=1e-13
            )


@pytest.mark.parametrize("name", [name for name in RECORDS if name.endswith("-bound")])
def test_the_best_guess_is_not_above_its_bound(name):
    assert RECORDS[name]["side"] == "upper"
    assert success(RECORDS[name]) <= RECORDS[name]["value"]
