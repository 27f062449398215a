"""The least μ and its regret against values computed independently."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtri, ndtri_exp

import tellapart as ta

FILE = Path(__file__).parent / "risks.json"
RECORDS = [
    record
    for record in json.loads(FILE.read_text(encoding="utf-8"))
    if record["id"].startswith(("mu-", "regret-"))
]


def curve_of(given):
    if "dp_sgd" in given:
        return ta.dp_sgd(**given["dp_sgd"]).curve()
    if "laplace_epsilon" in given:
        return ta.Laplace.with_epsilon(given["laplace_epsilon"]).curve()
    return ta.guarantee(given["epsilon"], given.get("delta", 0))


def answer(record):
    given = record["inputs"]
    if record["id"].startswith("regret"):
        # The least FPR from which on μ is the one given.
        at_least = 1e-10 if record["id"] == "regret-S3b" else 1e-6
        summary = curve_of(given).gdp(at_least)
        assert summary.mu == pytest.approx(given["mu"], abs=3e-6)
        return summary.regret
    if "t" in given:  # one sampled step, beyond what doubles hold: μ in logarithms
        apart, t, rate = 1 / given["sigma"], given["t"], given["q"]
        tpr = np.logaddexp(np.log1p(-rate) + log_ndtr(-t), np.log(rate) + log_ndtr(apart - t))
        with pytest.raises(ta.InvalidArgument, match="a limit that no attack comes near"):
            ta.Gaussian(given["sigma"]).sampled(rate).curve().gdp(at_least=0)
        return ndtri_exp(tpr) + t
    return curve_of(given).gdp(given.get("alpha0", 0)).mu


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"])
def test_values(record):
    value = answer(record)
    assert value == pytest.approx(record["value"], abs=record["tolerance"]["abs"], rel=0)
    assert value >= record["value"] - 1e-6  # rounded up, from values of six digits


# σ, q, T; μ from 1e-2, 1e-4, 1e-6 and 1e-10 on, and the regret from 1e-6 on.
TABLE = [
    (1, 0.01, 1000, 0.43275, 0.45408, 0.47397, 0.52220, 0.01316),
    (0.6, 0.001, 50000, 0.88025, 0.93275, 0.99002, 1.11837, 0.02853),
    (9.4, 0.328, 2000, 1.56343, 1.56517, 1.56646, 1.56847, 0.00073),
    (0.5, 0.004, 2500, 1.28784, 1.50203, 1.67336, 1.94735, 0.09464),
    (2, 0.1, 500, 1.18970, 1.20781, 1.22148, 1.24313, 0.00900),
    (1.1, 0.02, 3000, 1.23838, 1.26106, 1.27861, 1.30725, 0.01098),
]


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_the_table_of_trainings(row):
    sigma, rate, steps, *mus, regret = row
    curve = ta.dp_sgd(noise_multiplier=sigma, sampling_rate=rate, steps=steps).curve()
    summaries = [curve.gdp(at_least) for at_least in (1e-2, 1e-4, 1e-6, 1e-10)]
    assert [summary.mu for summary in summaries] == pytest.approx(mus, abs=6e-6)
    assert summaries[2].regret == pytest.approx(regret, abs=6e-6)
    # In all six the regret is that of even odds.
    bell = ta.guarantee(mu=summaries[2].mu)
    assert summaries[2].regret == pytest.approx((bell.delta(0) - curve.delta(0)) / 2, abs=1e-8)


def test_a_composition_needs_more_than_the_root_of_its_steps():
    step = ta.Promise(0, 5e-4)
    alone, together = (step.repeated(n).curve().gdp(1e-3).mu for n in (1, 100))
    assert alone == pytest.approx(0.1225, abs=5e-5)
    assert together == pytest.approx(1.443, abs=5e-4)
    assert together > 10 * alone


def test_sampled_noise_tends_to_the_noise_without_sampling():
    """One step with q = 0.01: ever larger towards FPR 0, never more than 1/σ."""
    curve = ta.Gaussian(1).sampled(0.01).curve()
    mus = [curve.gdp(at_least).mu for at_least in (1e-3, 1e-6, 1e-12)]
    assert np.all(np.diff(mus) > 0)
    assert mus[-1] < 1


@pytest.mark.parametrize(("epsilon", "delta", "start"), [(1, 1e-5, 1e-6), (1, 1e-5, 1e-10)])
def test_a_promise_needs_most_at_its_knot_or_its_end(epsilon, delta, start):
    summary = ta.guarantee(epsilon, delta).gdp(start)
    knot = (1 - delta) / (1 + np.exp(epsilon))
    end = ndtri(delta + np.exp(epsilon) * start) - ndtri(start)
    assert summary.mu == pytest.approx(max(-2 * ndtri(knot), end), rel=1e-12)
    assert summary.mu == pytest.approx({1e-6: 1.23205, 1e-10: 2.09646}[start], abs=5e-6)
