"""The API reference: one page for each public module, from what the module says is public.

Pages are written anew with every build, so that no name is missing and none is left over. What to
see beside a name comes from ``related.toml``: every group lists names that belong together. A name
there that has no entry in these pages is a warning, so it stops a build.
"""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

MODULES = (
    "tellapart",
    "tellapart.risk",
    "tellapart.choose",
    "tellapart.audit",
    "tellapart.audit.trainings.attacks",
    "tellapart.audit.trainings.canaries",
    "tellapart.audit.searching.domains",
    "tellapart.audit.counts.intervals",
    "tellapart.testing",
    "tellapart.run",
    "tellapart.deadline",
    "tellapart.zoo",
    "tellapart.fleet",
    "tellapart.worlds",
    "tellapart.worlds.frameworks",
    "tellapart.worlds.policies",
    "tellapart.worlds.markov.streams",
    "tellapart.worlds.described",
    "tellapart.deployments",
    "tellapart.accountants",
    "tellapart.accountants.dp_accounting",
    "tellapart.accountants.opacus",
    "tellapart.plot",
    "tellapart.report",
    "tellapart.reproduce",
    "tellapart.reproduce.framework_orderings",
    "tellapart.web",
)
RELATED = Path(__file__).with_name("related.toml")
# The page that tells a module's story.
GUIDES = {
    "tellapart": "theory",
    "tellapart.risk": "choosing",
    "tellapart.choose": "choosing",
    "tellapart.audit": "audit",
    "tellapart.audit.trainings.attacks": "training",
    "tellapart.audit.trainings.canaries": "audit",
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
    "tellapart.accountants": "switching",
    "tellapart.accountants.dp_accounting": "switching",
    "tellapart.accountants.opacus": "switching",
    "tellapart.plot": "tour",
    "tellapart.report": "report",
    "tellapart.reproduce": "errata",
    "tellapart.reproduce.framework_orderings": "orderings",
    "tellapart.web": "explorer",
}
# What a tuple, a text or a union is for; by itself it says what Python says of all of them.
CONSTANTS = {
    "tellapart.MECHANISMS": "Every mechanism that has a curve of its own, as a class.",
    "tellapart.audit.Method": "How ``many_runs`` may look at scores: one of the classes below.",
    "tellapart.deployments.CAVEATS": "What to keep in mind before two deployments are compared.",
    "tellapart.deployments.DEPLOYMENTS": "Every published promise that can be drawn as a curve.",
    "tellapart.deployments.LEFT_OUT": "Entries of the registry that are left out, and why.",
    "tellapart.deployments.SOURCE": "Whose facts these are.",
    "tellapart.fleet.Recipe": "How models are trained: ``SGD`` or ``DPSGD``.",
    "tellapart.report.DESIGNS": "What each design of an audit means and assumes, by name.",
    "tellapart.report.QUESTIONS": "The checklist of a report: what only people know, by key.",
    "tellapart.reproduce.framework_orderings.COUNTEREXAMPLES": (
        "The smallest instances we know that break an order of frameworks."
    ),
    "tellapart.zoo.SPECIMENS": "All mechanisms of the zoo, correct and buggy.",
    "tellapart.zoo.TRAINING": "All steps of private training of the zoo, correct and buggy.",
}


def public(module: str) -> list[str]:
    """The names a module offers, modules aside."""
    found = importlib.import_module(module)
    return sorted(
        name
        for name in _offered(module)
        if not inspect.ismodule(getattr(found, name)) and not _told_below(module, found, name)
    )


def _offered(module: str) -> list[str]:
    """What a module says is public, or what it defines."""
    found = importlib.import_module(module)
    own = [
        name
        for name, one in vars(found).items()
        if getattr(one, "__module__", "") == module and not isinstance(one, TypeVar)
    ]
    return list(getattr(found, "__all__", [name for name in own if not name.startswith("_")]))


def _told_below(module: str, found: Any, name: str) -> bool:
    """Whether a module with a page of its own offers the same thing."""
    below = [other for other in MODULES if other.startswith(f"{module}.") and module != "tellapart"]
    return any(
        name in _offered(other)
        and getattr(importlib.import_module(other), name) is getattr(found, name)
        for other in below
    )


