"""Whatever a URL or a field holds, the page answers in words."""

import re

import pytest

from tellapart import deadline
from tellapart.web.questions import answer

HOLDS = {"explore": "mechanism", "check": "mechanism", "compare": "m2", "audit": "mechanism"}


@pytest.mark.parametrize("path", HOLDS)
@pytest.mark.parametrize("text", ["laplace:eps=1", "laplace:epsilon=1,x=2", "laplace:=1"])
def test_a_parameter_that_nothing_has_is_refused_as_the_library_does(path, text):
    typed = {HOLDS[path]: text, "changed": HOLDS[path], "shape": ""}
    opened = {HOLDS[path]: text}
    for asked in (typed, opened):
        told = answer(path, asked)
        assert told["problem"].startswith("mechanism must be given as laplace:"), told["problem"]
        assert (told["query"], told["drawings"]) == (None, [])
    assert answer(path, opened)["controls"]  # there is something to go on with


def test_a_number_too_large_for_any_dial_is_no_number():
    told = answer("explore", {"prior": 10**400})
    assert told["problem"].startswith("prior must be a number, got 1000")
    assert told["field"] == "prior"


def test_a_limit_near_zero_cannot_be_kept():
    told = answer("choose", {"max_advantage": 5e-324})
    assert told["problem"] == ""
    assert "No epsilon keeps these limits" in re.sub("<[^>]+>", "", told["answer"])


@pytest.mark.parametrize("path", ["explore", "audit"])
@pytest.mark.parametrize(
    "text", ["discrete-gaussian:sigma=1,repeated=10", "laplace:epsilon=1,repeated=9,sampled=0.1"]
)
def test_an_answer_that_takes_too_long_is_given_up_and_leaves_nothing(path, text):
    example = {"example": "yes", "design": "many-runs", "orientation": "higher"}
    asked = {HOLDS[path]: text, **(example if path == "audit" else {})}
    with deadline.within(0.0):
        told = answer(path, asked)
        assert told["problem"].startswith("this takes longer than the time limit")
    told = answer(path, asked)
    assert (told["problem"], told["drawings"] == []) == ("", False)
