"""Columns of released tables, to the last digit: what differs is never a copy, what is equal is."""

import datetime as dt
import warnings
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit.released_tables.aligned_tables import aligned

BIG = [2**60 + k for k in range(30)]
MOMENTS = np.array(BIG, dtype="datetime64[ns]")
SPANS = MOMENTS.astype("timedelta64[ns]")
MAKES = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def frame(make):
    return lambda values: make({"x": values})


def zoned(values):
    return pd.DataFrame({"x": pd.Series(values).dt.tz_localize("Europe/Berlin")})


# Of each 30 values that all differ, and what makes a table of some.
DIFFER = {
    **{f"whole numbers, {name}": (BIG, frame(make)) for name, make in MAKES.items()},
    **{f"nanoseconds, {name}": (MOMENTS, frame(make)) for name, make in MAKES.items()},
    **{f"durations, {name}": (SPANS, frame(make)) for name, make in MAKES.items()},
    "unsigned": (np.array(BIG, dtype=np.uint64) + np.uint64(2**63), frame(dict)),
    "nullable": (BIG, lambda values: pd.DataFrame({"x": pd.array(values, dtype="Int64")})),
    "whole categories": (BIG, lambda values: pd.DataFrame({"x": pd.Categorical(values)})),
    "wider than a double": ([10**40 + k for k in range(30)], frame(dict)),
    "far and near": ([10**40 * (k % 2) + k for k in range(30)], frame(dict)),
    "decimals": ([Decimal(f"12345678901234567890.0000000{k:02}") for k in range(30)], frame(dict)),
    "decimals of Arrow": ([Decimal(2**70 + k) for k in range(30)], frame(pa.table)),
    "decimals of Polars": (
        [Decimal(f"1234567890123456.{k:06}") for k in range(30)],
        frame(pl.DataFrame),
    ),
    "fractions": ([Fraction(1, 3) + Fraction(k, 10**30) for k in range(30)], frame(dict)),
    "long doubles": (np.arange(30, dtype=np.longdouble) + np.longdouble(2) ** 60, frame(dict)),
    "time zone, pandas": (MOMENTS, zoned),
    "time zone, Polars": (
        MOMENTS,
        lambda values: pl.DataFrame({"x": pl.Series(values).dt.replace_time_zone("Asia/Tokyo")}),
    ),
    "time zone, Arrow": (
        MOMENTS,
        lambda values: pa.table({"x": pa.array(values).cast(pa.timestamp("ns", "UTC"))}),
    ),
    "listed moments": (list(MOMENTS), frame(dict)),
    "pandas' own": ([pd.Timestamp(moment) for moment in MOMENTS], frame(dict)),
    "times of day": (
        np.arange(30),
        lambda values: pa.table({"x": pa.array(values, type=pa.time64("ns"))}),
    ),
    "times of day, Polars": ([dt.time(1, 2, 3, k) for k in range(30)], frame(pl.DataFrame)),
    "long lists": ([np.r_[np.zeros(1000), k, np.zeros(1000)] for k in range(30)], frame(dict)),
    "records": ([{"a": k} for k in range(30)], frame(pa.table)),
    "uuids": ([UUID(int=k) for k in range(30)], frame(dict)),
    "columns without a text as name": (BIG, lambda values: pd.DataFrame({0: values, 1: values})),
}


@pytest.mark.parametrize("kind", DIFFER)
def test_what_differs_in_its_last_digit_is_no_copy_and_what_is_equal_is_one(kind):
    values, make = DIFFER[kind]
    original, released, control = (make(values[k : k + 10]) for k in (0, 10, 20))
    apart = audit.tables(original, released, control)
    assert (apart.copies.successes, apart.copies.control) == (0, (0, 10))
    same = audit.tables(original, original, control)
    assert (same.copies.successes, same.copies.control) == (10, (0, 10))


@pytest.mark.parametrize(
    "kind", ["whole numbers, dict", "nanoseconds, dict", "far and near", "decimals"]
)
def test_numbers_keep_their_order_and_distances(kind):
    values, make = DIFFER[kind]
    data = aligned(*(make(values[k : k + 10]) for k in (0, 10, 20)))
    made = np.concatenate([data.original, data.released, data.control])[:, 0]
    assert np.argsort(made).tolist() == sorted(range(30), key=lambda k: values[k])
    if kind == "whole numbers, dict":
        assert np.diff(made).tolist() == [1.0] * 29
        assert data.offsets.tolist() == [2.0**60]


