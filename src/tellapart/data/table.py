"""Rows of score files, whatever they were written in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.data.ranked import Mask, Progress
from tellapart.data.sources import Limits, Source


@dataclass(frozen=True)
class Names:
    """The columns that hold the score, who is a member and, where wanted, run and group."""

    score: str = "score"
    member: str = "member"
    run: str | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        """Scores that are read off the column of members tell them apart whatever was trained."""
        columns = list(self.wanted.values())
        for part, name in self.wanted.items():
            if columns.count(name) > 1:
                _checks.refuse(part, "be a column of its own", name)

    @property
    def wanted(self) -> dict[str, str]:
        """Each part that is asked for, with its column."""
        every = {"score": self.score, "member": self.member, "run": self.run, "group": self.group}
        return {part: name for part, name in every.items() if name is not None}


@dataclass(frozen=True)
class Slice:
    """Some rows of one file."""

    scores: Array
    member: Mask
    run: Any = None
    group: Any = None


Reader = Callable[[Sequence[Source], Names, Limits, Progress], Iterator[Slice]]


def together(slices: Iterable[Slice]) -> Slice:
    """All rows at once."""
    every = list(slices)
    runs, groups = (
        None if none else np.concatenate([getattr(one, kind) for one in every])
        for kind, none in (("run", every[0].run is None), ("group", every[0].group is None))
    )
    scores = np.concatenate([one.scores for one in every])
    return Slice(scores, np.concatenate([one.member for one in every]), runs, groups)
