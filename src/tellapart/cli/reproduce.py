"""`tellapart reproduce`: the founding paper's figures and Table 1, beside what is exact."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tellapart._checks import refuse
from tellapart.cli import terminal


def reproduce(
    folder: Annotated[
        str, Parameter(help="Where to write; made if it is missing.")
    ] = "reproduction",
    /,
    *,
    as_json: Annotated[
        bool,
        Parameter(name="--json", negative="", help="Print Table 1 as JSON.", show_default=False),
    ] = False,
) -> None:
    """The founding paper's figures and Table 1, beside what is exact.

    The paper is that of Liu et al. (2019), PoPETs, doi 10.2478/popets-2019-0045.

    Writes Figures 1 to 9, Table 1 and the region figures of the posts, and prints Table 1 as
    published beside the exact values, with a verdict on each cell.

    For example:

        tellapart reproduce
        tellapart reproduce my-folder
    """
    from tellapart import reproduce as founding

    if not folder:
        refuse("folder", "have a name", folder)
    done = founding.run(folder)
    console = terminal.terminal()
    if as_json:
        terminal.write(console, founding.table_json())
        return
    console.print(founding.table_text(), markup=False, soft_wrap=True)
    terminal.line(console, f"Figures, tables and a page that shows them: {done.page}")
