"""Searching for inputs refutes no correct mechanism more often than one probe may."""

import pytest
from scipy.stats import binom

from tellapart import audit, zoo
from tellapart.audit.searching.domains import Answers, Moves, Numbers

LEVEL = 0.05
RUNS = 40
# A method at its level fails with probability below 1e-7.
MOST = int(binom.isf(1e-7, RUNS, LEVEL))
DOMAINS = {
    "laplace": Answers(),
    "noisy-max-1": Answers(3, Moves.ANY),
    "bounded-sum": Numbers(0.0, 2.0),
}


def _false_alarms(name, runs, **more):
    specimen = zoo.find(name)
    return sum(
        audit.search(
            specimen.mechanism, DOMAINS[name], claim=specimen.claim, seed=seed, **more
        ).refuted
        for seed in range(runs)
    )


def test_a_search_for_the_worst_inputs_costs_no_level():
    """Were the search's own calls certified, the best of many pairs would be refuted often."""
    assert _false_alarms("laplace", RUNS, samples=400, tries=8, search_calls=3_400) <= MOST


@pytest.mark.slow
@pytest.mark.parametrize("name", DOMAINS)
def test_longer_searches_keep_their_level(name):
    """A correct method fails with probability below 1e-7."""
    runs = 200
    alarms = _false_alarms(name, runs, samples=3_000, tries=32, search_calls=40_000)
    assert alarms <= binom.isf(1e-7, runs, LEVEL)
