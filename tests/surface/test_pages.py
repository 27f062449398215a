"""The pages that scripts write: that of the zoo is what its script prints, the other is whole."""

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


def test_the_zoo_page_is_what_its_script_prints():
    page = (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8")
    assert printed("_zoo_page.py") == page, "run `make zoo`"
    assert sorted(named(page)) == sorted(one.name for one in zoo.SPECIMENS)


def test_the_detection_page_has_every_specimen_with_its_claim():
    page = (ROOT / "docs" / "detection.md").read_text(encoding="utf-8")
    table = page.partition("## Every specimen")[2].partition("### In sum")[0]
    assert sorted(named(table)) == sorted(one.name for one in zoo.SPECIMENS), "run `make detection`"
    buggy, correct = table.partition("### Buggy")[2].split("### Correct")
    assert sorted(named(buggy)) == sorted(one.name for one in zoo.buggy())
    assert sorted(named(correct)) == sorted(one.name for one in zoo.correct())


@pytest.mark.parametrize(("name", "verdict"), [("sum-nan", "refuted"), ("laplace", "not refuted")])
def test_the_detection_script_runs(name, verdict, tmp_path):
    """A probe of 600 calls; that it misses its mark by chance has been tried for this seed."""
    out = tmp_path / "page.md"
    said = printed(
        "detection.py", "--only", name, "--seeds", "1", "--samples", "600", "--page", str(out)
    )
    row = next(line for line in said.splitlines() if line.startswith(f"| {name} |"))
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[4] == verdict
    assert float(cells[5]) >= 0
    assert row in out.read_text(encoding="utf-8")


def test_an_unknown_specimen_is_refused():
    command = [sys.executable, str(SCRIPTS / "detection.py"), "--only", "laplce"]
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode != 0
    assert "did you mean laplace" in done.stderr
