"""The audit command as someone types it: verdicts, exit codes, refusals, reports."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit.attack_metrics import why_no_epsilon
from tellapart.audit.summary import DESIGNS

COUNT = 200


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with scores: of many runs, of canaries in one run, of a harmless attack."""
    draw = np.random.default_rng(7)
    member = np.repeat([1, 0], COUNT)
    rows = {
        "score": draw.normal(2.0 * member, 1),
        "member": member,
        "training": np.arange(2 * COUNT),
    }
    rows |= {"record": np.tile(["a", "b"], COUNT), "loss": -rows["score"]}
    np.savez(tmp_path / "runs.npz", **rows)
    lines = [",".join(rows), *(",".join(map(str, one)) for one in zip(*rows.values(), strict=True))]
    (tmp_path / "runs.csv").write_text("\n".join(lines) + "\n")
    coins = draw.integers(0, 2, 1000)
    np.savez(tmp_path / "canaries.npz", score=draw.normal(3.0 * coins, 1), member=coins)
    np.savez(tmp_path / "quiet.npz", score=draw.normal(size=2 * COUNT), member=member)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def written_by_lira(folder):
    """Twelve experiments as LiRA's reference code leaves them."""
    rng = np.random.default_rng(4)
    for model, row in enumerate(rng.random((12, 300)).argsort(axis=0) < 6):
        place = folder / f"experiment-{model}_12"
        (place / "scores").mkdir(parents=True)
        np.save(place / "keep.npy", row)
        np.save(place / "scores" / "0000000100.npy", rng.normal(4.0 * row)[:, None])


def read(name="runs.npz", **options):
    return audit.Scores.read(name, **options)


MANY = "audit runs.npz --design many-runs"


# -- verdicts and exit codes ---------------------------------------------------------------------


def test_a_refuted_claim_is_said_first_and_is_exit_code_one(run):
    code, out, err = run(f"{MANY} --epsilon 1 --delta 1e-5")
    assert (code, err) == (1, "")
    assert out.startswith(
        "REFUTED: the claim ε = 1, δ = 1e-5, at 95 % confidence\n  Lower bound: ε ≥ "
    )
    parts = [
        "REFUTED",
        "Lower bound: ε ≥",
        "p-value: p ≤",
        "Where:",
        "Power:",
        "Multiple-testing budget (α = 5 %): 10 tests",
        "Experimental design: many-runs, 200 members and 200 non-members.",
        "Assumptions:",
        "--verbose",
    ]
    assert [out.index(one) for one in parts] == sorted(out.index(one) for one in parts)
    assert "No run column was given, so independence is taken on trust." in " ".join(out.split())
    assert "\n  - " not in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_claim_that_stands_is_exit_code_zero_and_not_called_private(run):
    code, out, err = run(f"{MANY} --epsilon 4 --delta 1e-5 --run-column training")
    assert (code, err) == (0, "")
    assert out.startswith("NOT REFUTED: the claim ε = 4, δ = 1e-5, at 95 % confidence\n")
    assert "Not refuted does not mean that the claim is true." in out
    assert "More samples:" in out
    assert "No run has two scores: the run column was checked." in " ".join(out.split())


def test_verbose_lists_the_whole_budget_and_every_assumption(run):
    brief = run(f"{MANY} --epsilon 1 --delta 1e-5")[1]
    out = run(f"{MANY} --epsilon 1 --delta 1e-5 --verbose")[1]
    head = brief.partition("\n\n")[0]
    assert out.startswith(head)
    for line in (
        "- ranks of non-members (TPR at small FPR): ",
        "- no correction is needed for testing several claims: the tests are nested\n",
        "- Runs of members and of non-members differ in the record alone.\n",
        "- No run column was given, so independence is taken on trust.\n",
    ):
        assert line in out
    assert "--verbose" not in out


@pytest.mark.parametrize(
    ("rows", "design"), [(3, "many-runs"), (4, "one-run")], ids=["many runs", "one run"]
)
def test_scores_too_few_to_refute_are_no_verdict_and_exit_code_three(run, parsed, rows, design):
    np.savez("few.npz", score=np.arange(2.0 * rows), member=np.repeat([0, 1], rows))
    command = f"audit few.npz --design {design} --epsilon 1"
    code, out, err = run(command)
    assert (code, err) == (3, "")
    assert " ".join(out.splitlines()[:2]).startswith(
        "NO VERDICT: the claim ε = 1, δ = 0, as no outcome of so few samples could"
    )
    assert "REFUTED" not in out
    assert parsed(command, code=3)["refuted"] is None


