"""Whatever a URL or a field holds, the page answers in words."""

import pytest

pytest.importorskip("dash")

from tellapart.web import limits
from tellapart.web.app import tell

HOLDS = {"/": "mechanism", "/point": "claim", "/compare": "m1", "/audit": "mechanism"}


@pytest.mark.parametrize("path", HOLDS)
@pytest.mark.parametrize("text", ["laplace:eps=1", "laplace:epsilon=1,x=2", "laplace:=1"])
def test_a_parameter_that_nothing_has_is_refused_as_the_library_does(path, text):
    typed = {"values": {HOLDS[path]: text}, "changed": HOLDS[path]}
    opened = {"query": f"{HOLDS[path]}={text.replace('=', '%3D')}"}
    for asked in (typed, opened):
        told, _, _ = tell({"view": path, "number": 3, **asked})
        assert told["problem"].startswith("mechanism must be given as laplace:"), told["problem"]
        assert (told["query"], told["number"]) == (None, 3)
    assert tell({"view": path, **opened})[0]["controls"]  # there is something to go on with


def test_a_number_too_large_for_any_dial_is_no_number():
    told, _, _ = tell({"view": "/", "values": {"prior": 10**400}})
    assert told["problem"].startswith("prior must be a number, got 1000")


def test_half_of_a_letter_is_no_text():
    told, _, _ = tell({"view": "/audit", "values": {"score": "\ud800"}})
    assert told["problem"].startswith("score must be text, got")


def test_a_limit_near_zero_cannot_be_kept():
    told, answer, _ = tell({"view": "/choose", "values": {"max_advantage": 5e-324}})
    assert told["problem"] == ""
    assert answer[0].children[0].children == ["✗ No epsilon keeps these limits"]


@pytest.mark.parametrize("path", ["/", "/audit"])
@pytest.mark.parametrize(
    "text", ["discrete-gaussian:sigma=1,repeated=10", "laplace:epsilon=1,repeated=9,sampled=0.1"]
)
def test_an_answer_that_takes_too_long_is_given_up_and_leaves_nothing(path, text, monkeypatch):
    asked = {"view": path, "values": {HOLDS[path]: text}}
    with monkeypatch.context() as hurried:
        hurried.setattr(limits, "LONGEST", 0.0)
        told, _, _ = tell(asked)
        assert told["problem"].startswith("this takes longer than the time limit")
    told, _, _ = tell(asked)
    assert (told["problem"], told["drawing"] is None) == ("", False)
