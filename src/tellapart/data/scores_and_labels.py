"""Cells into scores and membership labels: numbers, decimal commas, words, and what is missing.

One function for each, whatever the file or the frame: what is refused, and in which words, does
not depend on the format.
"""

from __future__ import annotations

import math
import numbers
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.data.ranked import Mask
from tellapart.data.table import Place
from tellapart.errors import BadScores

NUMBER = "be a number"
NOT_NAN = "not be NaN"
FINITE = "be finite (cap infinite scores at a finite one)"
DOUBLE = "fit a double"
WHOLE = "be exact in a double, and not all whole numbers above 2^53 are: subtract the least first"
NOT_NULL = "not be missing"
TRUTH = "be 1 or 0, true or false, yes or no, in or out, member or non-member, or train or test"
ANOTHER = "; --member-value, in Python member_value=, names another value of members"
LEAVE = "; leave such rows out"
DROP = " (--drop-missing, in Python drop_missing=True, does so and counts them)"

# Words for members and for non-members, in small letters, without blanks, - and _ within.
MEMBER_WORDS = frozenset(("1", "true", "t", "yes", "y", "in"))
MEMBER_WORDS |= {"member", "members", "train", "training"}
NON_MEMBER_WORDS = frozenset(("0", "false", "f", "no", "n", "out"))
NON_MEMBER_WORDS |= {"nonmember", "nonmembers", "notmember", "test", "testing"}
# What needs no word: these are the labels as asked for.
_PLAIN = frozenset(("1", "0", "true", "false"))
# What pandas, R and spreadsheets write where there is nothing.
_MISSING = frozenset(("na", "n/a", "nan", "-nan", "null", "none", "nil", "<na>", "#n/a", "#na"))
_MISSING |= {"1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"}
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
_COMMA = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*", re.ASCII)
_INFINITE = re.compile(r"\s*[+-]?inf(inity)?\s*", re.ASCII | re.IGNORECASE)
_NAN = re.compile(r"\s*[+-]?nan\s*", re.ASCII | re.IGNORECASE)
# What numbers are written with; `float` takes more, such as 1_000 and digits of other scripts.
_DIGITS = re.compile(r"[0-9eE.+\- \t]*")
# A column with more values than these names no sides.
_MOST_VALUES = 20
_NAMELESS = "NAType", "NaTType"
# Up to here doubles hold all whole numbers.
_EXACT = 2**53
_WHOLE = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)


def refuse(
    name: str, rule: str, value: object, where: str, then: str = "", advice: str = ""
) -> NoReturn:
    """Say which value breaks which rule, where it stands, and what to do."""
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    raise BadScores(f"{name} must {rule}, got {shown} {where}".rstrip() + then, advice)


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, also with a decimal comma."""
    return bool(_NUMBER.fullmatch(cell) or _COMMA.fullmatch(cell) or _INFINITE.fullmatch(cell))


def is_missing_text(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return not cell.strip() or cell.strip().lower() in _MISSING


def plain_word(value: object) -> str:
    """A label in small letters, without blanks and dashes: Non-Member is nonmember, 1.0 is 1."""
    text = str(value).strip().lower()
    if _NUMBER.fullmatch(text):  # a minus is no dash
        number = float(text)
        return str(int(number)) if number in (0, 1) else text
    return re.sub(r"(?<=[a-z])[\s_-]+(?=[a-z])", "", text)


def is_missing(value: object) -> bool:
    """None, NaN and the like; pandas' own NA can be compared with nothing."""
    if value is None or value is np.ma.masked or type(value).__name__ in _NAMELESS:
        return True
    if isinstance(value, str):
        return is_missing_text(value)
    return isinstance(value, float | np.floating | np.datetime64) and bool(value != value)


@dataclass
class Marks:
    """What stands in the numbers of a file: the first cell of each kind, the same for all sides."""

    comma: str = ""  # with a decimal comma
    point: str = ""  # with a decimal point
    whole: str = ""  # with neither
    thousands: str = ""  # with a comma that may stand between thousands
    decimal: bool = False  # whether some comma can be a decimal one alone
    name: str = ""  # the column of the first comma

    def settle(self) -> None:
        """Refuse commas that may stand between thousands; asked once all cells were read.

        Where every cell has one, both readings are in the same order.
        """
        if self.thousands and self.whole and not self.decimal:
            plain = self.thousands.replace(",", "")
            rule = (
                f"say what its commas are: beside {self.whole}, {self.thousands} may be {plain} or "
                f"{self.thousands.replace(',', '.')}. Write numbers without commas between "
                "thousands, and decimals with a point"
            )
            raise BadScores(f"{self.name} must {rule}")


