"""The picture of a report, as part of its page."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from matplotlib.ft2font import FT2Font

from tellapart import plot
from tellapart.audit.evidence import Evidence
from tellapart.audit.verdict import Verdict
from tellapart.errors import NotCertified, Unsupported
from tellapart.report.model import Report

# A longer name would leave no room for the picture; the page has it in full.
_LONGEST = 100
_COMMENT = re.compile("<!--.*?-->", re.DOTALL)


def picture(report: Report) -> Markup | None:
    """What is claimed and what was shown, drawn; None where neither has a curve."""
    with plot.style():
        figure = _figure(report)
        if figure is None:
            return None
        written = io.StringIO()
        unsaid = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(written, format="svg", metadata=unsaid)
    drawn = _COMMENT.sub("", written.getvalue())
    # Words are outlines, so no text of anybody's is in it.
    return Markup(drawn[drawn.index("<svg") :])  # noqa: S704


def _figure(report: Report) -> Figure | None:
    found = report.found
    try:
        if "evidence" in report.curves and isinstance(found, Verdict):
            if not report.traced:
                return plot.audit(found.evidence)
            (claim,) = report.traced.values()  # the curve that all numbers were read off
            return plot.audit(replace(found, name=_short(found.name), claim=claim))
        if "evidence" in report.curves and isinstance(found, Evidence):
            return plot.audit(found)
        if report.traced:
            return plot.compare({_short(name): one for name, one in report.traced.items()})
    except (NotCertified, Unsupported):  # a curve that has no digits where it would be drawn
        return None
    return None


def _short(name: str) -> str:
    """A name in letters that the picture's font has."""
    known = _letters()
    shown = "".join(one if ord(one) in known or one == "\n" else "□" for one in name)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


@cache
def _letters() -> frozenset[int]:
    return frozenset(FT2Font(findfont("DejaVu Sans")).get_charmap())
