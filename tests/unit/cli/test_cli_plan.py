"""`tellapart plan`: what an audit could show, as the library says it."""

import json
import shlex

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.cli import main
from tellapart.cli.plan import in_full


def told(capsys, words):
    code = main(shlex.split(f"plan {words}"))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_it_says_what_the_library_says(capsys):
    words = "laplace --epsilon 1 --seconds 0.4 --budget 600"
    planned = audit.plan(ta.Laplace.with_epsilon(1), seconds=0.4, budget=600)
    code, out, _ = told(capsys, words)
    assert code == 0
    first, typed, *rest = out.splitlines()
    assert first == f"Plan: {planned.takes(planned.best)}."
    command = "tellapart probe FILE.py:FUNCTION --d0 @WITHOUT.json --d1 @WITH.json"
    command += " --mechanism laplace --epsilon 1 --samples 657"
    assert typed == f"  {command}"
    shown = " ".join(" ".join(rest).split())
    assert shown == " ".join([*planned.shows(planned.best), *planned.notes])
    _, out, _ = told(capsys, f"{words} --json")
    data = planned.data()
    (design,) = data["designs"]
    designs = [design | {"command": command}]
    assert json.loads(out) == {"mechanism": "laplace:epsilon=1", **data, "designs": designs}


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
        ("--epsilon 1.2345678901 --delta 1e-5 --available one-run --available function", 3, 0.95),
        ("discrete-laplace --scale 1.23456789 --available one-run --confidence 0.9995", 1, 0.9995),
        (
            "laplace:epsilon=1+laplace:epsilon=0.5,repeated=2 --available one-run",
            1,
            0.95,
        ),
    ],
)
def test_the_commands_of_a_plan_can_be_typed(capsys, tmp_path, words, designs, confidence):
    (tmp_path / "release.py").write_text(RELEASE)
    scores = np.random.default_rng(0).normal(size=40)
    rows = (f"{score},{k % 2}" for k, score in enumerate(scores))
    (tmp_path / "scores.csv").write_text("\n".join(["score,member", *rows]))
    here = {
        "FILE.py:FUNCTION": f"{tmp_path / 'release.py'}:release",
        "@WITHOUT.json": "[1]",
        "@WITH.json": "[1,1]",
        "SCORES.csv": str(tmp_path / "scores.csv"),
    }
    words = f"{words} --seconds 0.2 --budget 60 --canaries 40"
    _, out, _ = told(capsys, words)
    commands = [line for line in out.splitlines() if line.startswith("  tellapart ")]
    for command in commands:  # on a line of its own, however long it is
        given = [here.get(word, word) for word in shlex.split(command)[1:]]
        assert main([*given, "--json"]) in (0, 1, 3)
        shown = json.loads(capsys.readouterr().out)
        assert shown["confidence"] == confidence
    assert len(commands) == designs
    typed = shlex.split(words)
    for option in ("--epsilon", "--scale"):
        if option in typed:
            assert all(f"{option} {typed[typed.index(option) + 1]} " in each for each in commands)


@pytest.mark.parametrize(
    ("value", "typed"),
    [(657, "657"), (1_234_567, "1234567"), (1_000.0, "1000"), (1.25e-6, "1.25e-6"), (1e22, "1e22")],
)
def test_numbers_of_a_command_are_typed_to_their_last_digit(value, typed):
    assert in_full(value) == typed
    third = value / 3
    assert float(in_full(third)) == third
