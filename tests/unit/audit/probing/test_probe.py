"""Probing mechanisms one can only call: verdicts, words, and what cannot be judged."""

import itertools
import re
import time

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit, zoo

CLAIM = ta.guarantee(epsilon=1)
WITHOUT, WITH = [1, 2], [1, 2, 3]


def laplace(scale):
    def mechanism(data, rng, size=None):
        return len(data) + rng.laplace(0, scale, size)

    return mechanism


def probe(mechanism, d0=WITHOUT, d1=WITH, claim=CLAIM, samples=10_000, **more):
    return audit.probe(mechanism, d0, d1, claim=claim, samples=samples, **more)


def test_half_the_noise_is_found_and_said_in_words():
    verdict = probe(laplace(0.5))
    assert verdict.refuted
    assert 1.7 < verdict.epsilon_lower().value < 2
    assert verdict.finding.where.startswith("output ")
    assert " % of outputs on d" in verdict.finding.where
    assert not probe(laplace(1.0)).refuted


def test_the_same_seed_gives_the_same_verdict_and_another_one_another():
    found = [probe(laplace(0.5), seed=seed).epsilon_lower().value for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_either_order_of_inputs_is_seen():
    """A leak that only one order of the inputs shows, from whichever side it is asked."""

    def mechanism(data, rng):
        return "rare" if len(data) == 3 and rng.random() < 0.02 else "usual"

    for inputs in ((WITHOUT, WITH), (WITH, WITHOUT)):
        verdict = probe(mechanism, *inputs, samples=4_000)
        assert verdict.refuted
        assert "'rare'" in verdict.finding.where or "'usual'" in verdict.finding.where


@pytest.mark.parametrize(
    ("leak", "words"),
    [
        (lambda rng: None, "is None"),
        (lambda rng: float("nan"), "NaN"),
        (lambda rng: {"a": 1}["b"], "raises KeyError"),
        (lambda rng: "text", "is 'text'"),
        (lambda rng: [1.0, 2.0, 3.0], "is [1, 2, 3]"),
    ],
    ids=["none", "nan", "raises", "text", "list"],
)
def test_outputs_may_be_anything(leak, words):
    def mechanism(data, rng):
        if len(data) == 3 and rng.random() < 0.2:
            return leak(rng)
        return float(rng.normal())

    verdict = probe(mechanism, samples=2_000)
    assert verdict.refuted
    assert verdict.epsilon_lower().value > 3
    assert words in verdict.finding.where


@pytest.mark.parametrize("options", [{}, {"until_decided": True}], ids=str)
def test_a_function_that_returns_nothing_is_not_judged(options):
    """A constant release is private; None on both inputs is no release."""
    words = "^no verdict: every call returned None: does the function print instead of return"
    with pytest.raises(ta.Unsupported, match=words):
        probe(lambda data: None, samples=200, **options)
    assert not probe(lambda data: ("a",), samples=200, **options).refuted
    assert probe(lambda data: None if len(data) == 3 else 0, samples=200, **options).refuted


def test_a_rare_fraction_does_not_rename_whole_numbers():
    """Two inputs of one law: were whole rows read otherwise beside a fraction, all would differ.

    Each refutes with at most 1e-4: two of ten do with probability below 1e-6.
    """

    def mechanism(data, rng):
        return (int(rng.integers(2)), 0.5 if rng.random() < 5e-4 else int(rng.integers(2)))

    found = [probe(mechanism, samples=1_000, seed=k, confidence=0.9999).refuted for k in range(10)]
    assert sum(found) < 2


@pytest.mark.parametrize(("rate", "broken"), [(1, False), (2, True)])
def test_whole_numbers_beyond_what_doubles_hold_are_told_apart(rate, broken):
    """Around 2^60 doubles are 256 apart: read as doubles, all of these would be the same."""

    def mechanism(data, rng, size=None):
        p = 1 - np.exp(-rate)
        return 2**60 + len(data) + rng.geometric(p, size) - rng.geometric(p, size)

    verdict = probe(mechanism)
    assert verdict.refuted is broken
    assert verdict.epsilon_lower().value > 0.8 * rate


def test_infinite_numbers_are_said_to_be():
    def mechanism(data, rng, size=None):
        noise = rng.normal(size=size)
        return np.where(rng.random(size) < 0.2 * (len(data) == 3), np.inf, noise)

    verdict = probe(mechanism, samples=20_000)
    assert verdict.epsilon_lower().value > 3
    assert verdict.finding.where.startswith("output is inf: ")


def test_noise_that_two_numbers_share_is_taken_away():
    specimen = zoo.find("histogram-one-noise")
    verdict = audit.probe(specimen.mechanism, *specimen.pairs[0], claim=CLAIM, samples=4_000)
    assert verdict.refuted
    assert " − " in verdict.finding.where


def test_an_interval_is_found_where_no_half_line_tells():
    """No half-line is more than 1.25 times likelier on one input: ε = 0.22 is all they show."""

    def mechanism(data, rng, size=None):
        even = rng.random(size)
        return np.where(even < 0.5, 0.8 * even, 0.2 + 0.8 * even) if len(data) == 3 else even

    verdict = probe(mechanism, samples=20_000)
    assert verdict.epsilon_lower().value > 3
    assert re.match(r"0\.\d+ < output ≤ 0\.\d+: ", verdict.finding.where)


def test_a_users_own_feature_is_used():
    def mechanism(data, rng, size=None):
        angle = rng.uniform(0, 2 * np.pi, size)
        far = 1.0 + (len(data) == 3)
        return np.stack([far * np.cos(angle), far * np.sin(angle)], axis=-1)

    plain = probe(mechanism, samples=4_000).epsilon_lower().value
    round_ = probe(mechanism, samples=4_000, features=lambda out: float(np.hypot(*out)))
    assert round_.epsilon_lower().value > max(plain, 5)
    assert "feature" in round_.finding.where


def _quadrants(data, rng, size):
    """The first and last number are alike on both inputs; only their product tells."""
    one, two = rng.choice([-1.0, 1.0], (2, size))
    if len(data) == 3:
        two = np.where(rng.random(size) < 0.95, one, two)
    noise = rng.normal(0, 50, size)  # hides sums and differences of neighbours
    return np.column_stack([one * rng.random(size), noise, two * rng.random(size)])


@pytest.mark.parametrize("classifier", ["boosting", "tree"])
def test_a_classifier_finds_what_no_single_number_shows(classifier):
    assert not probe(_quadrants, samples=6_000).refuted
    verdict = probe(_quadrants, samples=6_000, classifier=classifier)
    assert verdict.refuted
    assert f"score of the {classifier} classifier" in verdict.finding.where
    again = probe(_quadrants, samples=6_000, classifier=classifier)
    assert again.epsilon_lower() == verdict.epsilon_lower()


def test_any_estimator_may_be_tried_and_is_left_as_it_was():
    from sklearn.naive_bayes import GaussianNB

    own = GaussianNB()

    def mechanism(data, rng, size):
        spread = 1.0 + 2 * (len(data) == 3)
        return rng.normal(0, spread, (size, 20))

    verdict = probe(mechanism, samples=4_000, classifier=own)
    assert verdict.refuted
    assert not hasattr(own, "theta_")


def test_a_weighed_sum_may_be_learnt_by_scikit_learn():
    def mechanism(data, rng, size):
        return rng.normal(len(data), 1, (size, 2))

    assert probe(mechanism, samples=4_000, classifier="logistic").refuted


@pytest.mark.parametrize("bad", ["forest", 3, object()])
def test_what_is_no_classifier_is_named(bad):
    rule = "classifier must be 'boosting', 'tree', 'logistic' or an estimator of scikit-learn"
    with pytest.raises(ta.InvalidArgument, match=f"^{rule}, got"):
        probe(laplace(1.0), classifier=bad)


def test_constant_outputs_that_differ_are_a_leak_and_equal_ones_are_none():
    assert probe(lambda data: len(data), samples=1_000).epsilon_lower().value > 4
    verdict = probe(lambda data: 7, samples=1_000)
    assert (verdict.refuted, verdict.epsilon_lower().value) == (False, 0.0)


def test_calls_that_share_noise_cannot_be_judged():
    cycle = itertools.cycle(np.random.default_rng(0).normal(size=50))

    with pytest.raises(ta.Unsupported, match=r"^no verdict: calls are not independent; "):
        probe(lambda data: len(data) + next(cycle), samples=1_000)


def test_textbook_noise_is_read_as_real_numbers():
    specimen = zoo.find("laplace-textbook")
    found = audit.probe(specimen.mechanism, *specimen.pairs[0], claim=specimen.claim)
    assert not found.refuted


def test_any_claim_may_be_probed():
    verdict = probe(laplace(0.5), claim=ta.Laplace(1.0))
    assert verdict.refuted
    assert "noise divided by" in verdict.power
    assert not probe(laplace(1.0), claim=ta.Laplace(1.0)).refuted


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"samples": 5}, "samples must be at least 20, got 5"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"claim": 1.0}, "claim must be a mechanism or a curve, got 1.0"),
        ({"mechanism": 3}, "mechanism must be callable, got 3"),
        ({"features": 3}, "features must be callable, got 3"),
        ({"progress": 3}, "progress must be callable, got 3"),
    ],
)
def test_bad_use_is_named(more, words):
    with pytest.raises(ta.InvalidArgument, match=f"^{words}"):
        probe(**{"mechanism": laplace(1.0), **more})


