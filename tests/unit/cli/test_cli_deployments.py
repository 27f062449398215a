"""`tellapart compare --deployments`, as someone types it."""

from __future__ import annotations

import json
import re

import pytest

import tellapart as ta
from tellapart.cli import main
from tellapart.deployments import CAVEATS, LEFT_OUT


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def call(command):
        code = main(command.split())
        out, err = capsys.readouterr()
        return code, out, err

    return call


def unwrapped(out):
    return " ".join(out.split())


def test_named_deployments_with_their_units_curators_and_caveats(run):
    code, out, err = run("compare --deployments emojis broadband --prior 0.1")
    assert (code, err) == (0, "")
    assert out.startswith("Risk for one unit of privacy  prior 0.1, from least to most\n")
    assert "without the output 0 0.0100 0.1000" in unwrapped(out)
    first, second = out.index("Broadband Coverage"), out.index("Popular Emojis")
    assert first < second
    assert "    Apple 2017: ε = 4 for one event; local; Pending\n" in out
    row = next(line for line in out.splitlines() if "Popular Emojis" in line)
    assert re.findall(r"≤ [\d.]+", row) == ["≤ 0.9641", "≤ 0.5460", "≤ 0.8585"]
    assert all(caveat in unwrapped(out) for caveat in CAVEATS)
    assert "Left out" not in out


def test_all_deployments_and_what_was_left_out(run):
    code, out, err = run("compare --deployments")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    gained = [float(one) for one in re.findall(r"≤ ([\d.]+) +≤ [\d.]+ +≤ [\d.]+$", out, re.M)]
    assert len(gained) == 33
    assert gained == sorted(gained)
    assert all(f"{one}." in unwrapped(out) for one in LEFT_OUT)
    for line in out.splitlines():
        if re.match(r"    .*\d{4}: ", line):
            assert "for one " in line


def test_json_has_the_facts_the_numbers_and_their_side(run):
    code, out, _ = run("compare laplace:epsilon=1 --deployments emojis --fpr 0.001 --json")
    assert code == 0
    found = json.loads(out)
    assert (found["fpr"], found["prior"]) == (0.001, 0.5)
    assert found["source"] == "OpenDP deployments registry"
    assert found["caveats"] == list(CAVEATS)
    ours, theirs = found["rows"]
    assert (ours["name"], ours["deployment"]) == ("laplace:epsilon=1", None)
    facts = theirs["deployment"]
    assert (facts["curator"], facts["variant"], facts["epsilon"]) == ("Apple", "Pure DP", 4.0)
    assert (theirs["key"], theirs["per"]) == ("apple_popular_emojis", "one event")
    assert [one["relation"] for one in theirs["readings"]] == ["≤"] * 3
    assert theirs["readings"][1]["value"] == ta.guarantee(4).tpr(0.001)
    (pair,) = found["pairs"]
    assert pair["second_leaks_at_least_as_much"] is True
    assert found["left_out"] == []


def test_a_mechanism_stands_among_them(run):
    _, out, _ = run("compare gaussian:sigma=0.3 laplace:epsilon=1 --deployments emojis")
    said = unwrapped(out)
    assert "laplace:epsilon=1 ≈ 0.3935 ≈ 0.0272 ≈ 0.7311" in said
    assert "Popular Emojis allows at least as much as laplace:epsilon=1 leaks, at every" in said
    assert "the curves of gaussian:sigma=0.3 and Popular Emojis cross at FPR" in said


@pytest.mark.parametrize("width", [30, 45, 60, 200])
def test_no_terminal_is_too_narrow(run, monkeypatch, width):
    command = "compare laplace:epsilon=1 --deployments apple"
    number = r"[≤≈] \d\.\d{4}"
    wide = run(command)[1]
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = run(command)[1]
    assert sorted(re.findall(number, narrow)) == sorted(re.findall(number, wide))
    assert len(re.findall(number, narrow)) == 18
    assert max(map(len, narrow.splitlines())) <= max(width, 45)


def test_it_draws(run, tmp_path):
    picture = tmp_path / "d.svg"
    code, _, err = run(f"compare --deployments apple --plot {picture}")
    assert (code, err) == (0, "")
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "compare --deployments emojies",
            "deployment must be part of a name or a curator in the registry "
            "(near: Popular Emojis), got 'emojies'",
        ),
        (
            "compare --deployments flex",
            "deployment must fit its variant of privacy (FLEX was left out: delta must be given "
            "for Approximate DP, got None), got 'flex'",
        ),
        (
            "compare --deployments emojis laplace:epsilon=1",
            "mechanisms must stand before --deployments, got 'laplace:epsilon=1'",
        ),
        (
            "compare --deployments emojis --recall 0.1",
            "--recall must be left out beside --deployments, got 0.1",
        ),
        (
            "compare --at-delta 0.1 --deployments",
            "--at-delta must be left out beside --deployments, got 0.1",
        ),
        ("compare --deployments emojis --fpr 1", "--fpr must lie strictly between 0 and 1, got 1"),
        (
            "compare --deployments emojis --prior 0",
            "the prior must lie strictly between 0 and 1, got {'prior': 0.0}",
        ),
        ("compare laplac:epsilon=1 --deployments", "mechanism must be one of any, laplace, "),
    ],
)
def test_bad_use_is_one_line(run, command, message):
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert err.startswith(f"tellapart: {message}")
    assert err.count("\n") == 1
