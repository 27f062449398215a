"""Calling a mechanism: however it wants to be called, whatever comes of it."""

from __future__ import annotations

import functools
import importlib
import os
import random
import sys
import threading
import time
import warnings

import cloudpickle
import joblib
import numpy as np
import pytest

from tellapart import run
from tellapart.audit.probing.calling import calls
from tellapart.audit.probing.calling.caller import Caller, Size, asked_for, detect_convention
from tellapart.audit.probing.calling.calls import BLOCK, draw, gathered
from tellapart.audit.probing.calling.guarded import guarded, sealed
from tellapart.audit.probing.calling.independence import traced
from tellapart.audit.probing.calling.outputs import GONE, HANGS, Broken, CallOutputs, joined, packed
from tellapart.audit.probing.exchangeability import refuse_if_all_broke
from tellapart.errors import InvalidArgument, Unsupported

D0, D1 = [1.0, 2.0], [1.0, 2.0, 3.0]
# Processes need not load this module, and all that it imports, for a function of it.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def noisy_sum(data, rng):
    return sum(data) + rng.laplace()


def noisy_sums(data, rng, size):
    return sum(data) + rng.laplace(size=size)


def global_noise(data):
    return sum(data) + np.random.laplace() + random.random()  # noqa: S311


def outputs_of(mechanism, count=50, data=D0, seed=(3, 0), **options):
    caller = detect_convention(mechanism, D0, D1, **options)
    return draw(caller, data, count, seed).listed()


# -- how it is called ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [
        (lambda data: 0, (False, False, False)),
        (lambda data, rng: 0, (True, False, False)),
        (lambda data, *, rng=None, size=1: 0, (True, True, False)),
        (lambda data, size: 0, (False, True, True)),
        (lambda rng: 0, (False, False, False)),  # the first parameter is the input
        (lambda size, rng: 0, (True, False, False)),
        (lambda data, **rest: 0, (False, False, False)),
        (lambda *data, rng: 0, (True, False, False)),
        (lambda *, rng: 0, (True, False, False)),  # no input: a call says so
        (lambda: 0, (False, False, False)),
        (functools.partial(noisy_sums, size=3), (True, False, False)),
        (max, (False, False, False)),
    ],
)
def test_parameters_are_asked_for_by_name(mechanism, expected):
    assert asked_for(mechanism) == expected


def test_a_method_is_asked_without_its_self():
    class Mechanism:
        def release(self, data, rng):
            return rng.random()

    assert asked_for(Mechanism().release) == (True, False, False)


def test_single_calls_and_batches_are_the_naive_loop():
    rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0, 0)))
    rng.integers(2**62)  # seeds the global generators
    expected = [noisy_sum(D0, rng) for _ in range(50)]
    assert outputs_of(noisy_sum) == expected
    assert outputs_of(noisy_sums) == pytest.approx(expected, rel=1e-15)


def test_a_size_that_is_no_number_of_outputs_is_left_alone():
    def histogram(data, rng, size=4):
        return rng.random(4)

    caller = detect_convention(histogram, D0, D1)
    assert caller.size is Size.UNASKED
    assert draw(caller, D0, 20, 0).values.shape == (20, 4)


def test_a_size_that_is_needed_and_ignored_is_told_of():
    with pytest.raises(InvalidArgument) as caught:
        detect_convention(lambda data, size: [1, 2, 3], D0, D1)
    assert str(caught.value) == (
        "mechanism must return 7 outputs when asked for size=7, got [1, 2, 3]"
    )


def test_text_is_no_batch():
    caller = detect_convention(lambda data, size=1: "a" * size, D0, D1)
    assert caller.size is Size.UNASKED


def test_a_batch_that_raises_at_once_is_called_singly():
    def raises(data, rng, size):
        if rng.random() < 0.9:
            raise ValueError("unlucky")
        return rng.random(size)

    caller = detect_convention(raises, D0, D1)
    assert caller.size is Size.ONE
    found = draw(caller, D0, 200, 0).listed()
    broken = [one for one in found if one == Broken("raises ValueError")]
    assert 150 < len(broken) < 200
    assert all(0 <= one < 1 for one in found if not isinstance(one, Broken))