def test_a_tolerance_is_relative_to_the_number_itself():
    """Not to what is left of it: of 2^60 and its neighbours each is within 5 % of all others."""
    original, released, control = (
        {"x": BIG[k : k + 10], "key": list(range(k, k + 10))} for k in (0, 10, 20)
    )
    found = audit.tables(original, released, control, secrets="x", tolerance=0.05)
    assert found["inference of x"].successes == 10
    exact = audit.tables(original, released, control, secrets="x", tolerance=0.0)
    assert exact["inference of x"].successes == 0


def test_tables_of_different_makes_are_compared():
    pandas = pd.DataFrame(
        {"x": pd.Series(MOMENTS[:5]).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")}
    )
    polars = pl.DataFrame({"x": pl.Series(MOMENTS[:5]).dt.replace_time_zone("UTC")})
    arrow = pa.table({"x": pa.array(MOMENTS[5:10]).cast(pa.timestamp("ns", "UTC"))})
    assert audit.tables(pandas, polars, arrow).copies.successes == 5
    for one, other in (
        (Decimal("0.1"), 0.1),
        (2**53 + 1, float(2**53)),
        (dt.date(2020, 1, 1), np.datetime64("2020-01-01", "ns")),
    ):
        assert audit.tables({"x": [one]}, {"x": [other]}, {"x": [one]}).copies.successes == 1
    mixed = audit.tables({"x": [1, "a", None]}, {"x": [1.0, "a", None]}, {"x": [True, "b", 2]})
    assert (mixed.copies.successes, mixed.copies.control) == (3, (0, 3))


@pytest.mark.parametrize(
    "nothing", [[None], [np.nan], np.array(["NaT"], "M8[ns]"), [Decimal("nan")]]
)
def test_what_is_missing_is_missing_in_every_make(nothing):
    assert audit.tables({"x": nothing}, {"x": [None]}, {"x": [None]}).copies.successes == 1


@pytest.mark.parametrize(
    ("original", "said"),
    [
        ({"x": [10**5000]}, "at most 1.7e308 in size, got 'a whole number of 16,610 bits'"),
        ({"x": [Decimal("1e999999999")]}, "column 'x' must be finite, and at most 1.7e308"),
        ({"x": [True]}, "categories in original, numbers in released"),
        ({"x": ["1"]}, "categories in original, numbers in released"),
        ({"x": MOMENTS[:1]}, "dates in original, numbers in released"),
        ({"x": np.arange(3).astype("M8[ps]")}, "be in nanoseconds or coarser"),
        ({"x": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]}, "all rows or"),
        ({"x": "abc"}, "column 'x' must hold a value for each row, got str"),
        ({"x": 3}, "column 'x' must hold a value for each row, got int"),
        ({"x": [1], "y": [1, 2]}, "original must have columns of one length"),
        (pl.LazyFrame({"x": [1]}), r"got LazyFrame: give what its collect\(\) returns"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "original must have the columns of released"),
    ],
)
def test_what_cannot_be_compared_is_refused(original, said):
    names = ["x", "y"] if isinstance(original, dict) and "y" in original else ["x"]
    table = {name: [1] for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ta.InvalidArgument, match=said):
            audit.tables(original, table, table)


def test_columns_of_one_name_are_refused():
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([1])], names=["x", "x"])
    with pytest.raises(ta.InvalidArgument, match="released must have columns, each of another"):
        audit.tables(twice, twice, twice)


def test_a_time_with_a_zone_is_not_one_without():
    naive = {"x": MOMENTS[:3]}
    with pytest.raises(
        ta.InvalidArgument, match="dates with a time zone in original, dates in rel"
    ):
        audit.tables(zoned(MOMENTS[:3]), naive, naive)


