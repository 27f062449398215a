"""Stored values of the founding paper's F-score under its coefficients, asked of the public API."""

import pytest
from stored_frameworks import BY_ID

import tellapart as ta
from tellapart import risk
from tellapart.worlds import Adversary

SCORES = ["H.0", "H.p", "H.pc", "H.pct", "H.pct2", "H.small"]


@pytest.mark.parametrize("name", SCORES)
def test_the_best_f_score(name):
    inputs = BY_ID[name]["inputs"]
    adversary = Adversary.with_coefficients(inputs["rho_p"], inputs["rho_c"], inputs["rho_t"])
    curve = ta.Laplace.with_epsilon(inputs["eps"]).curve()
    score = risk.f_score(curve, prior=adversary.prior)
    assert score == pytest.approx(BY_ID[name]["value"], abs=BY_ID[name]["tolerance"])


def test_where_the_formula_ends():
    record = BY_ID["H.crit"]
    rho_p, largest = record["inputs"]["rho_p"], record["value"]
    within = Adversary.with_coefficients(rho_p, largest - record["tolerance"])
    assert within.gamma == pytest.approx(0, abs=1e-11)
    with pytest.raises(ta.InvalidArgument, match="no probability exceeds 1"):
        Adversary.with_coefficients(rho_p, largest + record["tolerance"])
