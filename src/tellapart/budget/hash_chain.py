"""A hash chain (SHA-256): lines of JSON of which none can be changed, dropped or moved unseen.

A line ends in its ``chain``: the SHA-256 of the chain of the line before and of all of the line
that stands before its own. The chain of the last line therefore stands for all lines; whoever has
noted it elsewhere sees whether lines were cut off at the end, which no file can tell by itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from tellapart.errors import BadLedger

# Before the first line.
START = "0" * 64
# Text within a line cannot look like this: its quotation marks are written \".
_SEALED = re.compile(r'(.*), "chain": "([0-9a-f]{64})"\}', re.S)
_END = re.compile(r', "chain": "[0-9a-f]{64}"\}$')


@dataclass(frozen=True)
class ChainLine:
    """A line as it was written: its number from 1, what it says, and the chain up to it."""

    number: int
    content: dict[str, Any]
    chain: str


def sealed(number: int, content: dict[str, Any], before: str) -> tuple[str, ChainLine]:
    """The text of a new line, which follows the line with the chain ``before``."""
    text = json.dumps({"line": number, **content}, ensure_ascii=False, allow_nan=False)
    chain = _hash(before, text[:-1])
    return f'{text[:-1]}, "chain": "{chain}"}}', ChainLine(number, content, chain)


def is_sealed(text: str) -> bool:
    """Whether a text is a line to its end: one whose writer was killed midway is not."""
    return _END.search(text) is not None


def opened(text: str, number: int, before: str, where: str) -> ChainLine:
    """What a line says, once it is known to be as it was written, in its place."""
    match = _SEALED.fullmatch(text)
    if match is None or _hash(before, match[1]) != match[2]:
        raise BadLedger(
            f"line {number} of {where} is not as it was written: put the ledger back from a copy, "
            "and do not delete or mend the line, as what it spent stays spent; without a copy, "
            "open a new ledger with what is surely left"
        )
    content = json.loads(f"{match[1]}}}")
    del content["line"]
    return ChainLine(number, content, match[2])


def _hash(before: str, text: str) -> str:
    return hashlib.sha256((before + text).encode("utf-8", "surrogateescape")).hexdigest()
