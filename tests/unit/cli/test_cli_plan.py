"""`tellapart plan`: what an audit could show, as the library says it."""

import json
import re
import shlex

import numpy as np
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
    said, typed = " ".join(out.split()), f"Plan: {planned.best.call}: "
    command = "tellapart probe FILE.py:FUNCTION --d0 WITHOUT --d1 WITH --mechanism"
    assert said.startswith(f"Plan: {command} laplace:epsilon=1 --samples 657: ")
    for line in str(planned).splitlines():
        assert line.removeprefix(typed) in said
    _, out, _ = told(capsys, f"{words} --json")
    assert json.loads(out) == {"mechanism": "laplace:epsilon=1", **planned.data()}


def test_every_access_can_be_named(capsys):
    trained = "dpsgd --noise-multiplier 1 --sampling-rate 0.1 --steps 20"
    for access in audit.Access:
        claim = trained if access.value.startswith("step") else "gaussian --sigma 1"
        words = f"{claim} --available {access.value} --seconds 1 --json"
        code, out, err = told(capsys, words)
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


RELEASE = """
def release(data, rng):
    return sum(data) + rng.laplace()
"""


@pytest.mark.parametrize(
    ("words", "designs", "confidence"),
    [
        ("--epsilon 1 --delta 1e-5 --available one-run --available function", 3, 0.95),
        ("laplace --epsilon 1 --confidence 0.99", 1, 0.99),
    ],
)
def test_the_commands_of_a_plan_can_be_typed(capsys, tmp_path, words, designs, confidence):
    (tmp_path / "release.py").write_text(RELEASE)
    scores = np.random.default_rng(0).normal(size=40)
    rows = (f"{score},{k % 2}" for k, score in enumerate(scores))
    (tmp_path / "scores.csv").write_text("\n".join(["score,member", *rows]))
    here = {
        "FILE.py:FUNCTION": f"{tmp_path / 'release.py'}:release",
        "WITHOUT": "[1]",
        "WITH": "[1,1]",
        "SCORES.csv": str(tmp_path / "scores.csv"),
    }
    _, out, _ = told(capsys, f"{words} --seconds 0.2 --budget 60 --canaries 40")
    commands = re.findall(r"(?:Plan:|Instead,) tellapart (.*?): \d", " ".join(out.split()))
    for command in commands:
        given = [here.get(word, word) for word in shlex.split(command)]
        assert main([*given, "--json"]) in (0, 1, 3)
        shown = json.loads(capsys.readouterr().out)
        assert shown["confidence"] == confidence
    assert len(commands) == designs
