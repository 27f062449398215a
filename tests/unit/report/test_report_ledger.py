"""The report of a ledger: its guarantee as the claim, pots and entries, each as it was written."""

import json
import shlex

import pytest

import tellapart as ta
from tellapart import report
from tellapart.cli import main


@pytest.fixture
def ledger(tmp_path):
    ledger = ta.BudgetLedger.open(tmp_path / "team.jsonl", ta.Budget(gaussian=1, laplace=0.5))
    ledger.spend(ta.Gaussian(sigma=2), label="<b>counts</b>")
    ledger.spend(ta.Laplace(scale=10))
    return ledger


def test_the_claim_is_the_guarantee_of_the_whole_budget(ledger):
    filed = report.of(ledger, unit="one patient")
    assert filed.meaning.epsilon.value == ledger.guarantee().epsilon(1e-5)
    assert filed.meaning.holds.endswith("and whenever one stops")
    assert filed.neighbours == ta.Neighbours.ADD_REMOVE.value
    assert filed.claim == "the guarantee of Budget(gaussian=1.0, laplace=0.5)"
    assert (
        filed.reasons[1]
        == "2 entries are on record. Left: μ² = 0.75 (gaussian); ε = 0.4 (laplace)."
    )
    composition = next(item for item in filed.checklist if item.key == "composition")
    assert composition.state == "established"
    assert filed.refuted is None


def test_the_data_hold_every_entry(ledger):
    told = json.loads(json.dumps(report.of(ledger).data()))["privacy_budget"]
    assert [pot["left"] for pot in told["pots"]] == ["μ² = 0.75", "ε = 0.4"]
    assert [step["cost"] for step in told["steps"]] == ["μ² = 0.25", "ε = 0.1"]
    assert (told["lines"], told["head"]) == (3, ledger.check().head)
    assert report.of(ta.Laplace(1)).privacy_budget is None


def test_the_page_shows_pots_and_entries_and_no_more_than_fit(ledger):
    page = report.page(report.of(ledger, name="Registry"))
    assert "<h2>Privacy budget</h2>" in page
    assert "&lt;b&gt;counts&lt;/b&gt;" in page
    assert "<b>" not in page
    assert ledger.check().head in page
    for _ in range(30):
        ledger.spend(ta.Laplace(scale=1000), label="more")
    page = " ".join(report.page(report.of(ledger)).split())
    assert "The last 24 of 32 entries; all of them are in the data." in page
    assert "Privacy budget</h2>" not in report.page(report.of(ta.Laplace(1)))


def test_a_damaged_ledger_has_no_report(ledger):
    path = ledger.where
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("counts", "county"))
    with pytest.raises(ta.BadLedger, match="line 2 of"):
        report.of(ledger)


def test_the_command_writes_it(ledger, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = "budget log team.jsonl --report out.html --unit 'one patient'"
    assert main(shlex.split(asked)) == 0
    assert capsys.readouterr().out.endswith("Report: out.html and out.json\n")
    filed = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert filed["unit"] == "one patient"
    assert len(filed["privacy_budget"]["steps"]) == 2
    assert filed["made"]["command"] == f"tellapart {asked}"
