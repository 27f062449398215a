"""The report command as someone types it: a page and its data, refusals, what is still open."""

import html
import json
import re

import pytest

import tellapart as ta
from tellapart import report

GAUSSIAN = "report gaussian out.html --sigma 2 --unit 'one patient' --prior 0.001"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def test_a_page_and_its_data_are_written_and_named(run, folder):
    code, out, err = run(f"{GAUSSIAN} --answer access='The registry.' --answer 'bias=a=b'")
    assert (code, err) == (0, "")
    assert out.startswith("Gaussian, σ = 2: a claim, with no evidence for or against it\n")
    assert "Report: out.html and out.json" in out
    assert "Checklist  12 of 19 questions are open" in out
    assert "trust: Who adds the noise" in out
    assert "access:" not in out
    data = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    answers = {"access": "The registry.", "bias": "a=b"}
    told = report.of(ta.Gaussian(2), unit="one patient", prior=0.001, answers=answers)
    assert data == {**told.data(), "made": data["made"]}
    assert data["made"]["command"] == (
        f"tellapart {GAUSSIAN} --answer 'access=The registry.' --answer bias=a=b"
    )
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "one patient" in page
    assert "<svg" in page


def test_without_a_mechanism_it_is_a_promise(run, folder):
    code, out, err = run("report out.html --epsilon 1 --delta 1e-6 --plot out.svg")
    assert (code, err) == (0, "")
    assert out.startswith(
        "Any mechanism with ε = 1, δ = 1e-6: a claim, with no evidence for or against it\n"
    )
    assert "  These numbers are valid for every mechanism with this guarantee.\n" in out
    assert {one.name for one in folder.iterdir()} >= {"out.html", "out.json", "out.svg"}


def test_json_needs_no_page_and_writes_none(parsed, folder):
    before = sorted(folder.iterdir())
    found = parsed("report laplace --epsilon 1 --at-delta 0.001 --fpr 0.1 --out-of 50 --gamma 9")
    assert sorted(folder.iterdir()) == before
    assert (found["title"], found["claim"]) == ("Laplace, ε = 1", "Laplace, scale 1")
    assert found["meaning"]["prior"] == 0.1
    assert found["meaning"]["delta"] == 0.001
    assert found["meaning"]["words"][0] == "Of 50 people, 5 are members."
    assert [one["what"] for one in found["meaning"]["risks"]][1] == "TPR at FPR 0.1"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("report", "PAGE must be given, as in: tellapart report laplace out.html --epsilon 1"),
        ("report laplace --epsilon 1", "PAGE must be given"),
        ("report laplace out.txt --epsilon 1", "PAGE must end in .html, got 'out.txt'"),
        ("report laplace no/out.html --epsilon 1", "No such file or directory: no/out.html"),
        ("report laplce out.html --epsilon 1", "mechanism must be one of any, laplace"),
        ("report out.html", "mechanism must be given as any:epsilon=…"),
        ("report out.html --epsilon 1 --prior 0", "the prior must lie strictly between 0 and 1"),
        ("report out.html --epsilon 1 --at-delta 2", "--at-delta must lie in [0, 1], got 2"),
        ("report out.html --epsilon 1 --out-of 1.5", "--out-of must be a whole number"),
        ("report out.html --epsilon 1 --answer access", "--answer must be written as key=text"),
        ("report out.html --epsilon 1 --answer a=b", "answers must be to any of epsilon"),
        (
            "report out.html --epsilon 1 --answer bias=a --answer bias=b",
            "--answer must be given once for bias, got 'bias=b'",
        ),
        ("audit x.csv --design many-runs --answer a=b", "answers must be to any of epsilon"),
        ("probe x.py:f --d0 1 --d1 2 --epsilon 1 --answer a=b", "answers must be to any of"),
    ],
)
def test_bad_use_is_one_line_exit_code_two_and_no_file(run, folder, line, message):
    before = sorted(folder.iterdir())
    code, out, err = run(line)
    assert (code, out) == (2, "")
    assert err.startswith(f"tellapart: {message}")
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_an_audit_and_a_probe_file_what_people_say(parsed, folder):
    (folder / "scores.csv").write_text("score,member\n" + "0.5,1\n0.5,0\n" * 20)
    (folder / "f.py").write_text("def f(data, rng, size):\n    return rng.random(size) < 0.5\n")
    said = "--epsilon 1 --unit 'one visit' --prior 0.01 --answer trust=Ourselves."
    for line in ("audit scores.csv --design many-runs", "probe f.py:f --d0 1 --d1 2 --samples 200"):
        data = parsed(f"{line} {said}")
        assert (data["unit"], data["meaning"]["prior"]) == ("one visit", 0.01)
        (trust,) = (one for one in data["checklist"] if one["key"] == "trust")
        assert (trust["stated"], trust["state"]) == (["Ourselves."], "stated")


def test_the_help_has_examples_that_work(run, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = run("report --help")
    examples = re.findall(r"^ +tellapart (report [^\n]*?) *$", re.sub(r"\\ *\n *", "", out), re.M)
    assert len(examples) == 5
    assert [run(one)[::2] for one in examples] == [(0, "")] * 5


@pytest.mark.parametrize(
    "line",
    [
        "report gaussian:sigma=2 out.html --name 'Cardiology counts'",
        "report 'Cardiology counts=gaussian:sigma=2' out.html",
        "report 'Cardiology counts = gaussian' out.html --sigma 2",
    ],
)
def test_a_report_has_the_name_that_people_use(run, folder, line):
    _, out, _ = run(f"{line} --unit 'all visits of a patient'")
    assert out.startswith("Cardiology counts: a claim, with no evidence")
    written = (folder / "out.html").read_text()
    assert "<h1>Cardiology counts</h1>" in written
    assert "Gaussian(sigma=2.0)" in written
    assert '<p class="warning">WARNING' in written
    assert "(side:" not in written


def test_bounds_on_guesses_are_read_where_they_are_asked_about(run, parsed, folder):
    asked = "--baseline 0.01 --predicate-weight 1e-6 --people 1000"
    found = parsed(f"report laplace page.html --epsilon 1 {asked}")["meaning"]
    risks = {row["what"]: row["value"] for row in found["risks"]}
    assert risks["reconstruction, baseline 0.01"] == pytest.approx(0.0271828, abs=1e-6)
    assert risks["singling out, weight 1e-6, of 1000 people"] == pytest.approx(0.00271828, abs=1e-7)
    said = [sentence for sentence in found["words"] if sentence.startswith("Whoever could guess")]
    assert len(said) == 1  # that of reconstruction is that of an attribute
    assert said[0] in html.unescape((folder / "page.html").read_text(encoding="utf-8"))
    assert "Among 1,000 people, a description" in " ".join(found["words"])
    code, _, err = run("report laplace page.html --epsilon 1 --people 1000")
    assert code == 2
    assert "--people must come with --predicate-weight" in err
