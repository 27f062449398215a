"""Checkpoints of shadow models: every finished one's scores, so that a killed game goes on."""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import _files
from tellapart._checks import Array
from tellapart.audit.checkpoints import MANIFEST, opened_folder
from tellapart.data import npz, parquet
from tellapart.data.sources import Source
from tellapart.errors import InvalidArgument, TellapartError, TrainingStopped, Unsupported

COLUMNS = ("example", "member", "seed", "score", "seconds")
_COPY = (
    "copy (select example::bigint as example, member::boolean as member, seed::bigint as seed, "
    "score, seconds from kept) to $1 (format parquet)"
)
_WRAPPED = re.compile(r'"exception_message":("(?:[^"\\]|\\.)*")')
_READ = "select * from read_parquet(?, file_row_number=true) order by file_row_number"


@dataclass(frozen=True)
class ModelStore:
    """Where finished models lie: one file each, and a manifest that names the game.

    Files are written under another name and renamed when whole, so a file that is there is whole;
    one that cannot be read all the same is as good as none, and its model is trained again.
    """

    folder: Path
    format: str  # "parquet" or "npy"

    @classmethod
    def opened(cls, folder: str | os.PathLike[str], game: Mapping[str, Any]) -> ModelStore:
        """The folder of this game, begun or gone on with; that of another is refused."""
        form = "parquet" if importlib.util.find_spec("duckdb") else "npy"
        try:
            where, known = opened_folder(folder, {**game, "format": form}, "game")
        except OSError as error:
            where = Path(folder).absolute()
            raise TrainingStopped(f"nothing can be kept in {where}: {error}") from error
        return cls(where, form if known is None else _format(where, known))

    def path(self, model: int) -> Path:
        """The file of one model."""
        return self.folder / f"model-{model:07d}.{self.format}"

    def count(self) -> int:
        """How many models are kept."""
        return sum(1 for _ in self.folder.glob(f"model-*.{self.format}"))

    def write(self, model: int, rows: Array) -> None:
        """Keep one model's rows: example, member, seed, score, seconds."""
        save = _save_parquet if self.format == "parquet" else _save_npy
        _files.whole(self.path(model), lambda part: save(part, rows))

    def read(self, model: int) -> Array | None:
        """One model's rows; None where there are none that can be read."""
        file = self.path(model)
        if not file.exists():
            return None
        try:
            rows = _load_parquet(file) if self.format == "parquet" else npz.alone(Source(file))
            return np.asarray(rows, dtype=np.float64)
        except (OSError, ValueError, TypeError, KeyError, EOFError, MemoryError, TellapartError):
            return None


def _format(where: Path, manifest: Mapping[str, Any]) -> str:
    """The format that a folder's manifest names, if it can be read here."""
    form = manifest.get("format")
    if form not in ("parquet", "npy"):
        known = where / MANIFEST
        raise InvalidArgument(f"{known} must name the format parquet or npy, got {form!r}")
    if form == "parquet" and importlib.util.find_spec("duckdb") is None:
        raise Unsupported(f"reading what {where} keeps needs: pip install 'tellapart[files]'")
    return str(form)


@cache
def _database(process: int) -> Any:
    """One for each process, as opening it takes longer than many files do."""
    database = parquet.connected(None)  # a model's rows need no room on disk to be sorted in
    database.execute("set threads = 1")
    atexit.register(_database.cache_clear)  # what is still open at the end DuckDB complains of
    return database


def _save_npy(part: Path, rows: Array) -> None:
    np.save(part, rows)


def _save_parquet(part: Path, rows: Array) -> None:
    import duckdb

    columns = {name: np.ascontiguousarray(rows[:, k]) for k, name in enumerate(COLUMNS)}
    with _database(os.getpid()).cursor() as ask:
        ask.register("kept", columns)
        try:
            ask.execute(_COPY, [str(part)])
        except duckdb.Error as error:
            raise OSError(_said(str(error))) from error


def _said(message: str) -> str:
    """The words of DuckDB's message, which may be wrapped as JSON."""
    inner = _WRAPPED.search(message)
    if inner is not None:
        return str(json.loads(inner[1]))
    return message.strip().splitlines()[0]


def _load_parquet(file: Path) -> Array:
    source = Source(file)
    with _database(os.getpid()).cursor() as ask, source.named() as path:
        columns = parquet.fetch_arrays(ask, parquet.DuckFile(source, path), _READ)
    return np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in COLUMNS])
