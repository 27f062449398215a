"""What keeps strangers out: addresses, origins, sizes, scripts, paths, and what errors tell."""

import base64
import hashlib
import json
import logging
import re
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("dash")

import tellapart as ta
from tellapart import web
from tellapart.web import app as explorer
from tellapart.web import limits
from tellapart.web.views import VIEWS

PORT = 8123
OWN = f"127.0.0.1:{PORT}"
SOURCE = Path(explorer.__file__).parent


@pytest.fixture(scope="module")
def app():
    return explorer.create()


class Visitor:
    """A browser at the page's own address, unless its headers say otherwise."""

    def __init__(self, app):
        self._client = app.server.test_client()

    def get(self, path, **headers):
        response = self._client.get(path, headers={"Host": OWN, **headers})
        response.get_data()
        response.close()  # a file that was sent stays open until then
        return response

    def post(self, path, headers=None, **body):
        return self._client.post(path, headers={"Host": OWN, **(headers or {})}, **body)


def page(response):
    """The page without the mark that Dash puts on each copy of it."""
    assert response.content_type.startswith("text/html")
    return re.sub(r'"end_id":"[^"]*"', "", response.text)


@pytest.fixture
def client(app):
    return Visitor(app)


def question(asked):
    """What the page sends when it asks."""
    outputs = "..told.data...answer.children...question.children.."
    names = (("told", "data"), ("answer", "children"), ("question", "children"))
    return {
        "output": outputs,
        "outputs": [{"id": one, "property": which} for one, which in names],
        "inputs": [{"id": "asked", "property": "data", "value": asked}],
        "changedPropIds": ["asked.data"],
    }


def ask(client, asked, **headers):
    return client.post("/_dash-update-component", json=question(asked), headers=headers)


def sent(name, content):
    return {"name": name, "content": "data:text/csv;base64," + base64.b64encode(content).decode()}


def answer(client, content, name="x.csv", **values):
    file, said = sent(name, content), {"design": "many-runs", **values}
    response = ask(client, {"view": "/audit", "values": said, "number": 1, "file": file})
    assert response.status_code == 200
    return response.get_json()["response"]


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
        "localhost",
    ],
)
def test_the_page_answers_at_every_port_of_this_machine(client, host):
    assert client.get("/", Host=host).status_code == 200
    own = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    assert ask(client, {"view": "/", "values": {}}, **own).status_code == 200
    other = {"Host": host, "Origin": f"http://{host[:-1]}"}
    assert ask(client, {"view": "/", "values": {}}, **other).status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        f"localhost.evil:{PORT}",
        f"evil.localhost:{PORT}",
        f"127.0.0.1.evil.example:{PORT}",
        f"127.0.0.1.evil.example:{PORT}:{PORT}",
        f"evil.example:{PORT}",
        f"user@127.0.0.1:{PORT}",
        f"127.0.0.1:{PORT}@evil.example",
        f"127.0.0.1:{PORT}/",
        f"127.0.0.1:{PORT},evil.example",
        f"0.0.0.0:{PORT}",
        "127.0.0.1:",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "127.0.0.1:٣",
        "[::1",
        f"[::2]:{PORT}",
        "2130706433",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/", "/assets/page.js", "/_dash-layout"])
def test_another_address_is_answered_nowhere(client, host, path):
    assert client.get(path, Host=host).status_code == 421


def test_no_address_at_all_is_answered_nowhere(app):
    environment = {"HTTP_HOST": ""}
    assert app.server.test_client().get("/", environ_overrides=environment).status_code == 421


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        f"https://{OWN}",
        f"http://localhost:{PORT}",
        "http://127.0.0.1",
        f"http://{OWN}.evil.example",
        "",
    ],
)
def test_questions_of_another_origin_are_refused(client, origin):
    assert ask(client, {"view": "/", "values": {}}, Origin=origin).status_code == 403


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
    assert ask(client, {"view": "/", "values": {}}, **headers).status_code == 403
    # What is only looked at may be linked to from anywhere.
    assert client.get("/audit", **headers).status_code == 200


