"""Argument checks. Each takes one keyword, so that the message can name the argument.

Messages read: *name must rule, got value*. A check returns the cleaned value.
"""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from tellapart._decimals import plain_exponent
from tellapart.errors import InvalidArgument

Array = NDArray[np.float64]
E = TypeVar("E")


def refuse(name: str, rule: str, value: object) -> NoReturn:
    """Raise the one error message that all checks share."""
    value = value.item() if isinstance(value, np.generic) else value
    shown = " ".join(repr(value).split())
    shown = shown if set(shown) & {"'", '"'} else plain_exponent(shown)  # texts stay as typed
    raise InvalidArgument(f"{name} must {rule}, got {shortened(shown)}")


def keywords(function: Callable[..., Any], given: dict[str, Any], filled: tuple[str, ...]) -> None:
    """Refuse keywords that a function does not take, or lacks, beside what is ``filled`` in."""
    try:
        known = list(inspect.signature(function).parameters.values())
    except ValueError:  # some built-in functions have no signature to look at
        return
    name = getattr(function, "__name__", repr(function))
    takes = {
        each.name: each.default is each.empty
        for each in known[1:]
        if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)
    }
    anything = any(each.kind is each.VAR_KEYWORD for each in known)
    own = [key for key in takes if key not in filled]
    for key, value in given.items():
        if key not in takes and not anything:
            near = difflib.get_close_matches(key, own, n=1, cutoff=0.5)
            meant = f" (did you mean {near[0]}?)" if near else ""
            rule = f"be an argument of {name}, which takes {', '.join(own) or 'none'}{meant}"
            refuse(key, rule, value)
    for key in own:
        if takes[key] and key not in given:
            raise InvalidArgument(f"{key} must be given, as {name} takes it: write {key}=...")
    if any(key not in takes for key in filled) and not anything:
        refuse("measure", f"take {' and '.join(filled)}, as risk.ppv does", name)


