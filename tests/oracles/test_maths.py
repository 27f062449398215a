"""Every stored value of the founding formulas, asked of the public API.

`maths.json` holds values computed to 30 digits by a second route (quadrature, bisection,
exhaustive tests): |x − value| ≤ abs + rel·|value| with the tolerance of the record.
"""

import json
import math
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta
from tellapart import worlds
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.intervals import box_epsilon, clopper_pearson, clopper_pearson_epsilon
from tellapart.curve.region import MechanismRegion

RECORDS = json.loads(Path(__file__).with_name("maths.json").read_text(encoding="utf-8"))


def _product(p, times):
    return reduce(lambda law, _: np.outer(law, p).ravel(), range(times - 1), np.asarray(p))


def _canonical_pair(eps, delta):
    """The four outcomes that attain (ε, δ): two reveal all, two are a randomised response."""
    flip = 1 / (1 + math.exp(eps))
    p = np.array([0, (1 - delta) * flip, (1 - delta) * (1 - flip), delta])
    return p, p[::-1]


def _laplace_attack(q_h1, q_h0, sensitivity, eps):
    return ta.Laplace.with_epsilon(eps, sensitivity).test(absent=q_h0, present=q_h1)


def _laplace_rates(inputs):
    attack = _laplace_attack(*(inputs[key] for key in ("q_h1", "q_h0", "sensitivity", "eps")))
    return attack.rates(attack.threshold(inputs["alpha"]))


def _log_ratio_at_threshold(q_h1, q_h0, sensitivity, eps, alpha):
    attack = _laplace_attack(q_h1, q_h0, sensitivity, eps)
    return attack.log_ratio(attack.threshold(alpha))


def _rr_composition(eps, k, alpha):
    flip = 1 / (1 + math.exp(eps))
    return ta.from_pmfs(_product([1 - flip, flip], k), _product([flip, 1 - flip], k)).beta(alpha)


def _composed_guarantee(eps, delta, k, i):
    p, q = _canonical_pair(eps, delta)
    return ta.from_pmfs(_product(p, k), _product(q, k)).delta((k - 2 * i) * eps)


def _gaussian_vector(mus):
    query = ta.Gaussian(sigma=1, sensitivity=math.hypot(*mus))
    return query.test(absent=np.zeros(len(mus)), present=mus).curve()


def _one_sided(eps, record_max, cut):
    """Whether a record of at most record_max is at most the cut."""
    noise = ta.Laplace.with_epsilon(eps, record_max)
    return worlds.OneSided(noise, cut=cut, low=0, high=record_max)


def _counts(fp, n_h0, tp, n_h1):
    return Counts(true_positives=tp, members=n_h1, false_positives=fp, non_members=n_h0)


def _success(curve, p):
    rates = curve.rates(math.log((1 - p) / p))
    return p * rates.tpr + (1 - p) * rates.tnr


MECHANISMS = {
    "eps_delta": lambda eps, delta: ta.guarantee(epsilon=eps, delta=delta),
    "laplace": lambda eps: ta.Laplace.with_epsilon(eps).curve(),
    "gaussian": lambda mu: ta.Gaussian(sigma=1 / mu).curve(),
    "krr": lambda eps, k: ta.RandomizedResponse(eps, categories=k).curve(),
    "geometric": lambda eps, sensitivity: ta.DiscreteLaplace.with_epsilon(eps, sensitivity).curve(),
    "planar_laplace": lambda eps_per_unit, distance: ta.PlanarLaplace(
        eps_per_unit, distance
    ).curve(),
}


def _curve(inputs, *other):
    """The curve a record speaks of, from the inputs that are parameters of its mechanism."""
    rest = {k: v for k, v in inputs.items() if k != "mechanism" and k not in other}
    return MECHANISMS[inputs["mechanism"]](**rest)


