"""The one line for test suites."""

import re
import time

import numpy as np
import pytest

import tellapart as ta
from tellapart.testing import assert_private


def noisy_count(scale):
    def count(data, rng, size=None):
        return len(data) + rng.laplace(0, scale, size)

    return count


def one_at_a_time(data, rng):
    return len(data) + rng.laplace()


def test_a_mechanism_that_keeps_its_promise_passes():
    assert_private(noisy_count(1.0), [1], [1, 2], epsilon=1, samples=20_000)
    assert_private(noisy_count(0.5), [1], [1, 2], epsilon=1, delta=0.5, samples=20_000)


def test_one_that_breaks_it_fails_and_says_how():
    with pytest.raises(AssertionError) as failure:
        assert_private(noisy_count(0.5), [1], [1, 2], epsilon=1, samples=20_000, seed=3)
    said = str(failure.value)
    assert said.startswith(
        "noisy_count.<locals>.count is not private as claimed (20,000 calls on each input).\n"
        "REFUTED: the claim ε = 1, δ = 0, at 99.999902 % confidence\nLower bound: ε ≥ "
    )
    assert "\nWhere: output " in said
    assert "seed=3" in said.splitlines()[-1]
    assert "samples=20000" in said.splitlines()[-1]


def open_book(data, rng, size=None):
    return np.full(() if size is None else size, float(len(data)))


@pytest.mark.parametrize("claim", [{"epsilon": 1}, {"epsilon": 0, "delta": 0.5}], ids=str)
def test_a_test_that_cannot_fail_does_not_pass_and_says_what_it_takes(claim):
    """From so many calls on, a verdict is given."""
    with pytest.raises(ta.InvalidArgument) as failure:
        assert_private(noisy_count(1.0), [1], [1, 2], samples=20, **claim)
    said = re.fullmatch(
        r"noisy_count.*count: samples must be at least about ([\d,]+) for the claim ε = .*, as no "
        r"outcome of fewer calls could fail this test, got 20; so few show a gross leak at best: "
        r"take many more \(the default is 100,000\)",
        str(failure.value),
    )
    needed = int(said[1].replace(",", ""))
    assert_private(noisy_count(10.0), [1], [1, 2], samples=needed, **claim)
    with pytest.raises(ta.InvalidArgument, match="could fail this test"):
        assert_private(noisy_count(10.0), [1], [1, 2], samples=max(needed // 2, 20), **claim)


def test_a_claim_that_allows_everything_is_no_test():
    with pytest.raises(ta.InvalidArgument, match=r"allows everything \(δ = 1\), so that this test"):
        assert_private(open_book, [1], [1, 2], epsilon=0, delta=1, samples=1_000)


def test_any_claim_may_be_made():
    """Noise of scale 1 is within ε = 2 and Laplace(0.5), and not within Gaussian DP of μ = 0.5."""
    assert_private(noisy_count(1.0), [1], [1, 2], claim=ta.Laplace(0.5), samples=20_000)
    assert_private(noisy_count(1.0), [1], [1, 2], claim=ta.guarantee(2), samples=20_000)
    with pytest.raises(AssertionError, match=r"the claim of Gaussian DP with μ = 0\.5, at"):
        assert_private(noisy_count(1.0), [1], [1, 2], claim=ta.guarantee(mu=0.5), samples=20_000)


def test_a_feature_of_ones_own_is_looked_at():
    def ring(data, rng):
        x, y = rng.normal(size=2)
        far = (1.0 + len(data)) / (x * x + y * y) ** 0.5
        return (far * x, far * y)

    with pytest.raises(AssertionError, match="Where: feature "):
        assert_private(
            ring, [1], [1, 2], epsilon=1, samples=1_000, features=lambda p: p[0] ** 2 + p[1] ** 2
        )


def test_bad_arguments_are_named_without_the_frames_that_found_them():
    for more, words in (
        ({}, "assert_private must be given epsilon or a claim, and not both"),
        ({"epsilon": 1, "false_alarm": 1e-9}, "false_alarm must be at least 1e-7, got 1e-9"),
    ):
        with pytest.raises(ta.InvalidArgument) as failure:
            assert_private(noisy_count(1.0), [1], [1, 2], **more)
        assert str(failure.value) == words
        assert failure.traceback[-1].name == "assert_private"


def test_one_seed_always_says_the_same():
    """At its true ε a mechanism is refuted by chance with half the seeds or fewer, not by turns."""

    def fails(seed):
        try:
            assert_private(
                noisy_count(0.97), [1], [1, 2], epsilon=1, samples=2_000, seed=seed, false_alarm=0.4
            )
        except AssertionError as failure:
            return str(failure)
        return ""

    found = [fails(seed) for seed in range(8)]
    assert found[:4] == [fails(seed) for seed in range(4)]
    assert any(found)
    assert not all(found)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"false_alarm": 0}, "false_alarm must lie strictly between 0 and 1, got 0"),
        ({"false_alarm": 1}, "false_alarm must lie strictly between 0 and 1, got 1"),
        ({"false_alarm": 1e-12}, "false_alarm must be at least 1e-7, got 1e-12"),
        ({"epsilon": None}, "assert_private must be given epsilon or a claim, and not both"),
        ({"claim": ta.Laplace(1)}, "assert_private must be given epsilon or a claim, and not both"),
        (
            {"epsilon": None, "claim": ta.Laplace(1), "delta": 0.1},
            "delta must be part of the claim, where one is given",
        ),
        ({"epsilon": None, "claim": 1.0}, "claim must be a mechanism or a curve, got 1.0"),
        ({"samples": 5}, "one_at_a_time: samples must be at least 20, got 5"),
        ({"seed": -1}, "one_at_a_time: seed must be at least 0, got -1"),
        ({"mechanism": 3}, "int: mechanism must be callable, got 3"),
    ],
)
def test_bad_use_is_named(more, words):
    given = {"mechanism": one_at_a_time, "d0": [1], "d1": [1, 2], "epsilon": 1, **more}
    with pytest.raises(ta.InvalidArgument) as caught:
        assert_private(**given)
    assert str(caught.value) == words


@pytest.mark.parametrize("mechanism", [noisy_count(1.0), one_at_a_time])
def test_it_takes_little_time(mechanism):
    begin = time.process_time()
    assert_private(mechanism, [1], [1, 2], epsilon=1)
    assert time.process_time() - begin < 5