@dataclass
class CellMeaning:
    """How cells are understood: the same in every batch of every file, and what was seen so far."""

    member_value: str | None = None
    drop_missing: bool = False
    texts: bool = True  # whether numbers may be written as text
    offers_drop: bool = True  # whether a missing value names the option that leaves it out
    marks: Marks = field(default_factory=Marks)
    seen: Counter[str] = field(default_factory=Counter)  # the labels other than 1, 0, true, false

    def scores(self, name: str, raw: Any, place: Place) -> tuple[Array, Mask]:
        """Finite numbers, and which rows have none; those are refused unless left out."""
        values, missing = self._numbers(name, raw, place)
        infinite = np.isinf(values)
        if infinite.any():
            row = int(np.argmax(infinite))
            refuse(name, FINITE, float(values[row]), place(row))
        if missing.any() and not self.drop_missing:
            row = int(np.argmax(missing))
            self._refuse_missing(name, _at(raw, row), place(row))
        return values, missing

    def members(self, name: str, raw: Any, place: Place) -> tuple[Mask, Mask]:
        """Who is a member, and which rows do not say."""
        array, missing = _array(name, raw)
        if array.dtype.kind == "f":
            missing = missing | np.isnan(array)
        elif array.dtype.kind in "OUS":
            given = [_text(value) for value in array.tolist()]
            missing = missing | np.fromiter(map(is_missing, given), np.bool_, len(given))
            array = _objects(given)
        if missing.any() and not self.drop_missing:
            row = int(np.argmax(missing))
            self._refuse_missing(name, _at(raw, row), place(row))
        if self.member_value is not None:
            return self._of_value(name, array, missing), missing
        if array.dtype.kind in "biuf":
            wrong = (array != 0) & (array != 1) & ~missing
            if wrong.any():
                row = int(np.argmax(wrong))
                refuse(name, TRUTH, array[row], place(row), advice=ANOTHER)
            return (array == 1) & ~missing, missing
        return self._of_words(name, array, missing, place), missing

    def _refuse_missing(self, name: str, value: object, where: str) -> NoReturn:
        no_number = isinstance(value, float | np.floating) or (
            isinstance(value, str) and _NAN.fullmatch(value)
        )
        shown = math.nan if no_number else value
        if isinstance(value, str) and not value.strip():
            shown = None
        rule = NOT_NAN if no_number else NOT_NULL
        refuse(name, rule, shown, where, *((LEAVE, DROP) if self.offers_drop else ()))

    # -- numbers -----------------------------------------------------------------------------------

    def _numbers(self, name: str, raw: Any, place: Place) -> tuple[Array, Mask]:
        if self.texts and isinstance(raw, list) and all(type(cell) is str for cell in raw):
            return self._of_texts(name, raw, place)
        array, missing = _array(name, raw)
        if array.dtype.kind in "iuf" and not _holds_truths(raw) and not _holds_both(raw, array):
            with np.errstate(over="ignore"):
                values = array.astype(np.float64)
            rounded = _rounded(array) & ~missing
            if rounded.any():
                row = int(np.argmax(rounded))
                refuse(name, WHOLE, int(array[row]), place(row))
            values[missing] = math.nan
            return values, np.isnan(values)
        if array.dtype.kind not in "OUS" and not isinstance(raw, list | tuple):
            row = int(np.argmax(~missing))
            time = array.dtype.kind in "mM"
            refuse(name, NUMBER, str(array[row]) if time else array[row], place(row))
        given = raw if isinstance(raw, list | tuple) else array.tolist()
        values = np.array(
            [
                math.nan if gone else self._number(name, _text(value), place, row)
                for row, (value, gone) in enumerate(zip(given, missing, strict=True))
            ],
            dtype=np.float64,
        )
        return values, np.isnan(values)

    def _number(self, name: str, value: Any, place: Place, row: int) -> float:
        if isinstance(value, str) and not self.texts:
            refuse(name, NUMBER, value, place(row))
        if is_missing(value):
            return math.nan
        if isinstance(value, str):
            return self._of_text(name, value, place, row)
        if isinstance(value, Decimal) and value.is_nan():
            return math.nan
        no_number = isinstance(value, bool | np.bool_ | np.timedelta64)
        whole = isinstance(value, int)
        if no_number or not isinstance(value, numbers.Real | Decimal):
            refuse(name, NUMBER, value, place(row))
        try:
            made = float(value)
        except OverflowError:
            refuse(name, DOUBLE, value, place(row))
        if whole and int(made) != value:
            refuse(name, WHOLE, value, place(row))
        return made

    def _of_texts(self, name: str, cells: list[str], place: Place) -> tuple[Array, Mask]:
        joined = "".join(cells)
        if _DIGITS.fullmatch(joined):
            try:
                values = np.array(list(map(float, cells)))
            except ValueError:
                values = np.array([math.inf])  # the first that is not a number is named below
            if (np.abs(values) <= _EXACT).all():
                if not self.marks.point and "." in joined:
                    row = next(k for k, cell in enumerate(cells) if "." in cell)
                    self._mark(name, cells[row], place(row))
                self.marks.whole = self.marks.whole or cells[0].strip()
                return values, np.zeros(len(cells), dtype=np.bool_)
        values = np.array([self._of_text(name, cell, place, k) for k, cell in enumerate(cells)])
        return values, np.isnan(values)

    def _of_text(self, name: str, cell: str, place: Place, row: int) -> float:
        if is_missing_text(cell):
            return math.nan
        if _INFINITE.fullmatch(cell):
            return float(cell)
        comma = _COMMA.fullmatch(cell)
        if not comma and not _NUMBER.fullmatch(cell):
            refuse(name, NUMBER, cell, place(row))
        self._mark(name, cell, place(row))
        value = float(cell.replace(",", "."))
        if math.isinf(value):
            refuse(name, DOUBLE, cell, place(row))
        if abs(value) > _EXACT and _WHOLE.fullmatch(cell) and int(cell) != int(value):
            refuse(name, WHOLE, cell, place(row))
        return value

    def _mark(self, name: str, cell: str, where: str) -> None:
        """A file has decimal commas or decimal points: with both, some are something else."""
        marks, shown = self.marks, cell.strip()
        if "," in cell:
            marks.comma, marks.name = marks.comma or shown, marks.name or name
            if _THOUSANDS.fullmatch(cell):
                marks.thousands = marks.thousands or shown
            else:
                marks.decimal = True
        elif "." in cell:
            marks.point = marks.point or shown
        else:
            marks.whole = marks.whole or shown
        if marks.comma and marks.point:
            rule = f"have decimal commas or decimal points, not both ({marks.comma}, {marks.point})"
            refuse(name, rule, cell, where)

    # -- labels ------------------------------------------------------------------------------------

    def _of_words(self, name: str, array: NDArray[Any], missing: Mask, place: Place) -> Mask:
        known: dict[Any, bool] = {}
        inside = np.zeros(array.size, dtype=np.bool_)
        for row, value in enumerate(array.tolist()):
            if missing[row]:
                continue
            key = (type(value), value)
            if key not in known:
                known[key] = self._word(name, value, place(row))
            inside[row] = known[key]
        for (_, value), _ in known.items():
            if plain_word(value) not in _PLAIN:
                self.seen[str(value).strip()] += 1
        return inside

    def _word(self, name: str, value: object, where: str) -> bool:
        word = plain_word(value)
        if word in MEMBER_WORDS or word in NON_MEMBER_WORDS:
            return word in MEMBER_WORDS
        return refuse(name, TRUTH, value, where, advice=ANOTHER)

    def _of_value(self, name: str, array: NDArray[Any], missing: Mask) -> Mask:
        """Members by the one value that is theirs; all other values are of non-members."""
        wanted = str(self.member_value).strip()
        there, counts = np.unique(array[~missing].astype(str), return_counts=True)
        for value, count in zip(there.tolist(), counts.tolist(), strict=True):
            self.seen[value.strip()] += count
        if len(self.seen) > _MOST_VALUES:
            rule = f"have at most {_MOST_VALUES} values, one of them {wanted!r}"
            some = ", ".join(map(repr, list(self.seen)[:4]))
            raise BadScores(f"{name} must {rule}, has more: {some}, ...")
        theirs = {value for value in there.tolist() if same_label(value, wanted)}
        return np.isin(array.astype(str), list(theirs)) & ~missing


