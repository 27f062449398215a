"""Names that moved in 0.2 work for one release, and warn with the new one."""

import importlib
import sys

import pytest

import tellapart as ta
from tellapart import reproduce, worlds
from tellapart._moved import MOVED
from tellapart.reproduce import framework_orderings
from tellapart.worlds import frameworks, models


@pytest.mark.parametrize(("old", "new"), sorted(MOVED.items()))
def test_an_old_path_is_the_module_under_its_new_one(old, new, monkeypatch):
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=rf"{old} is {new} since tellapart 0\.2"):
        module = importlib.import_module(old)
    assert module is importlib.import_module(new)
    assert module.__spec__.name == module.__name__ == new


@pytest.mark.parametrize(
    ("package", "home", "name"),
    [(frameworks, framework_orderings, name) for name in framework_orderings.__all__]
    + [(models, worlds, name) for name in ("MarkovChain", "Sum", "RecordValue")],
)
def test_an_old_name_is_what_it_is_now(package, home, name):
    with pytest.warns(DeprecationWarning, match=f"{package.__name__}.{name} is {home.__name__}"):
        assert getattr(package, name) is getattr(home, name)


@pytest.mark.parametrize(
    ("package", "old", "new"),
    [
        (reproduce, "Verdict", "CellVerdict"),
        (framework_orderings, "Verdict", "OrderVerdict"),
        (framework_orderings, "Pair", "ComparedPair"),
    ],
)
def test_an_old_name_is_the_new_one(package, old, new):
    with pytest.warns(DeprecationWarning, match=f"{package.__name__}.{old} is .*{new}"):
        assert getattr(package, old) is getattr(package, new)
    with pytest.warns(DeprecationWarning, match=f"frameworks.{old} is "):
        assert getattr(frameworks, old).__module__.startswith("tellapart.reproduce")


def test_what_never_was_there_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = frameworks.nothing
    with pytest.raises(ModuleNotFoundError, match=r"tellapart\.audit\.nothing"):
        importlib.import_module("tellapart.audit.nothing")


def test_what_is_there_now_goes_when_it_said_it_would():
    """`_moved` belongs to 0.2 alone."""
    assert ta.__version__.startswith("0.2.")


def test_a_result_of_a_framework_has_its_old_name_until_0_3():
    with pytest.warns(DeprecationWarning, match="Standing is .*FrameworkResult since tellapart"):
        assert frameworks.Standing is frameworks.FrameworkResult
