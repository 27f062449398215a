"""The law of `seconds=`: whatever a call takes, no audit begins one when its budget is spent.

On a clock that calls alone move. Each audit ends with a verdict, or says what one would take.
"""

import re
import time
from dataclasses import replace

import joblib
import numpy as np
import pytest

import tellapart as ta
from tellapart import audit, deadline
from tellapart.audit import domains
from tellapart.audit.probing import pace
from tellapart.audit.probing.calling import kept_calls
from tellapart.audit.probing.probe_run import FEWEST, fewest_calls
from tellapart.errors import LimitReached

CLAIM = ta.guarantee(epsilon=1)
PEOPLE = np.array([1.0, 0.0, 1.0])
BUDGET = 20.0


class Clock:
    """Time that passes in calls alone; every call takes the next of these seconds, in turn."""

    def __init__(self, monkeypatch, *each):
        self.now, self.each, self.calls, self.longest = 0.0, each, 0, 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def call(self, count=1):
        took = count * self.each[min(self.calls // 100, len(self.each) - 1)]
        self.now, self.longest = self.now + took, max(self.longest, took)
        self.calls += count


def laplace(clock, scale):
    def release(data, rng):
        clock.call()
        return sum(data) + rng.laplace(0, scale)

    return release


def batches(clock, scale):
    def release(data, rng, size):
        clock.call(size)
        return sum(data) + rng.laplace(0, scale, size)

    return release


def by_probe(clock, scale, **more):
    return audit.probe(laplace(clock, scale), [1], [1, 1], claim=CLAIM, **more)


def by_batches(clock, scale, **more):
    return audit.probe(batches(clock, scale), [1], [1, 1], claim=CLAIM, **more)


def until_decided(clock, scale, **more):
    return by_probe(clock, scale, until_decided=True, **more)


def by_search(clock, scale, **more):
    domain = domains.Numbers(0.0, 1.0, rows=(1, 2))
    return audit.search(laplace(clock, scale), domain, claim=CLAIM, **more)


def by_step(clock, scale, **more):
    def step(gradients, rng):
        clock.call()
        norms = np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True), 1.0)
        return rng.normal((gradients / norms).sum(axis=0), scale)

    return audit.step(step, clip=1.0, noise_multiplier=1.0, layers=(2,), **more)


def by_training(clock, scale, **more):
    def train(people, seed):
        clock.call()
        return [people.sum() + np.random.default_rng(seed).laplace(0, scale)]

    return audit.training(train, PEOPLE, claim=CLAIM, **more)


DOORS = {
    "probe": by_probe,
    "probe in batches": by_batches,
    "until decided": until_decided,
    "search": by_search,
    "step": by_step,
    "training": by_training,
}
# Fast, slow, a few in all, one in all, and slower than the budget; and slow all of a sudden.
SPEEDS = [(0.002,), (0.02,), (0.1,), (0.5,), (3.0,), (19.0,), (50.0,), (0.01, 0.5), (0.2, 0.02)]


@pytest.mark.parametrize("speed", SPEEDS, ids=str)
@pytest.mark.parametrize("door", DOORS)
def test_no_call_is_begun_when_the_budget_is_spent(monkeypatch, door, speed):
    clock = Clock(monkeypatch, *speed)
    verdict, error = ended(door, clock, 1.0, seconds=BUDGET)
    if error is None:
        assert not verdict.refuted
    else:
        made, needed, allow = said(error)
        assert made <= clock.calls
        assert needed > made
        assert allow > BUDGET
    assert clock.now < BUDGET + clock.longest


def ended(door, *asked, **more):
    """The verdict, or why there is none."""
    try:
        return DOORS[door](*asked, **more), None
    except LimitReached as error:
        return None, str(error)


def said(error):
    """The numbers of a refusal: calls made, calls needed, and seconds to allow."""
    words = (
        r"no verdict: a budget of \S+ s is too little\. \w+ made: ([\d,]+), of about \S+ s each; "
        r"needed for a verdict: ([\d,]+)\. Allow ([\d.]+) s\b"
    )
    return [float(number.replace(",", "")) for number in re.match(words, error).groups()]


@pytest.mark.parametrize("door", DOORS)
def test_where_no_call_was_timed_no_seconds_are_advised(monkeypatch, door):
    """A budget of 1e-4 s was once told to allow 1.3e-7 s."""
    clock = Clock(monkeypatch, 0.0)

    def ticking():
        clock.now += 1.0
        return clock.now

    monkeypatch.setattr(time, "monotonic", ticking)
    _, error = ended(door, clock, 1.0, seconds=0.5)
    assert "a budget of 0.5 s was spent before it was known how long" in error
    assert error.endswith("take. Allow a minute, or give no budget")
    assert clock.calls == 0


