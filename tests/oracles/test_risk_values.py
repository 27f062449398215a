"""Risks and calibrations against values computed independently."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import tellapart as ta
from tellapart import choose, risk

RECORDS = json.loads((Path(__file__).parent / "risk.json").read_text(encoding="utf-8"))


def prior(given):
    return 1 / (1 + given["gamma"])


def laplace(given):
    return ta.Laplace.with_epsilon(given["eps"]).curve()


def promise(given):
    return ta.guarantee(given["eps"], given["delta"])


def gaussian(given):
    return ta.guarantee(mu=given["mu"])


def named(given):
    kinds = {"laplace": laplace, "gaussian": gaussian, "eps_delta": promise}
    return kinds[given["mechanism"]](given)


def f_attack(curve, given):
    return risk.f_score_attack(curve, weight=given["weight"], prior=prior(given))


def laplace_threshold(given):
    """(θ* − Q(D′))/Δ: the output at which the likelihood ratio is the threshold of the attack."""
    loss = f_attack(laplace(given), given).threshold
    return (loss + given["eps"]) / 2 / given["eps"]


def largest(family, given):
    limit = choose.at_most(
        given["f_bound"], risk.f_score, weight=given["weight"], prior=prior(given)
    )
    try:
        found = choose.largest(family, [limit])
    except choose.Infeasible:
        return "infeasible"
    return "inf" if found.binding is None else found.parameter


def gaussian_precision(given):
    noise = ta.Gaussian.classic(given["eps"], given["delta"])
    return risk.precision(noise.curve(), recall=given["recall"], prior=prior(given))


ANSWERS = {
    "f_star_laplace": lambda g: f_attack(laplace(g), g).score,
    "one_minus_f_star_laplace": lambda g: f_attack(laplace(g), g).shortfall,
    "f_star_laplace_threshold": laplace_threshold,
    "f_star_eps_delta": lambda g: f_attack(promise(g), g).score,
    "f_star_gaussian": lambda g: f_attack(gaussian(g), g).score,
    "max_eps_for_f_laplace": lambda g: largest(ta.Laplace.with_epsilon, g),
    "max_eps_for_f_eps_delta": lambda g: largest(lambda e: ta.guarantee(e, g["delta"]), g),
    "max_mu_for_f_gaussian": lambda g: largest(lambda mu: ta.guarantee(mu=mu), g),
    "precision_at_recall_laplace": lambda g: risk.precision(
        laplace(g), recall=g["recall"], prior=prior(g)
    ),
    "precision_at_recall_gaussian": gaussian_precision,
    "ppv_bound": lambda g: risk.ppv(promise(g), fpr=g["alpha"], prior=g["p"]),
    "ppv_mechanism": lambda g: risk.ppv(named(g), fpr=g["alpha"], prior=g["p"]),
    "bayes_success": lambda g: risk.success(named(g), prior=g["p"]),
}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"])
def test_record(record):
    found, value = ANSWERS[record["quantity"]](record["inputs"]), record["value"]
    if isinstance(value, str):
        assert found == value
        return
    allowed = record["tolerance"]
    assert math.isfinite(found)
    assert abs(found - value) <= allowed["abs"] + allowed["rel"] * abs(value)


def test_every_answer_is_asked_for():
    assert {record["quantity"] for record in RECORDS} == set(ANSWERS)
