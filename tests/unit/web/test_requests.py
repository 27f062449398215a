"""Requests that no page sends: each is refused in words, and none is a fault of ours."""

import json
import re

import pytest

pytest.importorskip("starlette")

from echoing import Here
from hypothesis import given
from hypothesis import strategies as st
from test_gate import Visitor

from tellapart.web import app as explorer
from tellapart.web import limits

ENDPOINT = "/api/audit"
KIND = {"Content-Type": "application/json"}
REFUSED = (400, 404, 405, 410, 413, 415)


@pytest.fixture(scope="module")
def client():
    return Visitor(explorer.application(Here()))


def post(client, body, **headers):
    return client.send("POST", ENDPOINT, {**KIND, **headers}, content=body)


def refused_in_words(response):
    """One line about the question, and nothing about the machine."""
    assert response.status_code in REFUSED
    assert not re.search(r"Traceback|\.py\b|/home|site-packages|Error\b", response.text)
    return True


BODIES = {
    "empty": b"",
    "no json": b"no json",
    "half": b'{"mechanism": "lap',
    "a list": b"[]",
    "a text": b'"x"',
    "nothing": b"null",
    "invalid UTF-8": b'{"a": "\xff\xfe"}',
    "UTF-16": json.dumps({"a": 1}).encode("utf-16"),
    "not a number": b'{"a": NaN}',
    "infinite": b'{"a": Infinity}',
    "beyond floats": b'{"a": 1e999}',
    "nested": b"[" * 100_000,
    "nested objects": b'{"a":' * 40_000 + b"1" + b"}" * 40_000,
    "nested within": b'{"a": ' + b"[" * 900 + b"]" * 900 + b"}",
    "digits": b'{"a": ' + b"9" * 10_000 + b"}",
    "half of a letter": b'{"a": "\\ud800"}',
    "half of a letter in a name": b'{"\\ud800": 1}',
    "binary": bytes(range(256)),
}  # fmt: skip


@pytest.mark.parametrize("case", BODIES)
def test_bodies_that_are_none_are_refused(client, case, caplog):
    response = post(client, BODIES[case])
    assert response.status_code == 400
    assert refused_in_words(response)
    assert response.json()["problem"].startswith("a question must be ")
    assert caplog.messages == []


def test_a_question_is_bounded(client):
    assert post(client, b" " * (limits.LARGEST_REQUEST + 1)).status_code == 413


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.dictionaries(st.sampled_from(["mechanism", "file", "changed", "shape"]), inside)
    ),
    max_leaves=12,
)


@given(value=_JSON)
def test_any_json_is_answered_or_refused(client, value):
    response = post(client, json.dumps(value).encode())
    assert response.status_code == 200 or refused_in_words(response)


@pytest.mark.parametrize(
    "kind", ["text/plain", "", "multipart/form-data", "application/x-www-form-urlencoded", "\x80"]
)
@pytest.mark.parametrize("path", [ENDPOINT, "/api/file", "/api/csp"])
def test_what_another_site_s_form_could_send_is_refused(client, kind, path):
    sent = {"Content-Type": kind.encode("latin-1")}
    response = client.send("POST", path, sent, content=b"{}")
    assert refused_in_words(response)
    assert response.status_code == 415


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "OPTIONS", "CONNECT", "NONSENSE"])
@pytest.mark.parametrize("path", [ENDPOINT, "/", "/audit", "/assets/page.js", "/nowhere"])
def test_other_methods_are_refused(client, method, path, caplog):
    assert client.send(method, path).status_code == 405
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ENDPOINT), ("POST", "/"), ("DELETE", "/audit"), ("POST", "/health")],
)
def test_a_path_has_its_own_methods(client, method, path):
    assert client.send(method, path).status_code in (404, 405)


PATHS = (
    "/assets/%00",
    "/assets/%ff",
    "/assets/" + "a" * 5_000,
    "/%ff%fe",
    "/%00",
    "/audit?" + "a=1&" * 5_000,
    "/audit?" + "%ff" * 100,
    "/audit?a=%ff",
    "/audit?" + "&".join(f"a{k}=1" for k in range(500)),
    "/api/audit/%2e%2e",
    "/api/audit/" + "x" * 200,
    "/favicon.ico",
)


@pytest.mark.parametrize("path", PATHS)
def test_any_path_is_had_or_refused(client, path, caplog):
    response = client.get(path)
    assert response.status_code == 200 or refused_in_words(response)
    assert caplog.messages == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Encoding": "gzip"},
        {"Cookie": b"\x80=\xff; ;;=;"},
        {"Cookie": "tellapart_visit=" + "x" * 32},
        {"Cookie": "tellapart_visit=../../../../../../etc/passwd-"},
        {"Accept-Encoding": b"\xff" * 500},
        {"X-Forwarded-Host": "evil.example"},
        {"Range": "bytes=9-1"},
        {"If-None-Match": "never"},
        {"If-None-Match": "*"},
    ],
)
def test_any_header_is_survived(client, headers, caplog):
    assert post(client, b"{}", **headers).status_code == 200
    assert client.get("/assets/page.js", **headers).status_code == 200
    assert caplog.messages == []
