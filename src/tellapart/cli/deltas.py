"""The δ of (ε, δ): the one that was given holds for every ε, whatever the command.

Where none was given it is 0 for one pure ε-DP mechanism, as in a bare --epsilon, and 1e-5 for
every other and for compositions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from cyclopts import Parameter

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.mechanisms.catalogue import (
    NamedFamily,
    Term,
    is_composed,
    is_pure,
    labelled,
    named_family,
    open_parameters,
    own_delta,
    parse,
    takes_delta,
    terms,
)
from tellapart.mechanisms.subject import Subject
from tellapart.risk.catalogue import DELTA, Reading

_DEFAULT = f"δ = {short(DELTA.default)} (default)"

AtDelta = Annotated[
    tuple[float, ...],
    Parameter(
        name="--at-delta",
        help="A further δ at which to report ε, besides --delta; may be repeated.",
        negative="",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Deltas:
    """Where ε is reported: at the δ of the question, then at others that were asked for."""

    every: tuple[float, ...]
    is_default: bool = False

    @property
    def first(self) -> float:
        """The δ of every ε."""
        return self.every[0]

    @property
    def asked(self) -> tuple[float, ...] | None:
        """Those that someone asked for; None leaves the choice to whoever reports ε."""
        return None if self.is_default else self.every

    @property
    def words(self) -> str:
        """That δ, and whether anyone asked for it."""
        return _DEFAULT if self.is_default else f"δ = {short(self.first)}"

    def marked(self, readings: Sequence[Reading]) -> tuple[Reading, ...]:
        """The same readings; ε at a δ that nobody asked for says so."""
        return tuple(
            reading._replace(name=f"ε at {self.words}") if reading.key == "epsilon" else reading
            for reading in readings
        )

    def epsilons(self, readings: Sequence[Reading]) -> list[Reading]:
        """ε at each of these δ, among all readings."""
        return [reading for reading in readings if reading.key.startswith("epsilon")]

    def data(self) -> dict[str, Any]:
        """Where ε is reported, as JSON."""
        return {"delta": self.first, "delta_is_default": self.is_default}


class Asked(NamedTuple):
    """A mechanism or guarantee as asked for, its name, and where its ε is reported."""

    subject: Subject
    name: str
    deltas: Deltas


class AskedFamily(NamedTuple):
    """A family as asked for, its name, and where its ε is reported and limited."""

    family: NamedFamily
    name: str
    deltas: Deltas


def deltas_at(
    delta: float | None, more: Sequence[float], own: float | None = None, pure: bool = False
) -> Deltas:
    """The δ that was given or is the mechanism's own; else others asked for; else 0 or 1e-5."""
    if delta is not None:
        _checks.probability(**{"--delta": delta})
    for further in more:
        _checks.probability(**{"--at-delta": further})
    first = own if delta is None else delta
    every = tuple(dict.fromkeys([*([] if first is None else [first]), *more]))
    if not every and pure:
        return Deltas((0.0,))
    return Deltas(every) if every else Deltas((DELTA.default,), is_default=True)


def asked(text: str, given: Mapping[str, float], more: Sequence[float] = ()) -> Asked:
    """The mechanism of a text and of options, of which --delta is the δ of every ε."""
    own, delta, rest = _one_delta(text, given)
    deltas = deltas_at(delta, more, own, is_pure(text, given))
    # A δ that completes the mechanism is its own; for every other, ε is reported there.
    inside = delta is not None and own is None and takes_delta(text, **given)
    if inside and is_composed(text):
        _refuse_step(delta)
    alone = not rest and ":" not in text  # says nothing of a mechanism but its δ
    taken = dict(given) if inside or alone else rest
    return Asked(parse(text, **taken), labelled(text, taken), deltas)


def asked_family(
    text: str, parameter: str | None, given: Mapping[str, float], more: Sequence[float] = ()
) -> AskedFamily:
    """The family that a text leaves open: in its noise, wherever that alone says all.

    A δ is then where ε is reported and limited, and nothing else. Where a mechanism is made by ε
    and δ alone it is that δ, too.
    """
    own, delta, rest = _one_delta(text, given)
    deltas = deltas_at(delta, more, own, is_pure(text, (*given, parameter or "")))
    if parameter == "delta" and (delta is not None or own is not None):
        rule = "be left out where delta is what is chosen; choose another --parameter"
        _checks.refuse("--delta", rule, delta if own is None else own)
    known = own if delta is None else delta
    bare, name = text if own is None else _without_delta(text), labelled(text, rest)
    if known is None or _open_without(bare, parameter, rest):
        return AskedFamily(named_family(bare, parameter, **rest), name, deltas)
    if is_composed(bare):
        _refuse_step(delta)
    if own is None:
        name = labelled(text, given)
    return AskedFamily(named_family(bare, parameter, **rest, delta=known), name, deltas)


def of_several(texts: Sequence[str], delta: float | None, more: Sequence[float]) -> Deltas:
    """Where the ε of several mechanisms is reported: at the δ in them, if there is just one."""
    own = {delta for delta in map(own_delta, texts) if delta is not None}
    delta_of_all = own.pop() if len(own) == 1 else None
    return deltas_at(delta, more, delta_of_all, all(map(is_pure, texts)))


def _one_delta(
    text: str, given: Mapping[str, float]
) -> tuple[float | None, float | None, dict[str, float]]:
    """The δ in a text, the δ given beside it, which must be the same, and all other options."""
    own, delta = own_delta(text), given.get("delta")
    if own is not None and delta is not None and own != delta:
        rule = (
            f"be the δ of {text} ({short(own)}), or be left out; --at-delta reports ε at another δ"
        )
        _checks.refuse("--delta", rule, delta)
    return own, delta, {key: value for key, value in given.items() if key != "delta"}


def _open_without(text: str, parameter: str | None, rest: Mapping[str, float]) -> bool:
    """Whether something is left to be chosen of a mechanism that is not given by its δ."""
    names = open_parameters(text, **rest)
    if parameter is not None:
        return parameter in names and not _is_promise(text, parameter)
    return bool(names) and not _is_promise(text, *names)


def _is_promise(text: str, *names: str) -> bool:
    """A guarantee is of ε and δ together."""
    return terms(text)[0].name == "any" and "epsilon" in names


def _without_delta(text: str) -> str:
    (term,) = terms(text)
    return str(Term(term.name, {key: x for key, x in term.values.items() if key != "delta"}))


def _refuse_step(delta: float | None) -> None:
    rule = (
        "stand beside steps whose own δ is written into them, such as "
        "any:epsilon=1,delta=0,repeated=9: it is the δ of all steps together"
    )
    _checks.refuse("--delta", rule, delta)
