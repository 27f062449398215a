"""CONTRIBUTING.md tells of the tree that is there, and every module says what it is for."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "tellapart"
SHAPE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## ")[1]
# In backticks, and no module: names of other things.
OTHERS = {"files", "torch", "assert_private", "pytest_tellapart"}


def packages(text):
    """What is said of each package: from its name to that of the next."""
    parts = re.split(r"^- (?=`)", text, flags=re.M)[1:]
    return {re.match(r"`(\w+)`", part)[1]: part for part in parts}


def said(text):
    """The names of modules, packages and files in backticks."""
    quoted = re.findall(r"`([^`]+)`", text)
    return {one for one in quoted if re.fullmatch(r"[a-z_0-9]+(\.csv|\.html)?", one)} - OTHERS


def modules(folder):
    """The names of all modules and packages below a folder."""
    found = {path.stem for path in folder.rglob("*.py")} - {"__init__"}
    return found | {path.parent.name for path in folder.rglob("__init__.py")}


def test_the_shape_is_the_shape_of_this_repository():
    assert SHAPE.startswith("The shape\n")
    assert {"curve", "worlds", "audit", "web"} <= set(packages(SHAPE))


def test_the_layers_are_those_that_are_enforced():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    enforced = " -> ".join(layer.replace("tellapart.", "") for layer in contract["layers"])
    assert re.search(r"^    (cli -> .+)$", SHAPE, re.M)[1] == enforced


def test_every_layer_is_in_the_tree_and_the_other_way_round():
    drawn = re.findall(r"\w+", re.search(r"^    (cli -> .+)$", SHAPE, re.M)[1])
    there = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    there |= {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert sorted(drawn) == sorted(there)


@pytest.mark.parametrize("package", sorted(path.parent.name for path in SOURCE.glob("*/*nit__.py")))
def test_every_module_is_named_and_no_other(package):
    named = said(packages(SHAPE)[package])
    there = modules(SOURCE / package)
    files = {path.name for path in (SOURCE / package).iterdir()}
    elsewhere = set(packages(SHAPE))  # another package may be mentioned
    assert there - named == set()
    assert named - there - files - elsewhere == set()


def test_every_module_opens_with_what_it_is_for():
    folders = ("src", "tests", "benchmarks", "examples", "docs")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    openings = [ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in paths]
    silent = [
        str(path.relative_to(ROOT))
        for path, opening in zip(paths, openings, strict=True)
        if not opening or not re.search(r"[.?!:]$", opening.partition("\n\n")[0])
    ]
    assert len(paths) > 600
    assert silent == []
