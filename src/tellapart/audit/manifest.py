"""The manifest of a resumable run: a folder belongs to one game or probe, and says to which."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tellapart import _checks, _files
from tellapart.data import sources
from tellapart.errors import InvalidArgument

MANIFEST = "manifest.json"
# What the manifest notes without comparing: files of another version are still the same scores.
_NOTED = ("format", "versions")


def opened_folder(
    folder: str | os.PathLike[str], asked: Mapping[str, Any], what: str
) -> tuple[Path, Mapping[str, Any] | None]:
    """The folder of this game or probe, and the manifest it had; that of another is refused."""
    _checks.instance(str | os.PathLike, "a path", folder=folder)
    where = Path(folder).absolute()  # workers may have been started elsewhere
    where.mkdir(parents=True, exist_ok=True)
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
                f"{_short(manifest.get(name))}, not {_short(wanted[name])}"
            )
    return manifest


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
