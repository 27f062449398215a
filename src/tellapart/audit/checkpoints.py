"""Checkpoints of runs: fingerprints of code and data, and the manifest of a folder.

They tell whether a run that goes on is still the same run.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import numbers
import os
import platform
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

import tellapart
from tellapart import _checks, _files
from tellapart.data import sources
from tellapart.errors import InvalidArgument

_INSTALLED = {"site-packages", "dist-packages"}
_PYTHON = tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib"))
_TELLAPART = Path(tellapart.__file__).resolve().parent

Namespace = Mapping[str, Any]


def files(spaces: Iterable[Namespace]) -> set[Path]:
    """The user's files that these namespaces of modules rest on, their own among them."""
    paths: set[Path] = set()
    seen: dict[int, Namespace] = {}  # kept, as a number may stand for another once one is gone
    todo = list(spaces)
    while todo:
        space = todo.pop()
        if id(space) in seen:
            continue
        seen[id(space)] = space
        path = file(space)
        if path is not None and path not in paths:
            paths.add(path)
            todo += _written(path, str(space.get("__package__") or ""))
        if path is not None or _typed_in(space):
            todo += _held(space)
    return paths


def files_of_script(script: Path) -> set[Path]:
    """The user's files that a script in Python comes to, beside which they lie."""
    paths: set[Path] = set()
    todo: list[Namespace] = [{"__file__": str(script)}]
    while todo:
        space = todo.pop()
        path = file(space)
        if path is not None and path not in paths:
            paths.add(path)
            package = str(space.get("__package__") or "")
            todo += _written(path, package, [str(script.resolve().parent)])
    return paths


def _typed_in(space: Namespace) -> bool:
    return space.get("__file__") is None and space.get("__spec__") is None


def file(space: Namespace) -> Path | None:
    """The file of a module, where it is of the user's own code."""
    named = space.get("__file__")
    if not isinstance(named, str):
        return None
    path = Path(named).resolve()
    away = _INSTALLED & set(path.parts) or any(
        path.is_relative_to(folder) for folder in (*_PYTHON, _TELLAPART)
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
            for alias in node.names:
                yield from _named(alias.name, beside)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level])
            start = ".".join(filter(None, (base if node.level else "", node.module)))
            for alias in node.names:
                yield from _named(f"{start}.{alias.name}", beside)


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


_PLAIN = (str, bytes, numbers.Number, range, type(None))


def function_name(function: Any) -> str:
    """The function's full name; that of its type where it has none."""
    bare = _bare(function)
    named = bare if hasattr(bare, "__qualname__") else type(bare)
    return f"{named.__module__}.{named.__qualname__}"


def code_fingerprint(function: Any, whole_files: bool = False) -> str:
    """A short name for the function's code and its settings; nothing where it has none.

    Settings are plain values and arrays: arguments bound to it, defaults, what it closes over,
    what its object holds; of its module, plain values and the functions it names. The user's
    files that its module imports, and those that they import, count as a whole; with
    ``whole_files`` so does its own. Whatever else it uses is not seen.
    """
    if function is None or _own(_bare(function)) is None:
        return ""
    digest, seen = hashlib.sha256(), _SeenCode()
    _feed(digest, function, seen)
    paths = files(seen.spaces)
    if not whole_files:
        paths -= {file(space) for space in seen.spaces}
    digest.update(contents(paths))
    return digest.hexdigest()[:16]


def contents(paths: Iterable[Path]) -> bytes:
    """What is in files, wherever they lie."""
    return b"".join(sorted(hashlib.sha256(path.read_bytes()).digest() for path in paths))


@dataclass(frozen=True)
class _SeenCode:
    """Code that is told, and the modules that it lies in."""

    codes: set[int] = field(default_factory=set)
    spaces: list[dict[str, Any]] = field(default_factory=list)


