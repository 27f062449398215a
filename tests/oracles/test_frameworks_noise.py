"""Stored amounts of noise for ε = 1, asked of the public API; and no stored value is left out."""

import pytest
import test_frameworks_bounds
import test_frameworks_information
import test_frameworks_models
import test_frameworks_paper
import test_frameworks_standing
import test_frameworks_streams
import test_frameworks_tests
from stored_frameworks import BY_ID, chain_of, table_of

from tellapart import risk
from tellapart.choose import at_most, noise
from tellapart.worlds import Exchangeable, Sum

SCALES = ["A.calib", "C5.calib", "C100.calib", "D.calib"]
# Asked by tests of their own in the modules that import them.
ALONE = {"H.crit", "J.nonmono.thr"}


def _model(inputs):
    if "joint" in inputs:
        return table_of(inputs["joint"])
    if "count_law" in inputs:
        return Exchangeable(inputs["count_law"])
    return chain_of(inputs)


@pytest.mark.parametrize("name", SCALES)
def test_the_least_noise(name):
    record = BY_ID[name]
    target = at_most(record["inputs"]["target_eps"], risk.epsilon, delta=0)
    scale = noise(_model(record["inputs"]), Sum(), [target]).scale
    assert scale == pytest.approx(record["value"], abs=record["tolerance"])


def test_every_stored_value_is_asked():
    asked = {
        *SCALES,
        *ALONE,
        *test_frameworks_bounds.ANSWERS,
        *test_frameworks_information.ANSWERS,
        *test_frameworks_models.ANSWERS,
        *test_frameworks_paper.SCORES,
        *test_frameworks_standing.ANSWERS,
        *test_frameworks_streams.ANSWERS,
        *test_frameworks_tests.TESTS,
    }
    assert asked == set(BY_ID)
