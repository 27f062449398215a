"""Bets on the steps of a training: their expectation, exactly; nested in μ; as strong as stated."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from tellapart.audit.trainings.step_bets import StepBets, gdp_delta
from tellapart.curve.guarantees import gaussian

ORACLE = json.loads(
    (Path(__file__).parents[3] / "oracles" / "white_box.json").read_text(encoding="utf-8")
)
GROUPS = np.repeat(np.arange(5), [10, 10, 10, 10, 5])


def bets(readings, coins, previous=None, groups=None):
    readings = np.asarray(readings, dtype=float)
    groups = np.zeros(readings.shape, dtype=int) if groups is None else groups
    previous = np.zeros(readings.shape) if previous is None else previous
    labels = tuple(np.unique(groups).tolist())
    return StepBets(readings, previous, np.asarray(coins, dtype=bool), groups, 1.0, labels)


def simulated(steps, noise, seed, canaries=45):
    """Readings of a training with this noise, in clipping norms."""
    rng = np.random.default_rng((seed, 5))
    coins = rng.random((steps, canaries)) < 0.5
    readings, previous = coins + rng.normal(0, noise, (2, steps, canaries))
    return bets(readings, coins, previous - coins, np.tile(GROUPS[:canaries], (steps, 1)))


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("price", [1.0, 2.0, 6.0])
def test_delta_is_that_of_gaussian_dp(mu, price):
    assert gdp_delta(mu, price) == pytest.approx(gaussian(mu).delta(np.log(price)), abs=1e-12)
    assert gdp_delta(0.0, price) == 0


@pytest.mark.parametrize("together", [True, False], ids=["all right together", "independent"])
def test_no_bet_gains_on_average_at_the_boundary(together):
    """Every outcome of two steps on two canaries, where guesses are right as often as μ allows.

    Randomised response with the total variation of μ-GDP is μ-GDP, whether the canaries are right
    together or independently: the expected wealth is at most 1, and no less than the stakes allow.
    """
    mu, canaries, steps = 1.0, 2, 2
    right = ndtr(mu / 2)
    expected = 0.0
    signs = product([True, False], repeat=1 if together else canaries)
    outcomes = [
        (coins, sign * (canaries if together else 1))
        for sign in signs
        for coins in product([True, False], repeat=canaries)
    ]
    for run in product(outcomes, repeat=steps):
        chance = 1.0
        for _, sign in run:
            for truth in sign[: 1 if together else canaries]:
                chance *= right if truth else 1 - right
            chance *= 0.5**canaries
        coins = np.array([c for c, _ in run])
        truth = np.array([s for _, s in run])
        readings = np.where(coins == truth, 9.0, -8.0)  # beyond every threshold
        expected += chance * np.exp(bets(readings, coins).log_path(mu)[-1])
    assert expected <= 1
    assert expected > 0.8


def test_more_leakage_is_harder_to_refute():
    """The refuted sets are nested: wealth falls with μ, so that bound and verdict agree."""
    one = simulated(60, 0.5, seed=1)
    wealth = [one.log_wealth(mu) for mu in np.linspace(0.1, 3, 30)]
    assert np.all(np.diff(wealth) <= 0)
    bound = one.mu_lower(0.05)
    assert one.log_wealth(bound) >= np.log(20) > one.log_wealth(bound + 1e-5)


@pytest.mark.parametrize(("steps", "least"), [(200, 0.8), (600, 0.9)])
def test_most_of_the_truth_is_shown(steps, least):
    shown = [simulated(steps, 1.0, seed).mu_lower(0.049) for seed in range(5)]
    assert np.median(shown) >= least
    assert np.median(shown) >= ORACLE["mu_lower_truth1"][str(steps)] - ORACLE["mu_lower_tol"]
    assert max(shown) < 1


def test_noise_that_comes_back_is_found():
    """A generator seeded anew: each release by itself looks private."""
    rng = np.random.default_rng(3)
    coins = rng.random((60, 45)) < 0.5
    noise = rng.normal(size=45)
    found = bets(coins + noise, coins, np.vstack([np.zeros(45), np.tile(noise, (59, 1))]))
    assert found.mu_lower(0.049) > 2


def test_later_steps_do_not_change_earlier_wealth():
    """Events follow the past alone."""
    whole = simulated(40, 0.7, seed=2)
    part = replace(
        whole,
        readings=whole.readings[:25],
        previous=whole.previous[:25],
        coins=whole.coins[:25],
        groups=whole.groups[:25],
    )
    assert whole.log_path(1.0)[:25] == pytest.approx(part.log_path(1.0), abs=1e-9)


def test_the_coins_of_a_step_do_not_change_its_events():
    """With the last step's coins turned round, right and wrong guesses change places."""
    whole = simulated(10, 1.0, seed=4)
    turned = whole.coins.copy()
    turned[-1] = ~turned[-1]
    other = replace(whole, coins=turned)
    for one, two in zip(whole._bets, other._bets, strict=True):
        if one.price == 1.0:
            assert one.gains[-1] == pytest.approx(-two.gains[-1])


def test_numbers_that_are_none_are_no_guess_worth_anything():
    coins = np.array([[True, False]] * 5)
    assert bets(np.full((5, 2), np.nan), coins).log_wealth(1.0) <= 0
