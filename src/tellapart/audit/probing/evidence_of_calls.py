"""Evidence that came of calling a mechanism, in the words of calls."""

from __future__ import annotations

from dataclasses import replace

from tellapart.audit.evidence.base import Design, Evidence
from tellapart.audit.evidence.count import CountEvidence
from tellapart.audit.evidence.cuts import CutEvidence
from tellapart.audit.evidence.rank import RankEvidence
from tellapart.audit.evidence.thresholds import End
from tellapart.audit.ledger import Ledger
from tellapart.audit.probing.calling.caller import Caller
from tellapart.audit.probing.calling.outputs import Outputs

_RANKS = {
    End.ACCUSE: "ranks among the outputs on d0 that speak most for d1",
    End.CLEAR: "ranks among the outputs on d1 that speak most for d0",
}
_CHOSEN = "one event, chosen on calls set aside"
_CHANGES = "The mechanism changes its input: every call was handed a copy of its own."


def of_calls(found: Evidence, calls: int, about: str = "") -> Evidence:
    """The same evidence, which says of itself that it is of so many calls on each input."""
    if isinstance(found, CutEvidence):
        return replace(found, calls=calls, about=about)
    if isinstance(found, RankEvidence):
        ends = dict.fromkeys(look.end for look in found.looks)
        words = tuple(_RANKS[end] for end in ends)
        ledger = _told(found.ledger, words, calls - found.looks[0].tested)
        return replace(found, ledger=ledger, design=Design.CALLS, calls=calls, about=about)
    if isinstance(found, CountEvidence):
        ledger = _told(found.ledger, (f"the event {found.event}",), calls - found.counts.members)
        own = replace(found, ledger=ledger, method=_CHOSEN, design=Design.CALLS)
        return replace(own, calls=calls, about=about)
    return found


def remarks(caller: Caller, home: tuple[Outputs, Outputs]) -> str:
    """A word to those who gave an input that the mechanism cannot read, or changes."""
    for name, outputs in zip(("d0", "d1"), home, strict=True):
        broken = outputs.first_broken()
        if broken is not None:
            return f"No call on {name} gave a value: the first one {broken}."
    return _CHANGES if caller.changes else ""


def _told(ledger: Ledger, words: tuple[str, ...], aside: int) -> Ledger:
    """The first looks in other words, and why choosing them cost nothing."""
    named, rest = ledger.entries[: len(words)], ledger.entries[len(words) :]
    entries = tuple(replace(one, what=what) for one, what in zip(named, words, strict=True))
    choice = f"the choice of the event: made on {aside:,} calls on each input, not counted again"
    return replace(ledger, entries=(*entries, *rest), free=(*ledger.free, choice))
