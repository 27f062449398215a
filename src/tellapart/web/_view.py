"""What a view is: pure functions from a state to controls, an answer and a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tellapart.report import Report
from tellapart.web import _state
from tellapart.web._answer import Answer
from tellapart.web._controls import Control

State = TypeVar("State")


@dataclass(frozen=True)
class Dropped:
    """A file that a person picked or dropped; it is never written anywhere."""

    name: str
    content: bytes


@dataclass(frozen=True)
class View(Generic[State]):
    """One page of the explorer.

    ``mechanisms`` names the fields of the state that hold mechanisms as text, with dials.
    ``settle`` makes values agree that depend on each other, given which of them changed. A view
    that ``takes_file`` is given what was dropped, or None, beside its state.
    """

    path: str
    title: str
    question: str
    lead: str  # what a newcomer needs to know to read the page
    state: type[State]
    controls: Callable[[State], Sequence[Control]]
    answer: Callable[..., Answer]
    report: Callable[..., Report] | None = None
    mechanisms: tuple[str, ...] = ()
    takes_file: bool = False
    settle: Callable[[Mapping[str, Any], str | None], Mapping[str, Any]] | None = None

    def read(self, values: Mapping[str, Any], changed: str | None = None) -> State:
        """The state that the page's controls, or a URL's query, describe."""
        settled = dict(values)
        for field in self.mechanisms:
            text = _state.with_dials(values, field, changed)
            if text is not None:
                settled[field] = text
        if self.settle is not None:
            settled = dict(self.settle(settled, changed))
        return _state.read(self.state, settled)
