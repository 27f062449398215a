"""The best of K runs: no order of the outcomes of a small mechanism beats the bound."""

from decimal import Decimal, localcontext
from itertools import permutations

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve.composition.best_of import FixedNumber, Trials, best_of_curve
from tellapart.mechanisms.repeat_and_select import two_block_attack

LAWS = [
    ta.geometric(mean=10),
    ta.geometric(mean=2),
    ta.negative_binomial(shape=0, mean=5),
    ta.negative_binomial(shape=-0.5, mean=3),
    ta.negative_binomial(shape=4, mean=8),
    ta.poisson(mean=6),
    FixedNumber(7),
    FixedNumber(2),
    FixedNumber(1),
]
EPSILONS = np.linspace(0, 6, 61)


def some_run_within(trials: Trials, mass):
    """G(a): the probability that at least one run falls in a set of mass a, by summing over K."""
    count = np.arange(1.0, 3_000)
    chances = np.exp(trials.log_chances(count))
    return np.sum(
        chances * -np.expm1(count * np.log1p(-np.minimum(mass, 1 - 1e-16)[..., None])), -1
    )


def published(trials, masses, order):
    """How likely each outcome is to be the best, by an order from best to worst."""
    above = np.concatenate([[0.0], np.cumsum(masses[list(order)])])
    best = np.diff(some_run_within(trials, above))
    chances = np.empty(len(order))
    chances[list(order)] = best
    return chances


def tied(trials, masses, order):
    """The same where the two best outcomes tie, and one of the best runs is drawn."""
    chances = published(trials, masses, order)
    best = list(order[:2])
    chances[best] = chances[best].sum() * masses[best] / masses[best].sum()
    return chances


def hockey_stick(p, q):
    return np.maximum(p - np.exp(EPSILONS)[:, None] * q, 0).sum(axis=1)


