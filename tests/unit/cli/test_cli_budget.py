"""`tellapart budget`: ledgers opened, spent, read and checked from the command line."""

import json
from pathlib import Path

import pytest

import tellapart as ta
from tellapart.cli import main


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(words):
        code = main(["budget", *words.split()])
        out, err = capsys.readouterr()
        return int(code), out, err

    return call


def data(answer):
    code, out, err = answer
    assert err == ""
    return code, json.loads(out)


@pytest.mark.parametrize("ledger", ["team.jsonl", "sqlite:///team.db"])
def test_a_budget_from_its_opening_to_its_end(run, ledger):
    assert run(f"open {ledger} --gaussian 1 --laplace 0.5")[::2] == (0, "")
    code, told = data(run(f"spend {ledger} gaussian:sigma=2 --label counts --json"))
    assert (code, told["spent"], told["line"], told["pot"]) == (0, True, 2, "gaussian")
    assert (told["cost"], told["label"]) == (0.25, "counts")
    assert told["left"] == {"gaussian": 0.75, "laplace": 0.5}
    code, told = data(run(f"left {ledger} --json"))
    assert (code, told["left"]) == (0, {"gaussian": 0.75, "laplace": 0.5})
    whole = ta.Budget(gaussian=1, laplace=0.5).guarantee()
    assert told["epsilon"] == whole.epsilon(1e-5)
    for command in ("spend", "left"):
        code, told = data(run(f"{command} {ledger} gaussian:sigma=1 --json"))
        assert (code, told["allowed"]) == (1, False)
        assert "costs μ² = 1, and the pot 'gaussian' has μ² = 0.75 left" in told["why"]
    code, told = data(run(f"left {ledger} gaussian:sigma=2 --json"))
    assert (code, told["allowed"], told["cost"]) == (0, True, 0.25)
    code, told = data(run(f"log {ledger} --json"))
    assert (code, [step["label"] for step in told["steps"]]) == (0, ["counts"])
    code, told = data(run(f"check {ledger} --json"))
    assert (code, told["sound"], told["lines"]) == (0, True, 2)
    assert run(f"check {ledger} --head {told['head']}")[0] == 0
    assert run(f"check {ledger} --head {'0' * 64}")[0] == 1


def test_what_is_said_to_people(run):
    _, out, _ = run("open team.jsonl --gaussian 1")
    assert out.startswith("Guarantee: ε = 4.37718 at δ = 1e-5, however the budget is spent")
    assert "Neighbours: add or remove one record" in out
    _, out, _ = run("spend team.jsonl gaussian:sigma=2 --label counts")
    assert out.startswith("Spent: μ² = 0.25 of the pot gaussian  counts\n")
    assert "stays spent whether or not its output is released. It is line 2" in " ".join(
        out.split()
    )
    _, out, _ = run("spend team.jsonl gaussian:sigma=1")
    assert out.startswith("NO: nothing was spent\n")
    assert "σ ≥ 1.15471" in out
    _, out, _ = run("left team.jsonl")
    assert out.startswith("Left: μ² = 0.75 (gaussian)\n")
    assert "no guarantee" not in out
    _, out, _ = run("left team.jsonl gaussian:sigma=2")
    assert out.startswith("YES: it would cost μ² = 0.25 of the pot gaussian\n")
    _, out, _ = run("log team.jsonl")
    assert out.startswith("1 entry on record  team.jsonl\n")
    assert "  2  counts  gaussian:sigma=2  μ² = 0.25  20" in out
    _, out, _ = run("check team.jsonl")
    assert out.startswith("SOUND: 2 lines, each as it was written  team.jsonl\n")


def test_a_damaged_ledger_is_named_with_its_line(run):
    run("open team.jsonl --gaussian 1")
    run("spend team.jsonl gaussian:sigma=2 --label counts")
    path = Path("team.jsonl")
    path.write_text(path.read_text(encoding="utf-8").replace("counts", "county"), encoding="utf-8")
    code, out, err = run("check team.jsonl")
    assert (code, err) == (1, "")
    assert out.startswith("DAMAGED: team.jsonl\n")
    assert "line 2 of team.jsonl is not as it was written: put the ledger back" in out
    assert data(run("check team.jsonl --json"))[1]["sound"] is False
    code, out, err = run("spend team.jsonl gaussian:sigma=2")
    assert (code, out) == (2, "")
    assert err.startswith("tellapart: line 2 of team.jsonl is not as it was written")


