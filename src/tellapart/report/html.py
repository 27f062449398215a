"""A report as one page that needs nothing else: no script, no network, no other file."""

from __future__ import annotations

import io
from importlib.resources import files

from tellapart.audit._metrics import Metrics
from tellapart.audit.bounds import percent
from tellapart.errors import Unsupported
from tellapart.report.model import Report

try:
    import matplotlib as _matplotlib  # noqa: F401
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup
except ImportError as missing:
    raise Unsupported("reports need: pip install 'tellapart[report]'") from missing

# More lines of a ledger than these are summed up; all of them are in the data.
_LINES = 24


def page(report: Report) -> str:
    """The whole page as text, every word of it escaped."""
    template = files("tellapart.report").joinpath("template.html").read_text(encoding="utf-8")
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.filters["percent"] = percent
    made.filters["digits"] = lambda value: f"{value:.3g}"
    made.filters["count"] = lambda value: f"{value:,}"
    return made.from_string(template).render(
        report=report,
        state={None: "none", True: "refuted", False: "standing"}[report.refuted],
        picture=_picture(report),
        entries=() if report.ledger is None else report.ledger.entries[:_LINES],
        more=() if report.ledger is None else report.ledger.entries[_LINES:],
    )


def _picture(report: Report) -> Markup | None:
    """The picture as part of the page; None where the evidence has none."""
    from tellapart import plot

    if isinstance(report.found, Metrics):
        return None
    try:
        with plot.style():
            figure = plot.audit(report.found)
            written = io.StringIO()
            unsaid = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            figure.savefig(written, format="svg", metadata=unsaid)
    except Unsupported:
        return None
    drawn = written.getvalue()
    return Markup(drawn[drawn.index("<svg") :])  # noqa: S704 - matplotlib escapes what it writes