def test_without_a_claim_there_are_bounds_and_no_verdict(run, parsed):
    code, out, _ = run(MANY)
    assert code == 3
    assert out.startswith("NO CLAIM: what the scores show, at 95 % confidence\n")
    assert "REFUTED" not in out
    found = parsed(MANY, code=3)
    assert (found["refuted"], found["claim"], found["finding"]) == (None, None, None)
    evidence = audit.many_runs(read())
    shown = {one["what"]: one["value"] for one in found["shown"]}
    assert shown == {
        **{
            f"ε at δ = {d}": evidence.epsilon_lower(float(d)).value
            for d in ("0", "1e-6", "1e-5", "0.001")
        },
        "μ of Gaussian DP": evidence.mu_lower().value,
    }


def test_a_bound_is_shown_rounded_down(parsed):
    for one in parsed(MANY, code=3)["shown"]:
        assert float(one["words"].removeprefix("≥ ")) <= one["value"]


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ("", audit.Ranks()),
        ("--method ranks", audit.Ranks()),
        ("--method split --seed 4", audit.Split(delta=1e-5, seed=4)),
        ("--method band", audit.Band()),
    ],
)
def test_json_is_what_the_library_says(parsed, options, method):
    found = parsed(f"{MANY} --epsilon 1 --delta 1e-5 --confidence 0.9 {options}", code=1)
    verdict = audit.judge(ta.guarantee(1, 1e-5), audit.many_runs(read(), 0.9, method))
    assert verdict.refuted
    assert found["refuted"] is True
    assert found["headline"] == verdict.headline
    assert found["reasons"] == verdict.reasons()
    assert found["finding"]["p_value"] == verdict.finding.p_value
    assert found["detectable"] == verdict.detectable
    assert found["confidence"] == verdict.confidence
    spent = sum(one["looks"] * one["level"] for one in found["ledger"]["entries"])
    assert spent == pytest.approx(0.1)


def test_a_threshold_that_was_fixed_beforehand(run):
    np.savez("few.npz", members=np.arange(30.0), non_members=np.arange(-20.0, 10.0))
    code, out, _ = run(
        "audit few.npz --design many-runs --method fixed --threshold 9 --epsilon 0.1 -v"
    )
    assert code == 1
    assert "  Where: score > 9: 66.7 % of members (20 of 30) against 0 of 30 non-members" in out
    assert "(0 %, observed); at an FPR of 1 in 30 the claim allows" in " ".join(out.split())
    assert "  - the event score > 9: 0.0375\n" in out


def test_json_holds_all_that_a_reader_needs(parsed, folder):
    quiet = "audit quiet.npz --design many-runs --epsilon 3"
    found = parsed(quiet)
    assert list(found) == [
        "headline", "title", "reasons", "refuted", "claim", "unit", "neighbours", "meaning",
        "design", "sample", "members", "non_members", "calls", "confidence", "method",
        "shown", "finding", "ledger", "power", "detectable", "samples_needed",
        "assumptions", "privacy_budget", "watched", "checklist", "curves", "made",
    ]  # fmt: skip
    assert found["samples_needed"] == "inf"
    assert found["made"]["command"] == f"tellapart {quiet} --json"
    size = (folder / "quiet.npz").stat().st_size
    assert found["made"]["inputs"] == [{"file": "quiet.npz", "bytes": size}]
    assert found["made"]["seed"] is None  # nothing was drawn
    assert parsed(f"{quiet} --method split --seed 5")["made"]["seed"] == 5
    assert set(found["made"]["versions"]) == {"tellapart", "Python", "NumPy", "SciPy"}
    claim, shown = (np.array(found["curves"][one]["points"]) for one in ("claim", "evidence"))
    assert np.array_equal(claim[:, 1], ta.guarantee(3).tpr(claim[:, 0]))
    assert np.array_equal(shown[:, 1], audit.many_runs(read("quiet.npz")).curve().tpr(shown[:, 0]))


@pytest.mark.parametrize(
    ("options", "claim"),
    [
        ("--mu 0.5", "of Gaussian DP with μ = 0.5"),
        ("--mechanism gaussian --sigma 2", "gaussian:sigma=2"),
        ("--mechanism gaussian:sigma=2", "gaussian:sigma=2"),
        ("--mechanism laplace --scale 1 --sensitivity 0.5", "laplace:scale=1,sensitivity=0.5"),
        ("--mechanism any:epsilon=1", "ε = 1, δ = 0"),
        ("--zcdp 0.1", "any:zcdp=0.1"),
    ],
)
def test_a_claim_is_named_as_elsewhere(parsed, options, claim):
    found = parsed(f"{MANY} {options}", code=1)
    assert found["headline"] == f"REFUTED: the claim {claim}, at 95 % confidence"


