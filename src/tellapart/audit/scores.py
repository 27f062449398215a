"""Attack scores of members and non-members: the data of every audit."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart._moved import renamed
from tellapart.data import columns, scores_and_labels, sources
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
from tellapart.data.reading import Preview, Reader, RowsLeftOut
from tellapart.data.reading import preview as look_at
from tellapart.data.sorted_runs import ScoreFile
from tellapart.data.sources import FileLimits, Paths, Source
from tellapart.errors import BadScores, InvalidArgument, Unsupported


class RankedScores:
    """Scores of one side, that answer every question about ranks.

    >>> side = RankedScores([0.3, 0.9, 0.3, 0.1])
    >>> side.descending([1, 2]).tolist(), side.above(0.3).tolist(), side.below(0.3).tolist()
    ([0.9, 0.3], 1, 1)
    """

    __slots__ = ("values",)
    values: Array  # all scores, sorted

    def __init__(self, scores: ArrayLike) -> None:
        # Adding zero copies, and makes one score of 0.0 and -0.0.
        ordered = np.asarray(scores, dtype=np.float64) + 0.0
        ordered.sort()
        self._hold(ordered)

    def _hold(self, ordered: Array) -> None:
        ordered.flags.writeable = False
        self.values = ordered

    @classmethod
    def _of_sorted(cls, values: Array) -> RankedScores:
        made = cls.__new__(cls)
        made._hold(values)
        return made

    def __repr__(self) -> str:
        return f"RankedScores({self.count:,} scores)"

    @property
    def count(self) -> int:
        """How many scores there are."""
        return self.values.size

    def descending(self, ranks: ArrayLike) -> Array:
        return np.asarray(self.values[self.count - checked_ranks(ranks, self.count)])

    def ascending(self, ranks: ArrayLike) -> Array:
        return np.asarray(self.values[checked_ranks(ranks, self.count) - 1])

    def above(self, values: ArrayLike) -> Whole:
        return self.count - self._up_to(checked_values(values), "right")

    def below(self, values: ArrayLike) -> Whole:
        return self._up_to(checked_values(values), "left")

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
    """The score direction: whether a higher score means member, or a lower one, as for a loss.

    EITHER: it is not known; an audit then tests both directions, which halves the level of each.
    """

    HIGHER = "higher"
    LOWER = "lower"
    EITHER = "either"

    @property
    def meaning(self) -> str:
        """The direction in words."""
        return (
            f"{self.value} means member" if self is not Orientation.EITHER else "either direction"
        )


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Scores:
    """The scores that an attack gave to members and to non-members.

    `members` and `non_members` are lists of finite numbers. Rows that come from one training run
    share an id in `member_runs` and `non_member_runs`: they are not independent, and audits must
    know. `member_groups` and `non_member_groups` name what each row belongs to, as the record
    attacked. The names of 0.1, `others`, `other_runs` and `other_groups`, are accepted as well.

    >>> scores = Scores(members=[2.0, 1.5, 0.7], non_members=[0.1, 0.9])
    >>> scores.members.count, scores.non_members.descending([1]).tolist()
    (3, [0.9])
    """

    members: Ranked
    non_members: Ranked
    orientation: Orientation
    member_runs: Labels | None
    non_member_runs: Labels | None
    member_groups: Labels | None
    non_member_groups: Labels | None
    # What was inferred to read them from a file, and which rows were left out.
    notes: tuple[str, ...]
    left_out: RowsLeftOut
    repeated: str
    # The scores in the order of the labels; kept only where there are labels.
    _rows: tuple[Array, Array] | None

    @renamed(others="non_members", other_runs="non_member_runs", other_groups="non_member_groups")
    def __init__(
        self,
        members: ArrayLike | Ranked,
        non_members: ArrayLike | Ranked,
        orientation: Orientation = Orientation.HIGHER,
        *,
        member_runs: Any = None,
        non_member_runs: Any = None,
        member_groups: Any = None,
        non_member_groups: Any = None,
    ) -> None:
        inside, outside = _side(members=members), _side(non_members=non_members)
        labels = {
            "member_runs": (member_runs, inside),
            "non_member_runs": (non_member_runs, outside),
            "member_groups": (member_groups, inside),
            "non_member_groups": (non_member_groups, outside),
        }
        kept = {name: _labels(name, given, rows) for name, (given, rows) in labels.items()}
        for kind in ("runs", "groups"):
            if (kept[f"member_{kind}"] is None) != (kept[f"non_member_{kind}"] is None):
                raise InvalidArgument(f"member_{kind} and non_member_{kind} must be given together")
        fields = kept | {
            "members": RankedScores(inside) if isinstance(inside, np.ndarray) else inside,
            "non_members": RankedScores(outside) if isinstance(outside, np.ndarray) else outside,
            "orientation": _checks.member(Orientation, orientation=orientation),
            "notes": (),
            "left_out": RowsLeftOut(),
            "repeated": "",
            "_rows": None if all(each is None for each in kept.values()) else (inside, outside),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        score: str | None = None,
        member: str | None = None,
        run: str | None = None,
        group: str | None = None,
        member_value: str | None = None,
        drop_missing: bool = False,
        orientation: Orientation = Orientation.HIGHER,
    ) -> Scores:
        """One row per record: a pandas, Polars or Arrow table, or a dict of columns.

        The column `member` says who was in the data: 1 and 0, true and false, in and out. Columns
        are found, values are understood, and what is missing is refused as in files (see `read`).
        A column called `run` must be read or renamed, as scores of one run are not independent.

        >>> table = {"score": [0.1, 2.0, 0.9], "member": [0, 1, 0]}
        >>> Scores.from_table(table).non_members.count
        2
        """
        names = Names(score, member, run, group)
        reader = Reader(names, _value(member_value), _flag(drop_missing=drop_missing))
        every = together(reader.table(table))
        return _told(
            cls.from_rows(
                every.scores, every.member, every.run, every.group, orientation=orientation
            ),
            reader,
        )

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
        """One list of scores, and one of labels that say which scores are of members."""
        for name, values in (("member", member), ("runs", runs), ("groups", groups)):
            columns.same_order(name, values, "scores", scores)
        given = _numbers("scores", scores)
        inside, _ = scores_and_labels.CellMeaning(offers_drop=False).members(
            "member", member, columns.from_zero
        )
        columns.one_length("member", given.size, inside.size)
        columns.both_sides("scores", int(inside.sum()), int((~inside).sum()))
        sides = {}
        for kind, labels in (("runs", runs), ("groups", groups)):
            if labels is not None:
                known = scores_and_labels.labels(kind, labels, given.size, columns.from_zero)
                sides[f"member_{kind}"], sides[f"non_member_{kind}"] = known[inside], known[~inside]
        return cls(given[inside], given[~inside], orientation, **sides)

    @classmethod
    def read(
        cls,
        path: Paths | None = None,
        *,
        members: Paths | None = None,
        non_members: Paths | None = None,
        score: str | None = None,
        member: str | None = None,
        run: str | None = None,
        group: str | None = None,
        member_value: str | None = None,
        drop_missing: bool = False,
        orientation: Orientation = Orientation.HIGHER,
        progress: Progress | None = None,
    ) -> Scores:
        """Scores from files as tools leave them: a path, a pattern or a list of them.

        .csv, .tsv, .txt, .json and .jsonl (also with .gz), .npy, .npz, .parquet and .feather; one
        file for each side with `members` and `non_members`. Columns that are not named are found
        where one can be meant, and asked for where several can: `notes` of the result says what was
        inferred. Missing values are refused; with `drop_missing` their rows are left out, counted
        in `left_out`, and named in the verdict. `member_value` is the label of members where it is
        none of 1, true, yes, in, member and train.

        Large files stay on disk and are asked there (see `tellapart.data.sorted_runs`).
        `progress(what, share)` is called as the work goes on.
        """
        named = {"members": members, "non_members": non_members}
        inside, outside = ([] if p is None else _files(p) for p in named.values())
        if (members is None) != (non_members is None) or (path is None) == (members is None):
            raise InvalidArgument(
                "path must be given, or members and non_members, a file for each side"
            )
        return read_scores(
            _files(path) if path is not None else inside,
            Names(score, member, run, group),
            orientation,
            progress=progress,
            non_members=outside,
            member_value=member_value,
            drop_missing=drop_missing,
        )

    def __repr__(self) -> str:
        parts = [f"{self.members.count:,} members", f"{self.non_members.count:,} non-members"]
        if self.member_runs is not None:
            parts.append(f"{len(self.runs()):,} runs")
        if self.member_groups is not None and self.non_member_groups is not None:
            groups = np.unique(np.concatenate([self.member_groups, self.non_member_groups]))
            parts.append(f"{groups.size:,} groups")
        return f"Scores({', '.join(parts)}, {self.orientation.meaning})"

    @property
    def others(self) -> Ranked:
        """The old name of ``non_members``."""
        return self.non_members

    @property
    def other_runs(self) -> Labels | None:
        """The old name of ``non_member_runs``."""
        return self.non_member_runs

    @property
    def other_groups(self) -> Labels | None:
        """The old name of ``non_member_groups``."""
        return self.non_member_groups

    @property
    def sides(self) -> tuple[Ranked, Ranked]:
        """Members and non-members, negated where a lower score means member."""
        if self.orientation is Orientation.EITHER:
            raise Unsupported(
                "the score direction is not known (Orientation.EITHER): ask for both directions"
            )
        if self.orientation is Orientation.LOWER:
            return Negated(self.members), Negated(self.non_members)
        return self.members, self.non_members

    def split(self, share: float, seed: int) -> tuple[Scores, Scores]:
        """Two parts for selecting and certifying, drawn without looking at the scores.

        Each side is split on its own; runs and groups are not carried over.
        """
        start = _checks.whole(0, seed=seed)
        first_seed, second_seed = (
            int(each) for each in np.random.SeedSequence(start).generate_state(2, np.uint64)
        )
        members, non_members = (
            self.members.split(share, first_seed),
            self.non_members.split(share, second_seed),
        )
        first, second = zip(members, non_members, strict=True)
        return Scores(*first, self.orientation), Scores(*second, self.orientation)

    def runs(self) -> Labels:
        """The ids of the training runs behind these scores; none where no runs were given."""
        if self.member_runs is None or self.non_member_runs is None:
            return np.array([])
        return np.unique(np.concatenate([self.member_runs, self.non_member_runs]))

    def repeated_runs(self) -> dict[Any, int]:
        """The training runs behind more than one row, each with its number of rows."""
        if self.member_runs is None or self.non_member_runs is None:
            return {}
        ids, rows = np.unique(
            np.concatenate([self.member_runs, self.non_member_runs]), return_counts=True
        )
        return dict(zip(ids[rows > 1].tolist(), rows[rows > 1].tolist(), strict=True))

    @property
    def independent(self) -> bool | None:
        """Whether every row has a training run of its own; None where no runs were given."""
        return None if self.member_runs is None else not self.repeated_runs()

    def by_group(self) -> dict[Any, Scores]:
        """The scores of each group on their own, by the group's label."""
        if self.member_groups is None or self.non_member_groups is None or self._rows is None:
            raise Unsupported(
                "these scores have no groups: give member_groups and non_member_groups"
            )
        inside = np.repeat([True, False], [each.size for each in self._rows])
        every = np.concatenate(self._rows)
        groups = np.concatenate([self.member_groups, self.non_member_groups])
        runs = None
        if self.member_runs is not None and self.non_member_runs is not None:
            runs = np.concatenate([self.member_runs, self.non_member_runs])
        names, which, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        rows = np.split(np.argsort(which, kind="stable"), np.cumsum(sizes)[:-1])
        return {
            label: self._of_group(label, every[at], inside[at], None if runs is None else runs[at])
            for label, at in zip(names.tolist(), rows, strict=True)
        }

    def _of_group(self, label: Any, scores: Array, inside: Any, runs: Any) -> Scores:
        if inside.all() or not inside.any():
            missing = "non-members" if inside.all() else "members"
            raise BadScores(f"group {label!r} must have members and non-members, has no {missing}")
        return Scores.from_rows(scores, inside, runs, orientation=self.orientation)


