"""Answers as plain data: one state for all views, problems at their control, files to keep."""

import csv
import io
import json
import re
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest

from tellapart.web import jobs, page, questions
from tellapart.web.questions import Malformed, answer, download
from tellapart.web.view import Dropped
from tellapart.web.views import VIEWS

PATHS = [path.lstrip("/") for path in VIEWS]
TRAINING = "dpsgd:noise_multiplier=1.12,epochs=1,batch_size=64,data_size=6400"


def query(told):
    return {key: one[0] for key, one in parse_qs(told["query"], keep_blank_values=True).items()}


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_is_json_and_its_page_has_nothing_inline(path):
    told = answer(path, {})
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    text = page.document(path, {}, told)
    assert re.findall(r"<[^>]*\s(?:style|on\w+)=", text) == []
    scripts = re.findall(r"<script[^>]*>", text)
    assert [one for one in scripts if "src=" not in one and "application/json" not in one] == []
    addresses = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert [one for one in addresses if re.match(r"/|\w+:", one)] == []
    ids = re.findall(r'\sid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    known = json.loads(re.search(r'id="told">(.*?)</script>', text, re.S)[1])
    assert known["drawings"] == told["drawings"]


def test_a_page_without_an_answer_lets_the_script_ask():
    text = page.document("explore", {"prior": "0.2"}, None)
    assert "Working…" in text
    assert '"values": {"prior": "0.2"}' in text


def test_what_other_views_were_asked_goes_along():
    told = answer("explore", {"mechanism": "laplace:epsilon=2", "members": "30", "m2": "any:mu=1"})
    assert query(told) == {"mechanism": "laplace:epsilon=2", "members": "30", "m2": "any:mu=1"}
    wanted = {"members", "m2", "mechanism", "prior", "fpr", "at_delta"}
    assert set(told["links"]) == wanted
    again = answer("compare", told["links"])
    assert again["problem"] == ""
    assert query(again)["members"] == "30"
    # What one view alone means by a word stays there.
    assert "picture" not in answer("explore", {"picture": "tradeoff"})["links"]
    assert "design" not in answer("audit", {"design": "one-run"})["links"]


def test_what_was_chosen_is_what_other_views_go_on_with():
    told = answer("choose", {"mechanism": "laplace:epsilon=7"})
    assert query(told) == {"mechanism": "laplace"}
    assert told["links"]["mechanism"] == "laplace:epsilon=0.2107"


@pytest.mark.parametrize(
    ("path", "values", "field", "said"),
    [
        ("explore", {"prior": "2"}, "prior", "prior must"),
        ("explore", {"mechanism": "laplace:epsilon=-1"}, "mechanism.0.epsilon", "epsilon must"),
        ("explore", {"mechanism": "nobody"}, "mechanism", "mechanism must"),
        ("choose", {"max_advantage": "7"}, "max_advantage", "“membership advantage, at most” must"),
        ("check", {"fpr": "3"}, "fpr", "fpr must"),
        (
            "check",
            {"others": "-1"},
            "others",
            "“non-members it was tried on” must be at least 0, got -1",
        ),
        (
            "correlated",
            {"about": "table", "p00": "-1"},
            "p00",
            "“both are 0” must be finite and greater than 0, got -1",
        ),
        ("correlated", {"bound": "3"}, "bound", "“limit” must lie strictly between 0 and 1, got 3"),
        ("explore", {"nonsense": "1"}, "", "the address must name what is on this page"),
    ],
)
def test_a_problem_is_told_at_its_control(path, values, field, said):
    told = answer(path, values)
    assert (told["field"], told["query"], told["answer"]) == (field, None, "")
    assert told["problem"].startswith(said)
    assert told["controls"]  # there is something to go on with


def test_the_control_that_was_changed_is_meant_where_several_are_named_alike():
    both = {"mechanism": "laplace:epsilon=1+staircase:epsilon=1", "mechanism.1.epsilon": -1}
    told = answer("explore", {**both, "changed": "mechanism.1.epsilon", "shape": ""})
    assert told["field"] == "mechanism.1.epsilon"


def test_controls_that_the_script_has_are_not_sent_again():
    told = answer("explore", {"changed": "", "shape": ""})
    assert "<input" in told["controls"]
    again = answer("explore", {"prior": 0.2, "changed": "prior", "shape": told["shape"]})
    assert "controls" not in again
    assert again["held"]["prior"] == 0.2


def test_a_part_that_takes_longer_is_asked_for_by_itself():
    told = answer("choose", {"mechanism": TRAINING})
    assert 'data-part="ways"' in told["answer"]
    part = answer("choose", {"mechanism": TRAINING, "part": "ways"})
    assert part["html"].count("data-sets=") == 16
    with pytest.raises(Malformed, match="part must be one of ways"):
        answer("choose", {"part": "x"})


def test_text_of_others_is_never_markup():
    for values in ({"mechanism": "<script>"}, {"picture": "<img>"}, {"<b>": "1"}):
        told = answer("explore", values)
        text = page.document("explore", {str(k): v for k, v in values.items()}, told)
        assert "<script>" not in text
        assert "<img>" not in text
        assert "<b>" not in text.replace("<b ", "")
    held = Dropped("<img src=x>.csv", b"score,member\n1,1\n0,0\n")
    told = answer("audit", {"file": held, "design": "one-model", "orientation": "higher"})
    assert "<img" not in told["answer"]


# -- files to keep --------------------------------------------------------------------------------


def test_every_kind_of_file_is_of_what_is_asked():
    values = {"mechanism": "laplace:epsilon=3", "picture": "tradeoff"}
    told = answer("explore", values)
    drawing = told["drawings"][told["picture"]]
    media, name, body = download("explore", values, "csv")
    assert (media, name) == ("text/csv; charset=utf-8", "trade-off.csv")
    rows = list(csv.reader(io.StringIO(body.decode())))
    line = [row for row in rows if row[0] == "Laplace, ε = 3"]
    assert [float(row[1]) for row in line] == pytest.approx(drawing["traces"][1]["x"], rel=1e-5)
    _, name, body = download("explore", values, "svg")
    assert ElementTree.fromstring(body).tag.endswith("svg")  # noqa: S314
    assert name == "trade-off.svg"
    data = json.loads(download("explore", values, "json")[2])
    assert data["settings"]["mechanism"] == "laplace:epsilon=3"
    assert [one["kind"] for one in data["drawings"]][2] == "tradeoff"
    assert data["address"] == "explore?mechanism=laplace%3Aepsilon%3D3&picture=tradeoff"
    assert b"ta.Laplace.with_epsilon(epsilon=3)" in download("explore", values, "python")[2]
    command = download("explore", values, "command")[2]
    assert command.startswith(b"tellapart risk laplace:epsilon=3 ")
    assert b"<!DOCTYPE html>" in download("explore", values, "report")[2]


def test_a_problem_speaks_of_what_stands_on_the_page():
    many = "dpsgd:noise_multiplier=1,batch_size=9,epochs=1,data_size=3"
    told = answer("explore", {"mechanism": many})["problem"]
    assert told == "“expected size of a batch” must be at most “records” (3), got 9"


def test_a_page_names_no_file_of_the_repository():
    assert (
        "leak far more (documentation: sharp edges)"
        in answer("explore", {"mechanism": TRAINING})["answer"]
    )
    for path in PATHS:
        values = {"mechanism": TRAINING} if path in ("explore", "check", "audit", "choose") else {}
        assert ".md" not in answer(path, values)["answer"]


def test_a_file_that_cannot_be_had_says_why():
    for path, values, kind in (
        ("glossary", {}, "report"),
        ("explore", {"prior": "7"}, "svg"),
        ("glossary", {}, "csv"),
        ("check", {"members": "9", "others": "9", "design": "runs"}, "report"),
    ):
        reply = jobs.download(path, values, kind)
        assert (reply.status, reply.kind, reply.name) == (422, "application/json", "")
        assert len(json.loads(reply.body)["problem"].splitlines()) == 1
    with pytest.raises(Malformed, match="a file must be one of report, csv"):
        download("explore", {}, "exe")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prior": {}}, "values must hold text, numbers or yes and no, got dict"),
        ({"changed": 1}, "changed must be text, got int"),
        ({"prior": float("inf")}, "values must be finite"),
        ({"x" * 501: 1}, "the name of a value must have at most 500 letters"),
        ({str(k): 1 for k in range(501)}, "values must be at most 500"),
    ],
)
def test_what_is_no_question_is_refused(given, said):
    with pytest.raises(Malformed, match=f"^{re.escape(said)}"):
        questions.answer("explore", given)
    with pytest.raises(Malformed, match="the view must be one of"):
        questions.answer("nowhere", {})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text",
    ["any:zcdp=0.015", "any:epsilon=34.9,delta=7e-9", "uniform:delta=0.1", "any:epsilon=0.1"],
)
def test_every_picture_of_odd_curves_is_drawn_of_finite_numbers(text):
    told = answer("explore", {"mechanism": text, "prior": "1e-5"})
    assert told["problem"] == ""
    for drawing in told["drawings"]:
        assert drawing["traces"][-1]["x"]
        for trace in drawing["traces"]:
            assert None not in trace["x"]
            assert None not in trace["y"]


