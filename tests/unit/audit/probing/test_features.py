"""From outputs of any kind to columns of numbers, and events in words."""

from __future__ import annotations

import enum
import math
import time
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.audit.probing.calling.outputs import HANGS, Broken, CallOutputs, packed
from tellapart.audit.probing.features import extract as module
from tellapart.audit.probing.features.columns import UNSEEN, Column, What
from tellapart.audit.probing.features.extract import learn
from tellapart.audit.probing.features.frames import by_shape, framed
from tellapart.errors import InvalidArgument

NAN = math.nan


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Rank(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Record:
    count: float
    label: str


def features_of(values, user=None):
    """Learnt from all outputs, as if half of them were of each input."""
    outputs = packed(values)
    half = len(outputs) // 2
    return learn(outputs[:half], outputs[half:], user)(outputs)


def column_of(values, name):
    found = features_of(values)
    return found.matrix[:, found.names.index(name)].tolist()


def said(values, name="kind of output"):
    """Each output's category in words, as an event."""
    found = features_of(values)
    place = found.names.index(name)
    column = found.columns[place]
    return [column.equal(code) for code in found.matrix[:, place]]


def same(one, other):
    return np.array_equal(np.array(one, dtype=float), np.array(other, dtype=float), equal_nan=True)


# -- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [1.5, -2.0, math.inf, -math.inf],
        [1, 2, 3, 4],
        [np.float32(0.5), np.int8(3), 2, 0.25],
    ],
)
def test_numbers_are_read_as_they_are(values):
    found = features_of(values)
    assert found.names == ("output",)
    assert found.matrix[:, 0].tolist() == [float(one) for one in values]


def test_numbers_of_other_kinds_are_numbers():
    values = [Fraction(1, 2), Decimal("0.25"), 10**400, 1.0]
    assert column_of(values, "output") == [0.5, 0.25, math.inf, 1.0]


LARGE = 2**60 + 1  # between two doubles


@pytest.mark.parametrize(
    "values",
    [
        [LARGE, LARGE + 1],
        [LARGE, 0.5],
        [np.uint64(2**63 + 1), np.uint64(2**63 + 2)],
        [2**64 + 1, -(2**64)],
        [2**5000 + 1, 2**5000],
        [[LARGE, 1], [LARGE + 1, 1]],
        [[LARGE], [LARGE + 1, 2]],
        [{"a": LARGE}, {"a": LARGE + 1}],
    ],
    ids=["int64", "a fraction", "unsigned", "more bits", "huge", "rows", "lists", "dictionaries"],
)
def test_whole_numbers_are_read_to_the_last_digit(values):
    found = features_of(values)
    assert any(len(set(column)) == 2 for column in found.matrix.T)
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_the_same_slowly(packed(values * 2), monkeypatch)


def test_whole_numbers_that_are_doubles_are_what_doubles_are():
    assert features_of([2**60, 2.0**60]).names == ("output",)
    words = ["output is 1152921504606846977", "output is a number"]
    assert said([LARGE, 2.0**60]) == words
    assert column_of([LARGE, 2.0**60], "output") == [2.0**60] * 2


def test_a_text_that_spells_a_number_is_that_number_and_a_text():
    values = ["1.5", b"2", "1.5 m", "1.5"]
    assert column_of(values, "output") == pytest.approx([1.5, 2.0, NAN, 1.5], nan_ok=True)
    words = ["output is '1.5'", "output is b'2'", "output is '1.5 m'", "output is '1.5'"]
    assert said(values) == words
    assert said([1.5, "1.5"]) == ["output is a number", "output is '1.5'"]


def test_lists_of_texts_of_fractions_are_whole_kinds_too():
    values = [["0.5", "1.5"], ["1.5", "0.5"]] * 2
    assert said(values) == ["output is ['0.5', '1.5']", "output is ['1.5', '0.5']"] * 2


def test_nan_is_a_category_beside_the_numbers():
    found = features_of([1.0, NAN, 3.0, NAN])
    assert found.names == ("output", "kind of output")
    assert same(found.matrix[:, 0], [1.0, NAN, 3.0, NAN])
    words = ["output is a number", "output is NaN"] * 2
    assert said([1.0, NAN, 3.0, NAN]) == words


def test_complex_numbers_have_two_components():
    assert column_of([1 + 2j, 3 - 1j], "output[1]") == [2.0, -1.0]


# -- categories ----------------------------------------------------------------------------------


def test_every_kind_of_category_has_its_words():
    values = [None, True, "a", b"x", Colour.RED, Rank.LOW, Broken("raises KeyError", "k"), HANGS, 2]
    assert said(values) == [
        "output is None",
        "output is True",
        "output is 'a'",
        "output is b'x'",
        "output is Colour.RED",
        "output is Rank.LOW",
        "the call raises KeyError",
        "the call hangs",
        "output is a number",
    ]