def test_a_mechanism_that_always_raises_was_called_wrongly():
    with pytest.raises(ta.InvalidArgument, match="the function raised on every call: "):
        probe(lambda data: data["key"], samples=100)


@pytest.mark.parametrize("until_decided", [False, True])
def test_what_a_mechanism_does_to_its_input_is_said(until_decided):
    def appending(data, rng):
        data.append(0)
        return len(data) + rng.laplace()

    def quiet(data, rng):
        return len(data) + rng.laplace()

    def broken(data, rng):
        return 1 / (3 - len(data)) + rng.laplace()

    changes = "The function modifies its input: every call was given a fresh copy."
    breaks = (
        "No call on d1 returned a value: the first one raises ZeroDivisionError: division by zero."
    )
    for mechanism, words in ((appending, changes), (quiet, ""), (broken, breaks)):
        found = audit.probe(
            mechanism,
            [3, 1],
            [3, 1, 4],
            claim=ta.guarantee(epsilon=1),
            samples=200,
            until_decided=until_decided,
        )
        assert found.evidence.about == words
        assert (words in found.reasons()) == bool(words)


@pytest.mark.parametrize("until_decided", [False, True])
def test_progress_rises_to_the_end(until_decided):
    told = []
    probe(laplace(1.0), samples=20_000, until_decided=until_decided, progress=told.append)
    assert told == sorted(told)
    assert told[0] < 0.1
    assert told[-1] == 1.0


