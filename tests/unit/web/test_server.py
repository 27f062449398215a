"""The page as a server: others can come whoever holds the line, and nothing of it is left."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import psutil
import pytest

pytest.importorskip("uvicorn")

import tellapart as ta
from tellapart import web
from tellapart.web import limits
from tellapart.web.server import _bound

HALF = b"POST /api/explore HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900\r\n"
# A page with its views, which is what takes its time, and one that gives up soon on half requests.
PROGRAM = (
    "import sys; from tellapart.web import limits; limits.SLOWEST_REQUEST = 2.0; "
    "from tellapart.cli import main; sys.exit(main())"
)


@pytest.fixture(scope="module")
def server():
    command = [sys.executable, "-c", PROGRAM, "explore", "--no-browser"]
    if os.name == "posix":  # as many files as some systems start with
        command = ["bash", "-c", 'ulimit -Sn 256; exec "$0" "$@"', *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:  # noqa: S603
        try:
            words = process.stdout.readline().split()
            where = next(word for word in words if word.startswith("http"))
            yield process, int(where.rstrip("/").rpartition(":")[2])
        finally:
            process.kill()


def asked(port, values, **headers):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    kind = {"Content-Type": "application/json"}
    line.request("POST", "/api/explore", json.dumps(values), {**kind, **headers})
    response = line.getresponse()
    found = response.status, response.read()
    line.close()
    return found


def test_who_sends_half_a_request_holds_up_nobody_and_is_given_up(server):
    """Three hundred of them, where waiting for each would leave no room for anyone."""
    _, port = server
    with ExitStack() as held:
        lines = []
        for k in range(300):
            one = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            one.sendall((HALF, HALF[:10], HALF + b"\r\n{", b"")[k % 4])
            lines.append(one)
        start = time.monotonic()
        status, body = asked(port, {"mechanism": "laplace:epsilon=2"})
        assert (status, json.loads(body)["problem"]) == (200, "")
        # The answer itself takes a twentieth of a second, on a machine that does nothing else.
        assert time.monotonic() - start < 10
        # What was only begun ends: with a line of why, or none where not even a head came.
        said = [b"".join(iter(lambda one=one: one.recv(1_000), b"")) for one in lines[:4]]
    assert said[1] == said[3] == b""


def test_a_tunnel_may_end_at_another_port(server):
    _, port = server
    values = {"prior": 0.25}
    own = {"Host": "localhost:9999", "Origin": "http://localhost:9999"}
    assert asked(port, values, **own)[0] == 200
    assert asked(port, values, **{**own, "Host": "evil.example:9999"})[0] == 421
    assert asked(port, values, **{**own, "Origin": "http://localhost:8888"})[0] == 403


def test_a_link_may_be_as_long_as_a_decision(server):
    _, port = server
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    line.request("GET", f"/choose?record={'x' * 40_000}")
    assert line.getresponse().status == 200
    line.close()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_no_process_is_left_when_it_ends(server):
    process, _ = server
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert psutil.wait_procs(workers, timeout=30)[1] == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])  # noqa: S104
def test_no_other_machine_can_come_unless_a_name_is_given(host):
    with pytest.raises(ta.InvalidArgument, match=r"unless allow-host says by which name"):
        web.serve(host=host, browser=False)


def test_the_factory_takes_what_a_team_sets_and_checks_it():
    made = web.create(hosts=["privacy.example.org"], workers=2, patience=5)
    assert {route.path for route in made.routes} >= {"/", "/{view}", "/api/{view}", "/health"}
    for wrong in ({"workers": 0}, {"patience": 0}, {"patience": float("inf")}, {"hosts": ["*"]}):
        with pytest.raises(ta.InvalidArgument):
            web.create(**wrong)
    assert limits.PATIENCE < limits.LONGEST  # others wait


def test_a_notebook_can_serve_it_though_its_thread_has_a_loop():
    port, over, seen = web.free_port(), threading.Event(), []

    def visit():
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        line.request("GET", "/health")
        seen.append(line.getresponse().status)
        line.close()
        over.set()

    async def cell():
        ready = threading.Thread(target=visit).start
        web.serve(port, browser=False, ready=ready, until=over)

    asyncio.run(cell())
    assert seen == [200]


@pytest.mark.parametrize("interface", ["127.0.0.1", "::1"])
def test_no_packet_waits_for_another_to_be_acknowledged(interface):
    """Nagle's algorithm held the body of every answer back for 40 ms."""
    if interface == "::1" and not _has_ipv6():
        pytest.skip("this machine has no IPv6")

    async def no_delay():
        accepted = asyncio.get_running_loop().create_future()

        class Told(asyncio.Protocol):
            def connection_made(self, transport):
                its = transport.get_extra_info("socket")
                accepted.set_result(its.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

        with _bound(interface, 0) as listening:
            serving = await asyncio.get_running_loop().create_server(Told, sock=listening)
            async with serving:
                _, writer = await asyncio.open_connection(*listening.getsockname()[:2])
                delay = await asyncio.wait_for(accepted, 10)
                writer.close()
        return delay

    assert asyncio.run(no_delay())


def _has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
