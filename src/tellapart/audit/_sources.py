"""The files of a user's own code that a function may come to: all that its modules import.

Files are found by what modules hold and by the import statements written in them, so that one
imported only when it is needed counts from the start. Installed packages, whose versions are not
what is mended between two runs, and Python's own are left out.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

_INSTALLED = {"site-packages", "dist-packages"}
_PYTHON = tuple(Path(sysconfig.get_path(one)).resolve() for one in ("stdlib", "platstdlib"))
_TELLAPART = Path(__file__).resolve().parents[1]

Namespace = Mapping[str, Any]


def files(spaces: Iterable[Namespace]) -> set[Path]:
    """The user's files that these namespaces of modules rest on, their own among them."""
    found: set[Path] = set()
    seen: dict[int, Namespace] = {}  # kept, as a number may stand for another once one is gone
    todo = list(spaces)
    while todo:
        space = todo.pop()
        if id(space) in seen:
            continue
        seen[id(space)] = space
        path = file(space)
        if path is not None and path not in found:
            found.add(path)
            todo += _written(path, str(space.get("__package__") or ""))
        if path is not None or _typed_in(space):
            todo += _held(space)
    return found


def files_of_script(script: Path) -> set[Path]:
    """The user's files that a script in Python comes to, beside which they lie."""
    found: set[Path] = set()
    todo: list[Namespace] = [{"__file__": str(script)}]
    while todo:
        space = todo.pop()
        path = file(space)
        if path is not None and path not in found:
            found.add(path)
            package = str(space.get("__package__") or "")
            todo += _written(path, package, [str(script.resolve().parent)])
    return found


def _typed_in(space: Namespace) -> bool:
    return space.get("__file__") is None and space.get("__spec__") is None


def file(space: Namespace) -> Path | None:
    """The file of a module, where it is of the user's own code."""
    named = space.get("__file__")
    if not isinstance(named, str):
        return None
    path = Path(named).resolve()
    away = _INSTALLED & set(path.parts) or any(
        path.is_relative_to(one) for one in (*_PYTHON, _TELLAPART)
    )
    return path if not away and path.is_file() else None


def _held(space: Namespace) -> Iterator[Namespace]:
    """The modules that a namespace holds, or whose functions, classes or objects it holds."""
    for value in list(space.values()):
        if isinstance(value, ModuleType):
            yield vars(value)
        else:
            of = value if isinstance(value, FunctionType | type) else type(value)
            module = sys.modules.get(of.__module__)
            if module is not None and module is not sys.modules["builtins"]:
                yield vars(module)


def _written(path: Path, package: str, beside: list[str] | None = None) -> Iterator[Namespace]:
    """The modules that a file's import statements name, imported yet or not."""
    if path.suffix != ".py":
        return
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield from _named(one.name, beside)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level])
            start = ".".join(filter(None, (base if node.level else "", node.module)))
            for one in node.names:
                yield from _named(f"{start}.{one.name}", beside)


def _named(name: str, beside: list[str] | None) -> Iterator[Namespace]:
    """A module and the packages that it lies in; nothing of it is imported for this.

    What another process finds ``beside`` its script is none of the modules that this one has.
    """
    steps = name.split(".")
    if steps[0] in sys.stdlib_module_names:
        return
    where: Any = beside
    for count in range(1, len(steps) + 1):
        whole = ".".join(steps[:count])
        module = sys.modules.get(whole) if beside is None else None
        spec = None if module is not None else PathFinder.find_spec(whole, where)
        if module is None and spec is None:
            return  # a name in a module, or not installed
        space = _unimported(spec, whole) if module is None else getattr(module, "__dict__", {})
        where = space.get("__path__")
        yield space
        if where is None or (space.get("__file__") and file(space) is None):
            return


def _unimported(spec: Any, whole: str) -> Namespace:
    inside = spec.submodule_search_locations
    package = whole if inside is not None else whole.rpartition(".")[0]
    return {"__file__": spec.origin, "__path__": inside, "__package__": package, "__spec__": spec}