def pairs(seed):
    """A random pair of laws, sometimes with an outcome that only one world has."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    p, q = rng.dirichlet(np.full(size, 0.7)), rng.dirichlet(np.full(size, 0.7))
    p, q = 0.8 * p + 0.2 * q, 0.2 * p + 0.8 * q
    if seed % 4 == 0:
        p[0], q[-1] = 0, 0
    return p / p.sum(), q / q.sum()


@pytest.mark.parametrize("seed", range(18))
def test_no_order_of_outcomes_beats_the_bound(seed):
    p, q = pairs(seed)
    trials = LAWS[seed % len(LAWS)]
    base = ta.from_pmfs(p, q)
    curve = best_of_curve(base, trials)
    worst = {"present": np.zeros(EPSILONS.size), "absent": np.zeros(EPSILONS.size)}
    for order in permutations(range(p.size)):
        for rule in (published, tied):
            absent, present = (rule(trials, masses, order) for masses in (p, q))
            worst["present"] = np.maximum(worst["present"], hockey_stick(present, absent))
            worst["absent"] = np.maximum(worst["absent"], hockey_stick(absent, present))
    assert np.all(curve.delta(EPSILONS) >= worst["present"] - 1e-13)
    assert np.all(curve.mirrored().delta(EPSILONS) >= worst["absent"] - 1e-13)
    # What the attack says is reached, some order reaches.
    attack = two_block_attack(base, trials)
    assert np.all(attack.delta(EPSILONS) <= worst["present"] + 1e-9)
    assert np.all(attack.mirrored().delta(EPSILONS) <= worst["absent"] + 1e-9)


@pytest.mark.parametrize("trials", LAWS, ids=repr)
def test_the_number_of_runs_is_a_law_with_its_mean_and_density(trials):
    count = np.arange(1.0, 5_000)
    chances = np.exp(trials.log_chances(count))
    assert chances.sum() + trials.none == pytest.approx(1, abs=1e-12)
    assert chances @ count == pytest.approx(trials.mean, rel=1e-9)
    a = np.array([0.0, 1e-6, 0.1, 0.5, 0.99])
    direct = np.sum(chances * count * (1 - a[:, None]) ** (count - 1), axis=1)
    np.testing.assert_allclose(np.exp(trials.log_density(a, 1 - a)), direct, rtol=1e-9)
    mass = (1 - a) / 3
    within = some_run_within(trials, a + mass) - some_run_within(trials, a)
    np.testing.assert_allclose(trials.best_within(a, mass), within, rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize(
    ("shape", "mean"),
    [(1e6, 10), (1e6, 1.001), (1e6, 1 + 1e-10), (1e5, 30), (1e4, 5), (3, 8), (-0.9, 10)],
)
def test_no_number_of_runs_is_less_likely_than_by_fifty_digits(shape, mean):
    """Large shapes leave few digits of a chance, and a γ close to 1 few of 1 − γ."""
    trials = ta.negative_binomial(shape=shape, mean=mean)
    listed, chances, unlisted = trials.counts(every=True)
    with localcontext() as context:
        context.prec = 50
        eta, gamma = Decimal(shape), (-Decimal(trials.depth)).exp()
        exact_mean = eta * (1 / gamma - 1) / (1 - gamma**eta)
        assert abs(exact_mean / Decimal(mean) - 1) < Decimal("2e-14")
        chance, left = eta * (1 - gamma) / (gamma**-eta - 1), Decimal(1)
        for count, given in zip(listed[:200], chances, strict=False):
            assert Decimal(given) >= chance
            left -= chance
            chance *= (1 - gamma) * (count + eta) / (count + 1)
    if len(listed) <= 200:
        assert Decimal(unlisted) >= left


@pytest.mark.parametrize("trials", LAWS, ids=repr)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomised_response_reaches_the_pure_epsilon_of_the_best(trials, epsilon):
    p = np.array([1.0, np.exp(epsilon)]) / (1 + np.exp(epsilon))
    absent, present = (published(trials, masses, (1, 0)) for masses in (p[::-1], p))
    largest = np.abs(np.log(present) - np.log(absent)).max()
    fine = np.concatenate([1 / (1 + np.exp(np.linspace(-30, 30, 4_001)))])
    power = np.minimum(np.exp(epsilon) * fine, 1 - np.exp(-epsilon) * (1 - fine))
    rise = trials.log_density(fine, 1 - fine) - trials.log_density(power, 1 - power)
    pure = trials.pure_epsilon(epsilon)
    assert largest <= pure + 1e-9
    assert epsilon + np.nanmax(rise[power < 1 - 1e-9]) <= pure + 1e-6
    # All of the answer that the other world likes first, then a small part of this one's.
    likely, part = p[1], 1e-5
    above = np.array([1 - likely, 1 - likely + part * likely])
    beneath = np.array([likely, likely + part * (1 - likely)])
    here, there = (np.diff(some_run_within(trials, run)) for run in (above, beneath))
    assert np.log(here / there).item() == pytest.approx(pure, rel=1e-3)
    assert ta.RandomizedResponse(epsilon).best_of(trials).epsilon(0.0) == pytest.approx(pure)


@pytest.mark.parametrize("trials", LAWS, ids=repr)
def test_a_weaker_base_has_a_weaker_best(trials):
    weak = best_of_curve(ta.Laplace.with_epsilon(0.5).curve(), trials)
    strong = best_of_curve(ta.guarantee(epsilon=0.5), trials)
    assert np.all(weak.delta(EPSILONS) <= strong.delta(EPSILONS) * (1 + 1e-9) + 1e-12)


def test_one_run_is_the_run():
    base = ta.Gaussian(sigma=2)
    one = base.best_of(1).curve()
    for delta in (1e-3, 1e-6, 1e-12):
        exact = base.curve().epsilon(delta)
        assert exact <= one.epsilon(delta) <= exact * 1.001


@pytest.mark.parametrize("trials", [ta.geometric(mean=10), ta.poisson(mean=10), 10], ids=repr)
def test_no_more_is_lost_than_by_publishing_all_runs(trials):
    base = ta.Gaussian(sigma=4)
    best = base.best_of(trials).curve()
    law = trials if isinstance(trials, Trials) else FixedNumber(trials)
    count = np.arange(1.0, 400)
    chances = np.exp(law.log_chances(count))
    every = [base.repeated(int(k)).curve().delta(0.0) for k in count]
    assert best.delta(0.0) <= chances @ every + 1e-8
