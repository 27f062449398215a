"""HTML as text: elements whose texts and attributes are escaped where they are written."""

from __future__ import annotations

import re
from functools import cache
from html import escape

_EMPTY = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})
# Within a mechanism's name, a line may go on after these.
_BREAKS = re.compile(r"(?<=[,:(+])(?=[a-z])")
# Within a number, none: not after the minus of its exponent.
_NUMBER = re.compile(r"\d[\d.]*e-\d+")


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def element(name: str, /, *inside: str | None, **attributes: object) -> Html:
    """An element; a text inside is escaped, an attribute of None or False left out.

    >>> element("p", "a < b", class_="quiet", data_k=1, hidden=True)
    '<p class="quiet" data-k="1" hidden>a &lt; b</p>'
    """
    said = "".join([_attribute(key, value) for key, value in attributes.items()])
    if name in _EMPTY:
        return Html(f"<{name}{said}>")
    return Html(f"<{name}{said}>{together(*inside)}</{name}>")


def together(*parts: str | None) -> Html:
    """Markup and texts one after another."""
    return Html("".join([x if isinstance(x, Html) else escape(x) for x in parts if x is not None]))


def breakable(text: str) -> Html:
    """A text that goes on in the next line after signs within a name, and never within a number.

    >>> breakable("dpsgd:epochs=5 at δ = 1e-5")
    'dpsgd:<wbr>epochs=5 at δ = <span class="number-whole">1e-5</span>'
    """
    said = "<wbr>".join(escape(part) for part in _BREAKS.split(text))
    return Html(_NUMBER.sub(r'<span class="number-whole">\g<0></span>', said))


def identifier(*words: object) -> str:
    """A word for an id: letters, digits and dashes.

    >>> identifier("c", "mechanism.0.epsilon")
    'c-mechanism-0-epsilon'
    """
    return re.sub(r"\W+", "-", "-".join(map(str, words))).strip("-")


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = _name(key)
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


@cache
def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
