"""The one line for test suites."""

import pytest

import tellapart as ta
from tellapart.testing import assert_private


def noisy_count(scale):
    def count(data, rng, size=None):
        return len(data) + rng.laplace(0, scale, size)

    return count


def test_a_mechanism_that_keeps_its_promise_passes():
    assert_private(noisy_count(1.0), [1], [1, 2], epsilon=1, samples=20_000)
    assert_private(noisy_count(0.5), [1], [1, 2], epsilon=1, delta=0.5, samples=20_000)


def test_one_that_breaks_it_fails_and_says_how():
    with pytest.raises(AssertionError) as failure:
        assert_private(noisy_count(0.5), [1], [1, 2], epsilon=1, samples=20_000, seed=3)
    said = str(failure.value)
    assert said.startswith(
        "noisy_count.<locals>.count is not private as claimed (seed = 3, 20,000 calls on each "
        "input).\nREFUTED: the claim ε = 1, δ = 0, at 99.9999 % confidence\nWhere: output "
    )


def test_the_chance_of_a_false_alarm_is_stated_and_checked():
    for bad in (0, 1, -0.1):
        with pytest.raises(ta.InvalidArgument, match="false_alarm must lie strictly between"):
            assert_private(noisy_count(1.0), [1], [1, 2], epsilon=1, false_alarm=bad)