def _bare(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__func__", function)


def _own(bare: Any) -> CodeType | None:
    return getattr(bare, "__code__", None) or getattr(type(bare).__call__, "__code__", None)


def _feed(digest: Any, function: Any, seen: _SeenCode) -> None:
    while isinstance(function, functools.partial):
        _settings(digest, {"": function.args, **function.keywords}, seen)
        function = function.func
    _settings(digest, _holds(getattr(function, "__self__", None)), seen)
    bare = getattr(function, "__func__", function)
    own = _own(bare)
    if own is None or id(own) in seen.codes:
        return
    seen.codes.add(id(own))
    _feed_code(digest, own)
    if not isinstance(bare, FunctionType):
        _settings(digest, _holds(bare), seen)
        bare = getattr(type(bare).__call__, "__func__", type(bare).__call__)
    if isinstance(bare, FunctionType):
        seen.spaces.append(bare.__globals__)
        _settings(digest, {"": bare.__defaults__, **(bare.__kwdefaults__ or {})}, seen)
        _settings(digest, _closed_over(bare), seen)
        _settings(digest, _name_in(bare, own), seen)


def _feed_code(digest: Any, own: CodeType) -> None:
    digest.update(own.co_code)
    digest.update(repr((own.co_names, own.co_varnames, own.co_freevars)).encode())
    for constant in own.co_consts:
        if isinstance(constant, CodeType):
            _feed_code(digest, constant)
        elif isinstance(constant, frozenset):  # in no order of its own
            digest.update(repr(sorted(constant, key=repr)).encode())
        else:
            digest.update(repr(constant).encode())


def _settings(digest: Any, values: dict[str, Any], seen: _SeenCode) -> None:
    for name, value in sorted(values.items()):
        if _plain(value) or isinstance(value, np.ndarray):
            digest.update(f"{name} {data_fingerprint(value)};".encode())
        elif isinstance(value, FunctionType | functools.partial):
            digest.update(f"{name} {value.__class__.__name__};".encode())
            _feed(digest, value, seen)


def _plain(value: Any) -> bool:
    return isinstance(value, _PLAIN) or (
        isinstance(value, tuple) and all(_plain(item) for item in value)
    )


def _holds(thing: Any) -> dict[str, Any]:
    return dict(getattr(thing, "__dict__", {})) if not isinstance(thing, type) else {}


def _closed_over(function: FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != type(cell)()}


def _name_in(function: FunctionType, own: CodeType) -> dict[str, Any]:
    """What a function finds in its module: plain values, and functions made there."""
    values = {name: function.__globals__.get(name) for name in _names(own)}
    return {
        name: value
        for name, value in values.items()
        if _plain(value)
        or (isinstance(value, FunctionType) and value.__module__ == function.__module__)
    }


def _names(own: CodeType) -> Iterator[str]:
    yield from own.co_names
    for constant in own.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


# -- data ------------------------------------------------------------------------------------------


def data_fingerprint(data: Any) -> str:
    """A short name for the data: others have another, up to what cannot be read without calling.

    Objects that are neither arrays, frames, nor made of lists and plain values count by their
    type and length alone.
    """
    digest = hashlib.sha256()
    _feed_data(digest, data)
    return digest.hexdigest()[:32]


def _feed_data(digest: Any, data: Any) -> None:
    if hasattr(data, "tensors"):  # PyTorch's TensorDataset
        data = data.tensors
    if hasattr(data, "detach"):
        data = data.detach().cpu().numpy()
    if isinstance(data, np.ndarray) and data.dtype.kind != "O":
        digest.update(f"array {data.dtype.str} {data.shape}".encode())
        digest.update(np.ascontiguousarray(data).tobytes())
    elif isinstance(data, str | bytes | numbers.Number | range | date | None):
        digest.update(f"{type(data).__name__} {data!r};".encode())
    elif isinstance(data, np.ndarray):
        _feed_data(digest, data.tolist())
    elif isinstance(data, set | frozenset):  # in no order of their own
        _feed_data(digest, sorted(data_fingerprint(item) for item in data))
    elif isinstance(data, Sequence):
        digest.update(f"{type(data).__name__} {len(data)}".encode())
        for item in data:
            _feed_data(digest, item)
    elif isinstance(data, dict):
        _feed_data(digest, list(data.items()))
    elif hasattr(data, "columns") and hasattr(data, "to_numpy"):
        for name in data.columns:
            _feed_data(digest, name)
            _feed_data(digest, data[name].to_numpy())
    elif hasattr(data, "tocoo"):  # SciPy's sparse matrices
        entries = data.tocoo()
        _feed_data(digest, [data.shape, entries.row, entries.col, entries.data])
    elif hasattr(data, "to_numpy"):
        _feed_data(digest, data.to_numpy())
    else:
        kind = type(data)
        length = len(data) if hasattr(data, "__len__") else 0
        digest.update(f"{kind.__module__}.{kind.__qualname__} {length}".encode())


# -- folders ---------------------------------------------------------------------------------------

MANIFEST = "manifest.json"
# What the manifest notes without comparing: files of another version are still the same scores.
_NOTED = ("format", "versions", "calls_per_file")


def versions() -> dict[str, str]:
    """What a run was made with."""
    return {
        "tellapart": tellapart.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def opened_folder(
    folder: str | os.PathLike[str], asked: Mapping[str, Any], what: str
) -> tuple[Path, Mapping[str, Any] | None]:
    """The folder of this game or probe, and the manifest it had; that of another is refused."""
    _checks.instance(str | os.PathLike, "a path", folder=folder)
    where = Path(folder).absolute()  # workers may have been started elsewhere
    try:
        where.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        _checks.refuse("folder", f"be new, or that of a {what}, and no file", str(where))
    _files.sweep(where)
    known = where / MANIFEST
    if known.exists():
        return where, _same_manifest(where, known, asked, what)
    if any(not entry.name.startswith(".") for entry in where.iterdir()):
        _checks.refuse("folder", f"be empty or that of a {what}", str(where))
    text = json.dumps(asked, indent=1)
    _files.whole(known, lambda part: part.write_text(text, encoding="utf-8"))
    return where, None


def _same_manifest(
    where: Path, known: Path, asked: Mapping[str, Any], what: str
) -> Mapping[str, Any]:
    """The manifest of a folder, which must name what is asked: a game, or a probe."""
    try:
        manifest = json.loads(sources.text(known))
        if not isinstance(manifest, dict):
            raise TypeError("it holds no names")
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidArgument(f"{known} must be the manifest of a {what}: {error}") from error
    wanted = json.loads(json.dumps(asked))
    for name in wanted:
        if name not in _NOTED and manifest.get(name) != wanted[name]:
            raise InvalidArgument(
                f"folder must be of this {what}, and {where} is of another: its {name} is "
                f"{_checks.shortened(repr(manifest.get(name)), 60)}, "
                f"not {_checks.shortened(repr(wanted[name]), 60)}"
            )
    return manifest