DISPATCH = {
    "tradeoff_eps_delta": lambda eps, delta, alpha: ta.guarantee(eps, delta).beta(alpha),
    "tradeoff_eps_delta_fixed_point": lambda eps, delta: ta.PrivacyRegion(eps, delta).vertices()[
        2, 0
    ],
    "tradeoff_envelope": lambda **i: _curve(i, "alpha").beta(i["alpha"]),
    "tradeoff_envelope_of_pairs": lambda pairs, alpha: ta.guarantee(pairs=pairs).beta(alpha),
    "region_contains": lambda eps, delta, alpha, beta: ta.PrivacyRegion(eps, delta).contains(
        fpr=alpha, fnr=beta
    ),
    "region_area": lambda eps, delta: ta.PrivacyRegion(eps, delta).area(),
    "mechanism_region_area": lambda **i: MechanismRegion(_curve(i)).area(),
    "mechanism_region_area_finite": lambda p0, p1: MechanismRegion(ta.from_pmfs(p0, p1)).area(),
    "tradeoff_finite": lambda p0, p1, alpha: ta.from_pmfs(p0, p1).beta(alpha),
    "audit_eps_lower": lambda fpr, tpr, delta: (
        ta.attack(points=[(fpr, tpr)]).symmetrised().epsilon(delta)
    ),
    "clopper_pearson": lambda k, n, confidence, sides: clopper_pearson(k, n, confidence=confidence),
    "audit_eps_lower_cp": lambda delta, confidence, **counts: (
        clopper_pearson_epsilon(_counts(**counts), delta=delta, confidence=confidence).value
    ),
    "audit_box_worst_eps": lambda delta, confidence, **counts: box_epsilon(
        _counts(**counts), delta=delta, confidence=confidence
    ),
    "advantage_bound": lambda eps, delta, alpha: ta.guarantee(eps, delta).tpr(alpha) - alpha,
    "advantage_sup": lambda **i: _curve(i).delta(0),
    "bayes_success": lambda **i: _success(_curve(i, "p"), i["p"]),
    "laplace_threshold": lambda q_h1, q_h0, sensitivity, eps, alpha: _laplace_attack(
        q_h1, q_h0, sensitivity, eps
    ).threshold(fpr=alpha),
    "laplace_lr_at_threshold": lambda **i: math.exp(_log_ratio_at_threshold(**i)),
    "laplace_rsr": lambda **i: _laplace_rates(i).tpr,
    "laplace_gsr": lambda **i: _laplace_rates(i).fpr,
    "tradeoff_laplace": lambda eps, alpha: ta.Laplace.with_epsilon(eps).curve().beta(alpha),
    "delta_laplace": lambda eps_mech, eps: ta.Laplace.with_epsilon(eps_mech).curve().delta(eps),
    "gaussian_sigma_classical": lambda eps, delta, sensitivity: (
        ta.Gaussian.classic(eps, delta, sensitivity).sigma
    ),
    "gaussian_sigma_analytic": lambda eps, delta, sensitivity: (
        ta.Gaussian.analytic(eps, delta, sensitivity).sigma
    ),
    "delta_gaussian": lambda mu, eps: ta.Gaussian(sigma=1 / mu).curve().delta(eps),
    "tradeoff_gaussian": lambda mu, alpha: ta.Gaussian(1, sensitivity=mu).curve().beta(alpha),
    "tradeoff_krr": lambda eps, k, alpha: ta.RandomizedResponse(eps, k).curve().beta(alpha),
    "tradeoff_unary_encoding": lambda p, q, alpha: ta.UnaryEncoding(p, q).curve().beta(alpha),
    "tradeoff_rr_composition": _rr_composition,
    "tradeoff_exponential": lambda utility_h0, utility_h1, sensitivity, eps, alpha: (
        ta.ExponentialMechanism(eps, utility_h0, utility_h1, sensitivity)
        .curve(order=ta.Order.PRESENT)
        .beta(alpha)
    ),
    "tradeoff_exponential_worst": lambda eps, alpha: (
        ta.ExponentialMechanism(eps).curve().beta(alpha)
    ),
    "delta_exponential_worst": lambda eps_mech, eps: (
        ta.ExponentialMechanism(eps_mech).curve().delta(eps)
    ),
    "tradeoff_geometric": lambda eps, sensitivity, alpha: (
        ta.DiscreteLaplace.with_epsilon(eps, sensitivity).curve().beta(alpha)
    ),
    "tradeoff_planar_laplace": lambda eps_per_unit, distance, alpha: (
        ta.PlanarLaplace(eps_per_unit, distance).curve().beta(alpha)
    ),
    "tradeoff_gaussian_composition": lambda mus, alpha: _gaussian_vector(mus).beta(alpha),
    "composition_eps_delta": _composed_guarantee,
    "composite_ump_power": lambda eps, record_max, cut, d, alpha: _one_sided(
        eps, record_max, cut
    ).power(d, alpha),
    "plausible_deniability_holds": lambda likelihoods, seed_index, gamma_pd, k: (
        ta.plausibly_deniable(likelihoods, record=seed_index, ratio=gamma_pd, k=k)
    ),
}