@pytest.mark.parametrize(("method", "word"), [("joint-beta", "joint Beta"), ("jeffreys", "Jeff")])
def test_a_belief_is_told_and_refutes_nothing(run, parsed, method, word):
    code, out, _ = run(f"{MANY} --epsilon 0.1 --method {method} --threshold 1")
    assert code == 3
    assert out.startswith("NO VERDICT: the claim ε = 0.1, δ = 0, as a Bayesian bound cannot")
    assert "REFUTED" not in out
    assert word in out
    assert "overclaims" in out
    found = parsed(f"{MANY} --epsilon 0.1 --method {method} --threshold 1", code=3)
    assert found["refuted"] is None


def test_columns_orientation_and_csv(parsed):
    usual = parsed(f"{MANY} --epsilon 1", code=1)
    other = parsed(
        "audit runs.csv --design many-runs --epsilon 1 --score-column loss --orientation lower",
        code=1,
    )
    assert [one["value"] for one in other["shown"]] == [one["value"] for one in usual["shown"]]
    both = parsed(f"{MANY} --epsilon 1 --orientation either", code=1)
    assert both["shown"][0]["value"] < usual["shown"][0]["value"]


def test_each_group_is_paid_for(parsed):
    found = parsed(f"{MANY} --epsilon 1 --each-group record", code=1)
    scores = read(group="record")
    evidence = audit.many_runs(scores, each_group=True)
    assert found["shown"][0]["value"] == evidence.epsilon_lower().value
    assert [one["what"][:8] for one in found["ledger"]["entries"]] == ["group a:"] * 2 + [
        "group b:"
    ] * 2


def test_groups_share_the_level_as_told(parsed):
    found = parsed(f"{MANY} --epsilon 1 --each-group record --share a=0.9", code=1)
    evidence = audit.many_runs(read(group="record"), each_group=True, shares={"a": 0.9})
    assert found["shown"][0]["value"] == evidence.epsilon_lower().value
    levels = [entry["level"] for entry in found["ledger"]["entries"]]
    assert levels == [entry.level for entry in evidence.ledger.entries]


def test_a_long_ledger_is_summed_up(run, folder):
    groups = np.tile(np.arange(20), 2 * COUNT // 20)
    held = dict(np.load(folder / "runs.npz"))
    np.savez(folder / "many.npz", score=held["score"], member=held["member"], who=groups)
    _, out, _ = run("audit many.npz --design many-runs --epsilon 1 --each-group who -v")
    assert re.search(r"- and \d+ further tests, 0\.035 together\n", out)  # 28 of 40 kinds


# -- one run -------------------------------------------------------------------------------------

ONE = "audit canaries.npz --design one-run"


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ("", None),
        ("--guesses-in 50", audit.Guessing(50, 0)),
        ("--guesses-in 50 --guesses-out 30", audit.Guessing(50, 30)),
        ("--guesses-out 30", audit.Guessing(0, 30)),
        (
            "--guesses-in 50 --guesses-in 9 --guesses-out 50 --guesses-out 0",
            [audit.Guessing(50, 50, 0.5), audit.Guessing(9, 0, 0.5)],
        ),
        (
            "--guesses-in 50 --guesses-in 9 --share 0.8 --share 0.1",
            [audit.Guessing(50, 0, 0.8), audit.Guessing(9, 0, 0.1)],
        ),
        ("--method split --seed 2", audit.Split(delta=1e-5, seed=2)),
    ],
)
def test_one_run(parsed, run, options, method):
    found = parsed(f"{ONE} --epsilon 0.5 --delta 1e-5 --confidence 0.9 {options}", code=1)
    claim = ta.guarantee(0.5, 1e-5)
    evidence = audit.one_run(read("canaries.npz"), 0.9, method, claim=claim)
    assert found["confidence"] == evidence.confidence
    assert found["reasons"] == audit.judge(claim, evidence).reasons()
    assert list(found["curves"]) == ["claim"]