def test_a_bound_is_worked_out_once():
    """Of counts it takes seconds."""
    verdict = probe(lambda data, rng: bool(rng.random() < 0.3 + 0.2 * len(data)), samples=500)
    assert verdict.epsilon_lower() is verdict.epsilon_lower()
    assert verdict.epsilon_lower() == verdict.evidence.epsilon_lower(0.0)


def test_a_scalar_mechanism_takes_little_time():
    """Far below what a person would notice in a test suite."""
    start = time.process_time()
    probe(laplace(1.0), samples=100_000)
    assert time.process_time() - start < 5


# -- until decided -------------------------------------------------------------------------------


def test_a_probe_may_stop_when_it_is_decided():
    verdicts = [
        probe(laplace(0.5), samples=20_000, seed=seed, until_decided=True) for seed in range(20)
    ]
    assert all(verdict.refuted for verdict in verdicts)
    calls = [verdict.evidence.calls for verdict in verdicts]
    assert np.median(calls) <= 150
    assert all(0 < verdict.epsilon_lower().value < 2 for verdict in verdicts)
    said = str(verdicts[0])
    assert "decided after" in said
    assert "an optimal attack on a mechanism that truly leaks all that ε ≥ 1." in said


def test_a_true_claim_is_given_up_early_and_seldom_refuted():
    """Ville: at most 5 % of true claims are ever refuted; 12 of 60 are with probability 3e-5."""
    verdicts = [
        probe(laplace(1.0), samples=400, seed=seed, until_decided=True) for seed in range(60)
    ]
    assert sum(verdict.refuted for verdict in verdicts) <= 12
    quiet = probe(laplace(20.0), samples=100_000, until_decided=True)
    assert not quiet.refuted
    assert quiet.evidence.calls < 100_000


def test_bets_speak_of_their_own_claim_alone():
    verdict = probe(laplace(0.5), until_decided=True)
    with pytest.raises(
        ta.Unsupported, match=r"^this sequential test was of the claim ε = 1, δ = 0 alone"
    ):
        verdict.evidence.refutes(ta.guarantee(epsilon=2))
    with pytest.raises(ta.Unsupported, match=r"^this sequential test bounds ε at δ = 0 alone"):
        verdict.epsilon_lower(delta=0.1)
    with pytest.raises(ta.Unsupported, match=r"^until_decided tests claims of \(ε, δ\)"):
        probe(laplace(0.5), claim=ta.Laplace(1.0), until_decided=True)


def test_leaks_in_either_order_are_bet_on():
    def mechanism(data, rng):
        return "rare" if len(data) == 3 and rng.random() < 0.3 else "usual"

    for inputs in ((WITHOUT, WITH), (WITH, WITHOUT)):
        verdict = probe(mechanism, *inputs, samples=5_000, until_decided=True)
        assert verdict.refuted
        assert verdict.evidence.calls < 1_000


@pytest.mark.parametrize("name", ["laplace-memoised", "laplace-fixed-seed"])
@pytest.mark.parametrize("until_decided", [False, True])
def test_noise_that_is_kept_cannot_be_judged_either_way(until_decided, name):
    specimen = zoo.find(name)
    with pytest.raises(ta.Unsupported, match=r"^no verdict: calls are not independent; "):
        audit.probe(
            specimen.mechanism,
            *specimen.pairs[0],
            claim=specimen.claim,
            samples=400,
            until_decided=until_decided,
        )


@pytest.mark.parametrize("door", [audit.probe, audit.probe_bits])
@pytest.mark.parametrize("data", [1.0, [1, 2], np.arange(3), {"a": [1]}])
def test_inputs_that_are_the_same_are_refused(data, door):
    def noisy(given, rng):
        return rng.laplace()

    with pytest.raises(ta.InvalidArgument, match=r"^d1 must differ from d0"):
        door(noisy, data, data, claim=ta.guarantee(1.0), samples=2_000)
