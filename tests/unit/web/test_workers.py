"""Answers in processes: ended at their limit, replaced, and never in the way of others."""

import asyncio
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import replace

import psutil
import pytest

from tellapart.errors import Busy, TooLong
from tellapart.web.forkserver import FORKS, Crashed
from tellapart.web.workers import WorkerLimits, WorkerPool

GIGABYTE = 2**30
HURRIED = WorkerLimits(seconds=0.8, memory=GIGABYTE, quick=2, slow=1, slow_after=0.3, patience=60)
LOADS = "working"  # quicker than all that views need
ENDLESS = range(10**15)
ALL_WAYS = [pytest.param(True, marks=pytest.mark.skipif(not FORKS, reason="no fork")), False]


@asynccontextmanager
async def opened(limits=HURRIED, **how):
    pool = WorkerPool(limits, LOADS, **how)
    try:
        await pool.start()
        yield pool
    finally:
        await pool.close()


def lasting(scenario):
    """A test that is a coroutine."""

    def run(*given, **named):
        asyncio.run(scenario(*given, **named))

    run.__name__, run.__doc__ = scenario.__name__, scenario.__doc__
    run.__wrapped__ = scenario
    return run


async def timed(asking):
    start = time.monotonic()
    try:
        value = await asking
    except (Busy, TooLong, Crashed) as error:
        value = type(error)
    return value, time.monotonic() - start


@pytest.mark.parametrize("forks", ALL_WAYS)
@lasting
async def test_an_answer_is_the_function_s_and_what_never_ends_is_ended(forks):
    async with opened(forks=forks) as pool:
        assert await pool.ask("factorial", 20) == math.factorial(20)
        assert await pool.ask("length", bytes(4_000_000)) == 4_000_000
        for endless in (("endless_sum", ENDLESS), ("sleep", 3_600)):
            with pytest.raises(TooLong, match=r"^this takes longer than the page allows"):
                await pool.ask(*endless)
            assert await pool.ask("factorial", 3) == 6


@pytest.mark.skipif(sys.platform != "linux", reason="others do not count what a process takes")
@lasting
async def test_what_takes_too_much_memory_is_refused_and_the_next_is_answered():
    async with opened() as pool:
        with pytest.raises(TooLong, match=r"^this needs more memory than the page allows"):
            await pool.ask("take", 3 * GIGABYTE)
        assert await pool.ask("factorial", 3) == 6


@pytest.mark.parametrize("hushed", [False, True])
def test_a_bug_ends_its_process_alone_and_is_told(hushed, capfd):
    @lasting
    async def scenario():
        async with opened(replace(HURRIED, quick=1), hushed=hushed) as pool:
            with pytest.raises(Crashed):
                await pool.ask("length", 3)
            assert await pool.ask("factorial", 3) == 6

    scenario()
    told = capfd.readouterr().err
    # The words of an error may quote what was asked: a log for others has none of them.
    assert ("object of type 'int' has no len()" in told) is not hushed
    assert ('"kind": "TypeError"' in told) is hushed


@lasting
async def test_eight_endless_questions_do_not_starve_a_quick_one():
    async with opened(replace(HURRIED, seconds=0.5, slow_after=0.2)) as pool:
        eight = [asyncio.create_task(timed(pool.ask("sleep", 1_000 + k))) for k in range(8)]
        await asyncio.sleep(0.05)
        value, waited = await timed(pool.ask("factorial", 3))
        assert value == 6
        # Two at a time are ended after 0.2 s each: four rounds, on a machine that keeps up.
        assert waited < 4 * 0.2 + 5
        found = [await one for one in eight]
    assert [value for value, _ in found] == [TooLong] * 8
    # One at a time goes on in the slow lane, each for its whole time.
    assert max(seconds for _, seconds in found) > 6 * 0.5


@lasting
async def test_what_is_known_to_take_long_takes_no_quick_turn():
    async with opened(replace(HURRIED, quick=1, seconds=0.8)) as pool:
        assert (await timed(pool.ask("sleep", 900)))[0] is TooLong
        again = asyncio.create_task(timed(pool.ask("sleep", 900)))
        await asyncio.sleep(0.05)
        value, waited = await timed(pool.ask("factorial", 3))
        assert (value, waited < 0.25) == (6, True)
        assert (await again)[0] is TooLong


@lasting
async def test_what_must_be_quick_is_given_up_at_once():
    async with opened() as pool:
        value, waited = await timed(pool.ask("sleep", 900, quick=True))
        assert value is TooLong
        assert waited < HURRIED.slow_after + 1
        assert (await timed(pool.ask("sleep", 900, quick=True)))[1] < 0.2  # it is known by now


@lasting
async def test_questions_of_one_visitor_wait_for_each_other():
    async with opened(replace(HURRIED, slow_after=5, seconds=5, own=3)) as pool:
        start = time.monotonic()
        asked = [pool.ask("slept", 0.2, k, visitor="a") for k in range(3)]
        asked.append(pool.ask("slept", 0.2, 3, visitor="b"))
        running = asyncio.gather(*asked)
        await asyncio.sleep(0.01)
        with pytest.raises(Busy, match=r"^you have asked more than is answered at once"):
            await pool.ask("factorial", 3, visitor="a")
        assert await running == [0, 1, 2, 3]
        assert time.monotonic() - start > 0.6
        assert pool._visitors == {}


