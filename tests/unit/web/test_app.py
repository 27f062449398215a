"""Pages, answers, downloads and uploads by HTTP, with processes behind them whose answers echo."""

import asyncio
import gzip
import shlex
import threading
import time

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from tellapart.errors import TooLong
from tellapart.web import limits, static, visits
from tellapart.web.app import application
from tellapart.web.workers import WorkerLimits, WorkerPool

HURRIED = WorkerLimits(seconds=1.0, memory=2**30, quick=2, slow_after=0.4)
AT = "http://127.0.0.1:8050"
BYTES = {"Content-Type": "application/octet-stream"}


@pytest.fixture(scope="module")
def page():
    """One page, and visitors who come to it with empty pockets."""
    app = application(WorkerPool(HURRIED, "echoing"), ["privacy.example.org"])
    with TestClient(app, base_url=AT) as client:

        def visit(base_url=AT):
            visitor = TestClient(app, base_url=base_url)
            visitor.portal = client.portal  # the loop in which the page is open
            return visitor

        yield visit


@pytest.fixture
def visitor(page):
    return page()


def timed(call, *given, **named):
    start = time.monotonic()
    return call(*given, **named), time.monotonic() - start


# -- pages and answers -----------------------------------------------------------------------------


def test_a_page_is_painted_with_its_answer_and_begins_a_visit(visitor):
    first = visitor.get("/explore?prior=0.1&mechanism=laplace:epsilon=1")
    assert first.headers["Content-Type"] == "text/html; charset=utf-8"
    assert first.headers["Cache-Control"] == "no-store"
    told = first.json()
    assert (told["job"], told["path"], told["more"]) == ("paint", "explore", [])
    assert told["values"] == {"prior": "0.1", "mechanism": "laplace:epsilon=1"}
    # Of session scope, for this prefix alone, and never sent along by another site.
    name, *flags = first.headers["Set-Cookie"].split("; ")
    assert name.startswith(f"{visits.COOKIE}=")
    assert flags == ["HttpOnly", "SameSite=Strict"]
    assert "Set-Cookie" not in visitor.get("/").headers
    assert visitor.get("/").json()["path"] == ""


def test_a_link_from_another_site_ends_no_visit(visitor):
    visitor.get("/audit")
    sent = visitor.post("/api/file", content=b"x", headers=BYTES).json()
    away = {"Sec-Fetch-Site": "cross-site", "Cookie": ""}  # as browsers follow such a link
    assert "Set-Cookie" not in visitor.get("/explore", headers=away).headers
    assert visitor.post("/api/audit", json={"file": sent["file"]}).status_code == 200
    own = {"Sec-Fetch-Site": "none", "Cookie": ""}
    assert "Set-Cookie" in visitor.get("/explore", headers=own).headers


def test_a_visit_by_https_stays_there(page):
    hosted = page("https://privacy.example.org")
    assert hosted.get("/").headers["Set-Cookie"].endswith("; Secure")


def test_an_answer_is_asked_for_by_values(visitor):
    asked = {"mechanism": "laplace", "prior": 0.5, "on": True, "files": ["a", "b"], "none": None}
    told = visitor.post("/api/explore", json=asked).json()
    assert (told["job"], told["values"]) == ("answer", asked)
    assert visitor.post("/api/", json={}).json()["path"] == ""
    assert visitor.post("/api/nosuch", json={}).status_code == 404


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_download_has_a_name(visitor, method):
    named = {"params": {"a": "1"}} if method == "GET" else {"json": {"a": "1"}}
    told = visitor.request(method, "/api/explore/csv", **named)
    assert (told.json()["values"], told.json()["more"]) == ({"a": "1"}, ["csv"])
    assert told.headers["Content-Disposition"] == "attachment; filename*=UTF-8''file.txt"


def test_an_address_says_a_thing_once(visitor):
    said = visitor.get("/explore?prior=0.1&prior=0.5")
    assert (said.status_code, said.text) == (400, "the address must say a thing once\n")


def test_a_bug_is_told_in_a_line(visitor):
    for said in (visitor.post("/api/explore", json={"bug": "q"}), visitor.get("/explore?bug=q")):
        assert said.status_code == 500
        assert "a bug in tellapart" in said.text
        assert "q" not in said.text.replace("question", "")


# -- what takes long -------------------------------------------------------------------------------


def test_what_is_too_heavy_is_given_up_and_its_command_handed_out(visitor):
    said, seconds = timed(visitor.post, "/api/explore", json={"sleep": 30, "mechanism": "a'b"})
    assert said.status_code == 504
    assert said.json()["problem"].startswith("this takes longer than the page allows")
    command = said.json()["command"]
    # One word for any shell, and what this machine's page can be opened with.
    words = ["tellapart", "explore", "--patience", "3600", "explore?mechanism=a'b"]
    assert shlex.split(command) == words
    assert seconds < HURRIED.seconds + 5
    memory = visitor.post("/api/explore", json={"bytes": 3 * 2**30})
    assert memory.json()["problem"].startswith("this needs more memory than the page allows")
    assert memory.json()["command"]


def test_a_page_is_painted_soon_however_heavy_its_answer(visitor):
    said, seconds = timed(visitor.get, "/explore?sleep=30")
    assert said.json()["more"] == [False]  # without an answer, for which its script asks
    assert seconds < HURRIED.slow_after + 2


