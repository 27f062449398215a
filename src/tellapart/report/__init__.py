"""The privacy report: a claim, what it means and what an audit found, as one file to keep.

``of`` turns a mechanism, a promise or a verdict into a report, plain data; ``write`` writes it as
a web page that needs nothing else (extra ``report``), with the same data as JSON beside it;
``page`` gives the page as text. ``of_decision`` turns a decision into the document that people
sign; ``of_comparison``, ``of_attack`` and ``of_correlated`` report what was compared, an attack
against a claim, and noise for correlated records. The same two write all of them.
"""

from typing import TYPE_CHECKING

from tellapart import _moved
from tellapart.report.building import of
from tellapart.report.checklist import QUESTIONS
from tellapart.report.decision_document import of_decision
from tellapart.report.model import Report
from tellapart.report.results import of_attack, of_comparison, of_correlated
from tellapart.report.writing import page, write

__all__ = [
    "QUESTIONS",
    "Report",
    "of",
    "of_attack",
    "of_comparison",
    "of_correlated",
    "of_decision",
    "page",
    "write",
]

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
