"""Reading score files (CSV, .npz, Parquet): the one door, with limits on bytes and rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tellapart.data import csv_file, npz, parquet
from tellapart.data.columns import Names, Reader, Slice
from tellapart.data.ranked import Progress
from tellapart.data.sources import FileLimits, Source, kind_of
from tellapart.errors import BadScores

READERS: dict[str, Reader] = {
    "csv": csv_file.slices,
    "npz": npz.slices,
    "parquet": parquet.slices,
}
# How files of each kind begin, if they always do.
_BEGIN = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"\x1f\x8b": "csv.gz"}


def slices(
    sources: Sequence[Source],
    names: Names,
    limits: FileLimits | None = None,
    progress: Progress | None = None,
) -> Iterator[Slice]:
    """All rows of score files of one kind, some at a time, or what is wrong with them."""
    bounds = limits or FileLimits()
    kind = kind_of(sources[0].path)
    for source in sources:
        _fits(source, bounds)
    rows = 0
    for some in READERS[kind](sources, names, bounds, progress or (lambda _what, _share: None)):
        rows += some.scores.size
        if rows > bounds.rows:
            bounds.refuse(sources[0], f"have at most {bounds.rows:,} rows")
        if some.scores.size:
            yield some
    if not rows:
        raise BadScores(f"score files must have rows, got none in {sources[0]}")


def _fits(source: Source, limits: FileLimits) -> None:
    """Refuse a file by its size, or because it is another than it is called."""
    size = source.size
    if size > limits.file:
        limits.refuse(source, f"have at most {limits.file:,} bytes, has {size:,}")
    if size == 0:
        raise BadScores(f"{source} must not be empty")
    with source.opened() as file:
        begin = file.read(4)
    for start, kind in _BEGIN.items():
        name = source.path.name.lower()
        if begin.startswith(start) and not name.endswith(f".{kind}"):
            raise BadScores(f"{source} must be what its name says, and is .{kind}: rename it")
