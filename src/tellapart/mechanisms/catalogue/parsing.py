"""Mechanisms and families from short texts, ``gaussian:sigma=2``, and what is missing in one."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from typing import Any

from tellapart import _checks
from tellapart._decimals import plain_exponent
from tellapart._numeric.text import short
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.catalogue.kinds import KINDS, WRAPPERS, Kind, Way
from tellapart.mechanisms.catalogue.parameters import PARAMETERS, WORD_PARAMETERS
from tellapart.mechanisms.combine import compose
from tellapart.mechanisms.custom import Promise
from tellapart.mechanisms.subject import Subject

_THEN = re.compile(r"\+(?=\s*[a-zA-Z])")  # the plus of 1e+5 has a digit after it


@dataclass(frozen=True)
class NamedFamily:
    """What a name leaves open: a family in one parameter, and which way it grows."""

    name: str
    parameter: str
    fixed: Mapping[str, Any]
    make: Callable[[float], Subject]

    @property
    def grows_private(self) -> bool:
        """Whether a larger parameter means more privacy."""
        return PARAMETERS[self.parameter].grows_private

    @property
    def composed(self) -> bool:
        """Whether the parameter is that of one step among several, or on a sample."""
        return any(key in self.fixed for key in WRAPPERS)

    @property
    def slow(self) -> bool:
        """Whether what it makes are compositions, which take more than a formula."""
        return self.composed or KINDS[self.name].composition

    @property
    def whole(self) -> bool:
        """Whether the parameter comes in whole numbers only."""
        return PARAMETERS[self.parameter].whole


@dataclass(frozen=True)
class Term:
    """One mechanism of a text, as it was typed: its name and its numbers (or words)."""

    name: str
    values: Mapping[str, Any]

    def __str__(self) -> str:
        numbers = ",".join(f"{key}={_short(value)}" for key, value in self.values.items())
        return f"{self.name}:{numbers}" if numbers else self.name


def terms(text: str) -> tuple[Term, ...]:
    """What a text is made of, whether or not it is complete.

    >>> [str(term) for term in terms("gaussian:sigma=2 , repeated=1e1 + laplace")]
    ['gaussian:sigma=2,repeated=10', 'laplace']
    """
    return tuple(Term(*_parsed(part, {})) for part in _terms(text))


def _short(value: float | str) -> str:
    """The shortest text that reads back as the same number; a word as it is."""
    if isinstance(value, str):
        return value
    whole = abs(value) < 1e6 and value == int(value)
    return str(int(value)) if whole else plain_exponent(repr(float(value)))


def parse(text: str, **given: float | str) -> Subject:
    """The mechanism, or the (ε, δ) promise, that a short text stands for, as on the command line.

    ``name:key=number,key=number``; the keys say how the mechanism is made: ``gaussian:sigma=2`` or
    ``gaussian:epsilon=1,delta=1e-5``. Every mechanism also takes ``sampled`` and ``repeated``, then
    ``best_of`` and ``runs`` (fixed, geometric, logarithmic or poisson), and ``+`` puts another
    after it. ``any`` is every mechanism that keeps a promise: a curve, not one
    mechanism. Numbers may also be ``given`` by keyword. ``dpsgd`` also takes a sampling ``scheme``:
    poisson, fixed-size, random-allocation, shuffled or truncated-poisson, and ``neighbours``. Names
    and keys are those of ``tellapart risk --help``.

    >>> parse("laplace:epsilon=1")
    Laplace(scale=1.0)
    >>> parse("gaussian:sigma=2,sampled=0.1,repeated=9+laplace:epsilon=1")
    Gaussian(sigma=2.0).sampled(0.1).repeated(9).then(Laplace(scale=1.0))
    >>> parse("any:epsilon=1,delta=1e-5")
    <curve of guarantee(epsilon=1.0, delta=1e-05), guarantee (f from below)>
    >>> parse("gaussian:sigma=4,best_of=10,runs=geometric")
    Gaussian(sigma=4.0).best_of(geometric(mean=10.0))

    See Also
    --------
    tellapart.dp_sgd : the same for DP-SGD, with its numbers checked as they are typed
    """
    first, *later = _terms(text)
    if not later:
        return _made(first, given)
    return compose([_step(_made(first, given), first), *(_step(_made(x, {}), x) for x in later)])


named = parse  # what `tellapart.mechanisms.named`, a path of 0.1, has it under


def _terms(text: str) -> list[str]:
    if not isinstance(text, str):
        _checks.refuse("mechanism", "be a text such as laplace:epsilon=1", text)
    return [part.strip() for part in _THEN.split(text)]


def _made(text: str, given: Mapping[str, Any]) -> Subject:
    name, values, often = _apart(text, given)
    for way in KINDS[name].ways:
        if way.fits(values):
            return _taken(way.made(values), often, text)
    return _refuse(name, values)


def _taken(subject: Subject, often: Mapping[str, Any], text: str) -> Subject:
    """The subject on a sample, so many times over, and the best of so many runs of all that."""
    if not often:
        return subject
    step = _step(subject, text)
    if "sampled" in often:
        step = step.sampled(often["sampled"])
    if "repeated" in often:
        step = step.repeated(_checks.whole(1, repeated=often["repeated"]))
    if "best_of" in often:
        word = WORD_PARAMETERS["runs"]
        law: Any = word.words[often.get("runs", word.usual)][0]
        return step.best_of(law(often["best_of"]))
    if "runs" in often:
        _checks.refuse("mechanism", "have best_of, too: runs is the law of that number", text)
    return step


_COMPOSED = "compose a mechanism or a guarantee of epsilon and delta, not one of mu or zcdp"


def _step(subject: Subject, text: str) -> Mechanism:
    """A subject as a step of a composition: of a guarantee, the worst mechanism that has it."""
    if isinstance(subject, Mechanism):
        return subject
    if isinstance(subject, GuaranteeCurve):
        return Promise(subject.claimed_epsilon, subject.claimed_delta)
    return _checks.refuse("mechanism", _COMPOSED, text)


def named_family(text: str, parameter: str | None = None, **given: float | str) -> NamedFamily:
    """The family that a short text leaves open in one parameter: in ε wherever it can be.

    >>> named_family("laplace").parameter, named_family("gaussian").parameter
    ('epsilon', 'sigma')
    >>> named_family("gaussian:delta=1e-5").parameter
    'epsilon'
    """
    if len(_terms(text)) > 1:
        rule = "be one mechanism where a parameter is left open, not several joined by +"
        _checks.refuse("mechanism", rule, text)
    name, values, often = _apart(text, given)
    every = _left_open(name, values)
    ways = {key: way for key, way in every.items() if key not in KINDS[name].never_chosen}
    if every and not ways:
        rule = f"leave open what its risks change with in one direction, not {' or '.join(every)}"
        _checks.refuse("mechanism", rule, text)
    if parameter is not None:
        if parameter not in ways:
            rule = f"be one that {text!r} leaves open ({', '.join(ways) or 'none'})"
            _checks.refuse("parameter", rule, parameter)
        ways = {parameter: ways[parameter]}
    if not ways:
        _refuse_several_open(name, values, text)
        _refuse_apart(name, values, _shown(name, values))
        options = " or ".join(dict.fromkeys(key for way in KINDS[name].ways for key in way.needs))
        rule = f"leave one parameter of {name} open ({options}; ways to make it: {_ways(name)})"
        _checks.refuse("mechanism", rule, text)
    free = "epsilon" if "epsilon" in ways else next(iter(ways))
    if often and name == "any" and free in ("mu", "zcdp"):  # whatever the number
        _checks.refuse("mechanism", _COMPOSED, text)

    def make(value: float) -> Subject:
        return _taken(ways[free].made({free: value, **values}), often, text)

    return NamedFamily(name, free, {**values, **often}, make)


def families(kind: Kind) -> dict[str, str]:
    """Each parameter of a mechanism that can be chosen, and the text that leaves it alone open."""
    keys = kind.choosable or kind.ways[0].needs[:1]
    return {key: _leaving_open(kind, key) for key in keys if key not in kind.never_chosen}


def _leaving_open(kind: Kind, parameter: str) -> str:
    way = next(way for way in kind.ways if parameter in way.needs)
    own, needed = terms(kind.first_text)[0].values, set(way.needs)
    starts = {
        key: own.get(key) if key in needed and known.start is None else known.start
        for key in (*way.needs, *way.takes)
        if key != parameter and (known := PARAMETERS.get(key))
    }
    numbers = {key: start for key, start in starts.items() if start is not None}
    return str(Term(kind.name, numbers))


def _refuse_several_open(name: str, values: Mapping[str, Any], text: str) -> None:
    """Say what else to give where more than what is usually chosen is left open."""
    kind = KINDS[name]
    aim = (kind.choosable or kind.ways[0].needs)[0]
    lacking = [
        [key for key in way.needs if key != aim and key not in values]
        for way in kind.ways
        if aim in way.needs and set(values) <= {*way.needs, *way.takes}
    ]
    if aim in values or not lacking or not all(lacking):
        return
    rule = f"have {_fewest(lacking)}, too; {aim} is then chosen"
    _checks.refuse("mechanism", rule, text)


def _fewest(lacking: list[list[str]]) -> str:
    """What could be given besides, without what only asks for more."""
    fewest = [keys for keys in lacking if not any(set(few) < set(keys) for few in lacking)]
    first, *others = dict.fromkeys(" and ".join(keys) for keys in fewest)
    return f"{first} (or {' or '.join(others)})" if others else first


def _refuse_apart(name: str, values: Mapping[str, Any], shown: str) -> None:
    """Name two parameters that no way takes together, and what goes with each."""
    ways = [{*way.needs, *way.takes} for way in KINDS[name].ways]
    for pair in combinations(values, 2):
        either = [[keys for keys in ways if key in keys] for key in pair]
        if not all(either) or any(set(pair) <= keys for keys in ways):
            continue
        fits = [min(sets, key=lambda keys: len(keys - set(values))) for sets in either]
        needs = [
            [x for x in KINDS[name].parameters if x in fit - other - set(pair)]
            for fit, other in (fits, fits[::-1])
        ]
        goes = [
            f"{key} (with {' and '.join(keys)})" if keys else key
            for key, keys in zip(pair, needs, strict=True)
        ]
        _checks.refuse("mechanism", f"have either {' or '.join(goes)}, not both", shown)


def open_parameters(text: str, **given: float | str) -> tuple[str, ...]:
    """What one mechanism leaves to be chosen: each of these alone would complete it.

    >>> open_parameters("gaussian"), open_parameters("gaussian", delta=1e-6)
    (('sigma',), ('epsilon',))
    """
    name, values, _ = _apart(text, given)
    return tuple(_left_open(name, values))


def takes_delta(text: str, **given: float | str) -> bool:
    """Whether a δ among these, and not in the text, completes the first mechanism.

    >>> takes_delta("gaussian", epsilon=1, delta=1e-6), takes_delta("gaussian", sigma=2, delta=1e-6)
    (True, False)
    """
    first = _terms(text)[0]
    if "delta" in terms(first)[0].values:
        return False
    name, values, _ = _apart(first, given)
    return any(way.fits(values) for way in KINDS[name].ways)


SENSITIVITY_ASSUMED = "sensitivity 1 (default): the most by which one record moves the answer"


def assumes_sensitivity(text: str, **given: float | str) -> bool:
    """Whether noise is given by its size alone, and so for a sensitivity of 1 that nobody stated.

    >>> assumes_sensitivity("laplace", scale=100), assumes_sensitivity("laplace", epsilon=1)
    (True, False)
    """
    first, *later = terms(text)
    return any(
        "sensitivity" not in values
        and any(
            "sensitivity" in way.takes
            and set(way.needs) <= set(values)
            and any(PARAMETERS[key].grows_private for key in way.needs)
            for way in KINDS[name].ways
        )
        for name, values in (
            (first.name, {**first.values, **given}),
            *((term.name, term.values) for term in later),
        )
    )


def own_delta(text: str) -> float | None:
    """The δ by which a mechanism is given; None where it has none, or it is that of a step.

    >>> own_delta("gaussian:epsilon=1,delta=1e-6"), own_delta("any:epsilon=1,delta=1e-6,repeated=9")
    (1e-06, None)
    """
    return None if is_composed(text) else terms(text)[0].values.get("delta")


def is_pure(text: str, given: Collection[str] = ()) -> bool:
    """Whether it is one pure ε-DP mechanism: ε alone makes it, and at δ = 0 its ε is finite.

    >>> is_pure("laplace:scale=2"), is_pure("any", ["mu"]), is_pure("laplace:epsilon=1,repeated=9")
    (True, False, False)
    """
    if is_composed(text):
        return False
    (term,) = terms(text)
    impure = {"delta", "mu", "zcdp"}.intersection((*term.values, *given))
    return not impure and any(way.needs == ("epsilon",) for way in KINDS[term.name].ways)


def is_composed(text: str) -> bool:
    """Whether a text is of several steps or of a sample, so that a δ in it is not that of all."""
    first, *later = terms(text)
    return bool(later) or any(key in first.values for key in WRAPPERS)


def labelled(text: str, given: Mapping[str, Any]) -> str:
    """A text with numbers that were given beside it, which are those of its first mechanism.

    >>> labelled("gaussian+laplace:epsilon=1", {"sigma": 2})
    'gaussian:sigma=2+laplace:epsilon=1'
    """
    first, *later = _terms(text)
    numbers = _listed(given)
    if numbers:
        first = f"{first}{',' if ':' in first else ':'}{numbers}"
    return "+".join([first, *later]) if numbers else text


def _listed(values: Mapping[str, Any]) -> str:
    return ",".join(
        f"{key}={value if isinstance(value, str) else short(value)}"
        for key, value in values.items()
    )


def _apart(text: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A name, its own numbers, and on what sample, how often and the best of how many."""
    name, values = _parsed(text, given)
    often = {key: values.pop(key) for key in WRAPPERS if key in values}
    return name, values, often


