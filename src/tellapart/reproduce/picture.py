"""One figure of the reproduction: the drawing, and the words that belong under it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with what it shows and what differs from the published one.

    ``name`` is the file's name without its suffix; ``shows`` describes the drawing, ``differs``
    says where the published text had to be corrected, and is empty where it is right.
    """

    name: str
    title: str
    shows: str
    differs: str
    figure: Figure

    @property
    def caption(self) -> str:
        """All the words under the figure."""
        return " ".join(part for part in (self.shows, self.differs) if part)


# Draws one figure; called anew for each reproduction, because a drawing can be altered.
Draw = Callable[[], Picture]
