"""Commands about data that hang together: frameworks, noise."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from tellapart import _checks, risk
from tellapart._numeric.rounding import fixed
from tellapart.choose import FROM_MODEL, Limit, NoiseChoice, NoiseRow, at_most, noise_table
from tellapart.choose import noise as least
from tellapart.cli import show
from tellapart.cli.options import Option, Output
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.noise import Gaussian
from tellapart.worlds import FiniteModel, GaussianRecords, RecordValue, Witness, described
from tellapart.worlds.described import Described
from tellapart.worlds.frameworks.comparison import Comparison, compare_frameworks
from tellapart.worlds.frameworks.standing import Side, Standing
from tellapart.worlds.frameworks.table import as_data, as_table, in_words, statement
from tellapart.worlds.models.secrets import Secret
from tellapart.worlds.releases import Release

# More secrets of probability 0 than these are counted, not listed.
_LISTED = 6

File = Annotated[Path, Parameter(help="A description of the data, in TOML.")]


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
    with show.working("asking every framework"), _naming(model):
        found = compare_frameworks(
            read.model, read.query, release, read.policy, read.believed, delta
        )

    def text(console: Console) -> None:
        show.title(console, read.title, read.published or "")
        for sentence in _about(read):
            show.line(console, sentence)
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
            show.line(console, f"Without a δ there is no ε under normal noise for: {names}.")
        _terms(console, found, rows)

    def picture() -> Any:
        from tellapart import plot

        return plot.standings(found.rows)

    data = {
        **_data(read),
        "release": read.published,
        "frameworks": as_data(found.rows),
        "left_out": [{"framework": x.framework, "reason": x.reason} for x in found.left_out],
    }
    output.give(data, text, picture)


def noise(
    model: File,
    /,
    *,
    epsilon: Annotated[
        Option,
        Parameter(help="The promise: ε of the adversary who knows how data hang together."),
    ] = None,
    output: Output = Output(),
) -> None:
    r"""How much noise each method needs for one promise, when data hang together.

    The file says how data hang together and what is asked of them: tables [model] and [query].
    Without --epsilon its table [target] has the promise. Beside each amount of noise stands the ε
    that it really gives for these data, which may be far less than promised, or more. For a
    posterior or an F-score in [target] the answer is the least Laplace noise that keeps it.

    For example:

        tellapart noise chain.toml --epsilon 1
        tellapart noise chain.toml --epsilon 0.5 --json
        tellapart noise chain.toml --plot noise.svg
    """
    read = described.read(model)
    if isinstance(read.model, GaussianRecords):
        raise Unsupported(f"{model}: noise is set for records with finitely many values")
    listed = read.model
    if epsilon is None and read.target is not None and read.target.measure != "epsilon":
        with show.working("setting the noise"), _naming(model):
            found = least(
                listed, read.query, [_limit(read.target)], secrets=_secrets(read.target, listed)
            )
        _least(read, read.target, found, output)
        return
    promise = _promise(read, epsilon, model)
    with show.working("setting the noise by every method"), _naming(model):
        rows = noise_table(listed, read.query, promise, policy=read.policy, believed=read.believed)

    def text(console: Console) -> None:
        show.title(console, read.title, f"Laplace noise that keeps ε = {promise:g}")
        for sentence in _about(read):
            show.line(console, sentence)
        if isinstance(read.release, Gaussian):
            show.line(console, "The [release] is not looked at: methods are for Laplace noise.")
        console.print()
        estimated = read.fitted is not None
        show.table(console, [_NOISE_HEAD, *(_noise_cells(one, estimated) for one in rows)])
        console.print()
        show.title(console, "What each protects")
        for one in rows:
            show.item(console, f"{one.method}: {one.protects}")
        _impossible(console, rows.skipped)

    def picture() -> Any:
        from tellapart import plot

        return plot.noise(rows)

    data = {
        **_data(read),
        "epsilon": promise,
        "methods": [
            {
                "method": one.method,
                "scale": one.scale,
                "true_epsilon": one.true_epsilon,
                "side": one.side.value,
                "sound": one.sound,
                "protects": one.protects,
                "trusts_model": one.trusts_model,
            }
            for one in rows
        ],
        "skipped": [statement(one) for one in rows.skipped],
    }
    output.give(data, text, picture)


def _limit(target: described.Target) -> Limit:
    """A cap on a posterior or an F-score; the prior is the model's own unless it is given."""
    measure = {"posterior": risk.max_posterior, "f_score": risk.f_score}[target.measure]
    return at_most(target.value, measure, prior=target.prior or FROM_MODEL)


def _secrets(target: described.Target, model: FiniteModel) -> list[RecordValue] | None:
    """The values that are to be hidden, in every record that may have them."""
    if target.values is None:
        return None
    found = [
        RecordValue(record, value)
        for record in range(model.records)
        for value in target.values
        if value in model.domain(record)
    ]
    if not found:
        _checks.refuse("target.values", "be values that records may have", target.values)
    return found