def test_independent_canaries_refute_the_stated_mechanism_and_say_so(parsed):
    found = parsed(f"{ONE} --mechanism gaussian --sigma 4 --method independent", code=1)
    claim = ta.Gaussian(sigma=4)
    evidence = audit.one_run(read("canaries.npz"), method=audit.IndependentCanaries())
    assert audit.judge(claim, evidence).refuted
    assert audit.IndependentCanaries.about in found["reasons"]
    assert audit.IndependentCanaries.assumption in found["assumptions"]
    assert "not differential privacy itself" in found["headline"]
    states = {item["key"]: item["state"] for item in found["checklist"]}
    assert (states["mechanism"], states["epsilon"]) == ("refuted", "stated")


@pytest.mark.parametrize("claim", ["--epsilon 1 --delta 1e-5", "--mu 0.5"])
def test_independent_canaries_need_a_mechanism(run, claim):
    code, _, err = run(f"{ONE} {claim} --method independent")
    assert code == 2
    said = " ".join(err.split())
    assert "--mechanism gaussian --sigma 2" in said
    assert "leave out" in said
    assert "--method independent" in said


def test_independent_canaries_without_a_claim_say_what_they_are_of(parsed):
    found = parsed(f"{ONE} --method independent", code=3)
    assert audit.IndependentCanaries.about in found["reasons"]


def test_one_run_says_what_it_rests_on(run):
    code, out, _ = run(f"{ONE} --epsilon 5")
    assert code == 0
    assert "each canary was in or out by its own fair coin" in " ".join(out.split())


# -- one model -----------------------------------------------------------------------------------


