"""A view: pure functions from a state to controls, an answer, a report; the state as a query.

A state is a frozen dataclass whose fields all have defaults. A URL names those that differ, so
that it stays short and still brings everything back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from dataclasses import field as made
from typing import Any, Generic, NewType, TypeVar, get_type_hints
from urllib.parse import urlencode

from tellapart import _checks
from tellapart._decimals import plain_exponent
from tellapart.mechanisms.catalogue import WORD_PARAMETERS, Term, terms
from tellapart.report.writing import Document
from tellapart.web.answer import Answer, Table, Words
from tellapart.web.controls import Control, unsaid

State = TypeVar("State")


@dataclass(frozen=True)
class Dropped:
    """A file that a person picked or dropped; it is never written anywhere."""

    name: str
    content: bytes


@dataclass(frozen=True)
class View(Generic[State]):
    """One page of the explorer.

    ``mechanisms`` names the fields of the state that hold mechanisms as text, with dials.
    ``settle`` makes values agree that depend on each other, given which of them changed. A view
    that ``takes_file`` is given what was dropped, or None, beside its state; one that can ``load``
    a file has values from it, and forgets it. ``parts`` of an answer are asked for by themselves,
    since they take longer than the rest.
    """

    path: str
    title: str
    question: str
    lead: str  # what a newcomer needs to know to read the page
    state: type[State]
    controls: Callable[..., Sequence[Control]]
    answer: Callable[..., Answer]
    report: Callable[..., Document] | None = None
    mechanisms: tuple[str, ...] = ()
    takes_file: bool = False
    load: Callable[[Dropped], Mapping[str, Any]] | None = None
    settle: Callable[[Mapping[str, Any], str | None], Mapping[str, Any]] | None = None
    parts: Mapping[str, Callable[[State], Table | Words]] = made(default_factory=dict)
    listed: bool = True  # among the views of every page

    @property
    def state_shown(self) -> bool:
        """Whether anything can be set."""
        return bool(fields(self.state))  # type: ignore[arg-type]

    def read(self, values: Mapping[str, Any], changed: str | None = None) -> State:
        """The state that the page's controls, or a URL's query, describe."""
        settled = dict(values)
        for field in self.mechanisms:
            text = with_dials(values, field, changed)
            if text is not None:
                settled[field] = text
        if self.settle is not None:
            settled = dict(self.settle(settled, changed))
        return read_state(self.state, settled)


# -- state: a record, the query of a URL, and what controls hold -----------------------------------

# Nobody types more into a field than this; a URL that does is no view of ours.
_LONGEST = 2_000
# A text that a page packs, and that may be longer than what people type.
Packed = NewType("Packed", str)
_LONGEST_PACKED = 40_000


def to_query(state: Any, beside: Mapping[str, str] | None = None) -> str:
    """The query that brings this state back: what differs from the defaults.

    ``beside`` it stands what other views were asked, so that they find it again.
    """
    return urlencode({**changes(state), **(beside or {})})


def changes(state: Any) -> dict[str, str]:
    """What differs from the defaults, as texts."""
    return {
        field.name: as_text(getattr(state, field.name))
        for field in fields(state)
        if getattr(state, field.name) != _default(field)
    }


def read_state(kind: type[State], values: Mapping[str, Any]) -> State:
    """The state that these values describe; what they do not name stays as it is by default."""
    hints = get_type_hints(kind)
    known = {field.name: hints[field.name] for field in fields(kind)}  # type: ignore[arg-type]
    settings = {
        name: _value(name, values[name], wanted) for name, wanted in known.items() if name in values
    }
    return kind(**settings)


def _default(field: Any) -> Any:
    return field.default_factory() if field.default is MISSING else field.default


def as_text(value: Any) -> str:
    """A value as a URL has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "\n".join(value)
    return plain_exponent(repr(value)) if isinstance(value, float) else str(value)


def _value(name: str, given: Any, wanted: Any) -> Any:
    if isinstance(given, str):
        _typed(name, given, _LONGEST_PACKED if wanted is Packed else _LONGEST)
    if wanted is bool:
        if given not in (True, False, "yes", "no"):
            _checks.refuse(name, "be yes or no", given)
        return given is True or given == "yes"
    if wanted in (str, Packed):
        return str(given)
    if wanted in (int, float):
        return _number(name, given, whole=wanted is int)
    if isinstance(given, list | tuple):
        return tuple(str(text) for text in given)
    return tuple(line for line in str(given).split("\n") if line)


def _typed(name: str, given: str, longest: int) -> None:
    if len(given) > longest:
        _checks.refuse(name, f"have at most {longest:,} letters", f"{given[:40]}…")
    try:
        given.encode()
    except UnicodeEncodeError:  # half of a letter, which no URL can hold
        _checks.refuse(name, "be text", given)


def _number(name: str, given: Any, whole: bool) -> float:
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        return _checks.refuse(name, "be a number", given)
    return _checks.whole(0, **{name: value}) if whole else value


def with_dials(values: Mapping[str, Any], field: str, changed: str | None) -> str | None:
    """The mechanism in ``field`` with the numbers that its dials show.

    A dial is called ``field.k.parameter``, for the k-th mechanism of the text. When the text is
    what changed, dials still show the mechanism before: they are not asked. ``field.add`` holds a
    mechanism to put after the others, ``field.drop`` the number of one to leave out, and
    ``field.preset`` one to take instead. An empty text is no mechanism.
    """
    if changed == f"{field}.preset" and values.get(changed):
        return str(_value(field, values[changed], str))
    text = values.get(field)
    if text is not None:
        text = _value(field, text, str)
    if not text or changed == field:
        return text
    mechanisms: list[Term] = []
    for place, term in enumerate(terms(str(text))):
        numbers = dict(term.values)
        for name, given in values.items():
            key = name.removeprefix(f"{field}.{place}.")
            if key != name:
                word = WORD_PARAMETERS.get(key)
                numbers[key] = word.check(given) if word else _number(name, given, whole=False)
        said = {key: number for key, number in numbers.items() if number != unsaid(term.name, key)}
        mechanisms.append(Term(term.name, said))
    if changed == f"{field}.add" and values.get(changed):
        mechanisms += terms(str(values[changed]))
    if changed == f"{field}.drop" and len(mechanisms) > 1:
        mechanisms = [
            term for k, term in enumerate(mechanisms) if str(k) != str(values.get(changed))
        ]
    return "+".join(map(str, mechanisms))
