"""Request filtering by origin, host, size and path (WSGI): whose requests are let in, and how."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tellapart.web.questions import Malformed

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# Names of this machine that no other site can take, at any port: a tunnel may end at another.
_LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::([0-9]{1,5}))?", re.ASCII)
_READS = ("GET", "HEAD", "OPTIONS")


class Refused(Exception):
    """A request that is not answered: an HTTP status, and why."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


def gate(
    application: WSGIApplication,
    *,
    largest: int,
    pages: Collection[str],
    files: re.Pattern[str],
    questions: Mapping[str, Callable[[bytes], bytes]],
    headers: Mapping[str, str],
) -> WSGIApplication:
    """The page behind its gate: questions are read before it sees them, answers are sealed.

    ``pages`` are the paths that show one, and ``files`` are the paths of what these load:
    besides them there is nothing.
    ``questions`` names the paths that take one, each with what makes a body of it that the page
    can trust, or raises `Malformed`.
    """

    def guarded(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        def sealed(status: str, given: list[tuple[str, str]], *failed: Any) -> Any:
            kept = [(name, value) for name, value in given if name not in headers]
            return start(status, [*kept, *headers.items()], *failed)

        try:
            own_address_alone(environ.get("HTTP_HOST", ""))
            _same_origin(environ)
            if environ["REQUEST_METHOD"] == "POST":
                own_questions_alone(environ)
                if environ.get("PATH_INFO") in questions:
                    body = questions[environ["PATH_INFO"]](_body(environ, largest))
                    environ["wsgi.input"] = io.BytesIO(body)
                    environ["CONTENT_LENGTH"] = str(len(body))
            elif environ["REQUEST_METHOD"] not in _READS:
                raise Refused("405 Method Not Allowed", "the page is read, and asked by POST")
            else:
                _there(environ.get("PATH_INFO", ""), pages, files)
        except Refused as refused:
            return _said(sealed, refused.status, str(refused))
        except Malformed as why:
            return _said(sealed, "400 Bad Request", f"this is no question of the page: {why}")
        return application(environ, sealed)

    return guarded


def own_address_alone(host: str) -> None:
    """Refuse a request that a browser made under another name.

    Another site may make its name lead here; what a browser then sends still names it.
    """
    address = _LOOPBACK.fullmatch(host)
    if address is None or not 1 <= int(address[1] or 80) <= 65_535:
        raise Refused("421 Misdirected Request", "this page answers at its own address alone")


def own_questions_alone(environ: Mapping[str, Any]) -> None:
    """Refuse a question that a browser says comes from elsewhere, by any of the ways it does."""
    referrer = environ.get("HTTP_REFERER")
    site = environ.get("HTTP_SEC_FETCH_SITE", "none")
    if site not in ("same-origin", "none") or (
        referrer and _origin(referrer) != f"http://{environ['HTTP_HOST']}"
    ):
        raise Refused("403 Forbidden", "this page answers its own questions alone")


def _same_origin(environ: Mapping[str, Any]) -> None:
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and origin != f"http://{environ['HTTP_HOST']}":
        raise Refused("403 Forbidden", "this page answers its own questions alone")


def _there(path: str, pages: Collection[str], files: re.Pattern[str]) -> None:
    if path not in pages and not files.fullmatch(path):
        raise Refused("404 Not Found", f"there is no such page; there are {', '.join(pages)}")


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"


def _body(environ: WSGIEnvironment, largest: int) -> bytes:
    # Only JSON: a form of another site can be sent without asking first, and is none.
    kind = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Malformed("it must be sent as application/json")
    length = environ.get("CONTENT_LENGTH") or "0"
    if not re.fullmatch("[0-9]{1,19}", length, re.ASCII):
        raise Malformed("it must say how long it is")
    if int(length) > largest:
        raise Refused("413 Content Too Large", f"a question may have {largest:,} bytes")
    body: bytes = environ["wsgi.input"].read(int(length))
    return body


def _said(start: Callable[..., Any], status: str, why: str) -> Iterable[bytes]:
    line = f"{why}\n".encode(errors="replace")
    start(
        status,
        [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(line)))],
    )
    return [line]
