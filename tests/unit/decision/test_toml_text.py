"""Comments of a decision file: kept where values are written again, gone where they would lie."""

from dataclasses import replace
from pathlib import Path

import pytest

from tellapart import decision
from tellapart.decision.record import Attacker, RiskLimit

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "decisions").glob("*.toml"))
COHORT = decision.read(next(path for path in EXAMPLES if path.stem == "cohort"))


def comments(text):
    return [line.partition("#")[2].strip() for line in text.splitlines() if "#" in line]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_did_not_change_is_written_as_it_was_read(path):
    text = path.read_text(encoding="utf-8")
    assert decision.dumps(decision.parse(text)) == text
    assert decision.dumps(decision.parse(decision.template())) == decision.template()


def test_the_comment_beside_a_value_goes_with_the_value():
    attacker = replace(COHORT.attackers[0], about={"prior": 0.01, "fpr": 0.001})
    moved = replace(COHORT, attackers=(attacker, COHORT.attackers[1]))
    text = decision.dumps(moved)
    assert decision.parse(text) == moved
    gone = set(comments(COHORT.text)) - set(comments(text))
    assert gone == {"3,100 of 410,000"}
    assert "prior = 0.01\n" in text


def test_keys_come_and_go_in_their_tables():
    release = replace(COHORT.release, population=None)
    mechanism = replace(COHORT.mechanism, configured=None)
    decided = replace(COHORT.decided, owner='Dr "A"')
    moved = replace(COHORT, release=release, mechanism=mechanism, decided=decided, utility=None)
    text = decision.dumps(moved)
    assert decision.parse(text) == moved
    assert comments(text) == comments(COHORT.text)
    back = replace(decision.parse(text), release=COHORT.release, utility=COHORT.utility)
    assert decision.parse(decision.dumps(back)).release == COHORT.release
    assert decision.parse(decision.dumps(back)).utility == COHORT.utility
    assert comments(decision.dumps(back)) == comments(text)


def test_of_tables_whose_number_changed_no_comment_is_left_beside_another():
    third = Attacker("a neighbour", "little", {"prior": 0.1, "fpr": 0.01})
    limit = RiskLimit("a neighbour", "ppv", at_most=0.3, reason="enough")
    more = replace(COHORT, attackers=(third, *COHORT.attackers), limits=(limit, *COHORT.limits))
    text = decision.dumps(more)
    assert decision.parse(text) == more
    assert set(comments(COHORT.text)) - set(comments(text)) == {"3,100 of 410,000"}
    fewer = replace(COHORT, alternatives=())
    assert decision.parse(decision.dumps(fewer)) == fewer


@pytest.mark.parametrize(
    "text",
    [
        COHORT.text.replace('"Cohort steering board"', '"""Cohort\nsteering board"""'),
        COHORT.text.replace("[decided]", "[ decided ]  # who"),
        COHORT.text.replace("\n", "\r\n"),
        COHORT.text.replace('knows = "a list', 'knows = "# [limit] a list'),
        COHORT.text.replace("people = 3100", '"people" = 3100'),
    ],
)
def test_however_a_file_is_written_what_is_written_again_says_the_same(text):
    record = decision.parse(text)
    moved = replace(record, title="another", privacy=replace(record.privacy, delta=1e-9))
    assert decision.parse(decision.dumps(moved)) == moved
    assert decision.parse(decision.dumps(record)) == record
