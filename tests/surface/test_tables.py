"""Tables that people wrote in the documentation say what the catalogues and the code say."""

import re
from pathlib import Path

from tellapart import risk
from tellapart.accountants.events import READERS
from tellapart.cli.app import COMMANDS
from tellapart.risk.catalogue import limited
from tellapart.web.views import VIEWS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def rows(page, head):
    """The rows of the table with this head, cell by cell."""
    text = (DOCS / page).read_text(encoding="utf-8")
    table = text.partition(f"| {head} |")[2].partition("\n\n")[0]
    lines = [line.strip("| ") for line in table.splitlines()[2:]]
    assert lines, f"{page} has no table {head}"
    return [[cell.strip() for cell in line.split(" | ")] for line in lines]


def test_the_risks_to_choose_by_can_be_limited():
    known = {measure.function for measure, _ in limited().values()}
    told = [re.search(r"`risk\.(\w+)`", what)[1] for what, *_ in rows("choosing.md", "measure")]
    assert len(told) == len(set(told)) >= 4
    assert [name for name in told if getattr(risk, name) not in known] == []


def test_the_pages_of_the_explorer_are_those_that_there_are():
    told = [(title, question) for title, question, _ in rows("explorer.md", "page")]
    assert told == [(view.title, view.question) for view in VIEWS.values() if view.listed]
    commands = {re.match(r"`tellapart (\w+)`", line)[1] for *_, line in rows("explorer.md", "page")}
    assert commands <= set(COMMANDS)


def test_every_event_that_can_be_read_is_told_of():
    told = [name for events, *_ in rows("switching.md", "event") for name in events.split(", ")]
    assert sorted(f"{name}DpEvent" for name in told) == sorted(READERS)
