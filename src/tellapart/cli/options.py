"""Options that commands share: parameters, prior, attacker and output."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, make_dataclass
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter, Token
from rich.console import Console

from tellapart import _checks
from tellapart._numeric.text import as_json
from tellapart.cli import terminal
from tellapart.errors import InvalidArgument, visible
from tellapart.mechanisms.catalogue import KINDS, PARAMETERS, WORD_PARAMETERS, WordParameter
from tellapart.mechanisms.subject import Subject
from tellapart.risk.catalogue import MEASURES, PEOPLE, PRIOR, arguments, limited

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tellapart.report.writing import Document

Option = Annotated[float | None, Parameter(show_default=False)]
TextOption = Annotated[str | None, Parameter(show_default=False)]
Switch = Annotated[bool, Parameter(negative="", show_default=False)]


def _whole(_: type, tokens: Sequence[Token]) -> int:
    """A whole number as typed; one that is not is refused, where it would be rounded."""
    value = tokens[0].value
    try:
        return int(value)
    except ValueError:
        if not float(value).is_integer():
            raise
        return int(float(value))  # 1e6


Whole = Annotated[int, Parameter(converter=_whole)]
WholeOption = Annotated[Whole | None, Parameter(show_default=False)]

MECHANISM = Group("Parameters of the mechanism", sort_key=1)
ATTACKER = Group("Attacker", sort_key=2)
_RHO = Group("Coefficients of Liu et al. (2019), instead of --prior", sort_key=3)
OUTPUT = Group("Output", sort_key=4)


def ends_in(option: str, rule: str, *endings: str) -> Callable[[Any, Path | None], None]:
    """Says that a file cannot be written, before anything is computed for it."""

    def check(_: Any, path: Path | None) -> None:
        if path is None:
            return
        if path.suffix.lower() not in endings:
            _checks.refuse(option, f"end in {rule}", str(path))
        if not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))

    return check


Page = Annotated[
    Path | None,
    Parameter(
        group=OUTPUT,
        help="Also write a privacy report, such as out.html, with its data beside it in out.json.",
        validator=ends_in("--report", ".html", ".html", ".htm"),
        show_default=False,
    ),
]


def page_for(report: Path | None) -> Path | None:
    """Where a report would go, checked before anything is computed for it."""
    if report is None:
        return None
    from tellapart.report import writing

    return writing.target(report, "--report")


# What stands before a mechanism is its name: those of mechanisms themselves have none of these.
_NAMED = re.compile(r"([^:=+,]+)=(.+)", re.DOTALL)


def name_before(text: str) -> tuple[str, str]:
    """The name that was written before a mechanism, as name=mechanism, and the mechanism."""
    named = _NAMED.fullmatch(text)
    return (named[1].strip(), named[2].strip()) if named else ("", text)


def option_of(key: str) -> str:
    """The option of a name, as it is typed."""
    return f"--{key.replace('_', '-')}"


class NumberOptions:
    """Options that are numbers (some are words), one for each record of a catalogue."""

    def given(self) -> dict[str, Any]:
        """Those that were given, or that have a usual value."""
        return {name: value for name, value in vars(self).items() if value is not None}


def numbers(
    name: str,
    words: str,
    options: Mapping[str, tuple[str, float | None]],
    group: Group | None,
    hidden: Collection[str] = (),
    words_of: Collection[WordParameter] = (),
) -> type[NumberOptions]:
    """A record of such options: each by its help text and its default, if it has one.

    Those that are ``hidden`` are taken, and left out of help; ``words_of`` are one of some words.
    """
    fields: list[Any] = [
        (
            key,
            Annotated[
                Option if usual is None else float, Parameter(help=text, show=key not in hidden)
            ],
            usual,
        )
        for key, (text, usual) in options.items()
    ]
    for each in words_of:
        option = Parameter(help=each.option, show=each.key not in hidden, show_default=False)
        word = Literal[tuple(each.words)]  # type: ignore[valid-type]
        fields.append((each.key, Annotated[word | None, option], None))
    made = make_dataclass(
        name,
        fields,
        bases=(NumberOptions,),
        frozen=True,
        namespace={"__doc__": words, "__module__": __name__},
    )
    flat = Parameter(name="*") if group is None else Parameter(name="*", group=group)
    return flat(made)


def _values(hidden: Collection[str] = ()) -> type[NumberOptions]:
    return numbers(
        "Values",
        "Parameters by name; the same as ``name:key=value``.",
        {each.key: (each.option, None) for each in PARAMETERS.values() if each.option},
        MECHANISM,
        hidden,
        WORD_PARAMETERS.values(),
    )


if TYPE_CHECKING:

    class Values(NumberOptions):
        """Parameters of mechanisms."""

    class AttackerOptions(NumberOptions):
        """What measures ask about the attacker."""

else:
    Values = _values()
    AttackerOptions = numbers(
        "Attacker",
        "What measures ask about the attacker.",
        {
            each.key: (each.option, None if each.required else each.default)
            for each in arguments().values()
            if each.option
        },
        ATTACKER,
    )


def refuse_half_asked(asked: Mapping[str, float], limits: Collection[str] | None = None) -> None:
    """Refuse what would be ignored: what no risk is read with, or none that is limited."""
    for key in (key for key in asked if arguments()[key].required):
        users = [measure for measure in MEASURES.values() if key in measure.needs]
        if not any(set(measure.needs) <= asked.keys() for measure in users):
            missing = sorted(set(users[0].needs) - asked.keys())
            instead = " (for the population in sentences: --out-of)" * (key == PEOPLE.key)
            together = " and ".join(map(option_of, missing))
            raise InvalidArgument(f"{option_of(key)} must come with {together}{instead}")
        keys = [measure.limit_key for measure in users if measure.limit_key in limited()]
        if limits is not None and keys and not set(keys) & set(limits):
            ways = " or ".join(map(option_of, keys))
            raise InvalidArgument(
                f"{option_of(key)} must come with {ways}: it limits nothing alone"
            )


OutOf = Annotated[
    Option,
    Parameter(
        help="Size of the population in sentences, a whole number; by default large enough for "
        "every count to be at least 1."
    ),
]
Verbose = Annotated[
    Switch, Parameter(name=["--verbose", "-v"], group=OUTPUT, help="Print every detail.")
]
PictureKind = Annotated[
    Literal["both", "tradeoff", "roc", "precision-recall", "profile", "people"],
    Parameter(
        help="Which picture --plot draws: the trade-off function and the ROC curve on log axes "
        "(both) or one of them, precision-recall, the privacy profile δ(ε), or "
        "people: an icon array, round dots for members, square ones for non-members.",
        group=OUTPUT,
    ),
]


def picture_of(
    kind: PictureKind, subjects: Mapping[str, Subject], *, prior: float, fpr: float, delta: float
) -> Figure:
    """The picture of this kind."""
    from tellapart import plot

    if kind == "people":
        return plot.people(*subjects.values(), prior=prior, fpr=fpr)
    if kind == "tradeoff":
        return plot.tradeoff(subjects)
    if kind == "roc":
        return plot.roc(subjects, log=True)
    if kind == "precision-recall":
        return plot.precision_recall(subjects, prior=prior)
    if kind == "profile":
        return plot.profile(subjects, delta=delta or None)
    return plot.compare(subjects)


@Parameter(name="*", group=ATTACKER)
@dataclass(frozen=True)
class Knowledge:
    """The attacker's prior probability of membership, given in one of three ways."""

    prior: Annotated[
        Option,
        Parameter(
            help="The attacker's prior probability of membership, between 0 and 1.  "
            f"[default: {PRIOR.default}]"
        ),
    ] = None
    gamma: Annotated[
        Option,
        Parameter(help="Non-members per member, 99 for a prior of 0.01; instead of --prior."),
    ] = None
    rho_p: Annotated[Option, Parameter(group=_RHO, help="Prior coefficient, from 0 to 1.")] = None
    rho_c: Annotated[
        Option, Parameter(group=_RHO, help="Coefficient of correlated records, from 0 to 1.")
    ] = None
    rho_t: Annotated[
        Option, Parameter(group=_RHO, help="Coefficient of correlation in time, from 0 to 1.")
    ] = None

    def prior_inside(self) -> float:
        """The prior, which must leave something to find out."""
        prior = self._prior()
        if not 0 < prior < 1:
            _checks.refuse("the prior", "lie strictly between 0 and 1", self._given())
        return prior

    def _prior(self) -> float:
        coefficients = (self.rho_p, self.rho_c, self.rho_t)
        paper = any(rho is not None for rho in coefficients)
        if sum([self.prior is not None, self.gamma is not None, paper]) > 1:
            rule = "be given in one way: --prior, or --gamma, or the --rho coefficients"
            _checks.refuse("the prior", rule, self._given())
        if self.gamma is None and not paper:
            return _checks.probability(prior=PRIOR.default if self.prior is None else self.prior)
        from tellapart.worlds import Adversary

        if self.gamma is not None:
            return Adversary.with_odds(self.gamma).prior
        return Adversary.with_coefficients(*(rho or 0.0 for rho in coefficients)).prior

    def _given(self) -> dict[str, float]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@Parameter(name="*", group=ATTACKER)
