"""The pages that scripts write: that of the zoo is what its script prints, the other is whole."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tellapart import zoo

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "benchmarks"


def printed(script, *arguments):
    command = [sys.executable, "-W", "error", "-X", "utf8", str(SCRIPTS / script), *arguments]
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, encoding="utf-8", check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def named(page):
    """Which specimens have a row of their own, in order."""
    rows = re.findall(r"^\| (?:\*\*bug\*\* )?`?([a-z0-9-]+)`?(?: \(\w+\))? \| ", page, re.M)
    return [name for name in rows if name not in ("specimen", "---")]


def test_one_section_of_the_benchmarks_is_written_anew_and_the_others_stay(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    script = importlib.import_module("_page")
    monkeypatch.setattr(script, "section", lambda name: (0, f"{name} anew"))
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    copy = tmp_path / "benchmarks.md"
    copy.write_text(page, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["_page.py", str(copy), "gdp"])
    assert script.main() == 0
    texts = page, copy.read_text(encoding="utf-8")
    before, after = (re.split(r"^## ", text, flags=re.M) for text in texts)
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert changed == ["`benchmarks/gdp.py`\n\ngdp anew\n\n"]
    monkeypatch.setattr(sys, "argv", ["_page.py", str(copy), "gpd"])
    assert script.main() == 2


def test_the_zoo_page_is_what_its_script_prints():
    page = (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8")
    assert printed("_zoo_page.py") == page, "run `make zoo`"
    assert sorted(named(page)) == sorted(specimen.name for specimen in zoo.SPECIMENS)


def test_the_detection_page_has_every_specimen_with_its_claim():
    page = (ROOT / "docs" / "detection.md").read_text(encoding="utf-8")
    table = page.partition("## Every specimen")[2].partition("### In sum")[0]
    assert sorted(named(table)) == sorted(specimen.name for specimen in zoo.SPECIMENS), (
        "run `make detection`"
    )
    buggy, correct = table.partition("### Buggy")[2].split("### Correct")
    assert sorted(named(buggy)) == sorted(specimen.name for specimen in zoo.buggy())
    assert sorted(named(correct)) == sorted(specimen.name for specimen in zoo.correct())


def test_the_detection_script_runs(tmp_path):
    """Probes of 600 calls, of a leak nobody can miss and of none, for a seed that was tried."""
    out = tmp_path / "page.md"
    said = printed(
        *("detection.py", "--only", "sum-nan", "--only", "laplace", "--seeds", "1"),
        *("--samples", "600", "--peers", str(tmp_path), "--page", str(out)),
    )
    rows = [line for line in said.splitlines() if re.match(r"\| (sum-nan|laplace) \|", line)]
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    assert [row[4] for row in cells[:2]] == ["refuted", "not refuted"]
    assert [float(row[5]) > 1 for row in cells[:2]] == [True, False]
    assert cells[2][3] == "tellapart"
    for peer in ("StatDP", "DP-Sniper, logistic", "dp_auditorium, histogram"):
        assert f"- {peer}: not run, ModuleNotFoundError: No module named" in said
    page = out.read_text(encoding="utf-8")
    assert all(row in page for row in rows)


def test_events_are_told_in_a_line_and_references_name_specimens(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import _detected as detected

    assert set(detected.BEST_KNOWN) <= {specimen.name for specimen in zoo.SPECIMENS}
    long = " or ".join(f"output is {k}" for k in range(100))
    said = detected.shortened(
        f"{long}: 9 % of outputs on d1 (9 of 100) against 0 % of outputs on d0"
    )
    assert said.startswith("output is 0 or output is 1 or ")
    assert said.endswith(" more: 9 % on d1 against 0 % on d0")
    assert len(said) < 120


def test_what_was_found_of_a_specimen_is_kept(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import _detected as detected

    file, specimen, other = tmp_path / "rows.jsonl", zoo.find("laplace"), zoo.find("sum-nan")
    stopped = detected.Stopped(112, 1)
    rows = [
        detected.Detected(specimen, 20, 1, 0.97, 0, None, 0.07, stopped, "output < 1"),
        detected.Detected(other, 20, 0, 0.0, None, None, 0.1, None, "", "cannot judge"),
    ]
    for row in rows:
        assert detected.kept(file, row.specimen, 600) is None
        detected.keep(file, row, 600)
    assert [detected.kept(file, row.specimen, 600) for row in rows] == rows
    assert detected.kept(file, specimen, 700) is None
    assert detected.overclaims([0.9, 1.1, 1.0], 1.0) == 1


def test_an_unknown_specimen_is_refused():
    command = [sys.executable, str(SCRIPTS / "detection.py"), "--only", "laplce"]
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode != 0
    assert "did you mean laplace" in done.stderr


def test_the_page_of_training_bugs_has_every_step():
    page = (ROOT / "docs" / "training-bugs.md").read_text(encoding="utf-8")
    wrong, right = page.partition("## Wrong")[2].partition("## Opacus")[0].split("## Right")
    for part, correct in ((wrong, False), (right, True)):
        rows = [line.split(" | ") for line in part.splitlines() if line.startswith("| `")]
        expected = [
            f"| `{training.name}`" for training in zoo.TRAINING if training.correct is correct
        ]
        assert [row[0] for row in rows] == expected, "run `make training-bugs`"
        assert {row[7] for row in rows} == {"not refuted" if correct else "refuted"}
    assert "Target: every bug refuted and nothing else: met." in page


def test_the_script_of_training_bugs_runs():
    """A bug nobody can miss and a step that has none, for a seed that was tried."""
    said = printed(
        *("training_bugs.py", "--only", "step-noise-over-batch", "--only", "flat"),
        *("--samples", "200"),
    )
    rows = [line.split(" | ") for line in said.splitlines() if line.startswith("| `")]
    assert [(row[0], row[7]) for row in rows] == [
        ("| `step-noise-over-batch`", "refuted"),
        ("| `flat`", "not refuted"),
    ]


def test_the_page_of_watched_bugs_has_every_bug():
    page = (ROOT / "docs" / "watched-bugs.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if " of 20 | " in line]
    assert rows[0][0] == "as it should be"
    assert len(rows) == 1 + 13, "run `make watched-bugs`"
    assert all(int(row[1].split()[0]) >= 19 for row in rows[1:])
    assert "Target: every bug refuted in 19 of 20 trainings at least: met." in page


def test_the_script_of_watched_bugs_runs():
    said = printed("watched_bugs.py", "--seeds", "1")
    assert said.count("1 of 1") == 13
    assert "| 2,000 | " in said


@pytest.mark.slow
def test_the_script_of_planned_power_runs():
    assert printed("planned_power.py", "--draws", "2").count(" % | ") == 24


def test_the_page_of_one_run_audits_has_every_target_met():
    page = (ROOT / "docs" / "one-run-power.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if " ± " in line]
    assert len(rows) == 8, "run `make one-run-power`"
    assert all(float(row[5]) >= float(row[4]) for row in rows)
    assert page.count(": met.") == 2


def test_the_page_of_planned_power_has_every_promise_kept():
    page = (ROOT / "docs" / "planned-power.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if " % | " in line]
    designs = {row[0].partition(" ")[0] for row in rows}
    assert designs == {
        f"`audit.{name}`" for name in ("probe", "step", "training", "one_run", "watch")
    }
    assert len(rows) == 24, "run `make planned-power`"
    assert "two standard errors: met." in page


FILTERS = ["docs/sharp-edges.md", "docs/composition.md", "docs/switching.md"]
ACCOUNTANTS = ["__init__.py", "dp_accounting.py", "opacus.py"]


@pytest.mark.parametrize(
    "file",
    [*FILTERS, *(f"src/tellapart/accountants/{name}" for name in ACCOUNTANTS)],
)
def test_stopping_at_a_target_is_called_no_privacy_filter(file):
    """Wherever people compose step after step; the example that shows it is run as a page."""
    text = " ".join((ROOT / file).read_text(encoding="utf-8").split())
    assert "privacy filter" in text.lower()
    assert "reaches a target" in text


def test_the_detection_page_says_of_how_many_seeds_and_how_many_overclaim():
    page = (ROOT / "docs" / "detection.md").read_text(encoding="utf-8")
    table = page.partition("## Every specimen")[2].partition("### In sum")[0]
    rows = [[cell.strip() for cell in line.split(" | ")] for line in table.splitlines()]
    head = next(row for row in rows if "too high" in row)
    at, truth, bound = (head.index(name) for name in ("too high", "true ε", "ε ≥"))
    counted = [row for row in rows if len(row) == len(head) and " of " in row[at]]
    assert len(counted) > 80
    for row in counted:
        high, seeds = (int(count) for count in row[at].split(" of "))
        assert 3 <= seeds <= 20
        # The median is no bound that most seeds had above the truth.
        if row[truth] != "∞" and 2 * high < seeds:
            assert float(row[bound]) <= float(row[truth]) + 6e-4