def preview(
    path: str | os.PathLike[str], *, score: str | None = None, member: str | None = None
) -> Preview:
    """What `Scores.read` finds in a file: its columns, first rows, and what it would infer.

    >>> from tellapart.web import example
    >>> seen = preview(example())
    >>> seen.columns, seen.score, seen.member
    (('score', 'member'), 'score', 'member')
    """
    _, files = sources.matching(path)
    return look_at(Source(files[0]), Names(score, member))


def read_scores(
    files: Sequence[Source],
    names: Names,
    orientation: Orientation,
    limits: FileLimits | None = None,
    progress: Progress | None = None,
    *,
    non_members: Sequence[Source] = (),
    member_value: str | None = None,
    drop_missing: bool = False,
) -> Scores:
    """The one reader of score files, on disk or in memory: what `Scores.read` finds in them.

    With `non_members`, the first files hold the scores of members alone.
    """
    _checks.member(Orientation, orientation=orientation)
    where = sources.described([source.path for source in (*files, *non_members)])
    dropped = _flag(drop_missing=drop_missing)
    reader = Reader(names, _value(member_value), dropped, limits or FileLimits(), progress)
    if non_members:
        if set(names.wanted) - {"score"} or member_value is not None:
            raise InvalidArgument(
                "member, run, group and member_value must be left out with a file for each side"
            )
        slices = reader.sides(files, non_members)
    else:
        slices = reader.files(files)
    held, rows = list[Slice](), 0
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
            return _told(Scores(file.members, file.non_members, orientation), reader)
    every = together(_emptied(held))
    columns.both_sides(where, int(every.member.sum()), int((~every.member).sum()))
    scores = Scores.from_rows(
        every.scores, every.member, every.run, every.group, orientation=orientation
    )
    return _told(scores, reader)


