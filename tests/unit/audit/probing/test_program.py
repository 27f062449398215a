"""Any program as a mechanism: lines of JSON in and out, and no process left behind."""

from __future__ import annotations

import math
import os
import pickle
import shlex
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit import Program
from tellapart.audit.probing.calling.caller import REPEATS, Size, detect_convention
from tellapart.audit.probing.calling.calls import draw
from tellapart.audit.probing.calling.outputs import HANGS, Broken
from tellapart.errors import BadProgram, InvalidArgument, Unsupported

# -S -E: a fraction of the time to start, and nothing of the environment.
PYTHON = [sys.executable, "-S", "-E"]
START = "import json, os, random, signal, sys, time\n"
LOOP = "for line in sys.stdin:\n    call = json.loads(line)\n    "
NOISY = LOOP + "print(len(call['data']) + random.Random(call['seed']).random())"


def program(code, timeout=None, flush=True):
    return Program([*PYTHON, *(["-u"] if flush else []), "-c", START + code], timeout)


def answering(expression, **options):
    return program(LOOP + f"print({expression})", **options)


def rng(seed=0):
    return np.random.default_rng(seed)


def alive(marker):
    """Whether a process with this text in its command is there."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)  # noqa: S607
    return any(marker in line for line in listed.stdout.splitlines())


# -- calls ---------------------------------------------------------------------------------------


def test_a_call_reads_its_data_and_a_seed():
    (one,) = answering("json.dumps(call)")([3, {"a": None}], rng(), 1)
    assert one == {"data": [3, {"a": None}], "seed": int(rng().integers(2**31, size=1)[0])}


@pytest.mark.parametrize("timeout", [None, 20])
def test_a_batch_is_the_naive_loop(timeout):
    import random

    count = 300
    found = program(NOISY, timeout)([1, 2], rng(3), count)
    seeds = rng(3).integers(2**31, size=count).tolist()
    assert found == [2 + random.Random(seed).random() for seed in seeds]  # noqa: S311


def test_seeds_are_new_for_every_call_and_fit_every_language():
    seeds = answering("call['seed']")(0, rng(), 2000)
    assert len(set(seeds)) > 1990
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert max(seeds) > 2**30


def test_by_hand_it_gives_one_output_and_other_noise_each_time():
    made = program(NOISY)
    one, two = made([1]), made([1])
    assert 1 <= one < 2
    assert one != two


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("3", 3),
        ("-1.5e3", -1500.0),
        ("Infinity", math.inf),
        ('"text"', "text"),
        ("null", None),
        ("true", True),
        ("[1, [2]]", [1, [2]]),
        ('{"a": 1}', {"a": 1}),
        ('{"error": "x", "code": 2}', {"error": "x", "code": 2}),
        ('{"error": "too few"}', Broken("fails: too few")),
        ("10" * 200, int("10" * 200)),
    ],
)
def test_any_json_is_an_output(printed, expected):
    (found,) = answering(repr(printed))(0, rng(), 1)
    assert found == expected
    assert type(found) is type(expected)


def test_nan_is_an_output_and_empty_lines_are_none():
    found = answering("'\\nNaN\\n'")(0, rng(), 3)
    assert len(found) == 3
    assert all(math.isnan(one) for one in found)


def test_arrays_are_written_as_lists():
    (found,) = answering("json.dumps(call['data'])")([np.arange(3), np.float64(0.5)], rng(), 1)
    assert found == [[0, 1, 2], 0.5]


def test_a_command_is_divided_as_a_shell_would_and_run_by_none():
    assert Program("echo 'a b' $HOME").words == ("echo", "a b", "$HOME")
    (found,) = Program("printf '\"%s\"' $HOME")(0, rng(), 1)
    assert found == "$HOME"


@pytest.mark.parametrize("timeout", [None, 30])
def test_large_lines_in_and_out_hold_nothing_up(timeout):
    """Both pipes are full at once: answers are longer than a pipe, and so are calls."""
    text = "x" * 300_000
    found = answering("json.dumps(call['data'])", timeout=timeout)(text, rng(), 20)
    assert found == [text] * 20


def test_a_program_that_answers_only_at_the_end_need_not_flush():
    code = "lines = list(sys.stdin)\nprint('\\n'.join('7' for _ in lines))"
    assert program(code, flush=False)(0, rng(), 500) == [7] * 500


def test_what_it_tells_people_does_not_hold_it_up():
    code = LOOP + "print('word ' * 100_000, file=sys.stderr); print(1)"
    assert program(code)(0, rng(), 20) == [1] * 20


def test_it_travels_and_gives_the_same_wherever_it_is_run():
    made = program(NOISY)
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301
    caller = detect_convention(made, [1], [1, 2])
    assert caller.size is Size.MANY
    expected = draw(caller, [1], 9000, 5).values
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert np.array_equal(draw(caller, [1], 9000, 5).values, expected)


# -- what goes wrong -----------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("timeout", [None, 20])


def refusal(made, count=7, data=0):
    with pytest.raises(BadProgram) as caught:
        made(data, rng(), count)
    assert isinstance(caught.value, InvalidArgument)
    return str(caught.value).removeprefix(f"command {shlex.join(made.command)} must ")


@BOTH
def test_what_is_no_json_is_shown(timeout):
    assert refusal(program("print('Loading ...')\n" + NOISY, timeout), data=[1]) == (
        "answer every line with one line of JSON, got 'Loading ...' (what is for people belongs "
        "on standard error)"
    )
    assert "got '" + "x" * 77 + "...'" in refusal(answering("'x' * 1000", timeout=timeout))


def test_too_many_bytes_without_an_end_are_not_kept(monkeypatch):
    monkeypatch.setattr("tellapart.audit.probing.calling.program.LONGEST", 1000)
    assert "with one line of JSON, got '[[[[" in refusal(answering("'[' * 5000"))


@BOTH
def test_too_many_lines_are_told_of(timeout):
    said = refusal(answering("'1\\n2'", timeout=timeout))
    assert said.startswith("answer every line with one line alone, got one more: '")


@BOTH
def test_one_that_ends_too_early_is_told_to_read_on(timeout):
    code = "for _ in range(3):\n    sys.stdin.readline()\n    print(1)"
    assert refusal(program(code, timeout)) == (
        "answer 7 lines, got 3 and then exit code 0 (it must read on until its input ends)"
    )


@BOTH
def test_one_that_closes_its_output_is_told_of(timeout):
    said = refusal(program("print(1)\nos.close(1)\ntime.sleep(50)", timeout))
    assert "then the end of its output (it must read on" in said or "one more: '1'" in said


def test_one_that_dies_is_told_of_with_its_last_words():
    assert refusal(program(LOOP + "print(1); raise ValueError('no such column')")).endswith(
        "ValueError: no such column"
    )
    said = refusal(program("print('out of luck', file=sys.stderr); sys.exit(3)"))
    assert (
        said == "answer 7 lines, got 0 and then exit code 3; its standard error ends: out of luck"
    )
    assert refusal(program("os.kill(os.getpid(), signal.SIGSEGV)")) == (
        "answer 7 lines, got 0 and then signal 11"
    )


def test_one_that_cannot_be_started_is_told_of(tmp_path):
    for command, why in (
        (["no-such-program"], "No such file or directory"),
        ([str(tmp_path)], "Permission denied"),
    ):
        with pytest.raises(BadProgram) as caught:
            Program(command)(0)
        assert str(caught.value) == (
            f"command must name a program that can be started, got {command[0]} ({why})"
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("",), "command must name a program, got ''"),
        (([],), "command must name a program, got []"),
        ((3,), "command must be a text or a list of words, got 3"),
        ((["x", 3],), "command must be a text or a list of words, got ['x', 3]"),
        (("it's",), 'command must be words as in a shell, got "it\'s" (No closing quotation)'),
        (("x", 0), "timeout must be finite and greater than 0, got 0"),
    ],
)
def test_bad_commands_are_refused_at_once(arguments, message):
    with pytest.raises(InvalidArgument) as caught:
        Program(*arguments)
    assert str(caught.value) == message


def test_data_that_json_cannot_hold_are_told_of():
    with pytest.raises(BadProgram, match=r"^data must be something that JSON can hold, .*set"):
        Program("cat")({1, 2})


def test_what_goes_wrong_is_no_output():
    """A mechanism's own exceptions are outputs; that a program cannot be asked is not."""
    with pytest.raises(BadProgram, match="got 'Loading'"):
        detect_convention(program("print('Loading')\n" + NOISY), [1], [2])
    late = "for k, line in enumerate(sys.stdin):\n    print(random.random() if k < 500 else 'oops')"
    with pytest.raises(BadProgram, match="got 'oops'"):
        audit.probe(program(late), 0, 1, claim=ta.guarantee(1), samples=600)


