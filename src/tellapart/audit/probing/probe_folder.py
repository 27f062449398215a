"""The folder of one probe: what was asked of which code, and where its finished calls lie.

A probe that goes on is the same probe. What it will call was settled before its first call, by the
seed and each call's place, and its manifest names everything that the verdict rests on: whoever
stops it, looks and goes on cannot ask for more calls, another claim or another confidence, so the
level holds as if nobody had looked. Code that draws noise of its own gives new outputs for calls
that were not kept, as independent of the others as all calls are.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import _checks, _files
from tellapart.audit.probing import code_identity
from tellapart.audit.probing.calling.kept_calls import KeptCalls
from tellapart.audit.probing.calling.program import Program
from tellapart.audit.trainings import datasets
from tellapart.audit.trainings.store import MANIFEST, same_manifest


def opened(
    folder: str | os.PathLike[str],
    mechanism: Callable[..., Any],
    inputs: tuple[Any, Any],
    asked: Mapping[str, Any],
) -> KeptCalls:
    """The folder of this probe, begun or gone on with; that of another is refused."""
    _checks.instance(str | os.PathLike, "a path", folder=folder)
    where = Path(folder).absolute()  # workers may have been started elsewhere
    probe = {**_manifest(mechanism, inputs), **asked}
    where.mkdir(parents=True, exist_ok=True)
    _files.sweep(where)
    known = where / MANIFEST
    if known.exists():
        same_manifest(where, known, probe, "probe")
        return KeptCalls(where)
    if any(not one.name.startswith(".") for one in where.iterdir()):
        _checks.refuse("folder", "be empty or that of a probe", str(where))
    text = json.dumps(probe, indent=1)
    _files.whole(known, lambda part: part.write_text(text, encoding="utf-8"))
    return KeptCalls(where)


def _manifest(mechanism: Callable[..., Any], inputs: tuple[Any, Any]) -> dict[str, Any]:
    from tellapart import __version__

    return {
        "probe": "calls",
        "mechanism": code_identity.name(mechanism),
        "code": _program(mechanism) if isinstance(mechanism, Program) else _whole(mechanism),
        "d0": datasets.fingerprint(inputs[0]),
        "d1": datasets.fingerprint(inputs[1]),
        "versions": {
            "tellapart": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def _whole(mechanism: Callable[..., Any]) -> str:
    """Code with all that is in its files: calls are made again more quickly than models trained."""
    return code_identity.code(mechanism, whole_files=True)


def _program(mechanism: Program) -> str:
    """A command, and what is in the files that it names; the program may lie on the path."""
    told = hashlib.sha256(repr(mechanism.words).encode())
    program, *arguments = mechanism.words
    for word in (shutil.which(program) or program, *arguments):
        if Path(word).is_file():
            told.update(Path(word).read_bytes())
            told.update(code_identity.contents(code_identity.files_of_script(Path(word))))
    return told.hexdigest()[:32]