FINE = np.random.default_rng(7).normal(50, 9, 60).round(3)
NARROW = {
    "float32, NumPy": (FINE, lambda x: {"x": x.astype("float32")}, "float32"),
    "float16, NumPy": (FINE, lambda x: {"x": x.astype("float16")}, "float16"),
    "float32, pandas": (FINE, lambda x: pd.DataFrame({"x": x.astype("float32")}), "float32"),
    "nullable": (FINE, lambda x: pd.DataFrame({"x": pd.array(x, dtype="Float32")}), "float32"),
    "float32, Polars": (FINE, lambda x: pl.DataFrame({"x": x.astype("float32")}), "float32"),
    "float32, Arrow": (FINE, lambda x: pa.table({"x": pa.array(x, pa.float32())}), "float32"),
    "float16, Arrow": (FINE, lambda x: pa.table({"x": x.astype("float16")}), "float16"),
    "us, NumPy": (MOMENTS, lambda x: {"x": x.astype("M8[us]")}, "microseconds"),
    "s, pandas": (MOMENTS, lambda x: pd.DataFrame({"x": x.astype("M8[s]")}), "seconds"),
    "ms, Polars": (
        MOMENTS,
        lambda x: pl.DataFrame({"x": pl.Series(x).dt.cast_time_unit("ms")}),
        "milliseconds",
    ),
    "us, Arrow": (MOMENTS, lambda x: pa.table({"x": x.astype("M8[us]")}), "microseconds"),
    "durations": (SPANS, lambda x: {"x": x.astype("m8[us]")}, "microseconds"),
    "days": (MOMENTS, lambda x: {"x": x.astype("M8[D]")}, "days"),
}


@pytest.mark.parametrize("kind", NARROW)
def test_copies_in_a_narrower_type_are_copies_and_that_is_said(kind):
    values, narrow, name = NARROW[kind]
    found = audit.tables({"x": values}, narrow(values), {"x": values[:3]})
    assert found.copies.successes == len(values)
    assert found.rounded == {"x": name}
    assert f"coarsest precision of the three tables: x ({name})." in str(found)
    back = audit.tables(narrow(values), {"x": values}, {"x": values[:3]})
    assert back.copies.successes == len(values)


@pytest.mark.parametrize(
    ("values", "other", "narrow"),
    [
        (FINE, FINE + 1e-3, "float32"),
        (FINE[:1], FINE[:1] + 0.1, "float16"),
        (MOMENTS, MOMENTS + np.timedelta64(1000, "ns"), "M8[us]"),
        (-SPANS, -SPANS - np.timedelta64(1000, "ns"), "m8[us]"),
        ([1e300], [3e38], "float32"),
    ],
)
def test_what_differs_in_the_narrower_type_is_no_copy(values, other, narrow):
    released = {"x": np.asarray(other).astype(narrow)}
    found = audit.tables({"x": np.asarray(values)}, released, {"x": np.asarray(values)})
    expected = np.isin(np.asarray(values).astype(narrow), released["x"]) if len(values) > 1 else 0
    assert found.copies.successes == np.sum(expected) < len(values)


def test_what_differs_by_less_than_the_narrower_type_counts_as_equal_there_alone():
    near = {"x": FINE + 1e-9}
    assert audit.tables({"x": FINE}, near, {"x": FINE}).copies.successes == 0
    assert audit.tables({"x": FINE}, near, {"x": FINE}).rounded == {}
    narrow = {"x": near["x"].astype("float32")}
    assert audit.tables({"x": FINE}, narrow, {"x": FINE}).copies.successes == 60
    same = {"x": FINE.astype("float32")}
    assert audit.tables(same, same, same).rounded == {}


def test_whole_numbers_and_decimals_stay_exact_beside_narrow_ones():
    original = {"id": BIG[:10], "x": FINE[:10]}
    released = {"id": BIG[10:20], "x": FINE[:10].astype("float32")}
    found = audit.tables(original, released, original)
    assert (found.copies.successes, found.rounded) == (0, {"x": "float32"})


def test_a_moment_whose_utc_lies_before_the_first_year_is_read():
    first = dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5)))
    last = dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
    table, other = {"x": [first, last]}, {"x": [first + dt.timedelta(hours=1)]}
    assert audit.tables(table, table, other).copies.successes == 2
    assert audit.tables(table, other, other).copies.successes == 0
