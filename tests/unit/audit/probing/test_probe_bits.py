"""Probing the last bits: which samplers are caught, which are left in peace, and what is said."""

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit, zoo
from tellapart.zoo.specimen import Flaw

ONE, MU = ta.guarantee(epsilon=1), ta.guarantee(mu=1)
PAIRS = [(0.0, 1.0), (1.0, 2.0), (3.0, 4.0), (100.0, 101.0)]


def added(data, rng, size=None):
    return data + rng.laplace(0, 1, size)


def drawn_around(data, rng, size=None):
    return rng.laplace(data, 1, size)


def inverted(data, rng, size=None):
    uniform = rng.random(size) - 0.5
    return data - np.sign(uniform) * np.log(1 - 2 * np.abs(uniform))


def two_exponentials(data, rng, size=None):
    return data + (rng.exponential(1, size) - rng.exponential(1, size))


def ziggurat(data, rng, size=None):
    return data + rng.normal(0, 1, size)


def polar(data):
    return data + np.random.normal(0, 1)


def polar_pair(data):
    return data + np.random.normal(0, 1, 2)


def bits(mechanism, d0=0.0, d1=1.0, claim=ONE, samples=5_000, **more):
    return audit.probe_bits(mechanism, d0, d1, claim=claim, samples=samples, **more)


@pytest.mark.parametrize("mechanism", [added, drawn_around])
def test_numpy_laplace_is_caught_from_twenty_thousand_calls(mechanism):
    found = audit.probe_bits(mechanism, 0.0, 1.0, claim=ONE, samples=20_000)
    assert found.refuted
    assert found.epsilon_lower().value > 8.3
    # About 0.8 of the outputs on one input cannot be reached from the other's answer; the
    # standard error is 0.003, and all are reached from their own.
    counts = found.evidence.counts
    assert counts.tpr - counts.fpr == pytest.approx(0.805, abs=0.03)
    assert max(counts.tpr, 1 - counts.fpr) == 1
    assert "NumPy's Laplace noise of scale 1 around" in found.finding.where
    assert not audit.probe(mechanism, 0.0, 1.0, claim=ONE, samples=20_000).refuted


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("mechanism", [added, inverted])
def test_laplace_noise_is_caught_around_any_answer(mechanism, pair):
    known = bits(mechanism, *pair, centres=pair, scale=1.0, samples=10_000)
    guessed = bits(mechanism, *pair, samples=10_000)
    assert known.refuted
    assert guessed.refuted
    assert known.epsilon_lower().value > (3 if pair[0] == 100 else 6)


@pytest.mark.parametrize("pair", PAIRS[:3])
@pytest.mark.parametrize("mechanism", [ziggurat, polar, two_exponentials])
def test_any_noise_is_caught_where_sums_of_other_sizes_are_rounded_otherwise(mechanism, pair):
    claim = ONE if mechanism is two_exponentials else MU
    found = bits(mechanism, *pair, claim=claim)
    assert found.refuted
    assert "bits below 2^-5" in found.finding.where


def test_pairs_of_gaussian_numbers_are_caught():
    found = bits(polar_pair, 3.0, 4.0, claim=MU, centres=([3.0, 3.0], [4.0, 4.0]), scale=1.0)
    assert found.refuted
    assert found.epsilon_lower().value > 6
    assert "the polar method's Gaussian noise of scale 1 around " in found.finding.where


def test_gaussian_noise_on_answers_of_one_size_is_not_caught():
    """Here every double near the answers is reached, and rounding is the same."""
    assert not bits(ziggurat, 100.0, 101.0, claim=MU).refuted


def test_a_sampler_may_explain_one_input_alone():
    """Outputs of a sampled sum come from either answer, but without the record from one."""
    one = zoo.find("laplace-sampled")
    found = bits(one.mechanism, *one.pairs[0], claim=one.claim, centres=(0.0, 1.0), scale=1.0)
    assert found.refuted
    assert found.epsilon_lower().value > 4
    assert "around 0, the answer assumed on d0" in found.finding.where


def test_noise_divided_by_epsilon_is_caught():
    def mechanism(data, rng, size=None):
        sign = np.where(rng.random(size) < 0.5, -1, 1)
        return data + sign * np.log(1 - rng.random(size)) / 0.7

    found = bits(mechanism, 3.0, 4.0, claim=ta.guarantee(epsilon=0.7))
    assert found.refuted
    assert "divided by ε" in found.finding.where


@pytest.mark.parametrize(
    "specimen", [one for one in zoo.buggy() if one.flaw is Flaw.BITS], ids=lambda one: one.name
)
def test_specimens_whose_flaw_is_in_their_bits_are_refuted(specimen):
    found = bits(specimen.mechanism, *specimen.pairs[0], claim=specimen.claim)
    assert found.refuted


