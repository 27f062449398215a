"""A choice confirmed by certified curves, in which every error is counted."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tellapart.choose._search import Family
from tellapart.choose.limit import FORMULAS, Limit
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import NotCertified
from tellapart.mechanisms.combine import Combined
from tellapart.mechanisms.subject import Subject, curve_of

# Shares of the largest advantage at which brackets are tried, where a limit names no δ.
_SHARES = (0.9, 0.3, 0.03, 1e-3, 1e-5, 1e-8)
_TRIES = 16
_GAP = 3e-5
_ROUGH = 1e-2


def confirmed(
    family: Family, limits: Sequence[Limit], parameter: float, grows_private: bool, whole: bool
) -> float:
    """The parameter, or one slightly more private, whose certified curves keep every limit."""
    subject = family(parameter)
    if curve_of(subject)._accuracy <= FORMULAS:
        return parameter
    deltas = [_tightest(_composition(subject), limit) for limit in limits]
    move = 0.0
    for _ in range(_TRIES):
        trial = parameter * (1 + move) if grows_private else parameter / (1 + move)
        if whole:
            trial = float(math.ceil(trial) if grows_private else math.floor(trial))
        made = _composition(family(trial))
        excess = max(
            limit.excess(_lower(made, delta)) for limit, delta in zip(limits, deltas, strict=True)
        )
        if excess <= 0:
            return trial
        # A risk moves about as fast as its parameter.
        move = max(2 * move, excess, 1 / parameter if whole else 0.0)
    raise NotCertified(f"no certified curve near {parameter:.10g} keeps the limits")


def _composition(subject: Subject) -> Combined:
    if not isinstance(subject, Combined):
        raise NotCertified("a curve alone cannot be certified: let the family return the mechanism")
    return subject


def _lower(subject: Combined, delta: float) -> TradeoffCurve:
    try:
        return subject.bracket(delta, _GAP).lower
    except NotCertified as doubt:
        raise NotCertified(
            f"brackets as narrow as {_GAP:g} are out of reach for this composition"
        ) from doubt


def _tightest(subject: Combined, limit: Limit) -> float:
    """The δ whose bracket tells most about a limit, by rough brackets."""
    named = dict(limit.arguments).get("delta")
    if named is not None:
        return float(named)
    most = float(curve_of(subject).delta(0.0))
    _lower(subject, _SHARES[1] * most)  # where fine brackets are out of reach, rough ones are slow
    return min(
        (share * most for share in _SHARES),
        key=lambda delta: limit.excess(subject.bracket(delta, _ROUGH).lower),
    )
