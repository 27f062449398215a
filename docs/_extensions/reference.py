"""What autosummary and autodoc cannot know: guides, constants, and the records that come back."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

# The page that tells a module's story.
GUIDES = {
    "tellapart": "theory",
    "tellapart.risk": "choosing",
    "tellapart.choose": "choosing",
    "tellapart.decision": "deciding",
    "tellapart.audit": "audit",
    "tellapart.audit.trainings.attacks": "training",
    "tellapart.audit.trainings.canaries": "audit",
    "tellapart.audit.language": "language-models",
    "tellapart.audit.searching.domains": "probe",
    "tellapart.audit.counts.intervals": "audit",
    "tellapart.testing": "probe",
    "tellapart.run": "cluster",
    "tellapart.deadline": "migrating",
    "tellapart.zoo": "zoo",
    "tellapart.fleet": "fleet",
    "tellapart.worlds": "worlds",
    "tellapart.worlds.frameworks": "orderings",
    "tellapart.worlds.policies": "worlds",
    "tellapart.worlds.markov.streams": "worlds",
    "tellapart.worlds.described": "worlds-files",
    "tellapart.deployments": "deployments",
    "tellapart.accountants.dp_accounting": "switching",
    "tellapart.accountants.opacus": "switching",
    "tellapart.plot": "tour",
    "tellapart.report": "report",
    "tellapart.reproduce": "errata",
    "tellapart.reproduce.framework_orderings": "orderings",
    "tellapart.web": "explorer",
}
# What a tuple, a mapping or a marker is for: Python says of it only what kind of thing it is.
CONSTANTS = {
    "tellapart": {"MECHANISMS": "Every mechanism that has a curve of its own, as a class."},
    "tellapart.choose": {"FROM_MODEL": "As ``prior=``: the prior that the model itself gives."},
    "tellapart.deployments": {
        "DEPLOYMENTS": "Every published promise that can be drawn as a curve.",
        "LEFT_OUT": "Entries of the registry that are left out, and why.",
    },
    "tellapart.report": {"QUESTIONS": "The checklist of a report: what only people know, by key."},
    "tellapart.reproduce.framework_orderings": {
        "COUNTEREXAMPLES": "The smallest instances we know that break an order of frameworks."
    },
    "tellapart.zoo": {
        "SPECIMENS": "All mechanisms of the zoo, correct and buggy.",
        "TRAINING": "All steps of private training of the zoo, correct and buggy.",
    },
}
# Engines and readers inside, which give their results to others.
_INSIDE = ("tellapart.curve.composition", "tellapart.data", "tellapart.mechanisms.laws")


def public(module: str) -> dict[str, Any]:
    """The names that a module offers, modules aside."""
    offered = importlib.import_module(module)
    things = {name: getattr(offered, name) for name in offered.__all__}
    return {name: thing for name, thing in things.items() if not inspect.ismodule(thing)}


def records() -> dict[str, list[str]]:
    """The classes that what is public leads to, by the page that they go to."""
    listed = [thing for module in GUIDES for thing in public(module).values()]
    reached = [thing for thing in listed if callable(thing)]
    for thing in reached:  # grows while it is walked
        reached += {given for given in _given_by(thing) if given not in reached}
    pages: dict[str, list[str]] = {module: [] for module in GUIDES}
    for record in reached:
        if record not in listed:
            path = f"{record.__module__}.{record.__name__}"
            page = max((page for page in GUIDES if path.startswith(f"{page}.")), key=len)
            pages[page].append(path)
    return {page: sorted(paths) for page, paths in pages.items()}


def _given_by(thing: Any) -> Iterator[type]:
    """The classes that a function returns, or that the fields and methods of a class give."""
    notes = [inspect.get_annotations(thing).get("return")]
    if inspect.isclass(thing):
        own = [member for name, member in vars(thing).items() if not name.startswith("_")]
        functions = [getattr(member, "fget", member) for member in own]
        notes = [getattr(each, "__annotations__", {}).get("return") for each in functions]
        notes += inspect.get_annotations(thing).values()
    names = vars(importlib.import_module(thing.__module__))
    for word in re.findall(r"[A-Z]\w+", " ".join(map(str, notes))):
        named = names.get(word)
        module = named.__module__ if inspect.isclass(named) else ""
        if module.startswith("tellapart.") and not module.startswith(_INSIDE):
            yield named


def members(_app: Any, _what: str, _name: str, obj: Any, _skip: bool, _options: Any) -> bool | None:
    """Members of an enumeration are told, though their values are all there is to say."""
    return False if isinstance(obj, Enum) else None


def in_our_words(
    _app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """Leave out what Python says of every field of a named tuple."""
    if any(line.startswith("Alias for field number") for line in lines):
        lines.clear()


def readable(
    _app: Any, _what: str, _name: str, obj: Any, _options: Any, taken: str | None, given: str | None
) -> tuple[str | None, str | None]:
    """Write a signature as a person would, where Python or Sphinx spells out how it is made."""
    if inspect.isclass(obj) and issubclass(obj, Enum):
        return "", None  # nobody makes one: its members are listed
    return _named(taken), _named(given)


def _named(text: str | None) -> str | None:
    """Types by their names, and a default that is made anew each time as an ellipsis."""
    if text is None:
        return None
    text = re.sub(r"~?[\w.]*TypeAliasForwardRef\('(\w+)'\)", r"\1", text)
    return text.replace("<factory>", "...")


def sweep(app: Any) -> None:
    """Pages of modules that are gone go."""
    for page in (Path(app.srcdir) / "api").glob("*.rst"):
        if page.stem not in GUIDES:
            page.unlink()


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", sweep, priority=100)  # before autosummary looks
    app.connect("autodoc-skip-member", members)
    app.connect("autodoc-process-docstring", in_our_words, priority=800)
    app.connect("autodoc-process-signature", readable)
    return {"parallel_read_safe": True}
