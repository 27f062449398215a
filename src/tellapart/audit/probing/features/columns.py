"""Feature columns: one number read off every output, and how to say it in words."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from tellapart import _checks
from tellapart._numeric.text import short

# What every list of categories ends with: what was not seen when it was made.
UNSEEN = "is something not seen before"
MISSING = "is missing"
NOT_A_NUMBER = "is NaN"
NUMBER = "is a number"


class What(Enum):
    """What a column holds; the text is how it is said of an output."""

    VALUE = "{}"
    CATEGORY = "kind of {}"
    LENGTH = "length of {}"
    SUM = "sum of {}"
    MEAN = "mean of {}"
    LARGEST = "largest of {}"
    SMALLEST = "smallest of {}"
    SECOND = "second largest of {}"
    WHERE = "index of the largest of {}"
    COUNT = "number of {}"
    FIRST = "first index of {}"
    USER = "feature {}"


class Member(NamedTuple):
    """A step from a set to one element."""

    text: str


class Attribute(NamedTuple):
    """A step from a record to one of its fields."""

    name: str


Path = tuple[Hashable, ...]


@dataclass(frozen=True)
class Column:
    """What is read off outputs: where in them, what of it, and what codes stand for."""

    what: What
    path: Path = ()
    words: tuple[str, ...] = ()  # of a category: what each code says
    of: str = ""  # of a count or a first index: what is looked for; of the user's: its name

    @property
    def name(self) -> str:
        """What the column holds, in words."""
        if self.what is What.USER:
            return self.of
        place = _place(self.path)
        if self.what in (What.COUNT, What.FIRST):
            return f"{str(self.what.value).format(self.of.removeprefix('is '))} in {place}"
        return str(self.what.value).format(place)

    @property
    def is_category(self) -> bool:
        """Whether numbers are codes, whose order means nothing."""
        return self.what is What.CATEGORY

    @property
    def unseen(self) -> int:
        """The code of whatever was not seen when the codes were made."""
        return len(self.words) - 1

    # -- events in words ---------------------------------------------------------------------

    def equal(self, value: float) -> str:
        """That the number is this one, or the category the one of this code."""
        if not self.is_category:
            return f"{self.name} is {short(value, 17)}"
        word, place = _checks.shortened(self.words[int(value)]), _place(self.path)
        # What is not said of a value is said of the call: it raises, hangs, ends its process.
        return f"{place} {word}" if word.startswith("is ") else f"the call {word}"


def _place(path: Path) -> str:
    text = "output"
    for step in path:
        if isinstance(step, Member):
            text = f"{step.text} in {text}"
        elif isinstance(step, Attribute):
            text = f"{text}.{step.name}"
        elif isinstance(step, tuple):
            text = f"{text}[{', '.join(map(repr, step))}]"
        else:
            text = f"{text}[{step!r}]"
    return text
