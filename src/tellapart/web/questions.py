"""Requests and responses of the page as records: the one shape that a question has.

Nothing here knows how requests come and go, so that a question can be answered in any process.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from tellapart import _checks
from tellapart.deadline import within
from tellapart.drawing.record import Mark
from tellapart.errors import InvalidArgument, TellapartError
from tellapart.web import limits
from tellapart.web.answer import Answer
from tellapart.web.controls import Control, as_data, shape
from tellapart.web.view import Dropped, View, from_query, to_query
from tellapart.web.views import VIEWS

# No view has nearly as many controls.
_MOST_VALUES = 500
_LONGEST_NAME = 500
_LONGEST_QUERY = 100_000


class Malformed(Exception):
    """The page does not ask like this."""


@dataclass(frozen=True)
class Sent:
    """A file as a browser sends it: its content is a data URL."""

    name: str
    content: str


@dataclass(frozen=True)
class PageQuestion:
    """One view with its values, and which window asks."""

    view: str
    values: Mapping[str, Any]
    changed: str | None = None
    number: int = 0
    from_url: bool = False
    file: Sent | None = None
    window: str = ""


@dataclass(frozen=True)
class PageUpdate:
    """What the page shows for a question: controls, an answer, and the URL of both."""

    number: int
    view: str
    question: str
    lead: str
    controls: list[dict[str, Any]] | None
    shape: str
    query: str | None
    problem: str
    answer: Answer


def read(asked: Any) -> PageQuestion:
    """The question that plain data describe; refused unless it has the shape of one."""
    if not isinstance(asked, dict):
        raise Malformed(f"a question must be an object, got {_kind(asked)}")
    from_url = asked.get("query") is not None
    values = _from_url(asked["query"]) if from_url else _values(asked.get("values", {}))
    changed = asked.get("changed")
    view = _text("view", asked.get("view", "/"))
    if view not in VIEWS:
        raise Malformed(f"view must be one of {', '.join(VIEWS)}, got {view!r}")
    return PageQuestion(
        view=view,
        values=values,
        changed=None if changed is None else _text("changed", changed),
        number=_count(asked.get("number", 0)),
        from_url=from_url,
        file=_file(asked.get("file")),
        window=_text("window", asked.get("window", "")),
    )


def _kind(given: Any) -> str:
    return type(given).__name__


def _text(name: str, given: Any, most: int = _LONGEST_NAME) -> str:
    if not isinstance(given, str):
        raise Malformed(f"{name} must be text, got {_kind(given)}")
    if len(given) > most:
        raise Malformed(f"{name} must have at most {most:,} letters, got {len(given):,}")
    if not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError:
            raise Malformed(f"{name} must be text, got half of a letter") from None
    return given


def _count(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 2**53:
        raise Malformed(f"number must be a whole number from 0 on, got {str(given)[:40]}")
    return given


def _from_url(given: Any) -> dict[str, Any]:
    query = _text("query", given, _LONGEST_QUERY)
    try:
        return _values(from_query(query))
    except InvalidArgument as why:
        raise Malformed(str(why)) from None


def _values(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise Malformed(f"values must be an object, got {_kind(given)}")
    if len(given) > _MOST_VALUES:
        raise Malformed(f"values must be at most {_MOST_VALUES}, got {len(given):,}")
    return {_text("the name of a value", name): _value(value) for name, value in given.items()}


def _value(given: Any) -> Any:
    texts = isinstance(given, list) and all(isinstance(text, str) for text in given)
    if not (given is None or texts or isinstance(given, str | bool | int | float)):
        raise Malformed(f"values must hold text, numbers or yes and no, got {_kind(given)}")
    if isinstance(given, float) and not math.isfinite(given):
        raise Malformed(f"values must be finite, got {given}")
    return given


def _file(given: Any) -> Sent | None:
    if given is None:
        return None
    parts = (given.get("name"), given.get("content")) if isinstance(given, dict) else (None, None)
    name, content = parts
    if not isinstance(name, str) or not isinstance(content, str):
        raise Malformed("file must have a name and its content as text")
    return Sent(_text("the name of the file", name), content)


# -- answers ---------------------------------------------------------------------------------------


def answer(question: PageQuestion) -> PageUpdate:
    """What the page shows for a question; what cannot be shown is told in its place."""
    view = _view(question)
    try:
        if question.from_url:
            _known_alone(view, question.values)
        state = _state(view, question)
        controls = view.controls(state)
        with within(limits.LONGEST, limits.LARGEST_ARRAY):
            reply = view.answer(state, *_dropped(view, question))
        if view.report is None:
            reply = replace(reply, reports=False)
    except TellapartError as error:
        return refused(question, str(error))
    return _update(view, question, controls, reply, query=to_query(state))


def _update(
    view: View[Any],
    question: PageQuestion,
    controls: Sequence[Control] | None,
    answer: Answer,
    problem: str = "",
    query: str | None = None,
) -> PageUpdate:
    return PageUpdate(
        number=question.number,
        view=view.path,
        question=view.question,
        lead=view.lead,
        controls=None if controls is None else as_data(controls),
        shape="" if controls is None else shape(controls),
        query=query,
        problem=problem,
        answer=answer,
    )


def refused(question: PageQuestion, problem: str) -> PageUpdate:
    """What the page shows where an answer was given up: why, beside the controls as they are."""
    view = _view(question)
    reply = Answer("This cannot be shown", (problem,), Mark.BAD)
    return _update(view, question, _controls_left(view, question), reply, problem)


def report(question: PageQuestion) -> tuple[str, str]:
    """The report of what is on screen, as a page; or nothing, and why there is none."""
    from tellapart.report import page

    view = _view(question)
    if view.report is None:
        return "", "this view has none"
    try:
        state = _state(view, question)
        with within(limits.LONGEST, limits.LARGEST_ARRAY):
            return page(view.report(state, *_dropped(view, question))), ""
    except TellapartError as error:
        return "", str(error)


def _view(question: PageQuestion) -> View[Any]:
    return VIEWS[question.view]


def _known_alone(view: View[Any], values: Mapping[str, Any]) -> None:
    """A word that the view does not know would be dropped, and what it means judged by default."""
    known = [field.name for field in fields(view.state)]
    for name in values:
        if name not in known:
            rule = f"name what is on this page ({', '.join(known)})"
            _checks.refuse("the address", rule, name)


def _controls_left(view: View[Any], question: PageQuestion) -> Sequence[Control] | None:
    try:
        return view.controls(_state(view, question))
    except TellapartError:
        return view.controls(view.state()) if question.from_url else None


def _state(view: View[Any], question: PageQuestion) -> Any:
    """What is asked about: the values that came along, or those of a file that sets them."""
    if question.file is not None and view.load is not None:
        return view.read(view.load(_opened(question.file)))
    return view.read(question.values, question.changed)


def _dropped(view: View[Any], question: PageQuestion) -> tuple[Dropped | None, ...]:
    """The file that came along, for a view that takes one."""
    if not view.takes_file:
        return ()
    return (None if question.file is None else _opened(question.file),)


def _opened(sent: Sent) -> Dropped:
    try:
        content = base64.b64decode(sent.content.partition(",")[2], validate=True)
    except ValueError:  # no base64, or not even ASCII
        return _checks.refuse("file", "arrive as it was sent: drop it again", sent.name[:80])
    return Dropped(sent.name, content)
