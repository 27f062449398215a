"""Answers in processes: ended at their limit, replaced, and never in the way of others."""

import math
import os
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace

import pytest

from tellapart.errors import LimitReached
from tellapart.web.workers import Crashed, Superseded, WorkerLimits, WorkerPool

GIGABYTE = 2**30
HURRIED = WorkerLimits(seconds=1.5, memory=GIGABYTE, quick=2, long=1, long_after=0.3, patience=60)
LOADS = "math"  # quicker than all that views need
ENDLESS = range(10**15)  # `sum` of it stays in C and lets no other thread run


@pytest.fixture(scope="module")
def pool():
    with closing(WorkerPool(HURRIED, LOADS)) as found:
        yield found


def timed(call, *given):
    start = time.monotonic()
    value = call(*given)
    return value, time.monotonic() - start


def in_threads(calls):
    """What each call gave or raised, and when it was done."""
    found = [None] * len(calls)
    start = time.monotonic()

    def run(place, call):
        try:
            value = call()
        except (LimitReached, Crashed, Superseded) as error:
            value = type(error)
        found[place] = value, time.monotonic() - start

    threads = [threading.Thread(target=run, args=(place, call)) for place, call in enumerate(calls)]
    for one in threads:
        one.start()
    return threads, found


def test_an_answer_is_the_function_s(pool):
    assert pool.ask(math.factorial, 20, "a") == math.factorial(20)
    assert pool.ask(len, bytes(4_000_000), "a") == 4_000_000


def test_what_never_ends_is_ended_at_the_limit_and_the_next_is_answered(pool):
    for endless in ((sum, ENDLESS), (time.sleep, 3_600)):
        start = time.monotonic()
        with pytest.raises(LimitReached, match=r"^this takes longer than the page allows"):
            pool.ask(*endless, "a")
        assert time.monotonic() - start < HURRIED.seconds + 20
        assert pool.ask(abs, -3, "a") == 3


@pytest.mark.skipif(sys.platform != "linux", reason="others do not count what a process takes")
def test_what_takes_too_much_memory_is_refused_and_the_next_is_answered(pool):
    with pytest.raises(LimitReached, match=r"^this needs more memory than the page allows"):
        pool.ask(bytes, 3 * GIGABYTE, "a")
    assert pool.ask(abs, -3, "a") == 3


def test_a_bug_ends_its_process_alone_and_is_told_on_the_terminal(capfd):
    with closing(WorkerPool(replace(HURRIED, quick=1), LOADS)) as pool:
        with pytest.raises(Crashed):
            pool.ask(len, 3, "a")
        assert pool.ask(abs, -3, "a") == 3
    assert capfd.readouterr().err.count("TypeError: object of type 'int' has no len()") == 1


def test_eight_endless_questions_do_not_starve_a_quick_one(pool):
    eight = [lambda k=k: pool.ask(sum, ENDLESS, k) for k in range(8)]
    threads, found = in_threads(eight)
    time.sleep(0.1)
    (threads_of_one, quick) = in_threads([lambda: pool.ask(abs, -3, "quick")])
    for one in [*threads, *threads_of_one]:
        one.join()
    assert quick[0][0] == 3
    assert quick[0][1] < 30
    assert [value for value, _ in found] == [LimitReached] * 8
    # Each pair of them keeps its turn for a moment; one alone goes on to its limit.
    assert sum(when >= HURRIED.seconds for _, when in found) >= 1


def test_a_newer_question_of_a_window_ends_a_long_one_before_it(pool):
    threads, found = in_threads([lambda: pool.ask(time.sleep, 3_600, "window")])
    time.sleep(HURRIED.long_after + 0.4)
    assert pool.ask(abs, -3, "another") == 3
    assert found == [None]
    assert pool.ask(abs, -4, "window") == 4
    threads[0].join()
    assert found[0][0] is Superseded


def test_more_than_can_wait_are_refused_at_once():
    few = WorkerLimits(seconds=20, memory=GIGABYTE, quick=1, long=1, long_after=15, waiting=2)
    with closing(WorkerPool(few, LOADS)) as crowded:
        threads, found = in_threads(
            [lambda k=k: crowded.ask(time.sleep, 3_600, k) for k in range(3)]
        )
        until = time.monotonic() + 60
        while len(crowded._turns) < 3 and time.monotonic() < until:
            time.sleep(0.01)
        with pytest.raises(LimitReached, match=r"^the page is busy"):
            crowded.ask(abs, -3, "late")
        crowded.close()
        for one in threads:
            one.join()
        assert [value for value, _ in found] == [Crashed] * 3


def test_nothing_is_left_once_a_pool_is_closed():
    pool = WorkerPool(HURRIED, LOADS)
    process = pool.ask(eval, "__import__('os').getpid()", "a")
    pool.close()
    with pytest.raises(Crashed):
        pool.ask(abs, -3, "a")
    assert not _runs(process)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_processes_end_with_a_server_that_was_killed():
    code = (
        "import os, signal, time\n"
        "from tellapart.web.workers import WorkerLimits, WorkerPool\n"
        "pool = WorkerPool(WorkerLimits(seconds=60, memory=2**30), 'math')\n"
        "print(pool.ask(eval, \"__import__('os').getpid()\", 1), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    process, until = int(done.stdout), time.monotonic() + 60
    while _runs(process) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _runs(process)


def _runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        return ") Z " not in file.read()
