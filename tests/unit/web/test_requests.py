"""Requests that no page sends: each is refused in words, and none is a fault of ours."""

import json
import random
import re
from copy import deepcopy

import pytest

pytest.importorskip("dash")

from hypothesis import given
from hypothesis import strategies as st

from tellapart.web import app as explorer
from tellapart.web import questions
from tellapart.web.views import VIEWS

HERE = {"Host": "127.0.0.1:8050"}
ENDPOINT = "/_dash-update-component"
ANSWERED = (200, 204)
REFUSED = (400, 404, 405, 413, 415, 421)
SCORES = "data:text/csv;base64,c2NvcmUsbWVtYmVyCjMsMQoxLDAKMywxCjEsMAo="


@pytest.fixture(scope="module")
def client():
    return explorer.create().server.test_client()


def asked(view="/audit", **more):
    given = {"example": False, "confidence": 0.9, "design": "many-runs", **more}
    file = {"name": "x.csv", "size": 42, "content": SCORES}
    return {"view": view, "values": given, "changed": None, "number": 3, "file": file}


def tells(value):
    names = (("told", "data"), ("answer", "children"), ("question", "children"))
    return {
        "output": "..told.data...answer.children...question.children..",
        "outputs": [{"id": one, "property": which} for one, which in names],
        "inputs": [{"id": "asked", "property": "data", "value": value}],
        "changedPropIds": ["asked.data"],
        "parsedChangedPropsIds": ["asked.data"],
    }


def reports(value):
    return {
        "output": "..download.data...unreported.data..",
        "outputs": [{"id": one, "property": "data"} for one in ("download", "unreported")],
        "inputs": [{"id": "wanted", "property": "data", "value": 1}],
        "changedPropIds": ["wanted.data"],
        "state": [{"id": "asked", "property": "data", "value": value}],
    }


def post(client, body, content_type="application/json", **headers):
    return client.post(ENDPOINT, data=body, content_type=content_type, headers={**HERE, **headers})


def refused_in_words(response):
    """One line about the question, and nothing about the machine."""
    assert response.status_code in REFUSED
    assert not re.search(r"Traceback|\.py\b|/home|site-packages|Error\b", response.text)
    return True


def places(value, path=()):
    """Every place within JSON."""
    yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))


def replaced(value, path, by):
    if not path:
        return by
    found = deepcopy(value)
    inside = found
    for key in path[:-1]:
        inside = inside[key]
    if by is _GONE:
        del inside[path[-1]]
    else:
        inside[path[-1]] = by
    return found


_GONE = object()
ODD = (
    _GONE, None, True, -1, 0.5, 10**30, 1e308, "", "x", "\ud800", "\0", "9" * 5_000, "/audit", [],
    [[]], [None], {}, {"a": 1}, {"": ""}, {"id": "asked", "property": "data", "value": {}},
    {"name": 1, "content": 2}, {"name": "x.csv", "content": "data:,é"}, {"name": "x.csv"},
)  # fmt: skip


@pytest.mark.parametrize(
    "body", [tells(asked()), reports(asked(design="")), tells(asked("/", prior=0.5))]
)
def test_a_question_with_any_part_replaced_is_answered_or_refused(client, body, caplog):
    rng = random.Random(4)  # noqa: S311
    assert post(client, json.dumps(body)).status_code in ANSWERED
    every = list(places(body))
    for path in every:
        for by in rng.sample(ODD, 3):
            if not path and by is _GONE:
                continue
            response = post(client, json.dumps(replaced(body, path, by)))
            assert response.status_code in ANSWERED or refused_in_words(response), (path, by)
    assert caplog.messages == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.dictionaries(st.sampled_from(["view", "values", "file", "number", "query"]), inside)
    ),
    max_leaves=12,
)


@given(value=_JSON, whole=st.booleans())
def test_any_json_is_answered_or_refused(client, value, whole):
    response = post(client, json.dumps(value if whole else tells(value)))
    assert response.status_code in ANSWERED or refused_in_words(response)


