"""Probes refute no correct mechanism of the zoo more often than they may."""

from dataclasses import replace

import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart import audit, zoo
from tellapart.zoo.specimen import Flaw

LEVEL = 0.05
# A method at its level fails with probability below 1e-7.
RUNS = 40
MOST = int(binom.isf(1e-7, RUNS, LEVEL))
QUICK = ["laplace", "laplace-sampled", "geometric", "noisy-max-1", "randomised-response", "step"]


def _false_alarms(specimen, runs, samples):
    return sum(
        audit.probe(
            specimen.mechanism,
            *specimen.pairs[0],
            claim=specimen.claim,
            samples=samples,
            seed=seed,
        ).refuted
        for seed in range(runs)
    )


@pytest.mark.parametrize("name", QUICK)
def test_correct_mechanisms_are_spared(name):
    assert _false_alarms(zoo.find(name), RUNS, samples=600) <= MOST


@pytest.mark.parametrize("name", ["laplace", "geometric", "randomised-response"])
def test_correct_mechanisms_keep_their_own_curve(name):
    """The claim is the exact curve, which the best attack reaches everywhere."""
    exact = {
        "laplace": ta.Laplace(1.0),
        "geometric": ta.DiscreteLaplace(1.0),
        "randomised-response": ta.RandomizedResponse(1.0),
    }
    specimen = replace(zoo.find(name), claim=exact[name])
    assert _false_alarms(specimen, RUNS, samples=600) <= MOST


@pytest.mark.slow
def test_the_whole_zoo_is_spared():
    """A thousand probes and more: a correct method fails with probability below 1e-7."""
    runs = 40
    every = zoo.correct()
    alarms = sum(_false_alarms(one, runs, samples=3_000) for one in every)
    assert alarms <= binom.isf(1e-7, runs * len(every), LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("specimen", zoo.buggy(), ids=lambda one: one.name)
def test_every_bug_that_calls_can_show_is_found(specimen):
    if specimen.flaw is not Flaw.LAW:
        pytest.skip("in the bits of numbers, or in calls that share noise")
    verdict = audit.probe(
        specimen.mechanism, *specimen.pairs[0], claim=specimen.claim, samples=100_000
    )
    assert verdict.refuted
