"""Answers of the page as plain data: a view and its values in, JSON or a file to keep out.

Nothing here knows how requests come and go, so that a question can be answered in any process.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache, lru_cache
from typing import Any

from tellapart import _checks
from tellapart.drawing.record import Drawing
from tellapart.drawing.svg import svg, table
from tellapart.errors import InvalidArgument, TellapartError
from tellapart.web.answer import Answer
from tellapart.web.controls import Control, held, labelled, shape
from tellapart.web.html import answers, inputs
from tellapart.web.view import Dropped, View, as_text, changes, to_query
from tellapart.web.views import VIEWS

# No view has nearly as many controls.
_MOST_VALUES = 500
_LONGEST_NAME = 500
# What a script says about its question, beside the values: which of them changed, the controls
# that it has, and the part of the answer that it wants.
_BESIDE = ("changed", "shape", "part")
# What belongs to one view and one look at it.
_OWN = ("picture", "design")
# The attacker, whom every view means, whatever it starts with.
_SHARED = ("prior", "fpr", "at_delta")
_SAYS_NAME = re.compile(r"^(?:the )?([\w.]+) must ")


class Malformed(Exception):
    """The page does not ask like this."""


@dataclass(frozen=True)
class _Asked:
    """A question: the view, its values, those of other views, and what the script says."""

    view: View[Any]
    values: Mapping[str, Any]
    others: Mapping[str, str]
    said: Mapping[str, str]
    file: Dropped | None
    unknown: str = ""

    @property
    def changed(self) -> str | None:
        return self.said.get("changed")

    def state(self) -> Any:
        """What is asked about: the values that came along, or those of a file that sets them."""
        if self.unknown:  # it would be dropped, and what it means judged by default
            known = ", ".join(field.name for field in fields(self.view.state))
            _checks.refuse("the address", f"name what is on this page ({known})", self.unknown)
        if self.file is not None and self.view.load is not None:
            return self.view.read(self.view.load(self.file))
        return self.view.read(self.values, self.changed)

    @property
    def beside(self) -> tuple[Dropped | None, ...]:
        """The file, for views that take one."""
        return (self.file,) if self.view.takes_file else ()

    def controls(self, state: Any) -> Sequence[Control]:
        """What can be set."""
        return self.view.controls(state, *self.beside)

    def answer(self, state: Any) -> Answer:
        """What the view says."""
        return self.view.answer(state, *self.beside)


def answer(path: str, values: Mapping[str, object]) -> dict[str, object]:
    """What the page shows for these values; what cannot be shown is told in its place."""
    asked = _read(path, values)
    try:
        state = asked.state()
        made = asked.controls(state)
        if "part" in asked.said:
            return _part(asked, state)
        answer_ = asked.answer(state)
    except TellapartError as error:
        return _refused(asked, str(error))
    drawings = [_drawn(each) for each in answer_.drawings]
    query = to_query(state, asked.others)
    links = _links(asked, state, answer_)
    return {
        "path": path,
        "problem": "",
        "query": query,
        "links": links,
        "held": held(made),
        "drawings": drawings,
        "picture": answer_.picked,
        "answer": answers.answer(asked.view, answer_, links),
        **_controls(asked, made),
    }


def first_answer(path: str, values: Mapping[str, object]) -> dict[str, object]:
    """What a page opens with: values that this view cannot take give way to its defaults.

    It says so. They may come from another view, where they have a meaning.
    """
    first = said = answer(path, values)
    kept, problems = dict(values), []
    while said["problem"] and not _read(path, kept).unknown:
        named = str(said["field"]).partition(".")[0]
        dropped = {named} & kept.keys() or _read(path, kept).values.keys() & kept.keys()
        if not dropped:
            return first
        problems.append(str(said["problem"]))
        kept = {key: value for key, value in kept.items() if key not in dropped}
        said = answer(path, kept)
    if not problems or said["problem"]:
        return first
    words = f"{'; '.join(problems)}. The page shows its default there."
    return {**said, "problem": words, "field": first["field"], "instead": True}


def _controls(asked: _Asked, made: Sequence[Control]) -> dict[str, object]:
    """The controls, unless the script has just these already."""
    now = shape(made)
    if asked.said.get("shape") == now:
        return {"shape": now}
    return {"shape": now, "controls": inputs.controls(made), "bar": inputs.bar(made)}


def _drawn(drawing: Drawing) -> dict[str, Any]:
    """A drawing for a script, in as many digits as a screen can show, and as a table."""
    data = drawing.data()
    for trace, drawn in zip(data["traces"], drawing.traces, strict=True):
        trace["x"], trace["y"] = list(_digits(drawn.x)), list(_digits(drawn.y))
    return {**data, "table": table(drawing)}


@lru_cache(64)  # most lines have their places along an axis in common
def _digits(values: tuple[float, ...]) -> tuple[float | None, ...]:
    return tuple(float(f"{value:.6g}") if math.isfinite(value) else None for value in values)


def _links(asked: _Asked, state: Any, answer_: Answer) -> dict[str, str]:
    """What other views go on with: all that was set, and the mechanism that is looked at."""
    texts = {key: x for key, x in changes(state).items() if key not in _OWN}
    if not getattr(state, "record", ""):  # a record has attackers of its own
        texts |= {key: as_text(getattr(state, key)) for key in _SHARED if hasattr(state, key)}
    mechanism = answer_.mechanism or getattr(state, "mechanism", "")
    texts.pop("mechanism", None)
    if mechanism:
        texts["mechanism"] = mechanism
    return {**asked.others, **texts}


def _part(asked: _Asked, state: Any) -> dict[str, object]:
    """One part of an answer that takes longer than the rest."""
    make = asked.view.parts.get(asked.said["part"])
    if make is None:
        raise Malformed(f"part must be one of {', '.join(asked.view.parts)}")
    return {"problem": "", "part": asked.said["part"], "html": answers.part_html(make(state))}


def _refused(asked: _Asked, problem: str) -> dict[str, object]:
    """What the page shows where there is no answer: why, at the control that it is about."""
    try:
        made = asked.controls(asked.state())
    except TellapartError:
        made = asked.controls(asked.view.state())
    return {
        "path": asked.view.path.lstrip("/"),
        "problem": _in_labels(problem, made),
        "field": _field_of(problem, asked, held(made)),
        "query": None,
        "links": dict(asked.others),
        "held": held(made),
        "drawings": [],
        "picture": 0,
        "answer": "",
        "shape": shape(made),
        "controls": inputs.controls(made),
        "bar": inputs.bar(made),
    }


def _in_labels(problem: str, made: Sequence[Control]) -> str:
    """A problem as the page says it: what no person would say, ``batch_size``, by its label.

    A name that stands in its label, or is that of a Greek letter, is known; -1 is no -1.0.
    """
    labels = {field.rpartition(".")[2]: label for field, label in labelled(made)}
    for key, label in labels.items():
        name = rf"(?:mechanism\.)?\b{re.escape(key)}\b"
        if "_" in key:
            problem = re.sub(rf"{name}(?! ?=)", f"“{label}”", problem)
        elif key not in label.lower() and label[0].isascii():
            problem = re.sub(rf"^{name}(?= must )", f"“{label}”", problem)
    return re.sub(r"(, got -?\d+)\.0$", r"\1", problem)


def _field_of(problem: str, asked: _Asked, fields_held: Mapping[str, Any]) -> str:
    """The control that a problem is about: the one that it names, else the one that changed."""
    named = _SAYS_NAME.match(problem)
    name = named.group(1).removeprefix("mechanism.") if named else ""
    fits = [field for field in fields_held if field == name or field.endswith(f".{name}")]
    if asked.changed in fits or (asked.changed in fields_held and not fits):
        return str(asked.changed)
    return fits[0] if name and fits else ""


def address(path: str, values: Mapping[str, object]) -> str:
    """The link to this question, after the page's own address; the view alone where it is none."""
    asked = _read(path, values)
    try:
        query = to_query(asked.state(), asked.others)
    except TellapartError:
        return path
    return f"{path}?{query}" if query else path


