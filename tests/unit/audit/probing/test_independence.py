"""Calls that share noise are told of; those that do not are left in peace."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from numpy.random import default_rng

import tellapart as ta
from tellapart import audit
from tellapart.audit.probing import exchangeability
from tellapart.audit.probing.calling.caller import Caller, Size, detect_convention
from tellapart.audit.probing.calling.calls import BLOCK, draw
from tellapart.audit.probing.calling.independence import (
    _at_most,
    _stretches,
    codes_of,
    dependence,
    joined_traces,
    never_changes,
    repeated,
    signature,
    signing,
    traced,
)
from tellapart.audit.probing.calling.outputs import HANGS, Broken, CallOutputs, packed
from tellapart.audit.probing.exchangeability import kept_noise

pytestmark = pytest.mark.usefixtures("by_value")

WORDS = "no verdict: calls are not independent; "
CORRELATED = (
    "consecutive outputs are correlated: is the generator re-seeded, for example from the clock?"
)
D0, D1 = [1.0], [2.0]

LAWS = {
    "continuous": lambda rng, n: rng.laplace(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n) ** 5,
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 1),
    "clipped": lambda rng, n: np.clip(rng.laplace(size=n), -0.2, 0.2),
    "whole": lambda rng, n: rng.geometric(0.5, n),
    "flags": lambda rng, n: rng.random(n) < 0.7,
    "rare flags": lambda rng, n: rng.random(n) < 3 / n,
    "vectors": lambda rng, n: rng.normal(size=(n, 3)),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.3, np.inf, rng.random(n)),
    "absent": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.random(n)),
    "constant": lambda rng, n: np.full(n, 2.5),
    "words": lambda rng, n: rng.choice(["a", "b", "c"], n).tolist(),
    "mixed": lambda rng, n: [None if x < 0.3 else HANGS if x < 0.5 else x for x in rng.random(n)],
}


@pytest.mark.parametrize("count", [1, 2, 3, 30, 1000, 20_000])
@pytest.mark.parametrize("law", LAWS)
def test_independent_calls_pass(law, count):
    """Each draw fails with probability below 1e-8: all of them, with less than 1e-5."""
    for seed in range(12 if count <= 1000 else 2):
        first, second = np.random.default_rng(seed).spawn(2)
        found = dependence(packed(LAWS[law](first, count)), packed(LAWS[law](second, count)))
        assert found is None


def shared(law, count):
    rngs = np.random.default_rng(1), np.random.default_rng(1)
    return tuple(packed(LAWS[law](rng, count)) for rng in rngs)


@pytest.mark.parametrize("law", ["continuous", "rounded", "whole", "flags", "vectors", "words"])
def test_noise_that_both_inputs_share_is_found(law):
    assert dependence(*shared(law, 2000)).reason.endswith("under the other input")


@pytest.mark.parametrize("count", [300, 30_000])
def test_noise_that_both_inputs_share_is_found_behind_a_shift(count):
    noise = np.random.default_rng(1).laplace(size=count)
    found = dependence(packed(1 + noise), packed(2 + noise))
    assert str(found) == (
        WORDS + "outputs on d0 and d1 at one call share their noise: is the generator re-seeded?"
    )


def test_noise_that_both_inputs_share_is_found_behind_a_scale():
    noise = np.random.default_rng(1).laplace(size=5000)
    found = dependence(packed(noise), packed(np.exp(3 * noise)))
    assert str(found) == (
        WORDS + "outputs on d0 and d1 at one call are correlated: is the generator re-seeded?"
    )


def test_flags_turned_round_are_found():
    flags = np.random.default_rng(1).random(5000) < 0.7
    assert dependence(packed(flags), packed(~flags)) is not None


@pytest.mark.parametrize("period", [2, 50, 999])
def test_a_stream_that_comes_again_is_found(period):
    cycle = itertools.cycle(np.random.default_rng(1).laplace(size=period).tolist())
    first, second = ([next(cycle) + shift for _ in range(4000)] for shift in (0, 1))
    assert "repeats exactly in later calls" in dependence(packed(first), packed(second)).reason


def test_blocks_with_the_same_numbers_are_found():
    """As workers make them that each got a copy of one generator."""
    block = np.random.default_rng(1).laplace(size=BLOCK)
    other = np.random.default_rng(2).laplace(size=2 * BLOCK)
    assert dependence(packed(np.tile(block, 2)), packed(other)) == dependence(
        packed(other), packed(np.tile(block, 2))
    )
    assert dependence(packed(np.tile(block, 2)), packed(other)) is not None


def test_one_noise_for_a_whole_batch_is_found():
    def lazy(data, rng, size):
        return np.full(size, data[0] + rng.laplace())

    caller = detect_convention(lazy, D0, D1)
    assert caller.size is Size.MANY
    first, second = draw(caller, D0, 5 * BLOCK, (0, 0)), draw(caller, D1, 5 * BLOCK, (0, 1))
    assert dependence(first, second) is not None


def test_noise_that_wanders_is_found():
    rng = np.random.default_rng(1)
    steps = rng.normal(size=20_000)
    wandering = np.convolve(steps, np.ones(5), "valid")
    found = dependence(packed(wandering), packed(rng.normal(size=20_000)))
    assert found.reason == CORRELATED


def test_categories_that_stick_are_found():
    rng = np.random.default_rng(1)
    sticky = np.repeat(rng.choice(["a", "b"], 5000), 2).tolist()
    found = dependence(packed(sticky), packed(rng.choice(["a", "b"], 10_000).tolist()))
    assert found.reason == CORRELATED


def test_categories_that_both_inputs_share_now_and_then_are_found():
    rng = np.random.default_rng(2)
    first, second = rng.choice(list("abcd"), (2, 10_000))
    second = np.where(rng.random(10_000) < 0.5, first, second)
    found = dependence(packed(first.tolist()), packed(second.tolist()))
    assert found.reason == (
        "outputs on d0 and d1 at one call repeat each other: is the generator re-seeded?"
    )


# -- noise that is kept --------------------------------------------------------------------------


def kept(draw_noise, takes_rng):
    memory = {}

    def with_rng(data, rng):
        return data[0] + memory.setdefault("noise", draw_noise(rng))

    def without(data):
        return data[0] + memory.setdefault("noise", draw_noise(np.random))

    return with_rng if takes_rng else without


def asked(mechanism):
    caller = detect_convention(mechanism, D0, D1)
    outputs = draw(caller, D0, 20, (0, 0)), draw(caller, D1, 20, (0, 1))
    assert all(never_changes(one) for one in outputs)
    return kept_noise(caller, (D0, D1), outputs)


@pytest.fixture
def few_forks(monkeypatch):
    """Enough where noise is of real numbers, or there is none."""
    monkeypatch.setattr(exchangeability, "FORKS", 4)


@pytest.mark.parametrize("takes_rng", [False, True])
@pytest.mark.parametrize("law", [lambda rng: rng.laplace(), lambda rng: rng.random() < 0.7])
def test_noise_that_is_drawn_once_is_found(law, takes_rng):
    found = asked(kept(law, takes_rng))
    assert (
        str(found) == WORDS + "the output never changes, but a fresh process gives another output"
    )


def _numpy(data):
    return data[0] + np.random.default_rng(0).laplace()


def _imported(data):
    return data[0] + default_rng(7).normal()


def _legacy(data):
    return data[0] + np.random.RandomState(3).normal()


def _global(data):
    np.random.seed(1)
    return data[0] + np.random.laplace()


def _python(data):
    return data[0] + random.Random(5).random()  # noqa: S311


def _python_global(data):
    random.seed(5)
    return data[0] + random.random()  # noqa: S311


@pytest.mark.parametrize(
    "mechanism", [_numpy, _imported, _legacy, _global, _python, _python_global]
)
def test_one_seed_in_every_call_is_found(mechanism, few_forks):
    words = "the output never changes, but it changes with the seed: "
    assert (
        str(asked(mechanism))
        == f"{WORDS}{words}the function seeds its generator at each call; remove the seed"
    )


def test_noise_that_is_kept_on_one_input_alone_is_found(few_forks):
    memory = {}

    def mechanism(data):
        return 0.0 if data == D0 else memory.setdefault("noise", np.random.laplace())

    found = asked(mechanism)
    assert (
        str(found) == WORDS + "the output never changes, but a fresh process gives another output"
    )


@pytest.mark.parametrize(("changed", "certain"), [(2, False), (60, True)])
def test_noise_that_seldom_shows_is_not_said_to_be_shared(changed, certain):
    """After twenty calls with one output, so many of 64 first calls of processes have another."""
    caller = Caller(lambda data: data[0])
    caller.fresh.append((D0, False, [1.0] * changed + [0.0] * (64 - changed)))
    shared = kept_noise(caller, (D0, D1), (packed([0.0] * 20), packed([1.0] * 20)))
    assert shared.certain is certain
    assert str(shared).startswith(WORDS if certain else "no verdict: 20 calls gave one output")


def rarely_lies(data, rng):
    """Randomised response with one lie in a hundred calls."""
    return (data == D1) ^ (rng.random() < 0.01)


def test_a_sequential_probe_goes_on_until_outputs_change():
    for seed in range(6):
        verdict = audit.probe(
            rarely_lies, D0, D1, claim=ta.guarantee(1), samples=2_000, until_decided=True, seed=seed
        )
        assert verdict.refuted


def test_no_noise_at_all_is_judged(few_forks):
    assert asked(lambda data: data[0] / 3) is None
    assert asked(lambda data, size: np.full(size, data[0] / 3)) is None
    assert asked(lambda data: {}["absent"]) is None


def test_where_no_fresh_start_can_be_had_nothing_is_judged():
    outputs = packed([1.0]), packed([2.0])
    found = kept_noise(Caller(lambda data: data[0]), (D0, D1), outputs)
    assert str(found) == WORDS + (
        "the output never changes, and no fresh process starts: "
        "mechanism cannot be sent to a process"
    )


# -- parts ---------------------------------------------------------------------------------------


def test_equal_outputs_have_equal_codes_and_others_do_not():
    values = np.array([0.0, -0.0, 1.0, np.nan, np.inf, 1.0])
    codes = codes_of(CallOutputs(values))
    same = codes[:, None] == codes[None, :]
    texts = ["0", "0", "1", "nan", "inf", "1"]
    assert same.tolist() == [[a == b for b in texts] for a in texts]
    mixed = [None, "a", 1, (1, 2), Broken("hangs"), HANGS, {"a": 1}, lambda: 0]
    codes = codes_of(CallOutputs(mixed)).tolist()
    assert codes[4] == codes[5]
    assert len(set(codes)) == len(mixed) - 1


def test_equal_whole_numbers_have_equal_codes_however_large():
    large = [2**60, 2**60 + 1, -(2**63), 2**63 - 1]
    of_array = codes_of(CallOutputs(np.array(large)))
    assert len(set(of_array.tolist())) == len(large)
    assert codes_of(CallOutputs([*large, 0.5]))[:-1].tolist() == of_array.tolist()
    assert codes_of(CallOutputs(np.array([2.0**60])))[0] == of_array[0]
    assert len(set(codes_of(CallOutputs([10**400, 10**400 + 1, 10**400])).tolist())) == 2


@pytest.mark.parametrize("length", [1, 2, 5])
def test_stretches_are_the_naive_windows(length):
    codes = np.random.default_rng(0).integers(0, 2, 40).astype(np.uint64)
    found = _stretches(codes, length)
    windows = [tuple(codes[i : i + length].tolist()) for i in range(40 - length + 1)]
    assert len(found) == len(windows)
    for i, j in itertools.product(range(len(windows)), repeat=2):
        assert (found[i] == found[j]) == (windows[i] == windows[j])


def test_the_limit_on_an_agreement_is_clopper_and_pearsons():
    from scipy.stats import binom

    for happened, count in [(0, 10), (3, 50), (49, 50)]:
        limit = _at_most(happened, count)
        assert binom.cdf(happened, count, limit) == pytest.approx(1e-10, rel=1e-5)
    assert _at_most(5, 5) == 1.0
    assert _at_most(0, 0) == 1.0


def test_outputs_that_change_are_seen_to():
    assert never_changes(packed([2.0, 2.0]))
    assert not never_changes(packed([2.0, 3.0]))
    assert never_changes(packed(["a", "a"]))
    assert not never_changes(packed(["a", HANGS]))


# -- traces of blocks that were run apart --------------------------------------------------------


@pytest.mark.parametrize("law", [*LAWS, "lists"])
def test_traces_of_parts_are_those_of_the_whole(law):
    """A block of numbers alone and one with words among them give equal numbers equal codes."""
    rng = np.random.default_rng(0)
    lists = [[float(x)] * 2 if x < 0.9 else [None, 1, True] for x in rng.random(600).round(1)]
    values = list(lists if law == "lists" else LAWS[law](rng, 600))
    values = [one.item() if isinstance(one, np.generic) else one for one in values]
    parts = [values[:7], values[7:8], values[8:400], [*values[400:], None]]
    whole, joined = (
        traced(packed([*values, None])),
        joined_traces([traced(packed(part)) for part in parts]),
    )
    assert np.array_equal(whole.codes, joined.codes)
    assert (whole.sizes, joined.sizes, whole.broken, joined.broken) == (None,) * 4
    numbers = [traced(packed(part)) for part in parts[:3]]
    if all(one.sizes is not None for one in numbers):
        together = traced(packed(values[:400]))
        assert np.array_equal(joined_traces(numbers).sizes, together.sizes, equal_nan=True)


def test_calls_that_all_broke_are_known_from_parts():
    broke = traced(CallOutputs([HANGS, Broken("raises KeyError")]))
    assert joined_traces([broke, broke]).broken == HANGS
    assert joined_traces([broke, traced(packed([1.0]))]).broken is None


@pytest.mark.parametrize("law", LAWS)
def test_blocks_sign_themselves_apart(law):
    """Two of 400 independent blocks sign alike with probability below 1e-9."""
    rng = np.random.default_rng(0)
    home = traced(packed(LAWS[law](rng, 20_000)))
    length = signing(home, home, 400)
    if law in ("constant", "rare flags"):
        assert length is None
        return
    blocks = [packed(LAWS[law](rng, length + 5)) for _ in range(400)]
    signed = [signature(block, length) for block in blocks]
    assert repeated(signed, length) is None
    again = signature(blocks[7][:length], length)
    assert repeated([*signed, again], length).reason == (
        f"a sequence of {length} outputs repeats exactly in another block"
    )
    assert signature(blocks[0][: length - 1], length) is None
