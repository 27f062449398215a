"""`tellapart frameworks`: one release on correlated data under every privacy framework."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from tellapart._numeric.text import short
from tellapart.cli import terminal
from tellapart.cli.deltas import Deltas, deltas_at
from tellapart.cli.options import Option, Output, Page, page_for
from tellapart.cli.process import limits
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.noise import Gaussian
from tellapart.worlds import described
from tellapart.worlds.described import Described
from tellapart.worlds.frameworks.comparison import (
    USUAL_DELTA,
    FrameworkComparison,
    compare_frameworks,
    expected_seconds,
)
from tellapart.worlds.frameworks.result import FrameworkResult, Side
from tellapart.worlds.frameworks.results_text import as_data, as_table, shown, statement
from tellapart.worlds.models.secrets import Secret
from tellapart.worlds.releases import Release

if TYPE_CHECKING:
    from tellapart.report.result_model import ResultDocument

# More secrets of probability 0 than these are counted, not listed.
_LISTED = 6

File = Annotated[Path, Parameter(help="A description of the data, in TOML.")]
ESTIMATE = "The model is an estimate: what is safe for it is unsafe about half the time"


def frameworks(
    model: File,
    /,
    *,
    delta: Annotated[
        Option,
        Parameter(
            help="Also ε at this δ for DP, group privacy and Pufferfish; "
            "with Gaussian noise 1e-5 by default."
        ),
    ] = None,
    report: Page = None,
    output: Output = Output(),
) -> None:
    r"""The ε of one release on correlated records, under each privacy framework.

    The file describes how records are correlated, the query and the noise of its release: tables
    [model], [query], [release], and [policy] for Blowfish. The answer is the exact ε under the
    model (Pufferfish). Each framework has an attacker of its own: the table shows its ε, the secret
    pair and output that leak most, and whether ε composes over releases of the same data.

    For example:

        tellapart frameworks chain.toml
        tellapart frameworks chain.toml --json
        tellapart frameworks chain.toml --plot frameworks.svg
        tellapart frameworks chain.toml --report out.html
    """
    page = page_for(report)
    read = described.read(model)
    release = _release(read, model)
    limits.expect(expected_seconds(read.model, read.query, release))
    with terminal.working("asking every framework"), naming(model):
        comparison = compare_frameworks(
            read.model, read.query, release, read.policy, read.believed, delta
        )

    nobody = delta is None and isinstance(release, Gaussian)
    deltas = Deltas((USUAL_DELTA,), is_default=True) if nobody else deltas_at(delta, ())

    def text(console: Console) -> None:
        answer = _answer(comparison.rows)
        terminal.title(console, answer or read.title, read.title if answer else "")
        if read.published:
            terminal.line(console, f"The release: {read.published}.")
        for sentence in about(read):
            terminal.line(console, sentence)
        if nobody:
            terminal.line(console, f"Where a framework has an ε at a δ, it is at {deltas.words}.")
        console.print()
        endless = [row for row in comparison.rows if math.isinf(row.epsilon)]
        folded = endless if isinstance(release, Gaussian) else []
        rows = [row for row in comparison.rows if row not in folded]
        table = as_table(rows, width=max(console.width - 2, 20))
        head, _, rest = textwrap.indent(table, "  ").partition("\n")
        console.print(Text(head, style="bold"))
        console.print(Text(rest))
        if folded:
            names = ", ".join(row.framework for row in folded)
            console.print()
            terminal.line(console, f"No finite ε without a δ under Gaussian noise: {names}.")
        _terms(console, comparison, rows)

    def picture() -> Any:
        from tellapart import plot

        return plot.standings(comparison.rows)

    data = {
        **model_record(read),
        "release": read.published,
        **(deltas.data() if nobody or delta is not None else {}),
        "frameworks": as_data(comparison.rows),
        "left_out": [{"framework": x.framework, "reason": x.reason} for x in comparison.left_out],
    }

    def document() -> ResultDocument:
        from tellapart import report as reporting

        return reporting.of_correlated(
            frameworks=comparison,
            name=read.title,
            about=about(read),
            release=read.published or "",
            command=terminal.command_line(),
        )

    output.give(data, text, picture)
    output.file(page, document)


def _answer(rows: Sequence[FrameworkResult]) -> str:
    """The exact ε under the model, and which framework is strictest."""
    exact = [row for row in rows if row.side is Side.EXACT and row.unit != "nats"]
    model = next((row for row in exact if row.framework == "Pufferfish"), None)
    if model is None or math.isinf(model.epsilon):
        return ""
    strictest = max(exact, key=lambda row: row.epsilon)
    return (
        f"ε {shown(model)} under this model (Pufferfish); "
        f"strictest: {strictest.framework}, ε {shown(strictest)}"
    )


def _release(read: Described, model: Path) -> Release:
    if read.release is None:
        raise InvalidArgument(
            f'{model}: [release] must be given, such as noise = "laplace" with scale = 1'
        )
    return read.release


def _terms(
    console: Console, comparison: FrameworkComparison, rows: Sequence[FrameworkResult]
) -> None:
    console.print()
    terminal.title(console, "Assumptions")
    for sentence in _gathered([(row.framework, row.assumptions) for row in rows]):
        terminal.item(console, sentence)
    impossible(console, [x for row in comparison.rows for x in row.skipped])
    if comparison.left_out:
        console.print()
        terminal.title(console, "Left out")
        for sentence in _gathered([(left.framework, left.reason) for left in comparison.left_out]):
            terminal.item(console, sentence)


def _gathered(said: Sequence[tuple[str, str]]) -> list[str]:
    """What is said of several, said once."""
    names: dict[str, list[str]] = {}
    for name, words in said:
        names.setdefault(words, []).append(name)
    return [f"{', '.join(listed)}: {words}" for words, listed in names.items()]


def about(read: Described) -> list[str]:
    """What the numbers are about."""
    said = [f"The data: {read.described_model}."]
    if read.fitted is not None:
        said.append(
            f"{ESTIMATE}. The row for all that data leave open holds with "
            f"{short(100 * read.fitted.confidence)} % confidence."
        )
    return said


def impossible(console: Console, secrets: Sequence[Secret]) -> None:
    """Say which secrets have probability 0."""
    if secrets:
        console.print()
        terminal.title(console, "Secrets of probability 0")
        terminal.line(console, listed([statement(secret) for secret in secrets]))


def listed(said: Sequence[str]) -> str:
    """The first of these, each once, and how many more there are."""
    distinct = list(dict.fromkeys(said))
    more = len(distinct) - _LISTED
    rest = f" and {more} more" if more > 0 else ""
    return f"{', '.join(distinct[:_LISTED])}{rest}."


@contextmanager
def naming(model: Path) -> Iterator[None]:
    """Mistakes that show only in the computation name the file, too."""
    try:
        yield
    except InvalidArgument as error:
        raise InvalidArgument(f"{model}: {error}") from error


def model_record(read: Described) -> dict[str, Any]:
    """The data and their model, as JSON."""
    return {
        "title": read.title,
        "model": read.described_model,
        "records": read.model.records,
        "confidence": None if read.fitted is None else read.fitted.confidence,
    }