def _told(scores: Scores, reader: Reader) -> Scores:
    """The same, with what was inferred and left out when they were read."""
    object.__setattr__(scores, "notes", reader.notes)
    object.__setattr__(scores, "left_out", reader.left_out)
    object.__setattr__(scores, "repeated", reader.repeated)
    return scores


def _files(path: Paths) -> list[Source]:
    return [Source(file) for file in sources.matching(path)[1]]


def _flag(**named: Any) -> bool:
    _checks.instance(bool, "True or False", **named)
    return bool(*named.values())


def _value(member_value: object) -> str | None:
    return None if member_value is None else str(member_value)


def _emptied(held: list[Slice]) -> Iterator[Slice]:
    """What is held, let go of one by one."""
    held.reverse()
    while held:
        yield held.pop()


def _side(**named: Any) -> Array | Ranked:
    ((name, given),) = named.items()
    if isinstance(given, Ranked):
        return given
    if hasattr(given, "to_numpy"):
        given = given.to_numpy()
    scores = _numbers(name, given)
    if scores.size == 0:
        scores_and_labels.refuse(name, "not be empty", [], "")
    return scores


def _numbers(name: str, given: Any) -> Array:
    """Finite numbers, none of them as text."""
    return scores_and_labels.CellMeaning(texts=False, offers_drop=False).scores(
        name, given, columns.from_zero
    )[0]


def _labels(name: str, given: Any, rows: Array | Ranked) -> Labels | None:
    if given is None:
        return None
    if not isinstance(rows, np.ndarray):
        raise InvalidArgument("runs and groups must come with the scores as arrays")
    return scores_and_labels.labels(name, given, rows.size, columns.from_zero)
