"""The privacy report: a claim, what it means and what an audit found, as one file to keep.

``of`` turns a mechanism, a promise or a verdict into a report, plain data; ``write`` writes it as
a web page that needs nothing else (extra ``report``), with the same data as JSON beside it;
``page`` gives the page as text.
"""

from tellapart.audit.summary import DESIGNS, DesignWords, Shown
from tellapart.report.building import of
from tellapart.report.checklist import QUESTIONS, Question
from tellapart.report.model import Input, Item, Made, Meaning, Report, Traced
from tellapart.report.writing import page, target, write

__all__ = [
    "DESIGNS",
    "QUESTIONS",
    "DesignWords",
    "Input",
    "Item",
    "Made",
    "Meaning",
    "Question",
    "Report",
    "Shown",
    "Traced",
    "of",
    "page",
    "target",
    "write",
]
