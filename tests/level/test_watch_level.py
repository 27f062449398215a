"""Watched trainings that keep their claim are refuted no more often than they may be."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

import tellapart as ta
from tellapart import audit
from tellapart.audit.trainings.conformance import corrected
from tellapart.audit.trainings.step_bets import StepBets

LEVEL = 0.05
STEPS = 60


# -- bets: steps that leak exactly μ = 1 for every canary, whatever the canaries' dependence -------


def independent(rng, coins):
    return coins + rng.normal(size=coins.shape)


def one_noise(rng, coins):
    return coins + rng.normal(size=(len(coins), 1))


def mirrored(rng, coins):
    """All canaries are equally hard to guess, and all guesses are right or wrong together."""
    beyond = 0.5 + rng.normal(size=(len(coins), 1))
    return 0.5 + np.where(coins, beyond, -beyond)


def one_size(rng, coins):
    """The size of the privacy loss is shared by all canaries, its sign is not."""
    size = np.abs(0.5 + rng.normal(size=(len(coins), 1)))
    right = rng.random(coins.shape) < 1 / (1 + np.exp(-size))
    return 0.5 + np.where(coins == right, size, -size)


def right_together(rng, coins):
    """Least favourable: every guess is right, or every guess is wrong, as often as μ allows."""
    right = rng.random((len(coins), 1)) < ndtr(0.5)
    return np.where(coins == right, 9.0, -8.0)


DESIGNS = [independent, one_noise, mirrored, one_size, right_together]


def alarms(design, canaries, runs):
    """How often the bets refute what is true."""
    refuted = 0
    for seed in range(runs):
        rng = np.random.default_rng((seed, canaries, 11))
        coins = rng.random((STEPS, canaries)) < 0.5
        readings = design(rng, coins)
        groups = np.tile(np.arange(canaries) % 3, (STEPS, 1))
        previous = np.vstack([np.zeros(canaries), (readings - coins)[:-1]])
        bets = StepBets(readings, previous, coins, groups, 1.0, (0, 1, 2))
        refuted += bets.log_wealth(1.0) >= -np.log(LEVEL)
    return refuted


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.__name__)
def test_bets_keep_their_level(design):
    assert alarms(design, 6, 40) <= binom.isf(1e-4, 40, LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("canaries", [1, 45])
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.__name__)
def test_bets_keep_their_level_in_thousands_of_trainings(design, canaries):
    runs = 2_000
    assert alarms(design, canaries, runs) <= binom.isf(0.01, runs, LEVEL)


# -- both parts, on trainings without data ---------------------------------------------------------


def verdicts(runs, noise, rate, records, layers, steps, start=0):
    """Right trainings whose records have gradients of zeros: the noise is all that varies."""
    claim = ta.dp_sgd(noise, rate, steps)
    for seed in range(start, start + runs):
        rng = np.random.default_rng((seed, records, 13))
        watch = audit.watch_updates(layers, claim=claim, clip=1.0, records=records, seed=seed)
        for _ in range(steps):
            drawn = watch.draw()
            batch = np.flatnonzero(rng.random(records) < rate)
            rest = rng.normal(0, noise, watch.dimension)
            inside = drawn.inside
            rest[drawn.places[inside]] += drawn.entries[inside]
            watch.record(rest, len(batch), batch)
        yield watch.verdict()


SETTINGS = [
    (1.0, 0.125, 40, [60, 20, 5], 20),
    (2.0, 0.01, 100, [40], 30),  # one record a batch
    (0.7, 0.5, 12, [30] * 6, 12),
]


def spared(setting, runs, unlikely, start=0):
    found = list(verdicts(runs, *setting, start=start))
    least = np.array([min(corrected(verdict.checks)) for verdict in found])
    for level in (0.05, 0.01, 0.001):
        assert np.sum(least <= level) <= binom.isf(unlikely, runs, level)
    assert sum(verdict.refuted for verdict in found) <= binom.isf(unlikely, runs, LEVEL)


@pytest.mark.parametrize("setting", SETTINGS)
def test_right_trainings_are_spared(setting):
    spared(setting, 12, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_right_trainings_are_spared_in_thousands(setting):
    spared(setting, 1_000, 0.01 / 4, start=5_000)
