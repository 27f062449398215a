"""Training in the zoo: well-formed, and the truths that are not those of one Gaussian."""

import inspect
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import tellapart as ta
from tellapart import zoo
from tellapart.zoo import training

every = pytest.mark.parametrize("one", zoo.TRAINING, ids=lambda one: one.name)
KNOWN = {one.name: one for one in zoo.TRAINING}
DELTA = 1e-5


def claimed(one):
    told = one.settings
    rate, steps = told.get("sampling_rate", 1.0), told.get("steps", 1)
    return ta.dp_sgd(told["noise_multiplier"], rate, steps).curve()


@every
def test_it_is_well_formed(one):
    assert list(inspect.signature(one.step).parameters) == ["data", "rng", "size"]
    assert one.words.endswith(".")
    assert len(one.words.split()) <= 20
    assert one.source


@every
def test_its_truth_agrees_with_whether_it_is_correct(one):
    if one.name == "dealt-batches":
        pytest.skip("it breaks the claimed curve elsewhere than at this δ")
    limit = claimed(one).epsilon(DELTA)
    assert one.truth <= limit + 1e-3 if one.correct else one.truth > 1.01 * limit


@every
def test_one_call_and_many_have_one_shape(one):
    data = np.zeros((4, sum(one.settings["layers"])))
    single = one.step(data, np.random.default_rng(1))
    many = one.step(data, np.random.default_rng(1), size=3)
    assert many.shape == (3, *single.shape)


def test_every_function_is_known():
    written = {
        name.replace("_", "-")
        for name, value in vars(training).items()
        if inspect.isfunction(value)
        and value.__module__ == training.__name__
        and list(inspect.signature(value).parameters) == ["data", "rng", "size"]
        and not name.startswith("_")
    }
    assert written <= KNOWN.keys()


def test_poisson_steps_leak_what_their_curve_says():
    exact = claimed(KNOWN["poisson"]).epsilon(DELTA)
    assert exact <= KNOWN["poisson"].truth < exact + 1e-3


def dealt_delta(epsilon, sigma=training.DEALT_SIGMA):
    """δ of a record in one of two steps at random against none, by integrating over one step."""

    def mass(y):
        rest = 2 * math.exp(epsilon) - math.exp((y - 0.5) / sigma**2)
        cut = 0.5 + sigma**2 * math.log(rest) if rest > 0 else -math.inf
        at, further = (stats.norm.pdf(y, mean, sigma) for mean in (0, 1))
        beyond, missed = (stats.norm.sf(cut, mean, sigma) for mean in (1, 0))
        return (at * beyond + further * missed) / 2 - math.exp(epsilon) * at * missed

    turn = 0.5 + sigma**2 * (epsilon + math.log(2))
    ends = [-8 * sigma, turn - 1, turn, turn + 2, turn + 10]
    return sum(quad(mass, *part, epsabs=1e-12, limit=400)[0] for part in pairwise(ends))


def test_dealt_batches_leak_what_is_stated():
    truth = KNOWN["dealt-batches"].truth
    assert dealt_delta(truth) <= DELTA <= dealt_delta(truth - 1e-3)


def test_dealt_batches_break_the_claim_of_poisson_batches():
    """Less ε at a small δ, but more at a moderate one: a record is never missed."""
    claim = claimed(KNOWN["dealt-batches"])
    assert claim.epsilon(DELTA) > KNOWN["dealt-batches"].truth
    assert dealt_delta(2.0) > claim.delta(2.0) + 0.05


def test_dealt_batches_hold_every_record_once():
    data = np.eye(4)
    found = training.dealt_batches(data, np.random.default_rng(2), size=4_000)
    seen = found.mean(axis=0)
    assert np.abs(seen - 0.5).max() < 6 * 0.65 / math.sqrt(4_000)
    total = found.sum(axis=1).mean(axis=0)
    assert np.abs(total - 1).max() < 6 * 0.4 * math.sqrt(2 / 4_000)


def test_poisson_batches_are_drawn_afresh():
    found = training.poisson(np.eye(3), np.random.default_rng(4), size=8_000)
    assert np.abs(found.mean(axis=0) - 0.5).max() < 6 * math.sqrt(1.25 / 8_000)
    assert np.abs(found.var(axis=0) - 1.25).max() < 0.2
