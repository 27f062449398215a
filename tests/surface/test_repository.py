"""The repository itself: no package host by name, and one command for the machine that tests."""

import os
import re
import stat
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Written in two parts, so that this file does not name them either.
HOSTS = [
    "pypi" + ".org",
    "pypi" + ".python.org",
    "python" + "hosted.org",
    "anaconda" + ".org",
    "conda" + "-forge.org",
    "npm" + "js.org",
    "npm" + "js.com",
    "un" + "pkg.com",
    "js" + "delivr.net",
    "cdn" + "js.cloudflare.com",
    "index" + "-url",
]
KEPT_OUT = {".git", ".venv", "__pycache__", "build", "dist", "node_modules", ".hypothesis"}


def files():
    """Every file of the working tree that is not built, cached or installed."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            one
            for one in folders
            if one not in KEPT_OUT and not one.endswith(("_cache", ".egg-info", ".benchmarks"))
        ]
        yield from (Path(folder) / name for name in names)


def test_the_walk_finds_the_repository():
    found = {str(path.relative_to(ROOT)) for path in files()}
    assert {"README.md", "pyproject.toml", ".ci/run", "src/tellapart/__init__.py"} <= found


def test_no_file_names_a_package_host():
    naming = []
    for path in files():
        text = path.read_bytes().decode("utf-8", errors="ignore").lower()
        naming += [f"{path.relative_to(ROOT)}: {host}" for host in HOSTS if host in text]
    assert naming == []


def test_the_machine_that_tests_runs_make_test_and_nothing_else():
    run = ROOT / ".ci" / "run"
    rows = [row.strip() for row in run.read_text(encoding="utf-8").splitlines()]
    assert rows[0].startswith("#!")
    commands = [row for row in rows if row and not row.startswith("#")]
    housekeeping = ("set -", 'cd "$(dirname "$0")/.."')
    assert [row for row in commands if not row.startswith(housekeeping)] == ["make test"]
    assert commands[-1] == "make test"


def test_the_workflow_runs_the_same_and_nothing_else():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert re.findall(r"\brun: *(.+)", workflow) == ["bash .ci/run"]


@pytest.mark.skipif(os.name != "posix", reason="no executable bit elsewhere")
def test_the_machine_that_tests_can_run_it():
    assert (ROOT / ".ci" / "run").stat().st_mode & stat.S_IXUSR


def test_test_modules_have_unique_names():
    """There is no __init__.py under tests/, so two modules of one name would hide each other."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
    assert not list((ROOT / "tests").rglob("__init__.py"))
