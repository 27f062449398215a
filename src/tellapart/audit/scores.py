"""Attack scores of members and non-members: the data of every audit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart.data import columns, reading, sources
from tellapart.data.columns import Names, Slice, together
from tellapart.data.ranked import (
    Negated,
    Progress,
    Ranked,
    Whole,
    checked_ranks,
    checked_split,
    checked_values,
)
from tellapart.data.sorted_runs import ScoreFile
from tellapart.data.sources import FileLimits, Paths, Source
from tellapart.errors import BadScores, InvalidArgument, Unsupported

# So few questions of so many scores are answered faster without sorting them.
_FEW, _MANY = 32, 10_000


class RankedScores:
    """Scores of one side, that answer every question about ranks.

    >>> side = RankedScores([0.3, 0.9, 0.3, 0.1])
    >>> side.descending([1, 2]).tolist(), side.above(0.3).tolist(), side.below(0.3).tolist()
    ([0.9, 0.3], 1, 1)
    """

    __slots__ = ("_scores", "_sorted")
    _scores: Array
    _sorted: bool

    def __init__(self, scores: ArrayLike) -> None:
        # Adding zero copies, and makes one score of 0.0 and -0.0.
        self._hold(np.asarray(scores, dtype=np.float64) + 0.0, in_order=False)

    def _hold(self, scores: Array, in_order: bool) -> None:
        scores.flags.writeable = False
        self._scores, self._sorted = scores, in_order

    @classmethod
    def _of_sorted(cls, values: Array) -> RankedScores:
        made = cls.__new__(cls)
        made._hold(values, in_order=True)
        return made

    def __repr__(self) -> str:
        return f"RankedScores({self.count:,} scores)"

    @property
    def count(self) -> int:
        """How many scores there are."""
        return self._scores.size

    @property
    def values(self) -> Array:
        """All scores, sorted."""
        if not self._sorted:
            self._hold(np.sort(self._scores), in_order=True)
        return self._scores

    def _unsorted(self, questions: int) -> bool:
        return not self._sorted and questions <= _FEW and self.count >= _MANY

    def _places(self, places: Whole) -> Array:
        if places.size and self._unsorted(places.size):
            ordered = np.partition(self._scores, np.unique(places))
            return np.asarray(ordered[places])
        return np.asarray(self.values[places])

    def descending(self, ranks: ArrayLike) -> Array:
        return self._places(self.count - checked_ranks(ranks, self.count))

    def ascending(self, ranks: ArrayLike) -> Array:
        return self._places(checked_ranks(ranks, self.count) - 1)

    def above(self, values: ArrayLike) -> Whole:
        asked = checked_values(values)
        if self._unsorted(asked.size):
            counts = [np.count_nonzero(self._scores > value) for value in asked.flat]
            return np.array(counts, dtype=np.int64).reshape(asked.shape)
        return self.count - self._up_to(asked, "right")

    def below(self, values: ArrayLike) -> Whole:
        asked = checked_values(values)
        if self._unsorted(asked.size):
            counts = [np.count_nonzero(self._scores < value) for value in asked.flat]
            return np.array(counts, dtype=np.int64).reshape(asked.shape)
        return self._up_to(asked, "left")

    def _up_to(self, values: Array, side: str) -> Whole:
        places = np.searchsorted(self.values, values, side=side)  # type: ignore[call-overload]
        return np.asarray(places, dtype=np.int64)

    def between(self, low: float, high: float) -> Array:
        first, last = np.searchsorted(self.values, [low, high], side="right")
        return self.values[first:last]

    def split(self, share: float, seed: int) -> tuple[RankedScores, RankedScores]:
        """Two parts drawn by rank, so that neither scores nor the order of rows decide.

        The first holds this share of the scores, rounded, and both hold at least one.
        """
        part, start = checked_split(self.count, share, seed)
        size = min(max(round(part * self.count), 1), self.count - 1)
        draw = np.random.default_rng(start)
        chosen = np.zeros(self.count, dtype=bool)
        chosen[draw.choice(self.count, size, replace=False, shuffle=False)] = True
        return self._of_sorted(self.values[chosen]), self._of_sorted(self.values[~chosen])


Labels = NDArray[Any]

# Rows of a file that are held in memory, 160 MB of scores; more stay on disk.
IN_MEMORY = 20_000_000


class Orientation(Enum):
    """Which scores speak for membership.

    HIGHER: a higher score does. LOWER: a lower one does, as a loss.
    EITHER: it is not known; an audit then looks both ways and pays for it.
    """

    HIGHER = "higher"
    LOWER = "lower"
    EITHER = "either"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Scores:
    """What an attack said of records that were in the data, and of others that were not.

    `members` and `others` are lists of finite numbers. Rows that come from one training run share
    an id in `member_runs` and `other_runs`: they are not independent, and audits must know.
    `member_groups` and `other_groups` name what each row belongs to, as the record attacked.

    >>> scores = Scores(members=[2.0, 1.5, 0.7], others=[0.1, 0.9])
    >>> scores.members.count, scores.others.descending([1]).tolist()
    (3, [0.9])
    """

    members: Ranked
    others: Ranked
    orientation: Orientation
    member_runs: Labels | None
    other_runs: Labels | None
    member_groups: Labels | None
    other_groups: Labels | None
    # The scores in the order of the labels; kept only where there are labels.
    _rows: tuple[Array, Array] | None

    def __init__(
        self,
        members: ArrayLike | Ranked,
        others: ArrayLike | Ranked,
        orientation: Orientation = Orientation.HIGHER,
        *,
        member_runs: Any = None,
        other_runs: Any = None,
        member_groups: Any = None,
        other_groups: Any = None,
    ) -> None:
        inside, outside = _side(members=members), _side(others=others)
        labels = {
            "member_runs": (member_runs, inside),
            "other_runs": (other_runs, outside),
            "member_groups": (member_groups, inside),
            "other_groups": (other_groups, outside),
        }
        kept = {name: _labels(name, given, rows) for name, (given, rows) in labels.items()}
        for kind in ("runs", "groups"):
            if (kept[f"member_{kind}"] is None) != (kept[f"other_{kind}"] is None):
                raise InvalidArgument(f"member_{kind} and other_{kind} must be given together")
        fields = kept | {
            "members": RankedScores(inside) if isinstance(inside, np.ndarray) else inside,
            "others": RankedScores(outside) if isinstance(outside, np.ndarray) else outside,
            "orientation": _checks.member(Orientation, orientation=orientation),
            "_rows": None if all(each is None for each in kept.values()) else (inside, outside),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        score: str = "score",
        member: str = "member",
        run: str | None = None,
        group: str | None = None,
        orientation: Orientation = Orientation.HIGHER,
    ) -> Scores:
        """One row per record: a pandas, Polars or Arrow table, or a dict of columns.

        The column `member` says who was in the data: True and False, or 1 and 0.

        >>> table = {"score": [0.1, 2.0, 0.9], "member": [0, 1, 0]}
        >>> Scores.from_table(table).others.count
        2
        """
        Names(score, member, run, group)
        values = columns.scores(score, columns.column(table, score))
        inside = columns.truths(member, columns.column(table, member))
        runs, groups = (
            None if name is None else columns.labels(name, columns.column(table, name), values.size)
            for name in (run, group)
        )
        return cls.from_rows(values, inside, runs, groups, orientation=orientation)

    @classmethod
    def from_rows(
        cls,
        scores: ArrayLike,
        member: ArrayLike,
        runs: Any = None,
        groups: Any = None,
        *,
        orientation: Orientation = Orientation.HIGHER,
    ) -> Scores:
        """One list of scores and one that says which of them are of members."""
        values, inside = columns.scores("scores", scores), columns.truths("member", member)
        if inside.size != values.size:
            columns.refuse("member", f"say of {values.size} scores who is in", inside.size, "")
        columns.both_sides("scores", int(inside.sum()), int((~inside).sum()))
        sides = {}
        for kind, labels in (("runs", runs), ("groups", groups)):
            if labels is not None:
                known = columns.labels(kind, labels, values.size)
                sides[f"member_{kind}"], sides[f"other_{kind}"] = known[inside], known[~inside]
        return cls(values[inside], values[~inside], orientation, **sides)

    @classmethod
    def read(
        cls,
        path: Paths,
        *,
        score: str = "score",
        member: str = "member",
        run: str | None = None,
        group: str | None = None,
        orientation: Orientation = Orientation.HIGHER,
        progress: Progress | None = None,
    ) -> Scores:
        """Scores from files: .parquet, .csv, .csv.gz or .npz; a path, a pattern or a list of them.

        Large tables stay on disk and are asked there (see `tellapart.data.sorted_runs`). An .npz
        file holds arrays `members` and `others`, or one array for each column.
        `progress(what, share)` is called as the work goes on.
        """
        _, files = sources.matching(path)
        names = Names(score, member, run, group)
        return read_scores([Source(file) for file in files], names, orientation, None, progress)

    def __repr__(self) -> str:
        parts = [f"{self.members.count:,} members", f"{self.others.count:,} others"]
        if self.member_runs is not None:
            parts.append(f"{len(self.runs()):,} runs")
        if self.member_groups is not None and self.other_groups is not None:
            groups = np.unique(np.concatenate([self.member_groups, self.other_groups]))
            parts.append(f"{groups.size:,} groups")
        return f"Scores({', '.join(parts)}, {self.orientation.value} scores accuse)"

    @property
    def sides(self) -> tuple[Ranked, Ranked]:
        """Members and others with the sign that makes a higher score speak for membership."""
        if self.orientation is Orientation.EITHER:
            raise Unsupported("which scores speak for membership is not known: ask both ways")
        if self.orientation is Orientation.LOWER:
            return Negated(self.members), Negated(self.others)
        return self.members, self.others

    def split(self, share: float, seed: int) -> tuple[Scores, Scores]:
        """Two parts for selecting and certifying, drawn without looking at the scores.

        Each side is split on its own; runs and groups are not carried over.
        """
        start = _checks.whole(0, seed=seed)
        first_seed, second_seed = (
            int(each) for each in np.random.SeedSequence(start).generate_state(2, np.uint64)
        )
        members, others = (
            self.members.split(share, first_seed),
            self.others.split(share, second_seed),
        )
        first, second = zip(members, others, strict=True)
        return Scores(*first, self.orientation), Scores(*second, self.orientation)

    def runs(self) -> Labels:
        """The ids of the training runs behind these scores; none where no runs were given."""
        if self.member_runs is None or self.other_runs is None:
            return np.array([])
        return np.unique(np.concatenate([self.member_runs, self.other_runs]))

    def repeated_runs(self) -> dict[Any, int]:
        """The training runs behind more than one row, each with its number of rows."""
        if self.member_runs is None or self.other_runs is None:
            return {}
        ids, rows = np.unique(
            np.concatenate([self.member_runs, self.other_runs]), return_counts=True
        )
        return dict(zip(ids[rows > 1].tolist(), rows[rows > 1].tolist(), strict=True))

    @property
    def independent(self) -> bool | None:
        """Whether every row has a training run of its own; None where no runs were given."""
        return None if self.member_runs is None else not self.repeated_runs()

    def by_group(self) -> dict[Any, Scores]:
        """The scores of each group on their own, by the group's label."""
        if self.member_groups is None or self.other_groups is None or self._rows is None:
            raise Unsupported("these scores have no groups: give member_groups and other_groups")
        inside = np.repeat([True, False], [each.size for each in self._rows])
        values = np.concatenate(self._rows)
        groups = np.concatenate([self.member_groups, self.other_groups])
        runs = None
        if self.member_runs is not None and self.other_runs is not None:
            runs = np.concatenate([self.member_runs, self.other_runs])
        names, which, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        rows = np.split(np.argsort(which, kind="stable"), np.cumsum(sizes)[:-1])
        return {
            label: self._of_group(label, values[at], inside[at], None if runs is None else runs[at])
            for label, at in zip(names.tolist(), rows, strict=True)
        }

    def _of_group(self, label: Any, values: Array, inside: Any, runs: Any) -> Scores:
        if inside.all() or not inside.any():
            missing = "others" if inside.all() else "members"
            raise BadScores(f"group {label!r} must have members and others, has no {missing}")
        return Scores.from_rows(values, inside, runs, orientation=self.orientation)


