"""The glossary: terms of the field stand in it, and the names it gives exist."""

import importlib
import re
from pathlib import Path

import pytest

import tellapart as ta
from tellapart.web.glossary import TERMS as PAGE_TERMS

GLOSSARY = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
TEXT = GLOSSARY.read_text(encoding="utf-8")
TERMS = [
    "f-DP",
    "trade-off function",
    "dominating pair",
    "privacy profile",
    "hockey-stick divergence",
    "GDP",
    "zCDP",
    "RDP",
    "PLD",
    "privacy accountant",
    "amplification by subsampling",
    "neighbouring relation",
    "membership inference",
    "LiRA",
    "shadow models",
    "canary",
    "one-run audit",
    "Pufferfish privacy",
    "correlated data",
    "DP-SGD",
    "FPR",
    "TPR",
    "p-value",
]
PACKAGES = ("risk", "choose", "audit", "plot", "worlds", "report", "fleet")
NAMES = re.findall(rf"`((?:ta|{'|'.join(PACKAGES)})\.\w+)", TEXT)
METHODS = re.findall(r"`(mechanism|curve)\.(\w+)", TEXT)


@pytest.mark.parametrize("term", TERMS)
def test_terms_that_people_search_for_have_an_entry(term):
    assert re.search(rf"^{re.escape(term)}$", TEXT, re.M)


def test_names_in_the_glossary_are_public():
    assert len(NAMES) > 30
    for dotted in NAMES:
        package, name = dotted.split(".")
        module = ta if package == "ta" else importlib.import_module(f"tellapart.{package}")
        assert name in module.__all__, dotted


def test_methods_in_the_glossary_exist():
    assert len(METHODS) > 10
    owners = {"mechanism": ta.Laplace, "curve": ta.TradeoffCurve}
    assert [pair for pair in METHODS if not hasattr(owners[pair[0]], pair[1])] == []


def test_sentences_on_the_page_are_those_of_the_glossary():
    blocks = re.findall(r"((?:^\S.*\n)+)  (.*)\n", TEXT, re.M)
    said = {name: words for names, words in blocks for name in names.splitlines()}
    assert len(PAGE_TERMS) > 20
    assert [name for name, first in PAGE_TERMS.items() if not said[name].startswith(first)] == []
