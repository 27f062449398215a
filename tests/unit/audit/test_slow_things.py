"""Slow functions: timed first, said beforehand, within a budget, and given up where hopeless."""

import io
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellapart as ta
from tellapart import _progress, audit, report
from tellapart.audit import domains
from tellapart.audit.probing import pace
from tellapart.audit.probing.probe_run import could_refute
from tellapart.audit.searching import worst_pair
from tellapart.audit.trainings import training_audit
from tellapart.errors import InvalidArgument, TrainingStopped

CLAIM = ta.guarantee(epsilon=1)


def slow_count(data, rng):
    time.sleep(0.002)
    return len(data) + rng.laplace(0, 0.1)


def slow_sum(data, rng):
    time.sleep(0.0001)
    return sum(data) + rng.laplace(0, 0.1)


def slow_step(gradients, rng):
    time.sleep(0.0001)
    return rng.normal(gradients.sum(axis=0), 1.0)


def slow_training(people, seed):
    time.sleep(0.002)
    return [people.sum() + np.random.default_rng(seed).laplace(0, 0.1)]


PEOPLE = np.array([1.0, 0.0, 1.0])


class Counted:
    """A function that raises, and how often it was called."""

    def __init__(self, error=ZeroDivisionError):
        self.calls, self.error = 0, error

    def __call__(self, data, rng=None):
        self.calls += 1
        raise self.error("in vain")


# -- functions that raise on every call ------------------------------------------------------------


@pytest.mark.parametrize("asked", [{}, {"samples": 100_000}, {"seconds": 50.0}])
def test_a_probe_of_a_function_that_always_raises_ends_after_its_first_calls(asked):
    function = Counted()
    with pytest.raises(InvalidArgument, match="the function raised on every call: ZeroDivision"):
        audit.probe(function, [1], [1, 2], claim=CLAIM, **asked)
    assert function.calls < 100


def test_a_search_of_a_function_that_always_raises_ends_after_its_first_calls():
    function = Counted(KeyError)
    with pytest.raises(InvalidArgument, match="the function failed on every call on 8 pairs"):
        audit.search(function, domains.Numbers(0.0, 1.0), claim=CLAIM, tries=8, samples=100)
    assert function.calls < 8 * 40


def test_a_training_that_raises_ends_with_the_first_model():
    function = Counted()
    with pytest.raises(TrainingStopped, match=r"model 0 .* raised ZeroDivisionError"):
        audit.training(lambda data, seed: function(data), PEOPLE, claim=CLAIM)
    assert function.calls == 1


def test_raising_on_one_input_is_an_output():
    def odd(data, rng):
        if len(data) == 1:
            raise ValueError("too few")
        return rng.normal()

    assert audit.probe(odd, [1], [1, 2], claim=CLAIM, samples=200).refuted


# -- budgets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", [1e-6, 1e-4, 1e-3, 5e-3, 5e-2])
@pytest.mark.parametrize("asked", [(None, None), (400, None), (None, 400)])
def test_the_calls_of_a_search_fit_into_a_minute(each, asked):
    wanted, rounds = worst_pair._Counts(*asked), worst_pair._rounds(64)
    (race, probed), fitting = worst_pair._fitting(wanted, rounds, 64, pace.MINUTE / each, 200)
    assert each * (race + 2 * probed) <= pace.MINUTE
    assert (asked[0] or race, asked[1] or probed) == (race, probed)
    assert (fitting == rounds) == (each < 1e-3 or asked[0] is not None)
    assert race >= (asked[0] or worst_pair._fewest_calls(fitting))


def test_a_search_too_slow_for_a_minute_says_the_least_it_takes(monkeypatch):
    monkeypatch.setattr(pace, "MINUTE", 0.01)
    least = r"64 calls try one pair, and 200 on each input probe it, .*, the least .* takes"
    with pytest.warns(pace.SlowProbe, match=rf"{least}, which finds .* \(90 % power\)"):
        audit.search(slow_sum, domains.Numbers(0.0, 1.0, rows=(1, 2)), claim=CLAIM)


# -- what takes long says so -----------------------------------------------------------------------


def test_defaults_that_take_long_say_how_long_and_what_is_cheaper(monkeypatch):
    monkeypatch.setattr(pace, "MINUTE", 0.1)
    monkeypatch.setattr(training_audit, "_USUAL", 100)
    with pytest.warns(
        pace.SlowProbe, match=r"one call takes .* in all.*finds.* seconds= as many as fit"
    ):
        audit.search(slow_sum, domains.Numbers(0.0, 1.0, rows=(1, 2)), claim=CLAIM, tries=1)
    with pytest.warns(pace.SlowProbe, match=r"one step takes .*finds.* only= keeps fewer pairs"):
        audit.step(slow_step, clip=1.0, noise_multiplier=1.0, only=["long canary"])
    with pytest.warns(training_audit.SlowTraining, match=r"100 models take about .*audit.step"):
        audit.training(slow_training, PEOPLE, claim=CLAIM)


def size_and_coin(data, rng, size=None):
    """Tells the size for sure, and never ends in the same output for long."""
    return 2 * len(data) + rng.integers(0, 2, size)


def slow_size(data, rng):
    time.sleep(0.0005)
    return size_and_coin(data, rng)


