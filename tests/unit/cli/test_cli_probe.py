"""The probe command as someone types it: functions, programs, refusals, reports."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time

import pytest

import tellapart as ta
from tellapart import audit
from tellapart.cli import terminal

RELEASE = """
import random, sys, time
print("loading, for people who watch")
LIMIT = 3

class Kept:
    def release(self, data, rng):
        return data["count"] + rng.laplace()

kept = Kept()

def noisy_count(data, rng, size=None):
    return len(data) + rng.laplace(0, 0.5, size)

def correct_count(data, rng, size=None):
    return len(data) + rng.laplace(0, 1, size)

def noisy_mean(data, rng, size=None):
    return sum(data) / len(data) + rng.normal(0, 0.1, size)

def prints(data):
    print(len(data))

def coin(data):
    return random.random() < 0.1 + 0.3 * len(data)

def shared(data, noise={}):
    place = noise.setdefault(len(data), [0])
    place[0] += 1
    return len(data) + random.Random(place[0]).random()

def chatty(data, rng):
    print("not an answer")
    return len(data) + rng.laplace()

def hangs(data):
    if data and random.random() < 0.3:
        time.sleep(60)
    return 1

def always(data):
    time.sleep(60)
"""
PROGRAM = """
import json, random, sys
for line in sys.stdin:
    call = json.loads(line)
    draw = random.Random(call["seed"])
    print(len(call["data"]) + draw.expovariate(2) - draw.expovariate(2))