def test_a_batch_that_raises_later_is_told_of():
    """Calling again would count fewer exceptions than there are."""

    def raises(data, size):
        if size > 100:
            raise ValueError("too many")
        return [0.5] * size

    with pytest.raises(Unsupported) as caught:
        draw(detect_convention(raises, D0, D1), D0, 200, 0)
    assert str(caught.value) == (
        "mechanism broke off a batch of 200 calls (raises ValueError: too many), and which of "
        "them did it cannot be told; give it without its parameter size"
    )


def test_a_batch_of_another_length_later_is_told_of():
    def short(data, size):
        return np.zeros(min(size, 100))

    with pytest.raises(InvalidArgument, match="must return 200 outputs when asked for size=200"):
        draw(detect_convention(short, D0, D1), D0, 200, 0)


# -- blocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [noisy_sum, noisy_sums, global_noise])
def test_blocks_are_the_same_in_processes(mechanism):
    count = 2 * BLOCK + 5
    caller = detect_convention(mechanism, D0, D1)
    here = draw(caller, D0, count, (3, 1))
    with joblib.parallel_config(backend="loky", n_jobs=2):
        there = draw(caller, D0, count, (3, 1))
    assert len(here) == count
    assert np.array_equal(here.values, there.values)
    assert len(set(here.values.tolist())) == count


@pytest.mark.parametrize("mechanism", [noisy_sum, noisy_sums])
def test_blocks_are_the_same_in_threads(mechanism):
    caller = detect_convention(mechanism, D0, D1)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        there = draw(caller, D0, 2 * BLOCK, (3, 1))
    assert np.array_equal(draw(caller, D0, 2 * BLOCK, (3, 1)).values, there.values)


def test_more_calls_begin_with_the_same_blocks():
    caller = detect_convention(noisy_sum, D0, D1)
    few, many = draw(caller, D0, BLOCK, 4), draw(caller, D0, BLOCK + 1, 4)
    assert len(many) == BLOCK + 1
    assert np.array_equal(few.values, many.values[:BLOCK])


def test_only_what_a_block_is_reduced_to_comes_back():
    caller = detect_convention(noisy_sums, D0, D1)
    counts = gathered(caller, D0, BLOCK + 10, 4, lambda block: (len(block), block.values.sum()))
    whole = draw(caller, D0, BLOCK + 10, 4).values
    assert counts == [(BLOCK, whole[:BLOCK].sum()), (10, whole[BLOCK:].sum())]


def test_many_blocks_a_task_have_the_same_numbers(monkeypatch):
    caller, count = detect_convention(noisy_sums, D0, D1), 4 * BLOCK + 10
    whole = draw(caller, D0, count, 4).values
    monkeypatch.setattr(calls, "_MOST_TASKS", 2)
    assert np.array_equal(draw(caller, D0, count, 4).values, whole)
    merged = gathered(caller, D0, count, 4, lambda block: (len(block),), merge=lambda a, b: a + b)
    assert merged == [(BLOCK,) * 3, (BLOCK, 10)]
    later = gathered(caller, D0, count, 4, lambda block: block.values, skip=3)
    assert np.array_equal(np.concatenate(later), whole[3 * BLOCK :])


def test_threads_take_turns_with_the_global_generators():
    caller = detect_convention(global_noise, D0, D1)
    here = draw(caller, D0, 3 * BLOCK, 4).values
    with joblib.parallel_config(backend="threading", n_jobs=3):
        there = draw(caller, D0, 3 * BLOCK, 4).values
    assert np.array_equal(here, there)


def test_global_generators_are_left_as_they_were():
    np.random.seed(1)
    random.seed(1)
    expected = np.random.random(), random.random()  # noqa: S311
    np.random.seed(1)
    random.seed(1)
    outputs_of(global_noise)
    assert (np.random.random(), random.random()) == expected  # noqa: S311


# -- inputs --------------------------------------------------------------------------------------


def test_a_mechanism_that_spoils_its_input_gets_copies():
    def popping(data):
        data.append(0.0)
        return len(data)

    data = list(D0)
    caller = detect_convention(popping, data, D1)
    assert caller.spoils
    assert caller.changes
    assert draw(caller, data, 100, 0).listed() == [3] * 100
    assert data == D0


