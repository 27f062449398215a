"""`tellapart noise`: how much noise each method needs for correlated data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from tellapart import _checks
from tellapart._numeric.text import fixed, related, short
from tellapart.choose import FROM_MODEL, at_most, noise_table
from tellapart.choose import noise as least
from tellapart.choose.limit import Limit
from tellapart.choose.noise_choice import NoiseChoice
from tellapart.choose.noise_tables import NoiseRow
from tellapart.cli import terminal
from tellapart.cli.frameworks import ESTIMATE, File, about, impossible, listed, model_record, naming
from tellapart.cli.options import Option, Output, Page, page_for
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.noise import Gaussian
from tellapart.risk.catalogue import MEASURES
from tellapart.worlds import GaussianRecords, RecordValue, described
from tellapart.worlds.described import Described
from tellapart.worlds.described.tables import Target
from tellapart.worlds.frameworks.results_text import in_words, statement
from tellapart.worlds.models.base import FiniteModel
from tellapart.worlds.secret_test import Witness

if TYPE_CHECKING:
    from tellapart.report.result_model import ResultDocument

_NOISE_HEAD = ("method", "scale", "exact ε", "keeps ε")


def noise(
    model: File,
    /,
    *,
    epsilon: Annotated[
        Option,
        Parameter(help="ε against an attacker who knows how records are correlated."),
    ] = None,
    report: Page = None,
    output: Output = Output(),
) -> None:
    r"""Laplace noise for one ε on correlated records, by each method.

    The file describes how records are correlated and the query: tables [model] and [query].
    Without --epsilon its table [target] has the ε. Beside each scale stands the exact ε that it
    gives under the model, which may be far less than asked for, or more. For a
    posterior or an F-score in [target] the answer is the least Laplace noise that keeps it.

    For example:

        tellapart noise chain.toml --epsilon 1
        tellapart noise chain.toml --epsilon 0.5 --json
        tellapart noise chain.toml --plot noise.svg
        tellapart noise chain.toml --report noise.html
    """
    page = page_for(report)
    read = described.read(model)
    if isinstance(read.model, GaussianRecords):
        raise Unsupported(f"{model}: noise is set for records with finitely many values")
    finite = read.model
    if epsilon is None and read.target is not None and read.target.measure != "epsilon":
        with terminal.working("setting the noise"), naming(model):
            choice = least(
                finite, read.query, [_limit(read.target)], secrets=_secrets(read.target, finite)
            )
        if page is not None:
            _checks.refuse("--report", "come with an ε to keep: give --epsilon", str(page))
        _least(read, read.target, choice, output)
        return
    promise = _promise(read, epsilon, model)
    with terminal.working("setting the noise by every method"), naming(model):
        rows = noise_table(finite, read.query, promise, policy=read.policy, believed=read.believed)

    def text(console: Console) -> None:
        best = min((row for row in rows if row.sound), key=lambda row: row.scale)
        scale = f"scale = {fixed(best.scale, True)}"
        terminal.title(console, scale, f"Laplace noise for ε = {short(promise)} ({best.method})")
        terminal.line(console, f"{read.title}.")
        for sentence in about(read):
            terminal.line(console, sentence)
        if isinstance(read.release, Gaussian):
            terminal.line(console, "The [release] is not looked at: methods are for Laplace noise.")
        console.print()
        estimated = read.fitted is not None
        terminal.table(console, [_NOISE_HEAD, *(_noise_cells(row, estimated) for row in rows)])
        console.print()
        terminal.title(console, "Assumptions")
        for row in rows:
            terminal.item(console, f"{row.method}: {row.protects}")
        impossible(console, rows.skipped)

    def picture() -> Any:
        from tellapart import plot

        return plot.noise(rows)

    data = {
        **model_record(read),
        "epsilon": promise,
        "methods": [
            {
                "method": row.method,
                "scale": row.scale,
                "true_epsilon": row.true_epsilon,
                "side": row.side.value,
                "sound": row.sound,
                "protects": row.protects,
                "trusts_model": row.trusts_model,
            }
            for row in rows
        ],
        "skipped": [statement(secret) for secret in rows.skipped],
    }

    def document() -> ResultDocument:
        from tellapart import report as reporting

        return reporting.of_correlated(
            noise=rows, name=read.title, about=about(read), command=terminal.command_line()
        )

    output.give(data, text, picture)
    output.file(page, document)


def _limit(target: Target) -> Limit:
    """A cap on a posterior or an F-score; the prior is the model's own unless it is given."""
    measure = MEASURES["max_posterior" if target.measure == "posterior" else target.measure]
    return at_most(target.value, measure.function, prior=target.prior or FROM_MODEL)


def _secrets(target: Target, model: FiniteModel) -> list[RecordValue] | None:
    """The values that are to be hidden, in every record that may have them."""
    if target.values is None:
        return None
    secrets = [
        RecordValue(record, value)
        for record in range(model.records)
        for value in target.values
        if value in model.domain(record)
    ]
    if not secrets:
        _checks.refuse("target.values", "be values that records may have", target.values)
    return secrets


def _least(read: Described, target: Target, choice: NoiseChoice, output: Output) -> None:
    closest = in_words(Witness(choice.tightest.h1, choice.tightest.h0, None, 0.0))

    def text(console: Console) -> None:
        scale = fixed(choice.scale, True)
        terminal.title(console, f"scale = {scale}", f"Laplace noise that keeps {target}")
        terminal.line(console, f"{read.title}: {read.described_model}.")
        if read.fitted is not None:
            terminal.line(
                console, f"{ESTIMATE}; --epsilon sets noise for all that data leave open."
            )
        if target.prior is None:
            terminal.line(console, "Each secret has the prior that the model gives it.")
        terminal.line(console, f"Binding secret pair: {closest}.")
        if not choice.exact:
            terminal.line(console, "Less noise may suffice, but none less is proved to.")
        impossible(console, choice.skipped)
        if choice.certain:
            console.print()
            terminal.title(console, "Secrets of probability 1, which no noise hides")
            terminal.line(console, listed([statement(secret) for secret in choice.certain]))

    def picture() -> Any:
        from tellapart import plot

        return plot.compare({closest: choice.tightest.curve})

    data = {
        **model_record(read),
        "target": {"measure": target.measure, "value": target.value, "prior": target.prior},
        "scale": choice.scale,
        "exact": choice.exact,
        "closest": closest,
        "skipped": [statement(secret) for secret in choice.skipped],
        "certain": [statement(secret) for secret in choice.certain],
    }
    output.give(data, text, picture)


def _noise_cells(row: NoiseRow, estimated: bool) -> tuple[str, ...]:
    true = related(row.side.value, row.true_epsilon)
    kept = "if the estimate is true" if estimated and row.trusts_model else "always"
    return row.method, fixed(row.scale, True), true, kept if row.sound else "not in general"


def _promise(read: Described, epsilon: float | None, model: Path) -> float:
    if epsilon is not None:
        return _checks.finite_above_zero(**{"--epsilon": epsilon})
    if read.target is None:
        raise InvalidArgument(f"{model}: --epsilon must be given, or epsilon in a table [target]")
    return read.target.value
