"""The API reference: a page for every public module, and what is beside a name is there."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
import reference

import tellapart

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Packages that people reach through others: their names are those of `tellapart` and `audit`,
# and the command line is told in the README. Accountants are imported by their full names.
BEHIND = {
    *("accountants", "budget", "cli", "curve", "data", "drawing", "errors", "mechanisms"),
    *("neighbours", "notebook", "pictures"),
}
BY_NAME = {
    "tellapart.accountants.dp_accounting",
    "tellapart.accountants.opacus",
    "tellapart.reproduce.framework_orderings",
}


def public_modules():
    """The packages under tellapart, and every module that a public package offers by name."""
    names = {"tellapart"} | BY_NAME
    for module in pkgutil.iter_modules(tellapart.__path__):
        if not module.name.startswith("_") and module.name not in BEHIND:
            names.add(f"tellapart.{module.name}")
    for name in sorted(names):
        package = importlib.import_module(name)
        offered = [getattr(package, part) for part in package.__all__]
        names |= {part.__name__ for part in offered if inspect.ismodule(part)}
    return names


def thing_at(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.fixture(scope="module")
def public():
    return {f"{module}.{name}" for module in reference.GUIDES for name in reference.public(module)}


@pytest.fixture(scope="module")
def records():
    return [path for paths in reference.records().values() for path in paths]


def test_every_public_module_has_a_page_and_a_guide():
    listed = re.findall(r"^   (tellapart\S*)$", (DOCS / "api.md").read_text(), re.M)
    assert sorted(listed) == sorted(reference.GUIDES) == sorted(public_modules())
    assert [page for page in reference.GUIDES.values() if not (DOCS / f"{page}.md").exists()] == []


def test_a_constant_says_what_it_is_for(public):
    explained = {
        f"{module}.{name}" for module, names in reference.CONSTANTS.items() for name in names
    }
    assert explained == {path for path in public if not callable(thing_at(path))}


def test_records_that_come_back_are_told_of_where_their_functions_are(public, records):
    pages = reference.records()
    assert "tellapart.audit.trainings.step_audit.StepAudit" in pages["tellapart.audit"]
    assert "tellapart.choose.calibrate.Choice" in pages["tellapart.choose"]
    assert "tellapart.curve.base.Rates" in pages["tellapart"]
    assert len(records) == len(set(records))
    assert not {thing_at(path) for path in records} & {
        thing_at(path) for path in public if callable(thing_at(path))
    }


def test_what_to_see_beside_a_name_is_there(public, records):
    """numpydoc's section "See Also", in which each line begins with a name."""
    seen = []
    for path in [*sorted(public), *records]:
        text = inspect.getdoc(thing_at(path)) if callable(thing_at(path)) else ""
        _, _, section = (text or "").partition("See Also\n--------\n")
        beside = re.findall(r"^([\w.]+)(?: : .+)?$", section.partition("\n\n")[0], re.M)
        seen += [(path, name) for name in beside]
    assert len(seen) > 20
    assert [(path, name) for path, name in seen if name not in {*public, *records}] == []