def test_one_model_has_metrics_and_says_why_there_is_no_verdict(run, parsed):
    code, out, err = run("audit runs.npz --design one-model")
    assert (code, err) == (3, "")
    assert out.startswith("NO VERDICT: metrics of one attack on these scores\n")
    assert why_no_epsilon(None)[1:] in " ".join(out.split())
    assert "confidence" not in out
    found = parsed("audit runs.npz --design one-model", code=3)
    described = audit.metrics(read())
    shown = {one["what"]: one["value"] for one in found["shown"]}
    assert shown["AUC"] == described.auc
    assert shown["TPR at FPR ≤ 0.01"] == described.at_fpr[0.01].tpr
    assert shown["largest TPR − FPR"] == described.advantage
    assert (found["refuted"], found["confidence"], found["ledger"]) == (None, None, None)


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "audit runs.npz --epsilon 1",
            "--design must be given: "
            "many-runs (every score is of its own independent training or call, with the record "
            "in or out); one-run (one training, every canary in or out by its own fair coin); "
            "one-model (one trained model and no coins: attack metrics only, no bound on ε and no "
            "verdict)",
        ),
        (
            "audit runs.npz --design one-model --epsilon 1",
            f"no claim can be judged with --design one-model: {why_no_epsilon(1)}",
        ),
        (
            "audit --design many-runs",
            "a score file must be given, such as: tellapart audit scores.csv --design many-runs",
        ),
        ("audit no.csv --design many-runs", "path must name a file that is there, got 'no.csv'"),
        (f"{MANY} --score-column x", "runs.npz must have an array 'x', has 'score', 'member'"),
        (f"{MANY} --epsilon -1", "--epsilon must be finite and at least 0, got -1.0"),
        (f"{MANY} --delta 0.1", "mechanism must have --epsilon, too, got 'any:delta=0.1'"),
        (f"{MANY} --mechanism laplac", "--mechanism must be one of any, laplace, "),
        (f"{MANY} --confidence 1", "--confidence must lie strictly between 0 and 1, got 1.0"),
        (
            f"{MANY} --method fixed",
            "--method must come with --threshold, chosen before seeing these scores, got 'fixed'",
        ),
        (
            f"{MANY} --threshold 2",
            "--threshold must come with --method fixed, joint-beta or jeffreys, "
            "and only with them, got 2.0",
        ),
        (f"{MANY} --guesses-in 3", "--guesses-in must be left out with --design many-runs, got 3"),
        (
            f"{MANY} --share a=0.5",
            "--share must come with --each-group, or with several --guesses-in, got 'a=0.5'",
        ),
        (
            f"{MANY} --each-group record --share 0.5",
            "--share must be written as group=0.5, once for a group, got '0.5'",
        ),
        (
            f"{MANY} --each-group record --share a=half",
            "--share must end in a number, such as 0.5, got 'half'",
        ),
        (
            f"{MANY} --each-group record --share a=0.7 --share b=0.7",
            "shares must add up to at most 1, the level of all groups, got 1.4",
        ),
        (
            f"{ONE} --guesses-in 3 --guesses-in 4 --share 0.5",
            "--share must be given for each of 2 numbers of guesses, got '0.5'",
        ),
        (
            f"{ONE} --share 0.5",
            "--share must come with several --guesses-in with --design one-run, got '0.5'",
        ),
        (
            f"{ONE} --guesses-in 3 --guesses-in 4 --guesses-out 5",
            "--guesses-out must be given as often as --guesses-in, got (5,)",
        ),
        (
            f"{ONE} --guesses-in 3 --guesses-in 4 --share 0.8 --share 0.4",
            "shares must add up to at most 1, the level of all numbers of guesses, got 1.2",
        ),
        (
            f"{ONE} --method band",
            "--method must be split or independent, or be left out, with --design one-run, "
            "got 'band'",
        ),
        (
            f"{ONE} --method split --guesses-in 3",
            "--method must be left out where guesses are given, got 'split'",
        ),
        (f"{ONE} --threshold 3", "--threshold must be left out with --design one-run, got 3.0"),
        (
            f"{ONE} --each-group member",
            "group must be a column of its own, got 'member'",
        ),
        (
            "audit runs.npz --design one-run --each-group record",
            "--each-group must be left out with --design one-run, got 'record'",
        ),
        (
            "audit runs.npz --design one-model --each-group record",
            "--each-group must be left out with --design one-model, got 'record'",
        ),
        (
            f"{ONE} --plot x.svg",
            "--plot must be left out with --design one-run, which shows no curve, got 'x.svg'",
        ),
        (
            "audit runs.npz --design one-model --method band",
            "--method must be left out with --design one-model, got 'band'",
        ),
        (
            "audit",
            "a score file must be given, such as: tellapart audit scores.csv --design many-runs",
        ),
        ("audit empty.csv --design many-runs", "empty.csv must not be empty"),
        (
            "audit bad.csv --design many-runs --score-column loss",
            "bad.csv must have a column 'loss', has 'score', 'member'; --score-column and "
            "--member-column name the columns",
        ),
        *(
            (
                f"audit {file} --design many-runs {option} nowhere",
                f"{file} must have {what} 'nowhere', has {columns}; {option} names the column of "
                f"{part}",
            )
            for file, what in (("runs.npz", "an array"), ("runs.csv", "a column"))
            for option, part in (("--run-column", "run ids"), ("--each-group", "groups"))
            for columns in ("'score', 'member', 'training', 'record', 'loss'",)
        ),
        (f"{MANY} --method magic", 'Invalid value "magic" for --method.'),
        (f"{MANY} --report x.pdf", "--report must end in .html, got 'x.pdf'"),
        (f"{MANY} --report no/x.html", "No such file or directory: no/x.html"),
        (f"{MANY} --report .html", "--report must end in .html, got '.html'"),
        (f"{MANY} --plot x.txt --report x.html", "--plot must end in .svg, .png or .pdf"),
        (f"{MANY} --plot no/x.svg --report x.html", "No such file or directory: no/x.svg"),
        (
            "audit runs.npz --design many-runs --run-column member",
            "run must be a column of its own, got 'member'",
        ),
        (
            "audit bad.csv --design many-runs",
            "score must not be NaN, got nan in line 3 of bad.csv",
        ),
    ],
)
def test_a_refusal_is_one_line_and_no_file(run, folder, command, message):
    """Bad use is exit code 2; what cannot be judged is 3."""
    (folder / "bad.csv").write_text("score,member\n1,1\nnan,0\n2,0\n")
    (folder / "empty.csv").touch()
    before = set(folder.iterdir())
    code, out, err = run(command)
    unjudged = ("no claim can be judged", "scores of run ")
    assert (code, out) == (3 if message.startswith(unjudged) else 2, "")
    assert err.startswith(f"tellapart: {message}"), err
    assert err.count("\n") == 1
    assert set(folder.iterdir()) == before


def test_every_design_is_offered_in_words():
    assert list(DESIGNS) == ["many-runs", "one-run", "one-model"]
    assert all(words.meaning and words.sample for words in DESIGNS.values())


def test_one_model_takes_no_way_of_looking(run, folder):
    code, out, err = run("audit quiet.npz --design one-model --guesses-out 3")
    assert (code, out) == (2, "")
    assert err.startswith("tellapart: --guesses-out must be left out with --design one-model")


# -- files ---------------------------------------------------------------------------------------