# -- calls that are cut off ----------------------------------------------------------------------


def test_calls_that_hang_or_die_are_outputs_and_another_process_goes_on():
    code = (
        "for place, line in enumerate(sys.stdin):\n"
        "    kind = json.loads(line)['seed'] % 10\n"
        "    if kind == 0: time.sleep(60)\n"
        "    if kind == 1: sys.exit('I give up')\n"
        "    print(kind)"
    )
    begin = time.monotonic()
    found = program(code, timeout=0.5)(0, rng(), 40)
    assert time.monotonic() - begin < 30
    expected = [seed % 10 for seed in rng().integers(2**31, size=40).tolist()]
    died = Broken("ends with exit code 1")
    assert found == [HANGS if k == 0 else died if k == 1 else k for k in expected]
    assert {0, 1} < set(expected)
    assert {one.message for one in found if one == died} == {"I give up"}


def test_the_timeout_of_a_probe_is_its_own():
    caller = detect_convention(program(NOISY), [1], [2], timeout=20)
    assert (caller.timeout, caller.mechanism.timeout) == (None, 20)


@pytest.mark.parametrize("code", ["time.sleep(60)", NOISY])
def test_one_that_always_hangs_or_buffers_is_told_to_flush(code):
    begin = time.monotonic()
    with pytest.raises(InvalidArgument) as caught:
        detect_convention(program(code, flush=False), [1], [2], timeout=0.2)
    assert time.monotonic() - begin < 30
    assert str(caught.value) == (
        "the function must return in time: none of 3 trial calls on each input did (a program must "
        "flush its output after every answer, and the timeout of its first answer includes its "
        "start)"
    )