def test_questions_of_the_page_itself_are_answered(client):
    told = ask(client, {"view": "/", "values": {}, "number": 7}, Origin=f"http://{OWN}")
    assert told.get_json()["response"]["told"]["data"]["number"] == 7


# -- scripts ---------------------------------------------------------------------------------------


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.sources, self.written, self.handlers, self._inside = [], [], [], False

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.handlers += [name for name in told if name.startswith("on")]
        self.sources += [told[name] for name in ("src", "href") if name in told]
        self._inside = tag == "script" and "src" not in told
        if self._inside and told.get("type") == "application/json":
            self._inside = False  # data, which no browser runs

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.written.append(data)


def policy(response):
    said = response.headers["Content-Security-Policy"].split("; ")
    return {one.split()[0]: one.split()[1:] for one in said}


@pytest.mark.parametrize("path", [*VIEWS, "/assets/page.js", "/nowhere", "/_dash-layout"])
def test_every_answer_is_sealed(client, path):
    response = client.get(path)
    told = policy(response)
    assert told["default-src"] == ["'none'"]
    assert told["connect-src"] == ["'self'"]
    assert told["frame-ancestors"] == told["base-uri"] == told["form-action"] == ["'none'"]
    assert all(re.fullmatch(r"'self'|'sha256-[\w+/=]+'", one) for one in told["script-src"])
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_even_refusals_are_sealed(client):
    assert policy(client.get("/", Host="evil"))["default-src"] == ["'none'"]


def test_the_page_runs_files_of_its_own_and_the_one_line_that_is_named(client):
    response = client.get("/audit")
    found = _Page()
    found.feed(response.text)
    digests = [
        "'sha256-" + base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() + "'"
        for one in found.written
    ]
    assert digests == policy(response)["script-src"][1:] != []
    assert found.handlers == []
    assert found.sources
    assert all(re.match(r"/(?!/)", one) for one in found.sources)


@pytest.mark.parametrize("script", sorted(SOURCE.glob("assets/*.js")), ids=lambda one: one.name)
def test_scripts_make_no_code_and_no_html_of_text(script):
    text = script.read_text(encoding="utf-8")
    risky = r"\beval\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc"
    assert re.findall(risky, text) == []
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []


