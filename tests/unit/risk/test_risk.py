"""Risks: shapes, edges and refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tellapart as ta
from tellapart import risk
from tellapart.risk.decisions import best_decision
from tellapart.risk.inference import gaussian_mu

CURVE = ta.Laplace.with_epsilon(1).curve()
LEAKY = ta.guarantee(1, 0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk.ppv(CURVE, fpr=2, prior=0.5), "fpr must lie in [0, 1], got 2.0"),
        (lambda: risk.ppv(CURVE, fpr=0.1, prior=-1), "prior must lie in [0, 1], got -1.0"),
        (
            lambda: risk.ppv(CURVE, fpr=[0.1, 0.2], prior=[0.1, 0.2, 0.3]),
            "prior must fit the shape of fpr (2,), got (3,)",
        ),
        (
            lambda: risk.precision(CURVE, recall="a"),
            "recall must be a number or an array of numbers, got 'a'",
        ),
        (
            lambda: risk.f_score(CURVE, weight=0),
            "weight must be finite and greater than 0, got 0",
        ),
        (
            lambda: risk.posterior(CURVE, loss=2, prior=0.5),
            "loss must be a loss this curve can produce, from -1 to 1, got 2.0",
        ),
        (
            lambda: risk.posterior(CURVE, loss=[0.1, 0.2], prior=[0.1, 0.2, 0.3]),
            "prior must fit the shape of loss (2,), got (3,)",
        ),
        (lambda: risk.summary(CURVE, weight="x"), "weight must be a number, got 'x'"),
        (lambda: risk.summary(CURVE, weight=None), "weight must be a number, got None"),
        (
            lambda: risk.summary(CURVE, weight=1e200),
            "weight must lie between 1e-150 and 1e150, got 1e200",
        ),
        (
            lambda: risk.rates_from_precision(precision=0.4999, recall=1, prior=0.5),
            "precision must be possible with this recall and prior (FPR would be 1), got 0.4999",
        ),
        (
            lambda: best_decision(CURVE, miss_cost=0),
            "miss_cost must be finite and greater than 0, got 0",
        ),
    ],
)
def test_bad_input_is_refused_word_for_word(call, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}$"):
        call()


def test_scalars_in_floats_out_and_arrays_keep_their_shape():
    assert type(risk.ppv(CURVE, fpr=0.1, prior=0.5)) is float
    grid = risk.ppv(CURVE, fpr=np.full((2, 1), 0.1), prior=np.full(3, 0.5))
    assert grid.shape == (2, 3)
    assert risk.f_score(CURVE, prior=[0.1, 0.5]).shape == (2,)
    assert risk.bayes_error(CURVE, prior=np.full((2, 2), 0.3)).shape == (2, 2)


def test_a_prior_of_0_or_1_is_beyond_doubt():
    for measure, arguments in ((risk.ppv, {"fpr": 0.1}), (risk.precision, {"recall": 0.5})):
        assert measure(CURVE, prior=0.0, **arguments) == 0
        assert measure(CURVE, prior=1.0, **arguments) == 1
    assert risk.bayes_error(CURVE, prior=[0.0, 1.0]).tolist() == [0, 0]
    assert risk.f_score(CURVE, prior=[0.0, 1.0]).tolist() == [0, 1]
    assert risk.accuracy(CURVE, prior=1.0) == 1


def test_ppv_at_fpr_0_is_the_limit():
    assert risk.ppv(CURVE, fpr=0.0, prior=0.5) == pytest.approx(1 / (1 + np.exp(-1)))
    assert risk.ppv(LEAKY, fpr=0.0, prior=1e-6) == 1
    assert risk.max_posterior(LEAKY, prior=1e-6) == 1
    assert risk.precision(LEAKY, recall=0.05, prior=1e-6) == 1


def test_perfect_privacy_leaves_the_prior():
    perfect = ta.guarantee(epsilon=0)
    assert risk.advantage(perfect) == 0
    assert risk.auc(perfect) == pytest.approx(0.5)
    assert risk.ppv(perfect, fpr=0.3, prior=0.2) == pytest.approx(0.2)
    assert risk.accuracy(perfect, prior=0.2) == pytest.approx(0.8)
    assert risk.f_score(perfect, weight=1, prior=0.5) == pytest.approx(2 / 3)


def test_decisions_are_points_of_the_curve():
    likelihood = best_decision(CURVE)
    assert likelihood.threshold == 0
    assert likelihood.rates.tpr - likelihood.rates.fpr == pytest.approx(risk.advantage(CURVE))
    eager = best_decision(CURVE, miss_cost=2)
    assert eager.threshold == pytest.approx(-np.log(2))
    assert eager.rates.tpr > likelihood.rates.tpr


def test_posterior_moves_with_the_output():
    told = risk.posterior(CURVE, loss=[-1, 0, 1], prior=0.2)
    assert told[0] < told[1] < told[2]
    assert told[1] == pytest.approx(0.2)
    assert told[2] == pytest.approx(risk.max_posterior(CURVE, prior=0.2))


def test_a_summary_asks_each_measure_with_its_own_arguments():
    lopsided = ta.from_pmfs([0.5, 0.3, 0.19, 0.01], [0.1, 0.2, 0.6, 0.1])
    known = {
        "prior": 0.03,
        "fpr": 0.07,
        "recall": 0.8,
        "weight": 0.4,
        "delta": 0.15,
        "at_least": 0.25,
    }
    p = known["prior"]
    wanted = {
        "advantage": risk.advantage(lopsided),
        "tpr": risk.tpr(lopsided, 0.07),
        "ppv": risk.ppv(lopsided, fpr=0.07, prior=p),
        "precision": risk.precision(lopsided, recall=0.8, prior=p),
        "max_posterior": risk.max_posterior(lopsided, prior=p),
        "f_score": risk.f_score(lopsided, weight=0.4, prior=p),
        "accuracy": risk.accuracy(lopsided, prior=p),
        "bayes_error": risk.bayes_error(lopsided, prior=p),
        "auc": risk.auc(lopsided),
        "epsilon": lopsided.epsilon(0.15),
        "gdp": lopsided.gdp(0.25).mu,
    }
    assert {one.key: one.value for one in risk.summary(lopsided, **known)} == wanted
    assert wanted["auc"] > 0.5
    # No argument is left out: each, changed alone, changes what depends on it and nothing else.
    usual = {one.key: one.value for one in risk.summary(lopsided)}
    depends = {
        "prior": {"ppv", "precision", "max_posterior", "f_score", "accuracy", "bayes_error"},
        "fpr": {"tpr", "ppv"},
        "recall": {"precision"},
        "weight": {"f_score"},
        "delta": {"epsilon"},
        "at_least": {"gdp"},
    }
    for name, keys in depends.items():
        told = risk.summary(lopsided, **{name: known[name]})
        assert {one.key for one in told if one.value != usual[one.key]} == keys


@given(st.floats(1e-300, 1, exclude_max=True))
@example(0.014)
@example(1 - 2.0**-53)
def test_a_precision_equal_to_the_prior_flags_everyone(prior):
    fpr, tpr = risk.rates_from_precision(precision=prior, recall=1, prior=prior)
    assert fpr == pytest.approx(1, abs=1e-14)
    assert fpr <= 1 == tpr


@given(st.floats(1e-9, 1, exclude_max=True), st.floats(0, 20))
def test_the_precision_of_full_recall_leads_back(prior, epsilon):
    curve = ta.Laplace.with_epsilon(epsilon).curve()
    right = risk.precision(curve, recall=1, prior=prior)
    fpr, _ = risk.rates_from_precision(precision=right, recall=1, prior=prior)
    assert fpr == pytest.approx(1, abs=1e-9 + 4e-16 / (1 - prior))


def test_rates_at_the_corners_have_a_mu_without_a_warning():
    assert gaussian_mu(fpr=0, tpr=0) == 0
    assert gaussian_mu(fpr=[0, 1, 0, 1], tpr=[0, 1, 1, 0]).tolist() == [0, 0, np.inf, np.inf]


@given(st.floats(1e-9, 1, exclude_max=True), st.floats(1e-6, 1, exclude_max=True))
@example(0.01, 0.01)
@example(0.5, 0.5)
def test_a_baseline_is_what_an_attacker_has_without_the_output(prior, rate):
    blind = {
        "advantage": 0,
        "tpr": rate,
        "ppv": prior,
        "precision": prior,
        "max_posterior": prior,
        "f_score": 1.25 / (1.25 + (1 - prior) / prior),
        "accuracy": max(prior, 1 - prior),
        "bayes_error": min(prior, 1 - prior),
        "auc": 0.5,
        "epsilon": 0,
        "gdp": 0,
    }
    about = {"prior": prior, "fpr": rate, "recall": rate, "weight": 0.5}
    for curve in (ta.guarantee(epsilon=1), ta.Gaussian(sigma=2).curve()):
        readings = risk.summary(curve, **about)
        assert {each.key: each.baseline for each in readings} == pytest.approx(blind, rel=1e-12)
    # Perfect privacy leaves an attacker there.
    for reading in risk.summary(ta.guarantee(epsilon=0), **about):
        assert reading.value == pytest.approx(blind[reading.key], rel=1e-12)
        assert reading.gain == 0
        assert reading.columns[2] == "0"


@pytest.mark.parametrize("curve", [ta.guarantee(1), ta.attack(points=[(0.1, 0.3)])])
def test_a_gain_is_rounded_conservatively(curve):
    stronger = curve.bound is ta.Bound.LOWER
    for reading in risk.summary(curve, prior=0.3):
        gain = abs(reading.value - reading.baseline)
        shown = float(reading.columns[2])
        assert shown >= gain - 1e-12 if stronger else shown <= gain + 1e-12
        assert shown == pytest.approx(gain, abs=1.1e-4)


def test_a_high_accuracy_at_a_rare_membership_is_seen_to_be_no_gain():
    readings = {one.key: one for one in risk.summary(ta.Gaussian(2).curve(), prior=0.01)}
    accuracy = readings["accuracy"]
    assert str(accuracy) == "accuracy = 0.9900 (baseline 0.9900)"
    assert accuracy.columns == ("0.9900", "= 0.9900", "0")
    assert accuracy.meaning == (
        'accuracy of the best attack; always guessing "non-member" gives 0.9900'
    )