def test_a_function_that_always_hangs_is_told_of_at_once():
    with pytest.raises(InvalidArgument) as caught:
        detect_convention(lambda data: time.sleep(60), [1], [2], timeout=0.1)
    assert str(caught.value) == (
        "the function must return in time: none of 3 trial calls on each input did"
    )


def test_one_that_hangs_on_one_input_alone_is_judged():
    code = LOOP + "time.sleep(60 if call['data'] else 0); print(1)"
    caller = detect_convention(program(code), 0, 1, timeout=0.5)
    assert draw(caller, 0, 3, 0).listed() == [1] * 3
    assert draw(caller, 1, 3, 0).listed() == [HANGS] * 3


# -- noise that is shared ------------------------------------------------------------------------


# A clock of minutes: that of seconds may have moved on before a slow machine starts it again.
@pytest.mark.parametrize("seed", ["3", "int(time.time() / 60)"])
@pytest.mark.parametrize("timeout", [None, 20])
def test_one_that_repeats_itself_is_not_judged(seed, timeout):
    code = f"random.seed({seed})\n" + LOOP + "print(call['data'] + random.random())"
    with pytest.raises(Unsupported) as caught:
        audit.probe(program(code), 0, 1, claim=ta.guarantee(1), until_decided=True, timeout=timeout)
    assert str(caught.value) == REPEATS
    assert str(caught.value).startswith("no verdict: calls are not independent; ")


@pytest.mark.parametrize(
    "expression", ["random.random()", "random.choice((0, 1))", "call['seed']", "1"]
)
def test_one_that_does_not_is(expression):
    """Coins agree 256 times with probability 1e-77."""
    assert detect_convention(answering(expression), 0, 1).size is Size.MANY


def test_one_that_draws_its_noise_once_a_start_is_not_judged():
    code = "kept = random.random()\n" + LOOP + "print(call['data'] + kept)"
    with pytest.raises(Unsupported, match="no verdict: calls are not independent"):
        audit.probe(program(code), 0, 1, claim=ta.guarantee(1), samples=100)


# -- probes --------------------------------------------------------------------------------------


def test_a_probe_of_a_program_is_the_probe_of_the_function():
    def same(data, rng, size):
        import random

        seeds = rng.integers(2**31, size=size).tolist()
        return [len(data) + random.Random(one).random() for one in seeds]  # noqa: S311

    options = {"claim": ta.guarantee(1), "samples": 3000}
    one = audit.probe(program(NOISY), [1], [1, 2], **options)
    two = audit.probe(same, [1], [1, 2], **options)
    assert one.refuted
    assert one.epsilon_lower() == two.epsilon_lower()


def test_errors_that_are_answered_are_outputs_and_leak_if_they_differ():
    code = LOOP + (
        "random.seed(call['seed'])\n"
        "    print('{\"error\": \"overflow\"}' if random.random() < call['data'] else 1)"
    )
    verdict = audit.probe(program(code), 0.1, 0.9, claim=ta.guarantee(1), samples=2000)
    assert verdict.refuted
    assert verdict.epsilon_lower().value > 1.5
    everywhere = answering('\'{"error": "bad input"}\'')
    with pytest.raises(InvalidArgument, match="the first one fails: bad input"):
        audit.probe(everywhere, 0, 1, claim=ta.guarantee(1), samples=100)


# -- nothing stays -------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")
@pytest.mark.parametrize("timeout", [None, 0.5])
@pytest.mark.parametrize("then", ["print(1)", "print('oops')", "print('1\\n1')"])
def test_nothing_is_left_behind(timeout, then):
    """Not even what the program itself started, or one that does not end when its input does."""
    marker = f"4242.{os.getpid()}"
    code = (
        f"import subprocess\nsubprocess.Popen(['sleep', '{marker}'])\n"
        + LOOP
        + then
        + "\ntime.sleep(4242)"
    )
    try:
        program(code, timeout)(0, rng(), 5)
    except BadProgram:
        assert then != "print(1)"
    assert not alive(marker)


def test_an_interruption_leaves_nothing_behind(monkeypatch):
    marker = f"4243.{os.getpid()}"

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tellapart.audit.probing.calling.program.Running.line", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Program(["sleep", marker])(0, rng(), 5)
    assert not alive(marker)


def test_the_watch_for_processes_sees_one():
    marker = f"4244.{os.getpid()}"
    with subprocess.Popen(["sleep", marker]) as sleeper:  # noqa: S603, S607
        assert alive(marker)
        sleeper.kill()
