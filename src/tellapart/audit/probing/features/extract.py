"""Feature extraction: from outputs of any kind to columns of numbers, in which events are sought.

Which columns there are is learnt from a part of the outputs, of both inputs together, and fixed:
what is certified later is read off in the same way, output by output. Numbers are read as they
are, floats as real numbers, whole ones to the last digit. Whatever is not a number is a category,
a text that spells a number is both, and a category not seen when the columns were fixed is
"something not seen before".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart.audit.probing.calling.outputs import Broken, CallOutputs
from tellapart.audit.probing.features.columns import MISSING, NUMBER, UNSEEN, Column, Path, What
from tellapart.audit.probing.features.frames import framed
from tellapart.audit.probing.features.reading import FeatureCells, Frame, Sequences
from tellapart.errors import Unsupported

SUMMARIES = (What.SUM, What.LARGEST, What.SMALLEST, What.SECOND, What.WHERE)


def evaluated(column: Column, frame: Frame, count: int) -> Array:
    """The numbers of one column; NaN where an output has none."""
    if column.what is What.VALUE:
        cells = frame.leaves.get(column.path)
        return np.full(count, math.nan) if cells is None else cells.numbers
    if column.what is What.CATEGORY:
        return _categories(column, frame, count)
    sequences = frame.sequences.get(column.path)
    if sequences is None:
        return np.full(count, math.nan)
    if sequences.cells.codes.shape[1] == 0:
        # All are empty: of each there is a length, and it holds none of anything.
        known = column.what in (What.LENGTH, What.COUNT)
        return sequences.lengths if known else np.full(count, math.nan)
    with np.errstate(all="ignore"):
        return np.where(np.isnan(sequences.lengths), math.nan, _summary(column, frame, sequences))


def _categories(column: Column, frame: Frame, count: int) -> Array:
    codes = {word: float(code) for code, word in enumerate(column.words)}
    cells = frame.leaves.get(column.path)
    if cells is None:
        return np.full(count, codes.get(MISSING, float(column.unseen)))
    table = np.array([codes.get(word, float(column.unseen)) for word in frame.words.all])
    return np.asarray(table[cells.codes])


def _summary(column: Column, frame: Frame, sequences: Sequences) -> Array:
    if column.what is What.LENGTH:
        return sequences.lengths
    if column.what in (What.COUNT, What.FIRST):
        return _sought(column, frame, sequences.cells)
    numbers = sequences.cells.numbers
    absent = np.isnan(numbers)
    summary = _of_numbers(column.what, numbers, absent)
    return np.where(absent.all(axis=1), math.nan, summary)


def _of_numbers(what: What, numbers: Array, absent: NDArray[np.bool_]) -> Array:
    if what in (What.SUM, What.MEAN):
        total = np.where(absent, 0.0, numbers).sum(axis=1)
        return np.asarray(total if what is What.SUM else total / (~absent).sum(axis=1))
    if what is What.LARGEST:
        return np.asarray(np.fmax.reduce(numbers, axis=1))
    if what is What.SMALLEST:
        return np.asarray(np.fmin.reduce(numbers, axis=1))
    low = np.where(absent, -math.inf, numbers)
    if what is What.WHERE:
        return np.asarray(np.argmax(low, axis=1), dtype=np.float64)
    if numbers.shape[1] < 2:
        return np.full(len(numbers), math.nan)
    second = np.partition(low, -2, axis=1)[:, -2]
    return np.where((~absent).sum(axis=1) < 2, math.nan, second)


def _sought(column: Column, frame: Frame, cells: FeatureCells) -> Array:
    there = cells.codes == frame.words.code(column.of)
    if column.what is What.COUNT:
        return np.asarray(there.sum(axis=1), dtype=np.float64)
    return np.where(there.any(axis=1), np.argmax(there, axis=1), math.nan)


UserFeatures = Callable[[Any], Any]

_MOST_PLACES = 256
_MOST_CATEGORIES = 256
_MOST_SOUGHT = 8


@dataclass(frozen=True, eq=False)
class Features:
    """Numbers read off outputs: one row a call, NaN where an output has no such number."""

    columns: tuple[Column, ...]
    matrix: Array

    @property
    def names(self) -> tuple[str, ...]:
        """What each column holds, in words."""
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.matrix)

    def rows(self, part: slice) -> Features:
        """A part of the calls."""
        return Features(self.columns, self.matrix[part])


@dataclass(frozen=True)
class Encoding:
    """How outputs become numbers, fixed once and the same for every output since."""

    columns: tuple[Column, ...]
    user: UserFeatures | None = None

    def __call__(self, outputs: CallOutputs) -> Features:
        """The numbers of these outputs."""
        frame, own = (
            framed(outputs),
            [column for column in self.columns if column.what is not What.USER],
        )
        deadline.check_memory(8.0 * len(outputs) * len(self.columns))
        matrix = np.empty((len(outputs), len(self.columns)), order="F")
        for place, column in enumerate(own):
            matrix[:, place] = evaluated(column, frame, len(outputs))
        if self.user is not None:
            named = [column.of for column in self.columns[len(own) :]]
            matrix[:, len(own) :] = _user_rows(self.user, outputs, named)
        return Features(self.columns, matrix)


def learn(first: CallOutputs, second: CallOutputs, user: UserFeatures | None = None) -> Encoding:
    """The columns that fit these outputs, of both inputs; ``user`` makes numbers of an output."""
    frames = (framed(first), framed(second))
    counts = (len(first), len(second))
    columns = [*_at_places(frames, counts), *_of_sequences(frames)]
    if not columns:
        if user is None:
            _refuse_opaque(_kinds((), frames, counts))
        columns = [Column(What.CATEGORY, (), _category_features(_kinds((), frames, counts)))]
    if user is not None:
        columns += [Column(What.USER, of=name) for name in _user_names(user, first, second)]
    return Encoding(tuple(columns), user)


def _refuse_opaque(kinds: Counter[str]) -> None:
    """Objects of one foreign type all look the same: no attack on them would mean anything."""
    (word, *others) = kinds
    if not others and word.startswith("is a ") and word != NUMBER:
        raise Unsupported(
            f"every output {word}, in which nothing can be read; return numbers, texts, lists or "
            "dictionaries, or give features"
        )


# -- what lies at each place ---------------------------------------------------------------------


def _at_places(frames: tuple[Frame, ...], counts: tuple[int, ...]) -> Iterator[Column]:
    places = list(dict.fromkeys(path for frame in frames for path in frame.leaves))
    for path in places[:_MOST_PLACES]:
        kinds = _kinds(path, frames, counts)
        if any(_has_numbers(frame.leaves.get(path)) for frame in frames):
            yield Column(What.VALUE, path)
        words = _category_features(kinds, once=any(path in frame.sequences for frame in frames))
        # That a list is too short is said by its length.
        unremarkable = {NUMBER, MISSING} if path and isinstance(path[-1], int) else {NUMBER}
        if len(kinds) > 1 and not set(kinds) <= unremarkable and len(words) > 1:
            yield Column(What.CATEGORY, path, words)


def _kinds(path: Path, frames: tuple[Frame, ...], counts: tuple[int, ...]) -> Counter[str]:
    """How often each kind lies at a place."""
    kinds: Counter[str] = Counter()
    for frame, count in zip(frames, counts, strict=True):
        cells = frame.leaves.get(path)
        kinds += _count(cells, frame) if cells is not None else Counter({MISSING: count})
    return kinds


def _has_numbers(cells: FeatureCells | None) -> bool:
    return cells is not None and not np.isnan(cells.numbers).all()


def _count(cells: FeatureCells, frame: Frame) -> Counter[str]:
    tally = np.bincount(cells.codes.ravel())
    words = frame.words.all
    return Counter({words[code]: int(tally[code]) for code in np.flatnonzero(tally)})


def _category_features(kinds: Counter[str], once: bool = False) -> tuple[str, ...]:
    """The commonest kinds in a fixed order, and the one for all others.

    Whole sequences that came ``once`` are not worth a name.
    """
    worth = [(-count, word) for word, count in kinds.items() if word != UNSEEN]
    if once:
        worth = [(less, word) for less, word in worth if less < -1]
    return (*sorted(word for _, word in sorted(worth)[:_MOST_CATEGORIES]), UNSEEN)


# -- what sequences are as a whole ---------------------------------------------------------------


def _of_sequences(frames: tuple[Frame, ...]) -> Iterator[Column]:
    places = list(dict.fromkeys(path for frame in frames for path in frame.sequences))
    for path in places[:_MOST_PLACES]:
        sequences = [frame.sequences[path] for frame in frames if path in frame.sequences]
        lengths = np.unique(np.concatenate([elements.lengths for elements in sequences]))
        varies = np.count_nonzero(~np.isnan(lengths)) > 1
        if varies:
            yield Column(What.LENGTH, path)
        if np.nanmax(lengths, initial=0.0) < 2:
            continue
        kinds: Counter[str] = Counter()
        for frame in frames:
            if path in frame.sequences:
                kinds += _count(frame.sequences[path].cells, frame)
        numbers = any(_has_numbers(elements.cells) for elements in sequences)
        if numbers:
            yield from (Column(what, path) for what in SUMMARIES)
        if numbers and varies:
            yield Column(What.MEAN, path)
        for word in _sought_features(kinds):
            yield Column(What.COUNT, path, of=word)
            yield Column(What.FIRST, path, of=word)


def _sought_features(kinds: Counter[str]) -> list[str]:
    plain = {word: count for word, count in kinds.items() if word not in (NUMBER, MISSING, UNSEEN)}
    return sorted(sorted(plain, key=lambda word: (-plain[word], word))[:_MOST_SOUGHT])


# -- the user's own ------------------------------------------------------------------------------


def _user_names(user: UserFeatures, first: CallOutputs, second: CallOutputs) -> list[str]:
    for output in (*first.values, *second.values):
        if not isinstance(output, Broken):
            return list(_named(_asked(user, output)))
    return []


def _asked(user: UserFeatures, output: Any) -> Any:
    try:
        return user(output)
    except Exception as error:  # noqa: BLE001 (the user's own function may raise anything)
        _checks.refuse("features", f"read every output; it {Broken.by(error)}", output)


def _named(result: Any) -> dict[str, float]:
    """The user's numbers with their names."""
    if isinstance(result, Mapping):
        pairs = {f"feature {key}": value for key, value in result.items()}
    elif (
        isinstance(result, Sequence | np.ndarray)
        and not isinstance(result, str)
        and np.ndim(result)
    ):
        pairs = {f"feature[{place}]": value for place, value in enumerate(result)}
    else:
        pairs = {"feature": result}
    try:
        return {name: float(value) for name, value in pairs.items()}
    except (TypeError, ValueError):
        _checks.refuse("features", "return a number, a list or a dictionary of them", result)


def _user_rows(user: UserFeatures, outputs: CallOutputs, names: list[str]) -> Array:
    rows = np.full((len(outputs), len(names)), math.nan)
    for place, output in enumerate(outputs.values):
        if isinstance(output, Broken):
            continue
        numbers = _named(_asked(user, output))
        if list(numbers) != names:
            _checks.refuse("features", f"always return {', '.join(names)}", list(numbers))
        rows[place] = list(numbers.values())
    return rows
