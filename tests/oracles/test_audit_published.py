"""Stored values of bounds as other tools publish them."""

import json
from pathlib import Path

import numpy as np
import pytest

from tellapart.audit import published
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.intervals import clopper_pearson

GROUPS = json.loads(Path(__file__).with_name("auditing.json").read_text(encoding="utf-8"))
ROUNDING = 5.1e-7


def cases(name):
    (group,) = [group for key, group in GROUPS.items() if key.split(" ")[0] == name]
    return group["cases"]


@pytest.mark.parametrize("case", cases("katz_log_ratio"))
def test_katz_log(case):
    counts = Counts(case["TP"], case["P"], case["FP"], case["N"])
    found = published.katz_log_epsilon(counts, confidence=1 - case["alpha"]).value
    assert found == pytest.approx(case["eps_lo"], abs=ROUNDING)


@pytest.mark.parametrize("case", cases("statdp_p"))
def test_statdp(case):
    hits, n = case.get("cx_thinned", case.get("cx")), case["n"]
    found = published.statdp_p_value(Counts(hits, n, case["cy"], n), epsilon=case.get("eps", 0.0))
    assert found == pytest.approx(case.get("p", case.get("mean_p")), abs=ROUNDING)


@pytest.mark.parametrize("case", cases("hockey_stick_delta_lo"))
def test_hockey_stick(case):
    found = published.hockey_stick_delta(
        case["acc"], tests=case["n_test"], epsilon=case["eps"], confidence=1 - case["beta"]
    )
    assert found == pytest.approx(case["delta_lo"], abs=ROUNDING)


@pytest.mark.parametrize("case", cases("histogram_tester_tol"))
def test_histogram(case):
    law = np.full(case["bins"], 1 / case["bins"])
    found = published.histogram_tolerance(
        law, law, samples=case["n"], epsilon=case["eps"], confidence=1 - case["beta"]
    )
    assert found == pytest.approx(case["tol"], abs=ROUNDING)


@pytest.mark.parametrize("case", cases("mmd_dp_thresholds"))
def test_mmd(case):
    asked = case["eps"], case["delta"]
    # ε = ln(1 + √2) is stored with six digits, and e^ε multiplies what it lost.
    tolerance = 2 * ROUNDING if case["eps"] == 0.881374 else ROUNDING
    for found, name in [
        (published.mmd_threshold(*asked), "gonzalez"),
        (published.dp_auditorium_mmd_threshold(*asked), "dp_auditorium"),
    ]:
        assert found == pytest.approx(case[name], abs=tolerance)


@pytest.mark.parametrize("case", cases("epsilon_two_gaussians"))
def test_two_gaussians(case):
    laws = case["mu1"], case["std1"], case["mu2"], case["std2"]
    found = published.two_gaussians_epsilon(*laws, delta=case["delta"])
    assert found == pytest.approx(case["eps"], abs=ROUNDING)
    swapped = published.two_gaussians_epsilon(*laws[2:], *laws[:2], delta=case["delta"])
    assert swapped == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("case", cases("xbern_ci"))
def test_exchangeable_limits(case):
    i, j = np.mgrid[0 : case["n"], 0 : case["k"]]
    table = ((7 * i + 3 * j) % 10 < 4).astype(int)
    for order, name in [(1, "1st-Order Wilson"), (2, "2nd-Order Wilson"), (4, "4th-Order Wilson")]:
        found = published.exchangeable_limits(table, order=order, failure=case["beta"])
        stored = case["left"][name], case["right"][name]
        assert found == pytest.approx(stored, abs=ROUNDING)
    plain = clopper_pearson(int(table[:, 0].sum()), case["n"], confidence=1 - 2 * case["beta"])
    stored = case["left"]["Clopper-Pearson"], case["right"]["Clopper-Pearson"]
    assert plain == pytest.approx(stored, abs=ROUNDING)