"""
INPUTS = "--d0 '[3, 1]' --d1 '[3, 1, 4]'"
D0, D1 = [3, 1], [3, 1, 4]
PYTHON = f"{shlex.quote(sys.executable)} -S -E"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with functions, by module and by file, and with a program."""
    (tmp_path / "mycode").mkdir()
    for name in ("mycode/release.py", "release.py"):
        (tmp_path / name).write_text(RELEASE)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "without.json").write_text(json.dumps(D0))
    (tmp_path / "with.json").write_text(json.dumps(D1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("COLUMNS", "80")
    yield tmp_path
    for name in [one for one in sys.modules if one.partition(".")[0] == "mycode"]:
        del sys.modules[name]


def noisy_count(data, rng, size=None):
    return len(data) + rng.laplace(0, 0.5, size)


PROBE = f"probe mycode.release:noisy_count {INPUTS} --samples 5000"


# -- verdicts and exit codes ---------------------------------------------------------------------


def test_a_refuted_claim_is_said_first_and_is_exit_code_one(run):
    code, out, err = run(f"{PROBE} --epsilon 1")
    assert (code, err) == (1, "")
    assert out.startswith(
        "REFUTED: the claim ε = 1, δ = 0, at 95 % confidence\n  Lower bound: ε ≥ "
    )
    parts = [
        "Lower bound: ε ≥",
        "p-value: p ≤",
        "Where:",
        "Power:",
        "Multiple-testing budget (α = 5 %)",
        "Assumptions:",
    ]
    assert [out.index(one) for one in parts] == sorted(out.index(one) for one in parts)
    assert "Experimental design: calls, 5,000 calls on each input.\n" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_claim_that_stands_is_exit_code_zero_and_not_called_private(run):
    code, out, err = run(f"probe release.py:correct_count {INPUTS} --epsilon 1 --samples 5000")
    assert (code, err) == (0, "")
    assert out.startswith("NOT REFUTED: the claim ε = 1, δ = 0, at 95 % confidence\n")
    assert "Strongest event: output " in out
    assert "Not refuted does not mean that the claim is true." in out


@pytest.mark.parametrize("more", ["", "--seed 4", "--until-decided", "--confidence 0.99"])
def test_json_is_what_the_library_says(parsed, more):
    found = parsed(f"{PROBE} --epsilon 1 {more}", code=1)
    options = {"samples": 5000}
    if "seed" in more:
        options["seed"] = 4
    if "until" in more:
        options["until_decided"] = True
    if "confidence" in more:
        options["confidence"] = 0.99
    verdict = audit.probe(noisy_count, D0, D1, claim=ta.guarantee(1), **options)
    assert found["refuted"] is True
    assert found["headline"] == verdict.headline
    assert found["reasons"] == verdict.reasons()
    assert found["finding"]["where"] == verdict.finding.where
    assert found["shown"][0]["value"] == verdict.epsilon_lower().value
    assert found["calls"] == verdict.evidence.calls
    assert found["confidence"] == verdict.confidence
    assert found["design"] == "calls"
    assert found["made"]["seed"] == options.get("seed", 0)
    assert found["made"]["command"] == shlex.join(
        ["tellapart", *shlex.split(f"{PROBE} --epsilon 1 {more} --json")]
    )


@pytest.mark.parametrize(
    ("options", "claim"),
    [
        ("--epsilon 1 --delta 1e-5", "ε = 1, δ = 1e-5"),
        ("--mu 0.5", "of Gaussian DP with μ = 0.5"),
        ("--mechanism laplace --scale 1", "laplace:scale=1"),
        ("--zcdp 0.1", "any:zcdp=0.1"),
    ],
)
def test_a_claim_is_named_as_in_an_audit(parsed, options, claim):
    found = parsed(f"{PROBE} {options}", code=1)
    assert found["headline"] == f"REFUTED: the claim {claim}, at 95 % confidence"


def test_samples_may_be_written_shortly(parsed):
    short = PROBE.replace("5000", "6e3")
    assert parsed(f"{short} --epsilon 1", code=1)["calls"] == 6000


# -- what is probed, and on what -----------------------------------------------------------------


def test_a_function_is_found_by_module_file_and_attribute(parsed):
    by_module = parsed(f"{PROBE} --epsilon 1", code=1)
    by_file = parsed(f"{PROBE} --epsilon 1".replace("mycode.release", "mycode/release.py"), code=1)
    assert by_file["shown"] == by_module["shown"]
    method = "probe release.py:kept.release --until-decided --epsilon 5"
    assert parsed(f"""{method} --d0 '{{"count": 1}}' --d1 '{{"count": 2}}'""")["refuted"] is False


def test_files_named_alike_are_not_confused(run, folder):
    (folder / "other").mkdir()
    (folder / "other" / "release.py").write_text("def noisy_count(data): return len(data)")
    first = run(f"probe release.py:correct_count {INPUTS} --epsilon 1 --until-decided")
    second = run(f"probe other/release.py:noisy_count {INPUTS} --epsilon 1 --until-decided")
    assert (first[0], second[0]) == (0, 1)


def test_nothing_of_the_folder_stays(run, folder):
    before, known = list(sys.path), set(sys.modules)
    run(f"probe release.py:correct_count {INPUTS} --epsilon 1 --until-decided")
    assert sys.path == before
    assert "release" not in set(sys.modules) - known


def test_inputs_may_be_files_and_are_recorded(parsed, folder):
    typed = parsed(f"{PROBE} --epsilon 1", code=1)
    read = parsed(
        "probe mycode.release:noisy_count --samples 5000 --d0 @without.json --d1 @with.json "
        "--epsilon 1",
        code=1,
    )
    assert read["shown"] == typed["shown"]
    assert read["made"]["inputs"] == [
        {"file": "without.json", "bytes": (folder / "without.json").stat().st_size},
        {"file": "with.json", "bytes": (folder / "with.json").stat().st_size},
    ]


def test_what_a_function_prints_is_not_mixed_with_the_answer(parsed):
    assert parsed(f"probe release.py:chatty {INPUTS} --epsilon 9 --until-decided")["calls"] < 2000


def test_calls_that_hang_are_cut_and_are_outputs(parsed):
    begin = time.monotonic()
    command = "probe release.py:hangs --d0 0 --d1 1 --epsilon 9 --samples 40"
    data = parsed(f"{command} --timeout 0.2 --until-decided", code=3)  # so few refute nothing
    assert time.monotonic() - begin < 60
    assert (data["refuted"], data["calls"]) == (None, 40)


# -- programs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", ["", "--timeout 20"])
def test_a_program_is_probed(parsed, timeout):
    command = f"probe --command '{PYTHON} -u program.py' {INPUTS} --samples 5000 {timeout}"
    found = parsed(f"{command} --epsilon 1", code=1)
    program = audit.Program(f"{PYTHON} program.py")
    verdict = audit.probe(program, D0, D1, claim=ta.guarantee(1), samples=5000)
    assert found["shown"][0]["value"] == verdict.epsilon_lower().value > 1


def test_a_program_stops_when_decided(parsed):
    command = f"probe --command '{PYTHON} program.py' {INPUTS} --until-decided"
    assert parsed(f"{command} --epsilon 1", code=1)["calls"] < 2000
    assert parsed(f"{command} --epsilon 9")["calls"] < 2000


# -- what is wrong -------------------------------------------------------------------------------

ANY = f"{INPUTS} --epsilon 1"
ONE = "one function or program must be given: path/to/file.py:function, package.module:function, "
CLAIM = "a claim must be given, such as --epsilon 1"
UNJUDGED = ("calls are not independent", "until_decided tests", "no verdict")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"probe {ANY}", ONE),
        (f"probe release.py:coin --command true {ANY}", ONE),
        (f"probe release {ANY}", "function must be named as package.module:function or path/to/"),
        (f"probe :coin {ANY}", "function must be named as package.module:function"),
        (f"probe no.such:coin {ANY}", "function must be in a module that can be found, got 'no.s"),
        (f"probe mycode.no:coin {ANY}", "function must be in a module that can be found, got 'my"),
        (f"probe no.py:coin {ANY}", "function must be in a file that is there, got 'no.py'"),
        (
            f"probe json.py:coin {ANY}",
            "function must be in a file not named as a module, as json is, got 'json.py'",
        ),
        (
            f"probe release.py:noisy_cuont {ANY}",
            "function must be in release, which has Kept, noisy_count, correct_count, ",
        ),
        (f"probe release.py:LIMIT {ANY}", "function must be callable; release:LIMIT is not, got 3"),
        (
            f"probe broken.py:f {ANY}",
            "function must be in a module that can be imported; broken raised ZeroDivisionError: "
            "division by zero (--debug shows where)",
        ),
        (
            f"probe needs.py:f {ANY}",
            "function must be in a module that can be imported; needs raised ModuleNotFoundError: "
            "No module named 'no_such_library'",
        ),
        (
            f"probe leaves.py:f {ANY}",
            "no verdict: when it was imported, the code ended its own process (SystemExit: 3",
        ),
        ("probe", "one function or program must be given: path/to/file.py:function, "),
        ("probe release.py:coin", "--d0 and --d1 must be given: two neighbouring inputs as JSON"),
        ("probe release.py:coin --epsilon 1", "--d0 and --d1 must be given: two neighbouring inp"),
        (f"probe release.py:coin {INPUTS}", CLAIM),
        (
            "probe release.py:coin --d0 '[1' --d1 2 --epsilon 1",
            "--d0 must be JSON, such as '[3, 1]', '\"text\"' or @file.json, got [1 (Expecting ",
        ),
        ("probe release.py:coin --d0 1 --d1 Anna --epsilon 1", "--d1 must be JSON, such as "),
        (
            """probe release.py:coin --d0 '{"a":1,"a":2}' --d1 1 --epsilon 1""",
            """--d0 must be JSON, such as '[3, 1]', '"text"' or @file.json, got {"a":1,"a":2} """
            "(the key 'a' occurs twice)",
        ),
        ("probe release.py:coin --d0 @no.json --d1 1 --epsilon 1", "No such file or directory: no"),
        (
            "probe release.py:coin --d0 @release.py --d1 1 --epsilon 1",
            "--d0 must be JSON, such as '[3, 1]', '\"text\"' or @file.json, got @release.py (Exp",
        ),
        ("probe release.py:coin --d0 [1] --d1 '[ 1 ]' --epsilon 1", "--d1 must differ from --d0"),
        (f"probe release.py:coin {ANY} --samples 3", "--samples must be at least 20, got 3\n"),
        (
            f"probe release.py:coin {ANY} --samples 99.5",
            "--samples must be a whole number, got",
        ),
        (f"probe release.py:coin {ANY} --timeout 0", "--timeout must be finite and greater than 0"),
        (
            f"probe release.py:coin {ANY} --confidence 1",
            "--confidence must lie strictly between",
        ),
        (
            f"probe release.py:coin {INPUTS} --mu 1 --until-decided",
            "until_decided tests claims of (ε, δ) alone; leave it out",
        ),
        (
            f"probe release.py:coin {ANY} --until-decided --plot x.svg",
            "--plot must be left out with --until-decided, which shows no curve, got 'x.svg'",
        ),
        (f"probe release.py:coin {ANY} --report x.pdf", "--report must end in .html, got 'x.pdf'"),
        (f"probe release.py:coin {ANY} --report no/x.html", "No such file or directory: no/x.html"),
        (
            f"probe release.py:coin {ANY} --samples 50 --report x.html --plot x.txt",
            "--plot must end in .svg, .png or .pdf",
        ),
        (
            "probe release.py:noisy_count --d0 1 --d1 2 --epsilon 1 --report x.html",
            "the function raised on every call: TypeError: object of type 'int' has no len()",
        ),
        (
            f"probe release.py:prints {ANY} --samples 500 --report x.html",
            "no verdict: every call returned None: does the function print instead of return?\n",
        ),
        (
            f"probe release.py:shared {ANY} --samples 5000 --report x.html",
            "no verdict: calls are not independent; ",
        ),
        (
            f"probe release.py:always {ANY} --timeout 0.1 --report x.html",
            "the function must return in time: none of 3 trial calls on each input did",
        ),
        (
            f"probe --command no-such-program {ANY}",
            "--command must name a program that can be start",
        ),
        (f"probe --command '' {ANY}", "--command must name a program, got ''"),
        (
            f"probe --command 'echo Loading' {ANY} --report x.html",
            "command echo Loading must answer every line with one line of JSON, got 'Loading' ",
        ),
        (
            f"probe --command 'sh -c \"echo bad news >&2; exit 3\"' {ANY}",
            'command sh -c "echo bad news >&2; exit 3" must answer 256 lines, got 0 and then '
            "exit code 3; its standard error ends: bad news",
        ),
        (
            f"probe --command 'sleep 4245' {ANY} --timeout 0.1",
            "the function must return in time: none of 3 trial calls on each input did (a program "
            "must flush its output after every answer",
        ),
    ],
)
def test_a_refusal_is_one_line_and_no_file(run, folder, command, message):
    """Bad use is exit code 2; what cannot be judged is 3."""
    (folder / "broken.py").write_text("1 / 0")
    (folder / "needs.py").write_text("import no_such_library")
    (folder / "leaves.py").write_text("import sys; sys.exit(3)")
    (folder / "json.py").write_text("def coin(data): return 1")
    before = set(folder.iterdir())
    code, out, err = run(command)
    assert (code, out) == (3 if message.startswith(UNJUDGED) else 2, "")
    assert err.startswith(f"tellapart: {message}"), err
    assert err.count("\n") == 1
    assert set(folder.iterdir()) - {folder / "__pycache__"} == before  # Python's own, of a module


