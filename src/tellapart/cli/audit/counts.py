"""Counts instead of score files: flagged records (FPR, TPR), or targets reconstructed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar

from cyclopts import Group, Parameter

from tellapart._checks import refuse
from tellapart.audit import Counts, Evidence, from_counts, reconstruction
from tellapart.cli.audit.score_files import Files
from tellapart.cli.options import Option, Switch, TextOption, WholeOption, option_of
from tellapart.errors import InvalidArgument


class CountOptions(ABC):
    """Counts of what an attack got right, instead of files of scores."""

    of: ClassVar[str]

    @property
    def given(self) -> bool:
        """Whether any of them was."""
        return self != type(self)()

    @abstractmethod
    def evidence(self, design: str | None, confidence: float) -> Evidence:
        """What the counts show."""


@Parameter(
    name="*",
    group=Group("Counts of a reconstruction or attribute attack, instead of files", sort_key=3),
)
@dataclass(frozen=True)
class TargetOptions(CountOptions):
    """How many targets an attack guessed right, and how many a blind guess would."""

    of: ClassVar[str] = "targets, such as --successes"

    successes: Annotated[
        WholeOption, Parameter(help="How many targets the attack guessed right.")
    ] = None
    trials: Annotated[WholeOption, Parameter(help="How many targets there were.")] = None
    baseline: Annotated[
        Option,
        Parameter(
            help="How often the best blind guess is right, by someone who knows all other records: "
            "1/10 for a secret drawn from ten."
        ),
    ] = None
    control_successes: Annotated[
        WholeOption,
        Parameter(help="Instead of --baseline: how many targets that blind guess had right."),
    ] = None
    control_trials: Annotated[WholeOption, Parameter(help="Of how many targets it guessed.")] = None
    shared_model: Annotated[
        Switch,
        Parameter(
            help="All targets are in one model (or release), not each in its own: then only far "
            "more successes refute (Markov's inequality)."
        ),
    ] = False

    def evidence(self, design: str | None, confidence: float) -> Evidence:
        """What the counts show."""
        if design is not None:
            refuse("--design", f"be left out with counts of {self.of}", design)
        for option, other in (("successes", "trials"), ("control_successes", "control_trials")):
            this, that = getattr(self, option), getattr(self, other)
            if (this is None) != (that is None):
                both = f"{option_of(option)} and {option_of(other)}"
                raise InvalidArgument(f"{both} must be given together")
        if self.successes is None or self.trials is None:
            raise InvalidArgument(
                "--successes and --trials must be given, as in: tellapart audit --successes 31 "
                "--trials 100 --baseline 0.1 --epsilon 1"
            )
        control = None
        if self.control_successes is not None and self.control_trials is not None:
            control = self.control_successes, self.control_trials
        if (self.baseline is None) == (control is None):
            raise InvalidArgument(
                "--baseline must be given, or --control-successes and --control-trials of a blind "
                "guess; one of the two"
            )
        return reconstruction(
            successes=self.successes,
            trials=self.trials,
            baseline=self.baseline,
            control=control,
            independent=not self.shared_model,
            confidence=confidence,
        )


@Parameter(
    name="*", group=Group("Counts of a membership attack, instead of files: all four", sort_key=3)
)
@dataclass(frozen=True)
class FlaggedOptions(CountOptions):
    """How many members and non-members an attack flagged, each in a run of its own."""

    of: ClassVar[str] = "flagged records, such as --true-positives"

    true_positives: Annotated[WholeOption, Parameter(help="How many members it flagged.")] = None
    members: Annotated[
        TextOption,
        Parameter(help="Of how many members; without --true-positives, a file of members' scores."),
    ] = None
    false_positives: Annotated[WholeOption, Parameter(help="How many non-members it flagged.")] = (
        None
    )
    non_members: Annotated[
        TextOption,
        Parameter(
            help="Of how many non-members; without --false-positives, a file of their scores."
        ),
    ] = None

    def split(self, files: Sequence[str]) -> tuple[FlaggedOptions, Files]:
        """Counts and files apart: --members and --non-members may be either."""
        sides = {"members": self.members, "non_members": self.non_members}
        named = {name: text for name, text in sides.items() if text and not text.isdecimal()}
        if not named:
            return self, Files(tuple(files))
        counted = (self.true_positives, self.false_positives) != (None, None)
        if set(sides) - set(named) or counted or files:
            raise InvalidArgument(
                "--members and --non-members must be given together, each a file of scores and "
                "without other files; or each a number, with --true-positives and "
                "--false-positives"
            )
        return type(self)(), Files((), **named)

    def evidence(self, design: str | None, confidence: float) -> Evidence:
        """What the counts show, of an attack that was settled before."""
        counts = {
            name: int(count) if isinstance(count, str) else count
            for name, count in asdict(self).items()
        }
        if missing := [option_of(name) for name, count in counts.items() if count is None]:
            raise InvalidArgument(
                f"{', '.join(missing)} must be given, too, as in: tellapart audit "
                "--true-positives 90 --members 100 --false-positives 10 --non-members 100 "
                "--design many-runs --epsilon 1"
            )
        if design != "many-runs":
            rule = "be many-runs with counts: each record was attacked in a run of its own"
            refuse("--design", rule, design)
        return from_counts(Counts(**counts), confidence)
