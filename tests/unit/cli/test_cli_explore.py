"""The command that opens the page: where it is, why it cannot be, and how it ends."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import webbrowser

import pytest

from tellapart import web


def test_help_says_what_it_is_and_what_it_sends(run):
    code, out, err = run("explore --help")
    assert (code, err) == (0, "")
    assert "It needs no network and sends nothing anywhere. Ctrl-C ends it." in out
    for word in ("--port", "--no-browser", "tellapart explore --no-browser --port 8050"):
        assert word in out


@pytest.mark.parametrize(
    ("port", "said"),
    [
        ("70000", "--port must be at most 65,535, got 70000"),
        ("0", "--port must be at least 1, got 0"),
        ("-1", "--port must be at least 1, got -1"),
        ("7e4", "--port must be at most 65,535, got 70000"),
        ("1.5", "--port must be a whole number, got '1.5' (see tellapart explore --help)"),
        ("nan", "--port must be a whole number, got 'nan' (see tellapart explore --help)"),
        ("web", "--port must be a whole number, got 'web' (see tellapart explore --help)"),
    ],
)
def test_a_port_that_cannot_be_is_one_line(run, port, said):
    assert run(f"explore --no-browser --port {port}") == (2, "", f"tellapart: {said}\n")


def test_a_port_in_use_is_one_line(run):
    with socket.create_server((web.server.HOST, 0)) as other:
        port = other.getsockname()[1]
        said = f"port {port} is in use: choose another, or leave it out for a free one"
        assert run(f"explore --no-browser --port {port}") == (2, "", f"tellapart: {said}\n")


def test_a_port_for_administrators_is_one_line(run, monkeypatch):
    """As it is for everyone else: whoever runs the tests may be one."""

    class Refusing(socket.socket):
        def bind(self, _where):
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(web.server.socket, "socket", Refusing)
    said = "port 80 is for administrators: choose one from 1024 on"
    assert run("explore --no-browser --port 80") == (2, "", f"tellapart: {said}\n")


@pytest.mark.parametrize(
    ("given", "opens"),
    [("", ""), ("--no-browser ", None), ("'audit?design=many-runs' ", "audit?design=many-runs")],
)
def test_a_browser_is_opened_unless_told_not_to(run, monkeypatch, given, opens):
    class AtOnce:
        def __init__(self, _after, task, arguments):
            self.start = lambda: task(*arguments)

    def stopped(_application, _host, _port, ready, _until):
        ready()

    opened = []
    monkeypatch.setattr(web.server.threading, "Timer", AtOnce)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(web.server, "_run", stopped)
    port = web.free_port()
    code, out, err = run(f"explore {given}--port {port}")
    assert (code, err) == (0, "")
    place = f"http://127.0.0.1:{port}/"
    assert out == f"The page is at {place}{opens or ''} (Ctrl-C ends it)\n"
    assert opened == ([] if opens is None else [place + opens])


# As at a terminal, also where the tests themselves ignore Ctrl-C.
PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from tellapart.cli import main; sys.exit(main())"
)


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal there")
@pytest.mark.parametrize(
    ("number", "code", "word"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")]
)
def test_a_signal_ends_it_cleanly(number, code, word):
    """Its address is told at once, also to a pipe; a visitor is answered, a stranger is not."""
    command = [sys.executable, "-c", PROGRAM, "explore", "--no-browser"]
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as server:
        words = server.stdout.readline().split()
        where = next(word for word in words if word.startswith("http"))
        host = where.removeprefix("http://").rstrip("/")
        found = []
        for name in (host, "evil.example"):
            connection = http.client.HTTPConnection(host, timeout=60)
            connection.request("GET", "/", headers={"Host": name, "Connection": "close"})
            found.append(connection.getresponse().status)
            connection.close()
        server.send_signal(getattr(signal, number))
        out, err = server.communicate(timeout=60)
    assert found == [200, 421]
    assert (server.returncode, out, err) == (code, "", f"tellapart: {word}\n")
