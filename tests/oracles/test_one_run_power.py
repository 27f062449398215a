"""One-run audits held to recorded worst cases, bounds, and medians of what they show."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit.counts import one_run_worst_case as worst_case
from tellapart.audit.counts.one_run_guesses import Guesses, p_value
from tellapart.audit.counts.one_run_worst_case import certificate, curve_test, mu_lower
from tellapart.curve.guarantees import gaussian

RECORDS = json.loads((Path(__file__).parent / "one_run_power.json").read_text(encoding="utf-8"))
EXACT = RECORDS["one_run"]["exact_lp"]
MEDIANS = RECORDS["one_run"]["target_median_eps"]
TODAY = RECORDS["one_run"]["today_median_eps"]
INDEPENDENT = RECORDS["one_run"]["independent_canaries_median_eps"]
DELTA = 1e-5


def sharpest(claim, guesses):
    widest = worst_case._widest(claim, guesses.canaries)
    return certificate(guesses, claim.delta, widest).p_value(claim.delta)


@pytest.mark.parametrize("case", EXACT["cases"], ids=str)
def test_the_worst_case_of_gaussian_dp(case):
    claim, made = gaussian(case["mu0"]), 2 * case["k"]
    chance = sharpest(claim, Guesses(case["m"], made, case["c"]))
    assert chance == pytest.approx(case["sup"], abs=case["tol"])
    # Fewer right guesses refute than the recursion needs, and the critical ones are recorded.
    least = {10_000: 335, 1000: 130 if case["k"] == 76 else case["c"]}.get(case["m"], case["c"])
    assert curve_test(claim, case["m"], made, 0.05).least_refuting == least


@pytest.mark.parametrize("case", EXACT["bounds"], ids=str)
def test_the_exact_bound_on_mu(case):
    guesses = Guesses(case["m"], 2 * case["k"], case["R"])
    assert mu_lower(guesses, 0.05) == pytest.approx(case["mu_exact"], abs=case["tol"])


@pytest.mark.parametrize("case", EXACT["equals_p_value"], ids=str)
def test_of_epsilon_and_delta_the_worst_case_is_the_closed_p_value(case):
    guesses = Guesses(case["m"], case["r"], case["c"])
    claim = ta.guarantee(epsilon=case["eps"], delta=case["delta"])
    chance = sharpest(claim, guesses)
    assert chance == pytest.approx(case["p"], abs=case["tol"])
    assert chance >= p_value(guesses, case["eps"], case["delta"]) * (1 - 1e-9)


@pytest.mark.parametrize("case", EXACT["laplace_eps2"], ids=str)
def test_the_worst_case_of_laplace_noise(case):
    claim = ta.Laplace(scale=0.5).curve()
    chance = sharpest(claim, Guesses(case["m"], 2 * case["k"], case["c"]))
    assert chance == pytest.approx(case["sup"], abs=5e-4)


# -- medians of what is shown ---------------------------------------------------------------------

PAIR = ta.guarantee(epsilon=gaussian(1.0).epsilon(DELTA), delta=DELTA)
LAPLACE_PAIR = ta.guarantee(epsilon=2, delta=DELTA)


def canaries(m, seed, noise):
    rng = np.random.default_rng([seed, m])
    inside = rng.random(m) < 0.5
    drawn = rng.laplace(scale=0.5, size=m) if noise == "laplace" else rng.normal(size=m)
    scores = drawn + inside * (0.5 if noise == "half" else 1.0)
    return audit.Scores(scores[inside], scores[~inside])


def median(m, noise, shown, seeds=200, **asked):
    return np.median([shown(audit.one_run(canaries(m, k, noise), **asked)) for k in range(seeds)])


def by_curve(evidence):
    return evidence.gaussian_epsilon_lower(DELTA).value


def by_pair(evidence):
    return evidence.epsilon_lower(DELTA).value


FULL = pytest.mark.slow


@pytest.mark.parametrize(
    ("m", "noise", "claim", "shown", "record", "least"),
    [
        (100, "gauss", ta.Gaussian(1.0), by_curve, "curve_gauss_mu1", 1.45),
        (1_000, "gauss", ta.Gaussian(1.0), by_curve, "curve_gauss_mu1", 2.5),
        pytest.param(
            10_000, "gauss", ta.Gaussian(1.0), by_curve, "curve_gauss_mu1", 3.0, marks=FULL
        ),
        pytest.param(
            1_000, "half", ta.Gaussian(2.0), by_curve, "curve_gauss_mu_half", 0.95, marks=FULL
        ),
        pytest.param(
            10_000, "half", ta.Gaussian(2.0), by_curve, "curve_gauss_mu_half", 1.3, marks=FULL
        ),
        (1_000, "gauss", PAIR, by_pair, "pair_two_k_gauss_mu1", 1.5),
        (10_000, "gauss", PAIR, by_pair, "pair_two_k_gauss_mu1", 2.3),
        (100, "laplace", LAPLACE_PAIR, by_pair, "pair_laplace2", 1.081),
        (1_000, "laplace", LAPLACE_PAIR, by_pair, "pair_two_k_laplace2", 1.673),
        (10_000, "laplace", LAPLACE_PAIR, by_pair, "pair_two_k_laplace2", 1.851),
    ],
)
def test_medians_of_what_is_shown(m, noise, claim, shown, record, least):
    value = median(m, noise, shown, claim=claim)
    target, tolerance = MEDIANS[record][str(m)]
    assert value >= target - tolerance
    assert value >= least


@pytest.mark.parametrize("m", [100, 1_000])
def test_without_a_claim_no_less_is_shown_than_by_six_numbers(m):
    for noise, shown, record in (
        ("gauss", by_curve, "curve_gauss_mu1"),
        ("gauss", by_pair, "pair_gauss_mu1"),
        ("laplace", by_pair, "pair_laplace2"),
    ):
        assert median(m, noise, shown) >= TODAY[record][str(m)]


def test_independent_canaries_show_more():
    value = median(1_000, "gauss", by_curve, seeds=60, method=audit.IndependentCanaries())
    assert value == pytest.approx(INDEPENDENT["gauss_mu1"]["1000"], abs=0.12)
