"""Exit codes: 0 and 1 are answers, and no fault, in us or in what is probed, looks like one."""

from __future__ import annotations

import copyreg
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from cyclopts import CycloptsError

import tellapart as ta
from tellapart import audit, choose, decision, reproduce, web
from tellapart.cli import (
    app,
    compare,
    frameworks,
    main,
    noise,
    region,
    report,
    risk,
)
from tellapart.cli import (
    choose as choosing,
)
from tellapart.cli import (
    convert as converting,
)
from tellapart.cli import (
    plan as planning,
)
from tellapart.cli.audit import command as auditing
from tellapart.cli.process import child_process, exits

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
INPUTS = ["--d0", "[3, 1]", "--d1", "[3, 1, 4]", "--epsilon", "1"]
CHAIN, SCORES = str(EXAMPLES / "chain.toml"), str(EXAMPLES / "scores.csv")
PROBE = ["probe", f"{EXAMPLES / 'release.py'}:noisy_count", *INPUTS]
TRAINING = ["check-training", f"{EXAMPLES / 'train.py'}:poisson", "--epochs", "1"]
# Each command, and where a fault in the library would strike it.
COMMANDS = {
    "risk": (["risk", "--epsilon", "1"], risk, "asked"),
    "choose": (["choose", "laplace", "--max-auc", "0.6"], choosing, "asked_family"),
    "decide": (["decide", str(EXAMPLES / "decisions" / "census.toml")], decision, "read"),
    "convert": (["convert", "zcdp:0.1"], converting, "converted"),
    "compare": (["compare", "laplace:epsilon=1", "laplace:epsilon=2"], compare, "parse"),
    "region": (["region", "--epsilon", "1"], region, "PrivacyRegion"),
    "budget": (["budget", "open", "team.jsonl", "--gaussian", "1"], ta, "Budget"),
    "plan": (["plan", "--epsilon", "1", "--seconds", "1"], planning, "asked"),
    "audit": (["audit", SCORES, "--design", "many-runs"], auditing, "many_runs"),
    "probe": (PROBE, audit, "probe"),
    "check-training": (TRAINING, child_process, "load_function"),
    "report": (["report", "laplace", "--json", "--epsilon", "1"], report, "asked"),
    "frameworks": (["frameworks", CHAIN], frameworks, "compare_frameworks"),
    "noise": (["noise", CHAIN, "--epsilon", "1"], noise, "noise_table"),
    "explore": (["explore", "--no-browser"], web, "serve"),
    "serve": (["serve"], web, "serve"),
    "reproduce": (["reproduce", "folder"], reproduce, "run"),
}
FAULTS = [
    (choose.Infeasible("why"), 1),
    (ta.BudgetSpent("why", {}), 1),
    (ta.InvalidArgument("why"), 2),
    (ta.BadLedger("why"), 2),
    (ta.BadScores("why"), 2),
    (CycloptsError("why"), 2),
    (OSError(28, "No space left on device", "file"), 2),
    (BrokenPipeError(32, "Broken pipe"), 2),
    (ta.Unsupported("why"), 3),
    (ta.NotCertified("why"), 3),
    (ta.LimitReached("why"), 3),
    (ta.TrainingStopped("why"), 3),
    (MemoryError(), 3),
    (zipfile.BadZipFile("why"), 70),
    (RecursionError("why"), 70),
    (ValueError("why"), 70),
    (SystemExit(0), 70),
    (KeyboardInterrupt(), 130),
    (exits.Terminated(), 143),
]
# In the process of the user's code these can only be that code's own doing.
FROM_USERS_CODE = {CycloptsError: 70, SystemExit: 3, KeyboardInterrupt: 3, exits.Terminated: 3}


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*tokens):
        code = main(tokens)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_every_command_is_tried():
    assert set(COMMANDS) == set(app.COMMANDS)


