"""The page of decision files lists every key, as the code declares it."""

from pathlib import Path

from tellapart.decision.fields import TABLES, TITLE
from tellapart.decision.toml_text import written

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deciding.md"


def row(name, field):
    optional = "" if field.required else " *Optional.*"
    return f"| `{name}{field.key}` | {field.help}{optional} | `{written(field.example)}` |"


def rows():
    yield row("", TITLE)
    for table in TABLES.values():
        others = table.name not in ("mechanism", "correlation")  # which the page tells of
        own = table.keys({}).values() if others else table.fields
        yield from (row(f"{table.name}.", field) for field in own)


def test_every_key_is_listed_with_its_meaning_and_an_example():
    listed = PAGE.read_text(encoding="utf-8").partition("## Every key")[2].splitlines()
    assert [line for line in listed if line.startswith("| `")] == list(rows())