def _least(read: Described, target: described.Target, found: NoiseChoice, output: Output) -> None:
    closest = in_words(Witness(found.tightest.h1, found.tightest.h0, None, 0.0))

    def text(console: Console) -> None:
        scale = fixed(found.scale, True)
        show.title(console, f"scale = {scale}", f"Laplace noise that keeps {target}")
        show.line(console, f"{read.title}: {read.described_model}.")
        if read.fitted is not None:
            show.line(console, f"{_ESTIMATE}; --epsilon sets noise for all that data leave open.")
        if target.prior is None:
            show.line(console, "Each secret has the prior that the model gives it.")
        show.line(console, f"What comes closest to the limit: {closest}.")
        if not found.exact:
            show.line(console, "Less noise may do, but none less is proved to.")
        _impossible(console, found.skipped)
        if found.certain:
            console.print()
            show.title(console, "Certain already, so that no noise hides it")
            show.line(console, _listed([statement(one) for one in found.certain]))

    def picture() -> Any:
        from tellapart import plot

        return plot.compare({closest: found.tightest.curve})

    data = {
        **_data(read),
        "target": {"measure": target.measure, "value": target.value, "prior": target.prior},
        "scale": found.scale,
        "exact": found.exact,
        "closest": closest,
        "skipped": [statement(one) for one in found.skipped],
        "certain": [statement(one) for one in found.certain],
    }
    output.give(data, text, picture)


_ESTIMATE = "The model is an estimate: what is safe for it is unsafe about half the time"
_NOISE_HEAD = ("method", "scale", "true ε", "keeps its promise")


def _noise_cells(one: NoiseRow, estimated: bool) -> tuple[str, ...]:
    true = f"{one.side.value} {fixed(one.true_epsilon, one.side is not Side.AT_LEAST)}"
    kept = "if the estimate is true" if estimated and one.trusts_model else "always"
    return one.method, fixed(one.scale, True), true, kept if one.sound else "not in general"


def _release(read: Described, model: Path) -> Release:
    if read.release is None:
        raise InvalidArgument(
            f'{model}: [release] must be given, such as noise = "laplace" with scale = 1'
        )
    return read.release


def _promise(read: Described, epsilon: float | None, model: Path) -> float:
    if epsilon is not None:
        return _checks.finite_above_zero(**{"--epsilon": epsilon})
    if read.target is None:
        raise InvalidArgument(f"{model}: --epsilon must be given, or epsilon in a table [target]")
    return read.target.value


def _about(read: Described) -> list[str]:
    """What the numbers are about."""
    said = [f"The data: {read.described_model}."]
    if read.fitted is not None:
        said.append(
            f"{_ESTIMATE}. The row for all that data leave open holds with "
            f"{100 * read.fitted.confidence:g} % confidence."
        )
    return said


def _terms(console: Console, found: Comparison, rows: Sequence[Standing]) -> None:
    console.print()
    show.title(console, "What each takes for granted")
    for sentence in _gathered([(one.framework, one.assumptions) for one in rows]):
        show.item(console, sentence)
    _impossible(console, [x for one in found.rows for x in one.skipped])
    if found.left_out:
        console.print()
        show.title(console, "Left out")
        for sentence in _gathered([(one.framework, one.reason) for one in found.left_out]):
            show.item(console, sentence)


def _impossible(console: Console, secrets: Sequence[Secret]) -> None:
    if secrets:
        console.print()
        show.title(console, "Impossible, so that nothing can be told of it")
        show.line(console, _listed([statement(one) for one in secrets]))


def _listed(said: Sequence[str]) -> str:
    """The first of these, each once, and how many more there are."""
    distinct = list(dict.fromkeys(said))
    more = len(distinct) - _LISTED
    rest = f" and {more} more" if more > 0 else ""
    return f"{', '.join(distinct[:_LISTED])}{rest}."


def _gathered(said: Sequence[tuple[str, str]]) -> list[str]:
    """What is said of several, said once."""
    names: dict[str, list[str]] = {}
    for name, words in said:
        names.setdefault(words, []).append(name)
    return [f"{', '.join(listed)}: {words}" for words, listed in names.items()]


@contextmanager
def _naming(model: Path) -> Iterator[None]:
    """Mistakes that show only in the computation name the file, too."""
    try:
        yield
    except InvalidArgument as error:
        raise InvalidArgument(f"{model}: {error}") from error


def _data(read: Described) -> dict[str, Any]:
    return {
        "title": read.title,
        "model": read.described_model,
        "records": read.model.records,
        "confidence": None if read.fitted is None else read.fitted.confidence,
    }
