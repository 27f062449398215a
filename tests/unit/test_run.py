"""Tasks with numbers of their own: the same wherever they run."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest

from tellapart import deadline, run
from tellapart.errors import InvalidArgument, Unsupported

ITEMS = list(range(7))


def draws(item, rng):
    return item, rng.random(3).tolist(), os.getpid()


def numbers_of(found):
    return [(item, drawn) for item, drawn, _ in found]


def naive(seed):
    """Each generator from NumPy's own rule for children of a seed."""
    children = np.random.SeedSequence(seed).spawn(len(ITEMS))
    return [
        (item, np.random.default_rng(child).random(3).tolist())
        for item, child in zip(ITEMS, children, strict=True)
    ]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_threads_give_the_same_numbers(workers):
    with joblib.parallel_config(backend="threading", n_jobs=workers):
        assert numbers_of(run.map(draws, ITEMS, 5)) == naive(5)


def test_processes_give_the_same_numbers_and_are_others():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = run.map(draws, ITEMS, 5)
    assert numbers_of(found) == naive(5)
    assert os.getpid() not in {process for _, _, process in found}


def test_one_after_another_gives_the_same_numbers():
    found = run.map(draws, ITEMS, 5)
    assert numbers_of(found) == naive(5)
    assert {process for _, _, process in found} == {os.getpid()}


def test_without_joblib_the_numbers_are_the_same_and_it_stays_out():
    script = (
        "import sys; from tellapart import run; "
        "print([run.map(lambda one, rng: rng.random(), range(2), 5), 'joblib' in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    expected = [drawn[0] for _, drawn in naive(5)][:2]
    assert done.stdout.strip() == str([expected, False])


def test_a_longer_list_begins_with_the_same_numbers():
    assert numbers_of(run.map(draws, ITEMS[:3], 5)) == naive(5)[:3]


def test_seeds_of_several_numbers_share_nothing():
    seeds = [5, 6, (5, 0), (5, 1), (5, 0, 0), (6, 0)]
    drawn = [x for seed in seeds for _, xs, _ in run.map(draws, ITEMS, seed) for x in xs]
    assert len(set(drawn)) == len(drawn) == 3 * len(ITEMS) * len(seeds)


def dies_once(item, rng):
    """Ends its process the first time it is asked for the item whose mark is not there yet."""
    mark, place = item
    if place == 2 and not os.path.exists(mark):
        with open(mark, "w", encoding="utf-8"):
            os._exit(1)
    return place, float(rng.random())


def test_a_worker_that_dies_changes_nothing(tmp_path):
    items = [(str(tmp_path / "mark"), place) for place in ITEMS]
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = run.map(dies_once, items, 5)
    assert (tmp_path / "mark").exists()
    assert found == [(item, drawn[0]) for item, drawn in naive(5)]


def test_workers_that_always_die_are_told_of(monkeypatch):
    from concurrent.futures.process import BrokenProcessPool

    tries = []

    def broken(*_):
        tries.append(1)
        raise BrokenProcessPool("gone")

    monkeypatch.setattr(run, "_by_joblib", broken)
    with pytest.raises(Unsupported) as caught:
        run.map(draws, ITEMS, 5)
    assert len(tries) == 3
    assert str(caught.value) == (
        "workers died 3 times in a row; run the tasks one after another to see why"
    )


def test_an_error_of_a_task_is_the_callers():
    def fails(item, rng):
        raise KeyError(item)

    with pytest.raises(KeyError):
        run.map(fails, ITEMS, 5)


@pytest.mark.parametrize(
    ("task", "seed", "message"),
    [
        (3, 0, "task must be a function of an item and a generator, got 3"),
        (draws, -1, "seed must be at least 0, got -1"),
        (draws, 0.5, "seed must be a whole number, got 0.5"),
        (draws, (), "seed must be a whole number or several, got ()"),
        (draws, "ab", "seed must be a whole number or several, got 'ab'"),
        (draws, (1, "b"), "seed must be a whole number, got 'b'"),
        (draws, (1, 2**32), "seed must be at most 4.29497e9, got 4294967296"),
        (draws, None, "seed must be a whole number, got None"),
    ],
)
def test_what_is_wrong_is_said(task, seed, message):
    with pytest.raises(InvalidArgument) as caught:
        run.map(task, ITEMS, seed)
    assert str(caught.value) == message


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_is_told_and_changes_nothing(jobs):
    def task(item, rng):
        return item + rng.random()

    told = []
    with joblib.parallel_config(backend="threading", n_jobs=jobs):
        found = run.map(task, range(4), 7, told.append)
    assert told == [0, 0.25, 0.5, 0.75]
    assert found == run.map(task, range(4), 7)


def pays(item, rng):
    for _ in range(item):
        deadline.before_call()
    time.sleep(0.01 * item)
    return item


@pytest.mark.parametrize("jobs", [1, 2])
def test_calls_of_workers_are_counted_once(jobs):
    purse = deadline.CallPurse(60.0)
    with joblib.parallel_config(backend="threading", n_jobs=jobs), deadline.paying(purse):
        assert run.map(pays, [1, 2, 3], seed=0) == [1, 2, 3]
        assert run.map(pays, [4], seed=0) == [4]
    assert purse.calls == 10
    assert purse.on_workers.calls == (10 if jobs == 2 else 0)
    assert purse.elsewhere == (jobs == 2)


def test_starting_workers_is_charged_neither_to_the_budget_nor_to_a_call(monkeypatch):
    monkeypatch.setattr(run, "_started", lambda task: time.sleep(0.5))
    purse = deadline.CallPurse(60.0)
    with joblib.parallel_config(backend="threading", n_jobs=2), deadline.paying(purse):
        run.map(pays, [1], seed=0)
        first = purse.took
        run.map(pays, [1, 2], seed=0)
    assert first > 0.5 > purse.spent
    assert purse.took < first + 0.5  # once alone
    assert 0.009 < purse.each < 0.1
