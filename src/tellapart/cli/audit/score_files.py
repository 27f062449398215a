"""Score files of an audit: which columns hold score and label, and the score direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from tellapart.audit import Orientation, Scores
from tellapart.cli.options import Switch, TextOption
from tellapart.data import sources
from tellapart.errors import BadScores, NoColumn


@Parameter(name="*", group=Group("Columns of the files", sort_key=2))
@dataclass(frozen=True)
class Columns:
    """Names of the columns, and the score direction."""

    score_column: Annotated[
        TextOption,
        Parameter(help="Column of attack scores. Default: score, or the one that can be meant."),
    ] = None
    member_column: Annotated[
        TextOption,
        Parameter(
            help="Column of labels: 1/0, true/false, yes/no, in/out, member/non-member or "
            "train/test. Default: member, or the one that can be meant."
        ),
    ] = None
    member_value: Annotated[
        TextOption,
        Parameter(
            help="The label of members where it is none of these; all others are non-members."
        ),
    ] = None
    drop_missing: Annotated[
        Switch,
        Parameter(
            help="Leave out rows without a score or a label, which are refused otherwise. The "
            "verdict counts them, as this may bias it."
        ),
    ] = False
    run_column: Annotated[
        TextOption,
        Parameter(
            help="Column of run ids: checks that scores are independent, as the design requires."
        ),
    ] = None
    each_group: Annotated[
        TextOption,
        Parameter(
            help="Audit each group in this column by itself, with an equal share of the level."
        ),
    ] = None
    orientation: Annotated[
        Orientation, Parameter(help="Score direction: higher (or lower) means member.", negative="")
    ] = Orientation.HIGHER

    def read(self, given: Files, progress: Callable[[str, float], None]) -> Scores:
        """The scores in these files; where a column is missing, the options that name others."""
        try:
            return Scores.read(
                given.files or None,
                members=given.members,
                non_members=given.non_members,
                score=self.score_column,
                member=self.member_column,
                run=self.run_column,
                group=self.each_group,
                member_value=self.member_value,
                drop_missing=self.drop_missing,
                orientation=self.orientation,
                progress=progress,
            )
        except NoColumn as error:
            if not error.column:  # it says itself which options there are
                raise
            raise BadScores(f"{error}; {self._named_by(error.column)}") from error

    def _named_by(self, column: str) -> str:
        """The option that says which column is meant by this one."""
        if column == self.run_column:
            return "--run-column names the column of run ids"
        if column == self.each_group:
            return "--each-group names the column of groups"
        return "--score-column and --member-column name the columns"


@dataclass(frozen=True)
class Files:
    """Files of scores: of both sides, or one for each side."""

    files: tuple[str, ...]
    members: str | None = None
    non_members: str | None = None

    @property
    def paths(self) -> list[Path]:
        """The files themselves."""
        sides = [side for side in (self.members, self.non_members) if side is not None]
        named = [sources.matching(group)[1] for group in (self.files, *sides) if group]
        return [path for paths in named for path in paths]
