"""The file of ``tellapart decide --init`` as somebody fills it in, in words of their own."""

from tellapart import decision
from tellapart.decision.missing import missing


def answered(text: str | None = None) -> str:
    """A first file in which no words are the example's any more: each has its full stop."""
    text = decision.template() if text is None else text
    record = decision.parse(text).data()
    for place in missing(decision.parse(text)):
        table, _, key = place.rpartition(".")
        held = record[table.partition("[")[0]] if table else record
        value = (held[0] if isinstance(held, list) else held)[key]
        text = text.replace(f'"{value}"', f'"{value}."')
    assert missing(decision.parse(text)) == ()
    return text