def test_a_report_and_a_picture_are_written_and_named(run, folder):
    code, out, err = run(f"{MANY} --epsilon 1 --report out.html --plot out.svg")
    assert (code, err) == (1, "")
    assert "Report: out.html and out.json" in out
    assert "Picture: out.svg" in out
    written = {"out.html", "out.json", "out.svg"}
    assert written <= {one.name for one in folder.iterdir()}
    assert not [one for one in folder.iterdir() if one.name.startswith(".")]
    data = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert data["headline"] == "REFUTED: the claim ε = 1, δ = 0, at 95 % confidence"
    assert data["headline"] in (folder / "out.html").read_text(encoding="utf-8")


def test_an_old_report_survives_one_that_fails(run, folder, monkeypatch):
    run(f"{MANY} --epsilon 1 --report out.html")
    before = {one: one.read_bytes() for one in folder.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device", "out.html")

    monkeypatch.setattr(os, "replace", full)
    code, out, err = run(f"{MANY} --epsilon 2 --report out.html")
    assert (code, err) == (2, "tellapart: No space left on device: out.html\n")
    assert out.startswith("REFUTED: ")
    assert {one: one.read_bytes() for one in folder.iterdir()} == before


# -- the program ---------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [30, 60, 200])
def test_no_terminal_is_too_narrow_to_show_every_number(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", "300")
    wide = run(f"{MANY} --epsilon 1")[1]
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = run(f"{MANY} --epsilon 1")[1]
    number = r"(?<![\w.])\d+\.\d{2,}(?:e-\d+)?(?!\d)"
    assert sorted(re.findall(number, narrow)) == sorted(re.findall(number, wide))
    assert max(map(len, narrow.splitlines())) <= max(width, 45)


def test_a_closed_pipe_does_not_hide_a_refutation(folder):
    program = [sys.executable, "-m", "tellapart", *shlex.split(MANY), "--epsilon", "1"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


def test_a_closed_output_is_refused_at_once(folder):
    """No answer can be given, and none is claimed."""
    program = f"exec {sys.executable} -m tellapart {MANY} --epsilon 4 >&-"
    done = subprocess.run(program, shell=True, stderr=subprocess.PIPE, timeout=60, check=False)  # noqa: S602
    assert done.returncode == 2
    assert done.stderr.startswith(b"tellapart: standard output is closed, so that no answer can be")


def test_the_help_has_examples_that_work(run, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    held = dict(np.load("runs.npz"))
    rows = "\n".join(f"{s},{m}" for s, m in zip(held["score"], held["member"], strict=True))
    for name in ("scores.csv", "losses.csv", "runs/a.csv"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"score,member\n{rows}\n")
    coins = np.random.default_rng(0).integers(0, 2, 40_000)  # enough to refute ε = 8, if they did
    np.savez("canaries.npz", score=np.random.default_rng(1).normal(coins), member=coins)
    np.save("in.npy", held["score"][held["member"] == 1])
    np.save("out.npy", held["score"][held["member"] == 0])
    import duckdb

    duckdb.sql("copy (from 'runs/a.csv') to 'runs/a.parquet'")
    written_by_lira(folder / "exp" / "cifar10")
    _, out, _ = run("audit --help")
    examples = re.findall(r"^ +tellapart (audit [^\n]*?) *$", re.sub(r"\\ *\n *", "", out), re.M)
    assert len(examples) == 8
    codes = [1, 1, 3, 1, 0, 3, 0, 1]
    assert [run(one)[::2] for one in examples] == [(code, "") for code in codes]


# -- counts of reconstruction and attribute attacks -----------------------------------------------

TARGETS = "audit --successes 31 --trials 100"


def test_counts_of_targets_bound_the_gain_and_refute_a_claim(run, parsed, tmp_path):
    shown = audit.reconstruction(successes=31, trials=100, baseline=0.1)
    code, out, err = run(f"{TARGETS} --baseline 0.1 --epsilon 0.5")
    assert (code, err) == (1, "")
    assert out.startswith("REFUTED: the claim ε = 0.5, δ = 0, at 95 % confidence\n")
    said = " ".join(out.split())
    assert "gain over the baseline (0.1) ≥ 0.1340 (95 % confidence, exact" in said
    assert "31 of 100 targets guessed right, against a baseline of 10 %" in said
    found = parsed(f"{TARGETS} --baseline 0.1 --epsilon 0.5 --report r.html", code=1)
    numbers = {row["what"]: row["value"] for row in found["shown"]}
    assert numbers["gain over the baseline (0.1)"] == pytest.approx(shown.gain_lower.value)
    assert numbers["success"] == pytest.approx(shown.success_lower.value)
    assert (found["refuted"], found["design"]) == (True, "targets")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "What the guesses show" in page
    assert "at baseline" in page
    assert run(f"{TARGETS} --baseline 0.1 --epsilon 1")[0] == 0
    assert run(f"{TARGETS} --baseline 0.1")[0] == 3


def test_counts_may_have_a_blind_control_or_one_model(run, parsed):
    control = "--control-successes 12 --control-trials 120"
    by_control = audit.reconstruction(successes=31, trials=100, control=(12, 120))
    numbers = {row["what"]: row["value"] for row in parsed(f"{TARGETS} {control}", code=3)["shown"]}
    gain = next(value for what, value in numbers.items() if what.startswith("gain over the blind"))
    assert gain == pytest.approx(by_control.gain_lower.value)
    code, out, _ = run("audit --successes 90 --trials 100 --baseline 0.01 --shared-model -v")
    assert code == 3
    assert "Markov's inequality" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "--baseline must be given, or --control-successes and --control-trials of a blind"),
        ("--baseline 0.1 --control-successes 3 --control-trials 9", "one of the two"),
        ("--control-trials 9", "--control-successes and --control-trials must be given together"),
        ("--baseline 1", "--baseline must lie strictly between 0 and 1, got 1.0"),
        ("--baseline 0.1 runs.npz", "a score file must be left out with counts of targets"),
        ("--baseline 0.1 --design many-runs", "--design must be left out with counts of targets"),
        ("--baseline 0.1 --run-column x", "--run-column must be left out with counts of targets"),
        ("--baseline 0.1 --method band", "--method must be left out with counts of targets"),
        ("--baseline 0.1 --seed 3", "--seed must be left out with counts of targets"),
    ],
)
def test_what_counts_of_targets_refuse(run, options, message):
    code, _, err = run(f"{TARGETS} {options}")
    assert code == 2
    assert message in err


def test_targets_without_their_number_are_refused(run):
    for options, message in (
        ("--successes 3", "--successes and --trials must be given together"),
        ("--baseline 0.1", "--successes and --trials must be given, as in: tellapart audit"),
        ("--successes 3 --trials 2 --baseline 0.1", "--successes must be at most trials = 2"),
    ):
        code, _, err = run(f"audit {options}")
        assert code == 2
        assert message in err


# -- counts of membership attacks ------------------------------------------------------------------

FLAGGED = "audit --true-positives 90 --members 100 --false-positives 10 --non-members 100"


def test_counts_of_flagged_records_are_judged_as_by_the_library(run, parsed, tmp_path):
    shown = audit.from_counts(audit.Counts(90, 100, 10, 100))
    code, out, err = run(f"{FLAGGED} --design many-runs --epsilon 1")
    assert (code, err) == (1, "")
    assert out.startswith("REFUTED: the claim ε = 1, δ = 0, at 95 % confidence\n")
    found = parsed(f"{FLAGGED} --design many-runs --epsilon 1 --report r.html", code=1)
    assert (found["refuted"], found["design"]) == (True, "many-runs")
    assert found["shown"][0]["value"] == pytest.approx(shown.epsilon_lower(0.0).value)
    assert "REFUTED" in (tmp_path / "r.html").read_text(encoding="utf-8").upper()
    assert run(f"{FLAGGED} --design many-runs --epsilon 3")[0] == 0
    assert run(f"{FLAGGED} --design many-runs")[0] == 3
    sure = "--design many-runs --epsilon 1.6 --confidence"
    assert (run(f"{FLAGGED} {sure} 0.8")[0], run(f"{FLAGGED} {sure} 0.999")[0]) == (1, 0)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (FLAGGED, "--design must be many-runs with counts: each record was attacked in a run of"),
        (f"{FLAGGED} --design one-run", "--design must be many-runs with counts"),
        (f"{FLAGGED} --design many-runs runs.npz", "a score file must be left out with counts of"),
        (f"{FLAGGED} --design many-runs --seed 3", "--seed must be left out with counts of flagg"),
        (f"{FLAGGED} --successes 3", "--true-positives must be left out with counts of targets"),
        (
            "audit --true-positives 31 --members 1000 --epsilon 1",
            "--false-positives, --non-members must be given, too, as in: tellapart audit --true-po",
        ),
        (
            f"{FLAGGED} --design many-runs --epsilon 1".replace("90", "101"),
            "--true-positives must be at most members = 100, got 101",
        ),
    ],
)
def test_what_counts_of_flagged_records_refuse(run, command, message):
    code, _, err = run(command)
    assert code == 2
    assert message in err


