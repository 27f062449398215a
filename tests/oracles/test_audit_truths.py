"""The curves that audits are held against: what a true μ or a true scale comes to."""

import json
from pathlib import Path

import pytest

import tellapart as ta

ORACLES = json.loads((Path(__file__).parent / "auditing.json").read_text(encoding="utf-8"))
GAUSSIAN = ORACLES["gdp_conversion"]["cases"]
LAPLACE = ORACLES["laplace_hockey_stick"]["cases"]


@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_gaussian_dp_in_epsilon_and_delta(case):
    promise = ta.guarantee(mu=case["mu"])
    assert promise.delta(case["eps"]) == pytest.approx(case["delta"], rel=2e-5)
    assert promise.epsilon(case["delta"]) == pytest.approx(case["eps"], abs=5e-6)


@pytest.mark.parametrize("case", LAPLACE, ids=str)
def test_laplace_noise_beyond_its_epsilon(case):
    curve = ta.Laplace.with_epsilon(case["eps0"]).curve()
    assert curve.delta(case["eps"]) == pytest.approx(case["delta"], abs=5e-7)


def test_every_group_of_oracles_is_read_by_some_test():
    tests = Path(__file__).parents[1]
    text = "".join(path.read_text(encoding="utf-8") for path in tests.rglob("test_audit*.py"))
    assert [name for name in ORACLES if name.split(" ")[0] not in text] == []
