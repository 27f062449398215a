"""Visits and their uploads: files stay in memory, and are gone with the visit (session cookie)."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

from tellapart.web import limits
from tellapart.web.messages import Upload

COOKIE = "tellapart_visit"
# What stands in a question for a file that was sent before.
PREFIX = "file:"
_TOKEN = 24


class Gone(Exception):
    """A file that this visit does not have."""


class NoRoom(Exception):
    """All visits together hold as much as they may."""


@dataclass
class _Visit:
    seen: float
    files: OrderedDict[str, Upload] = field(default_factory=OrderedDict)


class Visits:
    """Who has sent which files; nothing is kept of a visitor who sent none."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._visits: OrderedDict[str, _Visit] = OrderedDict()
        self.held = 0

    def keep(self, visit: str, file: Upload) -> str:
        """Keep a file; its name in questions. Of too many, the first is forgotten."""
        self._forget_old()
        files = self._visits[visit].files if visit in self._visits else {}
        freed = next(iter(files.values())).content if len(files) >= limits.MOST_FILES else b""
        if self.held - len(freed) + len(file.content) > limits.ALL_FILES:
            raise NoRoom
        held = self._visits.setdefault(visit, _Visit(self._clock()))
        self._touch(visit)
        if len(held.files) >= limits.MOST_FILES:
            self.held -= len(held.files.popitem(last=False)[1].content)
        name = PREFIX + secrets.token_urlsafe(_TOKEN)
        held.files[name] = file
        self.held += len(file.content)
        return name

    def opened(self, visit: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values with this visit's files in place of their names."""
        self._forget_old()
        files = self._visits[visit].files if visit in self._visits else {}
        if files:
            self._touch(visit)
        return {key: self._file(files, value) for key, value in values.items()}

    def leave(self, visit: str) -> None:
        """Forget all that this visit sent."""
        over = self._visits.pop(visit, None)
        if over is not None:
            self.held -= sum(len(file.content) for file in over.files.values())

    def _file(self, files: Mapping[str, Upload], value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith(PREFIX):
            return value
        if value not in files:
            raise Gone
        return files[value]

    def _touch(self, visit: str) -> None:
        self._visits[visit].seen = self._clock()
        self._visits.move_to_end(visit)

    def _forget_old(self) -> None:
        until = self._clock() - limits.LONGEST_VISIT
        while self._visits and next(iter(self._visits.values())).seen < until:
            self.leave(next(iter(self._visits)))


def visit_of(cookies: str) -> str | None:
    """The visit that a browser names, if it has the shape of one."""
    try:
        named = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        return None
    if named is None or len(named.value) != len(secrets.token_urlsafe(_TOKEN)):
        return None
    return named.value


def new_visit() -> str:
    """A visit's name, which nobody can guess."""
    return secrets.token_urlsafe(_TOKEN)


def cookie(visit: str, secure: bool) -> str:
    """The header that lasts as long as the browser is open, for this page's prefix alone."""
    return f"{COOKIE}={visit}; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")