@dataclass(frozen=True)
class _ShortKnowledge(Knowledge):
    """The same, without the coefficients in its help."""

    rho_p: Annotated[Option, Parameter(show=False)] = None
    rho_c: Annotated[Option, Parameter(show=False)] = None
    rho_t: Annotated[Option, Parameter(show=False)] = None


# Whose parameters help shows where no mechanism is named.
_USUAL = ("any", "laplace", "gaussian")
SHORT = (
    "This help shows the parameters of the mechanism that is named, else the most common ones; "
    "--help-all shows every option."
)


def for_help(command: FunctionType, words: Sequence[str]) -> FunctionType:
    """A command whose help shows the parameters of the mechanisms among these words alone."""
    parts = {part for word in words for part in re.split(r"[:+=,]", word)}
    named = sorted(parts & KINDS.keys()) or _USUAL
    shown = {"delta", *(key for name in named for key in KINDS[name].parameters)}
    short: dict[str, type] = {
        "Values": _values({*PARAMETERS, *WORD_PARAMETERS} - shown),
        "Knowledge": _ShortKnowledge,
    }
    made = FunctionType(
        command.__code__, command.__globals__, command.__name__, command.__defaults__
    )
    made.__kwdefaults__, made.__doc__ = command.__kwdefaults__, command.__doc__
    made.__annotations__ = {
        name: short.get(kind, kind) for name, kind in command.__annotations__.items()
    }
    return made


