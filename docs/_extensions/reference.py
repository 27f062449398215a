"""The API reference: one page for each public module, from what the module says is public.

Pages are written anew with every build, so that no name is missing and none is left over. What to
see beside a name comes from ``related.toml``: every group lists names that belong together. A name
there that has no entry in these pages is a warning, so it stops a build.
"""

from __future__ import annotations

import importlib
import inspect
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

MODULES = (
    "tellapart",
    "tellapart.risk",
    "tellapart.choose",
    "tellapart.audit",
    "tellapart.audit.attacks",
    "tellapart.audit.canaries",
    "tellapart.audit.domains",
    "tellapart.audit.intervals",
    "tellapart.audit.published",
    "tellapart.testing",
    "tellapart.run",
    "tellapart.zoo",
    "tellapart.fleet",
    "tellapart.worlds",
    "tellapart.worlds.frameworks",
    "tellapart.worlds.policies",
    "tellapart.worlds.streams",
    "tellapart.worlds.fitting",
    "tellapart.worlds.described",
    "tellapart.deployments",
    "tellapart.accountants",
    "tellapart.accountants.dp_accounting",
    "tellapart.accountants.opacus",
    "tellapart.plot",
    "tellapart.report",
    "tellapart.reproduce",
    "tellapart.web",
)
RELATED = Path(__file__).with_name("related.toml")


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
    own = [name for name, one in vars(found).items() if getattr(one, "__module__", "") == module]
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
        return [f".. {kind}:: {path}", "   :members:", ""]
    if callable(one):
        return [f".. autofunction:: {path}", ""]
    return [f".. autodata:: {path}", "   :no-value:", ""]


def write_pages(app: Any) -> None:
    """Write api/*.rst beside the other pages."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for module in MODULES:
        lines = [f"``{module}``", "=" * (len(module) + 4), "", f".. automodule:: {module}", ""]
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


def plain_fields(
    _app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """Leave out what Python says of every field of a named tuple."""
    if any(line.startswith("Alias for field number") for line in lines):
        lines.clear()


def readable(
    _app: Any,
    _what: str,
    _name: str,
    _obj: Any,
    _options: Any,
    taken: str | None,
    given: str | None,
) -> tuple[str | None, str | None]:
    """Write a default that is made anew each time as Python can read it, so that Sphinx can too."""
    return taken and taken.replace("<factory>", "..."), given


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
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", see_also, priority=900)
    app.connect("autodoc-process-docstring", plain_fields, priority=901)
    app.connect("autodoc-process-signature", readable)
    app.connect("missing-reference", unresolved)
    return {"parallel_read_safe": True}