def test_flags_are_categories():
    assert said([True, False, np.True_, False]) == [
        f"output is {flag}" for flag in (True, False, True, False)
    ]


def test_messages_make_no_difference():
    values = [Broken("raises KeyError", "one"), Broken("raises KeyError", "two"), 1.0, 2.0]
    assert len(set(said(values)[:2])) == 1


def test_what_was_not_seen_is_said_to_be_new():
    encoding = learn(packed(["a", "b"]), packed(["b", "a"]))
    (column,) = encoding.columns
    assert column.words == ("is 'a'", "is 'b'", UNSEEN)
    found = encoding(packed(["b", "z", 3.5, "a"])).matrix[:, 0]
    assert found.tolist() == [1, column.unseen, column.unseen, 0]
    assert column.equal(column.unseen) == "output is something not seen before"


def test_both_inputs_share_one_dictionary():
    encoding = learn(packed(["a"] * 3), packed(["b"] * 3))
    assert encoding(packed(["a", "b"])).matrix[:, 0].tolist() == [0.0, 1.0]


def test_only_the_commonest_have_a_name():
    values = [f"no. {place}" for place in range(1000)] + ["often"] * 3
    found = features_of(values)
    assert len(found.columns[0].words) == 257
    assert "is 'often'" in found.columns[0].words


def test_one_output_alone_still_has_a_column():
    found = features_of(["a", "a"])
    assert found.names == ("kind of output",)
    assert found.matrix.tolist() == [[0.0], [0.0]]


def test_objects_are_known_by_their_type():
    assert said([object(), None, object(), 1.0])[0] == "output is a object"


# -- vectors and lists ---------------------------------------------------------------------------


def test_vectors_are_read_by_component_and_summed_up():
    rows = [[1.0, 5.0, 2.0], [4.0, 0.5, 0.25]]
    found = features_of(np.array(rows))
    expected = {
        "output[0]": [1, 4],
        "output[1]": [5, 0.5],
        "output[2]": [2, 0.25],
        "sum of output": [8, 4.75],
        "largest of output": [5, 4],
        "smallest of output": [1, 0.25],
        "second largest of output": [2, 0.5],
        "index of the largest of output": [1, 0],
    }
    assert dict(zip(found.names, found.matrix.T.tolist(), strict=True)) == expected


def test_lists_of_many_lengths():
    rows = [[3.5], [1.0, 2.5], [], [4.0, 1.0, 7.5]]
    expected = {
        "output[0]": [3.5, 1, NAN, 4],
        "output[1]": [NAN, 2.5, NAN, 1],
        "output[2]": [NAN, NAN, NAN, 7.5],
        "length of output": [1, 2, 0, 3],
        "sum of output": [3.5, 3.5, NAN, 12.5],
        "mean of output": [3.5, 1.75, NAN, 12.5 / 3],
        "largest of output": [3.5, 2.5, NAN, 7.5],
        "second largest of output": [NAN, 1, NAN, 4],
        "index of the largest of output": [0, 1, NAN, 2],
    }
    for name, column in expected.items():
        assert same(column_of(rows, name), column), name


def test_flags_in_lists_are_counted_and_found():
    rows = [[False, True], [True], [False, False, False], [False, True, True]]
    assert column_of(rows, "number of True in output") == [1, 1, 0, 2]
    assert same(column_of(rows, "first index of True in output"), [1, 0, NAN, 1])
    assert column_of(rows, "length of output") == [2, 1, 3, 3]
    assert said(rows, "kind of output[1]") == [
        "output[1] is True",
        "output[1] is missing",
        "output[1] is False",
        "output[1] is True",
    ]


def test_whole_outputs_that_come_again_are_categories():
    rows = [[False, True], [True, True], [False, True], [True, False]]
    assert said(rows)[:3:2] == ["output is [False, True]"] * 2
    assert said(rows)[1] == "output is something not seen before"  # it came once
    assert "kind of output" not in features_of(np.random.default_rng(0).random((50, 2))).names


def test_numbers_between_other_things_are_summed_up():
    rows = [[None, 2.5], [1.5, None], [None, None], [None, 3.5]]
    assert same(column_of(rows, "output[1]"), [2.5, NAN, NAN, 3.5])
    assert same(column_of(rows, "largest of output"), [2.5, 1.5, NAN, 3.5])
    assert same(column_of(rows, "index of the largest of output"), [1, 0, NAN, 1])
    assert column_of(rows, "number of None in output") == [1, 1, 2, 1]


def test_arrays_with_more_axes_have_their_indices():
    names = features_of(np.random.default_rng(0).random((4, 2, 2))).names
    assert names[:4] == ("output[0, 0]", "output[0, 1]", "output[1, 0]", "output[1, 1]")