@pytest.mark.parametrize("name", ["laplace-snapped", "laplace-rounded"])
def test_safe_outputs_are_not_refuted(name):
    specimen = zoo.find(name)
    found = bits(specimen.mechanism, *specimen.pairs[0], claim=specimen.claim, samples=20_000)
    assert not found.refuted
    assert found.epsilon_lower().value < 1


def test_the_verdict_says_that_it_is_about_bits():
    for mechanism in (added, zoo.find("laplace-snapped").mechanism):
        found = bits(mechanism)
        said = str(found)
        assert "for the bits of its floats" in found.headline
        assert "This is about the bits of the sampler" in said
        assert "Power: not stated" in said
    assert "the bits of" not in str(audit.probe(added, 0.0, 1.0, claim=ONE, samples=2_000))


def test_the_ledger_spends_the_level_on_one_event():
    found = bits(added, confidence=0.99)
    assert found.confidence == pytest.approx(0.99)
    assert found.evidence.ledger.level == pytest.approx(0.01)
    # Nine tenths of the calls are counted, the rest served to choose.
    assert found.evidence.counts.members == found.evidence.counts.non_members == 4_500


def test_either_order_of_inputs_is_seen():
    for pair in ((0.0, 1.0), (1.0, 0.0)):
        assert bits(ziggurat, *pair, claim=MU).epsilon_lower().value > 5


def test_vectors_and_dictionaries_are_read():
    def histogram(data, rng, size=None):
        return np.array(data) + rng.laplace(0, 1, (*(() if size is None else (size,)), 3))

    def named(data, rng):
        return {"count": data + rng.laplace(0, 1), "kind": "noisy"}

    found = bits(histogram, [4.0, 0.0, 2.0], [4.0, 1.0, 2.0], samples=2_000)
    assert found.refuted
    assert "output[1]" in found.finding.where or "the output" in found.finding.where
    found = bits(named, samples=2_000)
    assert found.refuted
    assert "output['count']" in found.finding.where


def test_singles_have_bits_too():
    def single(data, rng, size=None):
        return np.float32(data) + rng.laplace(0, 1, size).astype(np.float32)

    found = bits(single)
    assert found.refuted
    assert "bits below 2^-24" in found.finding.where


def test_outputs_that_are_no_numbers_do_not_hide_the_others():
    def mechanism(data, rng):
        return None if rng.random() < 0.1 else data + rng.laplace(0, 1)

    assert bits(mechanism, samples=2_000, centres=(0.0, 1.0), scale=1.0).refuted

    def broken(data, rng, size=None):
        noisy = data + rng.laplace(0, 1, size)
        return np.where(rng.random(size) < 0.1, math.nan, noisy)

    assert bits(broken, samples=2_000).refuted


@pytest.mark.parametrize(
    "mechanism",
    [
        lambda data, rng: int(data + rng.integers(3)),
        lambda data, rng: str(data + rng.integers(3)),
        lambda data, rng: [1, int(rng.integers(9))],
        lambda data, rng: {"count": int(rng.integers(9)), "kind": "a"},
        lambda data, rng: bool(rng.integers(2)),
    ],
    ids=["whole", "text", "list", "dictionary", "flag"],
)
def test_what_has_no_last_bits_is_named(mechanism):
    with pytest.raises(ta.Unsupported, match=r"^outputs hold no floats.*audit\.probe"):
        bits(mechanism, samples=1_000)


def test_calls_that_share_noise_cannot_be_judged():
    specimen = zoo.find("laplace-memoised")
    with pytest.raises(ta.Unsupported, match=r"^no verdict: calls are not independent; "):
        bits(specimen.mechanism, samples=400)


def test_the_same_seed_gives_the_same_verdict():
    found = [bits(added, seed=seed).evidence.counts for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"samples": 50}, "samples must be at least 100, got 50"),
        ({"confidence": 0}, "confidence must lie strictly between 0 and 1, got 0"),
        ({"scale": 0.0}, "scale must be finite and greater than 0, got 0.0"),
        ({"centres": 3.0}, "centres must be the two answers, on d0 and on d1, got 3.0"),
        ({"centres": (0.0, math.inf)}, "centres must be two finite answers of one length"),
        ({"centres": (0.0, [1.0, 2.0])}, "centres must be two finite answers of one length"),
        ({"centres": ([0, 0], [1, 1])}, r"centres must hold as many numbers as an output \(1\)"),
        ({"centres": ("a", "b")}, "centres must be a number or an array of numbers, got 'a'"),
        ({"mechanism": 3}, "mechanism must be callable, got 3"),
    ],
)
def test_bad_use_is_named(more, words):
    with pytest.raises(ta.InvalidArgument, match=f"^{words}"):
        bits(**{"mechanism": added, **more})
