"""The server (uvicorn): on this machine alone, unless one says by which name others may come."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tellapart import _checks
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.web import limits

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOST = "127.0.0.1"
_EXTRA = "the explorer needs: pip install 'tellapart[web]'"


def free_port() -> int:
    """A port that nobody uses now.

    >>> 0 < free_port() < 65_536
    True
    """
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def address(port: int) -> str:
    """Where the page is found.

    >>> address(8050)
    'http://127.0.0.1:8050/'
    """
    return f"http://{HOST}:{port}/"


def example() -> str:
    """Where the example scores lie: Laplace noise that is half as large as ε = 1 needs.

    >>> example().endswith(".csv")
    True
    """
    return str(files("tellapart.web").joinpath("scores.csv"))


def create(
    hosts: Collection[str] = (),
    workers: int = limits.WORKERS,
    patience: float = limits.PATIENCE,
) -> Starlette:
    """The page as an ASGI application, for whichever server a team runs.

    It answers to the names of this machine and to ``hosts``; so many ``workers`` answer quick
    questions, and one more those that take long, given up after ``patience`` seconds.

    >>> application = create(hosts=["privacy.example.org"])
    >>> sorted(route.path for route in application.routes)[:3]
    ['/', '/api/', '/api/csp']
    """
    return _application()(hosts, workers, patience)


def serve(
    port: int | None = None,
    *,
    browser: bool = True,
    opens: str = "",
    ready: Callable[[], object] | None = None,
    until: threading.Event | None = None,
    host: str = HOST,
    hosts: Collection[str] = (),
    workers: int = limits.WORKERS,
    patience: float = limits.LONGEST,
    logs: bool = False,
) -> None:
    """Serve the page until interrupted, and open it in a browser unless told not to.

    Parameters
    ----------
    port
        Where on this machine; a free one by default.
    browser, opens
        Whether a browser is opened, and at which view: an address after the port.
    ready
        Called once the page can be had.
    until
        An event that ends it, which any thread may set.
    host
        The address of this machine that it listens at. Others than this machine can come only
        where it is not 127.0.0.1, which needs ``hosts``.
    hosts, workers, patience
        As for `create`.
    logs
        Whether each request is a line of JSON on the standard error stream, without anything that
        was asked.
    """
    where = _port(free_port() if port is None else port)
    if not _own(host) and not hosts:
        raise InvalidArgument(
            "host must be this machine's own (127.0.0.1), unless allow-host says by which name "
            f"visitors come (--allow-host privacy.example.org), got {host!r}"
        )
    application = _application()(hosts, workers, patience, hushed=logs)

    def told() -> None:
        if ready is not None:
            ready()
        if browser:
            threading.Timer(0.3, webbrowser.open, [address(where) + opens.lstrip("/")]).start()

    with _logged(logs):
        _run(application, host, where, told, until)


@contextmanager
def _logged(logs: bool) -> Iterator[None]:
    if not logs:
        yield
        return
    log, lines = logging.getLogger("tellapart.web"), logging.StreamHandler(sys.stderr)
    before = log.level, log.propagate
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(lines)
        log.level, log.propagate = before


def _application() -> Callable[..., Starlette]:
    try:
        import uvicorn  # noqa: F401

        from tellapart.web.app import create
    except ImportError as missing:
        raise Unsupported(_EXTRA) from missing
    return create


def _port(port: int) -> int:
    where = _checks.whole(1, port=port)
    if where > 65_535:
        _checks.refuse("port", "be at most 65,535", where)
    return where


def _own(interface: str) -> bool:
    """Whether only this machine can come by here."""
    if interface == "localhost":
        return True
    try:
        return ipaddress.ip_address(interface).is_loopback
    except ValueError:
        rule = "be an address of this machine (127.0.0.1, or 0.0.0.0 for all of them)"
        return _checks.refuse("host", rule, interface)


def _run(
    application: Any,
    interface: str,
    port: int,
    ready: Callable[[], object],
    until: threading.Event | None,
) -> None:
    import uvicorn

    from tellapart.web.connections import Connection

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Signals that were ignored from the start stay so."""
            usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
            ours = threading.current_thread() is threading.main_thread()
            with super().capture_signals():
                for number, handler in usual.items():
                    if ours and handler is signal.SIG_IGN:
                        signal.signal(number, handler)
                yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

    _make_room(limits.MOST_CONNECTIONS)
    server = Server(
        uvicorn.Config(
            application,
            http=Connection,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=limits.MOST_CONNECTIONS,
            h11_max_incomplete_event_size=limits.LARGEST_ADDRESS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=1,
        )
    )
    with _bound(interface, port) as listening:
        if until is not None:
            threading.Thread(target=_stop, args=(until, server), daemon=True).start()
        with suppress(KeyboardInterrupt):  # that is how it ends, however early it comes
            _to_its_end(server, listening)


def _to_its_end(server: Any, listening: socket.socket) -> None:
    """Serve; where this thread has an event loop already, as in a notebook, from another one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(server.serve([listening]))
        return
    with ThreadPoolExecutor(1) as aside:
        served = aside.submit(lambda: asyncio.run(server.serve([listening])))
        try:
            served.result()
        finally:
            server.should_exit = True


def _stop(until: threading.Event, server: Any) -> None:
    until.wait()
    server.should_exit = True


def _make_room(connections: int) -> None:
    """Some systems start a process with fewer files than there may be connections."""
    if os.name != "posix":
        return
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections if most == resource.RLIM_INFINITY else min(2 * connections, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _bound(interface: str, port: int) -> socket.socket:
    """Where visitors come; a port that cannot be had is refused in words."""
    six = ":" in interface
    # By its protocol asyncio knows TCP, and sends each packet at once: with Nagle's algorithm the
    # body of an answer waits 40 ms for the browser to acknowledge its head.
    family = socket.AF_INET6 if six else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # where a page was served a moment ago, one may be served again
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((interface, port))
        listening.listen(limits.MOST_CONNECTIONS)
    except PermissionError as refused:
        listening.close()
        why = f"port {port} is for administrators: choose one from 1024 on"
        raise InvalidArgument(why) from refused
    except OSError as refused:
        listening.close()
        why = f"port {port} is in use: choose another, or leave it out for a free one"
        raise InvalidArgument(why) from refused
    return listening