@pytest.mark.parametrize(("fault", "code"), FAULTS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_fault_in_every_command_has_its_code_and_one_line(
    run, monkeypatch, command, fault, code
):
    def faulty(*_, **__):
        raise fault

    words, module, name = COMMANDS[command]
    monkeypatch.setattr(module, name, faulty)
    if command in ("probe", "check-training"):
        code = FROM_USERS_CODE.get(type(fault), code)
    ended, out, err = run(*words)
    assert (ended, out) == (code, "")
    assert err.startswith("tellapart: ")
    assert err.count("\n") == 1


def test_a_bug_says_so_and_how_to_report_it(run, monkeypatch):
    monkeypatch.setattr(risk, "asked", lambda *_, **__: 1 / 0)
    code, _, err = run("risk", "--epsilon", "1")
    assert (code, err) == (
        70,
        "tellapart: this is a bug in tellapart, not in what was typed; please open an issue that "
        "holds the command and what it prints with --debug (ZeroDivisionError: division by zero)\n",
    )
    code, _, err = run("risk", "--epsilon", "1", "--debug")
    assert code == 70
    assert err.startswith("Traceback")
    assert "1 / 0" in err


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_says_the_codes(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "100")
    code, out, _ = run(*command.split(), "--help")
    assert code == 0
    assert exits.HELP in " ".join(out.split())


def test_answers_are_zero_and_one(run):
    assert run("choose", "laplace", "--max-f-score", "0.76")[0] == 0
    assert run("choose", "laplace", "--max-f-score", "0.6")[0] == 1
    assert run("audit", SCORES, "--design", "many-runs", "--epsilon", "1")[0] == 1
    assert run("audit", SCORES, "--design", "many-runs", "--epsilon", "4")[0] == 0


def test_a_description_is_no_verdict(run):
    for design in ("many-runs", "one-model"):
        code, out, err = run("audit", SCORES, "--design", design)
        assert (code, err) == (3, "")
        assert "REFUTED" not in out


# -- what probed code does to its process --------------------------------------------------------

DEADLY = {
    "leaves": "os._exit(0)",
    "asks to leave": "sys.exit(0)",
    "asks to leave as if refuted": "sys.exit(1)",
    "leaves as if refuted": "os._exit(1)",
    "is killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "crashes": "ctypes.string_at(0)",
    "aborts": "os.abort()",
    "leaves from a thread": "threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(9)",
    "closes everything": "os.closerange(0, 256)",
    "interrupts itself": "raise KeyboardInterrupt",
    "raises what is no Exception": "raise Odd",
    "kills its group": "os.killpg(0, signal.SIGTERM)",
    "leaves with a fork that stays": "os.fork() and os._exit(0); time.sleep(9)",
}
PRELUDE = """
import ctypes, os, signal, sys, threading, time
class Odd(BaseException): pass
"""


@pytest.mark.parametrize("where", ["import", "call"])
@pytest.mark.parametrize("deed", DEADLY)
def test_code_that_ends_its_process_is_not_judged(run, tmp_path, deed, where):
    end = "def f(data):\n    return 1\n"
    body = DEADLY[deed] if where == "import" else f"def f(data):\n    {DEADLY[deed]}"
    (tmp_path / "odd.py").write_text(f"{PRELUDE}{end}{body}\n")
    code, out, err = run("probe", "odd.py:f", *INPUTS, "--samples", "20")
    assert (code, out) == (3, "")
    assert err.startswith("tellapart: no verdict: ")
    assert err.count("\n") == 1
    if "code ended its own process" in err:
        assert f"{where}ed" in err


def test_a_closed_result_is_not_mistaken_for_one(run, tmp_path):
    """What it writes to every pipe it finds is not an answer."""
    deed = "[os.write(k, b'x' * 64) for k in range(3, 64) if os.path.exists(f'/proc/self/fd/{k}')]"
    body = f"import os\ndef f(data):\n    try: {deed}\n    except OSError: pass\n    os._exit(0)\n"
    (tmp_path / "odd.py").write_text(body)
    code, out, _ = run("probe", "odd.py:f", *INPUTS, "--samples", "20")
    assert (code, out) == (3, "")


def noisy_after(deed):
    """A right count that does something else first."""
    return f"{PRELUDE}def f(data, rng):\n    {deed}\n    return len(data) + rng.laplace()\n"


@pytest.mark.parametrize(
    "deed", ["os.write(1, b'garbage')", "print('NOT REFUTED')", "sys.stdout = None"]
)
def test_what_code_prints_changes_nothing(run, tmp_path, deed):
    (tmp_path / "odd.py").write_text(noisy_after(deed))
    code, out, err = run("probe", "odd.py:f", *INPUTS, "--samples", "60")
    assert (code, err) == (0, "")
    assert out.startswith("NOT REFUTED")
    assert out.count("REFUTED") == 1


@pytest.mark.parametrize("deed", ["return f(data)", "raise MemoryError"])
def test_code_that_only_raises_is_called_wrongly(run, tmp_path, deed):
    (tmp_path / "odd.py").write_text(f"import sys\ndef f(data):\n    {deed}\n")
    code, out, err = run("probe", "odd.py:f", *INPUTS, "--samples", "20")
    assert (code, out) == (2, "")
    assert "the function raised on every call" in err


def test_in_python_code_is_called_in_ones_own_process():
    calls = []

    def noisy(data, rng, size=None):
        calls.append(os.getpid())
        return len(data) + rng.laplace(size=size)

    audit.probe(noisy, [1], [1, 2], claim=ta.guarantee(1), samples=20)
    assert set(calls) == {os.getpid()}


# -- signals, and what cannot be written ---------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is copied there")
def test_copies_that_code_makes_of_its_process_change_nothing(tmp_path):
    """In a process of its own: of one that has run other tests each copy takes long."""
    (tmp_path / "odd.py").write_text(noisy_after("os.fork()"))
    process = started("probe", "odd.py:f", *INPUTS, "--samples", "60", cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.startswith("NOT REFUTED")
    assert out.count("REFUTED") == 1


# As at a terminal, also where the tests themselves ignore Ctrl-C.
PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from tellapart.cli import main; sys.exit(main())"
)


def started(*tokens, **options):
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", PROGRAM, *tokens],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        **options,
    )


