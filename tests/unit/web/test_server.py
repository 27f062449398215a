"""The page as a server: others can come whoever holds the line, and nothing of it is left."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack

import psutil
import pytest

pytest.importorskip("waitress")

from test_requests import tells

HALF = b"POST /_dash-update-component HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900\r\n"


@pytest.fixture(scope="module")
def server():
    command = [sys.executable, "-m", "tellapart", "explore", "--no-browser"]
    if os.name == "posix":  # as many files as some systems start with
        command = ["bash", "-c", 'ulimit -Sn 256; exec "$0" "$@"', *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:  # noqa: S603
        try:
            words = process.stdout.readline().split()
            where = next(word for word in words if word.startswith("http"))
            yield process, int(where.rstrip("/").rpartition(":")[2])
        finally:
            process.kill()


def asked(port, value, **headers):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps(tells(value))
    kind = {"Content-Type": "application/json"}
    line.request("POST", "/_dash-update-component", body, {**kind, **headers})
    response = line.getresponse()
    found = response.status, response.read()
    line.close()
    return found


def test_300_half_open_connections_block_nobody(server):
    _, port = server
    asked(port, {"view": "/", "values": {}})
    with ExitStack() as held:
        for k in range(300):
            one = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            one.sendall((HALF, HALF[:10], HALF + b"\r\n{", b"")[k % 4])
        start = time.monotonic()
        status, body = asked(port, {"view": "/", "values": {}, "number": 5})
        assert (status, json.loads(body)["response"]["told"]["data"]["number"]) == (200, 5)
        # The answer itself takes a twentieth of a second, on a machine that does nothing else.
        assert time.monotonic() - start < 10


def test_a_tunnel_may_end_at_another_port(server):
    _, port = server
    value = {"view": "/", "values": {"prior": 0.25}}
    own = {"Host": "localhost:9999", "Origin": "http://localhost:9999"}
    assert asked(port, value, **own)[0] == 200
    assert asked(port, value, **{**own, "Host": "evil.example:9999"})[0] == 421
    assert asked(port, value, **{**own, "Origin": "http://localhost:8888"})[0] == 403


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_no_process_is_left_when_it_ends(server):
    process, _ = server
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert psutil.wait_procs(workers, timeout=30)[1] == []