@pytest.mark.parametrize("door", DOORS)
def test_a_budget_that_suffices_gives_a_verdict(monkeypatch, door):
    clock = Clock(monkeypatch, 0.002)
    assert DOORS[door](clock, 0.05, seconds=BUDGET).refuted
    assert clock.now < BUDGET
    assert clock.calls > 100


@pytest.mark.parametrize("door", DOORS)
def test_what_is_said_to_suffice_does(monkeypatch, door):
    _, error = ended(door, Clock(monkeypatch, 0.5), 0.01, seconds=2.0)
    *_, allowed = said(error)
    again = Clock(monkeypatch, 0.5)
    verdict = DOORS[door](again, 0.01, seconds=allowed)
    assert again.now < allowed + 0.5
    assert getattr(verdict, "verdict", verdict).could_refute


@pytest.mark.parametrize("door", ["probe", "training"])
def test_a_folder_loses_nothing_and_goes_on(monkeypatch, tmp_path, door):
    monkeypatch.setattr(kept_calls, "PIECE", 8)
    many = {"models": 100} if door == "training" else {"samples": 100}
    whole = DOORS[door](Clock(monkeypatch, 0.0), 0.05, **many)
    clock, stops = Clock(monkeypatch, 0.4), 0
    verdict = None
    while verdict is None and stops < 30:
        begun = clock.now
        verdict, error = ended(door, clock, 0.05, seconds=BUDGET, folder=tmp_path / "kept", **many)
        stops += verdict is None
        assert clock.now - begun < BUDGET + 0.5
        assert verdict is not None or f"kept in {tmp_path / 'kept'}" in error
    assert stops > 0
    assert verdict.refuted == whole.refuted
    assert verdict.epsilon_lower().value == pytest.approx(whole.epsilon_lower().value, rel=0.2)


def test_a_folder_is_of_no_use_where_one_run_does_not_suffice_for_its_end(monkeypatch, tmp_path):
    clock = Clock(monkeypatch, 1.0)
    with pytest.raises(LimitReached) as error:
        by_probe(clock, 1.0, seconds=BUDGET, folder=tmp_path / "kept", samples=100)
    assert "run the same again" not in str(error.value)
    assert clock.calls == 6


@pytest.mark.parametrize("folder", [True, False], ids=["kept", "not kept"])
def test_a_sequential_test_needs_time_for_its_first_batch_alone(monkeypatch, tmp_path, folder):
    asked = {"samples": 3_000, "seconds": BUDGET} | ({"folder": tmp_path / "k"} if folder else {})
    verdict, error = ended("until decided", Clock(monkeypatch, 0.1), 0.05, **asked)
    assert error is None
    assert verdict.refuted
    _, error = ended("until decided", Clock(monkeypatch, 0.5), 0.05, **asked)
    assert said(error)[1] < 300  # calls, of which 6,000 were allowed


def test_pairs_that_the_budget_does_not_suffice_for_are_named(monkeypatch):
    clock = Clock(monkeypatch, 0.1, 0.1, 0.1, 0.3)
    audited = by_step(clock, 0.05, seconds=100.0)
    assert audited.refuted
    assert 1 <= len(audited.pairs) == len(audited.shown) == 4 - len(audited.left_out) < 4
    assert "one record or two" in [pair.name for pair in audited.left_out]
    assert f"did not suffice for {len(audited.left_out)} of 4 pairs" in str(audited)
    assert "which were not probed: " in audited.verdict.remarks[0]
    assert "a pair left out would show" in audited.hint
    assert audited.verdict.confidence == pytest.approx(0.95)  # of all pairs planned


def test_some_pairs_of_a_step_are_no_verdict_unless_they_refute(monkeypatch):
    with pytest.raises(LimitReached, match=r"Pairs probed: [123] of 4, without .*one record or"):
        by_step(Clock(monkeypatch, 0.1, 0.1, 0.1, 0.3), 1.0, seconds=100.0)


def test_where_one_pair_alone_fits_it_shows_that_nothing_is_clipped(monkeypatch):
    clock = Clock(monkeypatch, 0.002)

    def unclipped(gradients, rng):
        clock.call()
        return rng.normal(gradients.sum(axis=0), 1.0)

    audited = audit.step(unclipped, clip=1.0, noise_multiplier=1.0, seconds=0.4)
    assert audited.refuted
    assert len(audited.pairs) < 5
    assert clock.now < 0.402


