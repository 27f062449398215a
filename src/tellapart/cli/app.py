"""``tellapart``: one line in, a readable answer out, one line when something is wrong."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from cyclopts import App
from rich.console import Console

import tellapart
from tellapart.cli import (
    audit,
    choose,
    compare,
    errors,
    exits,
    explore,
    frameworks,
    limits,
    noise,
    probe,
    report,
    reproduce,
    risk,
    terminal,
)
from tellapart.cli.options import typed

_CLOSED = (
    "standard output is closed, so that no answer can be given; send it to /dev/null where the "
    "exit code is enough"
)
_ENDS = f"{limits.HELP} {exits.HELP}"

app = App(
    name="tellapart",
    help="How well can an attacker tell two worlds apart? Differential privacy as a test.",
    help_epilogue=(
        "For example:\n\n"
        "    tellapart risk --epsilon 2 --prior 0.01\n"
        "    tellapart choose gaussian --max-advantage 0.05\n"
        "    tellapart choose dpsgd --steps 1000 \\\n"
        "        --sampling-rate 0.01 --max-advantage 0.1\n"
        "    tellapart compare laplace:epsilon=1 \\\n"
        "        gaussian:epsilon=1,delta=1e-5\n"
        "    tellapart audit scores.csv --design many-runs \\\n"
        "        --epsilon 1 --delta 1e-5 --report audit.html\n"
        "    tellapart probe release.py:noisy_count \\\n"
        "        --d0 '[3, 1]' --d1 '[3, 1, 4]' --epsilon 1\n"
        "    tellapart report gaussian out.html --sigma 2 \\\n"
        "        --unit 'one patient' --prior 0.001\n"
        "    tellapart frameworks chain.toml\n"
        "    tellapart explore\n\n"
        "Every command that answers takes --json, and any --debug for a full traceback.\n\n"
        f"{_ENDS}"
    ),
    version=f"tellapart {tellapart.__version__}",
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # it has a code and a line, see `exits`
)
for command in (
    risk.risk,
    choose.choose,
    compare.compare,
    risk.region,
    audit.audit,
    probe.probe,
    report.report,
    frameworks.frameworks,
    noise.noise,
    explore.explore,
    reproduce.reproduce,
):
    app.command(command, help_epilogue=_ENDS)


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command; how it ended is the exit code, see `exits.Exit`."""
    given = list(sys.argv[1:] if tokens is None else tokens)
    closed = sys.stdout is None
    if closed:  # files that are opened now must not come to stand in its place
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (for as long as the process lives)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without ε shows ? in its place
            stream.reconfigure(errors="replace")
    debug = "--debug" in given
    given = [one for one in given if one != "--debug"]
    with exits.ended_by() as came:
        try:
            if closed:
                raise OSError(_CLOSED)
            seconds, given = limits.taken(given)
            with limits.kept(seconds):
                code = _run(given)
            if came:  # the command ended well, as a server does, but not by itself
                raise came[0]
        except terminal.ReaderGone:
            terminal.hush()
            return exits.Exit.DONE
        except BaseException as error:  # noqa: BLE001 (each has its code, and none is 0 or 1)
            _complain(error, given, debug)
            return exits.code_of(error)
    return code


def _run(given: list[str]) -> int:
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    typed.set(tuple(given))
    found = app(
        given,
        console=terminal.terminal(wrap=True),
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    )
    terminal.flush()
    return found if isinstance(found, int) else exits.Exit.DONE


def _complain(error: BaseException, given: list[str], debug: bool) -> None:
    """One line, and where it comes from if that was asked for; or nothing, where nobody reads."""
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    with suppress(OSError):
        if debug:
            traceback.print_exception(error)
        console.print(errors.line(error, app, given))
