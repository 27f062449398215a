"""A table of published deployments: what an attacker gains over one unit of each."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tellapart import choose
from tellapart import deployments as published
from tellapart._checks import refuse
from tellapart.choose import Pair
from tellapart.cli import show
from tellapart.cli.options import Output
from tellapart.cli.theory import reading
from tellapart.deployments import CAVEATS, DEPLOYMENTS, LEFT_OUT, Deployment, Gain
from tellapart.mechanisms.named import NAMED
from tellapart.mechanisms.subject import Subject

# A name has at least so much room beside its numbers; else all stands one below the other.
_ROOM = 24


def compare(
    beside: Mapping[str, Subject],
    names: Sequence[str],
    *,
    fpr: float,
    prior: float,
    output: Output,
) -> None:
    """Show the deployments asked for, or all of them, with mechanisms among them."""
    asked = _asked(names)
    with show.working("reading risks off the promises"):
        rows = published.gains(asked, beside=beside, fpr=fpr, prior=prior)
        pairs = _pairs(beside, asked) if names else []
    left_out = () if names else LEFT_OUT

    def text(console: Console) -> None:
        title = "What an attacker gains over one unit"
        show.title(console, title, f"with prior {prior:g}, from least to most")
        console.print()
        _table(console, rows)
        if pairs:
            console.print()
            show.title(console, "Who leaks more", "if one unit is what the mechanism hides")
            for one in pairs:
                show.item(console, f"{one}.")
        console.print()
        show.title(console, "Before comparing")
        for caveat in CAVEATS:
            show.item(console, caveat)
        if left_out:
            console.print()
            show.title(console, "Left out", "as their parameters do not fit their variant")
            for entry in left_out:
                show.item(console, f"{entry}.")

    def picture() -> Any:
        from tellapart import plot

        return plot.deployments(rows)

    data = {
        "prior": prior,
        "fpr": fpr,
        "source": published.SOURCE,
        "caveats": CAVEATS,
        "rows": [_row(one) for one in rows],
        "pairs": [pair(one) for one in pairs],
        "left_out": left_out,
    }
    output.give(data, text, picture)


def _asked(names: Sequence[str]) -> tuple[Deployment, ...]:
    for name in names:
        if name.partition(":")[0] in NAMED and ":" in name:
            refuse("mechanisms", "stand before --deployments", name)
    found = dict.fromkeys(one for name in names for one in published.find(name))
    return tuple(found) if names else DEPLOYMENTS


def _pairs(beside: Mapping[str, Subject], asked: Sequence[Deployment]) -> list[Pair]:
    return [
        choose.compare({name: subject, one.name: one.curve()}).pairs[0]
        for name, subject in beside.items()
        for one in asked
    ]


def pair(one: Pair) -> dict[str, object]:
    """Who leaks more, as JSON."""
    return {
        "first": one.first,
        "second": one.second,
        "first_leaks_at_least_as_much": one.first_leaks,
        "second_leaks_at_least_as_much": one.second_leaks,
        "crossings": [crossing._asdict() for crossing in one.crossings],
        "gap": one.gap,
        "gap_back": one.gap_back,
        "words": str(one),
    }


def _row(one: Gain) -> dict[str, object]:
    made = one.deployment
    return {
        "name": one.name,
        "key": made and made.key,
        "per": made and made.per,
        "promise": made and made.promise,
        "deployment": made,
        "readings": [reading(each) for each in one.readings],
    }


def _details(one: Gain) -> str:
    made = one.deployment
    if made is None:
        return "a mechanism of yours, for one record"
    promised = f"{made.promise} for {made.per}"
    return f"{made.curator} {made.published[:4]}: {promised}; {made.model.lower()}; {made.status}"


def _table(console: Console, rows: Sequence[Gain]) -> None:
    """A name and its numbers on one line, what it is under it."""
    cells = [[each.shown for each in one.readings] for one in rows]
    heads = [textwrap.wrap(each.name, 9) for each in rows[0].readings]
    widths = [
        max(len(part) for part in (*head, *column))
        for head, column in zip(heads, zip(*cells, strict=True), strict=True)
    ]
    room = console.width - 2 - sum(widths) - 2 * len(widths)
    if room < _ROOM:
        _blocks(console, rows)
        return
    depth = max(map(len, heads))
    lifted = [[""] * (depth - len(head)) + head for head in heads]
    for level, parts in enumerate(zip(*lifted, strict=True)):
        first = "deployment" if level == depth - 1 else ""
        console.print(Text(_beside(first, room, parts, widths), style="bold"))
    for one, values in zip(rows, cells, strict=True):
        first, *rest = textwrap.wrap(one.name, room) or [""]
        console.print(Text(_beside(first, room, values, widths), style="bold"))
        for part in rest:
            console.print(Text(f"  {part}", style="bold"))
        _under(console, _details(one))


def _beside(first: str, room: int, values: Sequence[str], widths: Sequence[int]) -> str:
    cells = [value.rjust(width) for value, width in zip(values, widths, strict=True)]
    return f"  {'  '.join([first.ljust(room), *cells])}".rstrip()


def _under(console: Console, text: str) -> None:
    kept = text.replace(" = ", "\xa0=\xa0")
    for part in textwrap.wrap(kept, max(console.width - 4, 20)):
        console.print(Text(f"    {part}".replace("\xa0", " "), style="dim"))


def _blocks(console: Console, rows: Sequence[Gain]) -> None:
    for one in rows:
        for part in textwrap.wrap(one.name, max(console.width - 2, 20)):
            console.print(Text(f"  {part}", style="bold"))
        _under(console, _details(one))
        for each in one.readings:
            console.print(Text(f"    {each}"))
