"""A file of attack scores that was dropped: read within the page's limits, and its first rows."""

from __future__ import annotations

import re
from pathlib import Path

from tellapart.audit import Orientation, Scores
from tellapart.audit.scores import read_scores
from tellapart.data.columns import Names
from tellapart.data.reading import Preview, preview
from tellapart.data.scores_and_labels import DROP, TRUTH
from tellapart.data.sources import FileLimits, Source
from tellapart.errors import BadScores, NoColumn
from tellapart.web import limits
from tellapart.web.answer import Table
from tellapart.web.view import Dropped

_LONGEST_CELL = 40  # letters


def _most() -> FileLimits:
    return FileLimits(
        file=limits.LARGEST_FILE,
        unpacked=limits.LARGEST_OPENED,
        held=limits.LARGEST_OPENED,
        rows=limits.MOST_ROWS,
        instead="; the command line takes more",
    )


def read_dropped(dropped: Dropped, names: Names, orientation: Orientation) -> Scores:
    """The scores in what was dropped, as `Scores.read` finds them in a file, within our limits."""
    source = Source(Path(dropped.name), dropped.content)
    try:
        return read_scores([source], names, orientation, _most())
    except NoColumn as why:
        raise NoColumn(f"{on_the_page(str(why)).rstrip('.')}. {_CHOOSE}") from None
    except BadScores as why:
        raise BadScores(on_the_page(str(why))) from None


COLUMNS = "Columns of the file"
_CHOOSE = (
    f"Choose the columns under “{COLUMNS}”, in step 1; the one of members holds 1 for members and "
    "0 for non-members."
)
# What the page says where the library speaks of its options.
_RUN = (
    "add --run-column run, in Python run='run' (independence is then checked)",
    f"choose it under “{COLUMNS}” (independence is then checked)",
)
_OPTION = re.compile(r"(?:^|\s|\()--[a-z]")
_CLAUSE = re.compile(r"(?<=[.:;])\s+")


def on_the_page(problem: str) -> str:
    """A problem with a file without options of the command line, of which the page has none.

    >>> on_the_page("x.csv must say which: 'a' and 'b'. Choose with --score-column a, in Python a")
    "x.csv must say which: 'a' and 'b'."
    """
    problem = problem.replace(DROP, "; leave such rows out of the file").replace(*_RUN)
    problem = problem.replace(TRUTH, TRUTH.partition(" (--")[0])
    clauses = []
    for clause in _CLAUSE.split(problem):
        if _OPTION.search(clause):
            break
        clauses.append(clause)
    said = " ".join(clauses)
    return f"{said[:-1]}." if said.endswith((":", ";")) else said


def seen_in(dropped: Dropped) -> Preview:
    """The columns and first rows of what was dropped, as `audit.preview` finds them."""
    return preview(Source(Path(dropped.name), dropped.content), Names(), _most())


def previewed(held: Dropped) -> tuple[Table, ...]:
    """The first rows of the file, as they stand in it."""
    seen = seen_in(held)
    if not seen.columns:
        return ()
    rows = tuple(tuple(map(_cell, row)) for row in seen.rows)
    return (Table(f"First rows of {held.name}", seen.columns, rows),)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"
