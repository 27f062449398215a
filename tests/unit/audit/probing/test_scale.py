"""Probes on workers: the same numbers wherever calls are made, and whoever dies meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from pathlib import Path

import joblib
import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit.evidence.thresholds import End
from tellapart.audit.probing import probe_run
from tellapart.audit.probing.calling.caller import detect_convention
from tellapart.audit.probing.calling.calls import BLOCK, draw

distributed = pytest.importorskip("distributed")

D0, D1 = [3, 1], [3, 1, 4]
CLAIM = ta.guarantee(epsilon=1)
SAMPLES = 3 * BLOCK + 100


def noisy_count(data, rng, size=None):
    return len(data) + rng.laplace(0, 0.5, size)


def global_count(data, size=None):
    return len(data) + np.random.laplace(0, 0.5, size)


def noisy_words(data, rng):
    drawn = rng.random()
    return "rare" if drawn < 0.01 * len(data) ** 2 - 0.03 else None if drawn < 0.5 else drawn


MECHANISMS = {"numbers": noisy_count, "global": global_count, "words": noisy_words}


def numbers(mechanism, samples=SAMPLES):
    """All that a verdict is made of: what was counted or ranked, and what refutes."""
    verdict = audit.probe(mechanism, D0, D1, claim=CLAIM, samples=samples)
    assert verdict.refuted
    return verdict.evidence, verdict.finding


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", worker_dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture(params=["scores", "counts"])
def kind(request, monkeypatch):
    """Few calls send scores home; of many, which here are few, only counts come."""
    if request.param == "counts":
        monkeypatch.setattr(probe_run, "AT_HOME", BLOCK)
    return request.param


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_same_numbers_in_turn_in_threads_in_processes_and_on_dask(name, kind, cluster):
    mechanism = MECHANISMS[name]
    here = numbers(mechanism)
    for backend, jobs in (("threading", 2), ("loky", 2), ("dask", -1)):
        with joblib.parallel_config(backend=backend, n_jobs=jobs):
            assert numbers(mechanism) == here, backend


def test_a_membership_game_has_the_same_scores_on_dask_and_keeps_them(cluster, tmp_path):
    def train(people, seed):
        return [people.sum() + np.random.default_rng(seed).laplace()]

    game = audit.MembershipGame(np.arange(4.0), audit.Targets(1), models=20, seed=2)
    with joblib.parallel_config(backend="dask"):
        there = game.play(train, folder=tmp_path)
    assert len(list(tmp_path.glob("model-*"))) == 20
    here = game.play(train)
    assert np.array_equal(here.raw, there.raw)
    assert np.array_equal(game.play(train, folder=tmp_path).seconds, there.seconds)


def test_counts_are_those_of_the_outputs(monkeypatch):
    """Each count again, from outputs that all came home."""
    monkeypatch.setattr(probe_run, "AT_HOME", BLOCK)
    verdict = audit.probe(noisy_count, D0, D1, claim=CLAIM, samples=SAMPLES, seed=3)
    caller, aside = detect_convention(noisy_count, D0, D1, seed=3), BLOCK // 10
    absent, present = (
        draw(caller, data, SAMPLES, (3, k)).values[aside:] for k, data in enumerate((D0, D1))
    )
    cuts = verdict.evidence.cuts
    assert len(cuts) > 8
    for cut in cuts:
        words = cut.words.removeprefix("not (").removesuffix(")")
        sign, threshold = words.removeprefix("output ").split()
        there = [
            one > float(threshold) if sign == ">" else one < float(threshold)
            for one in (absent, present)
        ]
        happened = [np.count_nonzero(one == (words == cut.words)) for one in there]
        tested, against = happened[::-1] if cut.end is End.FLAG else happened
        # Words round their threshold to six digits.
        assert (cut.happened, cut.against) == pytest.approx((tested, against), abs=2)
        assert cut.tested == cut.reference == SAMPLES - aside


# -- a worker that dies --------------------------------------------------------------------------


class Marked:
    """Slow enough to be caught at work; leaves a mark of the process behind each batch."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, data, rng, size=None):
        (self.folder / f"{os.getpid()}-{uuid.uuid4()}").touch()
        if size == BLOCK:  # not the hundreds of single calls that are made at home afterwards
            time.sleep(0.05)
        return noisy_count(data, rng, size)


def kill_when(folder: Path, pids: set[int], marks: int, killed: list[int]) -> None:
    """Kill the worker that left the last mark, once there are so many."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        left = [one for one in folder.iterdir() if int(one.name.split("-")[0]) in pids]
        if len(left) >= marks:
            last = max(left, key=lambda one: one.stat().st_mtime_ns)
            killed.append(int(last.name.split("-")[0]))
            os.kill(killed[0], signal.SIGKILL)
            return
        time.sleep(0.005)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that ends a process")
def test_a_worker_killed_at_work_changes_nothing(tmp_path, kind, cluster):
    samples = 10 * BLOCK
    here = numbers(noisy_count, samples)
    before, killed = set(cluster.run(os.getpid).values()), list[int]()
    killer = threading.Thread(target=kill_when, args=(tmp_path, before, 8, killed))
    killer.start()
    with joblib.parallel_config(backend="dask"):
        found = numbers(Marked(tmp_path), samples)
    killer.join()
    assert killed[0] in before
    cluster.wait_for_workers(2, timeout=60)
    assert killed[0] not in set(cluster.run(os.getpid).values())
    assert found == here


# -- workers that repeat each other --------------------------------------------------------------


def own_generator():
    """A mechanism with a generator of its own; each process that it is sent to gets a copy."""
    rng = np.random.default_rng(0)

    def mechanism(data, size=None):
        return len(data) + rng.laplace(0, 1, size)

    return mechanism


def test_a_seed_that_each_process_has_cannot_be_judged(kind):
    assert audit.probe(own_generator(), D0, D1, claim=CLAIM, samples=SAMPLES).confidence == 0.95
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        pytest.raises(ta.Unsupported, match=r"^no verdict: calls are not independent; "),
    ):
        audit.probe(own_generator(), D0, D1, claim=CLAIM, samples=SAMPLES)


@pytest.mark.parametrize(("place", "like"), [(4, 0), (4, 2), (7, 0), (7, 2)])
def test_blocks_that_repeat_are_found_among_counts(monkeypatch, place, like):
    """One block is like another, at home or not, of the same input or of the other one."""
    monkeypatch.setattr(probe_run, "AT_HOME", BLOCK)
    # Both inputs' first blocks come home, and then come four more of each.
    order = list(range(100, 110))
    order[place] = order[like]
    seeds = iter(order)

    def mechanism(data, size):
        return np.random.default_rng(next(seeds) if size == BLOCK else 1).laplace(0, 1, size)

    with pytest.raises(ta.Unsupported, match=r"repeats exactly in another block$"):
        audit.probe(mechanism, D0, D1, claim=CLAIM, samples=5 * BLOCK)


@pytest.mark.slow
def test_the_same_numbers_on_ray(kind):
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    here = {"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=here)
    try:
        register_ray()
        for mechanism in MECHANISMS.values():
            here = numbers(mechanism)
            with joblib.parallel_config(backend="ray", n_jobs=2):
                assert numbers(mechanism) == here
    finally:
        ray.shutdown()
