"""The command line: every command calls the library and shows what it says, nothing more.

- `app`: which commands there are, and how one is run; `process`: exit codes, signals, limits;
- one module for each command, which is imported when it is typed; `audit`: scores, counts and
  matrices that it takes; `budget`: the commands of ledgers;
- `options` and `deltas`: options that several commands share; `report_text`: those of an audit,
  and its verdict as text; `terminal`: tables and sentences at any width; `errors`: one line that
  says what is wrong.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from tellapart.cli.process import exits

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> int:
    """Run one command, that of the program unless given; how it ended is an `exits.Exit`."""
    if words is None:
        gc.disable()  # what is imported stays: to look for garbage in it takes a fifth of the time
    with exits.signals_heard(as_program=words is None) as signals:
        from tellapart.cli import app  # which takes a while, and may be interrupted

        return app.run(words, signals)
