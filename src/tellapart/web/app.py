"""The ASGI application (Starlette): pages, answers, downloads and uploads, each path its own.

- ``GET /{view}?values``: a page with its answer. ``GET /assets/…``: scripts, styles, fonts.
- ``POST /api/{view}`` with an object of values: what the page's script shows, as JSON.
- ``GET /api/{view}/{kind}?values`` or ``POST`` with values: the same as a file to keep.
- ``POST /api/file?name=…`` with a file's bytes (``application/octet-stream``):
  ``{"file": "file:…"}``, which stands for it in values for as long as the visit lasts, and reaches
  the view as a `tellapart.web.view.Dropped`; ``DELETE /api/file`` ends that.
- ``POST /api/csp``: what a browser refused to run. ``GET /health``: whether all is well.

What cannot be answered is ``{"problem": words}``; where a question is too heavy (503, 504), beside
it stands the ``command`` that answers it on one's own machine. Addresses are relative, so that a
proxy may put the page under any prefix. Files below ``assets/`` + `static.stamp` are kept by
browsers until one changes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import shlex
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from tellapart import __version__, _checks
from tellapart.errors import Busy, LimitReached, TooLong
from tellapart.web import limits, static, visits
from tellapart.web.forkserver import Crashed
from tellapart.web.gate import Gate, allowed
from tellapart.web.messages import Reply, Upload
from tellapart.web.workers import WorkerLimits, WorkerPool

LOG = logging.getLogger("tellapart.web")
_BUG = "the page could not answer this: a bug in tellapart, which its log tells of"
_GONE = "the file is gone, as the visit it was sent in is over: choose it again"
_FULL = "others have sent as much as fits: try again in some minutes, or on your own machine"
_NAME = re.compile("[a-z][a-z-]{0,39}", re.ASCII)
_HALF = re.compile("[\ud800-\udfff]")
_DEEPEST = 6
_LONGEST_NAME = 200
_LARGEST_REPORT = 16 * 1024
_YEAR = "public, max-age=31536000, immutable"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; report-uri api/csp"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class AnsweringPool(Protocol):
    """Who answers: `WorkerPool`, or one that stands for it."""

    @property
    def state(self) -> Mapping[str, int]:
        """How much there is to do."""

    async def start(self) -> None:
        """Get ready."""

    async def ask(
        self, function: str, *given: Any, visitor: str | None = None, quick: bool = False
    ) -> Any:
        """What a function of `jobs` says."""

    async def close(self) -> None:
        """Leave nothing behind."""


def create(
    hosts: Collection[str] = (),
    workers: int = limits.WORKERS,
    patience: float = limits.PATIENCE,
    *,
    hushed: bool = True,
) -> Starlette:
    """The page as an ASGI application, for any server that runs one.

    Parameters
    ----------
    hosts
        The names that visitors reach it by (``privacy.example.org``); those of this machine are
        answered anyhow.
    workers
        How many processes answer quick questions; one more answers those that take long.
    patience
        The seconds after which a question is given up, and the command for it handed out.
    hushed
        Whether a bug is logged by its place alone, without words that may quote a question.
    """
    most = WorkerLimits(
        seconds=_checks.finite_above_zero(patience=patience),
        memory=limits.MOST_MEMORY,
        quick=_checks.whole(1, 64, workers=workers),
    )
    return application(WorkerPool(most, "tellapart.web.jobs", hushed=hushed), hosts)


def application(pool: AnsweringPool, hosts: Collection[str] = ()) -> Starlette:
    """The page, whose questions this pool answers."""
    page = _Page(pool)
    made = Starlette(
        routes=[
            Route("/health", page.health),
            Route("/assets/{path:path}", _asset),
            Route("/api/csp", page.count_refused, methods=["POST"]),
            Route("/api/file", page.keep, methods=["POST"]),
            Route("/api/file", page.leave, methods=["DELETE"]),
            Route("/api/", page.answer, methods=["POST"]),
            Route("/api/{view}", page.answer, methods=["POST"]),
            Route("/api/{view}/{kind}", page.download, methods=["GET", "POST"]),
            Route("/", page.paint),
            Route("/{view}", page.paint),
        ],
        middleware=[Middleware(Gate, hosts=allowed(hosts), headers=_HEADERS, logged=_log)],
        exception_handlers={
            HTTPException: _told,
            Crashed: _told,
            LimitReached: _told,
            ClientDisconnect: _none_waits,
        },
        lifespan=page.open,
    )
    made.router.redirect_slashes = False  # below a proxy's prefix it would lead astray
    return made


class _Page:
    """Endpoints that share processes and visits."""

    def __init__(self, pool: AnsweringPool) -> None:
        self._pool = pool
        self._visits = visits.Visits()
        self._refused = 0

    @asynccontextmanager
    async def open(self, _: Starlette) -> AsyncIterator[None]:
        """Processes are there for as long as the page is."""
        try:
            await self._pool.start()
            yield
        finally:
            await self._pool.close()

    # -- pages and answers -------------------------------------------------------------------

    async def paint(self, request: Request) -> Response:
        """A view as a page; what is not answered at once is left to its script."""
        view = _name(request, "view")
        visit = visits.visit_of(request.headers.get("cookie", ""))
        values = self._present(visit or "", _query(request))
        try:
            reply = await self._ask(request, "paint", view, values, quick=True)
        except LimitReached:
            reply = await self._ask(request, "paint", view, values, False)
        response = _response(reply)
        # Who follows a link from another site may be amid a visit, whose cookie stays at home.
        elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
        if visit is None and reply.status == 200 and not elsewhere:
            _set_visit(request, response)
        return response

    async def answer(self, request: Request) -> Response:
        """What a view says about values, for the page's script."""
        view, values = _name(request, "view"), await _values(request)
        return await self._answered(request, "answer", view, values)

    async def download(self, request: Request) -> Response:
        """What a view says about values, as a file."""
        view, kind = _name(request, "view"), _name(request, "kind")
        asked = await _values(request) if request.method == "POST" else _query(request)
        return await self._answered(request, "download", view, asked, kind)

    async def _answered(
        self, request: Request, job: str, view: str, values: Mapping[str, Any], *more: Any
    ) -> Response:
        visit = visits.visit_of(request.headers.get("cookie", "")) or ""
        try:
            opened = self._visits.opened(visit, values)
        except visits.Gone:
            return _problem(410, _GONE)
        try:
            return _response(await self._ask(request, job, view, opened, *more))
        except Busy as busy:
            status, words, headers = 503, str(busy), {"Retry-After": "5"}
        except TooLong as long:
            status, words, headers = 504, str(long), {}
        link = view
        with suppress(LimitReached, Crashed):
            link = await self._pool.ask("address", view, opened, quick=True)
        return _problem(status, words, own_command(link), headers)

    async def _ask(self, request: Request, job: str, *given: Any, quick: bool = False) -> Reply:
        """The reply of a process, for as long as someone waits for it."""
        visit = visits.visit_of(request.headers.get("cookie", ""))
        squeeze = "gzip" in request.headers.get("accept-encoding", "")
        asked = self._pool.ask("squeezed", job, squeeze, *given, visitor=visit, quick=quick)
        reply: Reply = await _unless_left(request, asked)
        return reply

    def _present(self, visit: str, values: Mapping[str, str]) -> dict[str, Any]:
        """The values of an address, which may name a file that is no more."""
        kept: dict[str, Any] = {}
        for key, value in values.items():
            with suppress(visits.Gone):
                kept |= self._visits.opened(visit, {key: value})
        return kept

    # -- files, and how it goes --------------------------------------------------------------

    async def keep(self, request: Request) -> Response:
        """Keep a file for as long as the visit lasts."""
        name = request.query_params.get("name", "")[:_LONGEST_NAME]
        content = await _body(request, limits.LARGEST_FILE, "application/octet-stream")
        visit = visits.visit_of(request.headers.get("cookie", ""))
        named = visit or visits.new_visit()
        try:
            kept = self._visits.keep(named, Upload(name or "file", content))
        except visits.NoRoom:
            return _problem(503, _FULL, headers={"Retry-After": "300"})
        response = JSONResponse({"file": kept, "name": name, "bytes": len(content)})
        if visit is None:
            _set_visit(request, response, named)
        return response

    async def leave(self, request: Request) -> Response:
        """Forget a visit's files."""
        self._visits.leave(visits.visit_of(request.headers.get("cookie", "")) or "")
        return Response(status_code=204)

    async def count_refused(self, request: Request) -> Response:
        """Count what a browser refused to run or load: there should be nothing."""
        body = await _body(request, _LARGEST_REPORT, "application/csp-report")
        self._refused += 1
        directive = re.search(rb'"(?:effective|violated)-directive":\s*"([a-z-]{1,40})', body)
        LOG.warning(_line(event="csp", directive=directive[1].decode() if directive else "?"))
        return Response(status_code=204)

    async def health(self, _: Request) -> Response:
        """Whether the page answers, and how much there is to do."""
        held = {"file_bytes": self._visits.held, "csp_reports": self._refused}
        return JSONResponse({"status": "ok", "version": __version__, **self._pool.state, **held})