def same_label(value: str, wanted: str) -> bool:
    """Whether a label is the one that was named: as text in any case, or as a number."""
    if value.strip().casefold() == wanted.strip().casefold():
        return True
    if not (_NUMBER.fullmatch(value) and _NUMBER.fullmatch(wanted)):
        return False
    return float(value) == float(wanted)


def labels(name: str, values: Any, rows: int, place: Place) -> NDArray[Any]:
    """One label per row, none of them missing."""
    array, missing = _array(name, values)
    if array.size != rows:
        refuse(name, f"have one label per score, {rows} in all", array.size, "")
    if missing.any():
        refuse(name, NOT_NULL, None, place(int(np.argmax(missing))))
    if array.dtype.kind in "mM" and np.isnat(array).any():
        refuse(name, NOT_NULL, None, place(int(np.argmax(np.isnat(array)))))
    if array.dtype.kind == "f" and np.isnan(array).any():
        refuse(name, NOT_NULL, math.nan, place(int(np.argmax(np.isnan(array)))))
    if array.dtype.kind == "O":
        every = array.tolist()
        for row, label in enumerate(every):
            if not isinstance(label, str) and is_missing(label):
                refuse(name, NOT_NULL, None if label is None else math.nan, place(row))
            if type(label) is not type(every[0]):
                rule = f"all be {type(every[0]).__name__}, as the first is"
                refuse(name, rule, label, place(row))
    return array


