"""The command that hosts the page: for whom it answers, and what it writes of that."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from tellapart import web


def test_help_says_that_nobody_is_asked_who_they_are(run):
    code, out, err = run("serve --help")
    assert (code, err) == (0, "")
    assert "It asks nobody who they are: let a proxy do that." in out
    for word in ("--host", "--port", "--allow-host", "--workers", "--patience"):
        assert word in out


NAMED = "--allow-host must be the name of a host, without scheme, port or path"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--host 0.0.0.0", "--host must be this machine's own (127.0.0.1), unless allow-host says"),
        ("--host ::", "--host must be this machine's own (127.0.0.1), unless allow-host says"),
        ("--host example.org", "--host must be an address of this machine (127.0.0.1, or 0.0.0.0"),
        ("--allow-host *", f"{NAMED} (privacy.example.org), got '*'"),
        ("--allow-host https://x.org", f"{NAMED} (privacy.example.org), got 'https://x.org'"),
        ("--workers 0", "--workers must be at least 1, got 0"),
        ("--patience 0", "--patience must be finite and greater than 0, got 0"),
        ("--port 70000", "--port must be at most 65,535, got 70000"),
    ],
)
def test_what_cannot_be_is_one_line(run, given, said):
    code, out, err = run(f"serve {given}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"tellapart: {said}")


def test_a_port_in_use_is_one_line(run):
    with socket.create_server((web.server.HOST, 0)) as other:
        port = other.getsockname()[1]
        code, out, err = run(f"serve --port {port}")
        assert (code, out) == (2, "")
        assert err.startswith(f"tellapart: port {port} is in use: choose another")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_it_answers_to_its_names_and_logs_lines_of_json():
    port = web.free_port()
    program = "import sys; from tellapart.cli import main; sys.exit(main())"
    words = f"serve --host 0.0.0.0 --port {port} --allow-host privacy.example.org".split()
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        said = server.stdout.readline()
        found = []
        for name in ("privacy.example.org", f"127.0.0.1:{port}", "evil.example"):
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            line.request("GET", "/glossary?secret=1", headers={"Host": name, "Connection": "close"})
            found.append(line.getresponse().status)
            line.close()
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=60)
    assert said.startswith(f"The page is at http://0.0.0.0:{port}/, for privacy.example.org (")
    assert found == [200, 200, 421]
    *lines, last = err.splitlines()
    assert (server.returncode, out, last) == (143, "", "tellapart: terminated")
    logged = [json.loads(line) for line in lines]
    assert [(one["path"], one["status"]) for one in logged] == [
        ("/glossary", 200),
        ("/glossary", 200),
        ("-", 421),
    ]
    assert "secret" not in err
