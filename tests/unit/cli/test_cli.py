"""The command line, as someone types it: answers, JSON, pictures, refusals and exit codes."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tellapart as ta
from tellapart import risk, worlds
from tellapart.cli import main
from tellapart.cli.app import COMMANDS
from tellapart.curve.region import MechanismRegion

ALL = (
    "risk, choose, decide, compare, region, convert, budget, plan, audit, probe, check-training, "
    "report, frameworks, noise, explore, serve, reproduce"
)


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def call(*tokens):
        code = main(tokens)
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def parsed(run):
    def call(*tokens):
        code, out, err = run(*tokens, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


# -- choose -------------------------------------------------------------------------------------


def test_the_first_question_of_a_privacy_engineer(run):
    code, out, err = run("choose", "laplace", "--max-f-score", "0.76", "--weight", "1")
    assert (code, err) == (0, "")
    assert out.startswith(
        "scale = 0.709924748  for laplace, by epsilon = 1.4086; ε = 1.4086 at δ = 0\n"
        "  Binding constraint: F-score ≤ 0.76, weight 1, prior 0.5.\n"
        "  Rounded conservatively: down from 1.408612884.\n"
        "  Specific to this mechanism; another (ε, δ) mechanism may leak more.\n"
        "  For any mechanism: ε-DP with ε = 1.1526 is enough to keep the limits.\n"
        "  Error of the answer: standard deviation 1.0040; 95 % within ± 2.1268.\n"
    )
    assert re.search(r"^  F-score ≤ 0\.76, .* 0\.5 +0\.6667 +0\.7600  binding$", out, re.M)
    assert "Sensitivity analysis" not in out
    assert "AUC" not in out


def test_all_of_a_choice_is_seen_by_the_verbose(run):
    _, out, _ = run("choose", "laplace", "--max-f-score", "0.76", "--verbose")
    assert "Sensitivity analysis  at other values of epsilon\n" in out
    assert re.search(r"^  AUC +0\.5000 +≈ 0\.\d{4} +0\.\d{4}$", out, re.M)


def test_choosing_noise_rounds_up_and_several_limits_name_the_one_that_binds(parsed):
    found = parsed(
        "choose", "gaussian", "--max-advantage", "0.1", "--max-ppv", "0.5", "--prior", "0.001"
    )
    assert (found["parameter"], found["rounded"]) == ("sigma", "up")
    assert found["value"] >= found["unrounded"]
    assert found["binding"] == "membership advantage ≤ 0.1"
    assert risk.advantage(ta.Gaussian(found["value"]).curve()) <= 0.1
    assert found["any_mechanism"] is None
    middle = found["frontier"][2]
    assert (middle["value"], middle["deviation"]) == (found["value"], found["value"])


def test_a_map_has_the_noise_of_each_batch_size_and_number_of_epochs(run, parsed):
    asked = ("choose", "dpsgd", "--data-size", "60000", "--max-advantage", "0.1")
    lists = ("--map-batch-size", "256,1024", "--map-epochs", "5,15")
    cells = parsed(*asked, *lists)["cells"]
    assert [(cell["batch_size"], cell["epochs"]) for cell in cells] == [
        (256, 5),
        (256, 15),
        (1024, 5),
        (1024, 15),
    ]
    for cell in cells:
        training = {key: cell[key] for key in ("batch_size", "epochs", "noise_multiplier")}
        curve = ta.dp_sgd(**training, data_size=60_000).curve()
        assert 0.0998 < risk.advantage(curve) <= 0.1
        assert cell["gradient_noise"] == cell["noise_multiplier"] / cell["batch_size"]
        assert cell["binding"] == "membership advantage ≤ 0.1"
    _, out, _ = run(*asked, *lists)
    assert out.startswith("noise_multiplier  for dpsgd:data_size=60000, by batch size and epochs\n")
    assert re.search(r"^  256 +0\.8425 \(0\.0033\) +1\.204 \(0\.0048\)$", out, re.M)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("dpsgd --data-size 600 --map-batch-size 6,x --map-epochs 5", "--map-batch-size must be n"),
        ("dpsgd --data-size 600 --map-batch-size 64", "a map must have --map-batch-size, --map-ep"),
        ("dpsgd --map-batch-size 64 --map-epochs 5", "a map must have --map-batch-size, --map-ep"),
        (
            "gaussian --map-batch-size 64 --map-epochs 5",
            "--map-batch-size and --map-epochs must co",
        ),
        (
            "dpsgd --data-size 600 --steps 9 --map-batch-size 64 --map-epochs 5",
            "--map-batch-size and --map-epochs must come with dpsgd and --data-size, and with no",
        ),
    ],
)
def test_a_map_of_something_else_is_refused(run, typed, said):
    code, _, errors = run("choose", *typed.split(), "--max-advantage", "0.1")
    assert code == 2
    assert said in errors


def test_the_error_of_several_releases_is_that_of_each(run, parsed):
    _, out, _ = run("choose", "gaussian:repeated=12", "--max-advantage", "0.1")
    assert "  Error of each of 12 releases: standard deviation 13.7835; 95 % within ±" in out
    monthly = parsed("choose", "gaussian:repeated=12", "--max-advantage", "0.1")
    assert monthly["error_of"] == "each of 12 releases"
    assert monthly["frontier"][2]["deviation"] == monthly["value"]


def test_the_number_for_any_mechanism_keeps_its_delta(parsed):
    by_epsilon = ("choose", "gaussian:delta=1e-5", "--parameter", "epsilon")
    found = parsed(*by_epsilon, "--max-advantage", "0.3")
    promise = ta.guarantee(found["any_mechanism"], 1e-5)
    assert risk.advantage(promise) <= 0.3 < risk.advantage(ta.guarantee(found["value"], 1e-5))


def test_small_answers_keep_their_digits(parsed):
    found = parsed("choose", "laplace", "--max-advantage", "1e-6")
    assert 0 < found["value"] <= found["unrounded"] < found["value"] * 1.001


def test_the_coefficients_of_the_paper_are_an_attacker(parsed):
    found = parsed("choose", "laplace", "--max-f-score", "0.9", "--rho-p", "0.2", "--rho-c", "0.1")
    assert 1 / found["prior"] - 1 == pytest.approx(0.62)


def test_what_never_binds_is_said(run, parsed):
    assert run("choose", "laplace", "--max-f-score", "1")[1] == (
        "no binding constraint: every epsilon of laplace keeps the limits\n"
    )
    assert parsed("choose", "laplace", "--max-f-score", "1")["value"] is None


def test_the_end_of_a_mechanism_is_said(run):
    _, out, _ = run("choose", "gaussian-classic:delta=1e-5", "--max-advantage", "0.9")
    assert out.startswith(
        "sigma = 0.5754130507  for gaussian-classic:delta=1e-5, by epsilon = 8.4197; ε ≈ 8.4197 "
    )
    assert "Binding constraint: none; the mechanism is not defined beyond this value." in out


def test_a_limit_at_one_fpr_says_what_fewer_flags_allow(run):
    words = ("choose", "gaussian", "--max-ppv", "0.05", "--prior", "0.002")
    out = " ".join(run(*words)[1].split())
    assert "The limit is at FPR 0.01 (default); an attacker who flags fewer people can be" in out
    assert "surer: PPV 0.1395 at FPR 0.001, 0.2990 at FPR 0.0001." in out
    assert "Some outputs, however rare, make membership as good as certain." in out
    assert "The limit is at FPR 0.01; an" in " ".join(run(*words, "--fpr", "0.01")[1].split())


def test_a_fixed_epsilon_is_answered_by_the_noise_to_configure(run):
    _, out, _ = run("choose", "gaussian", "--epsilon", "1", "--max-advantage", "0.1")
    assert out.startswith("sigma = 3.97897357  for gaussian:epsilon=1, by delta = 3.226e-6; ε ≈ ")
    assert "--epsilon fixes ε; to limit it, use --max-epsilon." in out


# -- risk ---------------------------------------------------------------------------------------


def test_what_does_epsilon_one_mean(run):
    code, out, err = run("risk", "--epsilon", "1", "--prior", "0.01")
    assert (code, err) == (0, "")
    assert out.startswith(
        "ε ≤ 1.0000 at δ = 0; membership advantage ≤ 0.4622  any:epsilon=1\n"
        "  These numbers are valid for every mechanism with this guarantee.\n"
        "  The attacker's prior probability of membership is 0.01.\n"
    )
    assert re.search(r"^  membership advantage +0 +≤ 0\.4622 +0\.4622$", out, re.M)
    assert re.search(r"^  accuracy +0\.9900 +≤ 0\.9900 +0$", out, re.M)
    assert "Of 10,000 people, 100 are members." in out
    assert "Bayes error" not in out


def test_a_training_names_its_sampling_and_neighbours(run):
    _, out, _ = run("risk", "dpsgd:noise_multiplier=1,sampling_rate=0.01,steps=10")
    assert (
        "Assumes Poisson-sampled batches, neighbours that add or remove one record, and an "
        "attacker who sees every step; shuffled batches can leak far more "
        "(documentation: sharp edges)."
    ) in " ".join(out.split())


def test_rare_outputs_that_prove_membership_are_told_without_being_asked(run):
    certain = "Some outputs, however rare, make membership as good as certain."
    assert certain in run("risk", "gaussian:sigma=1")[1]
    assert certain not in run("risk", "laplace:scale=1")[1]


def test_promises_compose_as_promises(run):
    _, out, _ = run("risk", "any:epsilon=1,repeated=12")
    assert "These numbers are valid for any 12 mechanisms with this guarantee each." in out
    _, out, _ = run("risk", "any:epsilon=1+laplace:epsilon=1")
    assert "These numbers are upper bounds specific to this mechanism" in out


def test_a_detail_that_is_asked_about_is_shown(run):
    _, out, _ = run("risk", "--epsilon", "1", "--recall", "0.3")
    assert "precision at recall 0.3" in out
    assert "F-score" not in out


def test_every_risk_and_its_meaning_are_seen_by_the_verbose(run):
    _, out, _ = run("risk", "laplace", "--epsilon", "1", "-v")
    assert all(
        reading.name.partition(" at δ")[0] in out for reading in risk.summary(ta.guarantee(1))
    )
    assert "  - membership advantage: max (TPR − FPR)\n" in out
    assert "No output raises the odds of membership" in out


def test_risk_as_json_is_what_the_library_says(parsed):
    found = parsed("risk", "laplace:scale=2", "--fpr", "0.05", "--prior", "0.1")
    assert (found["mechanism"], found["side"]) == ("laplace:scale=2", "exact")
    curve = ta.Laplace(2).curve()
    expected = risk.summary(curve, fpr=0.05, prior=0.1, delta=0)
    assert [(one["name"], one["value"]) for one in found["readings"]] == [
        (one.name, one.value) for one in expected
    ]
    assert found["words"] == risk.words(curve, fpr=0.05, prior=0.1).splitlines()


def test_a_prior_known_within_a_range_has_the_bound_of_the_worst(run, parsed):
    words = ("risk", "laplace:epsilon=1", "--prior", "0.01", "--prior-to", "0.9", "--fpr", "0.05")
    found = parsed(*words)["prior_range"]
    curve, about = ta.Laplace(1).curve(), worlds.PriorRange(0.01, 0.9)
    most = {row["key"]: row["value"] for row in found["most"]}
    assert (found["low"], found["high"]) == (0.01, 0.9)
    assert most.keys() == {"ppv", "precision", "max_posterior", "f_score", "accuracy"}
    assert most["ppv"] == about.defender_bound(curve, risk.ppv, fpr=0.05)
    for prior in (0.01, 0.3, 0.9):
        at = {
            one["key"]: one["value"]
            for one in parsed(*words[:3], str(prior), *words[6:])["readings"]
        }
        assert all(at[key] <= value * (1 + 1e-12) for key, value in most.items())
    assert "For every prior from 0.01 to 0.9, no attacker exceeds:" in run(*words)[1]
    assert "prior_range" not in parsed("risk", "laplace:epsilon=1")
    _, _, err = run("risk", "laplace:epsilon=1", "--prior", "0.1", "--prior-to", "0.01")
    assert err == "tellapart: --prior-to must lie between --prior (0.1) and 1, got 0.01\n"


def test_a_training_with_hardly_any_noise_gets_a_full_answer(run):
    options = ("--noise-multiplier", ".4", "--sampling-rate", ".05", "--steps", "20000")
    code, out, err = run("risk", "dpsgd", *options)
    assert (code, err) == (0, "")
    assert re.search(r"TPR at FPR 0\.01 +0\.0100 +[=≈] 1\.0000", out)
    assert "1168.66" in out
    assert "No meaningful privacy: ε is above 100." in out


def test_json_has_a_word_for_infinity(parsed):
    found = parsed("risk", "gaussian", "--sigma", "1", "--at-delta", "0")
    assert found["readings"][-1]["value"] == "inf"


# -- reports of results ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "headline"),
    [
        ("compare laplace:epsilon=1 gaussian:sigma=1", "laplace:epsilon=1 leaks less, except"),
        (
            "compare ours=laplace:epsilon=1 --deployments emojis",
            "Popular Emojis allows at least as much as ours leaks, at every FPR; which leaks less",
        ),
        ("region --epsilon 1 --fpr 0.01 --tpr 0.05", "Impossible if the claim is true"),
        ("region laplace --epsilon 1 --fpr 0.01 --tpr 0.02", "Possible under the claim"),
        (
            "region --epsilon 1 --precision 0.9 --recall 0.02 --prior 0.5",
            "Impossible if the claim is true: TPR 0.02 at FPR 0.002222",
        ),
    ],
)
def test_a_report_says_what_the_command_says(run, tmp_path, monkeypatch, words, headline):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words.split(), "--report", "out.html")
    assert (code, err) == (0, "")
    assert out.endswith("Report: out.html and out.json\n")
    filed = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert filed["headline"].startswith(headline)


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("compare --deployments", "come with the names of deployments"),
        ("region --epsilon 1", "come with a claim and the rates of an attack on it"),
        ("region --fpr 0.01 --tpr 0.05", "come with a claim and the rates of an attack on it"),
    ],
)
def test_a_report_of_nothing_is_refused_at_once(run, tmp_path, monkeypatch, words, rule):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words.split(), "--report", "out.html")
    assert (code, out) == (2, "")
    assert f"--report must {rule}" in err
    assert list(tmp_path.iterdir()) == []


# -- compare ------------------------------------------------------------------------------------


def test_a_long_name_is_broken_where_its_parts_end_and_can_be_typed_again(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    long = "gaussian:epsilon=1,delta=1e-5"
    _, out, _ = run("compare", "laplace:epsilon=1", long, "staircase:epsilon=1", "any:epsilon=1")
    heads = out.partition("Risks ")[2].splitlines()[1:3]
    assert [row.split() for row in heads] == [
        ["without", "the", "laplace:", "staircase:", "any:"],
        ["output", "epsilon=1", "gaussian", "epsilon=1", "epsilon=1"],
    ]
    assert f"\n  - gaussian: {long}\n" in out
    assert max(map(len, out.splitlines())) <= 80


def test_mechanisms_are_called_by_the_names_they_are_given(run, parsed):
    words = ("compare", "ours=laplace:epsilon=1", "theirs=gaussian:epsilon=1,delta=1e-5")
    _, out, _ = run(*words)
    assert out.startswith(
        "The curves of ours and theirs cross at FPR 0.000152 and 0.9996: below the first, theirs "
    )
    assert "theirs leaks more; between them, ours; above the second, theirs." in " ".join(
        out.split()
    )
    assert "\n  - ours: laplace:epsilon=1\n" in out
    found = parsed(*words)["mechanisms"]
    assert [(one["name"], one["mechanism"]) for one in found] == [
        ("ours", "laplace:epsilon=1"),
        ("theirs", "gaussian:epsilon=1,delta=1e-5"),
    ]
    code, _, err = run("compare", "a=laplace:epsilon=1", "a=laplace:epsilon=2")
    assert (code, err) == (2, "tellapart: names must be different, got 'a'\n")


def test_long_mechanisms_of_one_kind_are_called_by_where_they_differ(run, parsed):
    first, second = "gaussian:epsilon=1,delta=1e-5", "gaussian:epsilon=1,delta=1e-6"
    _, out, _ = run("compare", second, first)
    assert " ".join(out.split()).startswith(
        "gaussian:delta=1e-5 leaks at least as much as gaussian:delta=1e-6, at every FPR."
    )
    assert f"  - gaussian:delta=1e-6: {second}\n  - gaussian:delta=1e-5: {first}\n" in out
    both = f"{first}+laplace:epsilon=1"
    found = parsed("compare", both, first, "laplace:epsilon=1")["mechanisms"]
    names = ["gaussian+laplace", "gaussian", "laplace:epsilon=1"]
    assert [each["name"] for each in found] == names


def test_an_infinite_epsilon_of_a_guarantee_is_explained(run):
    _, out, _ = run("compare", "A=any:epsilon=4,delta=1e-6", "B=any:epsilon=3,delta=1e-4")
    assert "B: the guarantee has δ = 0.0001 and says nothing at a smaller δ." in out
    assert "A: the guarantee has" not in out


def test_compare_says_who_leaks_more(run, parsed):
    names = ("any:epsilon=1", "laplace:epsilon=1", "gaussian:epsilon=1,delta=1e-5")
    _, out, _ = run("compare", *names)
    assert "any:epsilon=1 allows at least as much as laplace:epsilon=1 leaks, at every FPR." in out
    assert "None of them leaks least at every FPR: some curves cross." in out
    assert "Δ-divergence: by how much" in run("compare", *names, "--verbose")[1]
    found = parsed("compare", *names)
    assert [one["mechanism"] for one in found["mechanisms"]] == list(names)
    pair = found["pairs"][0]
    assert (pair["first_leaks_at_least_as_much"], pair["gap"]) == (True, 0)
    assert found["pairs"][1]["crossings"][0]["fpr"] == pytest.approx(1.51963e-4, rel=1e-5)


def test_the_noise_of_every_answer_stands_in_a_comparison(run):
    _, out, _ = run("compare", "laplace:epsilon=1", "gaussian:sigma=2")
    assert re.search(r"standard deviation of the answer +– +≈ 1.4142 += 2.0000", out)
    _, out, _ = run("compare", "laplace:epsilon=1", "any:epsilon=1")  # which has none
    assert "standard deviation" not in out


def test_a_comparison_of_two_says_once_who_leaks_more(run):
    out = run("compare", "laplace:epsilon=1", "laplace:epsilon=2", "--verbose")[1]
    assert " ".join(out.split()).count("leaks at least as much as") == 1


def test_a_sensitivity_that_nobody_gave_is_said(run):
    """Where it matters: noise by its size for a risk, any noise for a choice."""
    words = "sensitivity 1 (default): the most by which one record moves the answer."
    for command, said in {
        "risk laplace --scale 100": True,
        "risk gaussian:sigma=2,repeated=3": True,
        "risk laplace --scale 100 --sensitivity 100": False,
        "risk laplace --epsilon 1": False,
        "risk dpsgd --noise-multiplier 1 --sampling-rate 0.01 --steps 10": False,
        "choose laplace --max-advantage 0.1": True,
        "choose laplace --max-advantage 0.1 --sensitivity 2": False,
        "choose any --max-advantage 0.1": False,
        "compare laplace:scale=2 laplace:epsilon=1": True,
        "compare laplace:scale=2,sensitivity=1 any:epsilon=1": False,
        "compare laplace:epsilon=2 gaussian:sigma=2,sensitivity=1": True,
    }.items():
        out = " ".join(run(*command.split())[1].split())
        assert (words in out.replace("Sensitivity", "sensitivity")) is said, command
    assert (
        "- laplace:scale=2: sensitivity 1" in run("compare", "laplace:scale=2", "any:epsilon=1")[1]
    )


# -- region -------------------------------------------------------------------------------------


def test_an_impossible_attack_is_named(run, parsed):
    code, out, _ = run("region", "--epsilon", "1", "--fpr", "0.01", "--tpr", "0.05")
    assert code == 0
    assert out.startswith("impossible  FPR 0.01 with TPR 0.05, under ε = 1, δ = 0\n")
    assert "TPR ≤ e^ε·FPR + δ fails by 0.02282." in out
    assert "At this FPR the TPR is at most 0.0272; that of guessing is 0.0100." in out
    assert "counts to tellapart audit (--true-positives" in " ".join(out.split())
    assert "need confidence limits to refute a claim" in out
    found = parsed("region", "--epsilon", "2.5", "--delta", "1e-4", "--fpr", ".1", "--tpr", ".9")
    assert found["possible"] is True
    assert found["least_epsilon"] == pytest.approx(2.1971, abs=1e-4)


def test_the_largest_tpr_stands_beside_a_possible_attack(run):
    """Never rounded below what is allowed; of an attack worse than guessing it says nothing."""
    out = run(*["region", "--epsilon", "1", "--fpr", "0.01", "--tpr", "0.02"])[1]
    assert out.startswith("possible ")
    assert "At this FPR the TPR is at most 0.0272; that of guessing is 0.0100." in out
    out = run(*["region", "laplace", "--epsilon", "1", "--fpr", "0.01", "--tpr", "0.05"])[1]
    assert out.startswith("impossible ")
    assert "At this FPR the TPR is at most 0.0272; that of guessing is 0.0100." in out
    out = run(*["region", "--epsilon", "1", "--fpr", "0.05", "--tpr", "0.01"])[1]
    assert "the TPR is at most" not in out


def test_several_regions(parsed):
    found = parsed("region", "--epsilon", "0.5", "--epsilon", "1", "--delta", "0.1")
    assert [(one["epsilon"], one["delta"]) for one in found["regions"]] == [(0.5, 0.1), (1, 0.1)]
    assert found["regions"][1]["area"] == ta.PrivacyRegion(1, 0.1).area()


def test_the_region_of_a_mechanism(run):
    code, out, _ = run("region", "randomized-response", "--epsilon", "1", "--json")
    asked = json.loads(out)
    area = MechanismRegion(ta.RandomizedResponse(1).curve())
    assert code == 0
    assert asked["corners"] == area.vertices().tolist()
    assert asked["area"] == area.area()
    out = run("region", "gaussian", "--sigma", "2")[1]
    assert "membership advantage 0.1975" in out
    assert "The region is smooth" in out
    out = run("region", "laplace", "--epsilon", "1", "--fpr", "0.01", "--tpr", "0.05")[1]
    assert out.startswith("impossible")


def test_epsilon_from_a_published_precision_and_recall(run):
    point = ("--precision", "0.9", "--recall", "0.02", "--prior", "0.1", "--delta", "1e-5")
    asked = json.loads(run("region", *point, "--json")[1])
    assert asked["fpr"] == pytest.approx(0.02 * (0.1 / 0.9) * (0.1 / 0.9))
    assert asked["least_epsilon"] == pytest.approx(math.log((0.02 - 1e-5) / asked["fpr"]))
    assert "not a certified bound" in asked["caveat"]
    assert "not a certified bound" in " ".join(run("region", *point)[1].split())
    assert run("region", *point, "--epsilon", "1")[1].startswith("impossible")


# -- pictures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ("risk", "laplace", "--epsilon", "1"),
        ("risk", "laplace", "--epsilon", "1", "--kind", "profile"),
        ("risk", "laplace", "--epsilon", "1", "--kind", "people", "--prior", "0.1"),
        ("compare", "any:epsilon=1", "laplace:epsilon=1", "--kind", "precision-recall"),
        ("choose", "laplace", "--max-advantage", "0.1"),
        ("choose", "any", "--max-advantage", "0.1"),
        ("choose", "discrete-laplace", "--max-advantage", "0.5"),
        ("choose", "gaussian-classic:delta=1e-5", "--max-advantage", "0.2"),
        ("compare", "laplace:epsilon=1", "gaussian:sigma=1"),
        ("region", "--epsilon", "1", "--epsilon", "2"),
        ("region", "laplace", "--epsilon", "1"),
        ("region", "--precision", "0.9", "--recall", "0.02", "--prior", "0.5"),
        ("region", "--epsilon", "1", "--fpr", "0.01", "--tpr", "0.05"),
    ],
)
def test_every_command_draws(run, tmp_path, command):
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    code, out, err = run(*command, "--plot", str(first))
    assert (code, err) == (0, "")
    assert f"Picture: {first}" in out.replace("\n", "")
    assert run(*command, "--plot", str(second))[0] == 0
    assert first.read_bytes() == second.read_bytes()
    assert first.read_text(encoding="utf-8").startswith("<?xml")


# -- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("risk", "a guarantee or a mechanism must be given: tellapart risk --epsilon 1, or"),
        (
            "risk any:",
            "mechanism must be given as any:epsilon=…,[delta=…] or any:mu=… or any:zcdp=…",
        ),
        ("risk laplac --epsilon 1", "mechanism must be one of any, laplace, "),
        (
            "plan gaussian --mu 0.5 --seconds 1",
            "mechanism must be given as gaussian:sigma=…,[sensitivity=…] or gaussian:epsilon=…,"
            "delta=…,[sensitivity=…], or any:mu=0.5 for every mechanism that promises it, got",
        ),
        ("risk laplace --epsilon -1", "--epsilon must be finite and at least 0, got -1.0"),
        ("risk laplace:epsilon=1 --epsilon 2", "mechanism must give epsilon only once"),
        ("risk --epsilon 1 --prior 2", "--prior must lie in [0, 1], got 2.0"),
        (
            "risk --epsilon 1 --prior 1",
            "the prior must lie strictly between 0 and 1, got {'prior': 1.0}",
        ),
        (
            "risk --epsilon 1 --gamma 0",
            "the prior must lie strictly between 0 and 1, got {'gamma': 0.0}",
        ),
        ("risk --epsilon 1 --out-of 1.5", "--out-of must be a whole number"),
        ("risk laplace --epsilon 1 --weight 1e200", "--weight must lie between 1e-150 and 1e150"),
        ("risk laplace:epsilon=1,,", "mechanism must be written as name:key=number,key=number"),
        ("choose laplace --max-advantage 10", "--max-advantage must lie in [0, 1], got 10.0"),
        ("choose laplace --max-advantage nan", "--max-advantage must not be NaN, got nan"),
        (
            "choose laplace --max-advantage 0.1 --parameter foo",
            "--parameter must be one that 'laplace' leaves open (epsilon, scale), got 'foo'",
        ),
        (
            "choose gaussian --max-posterior 0.9",
            "infeasible: no parameter keeps max posterior ≤ 0.9, prior 0.5: some outputs, however "
            "rare, make membership as good as certain, as with Gaussian noise or any δ > 0; use "
            "laplace or discrete-laplace, or limit the PPV at an FPR (--max-ppv)",
        ),
        (
            "choose gaussian --max-ppv 0.5 --prior 0.5",
            "infeasible: even perfect privacy (ε = 0) has PPV = 0.5, which "
            "none here is shown to reach, and PPV ≤ 0.5 at FPR 0.01, prior 0.5 is asked; ask for "
            "more than 0.5",
        ),
        ("frameworks chain.toml --epsilon 1", "frameworks has no option --epsilon (see tellapart"),
        ("risk --epsilon 1 --verbos", "risk has no option --verbos; did you mean --verbose? (see"),
        ("region --epsilon 1 --fpr 0.1 --tpr 1.5", "--tpr must lie in [0, 1], got 1.5"),
        (
            "risk --epsilon 1 --prior 0.1 --gamma 3",
            "the prior must be given in one way: --prior, or --gamma, or the --rho coefficients",
        ),
        (
            "risk --epsilon 1 --rho-p 0 --rho-c 0.6",
            "rho_p, rho_c and rho_t must keep (2 − rho_p)(1 − rho_c)(1 − rho_t) at least 1",
        ),
        ("risk --epsilon one", "--epsilon must be a number, got 'one' (see tellapart risk --help)"),
        ("risk --epsilon 1 --prior 5%", "--prior must be a number, got '5%'; write 0.05 "),
        ("explore --port abc", "--port must be a whole number, got 'abc' (see tellapart explore"),
        ("risk --epsilon 1 --at-delta 2", "--at-delta must lie in [0, 1], got 2.0"),
        ("risk --epsilon 1 --fpr=2", "--fpr must lie strictly between 0 and 1, got 2.0"),
        ("risk laplace:epsilon=-1", "epsilon must be finite and at least 0, got -1"),
        ("risk --epsilon", "--epsilon must be followed by a value (see tellapart risk --help)"),
        (
            "risk --epsilon 1 --epsilon 2",
            "--epsilon must be given once (see tellapart risk --help)",
        ),
        ("risk laplace gaussian --epsilon 1", "risk must be given no more arguments, got 'gauss"),
        ("risk 2", "ε must be given by its name: tellapart risk --epsilon 2"),
        ("risk epsilon=0.5", "ε must be given by its name: tellapart risk --epsilon 0.5"),
        ("risk --eps 2", "risk has no option --eps; did you mean --epsilon? (see tellapart risk"),
        (
            "audit scores.csv --lower-is-member",
            "audit has no option --lower-is-member; did you mean --orientation lower? (see",
        ),
        ("risk --losses", "risk has no option --losses (see tellapart risk --help)"),
        ("risk --ε 2", "risk has no option --ε; did you mean --epsilon? (see tellapart risk"),
        ("risk --sensitivty 2", "risk has no option --sensitivty; did you mean --sensitivity?"),
        ("risk --xyzzy 2", "risk has no option --xyzzy (see tellapart risk --help)"),
        ("choose", "MECHANISM must be given, as in: tellapart choose laplace --max-f-score 0.76 ("),
        ("region", "a guarantee, a mechanism or an attack must be given: tellapart region "),
        (
            "compare any:epsilon=1 any:epsilon=2 --plot x.svg --kind people",
            "--kind must be another picture: ",
        ),
        ("risk --epsilon 1 --plot x.txt", "--plot must end in .svg, .png or .pdf, got 'x.txt'"),
        ("risk --epsilon 1 --plot no/x.svg", "No such file or directory: no/x.svg"),
        ("choose laplace", "at least one limit must be given, such as --max-advantage 0.1"),
        (
            "choose laplace --max-f-score 0.6",
            "infeasible: even perfect privacy (ε = 0) has F-score = 0.6667",
        ),
        ("compare laplace:epsilon=1", "mechanisms must be at least two different ones, or stand "),
        (
            "compare laplace gaussian --epsilon 1",
            "compare has no option --epsilon; write it into each mechanism, such as "
            "laplace:epsilon=1 (see",
        ),
        ("compare laplace gaussian --xyzzy 1", "compare has no option --xyzzy (see"),
        (
            "compare laplace:epsilon=1 gaussian:epsilon=1",
            "mechanism must have delta, too, got 'gaussian:epsilon=1'; write "
            "gaussian:epsilon=1,delta=1e-5, as it has no finite ε at δ = 0",
        ),
        (
            "risk gaussian --epsilon 1",
            "mechanism must have --delta, too, got 'gaussian:epsilon=1'; ",
        ),
        (
            "choose gaussian --max-epsilon 1 --delta 0",
            "infeasible: no parameter keeps ε ≤ 1 at δ = 0: it is infinite at every one "
            "tried, as ε is at δ = 0 with Gaussian noise; take a larger δ (--delta 1e-5), or lapl",
        ),
        (
            "choose laplace --epsilon 1",
            "--epsilon must be left out where it leaves nothing to choose, got 1; did you mean "
            "--max-epsilon 1?",
        ),
        (
            "risk --epsilon 1 --kind people",
            "--kind must come with --plot, which draws it, got 'people'",
        ),
        (
            "compare any:epsilon=1 any:epsilon=2 --kind roc",
            "--kind must come with --plot, which draws it, got 'roc'",
        ),
        (
            "region --epsilon 1 --fpr 0.1",
            "--fpr and --tpr must be given together: --tpr is missing",
        ),
        (
            "region --precision 0.9 --prior 0.5",
            "--precision, --recall and --prior must be given together, as the FPR follows from all "
            "three: without --recall it is unknown",
        ),
        (
            "region --epsilon 1 --epsilon 2 --fpr 0.1 --tpr 0.2",
            "--epsilon must be given once beside the rates of an attack, got (1.0, 2.0)",
        ),
        (
            "region --epsilon 1 --epsilon 2 --epsilon 3 --delta 0 --delta 0.1",
            "--delta must be given once or as often as epsilon (3 times), got (0.0, 0.1)",
        ),
        (
            "risk gaussian:sigma=1 --people 100",
            "--people must come with --predicate-weight (for the population in sentences: ",
        ),
        (
            "choose gaussian --max-advantage 0.1 --baseline 0.01",
            "--baseline must come with --max-reconstruction or --max-attribute-inference",
        ),
        (
            "risk gaussian:sigma=1 --repeated 12",
            "risk has no option --repeated; write it into the mechanism: "
            "gaussian:sigma=1,repeated=12 (see",
        ),
        (
            "choose laplace --max-epsilon 1 --repeat 12",
            "choose has no option --repeat; write it into the mechanism: laplace:repeated=12 (see",
        ),
        (
            "risk --epsilon 1 --sampled 0.1",
            "risk has no option --sampled; write it into the mechanism: "
            "gaussian:sigma=2,sampled=0.01 (see",
        ),
        ("risk --epsilon 1 --prior 1/500", "--prior must be a number, got '1/500'; write 0.002 ("),
        (
            "choose dpsgd --max-epsilon 1",
            "mechanism must have --sampling-rate and --steps (or --epochs and --batch-size and "
            "--data-size), too; --noise-multiplier is then chosen, got 'dpsgd'",
        ),
        (
            "risk dpsgd:noise_multiplier=1",
            "mechanism must have sampling_rate and steps (or epochs and batch_size and data_size), "
            "too, got 'dpsgd:noise_multiplier=1'",
        ),
        (
            "choose dpsgd --max-tpr 0.1 --epochs 10 --sampling-rate 0.01",
            "mechanism must have either --sampling-rate (with --steps) or --epochs (with "
            "--batch-size and --data-size), not both, got 'dpsgd:sampling_rate=0.01,epochs=10'",
        ),
        (
            "decide",
            "FILE must be there (to begin one: tellapart decide --init decision.toml), got "
            "'decision.toml'",
        ),
        ("nothing", f"command must be one of {ALL}, got 'nothing' (see tellapart --help)"),
        ("explain 2", f"command must be one of {ALL}, got 'explain'; did you mean risk? ("),
        ("open", f"command must be one of {ALL}, got 'open'; did you mean explore? (see"),
        ("version", f"command must be one of {ALL}, got 'version'; did you mean --version? ("),
        ("audits x.csv", f"command must be one of {ALL}, got 'audits'; did you mean audit? ("),
    ],
)
def test_a_refusal_is_one_line(run, tmp_path, monkeypatch, command, message):
    """Bad use is exit code 2; that no parameter keeps a limit is an answer, and 1."""
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*command.split())
    assert (code, out) == (1 if message.startswith("infeasible") else 2, "")
    assert err.startswith(f"tellapart: {message}")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_is_refused_before_anything_is_computed(run, tmp_path):
    """The mechanism is wrong, too: nobody has looked at it yet."""
    code, out, err = run("risk", "nothing", "--plot", f"{tmp_path}/missing/x.svg")
    assert (code, out) == (2, "")
    assert err == f"tellapart: No such file or directory: {tmp_path}/missing/x.svg\n"


def test_a_name_that_is_nearly_one_is_asked_back(run):
    for name, near in (("Gaussian", "gaussian"), ("dp-sgd", "dpsgd"), ("laplcae", "laplace")):
        code, _, err = run("risk", name, "--epsilon", "1")
        assert code == 2
        assert err.endswith(f" (did you mean {near}?), got '{name}'\n")


def test_help_may_be_asked_for_by_a_word(run):
    assert run("help") == run("--help")
    assert run("help", "risk") == run("risk", "--help")
    assert run("help", "risk")[0] == 0


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
@pytest.mark.parametrize(
    "command",
    [
        "compare any:epsilon=1 laplace:epsilon=1 gaussian:epsilon=1,delta=1e-5",
        "choose laplace --max-f-score 0.76 --max-advantage 0.9",
        "region --epsilon 0.5 --epsilon 1",
        "risk gaussian --sigma 2",
    ],
)
def test_no_terminal_is_too_narrow_to_show_every_number(run, monkeypatch, command, width):
    monkeypatch.setenv("COLUMNS", "300")
    wide = run(*command.split())[1]
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = run(*command.split())[1]
    number = r"(?<![\w.])\d+\.\d{2,}(?:e-\d+)?(?!\d)"
    assert set(re.findall(number, narrow)) == set(re.findall(number, wide))
    assert max(map(len, narrow.splitlines())) <= max(width, 45)


def test_pure_guessing_is_possible_however_rare(parsed):
    found = parsed("region", "--epsilon", "1", "--fpr", "1e-20", "--tpr", "1e-20")
    assert (found["possible"], found["least_epsilon"]) == (True, 0.0)


def test_choose_takes_parameters_by_name(parsed):
    by_name = parsed("choose", "gaussian", "--delta", "1e-6", "--max-advantage", "0.1")
    by_text = parsed("choose", "gaussian:delta=1e-6", "--max-advantage", "0.1")
    assert by_name["value"] == by_text["value"]


def test_an_epsilon_for_one_step_of_many_is_not_offered_to_any_mechanism(parsed):
    found = parsed("choose", "laplace:repeated=3", "--max-advantage", "0.1")
    assert found["value"] < 0.8 * parsed("choose", "laplace", "--max-advantage", "0.1")["value"]
    assert found["any_mechanism"] is None


def test_readings_have_stable_keys(parsed):
    found = parsed("risk", "laplace:epsilon=1", "--fpr", "0.05")
    assert [one["key"] for one in found["readings"]] == [
        "advantage", "tpr", "ppv", "precision", "max_posterior",
        "f_score", "accuracy", "bayes_error", "auc", "gdp", "epsilon",
    ]  # fmt: skip


OTHERS = [pytest.param(one, marks=pytest.mark.slow) for one in ("cp1252", "utf-8")]


@pytest.mark.parametrize("encoding", ["ascii", *OTHERS])
@pytest.mark.parametrize("extra", [[], ["--json"], ["--help"]])
def test_a_terminal_without_greek_still_gets_its_answer(encoding, extra):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tellapart", "risk", "--epsilon", "1", *extra],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        timeout=60,
        check=True,
    )
    assert done.stderr == b""
    if extra == ["--json"]:
        assert json.loads(done.stdout.decode(encoding))["readings"][-1]["name"] == "ε at δ = 0"


def test_debug_shows_the_traceback_and_keeps_the_code(run):
    code, out, err = run("risk", "laplace", "--epsilon", "-1", "--debug")
    assert (code, out) == (2, "")
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("\ntellapart: --epsilon must be finite and at least 0, got -1.0\n")


# -- help, and the program itself ---------------------------------------------------------------


def shown_examples(out):
    """Every example in a help text, its lines joined as a shell joins them."""
    joined = re.sub(r"\\ *\n *", "", out)
    return re.findall(r"^ +tellapart (\w+\b[^\n]*?) *$", joined, re.M)


@pytest.mark.parametrize(
    "command", ["", "risk", "choose", "compare", "region", "audit", "report", "reproduce"]
)
@pytest.mark.parametrize("columns", ["60", "80"])
def test_no_example_is_cut_off_by_a_narrow_terminal(run, monkeypatch, command, columns):
    monkeypatch.setenv("COLUMNS", "200")
    _, wide, _ = run(*command.split(), "--help")
    monkeypatch.setenv("COLUMNS", columns)
    _, narrow, _ = run(*command.split(), "--help")
    assert shown_examples(narrow) == shown_examples(wide) != []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_option_is_offered_that_nobody_wrote(run, command):
    """A list or a flag has no opposite, such as --empty-delta, unless someone meant it."""
    _, out, _ = run(command, "--help")
    meant = {"--no-browser"} if command == "explore" else set()
    assert set(re.findall(r"--(?:no|empty)-[\w-]+", out)) == meant


def test_help_is_wrapped_and_nothing_of_it_is_cut_off(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    _, out, _ = run("audit", "--help")
    assert max(map(len, out.splitlines())) <= 40
    assert "by its own fair coin;" in " ".join(out.split())


def test_the_first_help_has_examples_that_work(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_text("score,member\n" + "0.5,1\n0.5,0\n" * 20)
    release = "def noisy_count(data, rng, size):\n    return len(data) + rng.laplace(size=size)\n"
    (tmp_path / "release.py").write_text(release)
    examples = Path(__file__).resolve().parents[3] / "examples"
    shutil.copy(examples / "chain.toml", tmp_path)
    (tmp_path / "train.py").write_text((examples / "train.py").read_text() + "\nmake = poisson\n")
    monkeypatch.setattr("tellapart.web.serve", lambda *_, **_given: None)
    _, out, _ = run("--help")
    examples = shown_examples(out)
    assert "explore" in examples
    assert any("dpsgd" in one for one in examples)
    assert any("probe" in one for one in examples)
    assert any("frameworks" in one for one in examples)
    assert any("report gaussian" in one for one in examples)
    for example in examples:
        code = 3 if example.endswith("--check") else 0  # nobody has edited the file that was begun
        assert run(*shlex.split(example))[::2] == (code, "")


@pytest.mark.parametrize("command", ["risk", "choose", "compare", "region", "reproduce"])
def test_every_help_has_examples_that_work(run, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run(command, "--help")
    assert code == 0
    examples = shown_examples(out)
    assert examples
    assert all(one.split()[0] == command for one in examples)
    if command == "reproduce":
        return
    for example in examples:
        assert run(*example.split())[::2] == (0, "")


def test_the_program_is_installed_and_survives_a_closed_pipe():
    program = [sys.executable, "-m", "tellapart", "risk", "--epsilon", "1"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


def test_the_version(run):
    assert run("--version")[1] == f"tellapart {ta.__version__}\n"


# -- help ---------------------------------------------------------------------------------------


def options_in(out):
    return set(re.findall(r"(?<![\w-])--[a-z-]+", out.partition("╭─ Arguments")[2]))


@pytest.mark.parametrize("command", ["choose", "risk"])
def test_help_shows_the_parameters_of_the_mechanism_that_is_named(run, command):
    code, out, _ = run(command, "gaussian", "--help")
    assert code == 0
    named = options_in(out)
    assert {"--sigma", "--epsilon", "--delta", "--sensitivity", "--prior"} <= named
    assert named.isdisjoint({"--scale", "--noise-multiplier", "--steps", "--zcdp", "--rho-p"})
    training = options_in(run(command, "dpsgd:steps=9", "-h")[1])
    assert {"--noise-multiplier", "--sampling-rate", "--steps", "--epochs"} <= training
    assert "--scale" not in training


def test_help_all_shows_every_option(run):
    code, out, _ = run("choose", "gaussian", "--help-all")
    assert code == 0
    assert {"--scale", "--steps", "--zcdp", "--rho-p", "--rho-c", "--rho-t"} <= options_in(out)
    assert "Coefficients of Liu et al. (2019), instead of --prior" in out


def test_what_help_leaves_out_is_taken(parsed):
    found = parsed("risk", "laplace", "--epsilon", "1", "--rho-p", "0.2")
    assert found["prior"] == pytest.approx(1 / 1.8)


def test_a_sampling_scheme_is_an_option_of_training(run, parsed):
    options = ("--noise-multiplier", "1", "--sampling-rate", "0.1", "--steps", "10")
    for word, scheme in (
        ("fixed-size", ta.Sampling.WITHOUT_REPLACEMENT),
        ("random-allocation", ta.Sampling.RANDOM_ALLOCATION),
        ("shuffled", ta.Sampling.SHUFFLED),
    ):
        told = parsed("risk", "dpsgd", *options, "--scheme", word)
        training = ta.dp_sgd(1, 0.1, 10, scheme=scheme)
        (epsilon,) = (each for each in told["readings"] if each["key"] == "epsilon")
        assert epsilon["value"] == training.curve().epsilon(1e-5)
        assert told["mechanism"].endswith(f",scheme={word}")
    code, _, err = run("risk", "dpsgd", *options, "--scheme", "sorted")
    assert code == 2
    assert '"poisson", "fixed-size", "random-allocation", ' in err


def test_bounds_on_guesses_stand_beside_an_attack_on_shuffled_batches(run):
    """The attack is on membership: of guesses about a record it says nothing, and no error does."""
    command = (
        "risk dpsgd --noise-multiplier 1 --sampling-rate 0.1 --steps 10 --scheme shuffled "
        "--baseline 0.01"
    )
    code, out, err = run(*command.split())
    assert (code, err) == (0, "")
    assert "reconstruction, baseline 0.01" in out
    assert "Whoever could guess this about a person with chance 0.01" in " ".join(out.split())
