"""Controls as data: what can be set, between what, and which way is more private.

The page makes native inputs of them, each with a label: a slider and the exact number beside it,
a list, a line of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from dataclasses import field as made
from enum import StrEnum
from typing import Any

from tellapart.mechanisms.catalogue import NAMED, Term, named, own_delta, terms


class Scale(StrEnum):
    """How a slider's way is divided."""

    LINEAR = "linear"
    LOG = "log"
    WHOLE = "whole"  # logarithmic, in whole numbers


class Private(StrEnum):
    """Which way of a dial is more private; for some it depends, or matters to nobody."""

    LARGER = "larger"
    SMALLER = "smaller"
    NEITHER = "neither"


@dataclass(frozen=True)
class Dial:
    """A number: a slider for the hand and a field for the exact value."""

    field: str
    label: str
    value: float
    low: float
    high: float
    scale: Scale = Scale.LOG
    private: Private = Private.NEITHER
    ends: tuple[str, str] | None = None  # what the ends mean, where privacy is not what changes
    help: str = ""
    kind: str = made(default="dial", init=False)


@dataclass(frozen=True)
class Choice:
    """One of several, each with its words."""

    field: str
    label: str
    value: str
    options: Sequence[tuple[str, str]]
    help: str = ""
    as_buttons: bool = False
    kind: str = made(default="choice", init=False)


@dataclass(frozen=True)
class Line:
    """A line of text, read when it is left or Enter is pressed."""

    field: str
    label: str
    value: str
    help: str = ""
    kind: str = made(default="line", init=False)


@dataclass(frozen=True)
class Tick:
    """Yes or no."""

    field: str
    label: str
    value: bool
    help: str = ""
    kind: str = made(default="tick", init=False)


@dataclass(frozen=True)
class File:
    """A file the person picks or drops; it stays in memory."""

    field: str
    label: str
    accept: str
    largest: int  # bytes
    help: str = ""
    instead_of: str = ""  # the tick that a file takes off
    kind: str = made(default="file", init=False)


@dataclass(frozen=True)
class Kept:
    """A value that nothing on the page shows now, and that must not be lost meanwhile."""

    field: str
    value: str | float
    kind: str = made(default="kept", init=False)


@dataclass(frozen=True)
class Group:
    """Controls that belong together; ``folded`` ones are for those who ask."""

    title: str
    controls: tuple[Dial | Choice | Line | Tick | File, ...]
    folded: bool = False
    kind: str = made(default="group", init=False)


Control = Dial | Choice | Line | Tick | File | Kept | Group


def as_data(controls: Sequence[Control]) -> list[dict[str, Any]]:
    """Controls as the page reads them."""
    return [asdict(one) for one in controls]


def shape(controls: Sequence[Control]) -> str:
    """What the page must build anew for; values alone are set where they are."""
    found = []
    for one in controls:
        if isinstance(one, Group):
            found.append(f"{one.title}[{shape(one.controls)}]")
        elif isinstance(one, Choice):
            found.append(f"{one.field}:{'|'.join(value for value, _ in one.options)}")
        else:
            found.append(f"{one.field}:{one.kind}")
    return ";".join(found)


# Every parameter a mechanism has: what it is called, its range, its scale, its private side.
_L, _S, _N = Private.LARGER, Private.SMALLER, Private.NEITHER
_PARAMETERS: dict[str, tuple[str, float, float, Scale, Private]] = {
    "epsilon": ("ε, the privacy budget", 0.01, 20, Scale.LOG, _S),
    "delta": ("δ, the chance that ε fails", 1e-12, 0.1, Scale.LOG, _S),
    "mu": ("μ of Gaussian DP", 0.01, 10, Scale.LOG, _S),
    "zcdp": ("ρ of zero-concentrated DP", 1e-4, 20, Scale.LOG, _S),
    "scale": ("scale of the noise", 0.05, 100, Scale.LOG, _L),
    "sigma": ("σ, deviation of the noise", 0.05, 100, Scale.LOG, _L),
    "noise_multiplier": ("noise multiplier", 0.3, 20, Scale.LOG, _L),
    "sensitivity": ("sensitivity", 0.01, 100, Scale.LOG, _S),
    "cutoff": ("where the noise is cut off", 0.1, 1_000, Scale.LOG, _L),
    "fraction": ("share of the high step", 0.01, 0.99, Scale.LINEAR, _N),
    "width": ("width of the noise", 0.1, 1_000, Scale.LOG, _L),
    "atom": ("chance of no noise", 0, 0.99, Scale.LINEAR, _N),
    "power": ("power of the error that is least", 1, 4, Scale.LINEAR, _N),
    "categories": ("categories", 2, 1_000, Scale.WHOLE, _N),
    "keep": ("chance that a one stays", 0.01, 0.99, Scale.LINEAR, _S),
    "flip": ("chance that a zero turns", 0.01, 0.99, Scale.LINEAR, _L),
    "distance": ("distance of two places", 0.01, 100, Scale.LOG, _S),
    "sampling_rate": ("share of the records in a batch", 1e-6, 1, Scale.LOG, _S),
    "steps": ("steps", 1, 1_000_000, Scale.WHOLE, _S),
    "epochs": ("epochs", 0.1, 1_000, Scale.LOG, _S),
    "batch_size": ("expected size of a batch", 1, 100_000, Scale.WHOLE, _S),
    "data_size": ("records", 10, 100_000_000, Scale.WHOLE, _L),
    "sampled": ("share of the records it runs on", 1e-6, 1, Scale.LOG, _S),
    "repeated": ("how many times", 1, 100_000, Scale.WHOLE, _S),
}

