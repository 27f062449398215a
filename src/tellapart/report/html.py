"""The privacy report as one HTML page that needs nothing else: no script, no network, no file."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from itertools import groupby
from typing import Any

from tellapart.errors import NotCertified, Unsupported

try:
    from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
    from markupsafe import Markup
    from matplotlib.figure import Figure
    from matplotlib.font_manager import findfont
    from matplotlib.ft2font import FT2Font
except ImportError as missing:
    raise Unsupported("reports need: pip install 'tellapart[report]'") from missing

from tellapart import plot
from tellapart._numeric.text import fixed, short
from tellapart.audit.bounds import percent
from tellapart.audit.evidence.base import Evidence
from tellapart.audit.verdict import Verdict
from tellapart.decision.limits import LimitAnswer
from tellapart.decision.missing import asked
from tellapart.drawing.icons import IconArray, icons
from tellapart.drawing.record import Drawing, Mark
from tellapart.drawing.svg import COLOURS, DASHES, svg
from tellapart.report.building import NO_EVIDENCE
from tellapart.report.curve_points import TOLD
from tellapart.report.decision_document import NIST, REGISTRY
from tellapart.report.decision_model import DecisionDocument
from tellapart.report.model import Item, Report, Traced
from tellapart.report.result_model import ResultDocument
from tellapart.risk.sentences import in_full

# More tests, or steps, than these are not all shown; all of them are in the data.
_LINES = 24
# More alerts, or limits, than these do not fit on the first page of a decision; all of them follow.
_MOST = 4
# More missing answers than these are counted on it; whoever mends them reads the file.
_MOST_MISSING = 12
# What no page may hold, or what turns the order of letters round.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKS = {"established": "✓", "refuted": "✗", "stated": "✎", "open": "☐"}


def page(report: Report) -> str:
    """The whole page as text, every word of it escaped."""
    entries, more = ((), None) if report.ledger is None else report.ledger.abridged(_LINES)
    return _template("template.html").render(
        report=report,
        state={None: "none", True: "refuted", False: "standing"}[report.refuted],
        status=_status(report),
        picture=picture(report),
        rates=_rates(report.curves),
        layers=_layers(report.checklist),
        marks=_MARKS,
        entries=entries,
        more=more,
        steps=() if report.privacy_budget is None else report.privacy_budget.steps[-_LINES:],
    )


def _status(report: Report) -> str:
    """The headline beneath a title, which it need not repeat."""
    if report.headline == f"{report.title}: {NO_EVIDENCE}":
        return f"{NO_EVIDENCE.capitalize()}."
    return f"{report.headline}."


def decision_page(document: DecisionDocument) -> str:
    """The document of a decision as text, every word of it escaped."""
    drawn = () if document.picture is None else document.picture.panels()
    # Titles in it are escaped where it is drawn.
    panels = [(words, Markup(icons(_seen(array)))) for words, array in drawn]  # noqa: S704
    return _template("decision.html").render(
        document=document,
        panels=panels,
        by_attacker=_by_attacker(document),
        most=_MOST,
        most_limits=_most_limits(document),
        most_missing=_MOST_MISSING,
        asked=asked,
        registry=REGISTRY,
        nist=NIST,
    )


def result_page(document: ResultDocument) -> str:
    """The report of a result as text, every word of it escaped."""
    return _template("result.html").render(
        document=document,
        state={Mark.PLAIN: "none", Mark.BAD: "refuted", Mark.GOOD: "standing"}[document.mark],
        charts=[(drawing, _chart(drawing), _legend(drawing)) for drawing in document.drawings],
        figures=list(_figures(document)),
    )


# In pixels: two stand side by side on paper, and on a phone its letters can still be read.
_CHART = (400, 290)


def _chart(drawing: Drawing) -> Markup:
    # Names in it are escaped where it is drawn.
    return Markup(_visible(svg(drawing, *_CHART)))  # noqa: S704


def _legend(drawing: Drawing) -> list[tuple[Markup, str]]:
    """What each line and point stands for, with a piece of it."""
    made = [
        (_sample(COLOURS[trace.ink], DASHES.get(trace.ink, "4 3" if trace.dashed else "")), name)
        for name, trace in {trace.name: trace for trace in drawing.traces}.items()
    ]
    spots = {spot.name: spot for spot in drawing.spots}
    return made + [(_sample(COLOURS[spot.ink]), name) for name, spot in spots.items()]


def _sample(colour: str, dashes: str | None = None) -> Markup:
    """A piece of a line, or a point where there are no dashes to give."""
    drawn = f'<path d="M0 6h26" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'
    if dashes is None:
        drawn = f'<circle cx="13" cy="6" r="4" fill="{colour}"/>'
    return Markup(f'<svg width="26" height="12" aria-hidden="true">{drawn}</svg>')  # noqa: S704


def _figures(document: ResultDocument) -> Iterator[tuple[str, Markup]]:
    """Dots on a line for each method, and for each framework."""
    if document.noise is not None:
        yield "Noise by method, and the true ε of each", _drawn(partial(plot.noise, document.noise))
    if document.frameworks is not None:
        rows = [row for row in document.frameworks.rows if row.unit != "nats"]
        if rows:
            yield "ε of one release under each framework", _drawn(partial(plot.standings, rows))


def _by_attacker(document: DecisionDocument) -> list[tuple[str, str, list[LimitAnswer]]]:
    """Each attacker with the limits on them: as many as a page has room for, the binding first."""
    first = sorted(document.limits, key=lambda row: not row.binding)[: _most_limits(document)]
    shown = [row for row in document.limits if row in first]
    who = [part.attacker for part in document.attackers]
    rows = [(x.name, x.knows, [row for row in shown if row.attacker == x.name]) for x in who]
    return [(name, knows, limits) for name, knows, limits in rows if limits]


def _most_limits(document: DecisionDocument) -> int:
    """Alerts take the place of a limit."""
    return _MOST - bool(document.alerts)


def _seen(array: IconArray) -> IconArray:
    return replace(array, title=_visible(array.title), caption=_visible(array.caption))


@cache
def _template(name: str) -> Template:
    def text(file: str) -> str:
        return files("tellapart.report").joinpath(file).read_text(encoding="utf-8")

    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_visible,
        loader=FunctionLoader(text),
    )
    made.filters["percent"] = percent
    made.filters["digits"] = lambda value: short(value, 3)
    made.filters["alone"] = lambda value: "any" if value is None else short(value, 6)
    made.filters["stop"] = lambda text: text.rstrip().removesuffix(".")
    made.filters["count_of"] = in_full
    made.filters["count"] = lambda value: f"{value:,}"
    return made.get_template(name)


def _visible(value: Any) -> Any:
    """Text without what a page cannot hold; markup of our own as it is."""
    return _UNSEEN.sub("\ufffd", value) if type(value) is str else value


def _rates(curves: Mapping[str, Traced]) -> list[tuple[str, list[str]]]:
    """What the picture shows, in numbers: the TPR of each curve at a few rates."""
    held = [(dict(curve.points), curve.side) for curve in curves.values()]
    if any(rate not in points for points, _ in held for rate in TOLD):
        return []
    return [
        (short(rate), [fixed(points[rate], up=side != "upper") for points, side in held])
        for rate in TOLD
    ]


def _layers(items: tuple[Item, ...]) -> list[tuple[str, list[Item]]]:
    return [(layer, list(some)) for layer, some in groupby(items, key=lambda item: item.layer)]


# A longer name would leave no room for the picture; the page has it in full.
_LONGEST = 100
_COMMENT = re.compile("<!--.*?-->", re.DOTALL)


def picture(report: Report) -> Markup | None:
    """What is claimed and what was shown, drawn; None where neither has a curve."""
    with plot.style():
        figure = _figure(report)
        return None if figure is None else _drawn(lambda: figure)


def _drawn(draw: Callable[[], Figure]) -> Markup:
    """A figure as markup."""
    with plot.style():
        written = io.StringIO()
        unsaid = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        draw().savefig(written, format="svg", metadata=unsaid)
    drawn = _COMMENT.sub("", written.getvalue())
    # Words are outlines, so no text of anybody's is in it.
    return Markup(drawn[drawn.index("<svg") :])  # noqa: S704


def _figure(report: Report) -> Figure | None:
    result = None if report.summary is None else report.summary.result
    try:
        if "evidence" in report.curves and isinstance(result, Verdict):
            if not report.traced:
                return plot.audit(result.evidence)
            (claim,) = report.traced.values()  # the curve that all numbers were read off
            return plot.audit(replace(result, name=_short(result.name), claim=claim))
        if "evidence" in report.curves and isinstance(result, Evidence):
            return plot.audit(result)
        if report.traced:
            return plot.compare({_short(name): curve for name, curve in report.traced.items()})
    except (NotCertified, Unsupported):  # a curve that has no digits where it would be drawn
        return None
    return None


def _short(name: str) -> str:
    """A name in letters that the picture's font has."""
    known = _letters()
    shown = "".join(letter if ord(letter) in known or letter == "\n" else "□" for letter in name)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


@cache
def _letters() -> frozenset[int]:
    return frozenset(FT2Font(findfont("DejaVu Sans")).get_charmap())
