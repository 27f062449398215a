"""Time and memory: every command honours its limits, and says up front what takes long."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest
from test_cli_exits import COMMANDS, EXAMPLES, INPUTS

import tellapart as ta
from tellapart import deadline, run
from tellapart.cli import main
from tellapart.cli.process import limits
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.pairs import integrals

OVER = "tellapart: this takes longer than the time limit: allow more, or ask for less\n"
# What computes nothing to speak of, or serves: the backstop ends these.
INSTANT = {"region", "explore", "serve", "reproduce", "report", "risk", "compare"}


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(limits, "_GRACE", 1e6)  # the backstop would end the tests themselves

    def call(*tokens):
        code = main(tokens)
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - INSTANT))
def test_a_command_without_time_gives_up_by_itself(call, command):
    assert call(*COMMANDS[command][0], "--time-limit", "1e-9") == (3, "", OVER)


def test_a_composition_without_time_gives_up(call):
    words = ["dpsgd", "--noise-multiplier", "1", "--sampling-rate", "0.01", "--steps", "10"]
    pair = ["laplace:epsilon=1,repeated=9", "laplace:epsilon=1"]
    for command in (["risk", *words], ["report", *words, "--json"], ["compare", *pair]):
        assert call(*command, "--time-limit=1e-9") == (3, "", OVER)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--time-limit"], "--time-limit must be followed by a value, such as 60"),
        (["--time-limit", "0"], "--time-limit must be finite and greater than 0, got 0.0"),
        (["--time-limit", "inf"], "--time-limit must be finite and greater than 0, got inf"),
        (["--time-limit", "soon"], "--time-limit must be a number of seconds, got 'soon'"),
        (["--time-limit=1", "--time-limit=2"], "--time-limit must be given once"),
    ],
)
def test_a_limit_that_is_none_is_refused(call, given, said):
    assert call("risk", "--epsilon", "1", *given) == (2, "", f"tellapart: {said}\n")


def test_a_limit_that_is_kept_changes_nothing(call):
    plain = call("risk", "--epsilon", "1", "--json")
    assert call("--time-limit", "600", "risk", "--epsilon", "1", "--json") == plain


def test_what_does_not_ask_is_ended_a_little_later(tmp_path):
    """As code in C that runs long; nothing of it stays behind."""
    program = (
        "import sys, time\nfrom tellapart.cli import main, risk\n"
        "from tellapart.cli.process import limits\n"
        "limits._GRACE = 0.1\nrisk.asked = lambda *_, **__: time.sleep(600)\n"
        "sys.exit(main())"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program, "risk", "--epsilon", "1", "--time-limit", "0.1"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", OVER)


def test_a_call_that_never_ends_is_ended(call, tmp_path):
    (tmp_path / "slow.py").write_text("import time\ndef f(data):\n    time.sleep(600)\n")
    begin = time.monotonic()
    for what in (["slow.py:f"], ["--command", "sleep 600"]):
        assert call("probe", *what, *INPUTS, "--time-limit", "0.5") == (3, "", OVER)
    assert time.monotonic() - begin < 500


def test_a_budget_of_calls_ends_with_what_a_verdict_would_take(call, tmp_path):
    (tmp_path / "slow.py").write_text("import time\ndef f(data):\n    time.sleep(0.1)\n")
    code, out, error = call("probe", "slow.py:f", *INPUTS, "--seconds", "0.3")
    assert (code, out) == (3, "")
    assert "no verdict: a budget of 0.3 s is too little. Calls made: " in error


@pytest.mark.usefixtures("by_value")
@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_workers_know_what_is_left(backend):
    def asked(_item, _rng):
        return deadline.budget()

    with deadline.within(100, 1e9), joblib.parallel_config(backend=backend, n_jobs=2):
        for left, memory in run.map(asked, range(3), seed=0):
            assert 0 < left <= 100
            assert memory == 1e9


def test_memory_is_refused_before_it_is_taken():
    laws = [FiniteLaw(np.arange(1000.0), np.full(1000, -math.log(1000))) for _ in range(2)]
    with deadline.within(memory=1e6), pytest.raises(ta.LimitReached, match="MiB of memory"):
        integrals.log_masses(laws, Laplace(0.01))


# -- averages over outputs that stay bounded -----------------------------------------------------


@pytest.mark.parametrize("noise", [Laplace, Gaussian])
def test_an_average_over_outputs_costs_no_more_under_less_noise(noise):
    laws = [
        FiniteLaw(np.arange(6.0), np.log(row)) for row in (np.full(6, 1 / 6), [0.5, *[0.1] * 5])
    ]
    sizes = [integrals.log_masses(laws, noise(scale)).shape[1] for scale in (1e-2, 1e-3, 1e-6)]
    assert max(sizes) <= 2 * sizes[0]
    weights = 0.4 * np.exp(laws[0].log_weights) + 0.6 * np.exp(laws[1].log_weights)
    truth = sum(
        share * np.sum(np.exp(law.log_weights) * (law.log_weights - np.log(weights)))
        for share, law in zip((0.4, 0.6), laws, strict=True)
    )
    for scale in (1e-3, 1e-4, 1e-5, 1e-6):
        told = integrals.mutual_information(laws, [0.4, 0.6], noise(scale))
        # Places that far apart are known to so many units of the noise.
        assert told == pytest.approx(truth, rel=1e-13 + np.spacing(5 / scale))


def test_next_to_no_noise_is_said():
    laws = [FiniteLaw(np.arange(2.0), np.log([p, 1 - p])) for p in (0.5, 0.3)]
    with pytest.raises(ta.Unsupported, match="use a larger scale"):
        integrals.mutual_information(laws, [0.5, 0.5], Laplace(1e-8))


# -- estimates -----------------------------------------------------------------------------------


def test_what_takes_long_is_said_up_front(call, tmp_path, monkeypatch):
    """Before any of it is done: it is given up right after."""
    say = limits.expect

    def say_and_stop(seconds):
        say(seconds)
        raise ta.LimitReached(deadline.TIME_IS_UP)

    monkeypatch.setattr(limits, "expect", say_and_stop)
    text = (EXAMPLES / "chain.toml").read_text(encoding="utf-8")
    quiet = text.replace("scale = 1", "scale = 1e-4").replace("length = 100", "length = 300")
    (tmp_path / "quiet.toml").write_text(quiet, encoding="utf-8")
    long = "tellapart: this takes about {} s; --time-limit SECONDS gives up earlier\n" + OVER
    assert call("frameworks", "quiet.toml") == (3, "", long.format(50))
    names = [f"dpsgd:noise_multiplier={k},sampling_rate=0.01,steps=100" for k in (1, 2, 3, 4)]
    assert call("compare", *names) == (3, "", long.format(20))
    assert call("compare", "laplace:epsilon=1", "gaussian:sigma=1") == (3, "", OVER)


def test_a_part_of_the_work_says_once_how_long_all_of_it_takes(monkeypatch, capsys):
    clock = iter([100.0, 100.5, 102.0, 140.0])
    monkeypatch.setattr(limits.time, "monotonic", lambda: next(clock))
    shares = []
    tell = limits.foreseen(shares.append)
    for share in (0.01, 0.05, 1.0):
        tell(share)
    assert shares == [0.01, 0.05, 1.0]
    said = "tellapart: this takes about 40 s; --time-limit SECONDS gives up earlier\n"
    assert capsys.readouterr().err == said


def test_a_probe_is_foreseen(monkeypatch, tmp_path, capsys):
    """From the first block of calls on: were it to take long, it would say so."""
    said = []
    monkeypatch.setattr(limits, "_SOON", 0.0)
    monkeypatch.setattr(limits, "expect", said.append)
    release = EXAMPLES / "release.py"
    words = ["--d0", "[3, 1]", "--d1", "[3, 1, 4]", "--epsilon", "1", "--samples", "2000"]
    assert main(["probe", f"{release}:correct_count", *words]) == 0
    assert len(said) == 1
    assert 0 < said[0] < 60
    assert main(["probe", f"{release}:correct_count", *words, "--until-decided"]) == 0
    assert len(said) == 1
