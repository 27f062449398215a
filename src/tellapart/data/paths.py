"""Which files a path, a pattern or a list of both means."""

from __future__ import annotations

import glob
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tellapart.errors import BadScores, InvalidArgument

# Longest first: a name may end in two of them.
KINDS = {".csv.gz": "csv", ".csv": "csv", ".parquet": "parquet", ".npz": "npz"}

# Shorter files may hold the same by chance, such as one score each.
_SHORT = 1_000

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def found(paths: Paths) -> tuple[str, list[Path]]:
    """The kind of the files, all of one kind, and the files in the order of their names."""
    wanted = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [file for one in wanted for file in _matches(os.fspath(one))]
    if not files:
        raise InvalidArgument("path must name at least one file, got an empty list")
    _once(files)
    kind = kind_of(files[0])
    for file in files:
        if kind_of(file) != kind:
            raise BadScores(f"files must be of one kind, got {files[0]} and {file}")
    return kind, files


def words(files: Sequence[Path]) -> str:
    """The files for people: the only one by its name, or how many there are."""
    return str(files[0]) if len(files) == 1 else f"the {len(files):,} files"


def _matches(path: str) -> list[Path]:
    if os.path.isfile(path):
        return [Path(path)]
    if glob.has_magic(path):
        matches = sorted(one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
        if not matches:
            raise BadScores(f"path must match at least one file, got {path!r}")
        return [Path(one) for one in matches]
    if os.path.isdir(path):
        raise BadScores(f"path must name files, got the folder {path!r}: try '{path}/*.parquet'")
    if os.path.exists(path):
        raise BadScores(f"path must name plain files, and {path!r} is a pipe or a device: save it")
    raise BadScores(f"path must name a file that is there, got {path!r}")


def _once(files: list[Path]) -> None:
    """Rows that are read twice would count as twice the evidence."""
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        status = file.stat()
        first = seen.setdefault((status.st_dev, status.st_ino), file)
        if first is not file:
            raise BadScores(f"files must each be named once, got {first} and {file}")
    sizes = Counter(file.stat().st_size for file in files)
    contents: dict[bytes, Path] = {}
    for file in files:
        size = file.stat().st_size
        if size < _SHORT or sizes[size] == 1:
            continue
        with file.open("rb") as stream:
            first = contents.setdefault(hashlib.file_digest(stream, "blake2b").digest(), file)
        if first is not file:
            raise BadScores(
                f"files must not be copies, which count as evidence twice: {first} and {file} "
                "hold the same"
            )


def kind_of(file: Path) -> str:
    """What a file is by the end of its name: csv, parquet or npz."""
    for ending, kind in KINDS.items():
        if file.name.lower().endswith(ending):
            return kind
    raise BadScores(f"a score file must end in .parquet, .csv, .csv.gz or .npz, got {file}")
