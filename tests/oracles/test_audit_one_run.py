"""Bounds from one training run against values computed independently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from steinke import steinke_epsilon_lower, steinke_p_value

import tellapart as ta
from tellapart.audit.counts.one_run_guesses import (
    Guesses,
    epsilon_lower,
    mu_lower,
    p_value,
    refutes_curve,
)

RECORDS = json.loads((Path(__file__).parent / "auditing.json").read_text(encoding="utf-8"))
PUBLISHED = RECORDS["one_run_eps_lo (Steinke-Nasr-Jagielski)"]["cases"]
CURVES = RECORDS["one_run_fdp_eps_lo (Mahloujifar-Melis-Chaudhuri, Gaussian family)"]["cases"]
IDEAL = RECORDS["one_run_on_ideal_gaussian"]["cases"]


def counted(case, made="r", right="v"):
    return Guesses(case["m"], case[made], case[right])


@pytest.mark.parametrize("case", PUBLISHED, ids=str)
def test_the_published_bound(case):
    guesses, delta = counted(case), case["delta"]
    bound = steinke_epsilon_lower(guesses, delta, case["alpha"])
    assert bound == pytest.approx(case["eps_lo"], abs=6e-7)
    # The record keeps six digits or six decimals.
    p = steinke_p_value(guesses, 1, delta)
    assert p == pytest.approx(case["p_value_at_eps1"], rel=1e-5, abs=6e-7)


@pytest.mark.parametrize("case", PUBLISHED + CURVES, ids=str)
def test_the_sharpest_bound_shows_no_less(case):
    guesses, delta, level = counted(case), case["delta"], case["alpha"]
    published = case.get("steinke_same_counts", case["eps_lo"])
    assert epsilon_lower(guesses, delta, level) >= published - 6e-7
    p = p_value(guesses, published, delta)
    assert p <= steinke_p_value(guesses, published, delta) == pytest.approx(level, rel=1e-4)


@pytest.mark.parametrize("case", CURVES, ids=str)
def test_the_gaussian_family(case):
    guesses, level = counted(case), case["alpha"]
    mu = mu_lower(guesses, level)
    assert mu == pytest.approx(case["mu_lo"], abs=6e-7)
    epsilon = ta.guarantee(mu=mu).epsilon(case["delta"])
    assert epsilon == pytest.approx(case["eps_lo"], abs=2e-6)
    assert refutes_curve(guesses, ta.guarantee(mu=mu * (1 - 1e-5)), level)
    assert not refutes_curve(guesses, ta.guarantee(mu=mu * (1 + 1e-5)), level)


@pytest.mark.parametrize("case", IDEAL, ids=str)
def test_ideal_gaussian_canaries(case):
    published = steinke_epsilon_lower(counted(case, "steinke_r", "steinke_v"), 1e-5, 0.05)
    assert published == pytest.approx(case["steinke_eps_lo"], abs=6e-7)
    sharp = epsilon_lower(counted(case, "steinke_r", "steinke_v"), 1e-5, 0.05)
    assert published <= sharp < case["eps_true"]
    mu = mu_lower(counted(case, "fdp_r", "fdp_v"), 0.05)
    assert ta.guarantee(mu=mu).epsilon(1e-5) == pytest.approx(case["fdp_eps_lo"], abs=2e-6)