def test_of_long_vectors_the_first_components_and_the_sums_are_read():
    rows = np.random.default_rng(0).random((3, 1000))
    found = features_of(rows)
    assert len(found.columns) == 64 + 5
    largest = found.matrix[:, found.names.index("largest of output")]
    assert largest.tolist() == rows.max(axis=1).tolist()


# -- tables, records and sets --------------------------------------------------------------------


def test_dictionaries_are_read_by_key():
    rows = [{"a": 1.5, "b": "x"}, {"a": 2.5}, {"b": "y"}, {"a": 0.5, "b": "x"}]
    assert same(column_of(rows, "output['a']"), [1.5, 2.5, NAN, 0.5])
    assert said(rows, "kind of output['b']")[:3] == [
        "output['b'] is 'x'",
        "output['b'] is missing",
        "output['b'] is 'y'",
    ]


def test_what_is_nested_has_its_path():
    rows = [{"a": [1.0, 2.5]}, {"a": [3.5, 4.0]}]
    assert column_of(rows, "output['a'][1]") == [2.5, 4.0]
    assert column_of(rows, "sum of output['a']") == [3.5, 7.5]


def test_sets_are_read_by_element():
    rows = [{"a", "b"}, {"a"}, set(), frozenset({"b"})]
    assert said(rows, "kind of 'a' in output") == [
        "'a' in output is True",
        "'a' in output is True",
        "'a' in output is missing",
        "'a' in output is missing",
    ]


def test_records_are_read_by_field():
    rows = [Record(1.5, "x"), Record(2.5, "y")]
    assert column_of(rows, "output.count") == [1.5, 2.5]
    assert said(rows, "kind of output.label") == ["output.label is 'x'", "output.label is 'y'"]
    point = namedtuple("point", "x y")
    assert column_of([point(1.5, None), point(2.5, None)], "output[0]") == [1.5, 2.5]


def test_frames_are_arrays():
    pandas = pytest.importorskip("pandas")
    series = [pandas.Series([1.5, 2.5]), pandas.Series([3.5, 4.5])]
    assert column_of(series, "output[1]") == [2.5, 4.5]


# -- the fast ways are the slow way --------------------------------------------------------------

scalars = st.one_of(
    st.floats(),
    st.integers(-(10**320), 10**320),
    st.booleans(),
    st.none(),
    st.text(max_size=2),
    st.binary(max_size=2),
    st.sampled_from([*Colour, *Rank, HANGS, Broken("raises KeyError")]),
    st.sampled_from([np.float64(1.5), np.int64(2), np.True_, np.str_("a")]),
    st.sampled_from(["0.5", b"2", "nan", np.str_("-1e3")]),
)
flat = st.one_of(scalars, st.lists(scalars, max_size=4), st.lists(scalars, max_size=3).map(tuple))
nested = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=6,
)


def assert_the_same_slowly(outputs, monkeypatch):
    """Columns and numbers, from the fast reading and from one output after the other."""
    half = len(outputs) // 2
    fast = learn(outputs[:half], outputs[half:])
    with monkeypatch.context() as patched:
        patched.setattr(module, "framed", lambda asked: framed(asked, slowly=True))
        slow = learn(outputs[:half], outputs[half:])
        by_slow = slow(outputs)
        crossed = fast(outputs)
    assert set(fast.columns) == set(slow.columns)
    by_fast = fast(outputs)
    for column in fast.columns:
        left = by_fast.matrix[:, fast.columns.index(column)]
        right = by_slow.matrix[:, slow.columns.index(column)]
        np.testing.assert_allclose(left, right, rtol=1e-14, err_msg=column.name)
        np.testing.assert_allclose(left, crossed.matrix[:, fast.columns.index(column)], rtol=1e-14)


@given(values=st.lists(flat, min_size=2, max_size=12))
def test_flat_lists_are_read_as_slowly(values):
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_the_same_slowly(CallOutputs(values), monkeypatch)


@given(values=st.lists(nested, min_size=2, max_size=8))
def test_anything_is_read_and_packing_it_first_changes_nothing(values):
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_the_same_slowly(packed(values), monkeypatch)


def _pairs(rng):
    return tuple((k, rng.choice([0.5, 1.0, float(rng.normal())])) for k in range(rng.integers(4)))


def _records(rng):
    return {"mean": [1, float(rng.normal())], "flags": [bool(rng.integers(2))] * rng.integers(3)}


def _deep(rng):
    return [[[[int(rng.integers(3)), [rng.random()]], None]], "a", HANGS][: rng.integers(1, 4)]


def _long(rng):
    return [[0.5], *range(60 + rng.integers(10))]


@pytest.mark.parametrize("made", [_pairs, _records, _deep, _long])
def test_nested_outputs_are_read_by_columns_as_slowly(made, monkeypatch):
    rng = np.random.default_rng(0)
    values = [made(rng) if k % 5 else None for k in range(80)]
    assert by_shape(values) is not None
    assert_the_same_slowly(packed(values), monkeypatch)


