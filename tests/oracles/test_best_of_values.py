"""ε of the best of K runs beside values found otherwise: guarantees, attacks, exact pure ones."""

import json
from pathlib import Path

import pytest

import tellapart as ta
from tellapart.curve.composition.best_of import best_of_curve
from tellapart.mechanisms.repeat_and_select import two_block_attack

VALUES = {
    row["id"]: row
    for row in json.loads(Path(__file__).with_name("risks.json").read_text(encoding="utf-8"))
    if row["id"].startswith("tune-")
}
BASES = {"g4": ta.Gaussian(sigma=4), "S1": ta.dp_sgd(1, 0.01, 1_000)}
LAWS = {"geometric": ta.geometric, "Poisson": ta.poisson}
AT = [name for name in VALUES if "mean" in name]


@pytest.fixture(scope="module")
def epsilons():
    known = {}

    def epsilon(base, kind, mean):
        key = base, kind, mean
        if key not in known:
            known[key] = BASES[base].best_of(LAWS[kind](mean)).epsilon(delta=1e-5)
        return known[key]

    return epsilon


@pytest.mark.parametrize("name", AT)
def test_the_guarantee_lies_above_attacks_and_close_to_the_formula(name, epsilons):
    row, (_, base, law, *_) = VALUES[name], name.split("-")
    kind, _, mean = law.split()
    epsilon = epsilons(base, kind, float(mean))
    if row["side"] == "attack":
        assert row["value"] - row["tolerance"]["abs"] <= epsilon <= row["value"] * 1.03
    else:
        assert abs(epsilon - row["value"]) <= row["tolerance"]["abs"]


@pytest.mark.parametrize("name", [name for name in AT if name.endswith("attack")])
def test_an_order_of_outputs_reaches_what_was_found(name):
    row, (_, base, law, *_) = VALUES[name], name.split("-")
    kind, _, mean = law.split()
    attack = two_block_attack(BASES[base]._present_test(), LAWS[kind](float(mean)))
    assert attack.bound is ta.Bound.UPPER
    found = attack.symmetrised().epsilon(delta=1e-5)
    assert found == pytest.approx(row["value"], abs=row["tolerance"]["abs"])


def test_the_attack_on_the_advantage():
    row = VALUES["tune-g4-attack-delta-0"]
    attack = two_block_attack(BASES["g4"].curve(), ta.geometric(mean=10))
    assert attack.delta(0.0) == pytest.approx(row["value"], abs=row["tolerance"]["abs"])


def test_what_a_tuned_training_costs(epsilons):
    assert epsilons("S1", "geometric", 10) <= 2.69
    assert epsilons("g4", "geometric", 10) <= 1.44


@pytest.mark.parametrize("name", [name for name in VALUES if "pure" in name])
def test_pure_bases_are_exact(name):
    row = VALUES[name]
    gamma = row["inputs"].get("gamma")
    trials = ta.poisson(mean=10) if gamma is None else ta.geometric(mean=1 / gamma)
    base = ta.RandomizedResponse(row["inputs"]["epsilon"])
    assert base.best_of(trials).epsilon(delta=0.0) == pytest.approx(row["value"], abs=2e-12)


def test_small_epsilons_are_those_of_all_runs_published():
    curve = BASES["g4"].best_of(ta.geometric(mean=10)).curve()
    assert curve.delta(0.0) == pytest.approx(VALUES["tune-allruns-0"]["value"], abs=1e-5)
    assert curve.delta(0.0) >= VALUES["tune-g4-attack-delta-0"]["value"]
    alone = best_of_curve(BASES["g4"].curve(), ta.geometric(mean=10))
    assert alone.delta(0.0) > curve.delta(0.0)


def test_a_fixed_number_of_runs_costs_less_than_all_of_them():
    row = VALUES["tune-g4-fixed10-upper"]
    epsilon = BASES["g4"].best_of(10).epsilon(delta=1e-5)
    assert epsilon == pytest.approx(row["value"], abs=row["tolerance"]["abs"])
    assert epsilon < BASES["g4"].repeated(10).epsilon(delta=1e-5)
