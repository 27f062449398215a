"""Errors are of one family, and travel between processes."""

import inspect
import pickle

import pytest

import tellapart as ta
from tellapart import errors


def test_every_error_is_a_tellapart_error():
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    named = {ta.TellapartError, ta.InvalidArgument, ta.BadScores, ta.Unsupported, ta.NotCertified}
    assert set(kinds) == named | {ta.LimitReached, ta.TrainingStopped}
    assert all(issubclass(kind, ta.TellapartError) for kind in kinds)


def test_only_a_wrong_argument_is_a_value_error():
    assert issubclass(ta.InvalidArgument, ValueError)
    assert issubclass(ta.BadScores, ta.InvalidArgument)
    assert not issubclass(ta.Unsupported, ValueError)
    assert not issubclass(ta.NotCertified, ValueError)


def test_the_tree_is_drawn_in_the_docstring():
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        assert kind.__name__ in errors.__doc__


@pytest.mark.parametrize(
    "kind",
    [ta.InvalidArgument, ta.Unsupported, ta.NotCertified, ta.LimitReached, ta.TrainingStopped],
)
def test_errors_travel_between_processes(kind):
    copy = pickle.loads(pickle.dumps(kind("why")))  # noqa: S301
    assert type(copy) is kind
    assert str(copy) == "why"
