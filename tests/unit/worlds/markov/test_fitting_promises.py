"""Noise chosen for a fitted chain: how often the promise is kept for the true one."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from tellapart.worlds import MarkovChain, chain_epsilon_bound, chain_scale_bound, fit_chain

P = np.array([[0.9, 0.1], [0.4, 0.6]])
TRUE = MarkovChain.stationary(P, 100)
THREE = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.5, 0.1, 0.4]])


def drawn(transition, steps, rng):
    """One path of a chain that has run for ever."""
    chain = MarkovChain.stationary(transition, 1)
    chances = np.cumsum(transition, axis=1)[:, :-1].tolist()
    state = int(rng.choice(len(transition), p=chain.initial))
    path = [state]
    for u in rng.random(steps).tolist():
        state = sum(u > one for one in chances[state])
        path.append(state)
    return path


def broken(steps, repeats, seed):
    """The shares of plugged-in and of safe choices for ε = 1 that break it, and of sets that miss.

    The true ε is exact here, as the true chain has two states that tend to stay.
    """
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(repeats):
        fitted = fit_chain(drawn(P, steps, rng), length=100)
        chosen = [chain_scale_bound(one, 1) for one in (fitted.chain(), fitted.confidence_set)]
        true = [chain_epsilon_bound(TRUE, scale).max() > 1 for scale in chosen]
        found.append([*true, not fitted.confidence_set.contains(TRUE)])
    return np.mean(found, axis=0)


def test_an_estimate_protects_too_little_about_half_the_time_and_a_set_does_not():
    plugged_in, safe, missed = broken(200, 40, seed=1)
    assert 0.25 < plugged_in < 0.75
    assert safe <= missed <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("steps", [200, 1000, 5000])
def test_the_promise_is_kept_as_often_as_stated(steps):
    plugged_in, safe, missed = broken(steps, 600, seed=steps)
    assert 0.4 < plugged_in < 0.62
    assert safe <= missed <= 0.05


@pytest.mark.parametrize("repeats", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_sets_of_three_states_hold_the_true_chain_in_both_directions(repeats):
    """With little confidence asked for, so that a set that were too small would show."""
    rng = np.random.default_rng(3)
    true = MarkovChain.stationary(THREE, 5)
    sets = [
        fit_chain(drawn(THREE, 150, rng), states=range(3), confidence=0.5).confidence_set
        for _ in range(repeats)
    ]
    assert np.mean([not one.contains(true) for one in sets]) <= 0.5


def test_the_example_prints_what_the_fit_says(capsys):
    example = Path(__file__).parents[4] / "examples" / "fitted_chain.py"
    runpy.run_path(str(example), run_name="__main__")
    said = capsys.readouterr().out
    leaks = [float(one) for one in re.findall(r"gives ε = ([\d.]+)", said)]
    needed = [float(one) for one in re.findall(r"needs scale ([\d.]+)", said)]
    assert leaks[0] == needed[0] == 1
    assert leaks == sorted(leaks)
    assert needed == sorted(needed)
    data = example.parent / "data" / "seattle_weather.csv"
    assert data.stat().st_size < 100_000
    fitted = fit_chain(data, column="day", order="date", length=365)
    for chain, scale in zip((fitted.chain(), fitted.confidence_set), needed[1:], strict=True):
        assert scale - 1e-3 <= chain_scale_bound(chain, 1) <= scale