@pytest.mark.parametrize(
    ("options", "budget"),
    [
        ("--zcdp 0.1", lambda: ta.RenyiBudget.zcdp(0.1)),
        ("--pure 2", lambda: ta.RenyiBudget.pure(2)),
        ("--renyi-order 8 --renyi-limit 1", lambda: ta.RenyiBudget(8, 1)),
        (
            "--steps gaussian:sigma=1,sampled=0.01,repeated=50 --steps any:epsilon=0.1 --laplace 1",
            lambda: ta.Budget(
                laplace=1,
                steps={ta.Gaussian(1).sampled(0.01): 50, ta.Promise(epsilon=0.1): 1},
            ),
        ),
        (
            "--gaussian 1 --neighbours replace-one",
            lambda: ta.Budget(gaussian=1, neighbours=ta.Neighbours.REPLACE),
        ),
    ],
)
def test_every_kind_of_budget_can_be_opened(run, options, budget):
    assert run(f"open team.jsonl {options}")[::2] == (0, "")
    assert ta.BudgetLedger.open("team.jsonl").budget.to_record() == budget().to_record()
    assert run(f"open team.jsonl {options}")[0] == 0  # which is there, and the same
    code, _, err = run("open team.jsonl --gaussian 17")
    assert code == 2
    assert err.startswith("tellapart: budget must be that of team.jsonl, ")


def test_a_step_has_the_neighbours_of_the_ledger(run):
    run("open team.jsonl --gaussian 1 --neighbours replace-one")
    assert run("spend team.jsonl gaussian:sigma=2")[0] == 0
    assert ta.BudgetLedger.open("team.jsonl").left() == {"gaussian": 0.75}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("left team.jsonl", "ledger must be there, and team.jsonl is none: open it with a budget"),
        (
            "open team.jsonl",
            "a budget must be made of pots (--gaussian, --laplace, --steps), or",
        ),
        ("open team.jsonl --zcdp 1 --gaussian 1", "a budget must be made of pots"),
        ("open team.jsonl --zcdp 1 --pure 1", "a budget must be made of pots"),
        ("open team.jsonl --renyi-order 2", "a budget must be made of pots"),
        ("open team.jsonl --gaussian 1 --renyi-order 2", "a budget must be made of pots"),
        ("open team.jsonl --gaussian -1", "--gaussian must be finite and greater than 0, got -1"),
        ("open team.jsonl --gaussian 1 --delta 2", "--delta must lie strictly between 0 and 1"),
        ("open mysql://h/d --zcdp 1", "ledger must be in sqlite:///... or postgresql://..., got"),
        ("open . --zcdp 1", ". is no file: name another"),
        (
            "spend team.jsonl --sigma 2",
            "budget spend has no option --sigma; write it into the",
        ),
        ("sped", "the command of budget must be one of open, spend, left, log, check, got 'sped'"),
    ],
)
def test_what_is_wrong_is_said(run, words, said):
    code, out, err = run(words)
    assert (code, out) == (2, "")
    assert err.startswith(f"tellapart: {said}")
    assert err.count("\n") == 1
    assert not Path("team.jsonl").exists()


def test_a_step_that_no_pot_takes_is_refused_in_options(run):
    run("open team.jsonl --gaussian 1")
    code, out, _ = run("spend team.jsonl laplace:epsilon=1")
    assert code == 1
    assert "open the budget with --laplace" in " ".join(out.split())


def test_a_clock_that_runs_back_is_told(run, monkeypatch):
    run("open team.jsonl --gaussian 1")
    monkeypatch.setattr("tellapart.budget.ledger._now", lambda: "2001-01-01T00:00:00+00:00")
    code, out, _ = run("spend team.jsonl gaussian:sigma=2")
    assert code == 0
    assert "The clock here stands before the time of the line above" in " ".join(out.split())
    assert "2001-01-01 00:00 *" in run("log team.jsonl")[1]
    assert "Line 2 bears an earlier time than the line above" in " ".join(
        run("check team.jsonl")[1].split()
    )
