"""Feather and Arrow files, batch by batch, through PyArrow (extra ``files``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tellapart import deadline
from tellapart.data.columns import FrameTable, first_values, position
from tellapart.data.sources import FileLimits, Source, unreadable
from tellapart.data.table import Batch
from tellapart.errors import BadScores, Unsupported


class FeatherTable:
    """A Feather file (Arrow's IPC format, version 2), read one record batch at a time."""

    what, named, aligned = "column", True, True

    def __init__(self, source: Source, limits: FileLimits, opened: ExitStack) -> None:
        try:
            import pyarrow as pa
        except ImportError as missing:
            raise Unsupported(
                "reading Feather files needs: pip install 'tellapart[files]'"
            ) from missing
        self.source, self._limits = source, limits
        # What bytes that are no table make PyArrow raise, names that are no text among them.
        self._errors = (pa.ArrowException, OSError, ValueError, LookupError, MemoryError)
        self._table = pa.Table.from_batches
        self.notes: list[str] = []
        file = opened.enter_context(source.opened())
        begins = file.read(4)
        if begins == b"\xff\xff\xff\xff":
            raise BadScores(
                f"{source} must be an Arrow file, and is a stream: write it as .feather or .parquet"
            )
        if begins == b"FEA1":
            raise BadScores(f"{source} must be Feather of version 2: write it anew, or as .parquet")
        file.seek(0)
        with self._readable():
            self._file = pa.ipc.open_file(file)
            self.names = [str(name) for name in self._file.schema.names]

    def __str__(self) -> str:
        return str(self.source)

    def head(self, name: str) -> list[Any]:
        """The first values of a column."""
        for batch in self.batches([name]):
            return first_values(batch.columns[0])
        return []

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """These columns, one record batch at a time."""
        at = [position(self.names, name, self) for name in names]
        start, every = 0, self._file.num_record_batches
        for k in range(every):
            deadline.check()
            with self._readable():
                some = self._file.get_batch(k)
                if some.nbytes > self._limits.held:
                    most = f"{self._limits.held:,.0f}"
                    self._limits.refuse(self, f"have record batches of at most {most} bytes")
                (batch,) = FrameTable(self._table([some.select(at)])).batches(names)
            yield Batch(batch.columns, some.num_rows, self._place(start), (k + 1) / every)
            start += some.num_rows

    def _place(self, start: int) -> Any:
        return lambda row: f"in data row {start + row + 1} of {self.source} (counted from 1)"

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except BadScores:
            raise
        except self._errors as wrong:
            raise unreadable(self.source, wrong) from wrong