@pytest.mark.parametrize(
    ("path", "values", "field", "kept"),
    [
        ("explore", {"fpr": "0", "tpr": "0.01"}, "fpr", {"tpr"}),
        ("explore", {"prior": "2", "fpr": "x", "mechanism": "any:mu=1"}, "fpr", {"mechanism"}),
        ("explore", {"mechanism": "nonsense", "prior": "0.1"}, "mechanism", {"prior"}),
        ("compare", {"m2": "", "prior": "0.2"}, "", {}),
        ("audit", {"confidence": "-1"}, "confidence", {}),
    ],
)
def test_a_page_opens_with_its_defaults_for_what_it_cannot_take(path, values, field, kept):
    """Values of another view may mean nothing here; the rest stays, and the page is not blank."""
    shown = questions.first_answer(path, values)
    assert shown["instead"]
    assert shown["field"] == field
    assert shown["problem"].endswith("The page shows its default there.")
    right = questions.answer(path, {key: values[key] for key in kept})
    assert not right["problem"]
    assert (shown["answer"], shown["held"]) == (right["answer"], right["held"])
    assert questions.answer(path, values)["answer"] == ""  # what is typed there is not replaced


def test_a_page_opens_as_it_was_left():
    asked = {"mechanism": "any:epsilon=2", "prior": "0.1"}
    assert questions.first_answer("explore", asked) == questions.answer("explore", asked)
