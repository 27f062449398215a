"""A place for a mechanism may be empty."""

from tellapart.web import _state


def test_an_empty_text_is_no_mechanism_whatever_dials_say():
    assert _state.with_dials({"m1": "", "m1.0.epsilon": 3}, "m1", "prior") == ""
    assert _state.with_dials({}, "m1", None) is None
    assert _state.with_dials({"m1": "laplace:epsilon=1", "m1.0.epsilon": 3}, "m1", None) == (
        "laplace:epsilon=3"
    )
