"""Stored values of compositions, asked of the public API.

`composition.json` holds what `maths.json` leaves to compositions; the other numbers here were
found by a second route each, named beside them.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln, ndtr

import tellapart as ta

RECORDS = json.loads(Path(__file__).with_name("composition.json").read_text(encoding="utf-8"))


def _laplaces(eps, k):
    return ta.Laplace.with_epsilon(eps).repeated(k).curve()


def _two(eps_1, eps_2):
    return ta.compose([ta.Laplace.with_epsilon(eps_1), ta.Laplace.with_epsilon(eps_2)]).curve()


def _mixed(eps, mu):
    return ta.Laplace.with_epsilon(eps).then(ta.Gaussian(1, sensitivity=mu)).curve()


COMPOSITIONS = {"laplace+gaussian": _mixed, "laplace_composition": _laplaces}


def _advantage(mechanism, **parameters):
    return COMPOSITIONS[mechanism](**parameters).delta(0)


DISPATCH = {
    "tradeoff_laplace_composition": lambda eps, k, alpha: _laplaces(eps, k).beta(alpha),
    "delta_laplace_composition": lambda eps_mech, k, eps: _laplaces(eps_mech, k).delta(eps),
    "delta_laplace_two": lambda eps_1, eps_2, eps: _two(eps_1, eps_2).delta(eps),
    "tradeoff_laplace_gaussian": lambda eps, mu, alpha: _mixed(eps, mu).beta(alpha),
    "advantage_sup": _advantage,
}


def _agrees(record, answer):
    value, tolerance = record["value"], record["tolerance"]
    return abs(answer - value) <= tolerance["abs"] + tolerance["rel"] * abs(value)


@pytest.mark.parametrize("record", RECORDS, ids=[record["id"] for record in RECORDS])
def test_the_public_api_gives_the_stored_value(record):
    answer = DISPATCH[record["quantity"]](**record["inputs"])
    assert _agrees(record, answer), (answer, record["value"])


def test_every_record_has_an_entry_and_every_entry_a_record():
    assert {record["quantity"] for record in RECORDS} == set(DISPATCH)
    assert {r["inputs"]["mechanism"] for r in RECORDS if "mechanism" in r["inputs"]} == set(
        COMPOSITIONS
    )
    assert len({record["id"] for record in RECORDS}) == len(RECORDS)


def test_the_comparison_can_fail():
    record = {"value": 0.5, "tolerance": {"rel": 1e-10, "abs": 0}}
    assert not _agrees(record, 0.5 + 1e-10)
    assert not _agrees(record, math.nan)


class Plain:
    """Poisson-sampled Gaussian steps by the same integral in the plainest way, in long doubles.

    Moments are sums over a fine mesh of real outputs, the line stands at the saddle point of δ,
    and the mesh on it is halved until nothing changes.
    """

    def __init__(self, sigma, rate, steps):
        self.mu, self.rate, self.steps = 1 / np.longdouble(sigma), np.longdouble(rate), steps
        x = np.arange(-12, 36, 0.08, dtype=np.longdouble)
        self.loss = np.log1p(self.rate * np.expm1(self.mu * x - self.mu**2 / 2))
        weight = np.exp(-x * x / 2)
        self.weight = weight / weight.sum()
        self.drift = np.expm1(self.loss)

    def log_moment(self, z):
        """E e^(z·loss), less the part of mean 0."""
        lines = np.atleast_1d(z)[:, None]
        excess = (np.expm1(lines * self.loss) - lines * self.drift) @ self.weight
        return self.steps * np.log1p(excess)

    def tails(self, t):
        """δ, FPR and TPR at a threshold."""
        c = np.concatenate([1 + np.geomspace(0.005, 1, 20), np.linspace(2.2, 20, 60)])
        c = c[np.argmin((self.log_moment(c) - (c - 1) * t - np.log(c * (c - 1))).astype(float))]
        step, before = 0.1, None
        while True:
            y = np.arange(0, 24, step, dtype=np.longdouble)
            z = c + 1j * y
            wave = np.exp(self.log_moment(z) - z * t) * step / np.pi
            wave[0] /= 2
            integrals = [(wave * f).sum().real for f in (np.exp(t) / (z * (z - 1)), 1 / z)]
            integrals.append((wave * np.exp(t) / (z - 1)).sum().real)
            assert abs(wave[-1]) < 1e-22
            if before is not None and np.allclose(integrals, before, rtol=1e-13, atol=0):
                return [float(x) for x in integrals]
            before, step = integrals, step / 2


# ε at δ = 1e-5, as dp_accounting's PLD approaches them when its mesh is refined (1e-4, 5e-5).
DP_SGD = [
    (1, 0.01, 10**3, 1.82823667),
    (1, 0.01, 10**4, 6.18771239),
    (1, 0.01, 10**5, 25.57310699),
    (0.6, 0.001, 5 * 10**4, 4.38009783),
]


@pytest.mark.parametrize(("sigma", "rate", "steps", "epsilon"), DP_SGD)
def test_epsilon_of_training(sigma, rate, steps, epsilon):
    curve = ta.Gaussian(sigma).sampled(rate).repeated(steps).curve()
    answer = curve.epsilon(1e-5)
    assert abs(answer - epsilon) <= 1e-8
    plain = Plain(sigma, rate, steps)
    delta, fpr, tpr = plain.tails(answer)
    # |dδ/dε| = e^ε·FPR, so that this is 1e-9·max(1, ε) in ε.
    assert abs(delta - 1e-5) <= 1e-9 * max(1, answer) * math.exp(answer) * fpr
    assert delta == pytest.approx(1e-5, rel=1e-9)
    present = curve.present
    assert present.rates(answer).fpr == pytest.approx(fpr, rel=1e-10)
    assert present.rates(answer).tpr == pytest.approx(tpr, rel=1e-10)
    assert present.tpr(fpr) == pytest.approx(tpr, rel=1e-10)


# Where riskcal and gdpnum are wrong on the unsafe side.
@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "fpr", "tpr"),
    [
        (1, 0.01, 1000, 1e-5, 7.21e-5),
        (0.6, 0.001, 50_000, 1e-3, 1.45e-2),
        (0.6, 0.001, 50_000, 1e-2, 0.0741),
    ],
)
def test_power_of_training_at_few_false_alarms(sigma, rate, steps, fpr, tpr):
    curve = ta.Gaussian(sigma).sampled(rate).repeated(steps).curve()
    best = curve.tpr(fpr)
    assert float(f"{best:.2e}") == tpr
    # The supporting line of that slope: 1 − β = δ + e^ε·α, where ε is the slope at α.
    ends = np.log(np.diff(curve.tpr(fpr * np.array([0.999, 1.001])))[0] / (0.002 * fpr))
    delta, at, power = Plain(sigma, rate, steps).tails(float(ends))
    assert at == pytest.approx(fpr, rel=1e-4)
    assert best == pytest.approx(power + math.exp(ends) * (fpr - at), rel=1e-7)
    assert best <= delta + math.exp(ends) * fpr + 1e-12


def _kinds(sigmas, scales):
    return ta.compose([*map(ta.Gaussian, sigmas), *map(ta.Laplace, scales)])


def test_a_thousand_gaussians_and_a_thousand_laplaces_all_different():
    widths = np.linspace(20, 60, 1000)
    curve = _kinds(widths, widths).curve()
    epsilon = curve.epsilon(1e-5)
    assert abs(epsilon - 5.87895856) <= 1e-8
    # Again, with the moments of the Laplace steps written out and a mesh on the line c = 4.
    y = np.arange(0, 12, 0.01)
    z = 4 + 1j * y
    total = (z * (z - 1) / 2 * (1 / widths**2).sum()).astype(complex)
    for m in 1 / widths:
        up, down = np.exp((z - 1) * m), np.exp(-z * m)
        total += np.log((up + down) / 2 + (up - down) / (2 * (2 * z - 1)))
    wave = np.exp(total - (z - 1) * epsilon) / (z * (z - 1))
    delta = 0.01 / np.pi * (wave.real.sum() - wave[0].real / 2)
    assert delta == pytest.approx(1e-5, rel=1e-9)


def test_a_hundred_randomised_responses():
    curve = ta.RandomizedResponse(1).repeated(100).curve()
    epsilon = curve.epsilon(1e-5)
    assert epsilon == pytest.approx(79.841, abs=5e-4)
    # By the binomial law of the number of honest answers.
    k = np.arange(101)
    logs = gammaln(101) - gammaln(k + 1) - gammaln(101 - k) + k - 100 * np.log1p(np.e)
    gain = np.exp(logs) * np.maximum(0.0, -np.expm1(epsilon - (2 * k - 100)))
    assert gain.sum() == pytest.approx(1e-5, rel=1e-9)
    assert curve.delta(100.0) == 0
    assert curve.epsilon(0.0) == 100


@pytest.mark.parametrize("steps", [1, 2, 7, 1000, 10**7])
@pytest.mark.parametrize("sigma", [0.4, 1.0, 20.0])
def test_repeated_gaussian_steps_are_one(sigma, steps):
    curve = ta.Gaussian(sigma).repeated(steps).curve()
    mu = math.sqrt(steps) / sigma
    for eps in (0.0, 0.5, 3.0, 40.0):
        want = ndtr(mu / 2 - eps / mu) - math.exp(eps) * ndtr(-mu / 2 - eps / mu)
        assert curve.delta(eps) == pytest.approx(want, rel=1e-9, abs=1e-13)
