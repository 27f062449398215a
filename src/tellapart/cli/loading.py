"""What a probe is pointed at: a function named on the command line, and inputs as JSON."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tellapart._checks import refuse
from tellapart.data import sources
from tellapart.errors import InvalidArgument

_HOW = "be named as package.module:function or path/to/file.py:function"


def function(name: str) -> Callable[..., Any]:
    """A function by its name; it and all that its module needs are loaded into this process."""
    place, colon, path = name.rpartition(":")
    if not colon or not place or not path:
        refuse("function", _HOW, name)
    is_file = place.endswith(".py")
    folder, module = (
        (Path(place).parent.resolve(), Path(place).stem) if is_file else (Path.cwd(), place)
    )
    if is_file and not Path(place).is_file():
        refuse("function", "be in a file that is there", place)
    sys.path.insert(0, str(folder))
    found = _imported(module)
    if is_file and not _is_of(found, Path(place)):
        refuse("function", f"be in a file not named as a module, as {module} is", place)
    return _inside(found, path)


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and name.startswith(f"{error.name}"):
            raise InvalidArgument(
                f"function must be in a module that can be found, got {name!r}: no module named "
                f"{error.name!r} is installed, or in {Path.cwd()}"
            ) from error
        said = f"{type(error).__name__}: {error}"
        raise InvalidArgument(
            f"function must be in a module that can be imported; {name} raised {said} "
            "(--debug shows where)"
        ) from error


def _is_of(module: ModuleType, file: Path) -> bool:
    known = getattr(module, "__file__", None)
    return known is not None and Path(known).exists() and file.samefile(known)


def _inside(module: ModuleType, path: str) -> Callable[..., Any]:
    found: Any = module
    for step in path.split("."):
        if not hasattr(found, step):
            refuse("function", f"be in {module.__name__}, which has {_names(module)}", path)
        found = getattr(found, step)
    if not callable(found):
        refuse("function", f"be callable; {module.__name__}:{path} is not", found)
    return found  # type: ignore[no-any-return]


def _names(module: ModuleType) -> str:
    """The functions that are the module's own."""
    own = [
        name
        for name, one in vars(module).items()
        if callable(one)
        and not name.startswith("_")
        and getattr(one, "__module__", None) == module.__name__
    ]
    return ", ".join(own[:8]) + (", ..." if len(own) > 8 else "") if own else "no functions"


def value(option: str, text: str | None) -> tuple[Any, list[str]]:
    """An input that was given as JSON, or as @ and a file of it; and the file, if there is one."""
    if text is None:
        raise InvalidArgument(
            "--d0 and --d1 must be given: two neighbouring inputs as JSON, such as --d0 '[3, 1]' "
            "--d1 '[3, 1, 4]'"
        )
    files = [text[1:]] if text.startswith("@") else []
    try:
        held = sources.text(files[0]) if files else text
        return json.loads(held), files
    except (ValueError, RecursionError) as error:  # no JSON, or no text at all, or too deep
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        raise InvalidArgument(
            f"{option} must be JSON, such as '[3, 1]', '\"text\"' or @file.json, got {shown} "
            f"({error})"
        ) from error