# What the ends mean where more of it is neither more nor less private.
_ENDS = {
    "fraction": ("narrow high step", "wide high step"),
    "atom": ("always noise", "often none"),
    "power": ("small errors matter", "large errors matter"),
    "categories": ("few", "many"),
}

# What a name starts with on the page.
STARTS = {
    "any": "any:epsilon=1,delta=1e-05",
    "laplace": "laplace:epsilon=1",
    "gaussian": "gaussian:sigma=1",
    "gaussian-classic": "gaussian-classic:epsilon=0.5,delta=1e-05",
    "discrete-laplace": "discrete-laplace:epsilon=1",
    "discrete-gaussian": "discrete-gaussian:sigma=1",
    "truncated-laplace": "truncated-laplace:epsilon=1,delta=1e-05",
    "staircase": "staircase:epsilon=1",
    "uniform": "uniform:delta=0.1",
    "randomized-response": "randomized-response:epsilon=1",
    "unary-encoding": "unary-encoding:epsilon=1",
    "symmetric-unary-encoding": "symmetric-unary-encoding:epsilon=1",
    "exponential": "exponential:epsilon=1",
    "permute-and-flip": "permute-and-flip:epsilon=1",
    "noisy-max": "noisy-max:epsilon=1",
    "planar-laplace": "planar-laplace:epsilon=1",
    "dpsgd": "dpsgd:noise_multiplier=1,sampling_rate=0.01,steps=1000",
}
NAMES = {
    "any": "Any mechanism with ε and δ",
    "dpsgd": "DP-SGD",
    "gaussian-classic": "Gaussian noise by the classic formula",
    "noisy-max": "Report noisy max",
}


def title_of(name: str) -> str:
    """A mechanism's name for people."""
    if name in NAMES:
        return NAMES[name]
    first, *others = name.split("-")
    people = [word.capitalize() if word in ("laplace", "gaussian") else word for word in others]
    return " ".join([first.capitalize(), *people])


def label_of(key: str) -> str:
    """A parameter's name for people."""
    return _PARAMETERS[key][0]


def parameter(field_name: str, key: str, value: float) -> Dial:
    """The dial for one parameter of a mechanism."""
    label, low, high, scale, private = _PARAMETERS[key]
    return Dial(field_name, label, value, low, high, scale, private, _ENDS.get(key))


def own_numbers(term: Term) -> dict[str, float]:
    """What a mechanism's dials show: a promise of ε alone has a δ, too, which is 0."""
    if term.name == "any" and "epsilon" in term.values:
        return {"epsilon": term.values["epsilon"], "delta": 0.0, **term.values}
    return dict(term.values)


def delta_dial(label: str, value: float) -> Dial:
    """The δ at which ε is told: which point of the curve is named, nothing that is changed."""
    ends = ("ε with few exceptions", "with many")
    return Dial("at_delta", label, value, 1e-12, 0.1, ends=ends)


def told_at(text: str, at_delta: float) -> float:
    """The δ of every ε: that of the mechanism where it has one, else the one that was dialled."""
    own = own_delta(text)
    return at_delta if own is None else own


def delta_dials(label: str, text: str, at_delta: float) -> tuple[Dial, ...]:
    """A dial for that δ, unless the mechanism has one for it."""
    return (delta_dial(label, at_delta),) if own_delta(text) is None else ()


def at_delta_option(text: str, at_delta: float) -> str:
    """The same δ on a command line, which takes a mechanism's own from its text."""
    return f" --at-delta {at_delta!r}" if own_delta(text) is None else ""


def known_terms(text: str) -> tuple[Term, ...]:
    """What a text is made of; refused as the library does where it has a dial for none of it."""
    found = terms(text)
    if any(key not in _PARAMETERS for one in found for key in one.values):
        named(text)
    return found


def mechanism(field_name: str, text: str, label: str = "Mechanism") -> tuple[Control, ...]:
    """Controls for a mechanism: which, its numbers, how often, on what share; and as text."""
    found = known_terms(text)
    several = len(found) > 1
    names = [(start, title_of(name)) for name, start in STARTS.items() if name in NAMED]
    groups: list[Control] = []
    for place, term in enumerate(found):
        own = [
            parameter(f"{field_name}.{place}.{key}", key, value)
            for key, value in own_numbers(term).items()
            if key not in ("repeated", "sampled")
        ]
        often = [
            parameter(f"{field_name}.{place}.{key}", key, term.values.get(key, 1))
            for key in ("repeated", "sampled")
        ]
        title = f"{place + 1}. {title_of(term.name)}" if several else title_of(term.name)
        groups.append(Group(title, tuple(own)))
        groups.append(Group("Many times, on a sample", tuple(often), folded=True))
    chosen = next((start for start, _ in names if start.split(":")[0] == found[0].name), "")
    which = Choice(field_name, label, chosen, names)
    again = [("", "nothing more"), *names]
    add = Choice(f"{field_name}.add", "And then, on the same data", "", again)
    typed = Line(
        field_name,
        f"{label} as text",
        text,
        "name:key=value,… ; every mechanism takes sampled=… and repeated=…; + puts one after "
        "another.",
    )
    if not several:
        return (which, *groups, add, typed)
    every = [(str(k), f"{k + 1}. {title_of(one.name)}") for k, one in enumerate(found)]
    drop = Choice(f"{field_name}.drop", "Leave out", "", [("", "none"), *every])
    return (*groups, add, drop, typed)