def test_models_that_were_not_trained_in_time_count_as_mistakes(monkeypatch):
    clock = Clock(monkeypatch, 0.02, 0.02, 0.02, 0.03)
    verdict = by_training(clock, 0.05, seconds=BUDGET)
    assert verdict.refuted
    assert "seconds=20 ended after" in str(verdict)
    assert clock.now < BUDGET + 0.05
    whole = by_training(Clock(monkeypatch, 0.02), 0.05, seconds=BUDGET)
    assert verdict.epsilon_lower().value < whole.epsilon_lower().value


@pytest.mark.parametrize("targets", [0, [0, 2]], ids=["one target", "two targets"])
@pytest.mark.parametrize("seed", range(8))
def test_models_that_are_left_out_never_add_to_what_is_shown(seed, targets):
    """Whatever they would have scored: so whenever training stops, the level is kept."""
    game = audit.MembershipGame(PEOPLE, audit.Targets(targets), models=120, seed=seed)
    rng = np.random.default_rng(seed)
    scale = rng.choice([0.05, 0.3, 3.0])
    size = game.targets.size
    played = game.play(lambda people, seed: people.sum() + rng.laplace(0, scale, size))
    for done in (60, 100, 119):
        part = replace(
            played, raw=played.raw.copy(), seconds=np.where(np.arange(120) < done, 1.0, np.nan)
        )
        part.raw[done:] = np.nan
        for delta in (0.0, 1e-3):
            shown, less = (
                audit.game_evidence(of, delta=delta).epsilon_lower(delta).value
                for of in (played, part)
            )
            assert less <= shown + 1e-12


def test_a_sequential_test_that_the_clock_ends_says_so(monkeypatch):
    verdict = until_decided(Clock(monkeypatch, 0.05), 1.0, seconds=BUDGET)
    assert not verdict.refuted
    assert "The budget of 20 s ended it." in str(verdict)


def test_what_does_not_fit_is_refused_before_it_is_begun(monkeypatch):
    clock = Clock(monkeypatch, 0.1)
    with pytest.raises(LimitReached, match="a budget of 20 s is too little"):
        by_probe(clock, 1.0, seconds=BUDGET, samples=10_000)
    assert clock.calls < 50


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_keep_the_budget(backend):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        begun = time.monotonic()
        with pytest.raises(LimitReached, match=r"made: .* or more, .* needed for a verdict"):
            audit.training(dozes, PEOPLE, claim=CLAIM, models=1_000, seconds=1.0)
    assert time.monotonic() - begun < 30


def test_a_sequential_test_counts_the_calls_of_workers(monkeypatch):
    made, purses = [], []

    class Watched(pace.Purse):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            purses.append(self)

    def naps(count, rng):
        time.sleep(0.003)
        made.append(count)
        return count + 0.01 * rng.laplace()

    monkeypatch.setattr(pace, "Purse", Watched)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        verdict = audit.probe(naps, 0, 1, claim=CLAIM, seconds=60.0, until_decided=True)
    assert verdict.refuted
    (purse,) = purses
    assert purse.elsewhere
    assert 0.8 * len(made) <= purse.calls <= len(made)


def dozes(people, seed):
    time.sleep(0.05)
    return [people.sum() + np.random.default_rng(seed).laplace(0, 1.0)]


def test_another_limit_has_words_of_its_own(monkeypatch):
    clock = Clock(monkeypatch, 0.1)
    with deadline.within(seconds=5.0), pytest.raises(LimitReached, match=deadline.TIME_IS_UP):
        by_probe(clock, 1.0, seconds=BUDGET)
    assert clock.now < 5.2


def tells(people, rng, size=None):
    return 2 * len(people) + rng.integers(0, 2, size)


def tells_in_many_ways(people, rng, size=None):
    return len(people) + 0.1 * rng.random(size)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 4.5])
def test_the_fewest_calls_are_just_enough(epsilon):
    """The most telling functions are refuted by as many, and by one fewer call none could be."""
    claim = ta.guarantee(epsilon=epsilon)
    fewest = fewest_calls(claim, 0.05)

    def refuted(calls):
        both = (tells, tells_in_many_ways)
        verdicts = [audit.probe(f, [1], [1, 2], claim=claim, samples=calls) for f in both]
        assert calls == fewest or not any(verdict.could_refute for verdict in verdicts)
        return any(verdict.refuted for verdict in verdicts)

    assert refuted(fewest)
    assert fewest == FEWEST or not refuted(fewest - 1)
