"""Options of the command that audits: what files hold, and where to look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from tellapart._checks import refuse
from tellapart.audit import (
    Band,
    Credible,
    Fixed,
    Guessing,
    Method,
    Orientation,
    Prior,
    Ranks,
    Scores,
    Split,
)
from tellapart.cli.options import Option, Whole
from tellapart.data.frames import NoColumn
from tellapart.errors import BadScores


@Parameter(name="*", group=Group("What the files hold", sort_key=2))
@dataclass(frozen=True)
class Columns:
    """Which columns of the files mean what."""

    score_column: Annotated[str, Parameter(help="What the attack said of a row.")] = "score"
    member_column: Annotated[
        str, Parameter(help="Whether the record was in: 1 or 0, or true or false.")
    ] = "member"
    run_column: Annotated[
        str | None,
        Parameter(
            help="Which run a row is of: checks that each has the scores its design allows.",
            show_default=False,
        ),
    ] = None
    each_group: Annotated[
        str | None,
        Parameter(
            help="Audit the groups in this column one by one; each gets a share of 1 − confidence.",
            show_default=False,
        ),
    ] = None
    orientation: Annotated[
        Orientation, Parameter(help="Which scores speak for membership.", negative="")
    ] = Orientation.HIGHER

    def read(self, files: Sequence[str], progress: Callable[[str, float], None]) -> Scores:
        """The scores in these files; where a column is missing, the options that name others."""
        try:
            return Scores.read(
                files,
                score=self.score_column,
                member=self.member_column,
                run=self.run_column,
                group=self.each_group,
                orientation=self.orientation,
                progress=progress,
            )
        except NoColumn as error:
            how = "--score-column and --member-column name others than score and member"
            raise BadScores(f"{error}; {how}") from error


@Parameter(name="*", group=Group("How to look", sort_key=3))
@dataclass(frozen=True)
class Looking:
    """How sure to be, and where to look."""

    confidence: Annotated[
        float, Parameter(help="Least chance that nothing at all is falsely claimed, below 1.")
    ] = 0.95
    method: Annotated[
        Literal["ranks", "split", "band", "fixed", "joint-beta", "jeffreys"] | None,
        Parameter(
            help="Where to look: at pre-set ranks (the default for many-runs), at one chosen on a "
            "part set aside, at all thresholds at once, or at --threshold; joint-beta and jeffreys "
            "are Bayesian bounds there, and refute nothing. For one-run: split, or nothing.",
            show_default=False,
        ),
    ] = None
    threshold: Annotated[
        Option,
        Parameter(help="For fixed, joint-beta and jeffreys: settled before seeing these scores."),
    ] = None
    guesses_in: Annotated[
        Whole | None,
        Parameter(help="For one-run: of how many canaries to guess “in”.", show_default=False),
    ] = None
    guesses_out: Annotated[
        Whole | None, Parameter(help="And of how many to guess “out”.", show_default=False)
    ] = None
    seed: Annotated[Whole, Parameter(help="Draws the part set aside by --method split.")] = 0

    def many(self, delta: float) -> Method:
        """The method for many runs."""
        self._unused("many-runs", "guesses_in", "guesses_out")
        at_one: dict[str | None, Callable[[float], Method]] = {
            "fixed": Fixed,
            "joint-beta": Credible,
            "jeffreys": lambda threshold: Credible(threshold, Prior.JEFFREYS),
        }
        if (self.method in at_one) != (self.threshold is not None):
            if self.threshold is None:
                refuse("--method", "come with --threshold, settled beforehand", self.method)
            rule = "come with --method fixed, joint-beta or jeffreys, and only with them"
            refuse("--threshold", rule, self.threshold)
        if self.threshold is not None:
            return at_one[self.method](self.threshold)
        if self.method == "split":
            return Split(delta=delta, seed=self.seed)
        return Band() if self.method == "band" else Ranks()

    def one(self, delta: float) -> Guessing | Split | None:
        """The method for one run; None tries a few numbers of guesses and pays for them."""
        self._unused("one-run", "threshold")
        guesses = (self.guesses_in, self.guesses_out)
        if self.method not in (None, "split"):
            refuse("--method", "be split, or be left out, with --design one-run", self.method)
        if guesses == (None, None):
            return None if self.method is None else Split(delta=delta, seed=self.seed)
        if self.method is not None:
            refuse("--method", "be left out where guesses are given", self.method)
        return Guessing(*(one or 0 for one in guesses))

    def none(self) -> None:
        """Nothing is to be looked for in one model."""
        self._unused("one-model", "method", "threshold", "guesses_in", "guesses_out")

    def _unused(self, design: str, *options: str) -> None:
        for name in options:
            if (value := asdict(self)[name]) is not None:
                option = f"--{name.replace('_', '-')}"
                refuse(option, f"be left out with --design {design}", value)