def test_a_page_that_is_not_painted_says_why():
    class Full:
        async def ask(self, *_given, **_how):
            raise TooLong("the page is busy")

    said = TestClient(application(Full()), base_url=AT).get("/explore")
    assert (said.status_code, said.text) == (503, "the page is busy\n")


def test_who_leaves_takes_the_question_along():
    """A browser that goes away ends what it asked for: the one process is there for the next."""

    async def scenario():
        alone = WorkerLimits(seconds=60, memory=2**30, quick=1, slow_after=60)
        pool = WorkerPool(alone, "echoing")
        app = application(pool)
        left = asyncio.Event()

        async def receive():
            if not asked:
                asked.append(True)
                return {"type": "http.request", "body": b'{"sleep": 50}', "more_body": False}
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            told.append(message)

        asked, told = [], []
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/api/explore", "headers": headers}
        scope |= {"query_string": b"", "scheme": "http", "server": ("localhost", 80)}
        request = asyncio.create_task(app(scope, receive, send))
        while not pool.state["at_work"]:
            await asyncio.sleep(0.01)
        left.set()
        await request
        reply = await pool.ask("squeezed", "answer", False, "explore", {})
        await pool.close()
        return told[0]["status"], reply.status

    start = time.monotonic()
    assert asyncio.run(scenario()) == (499, 200)
    assert time.monotonic() - start < 30


# -- files -----------------------------------------------------------------------------------------


def test_a_file_is_there_for_the_visit_that_sent_it_and_for_nobody_else(page):
    sender, other = page(), page()
    sender.get("/audit"), other.get("/audit")
    sent = sender.post("/api/file?name=scores.csv", content=b"x" * 9, headers=BYTES).json()
    assert (sent["name"], sent["bytes"]) == ("scores.csv", 9)
    values = {"file": sent["file"], "design": "many-runs"}
    told = sender.post("/api/audit", json=values).json()
    assert told["values"] == {"file": ["scores.csv", 9], "design": "many-runs"}
    assert sender.post("/api/audit/report", json=values).json()["values"] == told["values"]
    for stranger in (other, page()):
        said = stranger.post("/api/audit", json=values)
        assert said.status_code == 410
        assert said.json()["problem"].startswith("the file is gone")
        # A link that names it is shown without it.
        assert stranger.get("/audit", params=values).json()["values"] == {"design": "many-runs"}
    assert sender.delete("/api/file").status_code == 204
    assert sender.post("/api/audit", json=values).status_code == 410


def test_who_begins_with_a_file_begins_a_visit(visitor):
    sent = visitor.post("/api/file", content=b"x", headers=BYTES)
    assert "SameSite=Strict" in sent.headers["Set-Cookie"]
    assert visitor.post("/api/audit", json={"file": sent.json()["file"]}).status_code == 200


def test_a_file_is_bounded_and_no_form_of_another_site(visitor, monkeypatch):
    monkeypatch.setattr(limits, "LARGEST_FILE", 10)
    assert visitor.post("/api/file", content=b"x" * 11, headers=BYTES).status_code == 413
    assert visitor.post("/api/file", files={"file": b"x"}).status_code == 415
    monkeypatch.setattr(limits, "ALL_FILES", 3)
    full = visitor.post("/api/file", content=b"x" * 9, headers=BYTES)
    assert (full.status_code, full.headers["Retry-After"]) == (503, "300")


def test_two_visitors_at_once_are_told_of_their_own(page):
    found = {}

    def come(name):
        visitor = page()
        visitor.get("/")
        sent = visitor.post(f"/api/file?name={name}", content=name.encode(), headers=BYTES).json()
        asked = {"file": sent["file"], "who": name}
        found[name] = [visitor.post("/api/audit", json=asked).json()["values"] for _ in range(10)]

    names = [f"visitor-{'x' * k}" for k in range(6)]
    threads = [threading.Thread(target=come, args=(name,)) for name in names]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for name in names:
        assert found[name] == [{"file": [name, len(name)], "who": name}] * 10


# -- files of the page, and how it goes ------------------------------------------------------------


def test_files_of_the_page_are_kept_by_browsers_until_one_changes(visitor):
    name = next(path for path in sorted(static.assets()) if path.endswith(".js"))
    lasting = visitor.get(f"/assets/{static.stamp()}{name}")
    assert "immutable" in lasting.headers["Cache-Control"]
    assert lasting.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert lasting.headers["Content-Encoding"] == "gzip"
    assert lasting.content == static.assets()[name].body
    assert gzip.decompress(static.assets()[name].squeezed) == lasting.content
    plain = visitor.get(f"/assets/{name}", headers={"Accept-Encoding": "identity"})
    assert plain.headers["Cache-Control"] == "no-cache"
    assert plain.content == lasting.content
    known = {"If-None-Match": plain.headers["ETag"]}
    again = visitor.get(f"/assets/{name}", headers=known)
    assert (again.status_code, again.content) == (304, b"")


def test_health_says_how_much_there_is_to_do(visitor):
    told = visitor.get("/health").json()
    assert told["status"] == "ok"
    assert {"version", "at_work", "waiting", "idle", "file_bytes", "csp_reports"} <= set(told)