def test_one_model_has_a_ppv_under_a_prior(run):
    code, out, _ = run("audit quiet.npz --design one-model --prior 0.01")
    assert code == 3
    assert "PPV at FPR ≤ 0.1" in out
    assert "95 % interval, at prior 0.01" in out
    assert "this attack on this population alone" in " ".join(out.split())
    _, out, _ = run("audit quiet.npz --design one-model --prior 0.01 --threshold 0.5")
    assert "PPV at score > 0.5" in out
    assert "PPV at FPR" not in out
    code, _, err = run("audit quiet.npz --design one-model --threshold 0.5")
    assert code == 2
    assert "--threshold must come with --prior" in err
    code, _, err = run("audit quiet.npz --design one-model --prior 0")
    assert "strictly between 0 and 1" in err


# -- matrices of models by records ---------------------------------------------------------------


@pytest.fixture
def matrices(folder):
    """A matrix whose coins are independent, and a folder as LiRA's reference code leaves it."""
    rng = np.random.default_rng(3)
    mask = rng.random((12, 300)) < 0.5
    losses = rng.exponential(size=mask.shape) + 4.0 * ~mask
    np.savez(folder / "matrix.npz", losses=losses, inclusion=mask)
    np.save(folder / "losses.npy", losses)
    np.save(folder / "mask.npy", mask)
    written_by_lira(folder / "exp")
    return folder


