"""What a mechanism asks for besides its input."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

_Parameter = inspect.Parameter
_BY_NAME = (_Parameter.POSITIONAL_OR_KEYWORD, _Parameter.KEYWORD_ONLY)


def asked_for(mechanism: Callable[..., Any]) -> tuple[bool, bool, bool]:
    """Whether it takes a generator, whether it takes a size, and whether it cannot do without.

    >>> asked_for(lambda data, rng, size=None: 0)
    (True, True, False)
    """
    beside = _beside_the_input(mechanism)
    needs = "size" in beside and beside["size"].default is _Parameter.empty
    return "rng" in beside, "size" in beside, needs


def _beside_the_input(mechanism: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """All parameters by name but the first, which is the input whatever it is called."""
    try:
        parameters = list(inspect.signature(mechanism).parameters.values())
    except (TypeError, ValueError):
        return {}
    if parameters and parameters[0].kind is not _Parameter.KEYWORD_ONLY:
        parameters = parameters[1:]
    bound = mechanism.keywords if isinstance(mechanism, functools.partial) else {}
    return {one.name: one for one in parameters if one.kind in _BY_NAME and one.name not in bound}
