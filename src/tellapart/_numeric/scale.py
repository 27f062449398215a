"""Linear and logarithmic scales: how the way between two numbers is divided."""

from __future__ import annotations

from enum import StrEnum


class Scale(StrEnum):
    """How the way between the ends of a range is divided."""

    LINEAR = "linear"
    LOG = "log"
    WHOLE = "whole"  # logarithmic, in whole numbers
