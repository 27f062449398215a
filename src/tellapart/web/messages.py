"""Messages between the server and its processes: files as they came, and replies as they go."""

from __future__ import annotations

from dataclasses import dataclass

HTML, JSON, TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Upload:
    """A file as it came; it is never written anywhere."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Reply:
    """What is sent: its status, its kind, and the name of a file to save."""

    status: int
    kind: str
    body: bytes
    name: str = ""
    squeezed: bool = False
