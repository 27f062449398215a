"""Framework results side by side, as text for a person and as plain data."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from tellapart import _checks
from tellapart._numeric.text import related, short
from tellapart.worlds.frameworks.result import FrameworkResult
from tellapart.worlds.models.secrets import Predicate, RecordIn, RecordValue
from tellapart.worlds.secret_test import Witness

HEAD = ("framework", "ε", "composes", "secret pair")
_GAP = "  "


def as_table(rows: Sequence[FrameworkResult], width: int = 100) -> str:
    """The frameworks side by side: how much each says is leaked, and of which secret pair.

    *Composes* says whether the numbers of several releases of the same data may be added. On
    narrow pages that has lines of its own.

    >>> from tellapart.worlds import RecordValue
    >>> from tellapart.worlds.frameworks.result import Side
    >>> seen = Witness(RecordValue(3, 1), RecordValue(3, 0), 7.0, 2.0)
    >>> row = FrameworkResult("Pufferfish", 2.0, Side.EXACT, seen, "this model", False)
    >>> print(as_table([row], 80))
    framework   ε         composes  secret pair
    Pufferfish  = 2.0000  no        record 3 = 1 against 0; worst case: output 7
    """
    width = _checks.whole(20, width=width)
    cells = [HEAD, *(cells_of(row) for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(3)]
    room = width - sum(widths) - 3 * len(_GAP)
    if room < -len(_GAP):
        return "\n".join(line for row in cells[1:] for line in _block(row, width))
    beside = max(len(row[3]) for row in cells) <= room
    lines = []
    for row in cells if beside else [(*HEAD[:3], ""), *cells[1:]]:
        start = _GAP.join(cell.ljust(size) for cell, size in zip(row[:3], widths, strict=True))
        lines.append(f"{start}{_GAP}{row[3]}".rstrip() if beside else start.rstrip())
        if row[3] and not beside:
            pair = f"{HEAD[3]}: {row[3]}"
            lines += textwrap.wrap(pair, width, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(lines)


def as_data(rows: Sequence[FrameworkResult]) -> list[dict[str, Any]]:
    """The same as plain data, to be written as JSON."""
    return [
        {
            "framework": row.framework,
            "epsilon": row.epsilon,
            "side": row.side.value,
            "unit": row.unit,
            "composes": row.composes,
            "assumptions": row.assumptions,
            "witness": None if row.witness is None else _witness(row.witness),
            "skipped": [statement(secret) for secret in row.skipped],
        }
        for row in rows
    ]


def shown(row: FrameworkResult) -> str:
    """The number with its side, rounded to that side, and with its unit where that is not ε's."""
    unit = " nats" if row.unit == "nats" else ""
    return f"{related(row.side.value, row.epsilon)}{unit}"


def in_words(witness: Witness) -> str:
    """The secret pair, the output that tells most of it, and what the attacker knows.

    >>> in_words(Witness(RecordValue(0, 1), RecordValue(0, 0), math.inf, 1.0, ((1, 0.0),)))
    'record 0 = 1 against 0; worst case: large outputs; known: record 1 = 0'
    """
    if witness.likelier is None:
        return ""
    parts = [_told(witness.likelier, witness.other)]
    if witness.output is not None:
        parts.append(f"worst case: {_output(witness.output)}")
    if witness.known:
        parts.append(f"known: {_in_runs(witness.known)}")
    return "; ".join(parts)


def _in_runs(known: Sequence[tuple[int, float]]) -> str:
    """Records that are known, those in a row with one value together.

    >>> _in_runs([(0, 1.0), (2, 0.0), (3, 0.0), (4, 0.0)])
    'record 0 = 1 and records 2 to 4 = 0'
    """
    runs: list[list[Any]] = []
    for record, value in known:
        if runs and runs[-1][1] == record - 1 and runs[-1][2] == value:
            runs[-1][1] = record
        else:
            runs.append([record, record, value])
    said = [
        f"record {first} = {short(value)}"
        if first == last
        else f"records {first} to {last} = {short(value)}"
        for first, last, value in runs
    ]
    return " and ".join(_few(tuple(said), 4))


