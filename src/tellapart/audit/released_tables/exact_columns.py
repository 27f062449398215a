"""Columns of tables to the last digit: large whole numbers, decimals, nanoseconds and time zones.

Numbers are kept as doubles that are equal where the values are, and in their order: where the
nearest doubles of two values are one, differences from the least value are taken, which is noted,
and what is still equal is moved apart by the least step.

A copy that was written in a narrower type (single or half precision, seconds in place of
nanoseconds) is a copy: a column is compared at the coarsest precision that any table has it in.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.data import columns, state_columns
from tellapart.errors import InvalidArgument

NUMBERS, CATEGORIES = "numbers", "categories"
_DATES, _ZONED = "dates", "dates with a time zone"
_DURATIONS, _TIMES = "durations", "times of day"
# In a unit of nanoseconds each.
_MEASURED = (_DATES, _ZONED, _DURATIONS, _TIMES)
_NANO = {"D": 86_400_000_000_000, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH = datetime(1970, 1, 1)


class Precision(NamedTuple):
    """How precise a type is: its step in nanoseconds, or of floats that of the number 1."""

    step: float
    name: str


_HALF, _SINGLE = Precision(2.0**-10, "float16"), Precision(2.0**-23, "float32")
_FLOATS = {
    "float16": _HALF,
    "halffloat": _HALF,
    "float32": _SINGLE,
    "float": _SINGLE,  # Arrow's
}
# As doubles and nanoseconds are: finer than all that is rounded to.
_FINEST = Precision(0.0, "")


class ReadColumn(NamedTuple):
    """What a column holds, in a word, its values, and the precision of its type."""

    kind: str
    values: list[Any]
    precision: Precision = _FINEST


def read(table: Any, name: str) -> ReadColumn:
    """A column of exact numbers, or of Python's own objects."""
    values = columns.raw(table, name)
    counted = _counted(values)
    if counted is not None:
        return counted
    held = [None if _not_a_number(value) else value for value in _listed(values)]
    known = {_kind(value) for value in held if value is not None}
    if not known:
        return ReadColumn("", held)
    if known <= {NUMBERS, *_MEASURED} and len(known) == 1:
        (kind,) = known
        exact = [None if value is None else _exact(value, kind) for value in held]
        return ReadColumn(kind, exact, _precision(values, held))
    if known == {_DATES, _ZONED}:
        raise InvalidArgument(
            f"column {name!r} must have a time zone in all rows or in none: it has times of both "
            "kinds"
        )
    return ReadColumn(CATEGORIES, held)


def coarsest(sides: Iterable[ReadColumn]) -> tuple[Precision, bool]:
    """The precision that all tables have a column in, and whether some have it in a finer one."""
    known = [side.precision for side in sides if side.kind]
    most = max(known, default=_FINEST)
    return most, min(known, default=_FINEST) != most


def joint(
    name: str, sides: list[list[Any]], kind: str, precision: Precision
) -> tuple[list[Array], float]:
    """Numbers of all tables as doubles, NaN where missing; and what was taken off each.

    Where some are floats, all are as precise as these: others are rounded to doubles, too, and all
    to the ``precision`` of the coarsest.
    """
    if precision.step:
        sides = [
            [None if value is None else _rounded(name, value, kind, precision) for value in side]
            for side in sides
        ]
    if any(isinstance(value, float) for side in sides for value in side):
        sides = [
            [None if value is None else _double(name, value) for value in side] for side in sides
        ]
    elif not all(value is None or isinstance(value, int) for side in sides for value in side):
        sides = [
            [None if value is None else _fraction(name, value) for value in side] for side in sides
        ]
    unit = 10**9 if kind in _MEASURED else 1
    order = sorted({value for side in sides for value in side if value is not None})
    doubles, offset = np.array([_double(name, value, unit) for value in order]), 0.0
    if (np.diff(doubles) <= 0).any():
        offset = _double(name, order[0], unit)
        doubles = np.array([_double(name, value - order[0], unit) for value in order])
        for place in range(1, len(doubles)):
            least = np.nextafter(doubles[place - 1], np.inf)
            doubles[place] = max(doubles[place], least)
    of = dict(zip(order, doubles.tolist(), strict=True)) | {None: math.nan}
    return [np.array([of[value] for value in side]) for side in sides], offset