def plain_array(given: Any) -> NDArray[Any]:
    """An array of NumPy, of tensors and sparse matrices, too; masks are kept."""
    given = _dense(given)
    return np.asanyarray(given) if isinstance(given, np.ma.MaskedArray) else np.asarray(given)


def _dense(given: Any) -> Any:
    """What NumPy reads: not so tensors that carry gradients, and sparse or 16-bit ones."""
    if hasattr(given, "detach"):
        given = given.detach().cpu()
        given = given if str(given.layout) == "torch.strided" else given.to_dense()
        # bfloat16, which NumPy does not know, has all its values in float32
        given = given.float() if str(given.dtype) == "torch.bfloat16" else given
    return given.toarray() if hasattr(given, "toarray") else given  # SciPy's sparse ones


def _array(name: str, values: Any) -> tuple[NDArray[Any], Mask]:
    """Values as one array, and which of them are masked."""
    missing, values = None, _dense(values)
    if isinstance(values, np.ma.MaskedArray):
        missing, values = np.ma.getmaskarray(values), values.data
    try:
        array = np.asarray(values)
    except ValueError:
        refuse(name, "be one list of numbers", values, "")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        refuse(name, "be one list of numbers", array.shape, "as its shape")
    if array.dtype.kind in "US" and isinstance(values, list | tuple):
        array = _objects(values)  # NumPy would turn 1 beside "in" into text
    return array, np.zeros(array.size, dtype=np.bool_) if missing is None else missing


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    held = np.empty(len(values), dtype=object)
    held[:] = values
    return held


def _holds_truths(values: Any) -> bool:
    """Whether a list mixes in True or False, which NumPy would quietly turn into numbers."""
    return isinstance(values, list | tuple) and any(
        isinstance(value, bool | np.bool_) for value in values
    )


def _rounded(array: NDArray[Any]) -> Mask:
    """Which whole numbers no double holds: those whose odd part has more than 53 bits."""
    if array.dtype.kind == "f":
        return np.zeros(array.size, dtype=np.bool_)
    large = (array > _EXACT) | (array < -_EXACT)
    size = np.where(array < 0, -array, array)[large].astype(np.uint64)
    odd = size // (size & (~size + np.uint64(1)))
    large[large] = odd >= np.uint64(_EXACT)
    return np.asarray(large)


def _holds_both(values: Any, array: NDArray[Any]) -> bool:
    """Whether NumPy rounded large whole numbers of a list, as it does beside others."""
    return (
        isinstance(values, list | tuple)
        and array.dtype.kind == "f"
        and any(type(value) is int and abs(value) > _EXACT for value in values)
    )


def _text(value: Any) -> Any:
    return bytes(value).decode("latin-1") if isinstance(value, bytes | bytearray) else value


def _at(values: Any, row: int) -> Any:
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values)[row]:
        return None
    return _text(values[row])
