"""The first moments of a command: it imports what it needs, and hears signals from the start."""

import importlib
import inspect
import os
import re
import subprocess
import sys

import pytest

from tellapart.cli.app import COMMANDS, application

# As at a terminal, also where the tests themselves ignore Ctrl-C.
DEFAULT = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
RUN = "from tellapart.cli import main; code = main(); "
# Rooms and packages that only some commands need.
ROOMS = [
    "_public",
    "accountants",
    "audit",
    "choose",
    "data",
    "deployments",
    "fleet",
    "plot",
    "report",
    "reproduce",
    "run",
    "web",
    "worlds",
    "zoo",
]
HEAVY = {f"tellapart.{room}" for room in ROOMS} | {
    "duckdb",
    "joblib",
    "matplotlib",
    "multiprocessing",
    "scipy.optimize",
    "scipy.stats",
}
NUMBERS = {"numpy", "scipy", "tellapart.curve", "tellapart.mechanisms", "tellapart.risk"}


def program(script, *words):
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, *words],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def imported(*words):
    """What a command has imported by its end."""
    done = program(f"{DEFAULT}{RUN}print(*sys.modules, file=sys.stderr); sys.exit(code)", *words)
    assert done.returncode == 0
    assert done.stdout
    return set(done.stderr.split())


def test_help_computes_nothing():
    assert imported("--help") & (HEAVY | NUMBERS) == set()


def test_risks_of_a_promise_need_curves_and_measures_alone():
    loaded = imported("risk", "--epsilon", "1")
    assert loaded >= NUMBERS
    assert loaded & HEAVY == set()
    own = {name for name in loaded if name.startswith("tellapart.cli.")}
    assert {f"tellapart.cli.{module}" for module in COMMANDS.values()} & own == {
        "tellapart.cli.risk"
    }


def test_the_first_help_says_of_each_command_what_its_own_help_says_first():
    named = application()
    for name, module in COMMANDS.items():
        function = name.replace("-", "_")
        command = getattr(importlib.import_module(f"tellapart.cli.{module}"), function)
        first = inspect.getdoc(command).partition("\n\n")[0]
        assert named[name].help == first
        assert re.search(r"\w[.]$", first)


# What is imported at first, last, and by whom: ours, NumPy's compiled part, and what it needs.
MOMENTS = [
    "tellapart.cli.app",
    "cyclopts",
    "rich.console",
    "tellapart.cli.risk",
    "numpy",
    "numpy._core._multiarray_umath",
    "numpy.linalg._umath_linalg",
    "scipy.special._ufuncs",
    "tellapart.mechanisms.catalogue",
]
INTERRUPTED = """
import os
class Signal:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{signal})
sys.meta_path.insert(0, Signal())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are asked for there")
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    ("signal", "code", "word"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")]
)
def test_a_signal_amid_the_first_imports_is_one_line(moment, signal, code, word):
    script = f"{DEFAULT}{INTERRUPTED.format(module=moment, signal=signal)}{RUN}sys.exit(code)"
    done = program(script, "risk", "--epsilon", "1")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"tellapart: {word}\n")


def test_a_caller_in_python_is_not_ended(monkeypatch):
    """Its process is not ours: what is raised there is told by a code, as ever."""
    script = f"{DEFAULT}{INTERRUPTED.format(module='tellapart.cli.risk', signal='SIGINT')}"
    call = "from tellapart.cli import main; print(main(['risk', '--epsilon', '1']))"
    done = program(script + call)
    assert (done.returncode, done.stdout, done.stderr) == (0, "130\n", "tellapart: interrupted\n")


def test_a_signal_that_was_ignored_stays_so():
    """As of a script's job in the background."""
    script = f"{DEFAULT}{INTERRUPTED.format(module='tellapart.cli.risk', signal='SIGINT')}"
    ignored = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    done = program(f"{script}{ignored}{RUN}sys.exit(code)", "risk", "--epsilon", "1")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [["--version"], ["risk", "--time-limit", "soon"]])
def test_garbage_is_collected_once_a_command_is_loaded(words):
    done = program(f"{DEFAULT}import gc; {RUN}print(gc.isenabled())", *words)
    assert done.stdout.endswith("True\n")