def test_one_that_reads_an_iterator_gets_copies():
    caller = detect_convention(sum, iter([1, 2]), iter([1, 2, 3]))
    assert caller.spoils
    assert draw(caller, iter([1, 2]), 10, 0).listed() == [3] * 10


def test_one_that_spoils_its_input_later_is_told_of():
    calls = []

    def later(data):
        calls.append(1)
        if len(calls) > 50:
            data[0] = 9.0
        return data[0]

    data = list(D0)
    caller = detect_convention(later, data, D1)
    with pytest.raises(InvalidArgument) as caught:
        draw(caller, data, 100, 0)
    assert str(caught.value) == (
        "mechanism must leave its input unchanged, or change it from its first call on, "
        "got [9.0, 2.0]"
    )
    assert data == D0


def test_arrays_and_frames_that_are_only_read_are_not_copied():
    pandas = pytest.importorskip("pandas")
    assert not detect_convention(lambda data: data.sum(), np.arange(3), np.arange(4)).spoils
    frame = pandas.DataFrame({"a": [1, 2]})
    assert not detect_convention(lambda data: data["a"].sum(), frame, frame).spoils
    assert detect_convention(lambda data: data.__setitem__("a", 0), frame, frame).spoils


def test_data_that_cannot_be_seen_through_are_copied_each_time():
    caller = detect_convention(lambda data: data[0](1), [lambda x: x], [lambda x: x])
    assert caller.spoils
    assert not caller.changes  # as far as can be seen


def test_data_that_cannot_be_copied_are_told_of():
    with pytest.raises(InvalidArgument) as caught:
        detect_convention(sum, (x for x in D0), D1)
    assert str(caught.value) == (
        "data must be something that can be copied: cannot pickle 'generator' object"
    )


# -- outputs -------------------------------------------------------------------------------------


def test_exceptions_are_outputs():
    def fails(data, rng):
        if rng.random() < 0.5:
            raise KeyError("absent")
        return 1.5

    found = outputs_of(fails, count=200)
    assert set(found) == {1.5, Broken("raises KeyError")}
    assert str(next(one for one in found if one != 1.5)) == "raises KeyError: 'absent'"


def test_leaving_python_is_an_output_too():
    assert outputs_of(lambda data: exit(3), count=3) == [Broken("raises SystemExit")] * 3


def test_a_buffer_that_is_filled_anew_is_not_an_output_twice():
    buffer, items = np.zeros(2), []

    def reuses(data, rng):
        buffer[:] = rng.random(2)
        return buffer

    def grows(data):
        items.append(len(items))
        return items

    assert len(set(map(tuple, outputs_of(reuses)))) == 50
    assert len({len(one) for one in outputs_of(grows)}) == 50


def test_if_every_call_breaks_the_first_message_is_told():
    def needs_more(data, epsilon):
        return epsilon

    caller = detect_convention(needs_more, D0, D1)
    first, second = draw(caller, D0, 10, (0, 0)), draw(caller, D1, 10, (0, 1))
    with pytest.raises(InvalidArgument) as caught:
        refuse_if_all_broke(traced(first), traced(second))
    assert str(caught.value) == (
        "the function raised on every call: "
        "TypeError: test_if_every_call_breaks_the_first_message_is_told.<locals>.needs_more() "
        "missing 1 required positional argument: 'epsilon'"
    )


def test_if_every_call_hangs_that_is_told():
    with pytest.raises(InvalidArgument) as caught:
        refuse_if_all_broke(traced(CallOutputs([HANGS, HANGS])), traced(CallOutputs([HANGS])))
    assert str(caught.value) == ("the function must return, but no call did: the first one hangs")


def test_if_one_input_has_values_all_is_well():
    broken = CallOutputs([Broken("raises KeyError")])
    some = CallOutputs([*broken.values, None])
    for pair in ((broken, packed([1.0])), (packed([1.0]), broken), (broken, some)):
        assert refuse_if_all_broke(*map(traced, pair)) is None