def test_what_has_no_shape_is_read_slowly(monkeypatch):
    values = [[{1, 2}, 3.0], [np.arange(2), 3.0]] * 3
    assert by_shape(values) is None
    assert by_shape([[[0]] * k for k in range(40)]) is None
    assert_the_same_slowly(packed(values), monkeypatch)


@given(values=st.lists(nested, min_size=2, max_size=8), place=st.integers(1, 7))
def test_outputs_are_read_alike_whatever_they_were_packed_with(values, place):
    """Blocks are packed where they were drawn: what one of them holds must not rename another's."""
    place = min(place, len(values) - 1)
    encoding = learn(packed(values), packed(values[place:]))
    whole = encoding(packed(values)).matrix
    parts = [encoding(packed(part)).matrix for part in (values[:place], values[place:])]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-14)


def test_vectors_among_other_things_are_read_as_slowly(monkeypatch):
    rows = list(np.random.default_rng(0).random((6, 3)))
    values = [*rows, HANGS, np.arange(3), np.arange(3), np.array(["a", "b"]), None]
    assert_the_same_slowly(packed(values), monkeypatch)


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.5, NAN, math.inf, 2.0]),
        np.arange(6),
        np.arange(12).reshape(6, 2) % 3,
        np.array([[1.5, NAN], [NAN, NAN], [math.inf, -math.inf], [2.0, 2.0]]),
        np.random.default_rng(0).random((10, 3)) < 0.5,
        np.random.default_rng(0).random(10) < 0.5,
        np.random.default_rng(0).random((6, 2, 2)),
        np.zeros((4, 0)),
        np.random.default_rng(0).integers(0, 2, (10, 1)),
    ],
)
def test_arrays_are_read_as_slowly(values, monkeypatch):
    assert_the_same_slowly(packed(values), monkeypatch)


def test_a_hundred_thousand_numbers_take_milliseconds():
    outputs = packed(np.random.default_rng(0).laplace(size=100_000))
    times = []
    for _ in range(5):
        begin = time.process_time()
        learn(outputs[:50_000], outputs[50_000:])(outputs)
        times.append(time.process_time() - begin)
    assert min(times) < 0.02


# -- the user's own ------------------------------------------------------------------------------


def test_users_numbers_come_last():
    found = features_of([1.0, 4.0], user=math.sqrt)
    assert found.names == ("output", "feature")
    assert found.matrix[:, 1].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("user", "names"),
    [
        (lambda x: [x, -x], ("feature[0]", "feature[1]")),
        (lambda x: np.array([x, -x]), ("feature[0]", "feature[1]")),
        (lambda x: {"up": x, "down": -x}, ("feature up", "feature down")),
    ],
)
def test_users_numbers_may_have_names(user, names):
    found = features_of([1.0, 4.0], user=user)
    assert found.names == ("output", *names)
    assert found.matrix[:, 1:].tolist() == [[1, -1], [4, -4]]


def test_of_a_call_that_broke_no_numbers_are_asked():
    found = features_of([Broken("raises KeyError"), 4.0, HANGS, 9.0], user=math.sqrt)
    assert same(found.matrix[:, -1], [NAN, 2.0, NAN, 3.0])


@pytest.mark.parametrize(
    ("user", "message"),
    [
        (lambda x: "a", "features must return a number, a list or a dictionary of them, got 'a'"),
        (lambda x: None, "features must return a number, a list or a dictionary of them, got None"),
        (
            lambda x: {1: 5}[int(x)],
            "features must read every output; it raises KeyError: 2, got 2.0",
        ),
        (
            lambda x: [x] * int(x),
            "features must always return feature[0], got ['feature[0]', 'feature[1]']",
        ),
    ],
)
def test_what_is_wrong_is_said(user, message):
    with pytest.raises(InvalidArgument) as caught:
        features_of([1.0, 2.0], user=user)
    assert str(caught.value) == message


# -- events in words -----------------------------------------------------------------------------


def test_events_are_said_in_words():
    third = Column(What.VALUE, (2,))
    assert third.equal(1.0) == "output[2] is 1"
    assert Column(What.LENGTH).name == "length of output"
    assert Column(What.COUNT, (), of="is True").name == "number of True in output"
    assert Column(What.WHERE, ("a",)).equal(0) == "index of the largest of output['a'] is 0"
    assert Column(What.CATEGORY, (), ("is 'a'", UNSEEN)).equal(0) == "output is 'a'"


def test_long_outputs_are_said_briefly():
    column = Column(What.CATEGORY, (), (f"is {'x' * 500!r}", UNSEEN))
    assert column.equal(0) == f"output is '{'x' * 73}..."