def category(value: Any) -> Any:
    """What is the same for equal categories alone: True is not 1, and 1 is 1.0."""
    if _is_number(value):
        return numbers.Real, value
    if isinstance(value, np.ndarray):
        return np.ndarray, value.shape, _all(value.ravel().tolist())
    if isinstance(value, list | tuple):
        return list, _all(value)
    if isinstance(value, dict):
        return dict, frozenset((category(key), category(held)) for key, held in value.items())
    if isinstance(value, set | frozenset):
        return set, frozenset(_all(value))
    try:
        hash(value)
    except TypeError:
        return str, repr(value)
    return type(value), value


def _all(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(category(value) for value in values)


# -- values as they are -----------------------------------------------------------------------


def _rounded(name: str, value: Any, kind: str, precision: Precision) -> Any:
    """A number in a narrower type, or a time at the last full unit; what is too large stays."""
    if kind in _MEASURED:
        return value - value % int(precision.step)
    number = _double(name, value)
    with np.errstate(over="ignore"):
        narrow = float(np.dtype(precision.name).type(number))
    return narrow if math.isfinite(narrow) else number


def _precision(values: Any, held: list[Any]) -> Precision:
    """That of a column's type; days where all are days."""
    kind = getattr(values, "dtype", getattr(values, "type", None))
    if all(value is None or type(value) is date for value in held):
        return _unit("D", 1)
    return _FLOATS.get(str(kind).lower().removesuffix("[pyarrow]"), _FINEST)


def _unit(unit: str, step: int) -> Precision:
    scale = _NANO[unit] * step
    return _FINEST if scale == 1 else Precision(float(scale), _UNITS.get(scale, f"{scale:,} ns"))


_UNITS = {
    _NANO["D"]: "days",
    _NANO["s"]: "seconds",
    _NANO["ms"]: "milliseconds",
    _NANO["us"]: "microseconds",
}


def _counted(values: Any) -> ReadColumn | None:
    """Times of arrays and frames, counted in nanoseconds; None for what holds no times.

    As lists of Python's objects they would lose what is below a microsecond.
    """
    zone = getattr(getattr(values, "dtype", None), "tz", None)  # pandas
    arrow = getattr(values, "type", None)
    if arrow is not None and str(arrow).startswith(_ARROW):
        bits = f"int{arrow.bit_width}"
        kind = _of(str(arrow), getattr(arrow, "tz", None))
        counts = _scaled(values.cast(bits).to_pylist(), arrow.unit)
        return ReadColumn(kind, counts, _unit(arrow.unit, 1))
    if type(values).__module__.startswith("polars") and str(values.dtype).startswith(_POLARS):
        kind = _of(str(values.dtype), getattr(values.dtype, "time_zone", None))
        unit = getattr(values.dtype, "time_unit", "ns")
        counts = _scaled(values.to_physical().to_list(), unit)
        return ReadColumn(kind, counts, _unit(unit, 1))
    if type(values).__module__.startswith("pandas") and zone is not None:
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    array = values.to_numpy() if type(values).__module__.startswith("pandas") else values
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "mM":
        return None
    unit, step = np.datetime_data(array.dtype)
    if unit in ("ps", "fs", "as"):
        _checks.refuse("times", "be in nanoseconds or coarser", str(array.dtype))
    if unit not in _NANO:
        finer = "s" if unit in "hm" else "D"
        array, (unit, step) = array.astype(f"{array.dtype.kind}8[{finer}]"), (finer, 1)
    whole = array.astype(np.int64).tolist()
    held = [
        None if gone or value is None else value * step
        for value, gone in zip(whole, np.isnat(array).tolist(), strict=True)
    ]
    kind = _DURATIONS if array.dtype.kind == "m" else _dates(zone)
    return ReadColumn(kind, _scaled(held, unit), _unit(unit, step))


_ARROW, _POLARS = ("timestamp", "duration", "time32", "time64"), ("Datetime", "Duration", "Time")


def _of(name: str, zone: Any) -> str:
    """The kind of a column by the name of its type."""
    if name.lower().startswith("duration"):
        return _DURATIONS
    return _dates(zone) if name.lower().startswith(("timestamp", "datetime")) else _TIMES


def _dates(zone: Any) -> str:
    return _DATES if zone is None else _ZONED


def _scaled(values: list[Any], unit: str) -> list[Any]:
    return [None if value is None else value * _NANO[unit] for value in values]


def _listed(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray) and values.dtype == object:
        values = list(values)
    if isinstance(values, list | tuple):
        values = [
            _of_array(value) if isinstance(value, np.datetime64 | np.timedelta64) else value
            for value in values
        ]
    return state_columns.plain(values)


def _of_array(value: Any) -> Any:
    """A moment or a time span of NumPy as an object that keeps its nanoseconds."""
    if np.isnat(value):
        return None
    counted = _counted(np.array([value]))
    return None if counted is None else _Nanoseconds(counted.kind, counted.values)


class _Nanoseconds:
    """A time by its count of nanoseconds, from an array."""

    def __init__(self, kind: str, counts: list[int]) -> None:
        self.kind, (self.count,) = kind, counts


def _not_a_number(value: Any) -> bool:
    return isinstance(value, Decimal) and value.is_nan()


def _kind(value: Any) -> str:
    if isinstance(value, _Nanoseconds):
        return value.kind
    if _is_number(value):
        return NUMBERS
    if isinstance(value, datetime):
        return _dates(value.tzinfo)
    if isinstance(value, date):
        return _DATES
    if isinstance(value, timedelta):
        return _DURATIONS
    return _TIMES if isinstance(value, time) and value.tzinfo is None else CATEGORIES


def _exact(value: Any, kind: str) -> Any:
    """A number, or a time in nanoseconds."""
    if isinstance(value, _Nanoseconds):
        return value.count
    if kind == NUMBERS:
        return value
    if kind == _TIMES:
        value = datetime.combine(_EPOCH, value)
    zone = value.utcoffset() if kind == _ZONED else None
    below = getattr(value, "nanosecond", getattr(value, "nanoseconds", 0))  # of pandas' own
    if isinstance(value, timedelta):
        return _microseconds(value) * 1_000 + below
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    plain = datetime(
        value.year,
        value.month,
        value.day,
        value.hour,
        value.minute,
        value.second,
        value.microsecond,
    )
    return _microseconds(plain - _EPOCH - (zone or timedelta(0))) * 1_000 + below


def _microseconds(span: timedelta) -> int:
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


def _double(name: str, value: Any, unit: int = 1) -> float:
    try:
        made = float(value if unit == 1 else value / unit)
    except OverflowError:
        made = math.inf
    if not math.isfinite(made):
        _refuse_infinite(name, value)
    return made + 0.0  # one number of 0.0 and -0.0


def _fraction(name: str, value: Any) -> Fraction:
    if isinstance(value, Decimal) and not value.is_finite():
        _refuse_infinite(name, value)
    _double(name, value)  # so that 1E+999999999 is not written out
    try:
        return Fraction(value)
    except TypeError:  # NumPy's long doubles are not Python's
        return Fraction(*value.as_integer_ratio())


def _refuse_infinite(name: str, value: Any) -> NoReturn:
    whole = isinstance(value, int)  # which Python does not write out where it has many digits
    shown = f"a whole number of {value.bit_length():,} bits" if whole else value
    _checks.refuse(f"column {name!r}", "be finite, and at most 1.7e308 in size", shown)


def _is_number(value: Any) -> bool:
    """Whether it counts; that True is 1 in Python makes it no number."""
    return not isinstance(value, bool) and isinstance(value, numbers.Real | Decimal)
