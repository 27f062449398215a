"""The explorer as a server: on this machine alone, for its own address alone."""

from __future__ import annotations

import logging
import os
import socket
import threading
import webbrowser
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tellapart import _checks
from tellapart.errors import InvalidArgument, Unsupported

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

    from tellapart.web.workers import WorkerPool

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


def serve(
    port: int | None = None,
    *,
    browser: bool = True,
    ready: Callable[[], object] | None = None,
    until: threading.Event | None = None,
) -> None:
    """Serve the page until interrupted, and open it in a browser unless told not to.

    ``ready`` is called once the page can be had. It ends ``until`` the event is set, too, which
    any thread may do.
    """
    where = free_port() if port is None else _checks.whole(1, port=port)
    if where > 65_535:
        _checks.refuse("port", "be at most 65,535", where)
    try:
        from waitress import create_server, wasyncore

        from tellapart.web import limits
        from tellapart.web.workers import WorkerLimits, WorkerPool
    except ImportError as missing:
        raise Unsupported(_EXTRA) from missing
    _try(where)
    # That a request waits its turn for a moment is no news to whoever reads the terminal.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    _make_room(limits.MOST_CONNECTIONS)
    connections: dict[int, object] = {}
    server = None
    # Its processes load what they need while this one does.
    pool = WorkerPool(WorkerLimits(limits.LONGEST, limits.MOST_MEMORY))
    try:
        server = create_server(
            _application(pool),
            connections,
            host=HOST,
            port=where,
            threads=limits.MOST_REQUESTS,
            # Whoever opens connections and sends nothing takes neither a thread nor a turn.
            connection_limit=limits.MOST_CONNECTIONS,
            channel_timeout=30,
            cleanup_interval=5,
            asyncore_use_poll=True,
            max_request_body_size=limits.LARGEST_REQUEST,
            # What is sent, and what is answered, stays in memory instead of a temporary file.
            inbuf_overflow=2 * limits.LARGEST_REQUEST,
            outbuf_overflow=2 * limits.LARGEST_REQUEST,
        )
        if until is not None:
            threading.Thread(target=_stop, args=(until, server, connections), daemon=True).start()
        if ready is not None:
            ready()
        if browser:
            threading.Timer(0.3, webbrowser.open, [address(where)]).start()
        server.run()
    except KeyboardInterrupt:
        pass  # that is how it ends, however early it comes
    finally:
        pool.close()
        if server is not None:
            server.close()
            wasyncore.close_all(connections)  # of visitors who are still there


def _make_room(connections: int) -> None:
    """Some systems start a process with fewer files than there may be connections."""
    if os.name != "posix":
        return
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections if most == resource.RLIM_INFINITY else min(2 * connections, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _application(pool: WorkerPool) -> WSGIApplication:
    try:
        from tellapart.web.app import create, in_processes
    except ImportError as missing:
        raise Unsupported(_EXTRA) from missing
    application: WSGIApplication = create(in_processes(pool)).server
    return application


def _stop(until: threading.Event, server: Any, connections: dict[int, Any]) -> None:
    """Once someone says so, close all that the server listens to, in its own thread."""
    until.wait()
    server.trigger.pull_trigger(lambda: [each.close() for each in list(connections.values())])


def _try(port: int) -> None:
    """Refuse a port that cannot be had, in words."""
    with socket.socket() as probe:
        if os.name == "posix":  # where a page was served a moment ago, one may be served again
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except PermissionError as refused:
            why = f"port {port} is for administrators: choose one from 1024 on"
            raise InvalidArgument(why) from refused
        except OSError as refused:
            why = f"port {port} is in use: choose another, or leave it out for a free one"
            raise InvalidArgument(why) from refused
