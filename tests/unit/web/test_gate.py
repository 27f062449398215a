"""What keeps strangers out: addresses, origins, scripts, paths, and what errors tell."""

import asyncio
import logging
import re
from pathlib import Path

import httpx
import pytest

pytest.importorskip("starlette")

from echoing import Here

import tellapart as ta
from tellapart.web import app as explorer

PORT = 8123
OWN = f"127.0.0.1:{PORT}"
HOSTED = "privacy.example.org"
SOURCE = Path(explorer.__file__).parent


class Visitor:
    """A browser at the page's own address, unless its headers say otherwise."""

    def __init__(self, application):
        self._application = application

    def send(self, method, path, headers=(), **body):
        async def sent():
            transport = httpx.ASGITransport(self._application, raise_app_exceptions=False)
            own = {"Host": OWN, **dict(headers)}
            async with httpx.AsyncClient(transport=transport, base_url="http://any") as client:
                return await client.request(method, path, headers=own, **body)

        return asyncio.run(sent())

    def get(self, path, **headers):
        return self.send("GET", path, headers)

    def ask(self, values, **headers):
        return self.send("POST", "/api/explore", headers, json=values)


@pytest.fixture(scope="module")
def client():
    return Visitor(explorer.application(Here(), [HOSTED, "[fd00::1]"]))


# -- whose questions are answered ------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        OWN,
        f"localhost:{PORT}",
        f"[::1]:{PORT}",
        # A tunnel may end at any port of this machine.
        "127.0.0.1:1",
        "localhost:9999",
        "[::1]:65535",
        "127.0.0.1",
        "LocalHost",
        # What the page is hosted under, at whichever port a proxy has.
        HOSTED,
        "Privacy.Example.org:8443",
        "[fd00::1]:8050",
    ],
)
def test_the_page_answers_to_its_own_names_at_every_port(client, host):
    assert client.get("/", Host=host).status_code == 200
    for scheme in ("http", "https"):  # a proxy may have taken the encryption off
        own = {
            "Host": host,
            "Origin": f"{scheme}://{host.lower()}",
            "Sec-Fetch-Site": "same-origin",
        }
        assert client.ask({}, **own).status_code == 200
    other = {"Host": host, "Origin": f"http://{host[:-1]}"}
    assert client.ask({}, **other).status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        f"localhost.evil:{PORT}",
        f"evil.localhost:{PORT}",
        f"127.0.0.1.evil.example:{PORT}",
        f"127.0.0.1.evil.example:{PORT}:{PORT}",
        f"evil.example:{PORT}",
        f"{HOSTED}.evil",
        f"evil.{HOSTED}",
        f"user@127.0.0.1:{PORT}",
        f"127.0.0.1:{PORT}@evil.example",
        f"127.0.0.1:{PORT}/",
        f"127.0.0.1:{PORT},evil.example",
        f"0.0.0.0:{PORT}",
        "127.0.0.1:",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "[::1",
        f"[::2]:{PORT}",
        "2130706433",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/", "/assets/page.js", "/health"])
def test_another_address_is_answered_nowhere(client, host, path):
    assert client.get(path, Host=host).status_code == 421


