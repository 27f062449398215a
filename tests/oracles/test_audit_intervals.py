"""Every stored bound from the counts of one attack, asked of the public functions.

`auditing.json` holds six decimals, so half a unit of the sixth is the tolerance, plus what a
value may lose on purpose to stay on the sound side.
"""

import json
from pathlib import Path

import pytest

from tellapart.audit.counts import intervals
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.clopper_pearson import Forms, delta_lower, gaussian_epsilon, mu_lower
from tellapart.audit.counts.credible import jeffreys_epsilon, joint_beta_epsilon
from tellapart.audit.counts.score import score_epsilon

GROUPS = json.loads(Path(__file__).with_name("auditing.json").read_text(encoding="utf-8"))
ROUNDING = 5.1e-7


def cases(name, **holding):
    """The cases of the one group whose name begins so, with the fields asked for."""
    (group,) = [group for key, group in GROUPS.items() if key.split(" ")[0] == name]
    return [
        case for case in group["cases"] if all(key in case for key in holding.get("fields", ()))
    ]


def counts(case):
    return Counts(case["TP"], case["P"], case["FP"], case["N"])


@pytest.mark.parametrize("case", cases("clopper_pearson_eps_lo"))
def test_clopper_pearson_epsilon(case):
    level = case["alpha"]
    bound = intervals.clopper_pearson_epsilon(
        counts(case), delta=case["delta"], confidence=1 - level
    )
    assert bound.value == pytest.approx(case["eps_lo"], abs=ROUNDING)
    _, fpr_high = intervals.clopper_pearson(case["FP"], case["N"], confidence=1 - level)
    tpr_low, _ = intervals.clopper_pearson(case["TP"], case["P"], confidence=1 - level)
    assert fpr_high == pytest.approx(case["FPR_hi"], abs=ROUNDING)
    assert 1 - tpr_low == pytest.approx(case["FNR_hi"], abs=ROUNDING)


@pytest.mark.parametrize("case", cases("delta_lo_at_eps"))
def test_delta_lower(case):
    bound = delta_lower(counts(case), epsilon=case["eps"], confidence=1 - case["alpha"]).value
    assert bound == pytest.approx(case["delta_lo"], abs=ROUNDING)


@pytest.mark.parametrize("case", cases("gdp_eps_lo", fields=["TP"]))
def test_mu_and_the_epsilon_of_gaussian_noise(case):
    mu = mu_lower(counts(case), confidence=1 - case["alpha"])
    assert mu.value == pytest.approx(case["mu_lo"], abs=ROUNDING)
    epsilon = gaussian_epsilon(counts(case), delta=case["delta"], confidence=1 - case["alpha"])
    assert epsilon.value == pytest.approx(case["eps_lo"], abs=ROUNDING)


@pytest.mark.parametrize("case", cases("buehler_eps_lo"))
def test_buehler(case):
    options = {"delta": case["delta"], "confidence": 1 - case["alpha"]}
    bound = intervals.buehler_epsilon(counts(case), forms=Forms.FLAGGED, **options)
    assert case["eps_lo"] - 2e-6 <= bound.value <= case["eps_lo"] + ROUNDING


@pytest.mark.parametrize("case", cases("jeffreys_eps_lo"))
def test_jeffreys(case):
    bound = jeffreys_epsilon(counts(case), delta=case["delta"], confidence=1 - case["alpha"])
    assert bound.value == pytest.approx(case["eps_lo"], abs=ROUNDING)


JOINT = cases("joint_beta_eps_lo") + [
    case | {"eps_lo": case["joint_beta"]} for case in cases("buehler_eps_lo")
]


@pytest.mark.parametrize("case", JOINT)
def test_joint_beta(case):
    bound = joint_beta_epsilon(
        counts(case), delta=case["delta"], confidence=1 - case["alpha"], rate=False
    )
    assert bound.value == pytest.approx(case["eps_lo"], abs=ROUNDING)


@pytest.mark.parametrize("case", cases("score_eps_lo"))
def test_score(case):
    bound = score_epsilon(counts(case), delta=case["delta"], confidence=1 - case["alpha"])
    assert bound.value == pytest.approx(case["eps_lo"], abs=ROUNDING)
