"""A place for a mechanism may be empty."""

from tellapart.web.view import with_dials


def test_an_empty_text_is_no_mechanism_whatever_dials_say():
    assert with_dials({"m1": "", "m1.0.epsilon": 3}, "m1", "prior") == ""
    assert with_dials({}, "m1", None) is None
    assert with_dials({"m1": "laplace:epsilon=1", "m1.0.epsilon": 3}, "m1", None) == (
        "laplace:epsilon=3"
    )
