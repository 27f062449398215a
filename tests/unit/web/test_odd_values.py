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


@pytest.mark.parametrize("path", [*HOLDS, "choose"])
@pytest.mark.parametrize(
    ("key", "value"),
    [("data_size", "0"), ("batch_size", "0"), ("epochs", "0"), ("epochs", "1e308"),
     ("epochs", "nan"), ("data_size", "1e300"), ("batch_size", "1e-300")],
)  # fmt: skip
def test_a_schedule_that_is_none_is_refused_at_its_field(path, key, value):
    given = {"noise_multiplier": "1.1", "epochs": "15", "batch_size": "256", "data_size": "60000"}
    text = "dpsgd:" + ",".join(f"{name}={x}" for name, x in (given | {key: value}).items())
    field = HOLDS.get(path, "mechanism")
    told = answer(path, {field: text})
    assert " must " in told["problem"], told["problem"]
    # What makes too many steps is said at epochs.
    assert told["field"].endswith((key, "epochs") if "e" in value else key)


def test_noise_beyond_all_measure_is_no_fault_of_the_page():
    text = "dpsgd:noise_multiplier={},epochs=15,batch_size=256,data_size=60000"
    told = answer("explore", {"mechanism": text.format("1e-300")})
    assert told["problem"].startswith("a step has too little noise")
    told = answer("explore", {"mechanism": text.format("1e300")})
    assert "finds at most 1 of 100 members" in re.sub("<[^>]+>", "", told["answer"])


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
