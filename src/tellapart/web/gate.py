"""Request filtering by host, origin, method and size (ASGI): whose requests are let in, and how."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tellapart import _checks

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Names of this machine that no other site can take, at any port: a tunnel may end at another.
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ADDRESS = re.compile(r"([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?", re.ASCII)
_NAME = re.compile(r"(?!-)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*|\[[0-9a-f:.]{2,45}\]", re.ASCII)
_METHODS = ("GET", "HEAD", "POST", "DELETE")


class Refused(Exception):
    """A request that is not answered: an HTTP status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Gate:
    """The page behind its gate: strangers are refused before it hears of them, answers sealed.

    ``hosts`` are the names that it answers to beside those of this machine; ``logged`` is told of
    every request, and how it was answered.
    """

    def __init__(
        self,
        application: ASGIApp,
        hosts: Collection[str],
        headers: Mapping[str, str],
        logged: Callable[[Scope, int, float], None],
    ) -> None:
        self._application, self._hosts = application, frozenset((*_LOOPBACK, *hosts))
        self._headers = [(key.lower().encode(), value.encode()) for key, value in headers.items()]
        self._logged = logged

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        status, start = 0, time.monotonic()

        async def sealed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *self._headers]
            await send(message)

        try:
            self._let_in(scope)
        except Refused as refused:
            await _said(sealed, refused)
        else:
            await self._application(scope, receive, sealed)
        finally:
            self._logged(scope, status, time.monotonic() - start)

    def _let_in(self, scope: Scope) -> None:
        headers = _headers(scope)
        host = own_address_alone(headers.get("host", ""), self._hosts)
        if scope["method"] not in _METHODS:
            raise Refused(405, "the page is read, and asked by POST")
        own_questions_alone(scope["method"], host, headers)


def allowed(hosts: Collection[str]) -> tuple[str, ...]:
    """Names that a page may be asked by, as browsers write them."""
    for name in hosts:
        if not _NAME.fullmatch(name.lower()):
            rule = "be the name of a host, without scheme, port or path (privacy.example.org)"
            _checks.refuse("allow_host", rule, name)
    return tuple(name.lower() for name in hosts)


def own_address_alone(host: str, hosts: Collection[str]) -> str:
    """Refuse a request that a browser made under another name.

    Another site may make its name lead here; what a browser then sends still names it.
    """
    address = _ADDRESS.fullmatch(host.lower())
    if address is None or address[1] not in hosts or not 1 <= int(address[2] or 80) <= 65_535:
        why = "this page answers at its own address alone (see tellapart serve --allow-host)"
        raise Refused(421, why)
    return host.lower()


def own_questions_alone(method: str, host: str, headers: Mapping[str, str]) -> None:
    """Refuse a question that a browser says comes from elsewhere, by any of the ways it does.

    A page may be linked to from anywhere; what is no visit to a page comes from the page itself.
    """
    origin, referrer = headers.get("origin"), headers.get("referer")
    site = headers.get("sec-fetch-site", "none")
    if origin is not None and _host(origin) != host:
        raise Refused(403, "this page answers its own questions alone: Origin is not Host")
    visits = method in ("GET", "HEAD") and headers.get("sec-fetch-mode", "navigate") == "navigate"
    if visits and headers.get("sec-fetch-dest", "document") == "document":
        return
    if site not in ("same-origin", "none") or (referrer and _host(referrer) != host):
        raise Refused(403, "this page answers its own questions alone")


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""


def _headers(scope: Scope) -> dict[str, str]:
    """Each header once: of two hosts, or two origins, none is believed."""
    fields: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1")
        fields[name] = "," if name in fields else value.decode("latin-1")
    return fields


async def _said(send: Callable[[Any], Any], refused: Refused) -> None:
    line = f"{refused}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(line)).encode()),
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": line})
