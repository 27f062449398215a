"""The command that puts a release under every framework: frameworks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from tellapart.cli import limits, terminal
from tellapart.cli.deltas import Deltas, told_at
from tellapart.cli.described_models import File, about, impossible, naming, told
from tellapart.cli.options import Option, Output
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.noise import Gaussian
from tellapart.worlds import described
from tellapart.worlds.described import Described
from tellapart.worlds.frameworks.comparison import (
    USUAL_DELTA,
    Comparison,
    compare_frameworks,
    expected_seconds,
)
from tellapart.worlds.frameworks.result import FrameworkResult
from tellapart.worlds.frameworks.table import as_data, as_table
from tellapart.worlds.releases import Release


def frameworks(
    model: File,
    /,
    *,
    delta: Annotated[
        Option,
        Parameter(
            help="Also ask DP, group privacy and Pufferfish for their ε at this δ; "
            "under normal noise 1e-5 is asked unless you say."
        ),
    ] = None,
    output: Output = Output(),
) -> None:
    r"""What one release gives away by each privacy framework, when data hang together.

    The file says how data hang together, what is asked of them and with what noise it is
    published: tables [model], [query], [release], and [policy] for Blowfish. Each framework has an
    adversary of its own; the table shows how much that one learns, from which output, and whether
    numbers of several releases may be added up.

    For example:

        tellapart frameworks chain.toml
        tellapart frameworks chain.toml --json
        tellapart frameworks chain.toml --plot frameworks.svg
    """
    read = described.read(model)
    release = _release(read, model)
    limits.expect(expected_seconds(read.model, read.query, release))
    with terminal.working("asking every framework"), naming(model):
        found = compare_frameworks(
            read.model, read.query, release, read.policy, read.believed, delta
        )

    nobody = delta is None and isinstance(release, Gaussian)
    deltas = Deltas((USUAL_DELTA,), is_default=True) if nobody else told_at(delta, ())

    def text(console: Console) -> None:
        terminal.title(console, read.title, read.published or "")
        for sentence in about(read):
            terminal.line(console, sentence)
        if nobody:
            terminal.line(console, f"Where a framework has an ε at a δ, it is at {deltas.words}.")
        console.print()
        endless = [one for one in found.rows if math.isinf(one.epsilon)]
        folded = endless if isinstance(release, Gaussian) else []
        rows = [one for one in found.rows if one not in folded]
        table = as_table(rows, width=max(console.width - 2, 20))
        head, _, rest = textwrap.indent(table, "  ").partition("\n")
        console.print(Text(head, style="bold"))
        console.print(Text(rest))
        if folded:
            names = ", ".join(one.framework for one in folded)
            console.print()
            terminal.line(console, f"Without a δ there is no ε under normal noise for: {names}.")
        _terms(console, found, rows)

    def picture() -> Any:
        from tellapart import plot

        return plot.standings(found.rows)

    data = {
        **told(read),
        "release": read.published,
        **(deltas.data() if nobody or delta is not None else {}),
        "frameworks": as_data(found.rows),
        "left_out": [{"framework": x.framework, "reason": x.reason} for x in found.left_out],
    }
    output.give(data, text, picture)


def _release(read: Described, model: Path) -> Release:
    if read.release is None:
        raise InvalidArgument(
            f'{model}: [release] must be given, such as noise = "laplace" with scale = 1'
        )
    return read.release


def _terms(console: Console, found: Comparison, rows: Sequence[FrameworkResult]) -> None:
    console.print()
    terminal.title(console, "What each takes for granted")
    for sentence in _gathered([(one.framework, one.assumptions) for one in rows]):
        terminal.item(console, sentence)
    impossible(console, [x for one in found.rows for x in one.skipped])
    if found.left_out:
        console.print()
        terminal.title(console, "Left out")
        for sentence in _gathered([(one.framework, one.reason) for one in found.left_out]):
            terminal.item(console, sentence)


def _gathered(said: Sequence[tuple[str, str]]) -> list[str]:
    """What is said of several, said once."""
    names: dict[str, list[str]] = {}
    for name, words in said:
        names.setdefault(words, []).append(name)
    return [f"{', '.join(listed)}: {words}" for words, listed in names.items()]