BODIES = {
    "empty": b"",
    "no json": b"no json",
    "half": b'{"output": "..told',
    "invalid UTF-8": b'{"output": "\xff\xfe"}',
    "UTF-16": json.dumps(tells(asked())).encode("utf-16"),
    "not a number": b'{"output": NaN}',
    "infinite": json.dumps(tells(asked(confidence=float("inf")))).encode(),
    "beyond floats": json.dumps(tells(asked(confidence=7))).replace("7", "1e999", 1).encode(),
    "nested": b"[" * 200_000,
    "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "nested within": json.dumps(tells(asked(score=7))).replace("7", "[" * 900 + "]" * 900).encode(),
    "digits": b'{"output": ' + b"9" * 10_000 + b"}",
    "many values": json.dumps(tells(asked(**{f"k{k}": 1 for k in range(5_000)}))).encode(),
    "binary": bytes(range(256)),
}  # fmt: skip


@pytest.mark.parametrize("case", BODIES)
def test_bodies_that_are_none_are_refused(client, case, caplog):
    assert refused_in_words(post(client, BODIES[case]))
    assert caplog.messages == []


@pytest.mark.parametrize(
    "kind", ["text/plain", "", "multipart/form-data", "application/x-www-form-urlencoded", "\x80"]
)
def test_what_another_site_s_form_could_send_is_refused(client, kind):
    assert refused_in_words(post(client, json.dumps(tells(asked())), kind))


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "TRACE", "NONSENSE"])
@pytest.mark.parametrize("path", [ENDPOINT, "/", "/audit", "/assets/page.js", "/nowhere"])
def test_other_methods_are_refused(client, method, path, caplog):
    response = client.open(path, method=method, headers=HERE)
    if method != "GET":
        assert response.status_code == 405
    response.close()
    assert caplog.messages == []


PATHS = (
    "/_dash-component-suites/os/os.py",
    "/_dash-component-suites/dash/nothing.js",
    "/_dash-component-suites/dash/%00",
    "/_dash-component-suites/%ff/%fe",
    "/_dash-component-suites/dash/deps/../../dash.py",
    "/assets/%00",
    "/assets/%ff",
    "/assets/" + "a" * 5_000,
    "/%ff%fe",
    "/_dash-layout?" + "a=1&" * 5_000,
    "/_dash-dependencies",
    "/_favicon.ico",
    "/_reload-hash",
    "/audit?" + "%ff" * 100,
)


@pytest.mark.parametrize("path", PATHS)
def test_any_path_is_had_or_refused(client, path, caplog):
    response = client.get(path, headers=HERE)
    assert response.status_code in ANSWERED or response.status_code in (400, 404)
    response.close()
    assert caplog.messages == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Length": "-1"},
        {"Content-Length": "many"},
        {"Content-Length": "99999999999999"},
        {"Content-Encoding": "gzip"},
        {"Cookie": "\x80=\xff; ;;=;"},
        {"Accept": "\xff" * 500},
        {"X-Forwarded-Host": "evil.example"},
        {"Range": "bytes=9-1"},
        {"If-Modified-Since": "never"},
    ],
)
def test_any_header_is_survived(client, headers, caplog):
    for path, method in ((ENDPOINT, "POST"), ("/assets/page.js", "GET")):
        response = client.open(
            path, method=method, data=b"{}", headers={**HERE, **headers},
            content_type="application/json",
        )  # fmt: skip
        assert response.status_code in (*ANSWERED, *REFUSED, 416)
        response.close()
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("text", "a question must be an object, got str"),
        ({"view": 1}, "view must be text, got int"),
        ({"number": True}, "number must be a whole number from 0 on, got True"),
        ({"values": []}, "values must be an object, got list"),
        ({"values": {"prior": {}}}, "values must hold text, numbers or yes and no, got dict"),
        ({"query": 1}, "query must be text, got int"),
        ({"file": {"name": "x.csv"}}, "file must have a name and its content as text"),
        ({"window": 7}, "window must be text, got int"),
    ],
)
def test_what_is_no_question_is_said(given, said):
    with pytest.raises(questions.Malformed, match=f"^{re.escape(said)}"):
        questions.read(given)


def test_what_the_page_asks_is_a_question():
    found = questions.read(asked(score="s", prior=0.5))
    assert (found.view, found.number, found.file.name) == ("/audit", 3, "x.csv")
    assert dict(found.values)["confidence"] == 0.9
    assert questions.read({"view": "/", "query": "?prior=0.1&picture=pr"}).values == {
        "prior": "0.1",
        "picture": "pr",
    }
    assert set(VIEWS) >= {"/", "/audit"}