def test_a_matrix_is_read_by_its_design(run, matrices):
    read = audit.Matrix.read("matrix.npz", coins=audit.Coins.INDEPENDENT)
    claim = ta.guarantee(epsilon=1)
    for design, words, evidence in (
        ("pooled --attack rmia-offline", "About 6 models together", read.pooled(
            attack=audit.attacks.Rmia(online=False), claim=claim)),
        ("one-run --audited-model 3", "About model 3", read.one_run(3, claim=claim)),
    ):  # fmt: skip
        line = f"audit matrix.npz --coins independent --design {design} --epsilon 1 --verbose"
        code, out, err = run(line)
        assert (code, err) == (1, "")
        assert audit.judge(claim, evidence).epsilon_lower().words in out
        assert words in out
        assert "Training sets were drawn with independent coins" in out
    code, out, _ = run("audit matrix.npz --coins independent --design many-runs --epsilon 1")
    assert code == 3
    assert "no outcome of so few samples" in " ".join(out.split())


def test_folders_and_masks_in_files_of_their_own(run, matrices):
    code, out, _ = run("audit exp --design one-run --attack lira --epsilon 1")
    assert code == 1
    assert "Training sets were drawn with balanced coins" in " ".join(out.split())
    line = "audit losses.npy --inclusion mask.npy --outputs loss --coins independent"
    assert run(f"{line} --design pooled --epsilon 1")[0] == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("matrix.npz --design pooled", "coins must be given: how the training sets were drawn"),
        (
            "matrix.npz --coins balanced --design one-run",
            "have one total for every record of the whole table with",
        ),
        ("exp --design pooled", "use matrix.one_run(model) (--design one-run)"),
        ("exp exp --design one-run", "a matrix must be one file or folder"),
        ("exp --design one-model", "--design must be one-run, pooled or many-runs with a matrix"),
        ("exp --design one-run --method split", "--method must be left out with --design one-run"),
        ("exp --design one-run --run-column run", "--run-column must be left out with a matrix"),
        (
            "matrix.npz --coins independent --design one-run --audited-model 12",
            "--audited-model must be at most 11 (from 0), got 12",
        ),
        (
            "matrix.npz --coins independent --design pooled --orientation lower",
            "--orientation must be left out unless outputs are scores (--outputs score, in Python",
        ),
        ("matrix.npz --design pooled", "one of independent, fixed-size, balanced, one-record (--"),
        ("exp --design many-runs --audited-model 3", "--audited-model must come with --design"),
        ("runs.npz --design pooled", "--design must be another for scores: pooled reads a matrix"),
        ("exp --design pooled --plot a.svg", "--plot must be left out with --design pooled"),
    ],
)
def test_what_cannot_be_read_as_a_matrix_is_refused(run, matrices, line, words):
    code, out, err = run(f"audit {line}")
    assert (code, out) in ((2, ""), (3, ""))
    assert words in " ".join(err.split())
