"""Titles on a terminal: one line where it is wide enough, and never more than it is wide."""

import io

import pytest
from rich.console import Console

from tellapart.cli.terminal import title

NAME, REST = "Experimental design", "one run, 1,000 canaries"


@pytest.mark.parametrize("width", range(30, 60))
def test_a_title_fits_its_terminal_and_takes_one_line_where_it_can(width):
    console = Console(file=io.StringIO(), width=width, soft_wrap=True)
    title(console, NAME, REST)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert (lines == [f"{NAME}  {REST}"]) == (len(NAME) + 2 + len(REST) <= width)
    assert " ".join(lines).split() == f"{NAME} {REST}".split()