def statement(secret: Any) -> str:
    """What a secret says, such as *record 3 = 1*."""
    if isinstance(secret, RecordValue):
        return f"record {secret.record} = {short(secret.value)}"
    if isinstance(secret, RecordIn):
        return f"record {secret.record} = {_any_of(secret.values)}"
    if isinstance(secret, Predicate):
        return f"{getattr(secret.function, '__name__', 'a predicate')} holds"
    if isinstance(secret, tuple) and secret and isinstance(secret[0], RecordValue):
        return " and ".join(map(statement, _few(secret)))
    if isinstance(secret, tuple):
        return f"the records are {', '.join(map(_value, secret))}"
    return str(secret)


def cells_of(row: FrameworkResult) -> tuple[str, str, str, str]:
    """A framework's name, its ε, whether that composes, and the secret pair that leaks most."""
    text = "nothing" if row.epsilon == 0 else ""
    words = text if row.witness is None else in_words(row.witness)
    return row.framework, shown(row), "yes" if row.composes else "no", words


def _block(row: Sequence[str], width: int) -> list[str]:
    name, number, adds, words = row
    said = [f"ε {number}", f"composes: {adds}", *([f"secret pair: {words}"] if words else [])]
    lines = textwrap.wrap(name, width)
    for line in said:
        lines += textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="    ")
    return lines


def _told(likelier: Any, other: Any) -> str:
    if _groups(likelier, other):
        values = {secret.value for secret in likelier}, {secret.value for secret in other}
        if all(len(distinct) == 1 for distinct in values):
            (high,), (low,) = values
            return f"{len(likelier)} records all {short(high)} against all {short(low)}"
        return f"{len(likelier)} records together"
    if isinstance(likelier, tuple) and isinstance(other, tuple):
        return _moved(likelier, other)
    one_record = RecordValue | RecordIn
    alike = isinstance(likelier, one_record) and isinstance(other, one_record)
    if alike and likelier.record == other.record:
        if set(likelier.values) < set(other.values):
            return f"belief that {statement(likelier)} rises"
        if set(other.values) < set(likelier.values):
            return f"belief that {statement(other)} falls"
        return f"{statement(likelier)} against {_any_of(other.values)}"
    return statement(likelier) + ("" if other is None else f" against {statement(other)}")


def _moved(first: tuple[Any, ...], other: tuple[Any, ...]) -> str:
    """In which records two databases differ."""
    moves = [(i, a, b) for i, (a, b) in enumerate(zip(first, other, strict=True)) if a != b]
    if len(moves) > 2:
        return f"{len(moves)} records together"
    return " and ".join(f"record {i} = {_value(a)} against {_value(b)}" for i, a, b in moves)


def _value(value: Any) -> str:
    return short(value) if isinstance(value, float) else str(value)


def _groups(likelier: Any, other: Any) -> bool:
    """Whether these are values of several records at once."""
    return all(
        isinstance(side, tuple) and side and all(isinstance(secret, RecordValue) for secret in side)
        for side in (likelier, other)
    )


def _few(secrets: tuple[Any, ...], most: int = 3) -> tuple[Any, ...]:
    rest = len(secrets) - most
    return secrets if rest <= 0 else (*secrets[:most], f"{rest} more")


def _any_of(values: Sequence[float]) -> str:
    listed = ", ".join(short(value) for value in values)
    return listed if len(values) == 1 else f"one of {listed}"


def _output(output: Any) -> str:
    if isinstance(output, float) and math.isinf(output):
        return f"{'large' if output > 0 else 'small'} outputs"
    return f"output {short(output)}" if isinstance(output, float) else f"output {output}"


def _witness(witness: Witness) -> dict[str, Any]:
    return {
        "likelier": _plain(witness.likelier),
        "other": _plain(witness.other),
        "output": witness.output,
        "log_ratio": witness.log_ratio,
        "known": [{"record": record, "value": value} for record, value in witness.known],
        "words": in_words(witness),
    }


def _plain(secret: Any) -> Any:
    if isinstance(secret, RecordValue):
        return {"record": secret.record, "value": secret.value}
    if isinstance(secret, RecordIn):
        return {"record": secret.record, "values": list(secret.values)}
    if isinstance(secret, tuple):
        return [_plain(part) for part in secret]
    return secret if secret is None or isinstance(secret, int | float | str) else statement(secret)
