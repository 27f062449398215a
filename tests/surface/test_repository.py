"""The repository itself: no package host by name, and one command for the machine that tests."""

import os
import re
import shutil
import stat
import subprocess
import sys
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
# What the build of pages writes there, beside these tests, it takes from files that are looked at.
BUILT = {ROOT / "docs" / "api", ROOT / "docs" / "gallery"}


def files():
    """Every file of the working tree that is not built, cached or installed."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name not in KEPT_OUT
            and not name.endswith(("_cache", ".egg-info", ".benchmarks"))
            and Path(folder) / name not in BUILT
        ]
        yield from (Path(folder) / name for name in names)


def test_the_walk_finds_the_repository():
    paths = {str(path.relative_to(ROOT)) for path in files()}
    assert {"README.md", "pyproject.toml", ".ci/run", "src/tellapart/__init__.py"} <= paths


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


# -- the first command --------------------------------------------------------------------------

OLD = """#!/bin/sh
exec {real} -c 'import sys; sys.version_info = (3, 10, 4); exec(sys.argv[2])' "$@"
"""
NEW = """#!/bin/sh
echo "$@" >> {calls}
[ "$2" = venv ] && touch {made}
{{ [ "$2" = pip ] && [ ! -e {made} ]; }} && exit 1
exit 0
"""


def make_demo(folder, python):
    """What `make demo` says in a folder, and whether it came to an end, if this is its Python."""
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "pyproject.toml").touch()
    apart = {
        key: value for key, value in os.environ.items() if not key.startswith("M")
    }  # MAKEFLAGS
    command = ["make", "demo", f"PYTHON={python}"]
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env=apart, capture_output=True, text=True, check=False
    )
    return done.stderr, done.returncode


def fake(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(os.name != "posix", reason="make and sh")
def test_a_python_that_is_too_old_is_told_and_leaves_nothing_behind(tmp_path):
    said, code = make_demo(tmp_path, fake(tmp_path / "old", OLD.format(real=sys.executable)))
    assert code != 0
    assert "tellapart needs Python 3.11 or later, and " in said
    assert " is 3.10. Name another: make demo PYTHON=python3.11" in said
    assert not (tmp_path / ".venv").exists()


@pytest.mark.skipif(os.name != "posix", reason="make and sh")
def test_an_environment_that_was_left_half_made_is_made_whole(tmp_path):
    calls = tmp_path / "calls"
    script = NEW.format(calls=calls, made=tmp_path / "made")
    fake(tmp_path / ".venv" / "bin" / "python", script)  # started, but without pip
    assert make_demo(tmp_path, fake(tmp_path / "new", script)) == ("", 0)
    assert [row.split()[:2] for row in calls.read_text(encoding="utf-8").splitlines()] == [
        ["-m", "pip"],
        ["-m", "venv"],
        ["-m", "pip"],
        ["examples/demo.py"],
    ]
