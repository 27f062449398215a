"""Audits of correct steps refute their claim no more often than they may."""

import pytest
from scipy.stats import binom

from tellapart import audit, zoo

LEVEL = 0.05
CORRECT = [one for one in zoo.TRAINING if one.correct]
QUICK = [one for one in CORRECT if one.name in ("flat", "layers-share-clip", "accumulated")]


def _alarms(one, runs, samples):
    return sum(
        audit.step(
            one.step, samples=samples, confidence=1 - LEVEL, seed=seed, **one.settings
        ).refuted
        for seed in range(runs)
    )


def test_correct_steps_are_spared():
    """Dozens of pairs: a method at its level fails with probability below 1e-7."""
    runs = 3
    alarms = sum(_alarms(one, runs, samples=200) for one in QUICK)
    assert alarms <= binom.isf(1e-7, runs * len(QUICK), LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("one", CORRECT, ids=lambda one: one.name)
def test_correct_steps_are_spared_by_many_calls(one):
    """Each fails with probability below 1e-7 if the method is at its level."""
    runs = 40
    assert _alarms(one, runs, samples=3_000) <= binom.isf(1e-7, runs, LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "one", [one for one in zoo.TRAINING if not one.correct], ids=lambda one: one.name
)
def test_every_training_bug_is_found(one):
    assert audit.step(one.step, samples=10_000, confidence=0.999, **one.settings).refuted