# -- files to keep ---------------------------------------------------------------------------------


def download(path: str, values: Mapping[str, object], kind: str) -> tuple[str, str, bytes]:
    """What is on screen as a file: its media type, its name and its bytes.

    Kinds are report, csv, json, svg, python and command; what has none, and what cannot be shown,
    is refused as the library does.
    """
    if kind not in _KINDS:
        raise Malformed(f"a file must be one of {', '.join(_KINDS)}, got {kind[:40]!r}")
    asked = _read(path, values)
    return _KINDS[kind](asked, asked.state())


def _report(asked: _Asked, state: Any) -> tuple[str, str, bytes]:
    from tellapart.report import page

    if asked.view.report is None:
        raise InvalidArgument("this view has no report; its pictures and numbers can be had")
    made = asked.view.report(state, *asked.beside)
    return "text/html; charset=utf-8", "tellapart-report.html", page(made).encode()


def _picture(asked: _Asked, state: Any) -> Drawing:
    drawing = asked.answer(state).drawing
    if drawing is None:
        raise InvalidArgument("there is nothing to draw of this")
    return drawing


def _svg(asked: _Asked, state: Any) -> tuple[str, str, bytes]:
    drawing = _picture(asked, state)
    return "image/svg+xml", f"{_name(drawing)}.svg", svg(drawing, 640, 440, legend=True).encode()