@pytest.mark.skipif(os.name != "posix", reason="signals are asked for there")
@pytest.mark.parametrize(
    ("number", "code", "word"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")]
)
def test_a_command_that_is_ended_says_so_and_leaves_nobody_behind(tmp_path, number, code, word):
    body = "import os, time\ndef f(data):\n    open('began', 'a').write(f'{os.getpid()}\\n')\n"
    (tmp_path / "slow.py").write_text(f"{body}    time.sleep(600)\n")
    more = ["--timeout", "500"]  # so that calls have processes of their own beneath it
    with started("probe", "slow.py:f", *INPUTS, *more, cwd=tmp_path) as process:
        while not (tmp_path / "began").exists() or not (tmp_path / "began").read_text():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        process.send_signal(getattr(signal, number))
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert err == f"tellapart: {word}\n"
    for line in (tmp_path / "began").read_text().split():
        assert gone(int(line))


def gone(pid):
    """Whether a process ends within a few seconds."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
def test_an_answer_that_cannot_be_written_is_no_answer():
    program = [sys.executable, "-m", "tellapart", "risk", "--epsilon", "1"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(  # noqa: S603
            program, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert done.returncode == 2
    assert done.stderr == b"tellapart: No space left on device: standard output\n"


def test_errors_come_back_however_other_libraries_would_pickle_them(monkeypatch, capsys):
    """As `distributed` does, for one: the parent would not have read what it does not know."""
    monkeypatch.setitem(copyreg.dispatch_table, ta.InvalidArgument, lambda error: (print, ()))
    words = ["probe", "no.such:coin", "--d0", "1", "--d1", "2", "--epsilon", "1"]
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("tellapart: function must be in a module that can")
