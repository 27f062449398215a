"""Scores in NumPy's .npz files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.data import columns
from tellapart.data.frames import listed
from tellapart.data.table import Names, Slice
from tellapart.errors import BadScores


def slices(files: Sequence[Path], names: Names) -> list[Slice]:
    """The rows of each file: arrays `members` and `others`, or one array for each column."""
    return [slice_of(_arrays(file), names, file) for file in files]


def slice_of(arrays: Mapping[str, NDArray[Any]], names: Names, file: Path) -> Slice:
    """The rows that these arrays of a file hold."""
    plain = names.run is None and names.group is None
    if plain and {"members", "others"} <= set(arrays):
        members = _scores("members", arrays["members"], file)
        others = _scores("others", arrays["others"], file)
        inside = np.repeat([True, False], [members.size, others.size])
        return Slice(np.concatenate([members, others]), inside)
    for name in names.wanted.values():
        if name not in arrays:
            also = " (or 'members' and 'others')" if plain else ""
            raise BadScores(f"{file} must have an array {name!r}{also}, has {listed([*arrays])}")
    scores = _scores(names.score, arrays[names.score], file)
    member = columns.truths(names.member, arrays[names.member], _place(file))
    if member.size != scores.size:
        raise BadScores(
            f"{names.member} must say of {scores.size} scores who is in,"
            f" got {member.size} in {file}"
        )
    run, group = (
        None if name is None else columns.labels(name, arrays[name], scores.size, _place(file))
        for name in (names.run, names.group)
    )
    return Slice(scores, member, run, group)


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(file, allow_pickle=False) as opened:
            return {name: opened[name] for name in opened.files}
    except (OSError, ValueError, AttributeError, zipfile.BadZipFile) as wrong:
        why = f": {wrong}" if isinstance(wrong, OSError) else ""
        raise BadScores(f"{file} must be an .npz file of plain arrays{why}") from wrong


def _scores(name: str, values: NDArray[Any], file: Path) -> Array:
    return columns.scores(name, values, _place(file))


def _place(file: Path) -> columns.Place:
    return lambda row: f"in row {row} of {file} (counted from 0)"
