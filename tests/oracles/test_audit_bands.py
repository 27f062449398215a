"""Stored values of the simultaneous bands."""

import json
from pathlib import Path

import pytest

from tellapart.audit.counts.confidence_band import local_level

RECORDS = json.loads(Path(__file__).with_name("auditing.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", RECORDS["equal_local_level_band"]["cases"])
def test_local_levels(case):
    level = local_level(case["n"], case["alpha"])
    assert level == pytest.approx(case["local_level"], abs=5.1e-7)
    assert level * case["n"] / case["alpha"] == pytest.approx(case["ratio"], rel=2e-6)