@pytest.mark.parametrize(
    "audited",
    [
        lambda claim: audit.probe(slow_size, [1], [1, 2], claim=claim),
        lambda claim: audit.search(slow_sum, domains.Numbers(0.0, 1.0), claim=claim),
        lambda claim: audit.step(slow_step, clip=1.0, noise_multiplier=1.0, claim=claim),
    ],
    ids=["probe", "search", "step"],
)
def test_where_no_outcome_could_refute_nothing_is_called_for_minutes(audited, monkeypatch):
    monkeypatch.setattr(pace, "MINUTE", 0.02)
    words = (
        r"no outcome of 200 calls on each input.*, about .* in all, could refute ε = 9, δ = 0\. "
    )
    with pytest.raises(ta.Unsupported, match=words + "State the mechanism.* samples=N takes"):
        audited(ta.guarantee(epsilon=9))


@pytest.mark.parametrize(("epsilon", "refuted"), [(4.5, True), (4.7, False)])
def test_what_is_refused_beforehand_is_what_could_not_be_refuted(epsilon, refuted, monkeypatch):
    claim = ta.guarantee(epsilon=epsilon)
    told = audit.probe(slow_size, [1], [1, 2], claim=claim, samples=200)
    assert (told.refuted, told.could_refute) == (refuted, refuted)
    monkeypatch.setattr(pace, "MINUTE", 0.02)
    if refuted:  # by all calls at once: bets on so few could not
        with pytest.warns(pace.SlowProbe, match="200 calls on each input, about"):
            assert audit.probe(slow_size, [1], [1, 2], claim=claim).refuted
    else:
        with pytest.raises(ta.Unsupported, match="no outcome of 200 calls"):
            audit.probe(slow_size, [1], [1, 2], claim=claim)


@given(epsilon=st.floats(0.1, 8.0), delta=st.sampled_from([0.0, 1e-5, 0.01]))
def test_calls_can_be_decided_where_calls_that_all_speak_against_the_claim_decide(epsilon, delta):
    claim, calls = ta.guarantee(epsilon, delta), 300
    verdict = audit.probe(
        size_and_coin, [1], [1, 2], claim=claim, samples=calls, until_decided=True
    )
    assert could_refute(claim, calls, 0.05, until_decided=True) == verdict.refuted
    assert verdict.could_refute == verdict.refuted


def test_a_training_under_a_budget_says_how_many_models_the_claim_takes():
    with pytest.raises(InvalidArgument, match=r"models must be about 1,013,177 or more.* takes 47"):
        audit.training(slow_training, PEOPLE, claim=ta.guarantee(12, 1e-5), seconds=5)


def test_calls_that_could_not_refute_a_claim_say_what_its_curve_takes():
    verdict = audit.probe(len, [1], [1, 2], claim=ta.guarantee(12, 1e-5), samples=200)
    assert "takes 47 calls in all that test it" in str(verdict)


def test_results_that_hold_a_verdict_are_asked_as_verdicts_are():
    searched = audit.search(
        slow_sum, domains.Numbers(0.0, 1.0), claim=CLAIM, tries=1, samples=200, search_calls=4_000
    )
    stepped = audit.step(slow_step, clip=1.0, noise_multiplier=1.0, samples=200)
    for result in (searched, stepped):
        verdict = result.verdict
        for name in ("refuted", "confidence", "could_refute", "headline", "evidence"):
            assert getattr(result, name) == getattr(verdict, name)
        assert result.epsilon_lower() == verdict.epsilon_lower()
        assert report.of(result).headline == report.of(verdict).headline


def test_a_kept_probe_is_timed_as_well(monkeypatch, tmp_path):
    monkeypatch.setattr(pace, "MINUTE", 0.01)
    monkeypatch.setattr(pace, "USUAL", 200)
    with pytest.warns(pace.SlowProbe, match="200 calls on each input"):
        audit.probe(slow_count, [1], [1, 2], claim=CLAIM, folder=tmp_path / "kept")


def test_what_is_fast_is_as_ever_and_says_nothing():
    def release(data, rng, size=None):
        return sum(data) + rng.laplace(0, 1, size)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = audit.search(release, domains.Numbers(0.0, 1.0, rows=(1, 2)), claim=ta.Laplace(1))
    assert found.verdict.evidence.calls == pace.USUAL
    assert pace.affordable(1e-9, 60.0) == pace.USUAL
    assert pace.affordable(60.0, 60.0) == pace.LEAST
    assert pace.affordable(1.0, 999.0) == 500


# -- progress --------------------------------------------------------------------------------------


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_elsewhere_there_is_a_line_a_minute_with_the_time_left():
    clock, out = Clock(), io.StringIO()
    lines = _progress.Lines(out, clock)
    for second in range(301):
        clock.now = float(second)
        lines("models", second / 600)
    assert out.getvalue().splitlines() == [
        "models: 10%, about 9 min left",
        "models: 20%, about 8 min left",
        "models: 30%, about 7 min left",
        "models: 40%, about 6 min left",
        "models: 50%, about 5 min left",
    ]


def test_what_was_kept_took_no_time():
    clock = Clock()
    left = _progress.TimeLeft(clock)
    assert left.after(0.5) is None
    clock.now = 10.0
    assert left.after(0.75) == pytest.approx(10.0)


def test_progress_is_told_of_the_search_and_the_probe(monkeypatch, capsys):
    told = []
    audit.search(
        slow_sum,
        domains.Numbers(0.0, 1.0, rows=(1, 2)),
        claim=CLAIM,
        tries=1,
        samples=20,
        search_calls=4_000,
        progress=told.append,
    )
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)
    monkeypatch.setattr(_progress, "PERIOD", 0.0)
    audit.probe(slow_count, [1], [1, 2], claim=CLAIM, samples=20, progress=True)
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "calls on each input: 100%, about 0 s left"