def test_debug_shows_where_a_module_broke(run, folder):
    (folder / "broken_here.py").write_text("1 / 0")
    code, out, err = run(f"probe broken_here.py:f {ANY} --debug")
    assert (code, out) == (2, "")
    assert err.startswith("tellapart.cli.process.child_process._Traceback: ")
    assert 'broken_here.py", line 1' in err
    assert err.splitlines()[-1].startswith("tellapart: function must be in a module that can be im")


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", ["", "--until-decided"])
def test_a_report_is_written_and_named(run, folder, until):
    code, out, err = run(f"{PROBE} --epsilon 1 --report out.html {until}")
    assert (code, err) == (1, "")
    assert "Report: out.html and out.json" in out
    data = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert data["headline"] in page
    assert f"{data['calls']:,} calls on each input" in page
    assert ("evidence" in data["curves"]) == (not until)
    assert not [one for one in folder.iterdir() if one.name.startswith(".")]


def test_a_picture_is_drawn(run, folder):
    code, out, _ = run(f"{PROBE} --epsilon 1 --plot out.svg")
    assert code == 1
    assert "Picture: out.svg" in out
    assert "TPR: outputs on d1 recognised" in (folder / "out.svg").read_text(encoding="utf-8")


def test_an_old_report_survives_one_that_fails(run, folder, monkeypatch):
    run(f"{PROBE} --epsilon 1 --report out.html")
    before = {one: one.read_bytes() for one in folder.iterdir() if one.is_file()}

    def full(*_):
        raise OSError(28, "No space left on device", "out.html")

    monkeypatch.setattr(os, "replace", full)
    code, out, err = run(f"{PROBE} --epsilon 2 --report out.html")
    assert (code, err) == (2, "tellapart: No space left on device: out.html\n")
    assert out.startswith("NOT REFUTED: ")
    assert {one: one.read_bytes() for one in folder.iterdir() if one.is_file()} == before