@cache
def related() -> dict[str, list[str]]:
    """What to see beside each name, all in full."""
    found: dict[str, list[str]] = {}
    for module, groups in tomllib.loads(RELATED.read_text(encoding="utf-8")).items():
        for members in groups.values():
            full = [name if "." in name else f"{module}.{name}" for name in members]
            for name in full:
                beside = found.setdefault(name, [])
                beside += [one for one in full if one != name and one not in beside]
    return found


def entry(module: str, name: str) -> list[str]:
    """One name, as autodoc wants it."""
    one = getattr(importlib.import_module(module), name)
    path = f"{module}.{name}"
    if inspect.isclass(one):
        kind = "autoexception" if issubclass(one, BaseException) else "autoclass"
        options = ["   :members:"]
        options += ["   :undoc-members:"] if issubclass(one, Enum) else []
        return [f".. {kind}:: {path}", *options, ""]
    if callable(one):
        return [f".. autofunction:: {path}", ""]
    return [f".. autodata:: {path}", "   :no-value:", ""]


def said_by_python(one: Any) -> bool:
    """Whether the documentation of a value is that of its type, which Python wrote."""
    return type(one).__module__ in ("builtins", "types", "typing")


def write_pages(app: Any) -> None:
    """Write api/*.rst beside the other pages; those of modules that are gone go."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for page in folder.glob("tellapart*.rst"):
        if page.stem not in MODULES:
            page.unlink()
    for module in MODULES:
        lines = [f"``{module}``", "=" * (len(module) + 4), "", f".. automodule:: {module}", ""]
        lines += [f"Guide: :doc:`/{GUIDES[module]}`.", *_below(module), ""]
        for name in public(module):
            lines += entry(module, name)
        text = "\n".join(lines)
        page = folder / f"{module}.rst"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    index = ["API reference", "=============", ""]
    index += [f"- :doc:`{module} <{module}>`: {_opening(module)}" for module in MODULES]
    index += ["", ".. toctree::", "   :hidden:", ""]
    index += [f"   {module}" for module in MODULES]
    (folder / "index.rst").write_text("\n".join(index) + "\n", encoding="utf-8")


def _below(module: str) -> list[str]:
    """Links to the pages of a module's own modules; those of the package are in the index."""
    found = [one for one in MODULES if one.rpartition(".")[0] == module != "tellapart"]
    return (
        ["Modules: " + ", ".join(f":doc:`{one} <{one}>`" for one in found) + "."] if found else []
    )


def _opening(module: str) -> str:
    """What a module says it is for, in its first sentence."""
    text = " ".join(
        (inspect.getdoc(importlib.import_module(module)) or "").split("\n\n")[0].split()
    )
    return text.partition(". ")[0].rstrip(".") + "."


def see_also(_app: Any, what: str, name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Say what to look at next."""
    if what not in ("function", "class", "exception", "data"):
        return
    others = related().get(name, [])
    if others:
        roles = ", ".join(_role(one, name) for one in others)
        lines += ["", f"**See also** {roles}", ""]


def in_our_words(
    _app: Any, what: str, name: str, obj: Any, _options: Any, lines: list[str]
) -> None:
    """Leave out what Python says of every tuple and of every field of a named one."""
    if what == "data" and said_by_python(obj):
        lines[:] = [CONSTANTS[name], ""]
    elif any(line.startswith("Alias for field number") for line in lines):
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


def _role(one: str, beside: str) -> str:
    """A link to a name, which says its module where that is another one."""
    if one.rpartition(".")[0] == beside.rpartition(".")[0]:
        return f":py:obj:`~{one}`"
    return f":py:obj:`{one.removeprefix('tellapart.')} <{one}>`"


def unresolved(_app: Any, _env: Any, node: Any, _content: Any) -> None:
    """A name that people are sent to must be there."""
    from sphinx.util import logging  # here, as what is public can be asked without Sphinx

    if node.get("reftarget") in related():
        logging.getLogger(__name__).warning("no entry for %s", node["reftarget"], location=node)


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    # Before autosummary, which reads what is there.
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("autodoc-process-docstring", see_also, priority=900)
    app.connect("autodoc-process-docstring", in_our_words, priority=800)
    app.connect("autodoc-process-signature", readable)
    app.connect("missing-reference", unresolved)
    return {"parallel_read_safe": True}