@pytest.mark.parametrize(
    ("values", "shape", "kind"),
    [
        ([1.0, 2.5], (2,), "f"),
        ([1, 2], (2,), "i"),
        ([1, 2.5, np.float32(3)], (3,), "f"),
        ([True, np.False_], (2,), "b"),
        ([2**53, -(2**53), 0.5], (3,), "f"),
        ([2**60 + 1, -1], (2,), "i"),
        ([(1, 2), [3, 4]], (2, 2), "i"),
        ([(1.0, 2), (3, 4)], (2, 2), "f"),
        ([np.zeros((2, 3))] * 4, (4, 2, 3), "f"),
        ([[True], [False]], (2, 1), "b"),
        (np.zeros((3, 2), dtype=np.float32), (3, 2), "f"),
    ],
)
def test_numbers_are_packed(values, shape, kind):
    found = packed(values)
    assert isinstance(found.values, np.ndarray)
    assert found.values.shape == shape
    assert found.values.dtype.kind == kind


@pytest.mark.parametrize(
    "values",
    [
        [10**400, -(10**400), 1],
        [2**64 + 1, 1],
        [2**63, -1],
        [2**60 + 1, 0.5],
        [[2**60 + 1, 0.5], [1, 2]],
        [np.array([2**60 + 1]), np.array([0.5])],
        [np.array([2**63], dtype=np.uint64), np.array([-1])],
    ],
    ids=["huge", "more bits", "signs", "a fraction", "a list", "arrays", "arrays of signs"],
)
def test_whole_numbers_that_no_array_holds_stay_as_they_are(values):
    found = packed(values)
    assert isinstance(found.values, list)
    assert found.values == values


def test_whole_numbers_beside_fractions_are_joined_to_the_last_digit():
    large, small = packed([2**60 + 1, 1]), packed([0.5])
    assert joined([large, small]).listed() == [2**60 + 1, 1, 0.5]
    assert isinstance(joined([packed([3, 1]), small]).values, np.ndarray)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, None],
        [True, 1.0],
        [[1.0], [1.0, 2.0]],
        [[True, 1.0], [False, 2.0]],
        [{"a": 1}, {"a": 2}],
        ["a", "b"],
        [calls.Size.MANY, calls.Size.ONE],
        [[1.0, 2.0], np.zeros(2)],
    ],
)
def test_anything_else_stays_as_it_is(values):
    found = packed(values)
    assert isinstance(found.values, list)
    assert all(one is other for one, other in zip(found.values, values, strict=True))


def test_parts_are_joined_in_order():
    assert joined([packed([1, 2]), packed([0.5])]).listed() == [1, 2, 0.5]
    assert joined([packed([1, 2]), packed([None])]).listed() == [1, 2, None]
    assert joined([packed([True]), packed([2])]).listed() == [True, 2]
    assert joined([packed([(1, 2)]), packed([3])]).listed()[1] == 3


# -- calls that hang -----------------------------------------------------------------------------


def hangs_or_dies(data):
    drawn = np.random.random()
    if drawn < 0.1:
        time.sleep(1000)
    if drawn < 0.2:
        os._exit(1)
    if drawn < 0.4:
        raise ValueError("unlucky")
    print("noise on the way out")  # noqa: T201
    data.append(0)
    return len(data)


def test_calls_that_hang_or_die_are_outputs():
    caller = Caller(hangs_or_dies, timeout=0.5)
    begin = time.monotonic()
    found = draw(caller, D0, 30, 1).listed()
    assert time.monotonic() - begin < 60
    kinds = {one.words if isinstance(one, Broken) else one for one in found}
    assert kinds == {3, "hangs", "ends its process", "raises ValueError"}
    assert len(found) == 30


def test_a_call_is_cut_off_when_its_time_is_over_and_not_much_later():
    caller = Caller(lambda data: time.sleep(3) or 1, timeout=0.3)
    assert draw(caller, D0, 1, 0).listed() == [HANGS]


def ends(data):
    os._exit(0)


def sleeps(data):
    time.sleep(100)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.parametrize(("mechanism", "rounds", "found"), [(ends, 4, GONE), (sleeps, 1, HANGS)])
