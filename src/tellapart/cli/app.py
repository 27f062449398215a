"""``tellapart``: one line in, a readable answer out, one line when something is wrong."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from rich.console import Console

import tellapart
from tellapart.cli import (
    auditing,
    choosing,
    comparing,
    exploring,
    founding,
    modelling,
    noising,
    probing,
    reporting,
    show,
    theory,
    wrong,
)
from tellapart.cli.options import typed
from tellapart.errors import TellapartError

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
        "Every command that answers takes --json, and any --debug for a full traceback."
    ),
    version=f"tellapart {tellapart.__version__}",
    help_format="markdown",
)
for command in (
    theory.risk,
    choosing.choose,
    comparing.compare,
    theory.region,
    auditing.audit,
    probing.probe,
    reporting.report,
    modelling.frameworks,
    noising.noise,
    exploring.explore,
    founding.reproduce,
):
    app.command(command, help_epilogue="")


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command; 0 for an answer, 1 for a refuted claim, 2 for bad use."""
    given = list(sys.argv[1:] if tokens is None else tokens)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without ε shows ? in its place
            stream.reconfigure(errors="replace")
    debug = "--debug" in given
    code = 0
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    given = [one for one in given if one != "--debug"]
    typed.set(tuple(given))
    try:
        found = app(
            given,
            console=show.terminal(wrap=True),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
        code = found if isinstance(found, int) else 0
        sys.stdout.flush()
    except BrokenPipeError:
        show.hush()
    except (CycloptsError, TellapartError, OSError) as error:
        if debug:
            raise
        Console(stderr=True, highlight=False, soft_wrap=True, markup=False).print(
            wrong.line(error, app, given)
        )
        return 2
    return code