@lasting
async def test_who_leaves_takes_the_question_along():
    async with opened(replace(HURRIED, quick=1, slow_after=60, seconds=60)) as pool:
        asked = asyncio.create_task(pool.ask("sleep", 3_600, visitor="a"))
        await asyncio.sleep(0.2)
        asked.cancel()
        value, waited = await timed(pool.ask("factorial", 3, visitor="a"))
        assert value == 6
        assert waited < 5
        assert pool.state["at_work"] == 0


@lasting
async def test_what_is_soon_answered_is_no_reason_to_end_a_process():
    async with opened(replace(HURRIED, quick=1)) as pool:
        process = await pool.ask("pid")
        for _ in range(3):
            asked = asyncio.create_task(pool.ask("slept", 0.03, "unheard"))
            await asyncio.sleep(0.01)
            asked.cancel()
            await asyncio.sleep(0.1)
            assert await pool.ask("pid") == process


@lasting
async def test_answers_are_never_mixed_up_however_many_leave():
    async with opened(replace(HURRIED, slow_after=5, seconds=5, quick=3)) as pool:

        async def asked(k):
            asking = asyncio.create_task(pool.ask("slept", (k % 7) / 500, k))
            if k % 3 == 0:
                await asyncio.sleep((k % 11) / 300)
                asking.cancel()
            return await asyncio.gather(asking, return_exceptions=True)

        found = await asyncio.gather(*(asked(k) for k in range(200)))
    for k, (value,) in enumerate(found):
        assert value == k or (k % 3 == 0 and isinstance(value, asyncio.CancelledError))


@lasting
async def test_more_than_can_wait_are_refused_at_once():
    few = WorkerLimits(seconds=20, memory=GIGABYTE, quick=1, slow_after=15, waiting=2)
    async with opened(few) as pool:
        crowd = [asyncio.create_task(timed(pool.ask("sleep", 900 + k))) for k in range(3)]
        await asyncio.sleep(0.3)
        with pytest.raises(Busy, match=r"^the page is busy"):
            await pool.ask("factorial", 3)
        await pool.close()
        assert {value for value, _ in await asyncio.gather(*crowd)} == {Crashed}


@lasting
async def test_a_turn_that_never_comes_is_refused():
    few = WorkerLimits(seconds=20, memory=GIGABYTE, quick=1, slow_after=15, patience=0.2)
    async with opened(few) as pool:
        first = asyncio.create_task(pool.ask("sleep", 900))
        await asyncio.sleep(0.01)
        assert (await timed(pool.ask("factorial", 3)))[0] is Busy
        first.cancel()


@pytest.mark.skipif(not FORKS, reason="no fork")
@lasting
async def test_what_takes_long_lets_others_go_first():
    async with opened(replace(HURRIED, quick=1, seconds=60)) as pool:
        slow = asyncio.create_task(pool.ask("sleep", 900))
        await asyncio.sleep(0.6)
        behind = [one.nice() for one in psutil.Process().children(recursive=True)]
        assert max(behind) >= 10
        slow.cancel()


@pytest.mark.skipif(not FORKS, reason="no fork")
@lasting
async def test_a_template_that_is_gone_is_replaced(capfd):
    before = set(psutil.Process().children(recursive=True))
    async with opened(replace(HURRIED, quick=1)) as pool:
        first = await pool.ask("pid")
        for process in set(psutil.Process().children(recursive=True)) - before:
            process.kill()
        deadline = time.monotonic() + 30
        second = first
        while second == first and time.monotonic() < deadline:
            value, _ = await timed(pool.ask("pid"))
            second = first if value is Crashed else value
        assert second != first


@lasting
async def test_nothing_is_left_once_a_pool_is_closed():
    pool = WorkerPool(HURRIED, LOADS)
    await pool.start()
    process = await pool.ask("pid")
    await pool.close()
    with pytest.raises(Crashed):
        await pool.ask("factorial", 3)
    assert ended(process)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_processes_end_with_a_server_that_was_killed():
    code = (
        "import asyncio, os, signal\n"
        "from tellapart.web.workers import WorkerLimits, WorkerPool\n"
        "async def main():\n"
        "    pool = WorkerPool(WorkerLimits(seconds=60, memory=2**30), 'working')\n"
        "    print(await pool.ask('pid'), flush=True)\n"
        "    asyncio.ensure_future(pool.ask('sleep', 50))\n"
        "    await asyncio.sleep(0.2)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    here = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": here},
    )
    assert done.returncode == -signal.SIGKILL
    assert ended(int(done.stdout))


def ended(process, seconds=60):
    until = time.monotonic() + seconds
    while _runs(process) and time.monotonic() < until:
        time.sleep(0.02)
    return not _runs(process)


def _runs(process):
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
