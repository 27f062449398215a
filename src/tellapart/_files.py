"""Atomic writes: files that are whole or not there, and nothing left of runs that were killed.

What is written aside is named after its machine and process, so that a later run can tell what a
dead one left behind from what a live one is writing.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

Write = Callable[[Path], object]

# The machine as a number, the process, and what keeps two of one process apart.
_OURS = re.compile(r"\.?tellapart-([0-9a-f]{8})-(\d+)-[0-9a-f]{8,}(\.\w+)?")


def whole(file: Path, write: Write) -> None:
    """Write one file: all of it is there, or what was there before."""
    all_whole({file: write})


def all_whole(writes: Mapping[Path, Write]) -> None:
    """Write several files: none takes its place before every one of them is complete.

    What goes wrong is said of the file that was asked for, never of the one aside.
    """
    made: dict[Path, Path] = {}
    try:
        for file, write in writes.items():
            with _of(file):
                made[file] = part = _beside(file)
                write(part)
                _settled(part)
        for file in writes:
            with _of(file):
                os.replace(made[file], file)
                del made[file]
    finally:
        for part in made.values():
            part.unlink(missing_ok=True)


def folder_aside(parent: Path | None = None) -> Path:
    """A new folder for this process alone, in another or among temporary ones."""
    where = Path(tempfile.gettempdir()) if parent is None else parent
    sweep(where)
    made = where / f"{'' if parent is None else '.'}{_name()}"
    made.mkdir(mode=0o700)
    return made


def sweep(folder: Path) -> None:
    """Remove what processes of this machine left here that are no more.

    Never what cannot be told from a live one: of other machines, or of a process whose number
    was given to another since.
    """
    if os.name != "posix":  # elsewhere asking for a process may end it
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _OURS.fullmatch(entry.name)
            if match and match[1] == _machine() and not _lives(int(match[2])):
                _remove(Path(entry.path))


@contextmanager
def _of(file: Path) -> Iterator[None]:
    """Errors inside are of this file, whatever the file that was being written."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(file)) from error


def _beside(file: Path) -> Path:
    """A new empty file in the same folder, with the rights that new files have here."""
    part = file.parent / f".{_name()}{file.suffix}"
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return part


def _settled(part: Path) -> None:
    """On disk, and not only on its way there: a full disk shows here at the latest."""
    with part.open("rb+") as done:
        os.fsync(done.fileno())


def _name() -> str:
    return f"tellapart-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"


def _machine() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # there, but somebody else's
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
