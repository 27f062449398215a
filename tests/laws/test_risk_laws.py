"""What must hold for risks: order, optimality, and calibrations that are safe and tight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import examples
from families import CURVE_FAMILIES, any_mechanism, pmf_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import choose, risk
from tellapart.risk.decisions import best_decision, f_score_attack

few = settings(max_examples=examples(60), deadline=None)
priors = st.one_of(st.floats(1e-6, 0.999), st.sampled_from([0.5, 0.01, 1e-12]))
weights = st.sampled_from([0.5, 1.0, 2.0])
curves = st.one_of(
    st.one_of(
        [CURVE_FAMILIES[name] for name in ("guarantee", "pmfs", "mu", "attack", "worst case")]
    ),
    any_mechanism().map(lambda mechanism: mechanism.curve()),
)

MEASURES: dict[str, Any] = {
    "advantage": lambda curve, p: risk.advantage(curve),
    "advantage at FPR": lambda curve, p: risk.advantage(curve, fpr=0.05),
    "auc": lambda curve, p: risk.auc(curve),
    "ppv": lambda curve, p: risk.ppv(curve, fpr=0.01, prior=p),
    "precision": lambda curve, p: risk.precision(curve, recall=0.4, prior=p),
    "f_score": lambda curve, p: risk.f_score(curve, weight=2, prior=p),
    "accuracy": lambda curve, p: risk.accuracy(curve, prior=p),
    "max_posterior": lambda curve, p: risk.max_posterior(curve, prior=p),
}


# The area of a mixed worst case is a fine sum that may take a minute.
ASKED = [pytest.param(m, marks=[pytest.mark.slow] if m == "auc" else []) for m in MEASURES]


@pytest.mark.parametrize("name", ASKED)
def test_every_risk_follows_the_blackwell_order(name: str) -> None:
    @settings(max_examples=examples(4 if name == "auc" else 15), deadline=None)
    @given(curves, curves, priors)
    def check(a: ta.TradeoffCurve, b: ta.TradeoffCurve, prior: float) -> None:
        try:
            worse = ta.worst_case([a, b])
        except ta.InvalidArgument:  # a promise and an attack have no common side
            return
        more, less = MEASURES[name](worse, prior), MEASURES[name](a, prior)
        assert more >= less - 1e-7  # the area of a mixed worst case is a lower sum

    check()


@settings(max_examples=examples(15), deadline=None)
@given(pmf_pairs(), pmf_pairs())
def test_the_area_of_polygons_follows_the_blackwell_order(one: Any, other: Any) -> None:
    a, b = ta.from_pmfs(*one), ta.from_pmfs(*other)
    assert risk.auc(ta.worst_case([a, b])) >= max(risk.auc(a), risk.auc(b)) - 1e-7


@few
@given(pmf_pairs(), st.lists(st.floats(0, 1), min_size=7, max_size=7), priors, weights)
def test_no_random_test_beats_precision_recall_or_f_score(
    pair: Any, rule: list[float], prior: float, weight: float
) -> None:
    """Theorem 2 and Corollary 1 of the founding paper, and the optimality of the F-score attack."""
    p, q = pair
    phi = np.array(rule[: len(p)])
    fpr, tpr = float(p @ phi), min(1.0, float(q @ phi))
    curve, gamma = ta.from_pmfs(p, q), (1 - prior) / prior
    if tpr > 1e-9:
        reached = tpr / (tpr + gamma * fpr)
        assert risk.precision(curve, recall=tpr, prior=prior) >= reached - 1e-9
    score = (1 + weight**2) * tpr / (tpr + gamma * fpr + weight**2)
    assert risk.f_score(curve, weight=weight, prior=prior) >= score - 1e-12


@few
@given(curves, priors, weights)
def test_the_f_score_attack_attains_its_score(
    curve: ta.TradeoffCurve, prior: float, weight: float
) -> None:
    best = f_score_attack(curve, weight=weight, prior=prior)
    gamma, b2 = (1 - prior) / prior, weight**2
    rates = best.rates
    if best.threshold > -np.inf:
        score = (1 + b2) * rates.tpr / (rates.tpr + gamma * rates.fpr + b2)
        assert score == pytest.approx(best.score, rel=1e-12)
    assert best.score + best.shortfall == pytest.approx(1, abs=1e-12)
    assert best.score >= (1 + b2) / (1 + b2 + gamma) - 1e-15
    # S12: F* ≤ F iff δ(log(γF/(1 + b² − F))) ≤ b²F/(1 + b² − F), with equality at F*.
    if 0 < best.score < 1 - 1e-9:
        rest = 1 + b2 - best.score
        level = float(np.log(gamma * best.score / rest))
        assert curve.delta(level) == pytest.approx(b2 * best.score / rest, rel=1e-6, abs=1e-9)


@few
@given(curves, priors)
def test_bayes_error_is_the_least_over_all_tests(curve: ta.TradeoffCurve, prior: float) -> None:
    fpr = np.concatenate([[0.0], 10.0 ** np.linspace(-12, 0, 400)])
    errors = (1 - prior) * fpr + prior * curve.beta(fpr)
    least = risk.bayes_error(curve, prior=prior)
    assert least <= errors.min() + 1e-13
    assert least <= min(prior, 1 - prior) + 1e-15
    point = best_decision(curve, prior=prior)
    reached = (1 - prior) * point.rates.fpr + prior * point.rates.fnr
    assert reached == pytest.approx(least, rel=1e-12, abs=1e-300)


@few
@given(st.floats(0.01, 20), priors, weights)
def test_closed_forms_of_the_laplace_mechanism(epsilon: float, prior: float, weight: float) -> None:
    curve = ta.Laplace.with_epsilon(epsilon).curve()
    gamma, b2 = (1 - prior) / prior, weight**2
    s = np.exp(np.logaddexp(0, epsilon + np.log(4 * b2) - np.log(gamma)) / 2)
    score = 1 - 2 * b2 / ((1 + b2) * s - 1 + b2)
    if epsilon <= np.log1p(b2 / gamma):
        score = (1 + b2) / (1 + b2 + gamma)
    assert risk.f_score(curve, weight=weight, prior=prior) == pytest.approx(score, rel=1e-11)
    cap = 1 / (1 + gamma * np.exp(-epsilon))
    assert risk.max_posterior(curve, prior=prior) == pytest.approx(cap, rel=1e-12)
    for recall in (0.0, 1e-9, 0.3, 0.5):  # flat up to recall 1/2
        assert risk.precision(curve, recall=recall, prior=prior) == pytest.approx(cap, rel=1e-10)
    assert risk.precision(curve, recall=1.0, prior=prior) == pytest.approx(prior, rel=1e-12)


FAMILIES = {
    "Laplace": ta.Laplace.with_epsilon,
    "promise": lambda e: ta.guarantee(e, 1e-6),
    "GDP": lambda mu: ta.guarantee(mu=mu),
    "staircase": ta.Staircase,
    "response": ta.RandomizedResponse,
}
LIMITS = {
    "advantage": lambda share: (share, risk.advantage, {}),
    "tpr": lambda share: (0.01 + 0.9 * share, risk.tpr, {"fpr": 0.01}),
    "ppv": lambda share: (0.01 + 0.8 * share, risk.ppv, {"fpr": 0.05, "prior": 0.01}),
    "f_score": lambda share: (0.68 + 0.3 * share, risk.f_score, {"weight": 1}),
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("family", FAMILIES)
def test_choices_are_safe_and_tight(family: str, limit: str) -> None:
    @settings(max_examples=examples(8), deadline=None)
    @given(st.floats(0.02, 0.9))
    def check(share: float) -> None:
        bound, measure, arguments = LIMITS[limit](share)
        choice = choose.largest(FAMILIES[family], [choose.at_most(bound, measure, **arguments)])
        assert measure(choice.curve, **arguments) <= bound
        if choice.binding is not None:
            made = FAMILIES[family](choice.parameter * (1 + 1e-7))
            curve = made.curve() if isinstance(made, ta.Mechanism) else made
            assert measure(curve, **arguments) > bound
        assert choice.rounded(3) <= choice.parameter

    check()


@settings(max_examples=examples(15), deadline=None)
@given(st.floats(0.01, 0.95))
def test_least_noise_is_safe_and_tight(advantage: float) -> None:
    limits = [
        choose.at_most(advantage, risk.advantage),
        choose.at_least(0.01, risk.bayes_error, prior=0.5),
    ]
    choice = choose.least(ta.Gaussian, limits)
    assert risk.advantage(choice.curve) <= advantage
    assert choice.rounded(3) >= choice.parameter
    closer = ta.Gaussian(choice.parameter * (1 - 1e-7)).curve()
    assert any(limit.excess(closer) > 0 for limit in limits)


def test_what_perfect_privacy_cannot_keep_is_infeasible() -> None:
    with pytest.raises(choose.Infeasible, match=r"even perfect privacy \(ε = 0\) has F-score"):
        choose.largest(ta.Laplace.with_epsilon, [choose.at_most(0.6, risk.f_score, weight=1)])


def test_a_family_that_runs_the_other_way_is_refused() -> None:
    with pytest.raises((choose.Infeasible, ta.NotCertified)):
        choose.least(ta.Laplace.with_epsilon, [choose.at_most(0.1, risk.advantage)])
