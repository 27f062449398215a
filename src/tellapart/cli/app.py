"""The command-line program: which commands there are, and how one is parsed, run and ended."""

from __future__ import annotations

import ast
import gc
import importlib
import io
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FunctionType

from cyclopts import App
from rich.console import Console

import tellapart
from tellapart.cli import errors, terminal
from tellapart.cli.process import exits, limits

# Each command and its module, which is imported when the command is typed.
COMMANDS = {
    "risk": "risk",
    "choose": "choose",
    "decide": "decide",
    "compare": "compare",
    "region": "region",
    "convert": "convert",
    "budget": "budget.commands",
    "plan": "plan",
    "audit": "audit.command",
    "probe": "probe",
    "check-training": "check_training",
    "report": "report",
    "frameworks": "frameworks",
    "noise": "noise",
    "explore": "explore",
    "serve": "explore",
    "reproduce": "reproduce",
}
_CLOSED = (
    "standard output is closed, so that no answer can be given; send it to /dev/null where the "
    "exit code is enough"
)
_ENDS = f"{limits.HELP} {exits.HELP}"
_EXAMPLES = """For example:

    tellapart risk --epsilon 2 --prior 0.01
    tellapart choose gaussian --max-advantage 0.05
    tellapart choose dpsgd --steps 1000 \\
        --sampling-rate 0.01 --max-advantage 0.1
    tellapart decide --init decision.toml
    tellapart decide decision.toml --check
    tellapart compare laplace:epsilon=1 \\
        gaussian:epsilon=1,delta=1e-5
    tellapart convert zcdp:0.1 --delta 1e-6
    tellapart budget open team.jsonl --gaussian 1
    tellapart audit scores.csv --design many-runs \\
        --epsilon 1 --delta 1e-5 --report audit.html
    tellapart probe release.py:noisy_count \\
        --d0 '[3, 1]' --d1 '[3, 1, 4]' --epsilon 1
    tellapart check-training train.py:make --epochs 10
    tellapart report gaussian out.html --sigma 2 \\
        --unit 'one patient' --prior 0.001
    tellapart frameworks chain.toml
    tellapart explore
"""


def application(*asked: str, words: Sequence[str] = ()) -> App:
    """The commands asked for, with their options; all by their summaries where none is.

    Help that these words ask for shows what belongs to them, unless they ask for all of it.
    """
    app = App(
        name="tellapart",
        help="Differential privacy as hypothesis testing: what membership inference can do.",
        help_epilogue=(
            f"{_EXAMPLES}\n"
            "Every command that answers takes --json; --help-all shows rarely used options; "
            "--debug prints a full traceback.\n\n"
            f"{_ENDS}"
        ),
        version=f"tellapart {tellapart.__version__}",
        help_format="markdown",
        suppress_keyboard_interrupt=False,  # it has a code and a line, see `exits`
    )
    for name in asked:
        module = importlib.import_module(f"tellapart.cli.{COMMANDS[name]}")
        command, ends = getattr(module, _function(name)), _ENDS
        if subcommands := getattr(module, "SUBCOMMANDS", None):
            app.command(_group(name, command, subcommands))
            continue
        named = {"knowledge", "values"} & command.__annotations__.keys()
        if named and {"--help", "-h"} & set(words):
            options = importlib.import_module("tellapart.cli.options")
            command, ends = options.for_help(command, words), f"{options.SHORT}\n\n{_ENDS}"
        app.command(command, help_epilogue=ends)
    for name in () if asked else COMMANDS:
        app.command(App(name=name, help=_summary(name)))
    return app


def _group(name: str, command: FunctionType, subcommands: Mapping[str, FunctionType]) -> App:
    """A command that is followed by another."""
    group = App(name=name, help=command.__doc__, help_epilogue=_ENDS, help_format="markdown")
    for place, (word, function) in enumerate(subcommands.items()):
        group.command(function, name=word, help_epilogue=_ENDS, sort_key=place)
    return group


def _summary(command: str) -> str:
    """What a command does, from its docstring: importing it would take longer than all else."""
    path = Path(__file__).parent.joinpath(*COMMANDS[command].split(".")).with_suffix(".py")
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except OSError:  # installed without its source
        return ""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return (ast.get_docstring(functions[_function(command)]) or "").partition("\n\n")[0]


def _function(command: str) -> str:
    """The name of a command's function."""
    return command.replace("-", "_")


def run(words: Sequence[str] | None, signals: exits.Signals) -> int:
    """Run the command of these words, or else of the program's arguments; see `exits.Exit`."""
    given = list(sys.argv[1:] if words is None else words)
    closed = sys.stdout is None
    if closed:  # files that are opened now must not come to stand in its place
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (for as long as the process lives)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without ε shows ? in its place
            stream.reconfigure(errors="replace")
    debug = "--debug" in given
    given = [word for word in given if word != "--debug"]
    try:
        try:
            if closed:
                raise OSError(_CLOSED)
            seconds, given = limits.taken(given)
            if given[:1] == ["help"]:
                given = [*given[1:], "--help"]
            first = next((word for word in given if not word.startswith("-")), "")
            app = application(*({first} & COMMANDS.keys()), words=given)
            given = ["--help" if word == "--help-all" else word for word in given]
        finally:
            signals.loading = False
            if words is None:
                gc.freeze()
                gc.enable()
        with limits.kept(seconds):
            code = _answer(app, given)
        if signals.came:  # the command ended well, as a server does, but not by itself
            raise signals.came[0]
    except terminal.ReaderGone:
        terminal.hush()
        return exits.Exit.DONE
    except BaseException as error:  # noqa: BLE001 (each has its code, and none is 0 or 1)
        _complain(error, given, debug)
        return exits.code_of(error)
    return code


def _answer(app: App, given: list[str]) -> int:
    terminal.typed.set(tuple(given))
    code = app(
        given,
        console=terminal.terminal(wrap=True),
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    )
    terminal.flush()
    return code if isinstance(code, int) else exits.Exit.DONE


def _complain(error: BaseException, given: list[str], debug: bool) -> None:
    """One line, and where it comes from if that was asked for; or nothing, where nobody reads."""
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    with suppress(OSError):
        if debug:
            traceback.print_exception(error)
        console.print(errors.line(error, list(COMMANDS), given))
