"""`tellapart budget`: a privacy budget on record, opened, spent, read and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

import tellapart as ta
from tellapart import _checks
from tellapart import report as reporting
from tellapart.budget.spending import RELATIONS, StepwiseBudget
from tellapart.cli import terminal
from tellapart.cli.budget import ledger_text
from tellapart.cli.options import Json, Option, Output, Page, TextOption
from tellapart.cli.process.exits import Exit
from tellapart.cli.report_text import ReportAnswers, written
from tellapart.errors import BadLedger, BudgetSpent, InvalidArgument, Unsupported
from tellapart.mechanisms.catalogue.short_text import mechanism_of
from tellapart.mechanisms.combine import Repeated
from tellapart.neighbours import Neighbours
from tellapart.report import writing

_POTS = Group("Pots, of steps whose kinds are known", sort_key=1)
_ONE = Group("Or one pot for steps of any kind", sort_key=2)

Ledger = Annotated[
    str,
    Parameter(
        help="The ledger: a file such as team.jsonl, or a database such as sqlite:///budgets.db or "
        "postgresql://host/database."
    ),
]
Name = Annotated[
    str, Parameter(help="Which ledger, where a database holds several.", show_default=True)
]
Step = Annotated[str, Parameter(help="The step, such as gaussian:sigma=2 or laplace:epsilon=0.1.")]
Pot = Annotated[
    TextOption, Parameter(help="Pay from the pot of this name.  [default: the tightest]")
]
Delta = Annotated[
    float,
    Parameter(help="δ at which the guarantee is told as an ε. [default: 1e-5]", show_default=False),
]
Relation = Literal["add-remove", "replace-one", "zero-out"]


def budget() -> None:
    r"""Privacy budgets on record: a ledger that a team spends from, step by step.

    Each step goes on record before it is run, and is refused where too little is left. The
    guarantee holds however the next step depends on earlier outputs, and whenever you stop.

    For example:

        tellapart budget open team.jsonl --gaussian 1
        tellapart budget spend team.jsonl gaussian:sigma=4 --label 'counts'
        tellapart budget left team.jsonl
        tellapart budget log team.jsonl
        tellapart budget check team.jsonl
    """


def begin(
    ledger: Ledger,
    /,
    *,
    gaussian: Annotated[
        Option, Parameter(group=_POTS, help="μ: Gaussian steps with Σ (sensitivity/σ)² ≤ μ².")
    ] = None,
    laplace: Annotated[
        Option, Parameter(group=_POTS, help="ε: Laplace steps with Σ sensitivity/scale ≤ ε.")
    ] = None,
    steps: Annotated[
        tuple[str, ...],
        Parameter(
            group=_POTS,
            help="So many steps that leak no more than this one, such as "
            "gaussian:sigma=1,sampled=0.01,repeated=1000; may be given several times.",
            negative="",
            show_default=False,
        ),
    ] = (),
    zcdp: Annotated[Option, Parameter(group=_ONE, help="ρ: steps with Σ ρ at most this.")] = None,
    pure: Annotated[
        Option, Parameter(group=_ONE, help="ε: steps of pure ε-DP with Σ ε at most this.")
    ] = None,
    renyi_order: Annotated[
        Option, Parameter(group=_ONE, help="Order of Rényi DP; comes with --renyi-limit.")
    ] = None,
    renyi_limit: Annotated[
        Option, Parameter(group=_ONE, help="Steps with Σ of their Rényi divergences at most this.")
    ] = None,
    neighbours: Annotated[
        Relation, Parameter(help="Which two data sets are hard to tell apart.")
    ] = "add-remove",
    name: Name = "budget",
    delta: Delta = 1e-5,
    as_json: Json = False,
) -> int:
    r"""Open a ledger: what may be spent, in pots, fixed before the first step.

    Pots may be combined: --gaussian, --laplace and --steps. Steps of any kind, known or not, are
    spent from a single pot: --zcdp, --pure, or --renyi-order with --renyi-limit; it promises less.

    For example:

        tellapart budget open team.jsonl --gaussian 1
        tellapart budget open team.jsonl --gaussian 0.5 --laplace 0.2
        tellapart budget open training.jsonl \
            --steps gaussian:sigma=1,sampled=0.01,repeated=1000
        tellapart budget open sqlite:///budgets.db --name ward-3 --zcdp 0.1
    """
    _checks.inside_unit(**{"--delta": delta})  # before anything is written
    relation = RELATIONS[neighbours]
    pots = {"gaussian": gaussian, "laplace": laplace}
    given = {key: value for key, value in pots.items() if value is not None}
    single = {"--zcdp": zcdp, "--pure": pure, "--renyi-limit": renyi_limit}
    alone = [key for key, value in single.items() if value is not None]
    if len(alone) + bool(given or steps) != 1 or (renyi_order is None) != (renyi_limit is None):
        raise InvalidArgument(
            "a budget must be made of pots (--gaussian, --laplace, --steps), or of one pot for "
            "steps of any kind (--zcdp, or --pure, or --renyi-order with --renyi-limit)"
        )
    made: StepwiseBudget
    if zcdp is not None:
        made = ta.RenyiBudget.zcdp(zcdp, neighbours=relation)
    elif pure is not None:
        made = ta.RenyiBudget.pure(pure, neighbours=relation)
    elif renyi_order is not None and renyi_limit is not None:
        made = ta.RenyiBudget(renyi_order, renyi_limit, neighbours=relation)
    else:
        counted = dict(_counted(text, relation) for text in steps)
        made = ta.Budget(**given, steps=counted, neighbours=relation)
    kept = ta.BudgetLedger.open(ledger, made, name=name)
    with terminal.working("reading the guarantee"):
        reading = kept.odometer(delta)
    Output(as_json).say(*ledger_text.opened(kept, reading))
    return Exit.DONE


def spend(
    ledger: Ledger,
    mechanism: Step,
    /,
    *,
    label: Annotated[TextOption, Parameter(help="A name for the step, for the log.")] = None,
    pot: Pot = None,
    name: Name = "budget",
    as_json: Json = False,
) -> int:
    r"""Put a step on record before it is run; refused, with exit code 1, where too little is left.

    When the command has ended with exit code 0, the step is on disk and may be run. It stays spent,
    whether or not its output is ever released.

    For example:

        tellapart budget spend team.jsonl gaussian:sigma=4 --label 'counts'
        tellapart budget spend team.jsonl laplace:epsilon=0.1
        tellapart budget spend training.jsonl \
            gaussian:sigma=1,sampled=0.01,repeated=250 --label 'week 1'
    """
    kept = ta.BudgetLedger.open(ledger, name=name)
    step = mechanism_of(mechanism, kept.budget.neighbours)
    try:
        line = kept.spend(step, label, pot=pot)
    except (BudgetSpent, Unsupported) as no:
        Output(as_json).say(*ledger_text.refused(kept, mechanism, str(no)))
        return Exit.NO
    Output(as_json).say(*ledger_text.spent(kept, line))
    return Exit.DONE


def left(
    ledger: Ledger,
    mechanism: Annotated[
        TextOption, Parameter(help="A step: exit code 1 if it would be refused.")
    ] = None,
    /,
    *,
    pot: Pot = None,
    name: Name = "budget",
    delta: Delta = 1e-5,
    as_json: Json = False,
) -> int:
    """What is left in each pot, and the guarantee; or whether a step would be allowed.

    Nothing is spent. What is said of the whole budget holds at any time; ε of the steps so far,
    had they been fixed in advance, is no guarantee where they were not, and is not told.

    For example:

        tellapart budget left team.jsonl
        tellapart budget left team.jsonl gaussian:sigma=2
    """
    kept = ta.BudgetLedger.open(ledger, name=name)
    if mechanism is None:
        with terminal.working("reading the guarantee"):
            reading = kept.odometer(delta)
        Output(as_json).say(*ledger_text.left(kept, reading))
        return Exit.DONE
    step = mechanism_of(mechanism, kept.budget.neighbours)
    try:
        payer, cost = kept.require(step, pot)
    except (BudgetSpent, Unsupported) as no:
        Output(as_json).say(*ledger_text.refused(kept, mechanism, str(no)))
        return Exit.NO
    Output(as_json).say(*ledger_text.allowed(kept, mechanism, payer, cost))
    return Exit.DONE


def log(
    ledger: Ledger,
    /,
    *,
    name: Name = "budget",
    report: Page = None,
    filing: ReportAnswers = ReportAnswers(),
    as_json: Json = False,
) -> int:
    """Every step on record, in the order in which they were spent; as a privacy report, too.

    For example:

        tellapart budget log team.jsonl
        tellapart budget log team.jsonl --report budget.html --unit 'one patient'
    """
    page = None if report is None else writing.target(report, "--report")
    if page is not None and "://" not in ledger:
        writing.refuse_sources(page, (Path(ledger),), "--report")
    kept = ta.BudgetLedger.open(ledger, name=name)
    output = Output(as_json)
    filed = None
    if page is not None:
        with terminal.working("reading every risk off the guarantee"):
            filed = reporting.of(
                kept,
                unit=filing.unit,
                answers=filing.answers(),
                command=terminal.command_line(),
            )
    output.say(*ledger_text.log(kept))
    if filed is not None:
        written(filed, page, output)
    return Exit.DONE


def check(
    ledger: Ledger,
    /,
    *,
    head: Annotated[
        TextOption,
        Parameter(
            help="The chain that an earlier check printed: also look whether every line up to then "
            "is still there."
        ),
    ] = None,
    name: Name = "budget",
    as_json: Json = False,
) -> int:
    """Whether every line is as it was written; exit code 1, and which line, if not.

    Lines are hash-chained: one that was changed, dropped or moved is named. Lines cut off at the
    end leave no trace in the ledger itself: note the chain that is printed, and give it as --head.

    For example:

        tellapart budget check team.jsonl
        tellapart budget check team.jsonl --head 3f7a...
    """
    try:
        kept = ta.BudgetLedger.open(ledger, name=name)
        checked = kept.check(head)
    except BadLedger as bad:
        Output(as_json).say(*ledger_text.damaged(ledger, str(bad)))
        return Exit.NO
    Output(as_json).say(*ledger_text.sound(kept, checked))
    return Exit.DONE


# By the words that are typed after `tellapart budget`.
SUBCOMMANDS = {"open": begin, "spend": spend, "left": left, "log": log, "check": check}


def _counted(text: str, relation: Neighbours) -> tuple[ta.Mechanism, int]:
    """A step and how many there may be, from a mechanism that is repeated."""
    step = mechanism_of(text, relation)
    return (step.base, step.times) if isinstance(step, Repeated) else (step, 1)