# -- the terminal --------------------------------------------------------------------------------


def test_progress_is_told(run, monkeypatch):
    told = []

    class Working:
        def __init__(self, what):
            self.what = what

        def __enter__(self):
            return lambda doing, share: told.append((self.what, doing, share))

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(terminal, "working", Working)
    run(f"{PROBE} --epsilon 1".replace("5000", "9000"))
    shares = [share for what, doing, share in told if (what, doing) == ("calling", "calling")]
    # A block of 8,192 calls on each input, then what is left on each, then the end.
    assert shares == [0, 8192 / 18_000, 16_384 / 18_000, (16_384 + 808) / 18_000, 1]
    told.clear()
    run(f"{PROBE} --epsilon 1 --until-decided")
    shares = [share for *_, share in told]
    assert shares[0] == 32 / 5000
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_a_closed_pipe_does_not_hide_a_refutation(folder):
    program = [sys.executable, "-m", "tellapart", *shlex.split(PROBE), "--epsilon", "1"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


def test_the_help_has_examples_that_work(run, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (folder / "release").write_text(
        f"#!{sys.executable} -S\n" + PROGRAM.replace('len(call["data"])', 'call["data"]')
    )
    (folder / "release").chmod(0o755)
    _, out, _ = run("probe --help")
    examples = re.findall(r"^ +tellapart (probe [^\n]*?) *$", re.sub(r"\\ *\n *", "", out), re.M)
    assert len(examples) == 3
    assert [run(one)[::2] for one in examples] == [(1, ""), (1, ""), (1, "")]
