"""Errors are of one family, and travel between processes."""

import ast
import inspect
import pickle
import re
from pathlib import Path

import pytest

import tellapart as ta
from tellapart import choose, errors, worlds

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]


def test_every_error_is_a_tellapart_error():
    named = {ta.TellapartError, ta.InvalidArgument, ta.BadScores, ta.Unsupported, ta.NotCertified}
    named |= {ta.LimitReached, ta.TrainingStopped, choose.Infeasible, worlds.ImpossibleSecret}
    assert named <= set(KINDS)
    assert all(issubclass(kind, ta.TellapartError) for kind in KINDS)


def test_the_tree_is_complete():
    """No module makes an error of this family beside those that stand here."""
    names = {kind.__name__ for kind in KINDS}
    made = [
        f"{path.stem}.{node.name}"
        for path in Path(errors.__file__).parent.rglob("*.py")
        if path.name != "errors.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).rpartition(".")[2] in names for base in node.bases)
    ]
    assert made == []


def test_each_line_of_the_drawn_tree_hangs_under_its_base():
    above = {}
    for mark, name in re.findall(r"^([ │├└─]*)([A-Z]\w+)", errors.__doc__.split("\n\n")[1], re.M):
        above[len(mark)] = name
        if mark:
            assert above[len(mark) - 4] in [
                base.__name__ for base in getattr(errors, name).__bases__
            ]


def test_only_a_wrong_argument_is_a_value_error():
    assert issubclass(ta.InvalidArgument, ValueError)
    assert issubclass(ta.BadScores, ta.InvalidArgument)
    assert not issubclass(ta.Unsupported, ValueError)
    assert not issubclass(ta.NotCertified, ValueError)


def test_the_tree_is_drawn_in_the_docstring():
    for kind in KINDS:
        assert kind.__name__ in errors.__doc__


def test_an_event_that_cannot_be_read_travels_with_it():
    copy = pickle.loads(pickle.dumps(errors.UnreadableEvent("event", "why")))  # noqa: S301
    assert (type(copy), copy.event, str(copy)) == (errors.UnreadableEvent, "event", "why")


@pytest.mark.parametrize(
    "kind",
    [ta.InvalidArgument, ta.Unsupported, ta.NotCertified, ta.LimitReached, ta.TrainingStopped],
)
def test_errors_travel_between_processes(kind):
    copy = pickle.loads(pickle.dumps(kind("why")))  # noqa: S301
    assert type(copy) is kind
    assert str(copy) == "why"
