"""What an audit found as one file to read, print and keep, and as one for other programs.

``of`` turns a verdict into a report, plain data; ``write`` writes it as a web page that needs
nothing else (extra ``report``), with the same data as JSON beside it.
"""

from tellapart.report._building import of
from tellapart.report._writing import target, write
from tellapart.report.designs import DESIGNS, DesignWords
from tellapart.report.model import Input, Made, Report, Shown

__all__ = ["DESIGNS", "DesignWords", "Input", "Made", "Report", "Shown", "of", "target", "write"]
