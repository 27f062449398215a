"""Command line, files and page, fed with what means harm: no traceback, no odd code, no hang."""

import os
import random

import pytest
from fuzzing import ODD, command_case, commands, file_case, judged, page_case, runner

# Seconds of processor time and mebibytes that one case may take.
FILE = (10, 600)
COMMAND = (30, 1500)
PAGE = (45, 1500)
# `make test-all` goes on from a seed of its own: FUZZ_CASES=100000 pytest tests/fuzz -m slow.
# What became of them is printed (-s); those of the page alone: -k requests.
CASES = int(os.environ.get("FUZZ_CASES", "1500"))
START = int(os.environ.get("FUZZ_START", random.SystemRandom().randrange(10**9)))

few_or_many = pytest.mark.parametrize(
    "share", [pytest.param(0, id="few"), pytest.param(1, id="many", marks=pytest.mark.slow)]
)


@pytest.fixture(scope="module")
def run():
    with runner() as started:
        yield started


def broken(run, make, share, few, bounds):
    """What cases of one kind break which law, a line each."""
    seeds = range(START, START + CASES) if share else range(few)
    cases = ((f"{make.__name__}({seed})", make(seed)) for seed in seeds)
    return "\n".join(judged(run, cases, *bounds).broken)


@few_or_many
def test_spoilt_files(run, share):
    assert broken(run, file_case, share, 60, FILE) == ""


@few_or_many
def test_odd_commands(run, share):
    assert broken(run, command_case, share, 30, COMMAND) == ""


@few_or_many
def test_odd_requests(run, share):
    assert broken(run, page_case, share, 40, PAGE) == ""


def test_the_fuzzer_knows_every_command_and_draws_the_same_again():
    known = commands()
    assert {"risk", "choose", "compare", "audit", "probe", "report"} <= set(known)
    assert all(valued for _, _, valued in known.values())
    for make in (file_case, command_case, page_case):
        assert make(7) == make(7)
    assert len(set(ODD)) == len(ODD)


def test_the_fuzzer_sees_what_it_looks_for(run):
    told = judged(run, [("no such kind", {"kind": "none"})], *FILE)
    assert told.codes == {70: 1}
    assert "no such kind: code 70, a traceback: KeyError: 'none'" in told.broken[0]
    slow = {"code": 2, "cpu": 11.0, "mib": 700.0, "err": "a\n\x1b[31m", "out": ""}
    told.add("slow", slow)
    laws = "11 seconds, 700 MiB, what steers a terminal, more than a line"
    assert told.broken[1].startswith(f"slow: {laws}")
