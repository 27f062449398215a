"""The published p-value against a scan over every term."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from steinke import steinke_epsilon_lower, steinke_p_value

from tellapart.audit.counts.one_run_guesses import Guesses, p_value

counts = st.integers(1, 400).flatmap(
    lambda m: st.integers(1, m).flatmap(
        lambda r: st.tuples(st.just(m), st.just(r), st.integers(0, r))
    )
)


def scanned(guesses, epsilon, delta):
    """All the averages there are, each summed from the terms."""
    q = 1 / (1 + math.exp(-epsilon))
    terms = binom.pmf(np.arange(guesses.right - 1, -1, -1), guesses.made, q)
    means = np.cumsum(terms) / np.arange(1, guesses.right + 1)
    added = 2 * guesses.canaries * delta * means.max(initial=0.0)
    return min(1.0, binom.sf(guesses.right - 1, guesses.made, q) + added)


@given(counts, st.floats(0, 10), st.sampled_from([0.0, 1e-12, 1e-5, 1e-2]))
def test_halving_finds_what_a_scan_finds(count, epsilon, delta):
    guesses = Guesses(*count)
    found, slow = steinke_p_value(guesses, epsilon, delta), scanned(guesses, epsilon, delta)
    assert found == pytest.approx(slow, rel=1e-8, abs=1e-290)


def test_nothing_right_shows_nothing():
    assert steinke_epsilon_lower(Guesses(10, 5, 0), 1e-5, 0.05) == 0
    assert steinke_epsilon_lower(Guesses(10, 0, 0), 0, 0.05) == 0


def test_a_mechanism_on_two_canaries_exceeds_it_near_one_and_attains_the_sharp_one():
    # Answers with so many right have chance shares[right]/(ways to have so many right).
    epsilon, delta = 2.0, 1e-3
    e = math.exp(epsilon)
    none = (1 - 2 * delta * (1 + e / 2)) / (1 + e) ** 2
    one = 2 * e * none + 2 * delta
    shares = np.array([none, one / 2, e * one / 2])
    coins = list(product([0, 1], repeat=2))

    def law(inside):
        return np.array(
            [shares[sum(a == b for a, b in zip(inside, s, strict=True))] for s in coins]
        )

    assert law((0, 0)).sum() == pytest.approx(1)
    for inside in coins:
        for flipped in ((1 - inside[0], inside[1]), (inside[0], 1 - inside[1])):
            assert np.maximum(law(inside) - e * law(flipped), 0).sum() <= delta * (1 + 1e-9)
    some_right = 1 - none
    assert p_value(Guesses(2, 2, 1), epsilon, delta) == pytest.approx(some_right, rel=1e-9)
    assert steinke_p_value(Guesses(2, 2, 1), epsilon, delta) < some_right - 1e-5
