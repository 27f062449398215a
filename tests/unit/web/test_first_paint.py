"""Every view by HTTP: whole before any script, under a strict policy, and below any prefix."""

import asyncio
import json
import re
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx
import pytest

pytest.importorskip("starlette")

from starlette.applications import Starlette
from starlette.routing import Mount
from test_gate import Visitor

from tellapart.web import app as explorer
from tellapart.web import jobs, questions
from tellapart.web.static import assets
from tellapart.web.views import VIEWS

PATHS = [path.lstrip("/") for path in VIEWS]
KINDS = ("report", "csv", "json", "svg", "python", "command")
CSV = b"score,member\n" + b"3,1\n1,0\n" * 200


class InThisProcess:
    """The page's own work, without processes."""

    def __init__(self):
        self.state = {}

    async def ask(self, function, *given, visitor=None, quick=False):
        return getattr(jobs, function)(*given)


@pytest.fixture(scope="module")
def page():
    return explorer.application(InThisProcess())


@pytest.fixture(scope="module")
def client(page):
    return Visitor(page)


class Seen(HTMLParser):
    """What a page loads and leads to, and what a strict policy would refuse."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.inline, self._inside = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.inline += [name for name in told if name.startswith("on") or name == "style"]
        if "src" in told or tag == "link":
            self.loads.append(told.get("src") or told["href"])
        elif "href" in told or "action" in told:
            self.links.append(told.get("href") or told["action"])
        runs = tag == "script" and "src" not in told and told.get("type") != "application/json"
        self.inline += [tag] if runs or tag == "style" else []


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_whole_before_any_script_and_its_addresses_are_relative(client, path):
    response = client.get(f"/{path}")
    assert response.status_code == 200
    seen = Seen(response.text)
    assert seen.inline == []
    assert response.text.count("<h1") == 1
    files = [
        urljoin(f"/{path}", each).removeprefix("/assets/").split("/", 1)[1] for each in seen.loads
    ]
    assert set(files) <= set(assets())
    assert [each for each in seen.loads + seen.links if re.match(r"/|[a-z]+:", each)] == []


@pytest.mark.parametrize("path", PATHS)
def test_the_page_and_all_that_it_loads_are_found_below_a_prefix(page, path):
    """A proxy that strips `/dp` is a mount."""
    below = Visitor(Starlette(routes=[Mount("/dp", page)]))
    seen = Seen(below.get(f"/dp/{path}").text)
    for address in seen.loads:
        assert below.get(urljoin(f"/dp/{path}", address)).status_code == 200
    found = {re.split("[?#]", urljoin(f"/dp/{path}", address))[0] for address in seen.links}
    assert found <= {f"/dp/{other}" for other in PATHS} | {f"/dp/api/{path}/{x}" for x in KINDS}
    asked = below.send("POST", urljoin(f"/dp/{path}", f"api/{path}"), json={})
    assert asked.status_code == 200


def test_scripts_make_no_code_of_text_and_ask_nobody_else():
    for name, file in assets().items():
        if name.endswith((".js", ".css", ".svg")):
            text = file.body.decode()
            assert re.findall(r"\beval\(|new Function|document\.write|srcdoc|@import", text) == []
            assert re.findall(r"https?://(?!www\.w3\.org/)", text) == [], name


# -- what is shown of what was typed or sent is text -----------------------------------------------

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize("path", [path for path in PATHS if path])
def test_html_in_an_address_is_text(client, path):
    for name in ("mechanism", "m1", "claim", "record", "score", MARKUP):
        response = client.send("GET", f"/{path}", params={name: MARKUP})
        assert response.status_code in (200, 400)
        assert MARKUP not in response.text
        assert "onerror" not in Seen(response.text).inline


def sent(client, content, name="x.csv", values=(), job="/api/audit"):
    """The answer about a file, in one visit."""

    async def visit():
        transport = httpx.ASGITransport(client._application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
            kind = {"Content-Type": "application/octet-stream"}
            kept = await browser.post(
                "/api/file", content=content, params={"name": name}, headers=kind
            )
            said = {"design": "many-runs", "orientation": "higher", **dict(values)}
            asked = {**said, "file": kept.json()["file"]}
            return await browser.post(job, json=asked)

    return asyncio.run(visit())


BAD = {
    "wrong columns": b"a,b\n1,2\n",
    "binary": bytes(range(256)) * 20,
    "empty": b"",
    "not a number": b"score,member\nnan,1\n1,0\n",
    "all members": b"score,member\n1,1\n2,1\n",
    "script": b"score,member\n" + MARKUP.encode() + b",1\n",
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_told_of_and_the_next_one_is_read(client, case):
    told = sent(client, BAD[case])
    assert told.status_code == 200
    # Columns are asked for beside the file's first rows.
    part = "answer" if case == "wrong columns" else "problem"
    assert "x.csv" in told.json()[part].lower()
    assert MARKUP not in told.json().get("controls", "")
    after = sent(client, CSV)
    assert after.json()["problem"] == ""
    assert "refuted" in re.sub("<[^>]+>", "", after.json()["answer"]).lower()


def test_html_in_the_name_of_a_file_or_in_its_columns_is_text(client):
    told = sent(client, CSV, f"{MARKUP}.csv").json()
    assert MARKUP not in json.dumps([told.get(key) for key in ("answer", "controls", "bar")])
    columns = b"score,member," + MARKUP.encode() + b"\n" + b"3,1,a\n1,0,b\n" * 200
    shown = sent(client, columns).json()
    assert MARKUP not in json.dumps([shown.get(key) for key in ("answer", "controls", "bar")])


def test_nothing_of_a_visitor_is_kept_for_the_next(client):
    asked = {"design": "many-runs"}
    before = client.send("POST", "/api/audit", json=asked).json()
    first = sent(client, CSV).json()
    assert client.send("POST", "/api/audit", json=asked).json() == before
    fresh = Visitor(explorer.application(InThisProcess()))
    assert sent(fresh, CSV).json() == first


def test_a_report_of_what_cannot_be_shown_says_why(client):
    for content, values in ((BAD["binary"], {}), (CSV, {"design": ""})):
        told = sent(client, content, values=values, job="/api/audit/report")
        assert (told.status_code, told.headers["Content-Type"]) == (422, "application/json")
        assert told.text.strip()
    made = sent(client, CSV, job="/api/audit/report")
    assert made.text.startswith("<!DOCTYPE html>")
    assert "tellapart-report.html" in made.headers["Content-Disposition"]


# -- the link that a command hands out -------------------------------------------------------------


def test_the_link_to_a_question_opens_the_same_question():
    """What a script sends beside the state of a view, such as its dials, is in no address."""
    asked = {"mechanism": "laplace:epsilon=1", "mechanism.0.epsilon": 2, "prior": 0.25}
    script = {**asked, "changed": "mechanism.0.epsilon", "shape": ""}
    link = questions.address("explore", script)
    assert link.startswith("explore?")
    answered = questions.answer("explore", script)
    values = dict(pair.split("=") for pair in link.partition("?")[2].split("&"))
    assert answered["query"] == link.partition("?")[2]
    assert set(values) == {"mechanism", "prior"}
    assert questions.address("explore", {"mechanism": "nonsense"}) == "explore"