Json = Annotated[Switch, Parameter(name="--json", group=OUTPUT, help="Print JSON instead of text.")]


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class Output:
    """How the answer is given."""

    as_json: Json = False
    plot: Annotated[
        Path | None,
        Parameter(
            help="Also draw a picture: a .svg, .png or .pdf file.",
            validator=ends_in("--plot", ".svg, .png or .pdf", ".svg", ".png", ".pdf"),
            show_default=False,
        ),
    ] = None

    def give(
        self,
        data: dict[str, Any],
        text: Callable[[Console], None],
        picture: Callable[[], Figure],
    ) -> None:
        """Print first: an answer that was found is not lost where its picture fails."""
        self.say(data, text)
        self.draw(picture)

    def draw(self, picture: Callable[[], Figure]) -> None:
        """Draw the picture if one was asked for, and say where it is."""
        if self.plot is None:
            return
        from tellapart import plot

        plot.save(picture(), self.plot)
        self.tell(f"Picture: {self.plot}")

    def file(self, page: Path | None, report: Callable[[], Document]) -> None:
        """Write the report if one was asked for, and say where it is."""
        if page is None:
            return
        from tellapart.cli.report_text import written

        written(report(), page, self)

    def say(self, data: dict[str, Any], text: Callable[[Console], None]) -> None:
        """Print the answer, at once; whoever reads no further still gets what is written."""
        with terminal.handed_over():
            self._say(data, text)

    def tell(self, done: str) -> None:
        """Say what was written, below an answer for people."""
        if not self.as_json:
            with terminal.handed_over():
                terminal.terminal().print(f"\n{done}", markup=False)

    def _say(self, data: dict[str, Any], text: Callable[[Console], None]) -> None:
        console = terminal.terminal()
        if self.as_json:
            if self.plot is not None:
                data = {**data, "plot": str(self.plot)}
            said = json.dumps(as_json(data), ensure_ascii=_narrow(console), indent=2)
            # JSON spells only the first 32 of the characters that may steer a terminal.
            said = visible(said, keep="\n", spelt=lambda sign: json.dumps(sign)[1:-1])
            terminal.write(console, f"{said}\n")
            return
        text(console)


def _narrow(console: Console) -> bool:
    """Whether the other end cannot read every letter; JSON can spell them all in ASCII."""
    return "utf" not in console.encoding.lower()


def refuse_undrawn(kind: PictureKind, output: Output) -> None:
    """Refuse a kind of picture where none is drawn."""
    if kind != "both" and output.plot is None:
        _checks.refuse("--kind", "come with --plot, which draws it", kind)
