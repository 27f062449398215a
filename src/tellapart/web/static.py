"""Static files from memory: scripts, styles and fonts under a path that names their digest."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_KINDS = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
_PACKED = (".woff2", ".png")


@dataclass(frozen=True)
class StaticFile:
    """A file as it is sent."""

    kind: str
    body: bytes
    squeezed: bytes | None
    tag: str


@cache
def assets() -> dict[str, StaticFile]:
    """Every file that the page loads, by its path."""
    return dict(_found(files("tellapart.web").joinpath("assets"), ""))


@cache
def stamp() -> str:
    """The folder below ``assets/`` that browsers may keep: another one once any file changes.

    >>> stamp().endswith("/")
    True
    """
    tags = "".join(f"{path}={file.tag}" for path, file in sorted(assets().items()))
    return f"{hashlib.sha256(tags.encode()).hexdigest()[:12]}/"


def _found(folder: Traversable, above: str) -> list[tuple[str, StaticFile]]:
    files: list[tuple[str, StaticFile]] = []
    for entry in folder.iterdir():
        path = above + entry.name
        if entry.is_dir():
            files += _found(entry, f"{path}/")
        elif not entry.name.startswith("."):
            files.append((path, _read(entry)))
    return files


def _read(entry: Traversable) -> StaticFile:
    body, end = entry.read_bytes(), "." + entry.name.rpartition(".")[2]
    kind = _KINDS.get(end) or mimetypes.guess_type(entry.name)[0] or "application/octet-stream"
    squeezed = None if end in _PACKED else gzip.compress(body, 9, mtime=0)
    return StaticFile(kind, body, squeezed, hashlib.sha256(body).hexdigest()[:16])
