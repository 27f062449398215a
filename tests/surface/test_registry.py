"""Nothing is forgotten: every mechanism is registered, every curve class can be stored."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import tellapart as ta
from tellapart.curve import exchange
from tellapart.mechanisms.base import BatchStep
from tellapart.mechanisms.combine import Combined, Enclosed

ROOT = Path(__file__).resolve().parents[2]

for _, name, _ in pkgutil.walk_packages(ta.__path__, "tellapart."):
    importlib.import_module(name)


def ours(root):
    """All subclasses that the package itself defines."""
    kinds = set()
    for kind in root.__subclasses__():
        if kind.__module__.startswith("tellapart."):
            kinds |= {kind} | ours(kind)
    return kinds


def final(root):
    """Those that no other class of the package extends."""
    kinds = ours(root)
    return {kind for kind in kinds if not any(issubclass(k, kind) for k in kinds - {kind})}


def test_the_registry_holds_every_final_mechanism():
    """But for what is made of other mechanisms, which has laws of its own."""
    assert set(ta.MECHANISMS) == {
        kind
        for kind in final(ta.Mechanism)
        if not issubclass(kind, Combined | Enclosed | BatchStep)
    }
    assert len(set(ta.MECHANISMS)) == len(ta.MECHANISMS)


def test_every_mechanism_is_public_under_its_own_name():
    for kind in ta.MECHANISMS:
        assert getattr(ta, kind.__name__) is kind


def test_the_page_of_the_library_lists_every_mechanism_and_the_changelog_counts_them():
    listed = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    paragraph = next(row for row in listed.splitlines() if row.startswith("Mechanisms are"))
    assert [kind.__name__ for kind in ta.MECHANISMS if f"`{kind.__name__}`" not in paragraph] == []
    number = re.search(r"^- (\w+) mechanisms\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)[
        1
    ]
    assert (number, len(ta.MECHANISMS)) == ("Nineteen", 19)  # in words: change both


def test_the_registry_is_in_alphabetical_order():
    names = [kind.__name__ for kind in ta.MECHANISMS]
    assert names == sorted(names)


def test_every_final_curve_class_of_the_curve_package_can_be_stored():
    """What is made of other curves or of priors is made anew; `to_json` refuses it in words."""
    kinds = {
        kind for kind in final(ta.TradeoffCurve) if kind.__module__.startswith("tellapart.curve")
    }
    made = {
        "ComposedCurve",
        "EitherOrder",
        "EnclosedCurve",
        "OneStep",
        "PanelsCurve",
        "InfiniteLossCurve",
        "SampledCurve",
    }
    made |= {"ReplacedCurve", "UnsampledCurve", "AnnouncedCurve"}
    stored = {kind.__name__: kind for kind in kinds}
    assert {name: kind for name, kind in stored.items() if name not in made} == exchange._KINDS
    assert made <= set(stored)


@pytest.mark.parametrize("root", [ta.Mechanism, ta.TradeoffCurve])
def test_a_class_is_abstract_or_final(root):
    """Never instantiated or never extended, so that no half-built object exists."""
    for kind in ours(root) - final(root):
        assert inspect.isabstract(kind), f"{kind.__name__} is extended, so it must be abstract"
    for kind in final(root):
        assert not inspect.isabstract(kind), f"{kind.__name__} lacks methods"
