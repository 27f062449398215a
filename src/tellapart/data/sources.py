"""Score files: which ones a path or a pattern means, their kind, and how they are opened."""

from __future__ import annotations

import glob
import hashlib
import io
import math
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tellapart.errors import BadScores, InvalidArgument, Unsupported

# What a description in TOML or an input in JSON may have; people write them, or small programs.
LARGEST_TEXT = 2**26
# Shorter files may hold the same by chance, such as one score each.
_SHORT = 1_000

_OTHERS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe: save what comes out of it to a file",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class FileLimits:
    """How much of a file may be read, in bytes and rows, and who takes more."""

    file: float = math.inf
    unpacked: float = 2.0**36  # of a .csv.gz or an array in an .npz file, which are not held
    held: float = 2.0**30  # of labels, or of arrays that cannot be read a slice at a time
    document: float = 2.0**26  # of a .json file, which is held whole and takes many times its size
    rows: float = math.inf
    instead: str = ""

    def refuse(self, file: object, what: str) -> None:
        """Say which limit a file is over."""
        raise BadScores(f"{file} must {what}", self.instead)


@dataclass(frozen=True)
class Source:
    """One file, by its name; with ``content`` it lies in memory, and the name is only a name."""

    path: Path
    content: bytes | None = None

    def __str__(self) -> str:
        return str(self.path)

    def opened(self) -> IO[bytes]:
        """The bytes of it."""
        if self.content is not None:
            return io.BytesIO(self.content)
        try:
            return opened(self.path)
        except OSError as wrong:
            raise unreadable(self, wrong) from wrong

    @property
    def size(self) -> int:
        """How many bytes it has."""
        with self.opened() as file:
            return file.seek(0, io.SEEK_END)

    @contextmanager
    def named(self) -> Iterator[str]:
        """A path for a reader that wants one, and would take * and [ for a pattern."""
        if self.content is None:
            path = str(self.path)
            # A name that starts with ~ is a name, and nobody's home.
            yield glob.escape(f"./{path}" if path.startswith("~") else path)
            return
        if not hasattr(os, "memfd_create"):
            raise Unsupported(
                f"{self} cannot be read here: a Parquet file is kept in memory on Linux alone; "
                "save it as .csv or .npz, or use the command line"
            )
        handle = os.memfd_create("scores")
        try:
            with open(handle, "wb", closefd=False) as held:
                held.write(self.content)
            yield f"/proc/self/fd/{handle}"
        finally:
            os.close(handle)


def unreadable(file: object, wrong: BaseException | str) -> BadScores:
    """Says which file cannot be read, and why."""
    said = wrong.strerror if isinstance(wrong, OSError) and wrong.strerror else str(wrong)
    return BadScores(f"{file} must be readable: {(said.strip() or 'it is not').splitlines()[0]}")


def opened(path: Path) -> IO[bytes]:
    """A plain file; a pipe or a device, which may never end, is refused at once."""
    # Without O_NONBLOCK, opening a pipe waits for someone to write to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    kind = stat.S_IFMT(os.fstat(handle).st_mode)
    if kind != stat.S_IFREG:
        os.close(handle)
        raise InvalidArgument(f"{path} must be a plain file, got {_OTHERS.get(kind, 'none')}")
    return open(handle, "rb")


def text(path: str | os.PathLike[str]) -> str:
    """All of a plain file of text in UTF-8, if it is not larger than people write them."""
    with opened(Path(path)) as file:
        held = file.read(LARGEST_TEXT + 1)
    if len(held) > LARGEST_TEXT:
        raise InvalidArgument(f"{path} must have at most {LARGEST_TEXT:,} bytes")
    try:
        return held.decode("utf-8")
    except UnicodeDecodeError as wrong:
        line = 1 + held.count(b"\n", 0, wrong.start)
        raise InvalidArgument(
            f"{path} must be text in UTF-8, got the byte 0x{held[wrong.start]:02x} in line {line}"
        ) from wrong


_TEXTS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), "csv"),
    ".json": "json",
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
}
KINDS = {
    **_TEXTS,
    **{f"{ending}.gz": kind for ending, kind in _TEXTS.items()},
    ".npy": "npy",
    ".npz": "npz",
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow"), "feather"),
}
_ENDINGS = ".csv, .tsv, .txt, .json or .jsonl (also with .gz), .npy, .npz, .parquet or .feather"
_PICKLE = (
    "is a pickle, which may run any code when it is opened: save the scores with np.savez or as "
    ".csv where it was made"
)
_SHEET = "is a spreadsheet: save the sheet of scores as “CSV UTF-8”"
_OTHER_TOOLS = (
    "is not read: export the scores and who is a member to .csv, .npz or .parquet with the tool "
    "that wrote it"
)
_REFUSED = {
    **dict.fromkeys((".pkl", ".pickle", ".p", ".joblib", ".pt", ".pth", ".ckpt"), _PICKLE),
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods", ".numbers"), _SHEET),
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".mat", ".rds", ".rdata", ".rda"), _OTHER_TOOLS),
    **dict.fromkeys((".dta", ".sav", ".sas7bdat", ".safetensors", ".db", ".sqlite"), _OTHER_TOOLS),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".bz2", ".xz", ".zst"), "must be unpacked"),
}

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def matching(paths: Paths) -> tuple[str, list[Path]]:
    """The kind of the files, all of one kind, and the files in the order of their names."""
    wanted = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [file for path in wanted for file in _matches(os.fspath(path))]
    if not files:
        raise InvalidArgument("path must name at least one file, got an empty list")
    _once(files)
    kind = kind_of(files[0])
    for file in files:
        if kind_of(file) != kind:
            raise BadScores(f"files must be of one kind, got {files[0]} and {file}")
    return kind, files


def described(files: Sequence[Path]) -> str:
    """The files for people: the only one by its name, or how many there are."""
    return str(files[0]) if len(files) == 1 else f"the {len(files):,} files"


def _matches(path: str) -> list[Path]:
    if os.path.isfile(path):
        return [Path(path)]
    if glob.has_magic(path):
        matches = sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name))
        if not matches:
            raise BadScores(f"path must match at least one file, got {path!r}")
        return [Path(name) for name in matches]
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
    """What a file is by the end of its name, such as csv, json, npz or parquet."""
    name = file.name.lower()
    for ending in ("".join(file.suffixes[-2:]).lower(), file.suffix.lower()):
        if ending in KINDS:
            return KINDS[ending]
    plain = Path(name.removesuffix(".gz")).suffix
    if plain in _REFUSED:
        raise BadScores(f"{file} {_REFUSED[plain]}")
    raise BadScores(f"a score file must end in {_ENDINGS}, got {file}")
