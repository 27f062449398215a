"""What the commands about data that hang together have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from tellapart.cli import terminal
from tellapart.errors import InvalidArgument
from tellapart.worlds.described import Described
from tellapart.worlds.frameworks.table import statement
from tellapart.worlds.models.secrets import Secret

# More secrets of probability 0 than these are counted, not listed.
_LISTED = 6

File = Annotated[Path, Parameter(help="A description of the data, in TOML.")]
ESTIMATE = "The model is an estimate: what is safe for it is unsafe about half the time"


def about(read: Described) -> list[str]:
    """What the numbers are about."""
    said = [f"The data: {read.described_model}."]
    if read.fitted is not None:
        said.append(
            f"{ESTIMATE}. The row for all that data leave open holds with "
            f"{100 * read.fitted.confidence:g} % confidence."
        )
    return said


def impossible(console: Console, secrets: Sequence[Secret]) -> None:
    """Say which secrets have probability 0."""
    if secrets:
        console.print()
        terminal.title(console, "Impossible, so that nothing can be told of it")
        terminal.line(console, listed([statement(one) for one in secrets]))


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


def told(read: Described) -> dict[str, Any]:
    """The data and their model, as JSON."""
    return {
        "title": read.title,
        "model": read.described_model,
        "records": read.model.records,
        "confidence": None if read.fitted is None else read.fitted.confidence,
    }