def own_command(link: str) -> str:
    """The command that asks the same on one's own machine, where nobody else waits.

    >>> own_command("explore?mechanism=laplace%3Aepsilon%3D1&prior=0.5")
    "tellapart explore --patience 3600 'explore?mechanism=laplace%3Aepsilon%3D1&prior=0.5'"
    """
    return f"tellapart explore --patience 3600 {shlex.quote(link)}"


# -- requests --------------------------------------------------------------------------------------


def _name(request: Request, part: str) -> str:
    """A part of the path that may be a view or a kind of file."""
    name: str = request.path_params.get(part, "")
    if name and not _NAME.fullmatch(name):
        raise HTTPException(404)
    return name


def _query(request: Request) -> dict[str, str]:
    raw: bytes = request.scope["query_string"]
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise HTTPException(400, "the address must be text, in UTF-8") from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise HTTPException(400, "the address must say a thing once")
    return values


async def _values(request: Request) -> dict[str, Any]:
    body = await _body(request, limits.LARGEST_REQUEST, "application/json")
    try:
        values = json.loads(body.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise HTTPException(400, "a question must be JSON, in UTF-8, of finite numbers") from None
    if not isinstance(values, dict) or not _plain(values):
        raise HTTPException(400, "a question must be an object of plain values") from None
    return values


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _plain(value: Any, depth: int = 0) -> bool:
    """Whether this is no deeper than any question, and whole letters."""
    if isinstance(value, str):
        return value.isascii() or not _HALF.search(value)
    if isinstance(value, float):
        return math.isfinite(value)
    if depth == _DEEPEST:
        return not isinstance(value, dict | list)
    if isinstance(value, dict):
        return all(_plain(key) and _plain(each, depth + 1) for key, each in value.items())
    return not isinstance(value, list) or all(_plain(each, depth + 1) for each in value)


async def _body(request: Request, most: int, kind: str) -> bytes:
    """What was sent, of the one kind that no form of another site can send."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise HTTPException(415, f"this must be sent as {kind}")
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.SLOWEST_REQUEST):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise HTTPException(413, f"this may have {most:,} bytes")
                parts.append(part)
    except TimeoutError:
        raise HTTPException(408, "this took too long to come") from None
    return b"".join(parts)


async def _unless_left(request: Request, asking: Coroutine[Any, Any, Any]) -> Any:
    """What is asked, unless whoever asked has left: then it is given up."""
    job, left = asyncio.ensure_future(asking), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({job, left}, return_when=asyncio.FIRST_COMPLETED)
        if not job.done():
            raise ClientDisconnect
        return job.result()
    finally:
        job.cancel()
        left.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


# -- responses -------------------------------------------------------------------------------------


def _response(reply: Reply) -> Response:
    headers = {"Cache-Control": "no-store", "Vary": "Accept-Encoding, Cookie"}
    if reply.squeezed:
        headers["Content-Encoding"] = "gzip"
    if reply.name:
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(reply.name)}"
    return Response(reply.body, reply.status, headers, reply.kind)


def _problem(
    status: int, words: str, command: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    said = {"problem": words, "command": command} if command else {"problem": words}
    return JSONResponse(said, status, headers)


def _set_visit(request: Request, response: Response, visit: str = "") -> None:
    header = visits.cookie(visit or visits.new_visit(), request.url.scheme == "https")
    response.headers["Set-Cookie"] = header


async def _asset(request: Request) -> Response:
    path = request.path_params["path"]
    lasting = path.startswith(static.stamp())
    file = static.assets().get(path.removeprefix(static.stamp()))
    if file is None:
        raise HTTPException(404)
    tag = f'"{file.tag}"'
    headers = {"ETag": tag, "Cache-Control": _YEAR if lasting else "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    headers["Vary"] = "Accept-Encoding"
    if file.squeezed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(
            file.squeezed, headers={**headers, "Content-Encoding": "gzip"}, media_type=file.kind
        )
    return Response(file.body, headers=headers, media_type=file.kind)


async def _told(request: Request, error: Exception) -> Response:
    """Why a request is not answered: to the script as JSON, else as a line."""
    status, words = 500, _BUG
    if isinstance(error, HTTPException):
        status, words = error.status_code, error.detail
    elif isinstance(error, LimitReached):
        status, words = 503, str(error)
    # What is left of a request that was not read to its end is not waited for.
    headers = {"Connection": "close"} if status in (408, 413, 415) else {}
    if request.url.path.startswith("/api/"):
        return _problem(status, words, headers=headers)
    return Response(f"{words}\n", status, headers, "text/plain")


async def _none_waits(_: Request, __: Exception) -> Response:
    return Response(status_code=499)


# -- logs ------------------------------------------------------------------------------------------


def _log(scope: Scope, status: int, seconds: float) -> None:
    """One line a request: no address it came from, and nothing that was asked."""
    path = scope["path"] if status < 400 or status >= 499 else "-"
    if path != "/health":
        milliseconds = round(1e3 * seconds, 1)
        LOG.info(_line(method=scope["method"], path=path, status=status, ms=milliseconds))


def _line(**said: Any) -> str:
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": moment, **said})
