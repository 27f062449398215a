"""Command line, files and page, fed with what means harm: no traceback, no odd code, no hang."""

import os
import random

import pytest
from fuzzing import ODD, command_case, commands, file_case, judged, page_case

# Seconds of processor time and mebibytes that one case may take.
FILE = (10, 600)
COMMAND = (30, 1500)
PAGE = (45, 1500)


def broken(kind, cases, bounds):
    return "\n".join(judged(kind, cases, *bounds).broken)


def named(kind, make, seeds):
    return ((f"{kind} {seed}", make(seed)) for seed in seeds)


def test_spoilt_files():
    assert broken("file", named("file", file_case, range(80)), FILE) == ""


def test_odd_commands():
    known = commands()
    cases = named("command", lambda seed: command_case(seed, known), range(40))
    assert broken("command", cases, COMMAND) == ""


def test_odd_requests():
    assert broken("page", named("page", page_case, range(40)), PAGE) == ""


# -- as long as one likes: FUZZ_CASES=100000 pytest tests/fuzz -m slow -----------------------------

CASES = int(os.environ.get("FUZZ_CASES", "1500"))
START = int(os.environ.get("FUZZ_START", random.SystemRandom().randrange(10**9)))
SEEDS = range(START, START + CASES)


@pytest.mark.slow
def test_many_spoilt_files():
    assert broken("file", named("file", file_case, SEEDS), FILE) == ""


@pytest.mark.slow
def test_many_odd_commands():
    known = commands()
    seeds = SEEDS[: CASES // 3]
    assert (
        broken("command", named("command", lambda s: command_case(s, known), seeds), COMMAND) == ""
    )


@pytest.mark.slow
def test_many_odd_requests():
    assert broken("page", named("page", page_case, SEEDS[: CASES // 3]), PAGE) == ""


def test_the_fuzzer_knows_every_command_and_draws_the_same_again():
    known = commands()
    assert {"risk", "choose", "compare", "audit", "probe", "report"} <= set(known)
    assert all(valued for _, _, valued in known.values())
    assert command_case(7, known) == command_case(7, known)
    assert file_case(7) == file_case(7)
    assert page_case(7) == page_case(7)
    assert len(set(ODD)) == len(ODD)
