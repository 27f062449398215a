"""`tellapart convert`: the answer first, every currency beside what it loses, and refusals."""

import json

import pytest

from tellapart.cli import main


def test_the_answer_comes_first_and_each_currency_says_what_it_loses(capsys):
    assert main(["convert", "zcdp:0.1", "--delta", "1e-6"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "ε ≤ 2.1420 at δ = 1e-6  zcdp:0.1"
    text = "\n".join(rest)
    assert "The promise itself: membership advantage ≤ 0.2219." in text
    for row in ("ρ ≤ 0.1000", "ε ≤ 0.8000 at order 8", "≤ 0.7899", "pure DP: none, as losses"):
        assert row in text


def test_json_has_every_currency(capsys):
    assert main(["convert", "dp:1,1e-5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    values = {each["name"]: each["value"] for each in found["currencies"]}
    assert values["(ε, δ)-DP"] == 1.0
    assert values["zCDP"] == values["Rényi DP"] == "inf"
    assert found["advantage"] == pytest.approx(0.462, abs=1e-3)


def test_what_is_no_promise_ends_with_2_and_says_what_to_type(capsys):
    assert main(["convert", "zcdp"]) == 2
    assert capsys.readouterr().err == "tellapart: promise must be written as zcdp:ρ, got 'zcdp'\n"