def _csv(asked: _Asked, state: Any) -> tuple[str, str, bytes]:
    drawing, text = _picture(asked, state), io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["line", drawing.x.label, drawing.y.label])
    for trace in drawing.traces:
        rows.writerows((trace.name, *point) for point in zip(trace.x, trace.y, strict=True))
    rows.writerows((spot.name, spot.x, spot.y) for spot in drawing.spots)
    return "text/csv; charset=utf-8", f"{_name(drawing)}.csv", text.getvalue().encode()


def _name(drawing: Drawing) -> str:
    return re.sub(r"\W+", "-", drawing.title.lower()).strip("-") or "picture"


def _json(asked: _Asked, state: Any) -> tuple[str, str, bytes]:
    answer = asked.answer(state)
    data = {
        "view": asked.view.title,
        "address": f"{asked.view.path.lstrip('/')}?{to_query(state, asked.others)}",
        "settings": asdict(state),
        **asdict(answer),
    }
    text = json.dumps(_finite(data), ensure_ascii=False, indent=1, allow_nan=False)
    return "application/json", "tellapart.json", text.encode()


def _finite(data: Any) -> Any:
    """Plain data without numbers that JSON has no word for."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _python(asked: _Asked, state: Any) -> tuple[str, str, bytes]:
    return "text/x-python; charset=utf-8", "tellapart.py", asked.answer(state).python.encode()


def _command(asked: _Asked, state: Any) -> tuple[str, str, bytes]:
    text = asked.answer(state).command
    return "text/x-shellscript; charset=utf-8", "tellapart.sh", f"{text}\n".encode()


_KINDS: dict[str, Callable[[_Asked, Any], tuple[str, str, bytes]]] = {
    "report": _report,
    "csv": _csv,
    "json": _json,
    "svg": _svg,
    "python": _python,
    "command": _command,
}


# -- the shape of a question -----------------------------------------------------------------------


def _read(path: str, given: Mapping[str, object]) -> _Asked:
    """The question that these values are; refused unless they have the shape of one."""
    view = VIEWS.get(f"/{path}")
    if view is None:
        raise Malformed(f"the view must be one of {', '.join(VIEWS)}")
    if not isinstance(given, Mapping):
        raise Malformed(f"values must be an object, got {type(given).__name__}")
    if len(given) > _MOST_VALUES:
        raise Malformed(f"values must be at most {_MOST_VALUES}, got {len(given):,}")
    values = {_text("the name of a value", name): _value(x) for name, x in given.items()}
    said = {key: _text(key, values.pop(key), 100_000) for key in _BESIDE if key in values}
    file = values.pop("file", None)
    own = {field.name for field in fields(view.state)}
    others = {name: str(x) for name, x in values.items() if name in _known() - own}
    others = {name: text for name, text in others.items() if name not in _OWN}
    # Controls that are no part of a state come from a script alone.
    unknown = [name for name in values if name not in _known() and not said]
    mine = {name: x for name, x in values.items() if name not in others}
    dropped = file if isinstance(file, Dropped) else None
    return _Asked(view, mine, others, said, dropped, "".join(unknown[:1]))


@cache
def _known() -> frozenset[str]:
    """Every word that the address of some view may have."""
    return frozenset(field.name for view in VIEWS.values() for field in fields(view.state))


def _text(name: str, given: Any, most: int = _LONGEST_NAME) -> str:
    if not isinstance(given, str):
        raise Malformed(f"{name} must be text, got {type(given).__name__}")
    if len(given) > most:
        raise Malformed(f"{name} must have at most {most:,} letters, got {len(given):,}")
    if not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError:
            raise Malformed(f"{name} must be text, got half of a letter") from None
    return given


def _value(given: Any) -> Any:
    texts = isinstance(given, list) and all(isinstance(text, str) for text in given)
    if not (given is None or texts or isinstance(given, str | bool | int | float | Dropped)):
        raise Malformed(f"values must hold text, numbers or yes and no, got {type(given).__name__}")
    if isinstance(given, float) and not math.isfinite(given):
        raise Malformed(f"values must be finite, got {given}")
    return given
