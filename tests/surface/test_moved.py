"""Names that moved in 0.2 work for one release, and warn with the new one."""

import importlib
import sys
import warnings
from pathlib import Path

import pytest
from public_in_0_1 import PUBLIC

import tellapart as ta
from tellapart import _moved
from tellapart.worlds import frameworks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "migrating.md"


@pytest.mark.parametrize(("old", "new"), sorted(_moved.MOVED.items()))
def test_an_old_path_is_the_module_under_its_new_one(old, new, monkeypatch):
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=rf"{old} is {new} since tellapart 0\.2"):
        module = importlib.import_module(old)
    assert module is importlib.import_module(new)
    assert module.__spec__.name == module.__name__ == new


@pytest.mark.parametrize("package", _moved.NAMES)
def test_an_old_name_is_what_it_is_now(package):
    module = importlib.import_module(package)
    for old, path in _moved.now(package).items():
        home, _, new = path.rpartition(".")
        with pytest.warns(DeprecationWarning, match=rf"^{package}\.{old} is {path} since"):
            thing = getattr(module, old)
        assert thing is getattr(importlib.import_module(home), new)
        assert old not in getattr(module, "__all__", ())


def test_an_old_name_can_be_imported():
    with pytest.warns(DeprecationWarning, match=r"Basis is tellapart\.audit\.bounds\.Basis since"):
        from tellapart.audit import Basis
    assert Basis.__module__ == "tellapart.audit.bounds"


def test_the_page_tells_where_names_are_now():
    rows = []
    for package, modules in _moved.NAMES.items():
        for module, names in modules.items():
            pairs = [name.partition(":") for name in sorted(names.split(), key=str.lower)]
            listed = ", ".join(f"`{old}` (`{new}`)" if new else f"`{old}`" for old, _, new in pairs)
            rows.append(f"| `{package}` | {listed} | `{module}` |")
    assert "\n".join(rows) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", PUBLIC)
def test_what_was_public_works_or_the_page_says_that_it_is_gone(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        home = importlib.import_module(module)
        lost = [name for name in PUBLIC[module].split() if not hasattr(home, name)]
    page = PAGE.read_text(encoding="utf-8")
    short = module.removeprefix("tellapart.")
    assert [name for name in lost if f"| `{short}.{name}` | gone: " not in page] == []


def test_what_never_was_there_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = frameworks.nothing
    with pytest.raises(AttributeError, match="module 'tellapart' has no attribute 'nothing'"):
        _ = ta.nothing
    with pytest.raises(ModuleNotFoundError, match=r"tellapart\.audit\.nothing"):
        importlib.import_module("tellapart.audit.nothing")


def test_what_is_there_now_goes_when_it_said_it_would():
    """`_moved` belongs to 0.2 alone."""
    assert ta.__version__.startswith("0.2.")
