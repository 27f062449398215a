"""`tellapart decide --report`: the document, its data beside it, and what it refuses."""

import json

import pytest

from tellapart import decision, report


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "decision.toml").write_text(decision.template(), encoding="utf-8")
    return tmp_path


def test_the_document_and_its_data_are_written(run, folder):
    code, out, err = run("decide decision.toml --report decision.html --today 2026-12-01")
    assert (code, err) == (0, "")
    assert out.startswith("sigma = 2.6186")
    assert "Report: decision.html and decision.json" in out
    data = json.loads((folder / "decision.json").read_text(encoding="utf-8"))
    told = report.of_decision(decision.read(folder / "decision.toml"))
    assert data == {**told.data(), "made": data["made"]}
    assert data["made"]["command"].startswith("tellapart decide decision.toml --report")
    page = (folder / "decision.html").read_text(encoding="utf-8")
    assert "<h1>Patients by district, 2026</h1>" in page


def test_an_overdue_review_is_on_the_first_page(run, folder):
    code, _, _ = run("decide decision.toml --check --report decision.html --today 2028-01-01")
    assert code == 1
    page = (folder / "decision.html").read_text(encoding="utf-8")
    assert "overdue" in page.partition("</section>")[0]


def test_evidence_lies_beside_the_decision_file(run, folder):
    held = {"headline": "REFUTED: x", "reasons": [], "refuted": True, "design": "calls", "made": {}}
    (folder / "kept").mkdir()
    (folder / "kept" / "audit.json").write_text(json.dumps(held), encoding="utf-8")
    text = decision.template() + '\n[[evidence]]\nfile = "audit.json"\n'
    (folder / "kept" / "decision.toml").write_text(text, encoding="utf-8")
    code, _, err = run("decide kept/decision.toml --report decision.html")
    assert (code, err) == (1, "")
    page = (folder / "decision.html").read_text(encoding="utf-8")
    assert "REFUTED: x (audit.json)" in page.partition("</section>")[0]
    (folder / "kept" / "audit.json").unlink()
    code, out, err = run("decide kept/decision.toml --report decision.html")
    assert (code, out) == (2, "")
    assert "evidence[1].file must be a file that exists" in err


@pytest.mark.parametrize("page", ["decision.txt", "decision.toml", "nowhere/decision.html"])
def test_a_page_that_cannot_be_written_is_refused_before_work(run, folder, page):
    code, out, err = run(f"decide decision.toml --report {page}")
    assert (code, out) == (2, "")
    assert page in err


def test_the_data_of_somebody_else_stay(run, folder):
    (folder / "decision.json").write_text("{}", encoding="utf-8")
    code, out, err = run("decide decision.toml --report decision.html")
    assert (code, out) == (2, "")
    assert "leave decision.json as it is" in err


@pytest.mark.parametrize("link", [False, True])
def test_a_report_never_takes_the_place_of_its_evidence(run, folder, link):
    held = {
        "headline": "h",
        "reasons": [],
        "refuted": False,
        "design": "calls",
        "made": {},
        "curves": {},
    }
    (folder / "audit.json").write_text(json.dumps(held), encoding="utf-8")
    if link:
        (folder / "other.json").hardlink_to(folder / "audit.json")
    page = "other.html" if link else "audit.html"
    (folder / page).write_text("the page of the audit", encoding="utf-8")
    text = decision.template() + '\n[[evidence]]\nfile = "audit.json"\n'
    (folder / "decision.toml").write_text(text, encoding="utf-8")
    code, out, err = run(f"decide decision.toml --report {page}")
    assert (code, out) == (2, "")
    assert "--report must leave audit.json as it is" in " ".join(err.split())
    assert json.loads((folder / "audit.json").read_text(encoding="utf-8")) == held


def test_a_report_never_takes_the_place_of_its_decision(run, folder):
    (folder / "decision.toml").rename(folder / "decision.html")
    code, out, err = run("decide decision.html --report decision.html")
    assert (code, out) == (2, "")
    assert "--report must leave decision.html as it is" in " ".join(err.split())


def test_a_page_that_is_no_report_is_left_as_it_is(run, folder):
    (folder / "own.html").write_text("<p>mine</p>", encoding="utf-8")
    code, out, err = run("decide decision.toml --report own.html")
    assert (code, out) == (2, "")
    assert "--report must leave own.html as it is" in " ".join(err.split())
    assert (folder / "own.html").read_text(encoding="utf-8") == "<p>mine</p>"
    for _ in range(2):  # an earlier report makes way, with its data or without
        assert run("decide decision.toml --report decided.html")[0] == 0
        (folder / "decided.json").unlink()


def test_a_file_that_is_only_begun_has_no_report(run, folder):
    code, out, err = run("decide --init begun.toml --report begun.html")
    assert (code, out) == (2, "")
    assert "--report must not stand beside --init" in " ".join(err.split())
    assert not (folder / "begun.toml").exists()
