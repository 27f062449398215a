"""`tellapart plan`: what an audit could show, as the library says it."""

import json
import shlex

import pytest

import tellapart as ta
from tellapart import audit
from tellapart.cli import main


def told(capsys, words):
    code = main(shlex.split(f"plan {words}"))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_it_says_what_the_library_says(capsys):
    words = "laplace --epsilon 1 --seconds 0.4 --budget 600"
    planned = audit.plan(ta.Laplace.with_epsilon(1), seconds=0.4, budget=600)
    code, out, _ = told(capsys, words)
    assert code == 0
    assert " ".join(out.split()).startswith(str(planned).splitlines()[0])
    _, out, _ = told(capsys, f"{words} --json")
    assert json.loads(out) == {"mechanism": "laplace:epsilon=1", **planned.data()}


def test_every_access_can_be_named(capsys):
    for access in audit.Access:
        words = (
            f"dpsgd --noise-multiplier 1 --sampling-rate 0.1 --steps 20 --available {access.value}"
        )
        code, out, err = told(capsys, f"{words} --seconds 1 --json")
        assert (code, err) == (0, "")
        assert json.loads(out)["designs"][0]["access"] == access.value


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--seconds 1", "a claim must be given, such as --epsilon 1"),
        ("--epsilon 1", "--seconds must be given: how long one call or one training takes"),
        ("--epsilon 1 --seconds 1 --available steps", "the claim must state the training"),
    ],
)
def test_what_is_missing_is_named(capsys, words, line):
    code, out, err = told(capsys, words)
    assert code in (2, 3)
    assert not out
    assert line in err