def test_of_two_addresses_none_is_believed(client):
    both = [("Host", OWN), ("Host", "evil.example")]

    async def sent():
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b""}
        scope["headers"] = [(name.lower().encode(), value.encode()) for name, value in both]
        told = []

        async def send(message):
            told.append(message)

        await client._application(scope, None, send)
        return told[0]["status"]

    assert asyncio.run(sent()) == 421


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        f"ftp://{OWN}",
        f"http://localhost:{PORT}",
        "http://127.0.0.1",
        f"http://{OWN}.evil.example",
        f"http://user@{OWN}",
        "http://[half",
        "",
    ],
)
def test_questions_of_another_origin_are_refused(client, origin):
    said = client.ask({}, Origin=origin)
    assert said.status_code == 403
    assert "Origin is not Host" in said.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Referer": "https://evil.example/127.0.0.1"},
        {"Referer": f"http://{OWN}.evil.example/"},
        {"Referer": f"http://localhost:{PORT}/"},
        {"Referer": "http://[half"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_questions_that_a_browser_says_come_from_elsewhere_are_refused(client, headers):
    assert client.ask({}, **headers).status_code == 403
    # What is only looked at may be linked to from anywhere,
    visit = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("/audit", **headers, **visit).status_code == 200
    # but is no picture or frame of another site, which would have it worked out unseen.
    for dest, mode in (("image", "no-cors"), ("iframe", "navigate"), ("script", "no-cors")):
        unseen = {"Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
        assert client.get("/audit", **headers, **unseen).status_code == 403


@pytest.mark.parametrize("name", ["*", "https://x.org", "x.org:80", "x.org/", "a b", "", "-x", "é"])
def test_a_host_is_a_name_and_nothing_besides(name):
    with pytest.raises(ta.InvalidArgument, match=r"^allow_host must be the name of a host"):
        explorer.application(Here(), [name])


# -- scripts ---------------------------------------------------------------------------------------


def policy(response):
    said = response.headers["Content-Security-Policy"].split("; ")
    return {one.split()[0]: one.split()[1:] for one in said}


@pytest.mark.parametrize(
    "path", ["/", "/audit", "/assets/page.js", "/nowhere", "/api/x/csv", "/a/"]
)
def test_every_answer_is_sealed(client, path):
    response = client.get(path)
    told = policy(response)
    assert told["default-src"] == told["frame-ancestors"] == told["base-uri"] == ["'none'"]
    for kind in ("script-src", "style-src", "connect-src", "font-src"):
        assert told[kind] == ["'self'"]
    # Relative, as a proxy may put the page under a prefix.
    assert told["report-uri"] == ["api/csp"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_even_refusals_are_sealed(client):
    assert policy(client.get("/", Host="evil"))["default-src"] == ["'none'"]


def test_what_a_browser_refused_to_run_is_counted_and_logged_without_its_words(client, caplog):
    caplog.set_level(logging.INFO, "tellapart.web")
    kind = {"Content-Type": "application/csp-report"}
    body = b'{"csp-report": {"effective-directive": "script-src-elem", "blocked-uri": "secret"}}'
    before = client.get("/health").json()["csp_reports"]
    assert client.send("POST", "/api/csp", kind, content=body).status_code == 204
    assert client.get("/health").json()["csp_reports"] == before + 1
    assert '"directive": "script-src-elem"' in caplog.text
    assert "secret" not in caplog.text


# -- what can be had -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../app.py",
        "/assets/%2e%2e/app.py",
        "/assets/..%2fapp.py",
        "/assets/..%5capp.py",
        "/assets/....//app.py",
        "/assets//etc/passwd",
        "/assets/%2fetc%2fpasswd",
        "/assets/",
        "/assets",
        "/static/web/app.py",
        "/..%2fapp.py",
        "/scores.csv",
        "/nosuch",
        "/Explore",
        "/explore/",
        "/api/explore/../../x",
        "/api/nosuch/csv",
        "/docs",
        "/openapi.json",
    ],
)
def test_no_path_leads_out_of_the_page_s_own_files(client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert str(SOURCE) not in response.text
    assert "Traceback" not in response.text


def test_logs_say_how_it_went_and_nothing_of_what_was_asked(client, caplog):
    caplog.set_level(logging.INFO, "tellapart.web")
    client.get("/explore?mechanism=secret", Cookie="tellapart_visit=secret", Referer="secret")
    client.ask({"mechanism": "secret"})
    client.get("/secret")
    client.get("/", Host="secret")
    client.get("/health")
    lines = [re.sub(r'"time": "[^"]+", |, "ms": [\d.]+', "", one) for one in caplog.messages]
    assert lines == [
        '{"method": "GET", "path": "/explore", "status": 200}',
        '{"method": "POST", "path": "/api/explore", "status": 200}',
        '{"method": "GET", "path": "-", "status": 404}',
        '{"method": "GET", "path": "-", "status": 421}',
    ]
