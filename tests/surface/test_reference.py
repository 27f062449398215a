"""The API reference: a page for every public module, and something to see beside every name."""

import importlib
import inspect
import pkgutil
import sys
from pathlib import Path
from typing import TypeVar

import pytest

import tellapart

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
reference = importlib.import_module("reference")
sys.path.pop(0)

# Packages that people reach through others: their names are those of `tellapart` and `audit`,
# and the command line is told in the README.
BEHIND = {"cli", "curve", "data", "errors", "mechanisms"}
# Accountants for other packages are imported by their full names, so that neither is loaded.
BY_NAME = {"tellapart.accountants.dp_accounting", "tellapart.accountants.opacus"}


def public_modules():
    """The packages under tellapart, and every module that a public package offers by name."""
    found = {"tellapart"} | BY_NAME
    for one in pkgutil.iter_modules(tellapart.__path__):
        if not one.name.startswith("_") and one.name not in BEHIND:
            found.add(f"tellapart.{one.name}")
    for name in sorted(found):
        module = importlib.import_module(name)
        offered = [getattr(module, one) for one in getattr(module, "__all__", [])]
        found |= {one.__name__ for one in offered if inspect.ismodule(one)}
    return found


@pytest.fixture(scope="module")
def names():
    return {f"{module}.{name}" for module in reference.MODULES for name in reference.public(module)}


def test_every_public_module_has_a_page():
    pages = set(reference.MODULES)
    assert len(pages) == len(reference.MODULES)
    assert public_modules() - pages == set()
    assert pages - public_modules() == {"tellapart.reproduce.framework_orderings"}


def test_every_module_leads_to_the_page_that_tells_its_story():
    assert set(reference.GUIDES) == set(reference.MODULES)
    assert [page for page in reference.GUIDES.values() if not (DOCS / f"{page}.md").exists()] == []


def test_a_name_is_told_on_one_page_and_not_hidden_by_an_import(names):
    assert {"tellapart.audit.Scores", "tellapart.audit.Orientation"} <= names
    assert "tellapart.worlds.fit_chain" in names


def test_a_constant_says_what_it_is_for_and_type_variables_are_not_public(names):
    found = {name: _value(name) for name in names}
    bare = {name for name, one in found.items() if not callable(one)}
    told = {name for name in bare if reference.said_by_python(found[name])}
    assert told == set(reference.CONSTANTS)
    assert not any(isinstance(one, TypeVar) for one in found.values())


def _value(name):
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_there_is_something_to_see_beside_every_name(names):
    related = reference.related()
    assert {name for name in names if not related.get(name)} == set()


def test_every_name_to_see_is_on_a_page(names):
    related = reference.related()
    assert {name for others in related.values() for name in others} <= names
    assert set(related) <= names


def test_what_belongs_together_is_seen_from_both_sides():
    related = reference.related()
    assert "tellapart.risk.tpr" in related["tellapart.risk.advantage"]
    assert "tellapart.risk.advantage" in related["tellapart.risk.tpr"]
    assert all(name not in others for name, others in related.items())
