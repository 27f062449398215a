"""Risks and calibrations against values computed independently."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta
from tellapart import choose, risk
from tellapart.risk.decisions import f_score_attack
from tellapart.risk.inference import gaussian_mu
from tellapart.worlds import Adversary
from tellapart.worlds.pairs.one_sided import OneSided

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
    return f_score_attack(curve, weight=given["weight"], prior=prior(given))


def laplace_threshold(given):
    """(θ* − Q(D′))/Δ: the output at which the likelihood ratio is the threshold of the attack."""
    loss = f_attack(laplace(given), given).threshold
    return (loss + given["eps"]) / 2 / given["eps"]


def largest(family, given):
    limit = choose.at_most(
        given["f_bound"], risk.f_score, weight=given["weight"], prior=prior(given)
    )
    try:
        choice = choose.largest(family, [limit])
    except choose.Infeasible:
        return "infeasible"
    return "inf" if choice.binding is None else choice.parameter


def gaussian_precision(given):
    noise = ta.Gaussian.classic(given["eps"], given["delta"])
    return risk.precision(noise.curve(), recall=given["recall"], prior=prior(given))


def coefficients(given):
    try:
        return Adversary.with_coefficients(**given).gamma
    except ta.InvalidArgument:
        return "inadmissible"


def parameter_from_pr(given):
    fpr, tpr = risk.rates_from_precision(
        precision=given["precision"], recall=given["recall"], prior=prior(given)
    )
    models = {
        "laplace": risk.laplace_epsilon,
        "gaussian": gaussian_mu,
        "pure_dp": risk.least_epsilon,
    }
    return models[given["model"]](fpr=fpr, tpr=tpr)


def realistic(given):
    """The largest over the points that some attacker reached."""
    right, recall = zip(*given["points_precision_recall"], strict=True)
    fpr, tpr = risk.rates_from_precision(precision=right, recall=recall, prior=prior(given))
    return float(risk.laplace_epsilon(fpr=fpr, tpr=tpr).max())


def with_a_wrong_prior(given):
    """The attack planned for one prior, scored under another: a point of the same curve."""
    curve = ta.Laplace.with_epsilon(given["eps"]).curve()
    assumed = Adversary.with_odds(given["gamma_assumed"])
    plan = f_score_attack(curve, weight=given["weight"], prior=assumed.prior)
    rates, b2 = plan.rates, given["weight"] ** 2
    return (1 + b2) * rates.tpr / (rates.tpr + given["gamma_true"] * rates.fpr + b2)


def uniform_tpr(given):
    noise = ta.Laplace.with_epsilon(given["eps"], given["record_max"])
    question = OneSided(noise, cut=given["cut"], low=0, high=given["record_max"])
    return question.curve().tpr(given["alpha"])


ANSWERS = {
    "audit_eps_lower": lambda g: risk.least_epsilon(**g),
    "gamma_from_rho": coefficients,
    "prior_odds_from_p": lambda g: [Adversary(g["p"]).gamma, Adversary(g["p"]).rho_p],
    "infer_eps_laplace_roc": lambda g: risk.laplace_epsilon(**g),
    "infer_parameter_from_pr": parameter_from_pr,
    "realistic_adversary_eps_lower_laplace": realistic,
    "f_with_assumed_prior_laplace": with_a_wrong_prior,
    "composite_uniform_tpr": uniform_tpr,
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
    "bayes_success": lambda g: risk.accuracy(named(g), prior=g["p"]),
}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"])
def test_record(record):
    answer, value = ANSWERS[record["quantity"]](record["inputs"]), record["value"]
    if isinstance(value, str):
        assert str(answer) == value
        return
    allowed = record["tolerance"]
    for number, wanted in zip(np.atleast_1d(answer), np.atleast_1d(value), strict=True):
        assert math.isfinite(number)
        assert abs(number - wanted) <= allowed["abs"] + allowed["rel"] * abs(wanted)


def test_every_answer_is_asked_for():
    assert {record["quantity"] for record in RECORDS} == set(ANSWERS)