def shortened(text: str, longest: int = 80) -> str:
    """A text, cut where it is longer than that."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _only(named: dict[str, Any]) -> tuple[str, Any]:
    ((name, value),) = named.items()
    return name, value


def number(**named: Any) -> float:
    """One real number; infinite is allowed, NaN is not."""
    name, value = _only(named)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        refuse(name, "be a number", value)
    result = _double(name, value)
    if math.isnan(result):
        refuse(name, "not be NaN", value)
    return result


def _double(name: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        refuse(name, "fit a double", value)


def _numbers_within(
    rule: str, holds: Callable[[float], bool], finite: bool
) -> Callable[..., float]:
    def check(**named: Any) -> float:
        name, value = _only(named)
        result = number(**named)
        if not holds(result) or (finite and math.isinf(result)):
            refuse(name, rule, value)
        return result

    check.__doc__ = f"A number that must {rule}."
    return check


finite = _numbers_within("be finite", lambda x: True, finite=True)
at_least_zero = _numbers_within("be at least 0", lambda x: x >= 0, finite=False)
finite_at_least_zero = _numbers_within("be finite and at least 0", lambda x: x >= 0, finite=True)
above_zero = _numbers_within("be greater than 0", lambda x: x > 0, finite=False)
finite_above_zero = _numbers_within("be finite and greater than 0", lambda x: x > 0, finite=True)
probability = _numbers_within("lie in [0, 1]", lambda x: 0 <= x <= 1, finite=False)
inside_unit = _numbers_within("lie strictly between 0 and 1", lambda x: 0 < x < 1, finite=False)


def whole(least: int, most: int = 10**305, /, **named: Any) -> int:
    """A whole number from ``least`` to ``most``; 2.0 is welcome, 2.5 is not."""
    name, value = _only(named)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        refuse(name, "be a whole number", value)
    if not isinstance(value, numbers.Integral) and not _double(name, value).is_integer():
        refuse(name, "be a whole number", value)
    result = int(value) if isinstance(value, numbers.Integral) else int(_double(name, value))
    value = result if abs(result) < 10**6 else value  # 3 where 3.0 came, and 1e9 as it came
    if result < least:
        refuse(name, f"be at least {least}", value)
    if result > most:
        refuse(name, f"be at most {plain_exponent(f'{float(most):g}')}", value)
    return result


def member(kind: type[E], **named: Any) -> E:
    """A member of an enumeration."""
    name, value = _only(named)
    if not isinstance(value, kind):
        names = " or ".join(str(choice) for choice in kind)  # type: ignore[attr-defined]
        refuse(name, f"be {names}", value)
    return value


def instance(kind: Any, rule: str, /, **named: Any) -> None:
    """An object of this kind; ``rule`` says in words what it must be."""
    name, value = _only(named)
    if not isinstance(value, kind):
        refuse(name, f"be {rule}", value)


def function(**named: Any) -> None:
    """Something that can be called."""
    name, value = _only(named)
    if not callable(value):
        refuse(name, "be callable", value)


def reals(rule: str = "be a number or an array of numbers", /, **named: Any) -> Array:
    """An array of real numbers of any shape; infinite is allowed, NaN is not."""
    name, value = _only(named)
    try:
        array = np.asarray(value)
    except ValueError:
        refuse(name, rule, value)
    if array.dtype.kind == "O" and all(isinstance(entry, numbers.Real) for entry in array.flat):
        array = np.array([_double(name, entry) for entry in array.flat]).reshape(array.shape)
    if array.dtype.kind not in "iuf" and array.size:
        refuse(name, rule, value)
    result = array.astype(np.float64, copy=False)
    if np.isnan(result).any():
        refuse(name, "not contain NaN", value)
    return result


def probabilities(**named: Any) -> Array:
    """An array whose every entry lies in [0, 1]."""
    name, value = _only(named)
    if type(value) is float and 0 <= value <= 1:  # by far the commonest
        return np.asarray(value)
    array = reals(**named)
    if array.size and not (array.min() >= 0 and array.max() <= 1):
        outside = array[(array < 0) | (array > 1)]
        refuse(name, "lie in [0, 1]", float(outside.flat[0]))
    return array


def vector(**named: Any) -> Array:
    """A non-empty one-dimensional array of finite numbers."""
    name, value = _only(named)
    array = reals("be a list of numbers", **named)
    if array.ndim != 1:
        refuse(name, "be a list of numbers", value)
    if array.size == 0:
        refuse(name, "not be empty", value)
    if np.isinf(array).any():
        refuse(name, "be finite", value)
    return array


def pmf(**named: Any) -> Array:
    """Probabilities of a finite set of outcomes: at least 0, with sum 1 up to rounding."""
    name, _ = _only(named)
    array = vector(**named)
    if array.min() < 0:
        refuse(name, "be at least 0 everywhere", float(array.min()))
    total = math.fsum(array)
    if abs(total - 1) > 1e-9:
        refuse(name, "sum to 1", total)
    return array / total


def pairs(columns: str, **named: Any) -> tuple[Array, Array]:
    """Two columns from a non-empty list of pairs; ``columns`` names them in the message."""
    name, value = _only(named)
    array = reals(f"be a list of {columns} pairs", **named)
    if array.size == 0:
        refuse(name, "not be empty", value)
    if array.ndim != 2 or array.shape[1] != 2:
        refuse(name, f"be a list of {columns} pairs", value)
    return array[:, 0], array[:, 1]


def rates_together(**named: Any) -> tuple[Array, Array]:
    """Two arrays of probabilities whose shapes fit each other."""
    (first, a), (second, b) = named.items()
    rates, other_rates = probabilities(**{first: a}), probabilities(**{second: b})
    try:
        np.broadcast_shapes(rates.shape, other_rates.shape)
    except ValueError:
        refuse(second, f"fit the shape of {first} {rates.shape}", other_rates.shape)
    return rates, other_rates


def shaped(values: Array, *asked: Array) -> float | Array:
    """A float where only numbers were asked for, an array otherwise."""
    values = np.asarray(values + 0.0)  # no number reads -0.0
    return float(values) if all(argument.ndim == 0 for argument in asked) else values