def test_first_calls_that_end_or_hang_cost_no_process_each(mechanism, rounds, found, monkeypatch):
    """One start is enough for calls that end their fork; a fork that hangs is ended, too."""
    starts = []

    def seeds():
        starts.append(1)
        return {"seed": 0, "extra": {}}

    order = {"mechanism": mechanism, "data": D0, "copies": False, "afresh": True}
    begin = time.monotonic()
    assert guarded(order, rounds, 0.5 if mechanism is sleeps else None, seeds) == [found] * rounds
    assert len(starts) == 1
    assert time.monotonic() - begin < 60


def test_a_process_of_its_own_is_given_the_generator():
    first = outputs_of(noisy_sum, count=5, timeout=20)
    assert first == outputs_of(noisy_sum, count=5, timeout=20)
    assert len(set(first)) == 5
    batch = draw(Caller(noisy_sums, 20, takes_rng=True, size=Size.MANY), D0, 5, 0)
    assert len(set(batch.listed())) == 5


def test_closures_travel():
    shift = 4.0
    assert outputs_of(lambda data: data[0] + shift, count=3, timeout=20) == [5.0] * 3


def test_what_cannot_travel_is_told_of():
    lock = threading.Lock()
    with pytest.raises(Unsupported) as caught:
        draw(Caller(lambda data: lock.locked(), timeout=5), D0, 3, 0)
    assert str(caught.value) == (
        "mechanism and data cannot be sent to a process: cannot pickle '_thread.lock' object"
    )


def test_an_output_that_cannot_travel_is_told_of():
    with pytest.raises(Unsupported) as caught:
        draw(Caller(lambda data: (x for x in data), timeout=20), D0, 3, 0)
    assert str(caught.value) == (
        "an output cannot be sent between processes: generator: cannot pickle 'generator' object"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mechanism": 3}, "mechanism must be callable, got 3"),
        ({"timeout": 0}, "timeout must be finite and greater than 0, got 0"),
        ({"timeout": "1"}, "timeout must be a number, got '1'"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_what_is_wrong_is_said(arguments, message):
    mechanism = arguments.pop("mechanism", sum)
    with pytest.raises(InvalidArgument) as caught:
        detect_convention(mechanism, D0, D1, **arguments)
    assert str(caught.value) == message


def test_calls_are_counted_from_one():
    with pytest.raises(InvalidArgument) as caught:
        draw(Caller(sum), D0, 0, 0)
    assert str(caught.value) == "count must be at least 1, got 0"


def test_no_calls_but_those_that_count_have_their_numbers():
    trial, fresh, search, apart = (
        importlib.import_module(f"tellapart.audit.{name}").__dict__[key]
        for name, key in (
            ("probing.calling.caller", "_TRIAL_KEY"),
            ("probing.exchangeability", "_FRESH_KEY"),
            ("searching.worst_pair", "_KEY"),
            ("probing.exchangeability", "_KEY"),
        )
    )
    keys = [(7, one) for one in (trial, fresh, search, apart)]
    blocks = [(7, k, block) for k in (0, 1) for block in range(64)]
    drawn = [float(run.generator(key).random()) for key in keys + blocks]
    assert len(set(drawn)) == len(drawn)


def test_buffers_inside_outputs_are_kept_as_they_were():
    buffer, rows = np.zeros(2), [[0.0]]

    def refilling(data, rng):
        buffer[:] = rng.random(2)
        rows[0][0] = float(buffer[0])
        return {"v": buffer, "w": (rows, 1)}

    found = draw(detect_convention(refilling, D0), D0, 20, 1).listed()
    assert len({float(one["v"][0]) for one in found}) == 20
    assert [one["w"][0][0][0] for one in found] == [float(one["v"][0]) for one in found]


class Outdated:
    """What Python 3.12 says of an iterator that is pickled, said by any Python."""

    def __reduce__(self):
        warnings.warn("pickling these will end", DeprecationWarning, stacklevel=2)
        return (Outdated, ())


def test_what_python_says_of_pickling_a_mechanism_is_not_told_to_who_wrote_it():
    kept = Outdated()
    before = list(warnings.filters)
    assert isinstance(sealed(lambda data: (kept, len(data))), bytes)
    assert warnings.filters == before
    with pytest.warns(DeprecationWarning, match="pickling these will end"):
        cloudpickle.dumps(kept)