def _left_open(name: str, values: Mapping[str, Any]) -> dict[str, Way]:
    """The parameters of which one alone is missing, and the way that it completes."""
    completed_by: dict[str, Way] = {}
    for way in KINDS[name].ways:
        missing = set(way.needs) - set(values)
        if set(values) <= {*way.needs, *way.takes} and len(missing) == 1:
            completed_by.setdefault(missing.pop(), way)
    return completed_by


def _parsed(text: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name, _, rest = text.strip().partition(":")
    if name not in KINDS:
        near = get_close_matches(name.lower(), KINDS, n=1)
        perhaps = f" (did you mean {near[0]}?)" if near else ""
        _checks.refuse("mechanism", f"be one of {', '.join(KINDS)}{perhaps}", text)
    values = {
        key: WORD_PARAMETERS[key].check(value)
        if key in WORD_PARAMETERS
        else _checks.number(**{key: value})
        for key, value in given.items()
    }
    for item in rest.split(",") if rest else []:
        key, _, value = (part.strip() for part in item.partition("="))
        if key in values:
            _checks.refuse("mechanism", f"give {key} only once", text)
        word = WORD_PARAMETERS.get(key)
        values[key] = word.check(value) if word else _number(key, value, text)
    return name, values


def _number(key: str, value: str, text: str) -> float:
    for kind in (int, float):
        try:
            number = kind(value)
        except ValueError:
            continue
        if abs(number) > sys.float_info.max:
            _checks.refuse("mechanism", f"have a {key} that a double can hold", text[:80])
        return number
    rule = "be written as name:key=number,key=number"
    return _checks.refuse("mechanism", f"{rule} ({key or value!r} has no number)", text)


def _ways(name: str) -> str:
    return " or ".join(f"{name}:{way}" for way in KINDS[name].ways)


def _shown(name: str, values: Mapping[str, Any]) -> str:
    got = _listed(values)
    return f"{name}:{got}" if got else name


def _refuse(name: str, values: Mapping[str, Any]) -> Subject:
    shown = _shown(name, values)
    lacking = [
        [key for key in way.needs if key not in values]
        for way in KINDS[name].ways
        if values and set(values) <= {*way.needs, *way.takes}
    ]
    if lacking == [["delta"]] and "epsilon" in values:
        raise InvalidArgument(
            f"mechanism must have delta, too, got {shown!r}; write {shown},delta=1e-5, as it has "
            "no finite ε at δ = 0"
        )
    if lacking:
        return _checks.refuse("mechanism", f"have {_fewest(lacking)}, too", shown)
    _refuse_apart(name, values, shown)
    promise = any(way.fits(values) for way in KINDS["any"].ways)
    instead = f", or {_shown('any', values)} for every mechanism that promises it" * promise
    return _checks.refuse("mechanism", f"be given as {_ways(name)}{instead}", shown)