def read_scores(
    files: Sequence[Source],
    names: Names,
    orientation: Orientation,
    limits: FileLimits | None = None,
    progress: Progress | None = None,
) -> Scores:
    """The one reader of score files, on disk or in memory: what `Scores.read` finds in them."""
    _checks.member(Orientation, orientation=orientation)
    where = sources.described([source.path for source in files])
    slices, held, rows = reading.slices(files, names, limits, progress), list[Slice](), 0
    for some in slices:
        held.append(some)
        rows += some.scores.size
        if rows > IN_MEMORY:
            if names.run is not None or names.group is not None:
                raise Unsupported(
                    f"runs and groups of more than {IN_MEMORY} rows are too many to hold; "
                    "read some of the files at a time"
                )
            file = ScoreFile.of_slices(itertools.chain(_emptied(held), slices), where)
            return Scores(file.members, file.others, orientation)
    every = together(held)
    columns.both_sides(where, int(every.member.sum()), int((~every.member).sum()))
    return Scores.from_rows(
        every.scores, every.member, every.run, every.group, orientation=orientation
    )


def _emptied(held: list[Slice]) -> Iterator[Slice]:
    """What is held, let go of one by one."""
    held.reverse()
    while held:
        yield held.pop()


def _side(**named: Any) -> Array | Ranked:
    ((name, values),) = named.items()
    if isinstance(values, Ranked):
        return values
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    scores = columns.scores(name, values)
    if scores.size == 0:
        columns.refuse(name, "not be empty", [], "")
    return scores


def _labels(name: str, given: Any, rows: Array | Ranked) -> Labels | None:
    if given is None:
        return None
    if not isinstance(rows, np.ndarray):
        raise InvalidArgument("runs and groups must come with the scores as arrays")
    return columns.labels(name, given, rows.size)