def _agrees(record, answer):
    value, tolerance = record["value"], record["tolerance"]
    if isinstance(value, bool):
        return answer is value
    if value == "inf":
        return answer == math.inf
    missed = np.abs(np.subtract(answer, value))
    return bool(np.all(missed <= tolerance["abs"] + tolerance["rel"] * np.abs(value)))


@pytest.mark.parametrize("record", RECORDS, ids=[record["id"] for record in RECORDS])
def test_the_public_api_gives_the_stored_value(record):
    answer = DISPATCH[record["quantity"]](**record["inputs"])
    assert _agrees(record, answer), (answer, record["value"])


def test_every_record_has_an_entry_and_every_entry_a_record():
    assert {record["quantity"] for record in RECORDS} == set(DISPATCH)
    assert {i["mechanism"] for i in _all_inputs() if "mechanism" in i} == set(MECHANISMS)
    assert len({record["id"] for record in RECORDS}) == len(RECORDS)


def _all_inputs():
    return [record["inputs"] for record in RECORDS]


@pytest.mark.parametrize(
    ("record", "wrong"),
    [
        ({"value": 0.5, "tolerance": {"rel": 1e-10, "abs": 0}}, 0.5 + 1e-10),
        ({"value": 0.0, "tolerance": {"rel": 1e-10, "abs": 1e-13}}, 2e-13),
        ({"value": 0.5, "tolerance": {"rel": 1e-10, "abs": 0}}, math.nan),
        ({"value": "inf", "tolerance": {"rel": 0, "abs": 0}}, 1e308),
        ({"value": [0.1, 0.5], "tolerance": {"rel": 1e-10, "abs": 0}}, (0.1, 0.5 + 1e-10)),
        ({"value": True, "tolerance": {"rel": 0, "abs": 0}}, False),
    ],
)
def test_the_comparison_can_fail(record, wrong):
    assert not _agrees(record, wrong)


ENVELOPES = [record for record in RECORDS if record["quantity"] == "tradeoff_envelope"]


@pytest.mark.parametrize("record", ENVELOPES, ids=[record["id"] for record in ENVELOPES])
def test_promises_of_one_mechanism_approach_its_curve_from_below(record):
    curve, alpha = _curve(record["inputs"], "alpha"), record["inputs"]["alpha"]
    value = record["value"]
    for count in (6, 51, 501, 5001):
        epsilons = np.linspace(0, 5, count)
        promised = ta.guarantee(pairs=list(zip(epsilons, curve.delta(epsilons), strict=True)))
        missed = value - promised.beta(alpha)
        assert -1e-13 <= missed <= epsilons[1] ** 2
    # β(α) + δ(ε) + e^ε·α is least, and then 1, at the slope −e^ε of the curve there.
    steps = np.array([-1e-4, 0.0, 1e-4])
    slope = float(np.log(-np.gradient(curve.beta(alpha + steps), steps)[1]))
    best = ta.guarantee(pairs=[(slope, curve.delta(slope))])
    assert abs(best.beta(alpha) - value) <= 1e-12