# -- what can be had -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../app.py",
        "/assets/%2e%2e/app.py",
        "/assets/..%2f_app.py",
        "/assets/..%5c_app.py",
        "/assets/....//app.py",
        "/assets//etc/passwd",
        "/assets/%2fetc%2fpasswd",
        "/static/web/app.py",
        "/static/..%2fweb/app.py",
        "/_dash-component-suites/tellapart/web/app.py",
        "/_dash-component-suites/tellapart.web/app.py",
        "/_dash-component-suites/dash/../../tellapart/web/app.py",
        "/_dash-component-suites/dash/dash-renderer/build/..%2f..%2f..%2fdash.py",
        "/_dash-component-suites/os/os.py",
        "/..%2f_app.py",
        "/scores.csv",
    ],
)
def test_no_path_leads_out_of_the_page_s_own_files(client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert str(SOURCE) not in response.text
    assert "Traceback" not in response.text


def test_what_is_no_page_is_not_shown_as_another(client):
    """An address with a slip in it would be judged as the first view, with its defaults."""
    response = client.get("/nosuch")
    assert response.status_code == 404
    assert "/audit" in response.text
    assert ask(client, {"view": "/nosuch"}).status_code == 400


def test_an_address_says_nothing_that_is_dropped(client):
    """`?epsilon=5` is a word the view does not know: judged without it, it would mislead."""
    unknown = ("?epsilon=5", "?mechanism.epsilon=9", "?mechanism.0.epsilon=9", "?mechanism.=1")
    asked = [(query, "must name what is on this page") for query in unknown]
    for query, said in (*asked, ("?fpr=0.02", None)):
        told = ask(client, {"view": "/", "query": query}).json["response"]["told"]
        problem = told["data"]["problem"]
        assert (said in problem) if said else not problem


def test_there_are_no_doors_besides_those_the_page_needs(app, client):
    rules = {str(one) for one in app.server.url_map.iter_rules()}
    assert not [one for one in rules if "mcp" in one or "console" in one]
    takes = {str(one) for one in app.server.url_map.iter_rules() if "POST" in one.methods}
    assert takes == {"/_dash-update-component"}
    assert client.post("/_mcp", json={}).status_code == 405
    assert client.get("/_mcp").status_code == 404


def test_an_address_says_a_thing_once_and_yes_or_no(client):
    doubled = ask(client, {"view": "/", "query": "?prior=0.001&prior=0.5"})
    assert doubled.status_code == 400
    assert "the address must say a thing once, got 'prior 2 times'" in doubled.text
    maybe = ask(client, {"view": "/audit", "query": "?design=many-runs&example=maybe"})
    assert "example must be yes or no" in maybe.json["response"]["told"]["data"]["problem"]


def test_nothing_is_there_for_developers(app, client):
    config = json.loads(
        re.search(r'id="_dash-config"[^>]*>(.*?)</script>', client.get("/").text)[1]
    )
    assert not config["ui"]
    assert "hot_reload" not in config
    assert not app.server.debug
    assert not app.server.testing


# -- sizes -----------------------------------------------------------------------------------------


def test_a_request_has_room_for_the_largest_file_and_not_much_more(client):
    base64_of_largest = 4 * -(-limits.LARGEST_FILE // 3)
    assert base64_of_largest < limits.LARGEST_REQUEST < base64_of_largest + 2**21
    response = client.post(
        "/_dash-update-component",
        data=bytes(limits.LARGEST_REQUEST + 1),
        content_type="application/json",
    )
    assert response.status_code == 413


def test_a_server_keeps_what_it_is_sent_in_memory_and_says_nothing(monkeypatch, caplog):
    pytest.importorskip("waitress")
    asked = {}

    class Server:
        def run(self):
            logging.getLogger("waitress.queue").warning("Task queue depth is 1")

        def close(self):
            asked["closed"] = True

    class Visitor:
        def close(self):
            asked["left"] = True

    def created(application, connections, **options):
        asked.update(options)
        connections[0] = Visitor()
        return Server()

    monkeypatch.setattr("waitress.create_server", created)
    web.serve(PORT, browser=False)
    assert (asked["host"], asked["port"]) == ("127.0.0.1", PORT)
    assert asked["max_request_body_size"] == limits.LARGEST_REQUEST
    assert asked["inbuf_overflow"] > limits.LARGEST_REQUEST
    assert asked["closed"]
    assert asked["left"]
    assert caplog.messages == []


# -- what was sent ---------------------------------------------------------------------------------

GOOD = b"score,member\n" + b"3,1\n1,0\n" * 200
BAD = {
    "wrong columns": b"a,b\n1,2\n",
    "binary": bytes(range(256)) * 20,
    "empty": b"",
    "not a number": b"score,member\nnan,1\n1,0\n",
    "all members": b"score,member\n1,1\n2,1\n",
    "script": b"score,member\n<script>alert(1)</script>,1\n",
}


def texts(part):
    """All text of what is shown, as Dash sends it: components hold text, never HTML."""
    if isinstance(part, str):
        return [part]
    if isinstance(part, list):
        return [text for one in part for text in texts(one)]
    if isinstance(part, dict):
        assert part["type"] not in ("Script", "Iframe", "Markdown", "DangerouslySetInnerHTML")
        assert not [name for name in part["props"] if name.lower().startswith("dangerous")]
        return texts(part["props"].get("children", ""))
    return []


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_told_of_and_the_next_one_is_read(client, case):
    told = answer(client, BAD[case])
    problem = told["told"]["data"]["problem"]
    assert "x.csv" in problem
    assert texts(told["answer"]["children"]) == ["✗ This cannot be shown", problem]
    assert told["told"]["data"]["controls"]
    after = answer(client, GOOD)
    assert after["told"]["data"]["problem"] == ""
    assert texts(after["answer"]["children"])[0].startswith("✗ REFUTED")


def test_html_in_a_name_or_a_cell_is_text(client):
    name = "<img src=x onerror=alert(1)>.csv"
    told = answer(client, BAD["script"], name)
    assert any("<script>alert(1)</script>" in one for one in texts(told["answer"]["children"]))
    assert any(name in one for one in texts(told["answer"]["children"]))
    assert any(name in one for one in texts(answer(client, GOOD, name)["answer"]["children"]))


def test_a_file_that_was_garbled_on_its_way_is_asked_for_again(client):
    asked = {"view": "/audit", "values": {}, "file": {"name": "x.csv", "content": "data:,é"}}
    told = ask(client, asked).get_json()["response"]["told"]["data"]
    assert told["problem"] == "file must arrive as it was sent: drop it again, got 'x.csv'"


def test_nothing_of_a_visitor_is_kept_for_the_next(client, app):
    asked = {"view": "/audit", "values": {}, "number": 1}
    before = ask(client, asked).get_json()
    first = answer(client, GOOD)
    assert ask(client, asked).get_json() == before
    assert ask(Visitor(app), asked).get_json() == before
    # A server that was started anew says the same of the same question.
    fresh = Visitor(explorer.create())
    assert answer(fresh, GOOD) == first
    assert "Set-Cookie" not in ask(client, asked).headers


def test_two_visitors_at_once_are_told_of_their_own_files(app):
    files = {"one.csv": GOOD, "two.csv": b"score,member\n" + b"1,1\n1,0\n" * 100}
    alone = {}
    told = {name: [] for name in files}

    def visit(name, times, into):
        visitor = Visitor(app)
        for _ in range(times):
            into.append(answer(visitor, files[name], name))

    for name in files:
        alone[name] = []
        visit(name, 1, alone[name])
    threads = [threading.Thread(target=visit, args=(name, 4, told[name])) for name in files]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for name in files:
        assert told[name] == alone[name] * 4
        shown = " ".join(texts(told[name][0]["answer"]["children"]))
        assert [other in shown for other in files] == [other == name for other in files]


# -- errors ----------------------------------------------------------------------------------------


def test_a_bug_in_a_view_is_told_in_a_line_and_logged_once(client, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("in /home/someone/secret.py")

    monkeypatch.setitem(VIEWS, "/audit", type("V", (), {"read": broken})())
    said = ask(client, {"view": "/audit", "values": {}})
    assert (said.status_code, len(said.text.splitlines())) == (500, 1)
    assert "secret" not in said.text
    assert "a bug in tellapart" in said.text
    (logged,) = caplog.records
    assert "secret" in str(logged.exc_info)


def test_a_report_of_what_cannot_be_shown_is_none_and_says_why(client):
    def refused(asked, answering=explorer.here):
        page, why = explorer.report(asked, answering)
        assert page is explorer.no_update
        return why

    def too_long(*_):
        raise ta.LimitReached("this takes longer than the page allows")

    bad = {"view": "/audit", "values": {}, "file": sent("x.csv", BAD["binary"])}
    unsaid = {**bad, "file": sent("x.csv", GOOD)}
    for asked in (bad, unsaid):
        assert refused(asked).startswith("No report was made: design must say how the scores were")
    bad["values"] = {"design": "many-runs"}
    assert refused(bad).startswith("No report was made: ")
    good = {**unsaid, "values": {"design": "many-runs"}}
    assert refused(good, too_long) == (
        "No report was made: this takes longer than the page allows."
    )
    assert refused({"view": "/", "values": {"mechanism": "nonsense"}}).startswith("No report was")
    found, why = explorer.report(good)
    assert why == ""
    assert found["filename"] == "tellapart-report.html"
    assert found["content"].startswith("<!DOCTYPE html>")


def test_the_page_says_how_large_a_file_may_be():
    (group, *_) = VIEWS["/audit"].controls(VIEWS["/audit"].state())
    assert group.controls[0].largest == limits.LARGEST_FILE
