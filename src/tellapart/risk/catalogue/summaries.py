"""Every risk of one curve at once, and those of a short table."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.risk.catalogue.attacker_arguments import DELTA, FPR, PRIOR, RECALL, WEIGHT
from tellapart.risk.catalogue.measures import MEASURES, arguments
from tellapart.risk.catalogue.readings import Reading


def essential(readings: Sequence[Reading], asked: Mapping[str, float]) -> tuple[Reading, ...]:
    """The readings of a short table: details only where someone asked about their arguments."""
    known = arguments()
    own = {
        key for key, value in asked.items() if known[key].required or value != known[key].default
    } - {PRIOR.key}
    details = {
        measure.key
        for measure in MEASURES.values()
        if measure.detail and own.isdisjoint(argument.key for argument in measure.arguments)
    }
    return tuple(reading for reading in readings if reading.key not in details)


def summary(
    curve: TradeoffCurve,
    *,
    prior: float = PRIOR.default,
    fpr: float = FPR.default,
    recall: float = RECALL.default,
    weight: float = WEIGHT.default,
    delta: float | Sequence[float] = DELTA.default,
    **others: float,
) -> tuple[Reading, ...]:
    """Every risk beside its baseline, one reading each; ε at each ``delta`` of several.

    ``others`` are what measures that were added to `MEASURES` ask for. What bounds guesses about a
    record is left out for what an attack on membership has shown, which says nothing of it.

    >>> import tellapart as ta
    >>> for reading in summary(ta.guarantee(epsilon=1), prior=0.01)[:3]:
    ...     print(reading)
    membership advantage ≤ 0.4622
    TPR ≤ 0.0272 at FPR 0.01 (baseline 0.0100)
    PPV ≤ 0.0268 at FPR 0.01 (baseline 0.0100)

    See Also
    --------
    tellapart.report.of : the same as a privacy report
    """
    check_curve(curve=curve)
    first, *more = delta if isinstance(delta, Sequence) and delta else [delta]
    given: dict[str, Any] = {
        "prior": prior,
        "fpr": fpr,
        "recall": recall,
        "weight": weight,
        "delta": first,
    }
    known = arguments()
    if unknown := sorted(set(others) - set(known)):
        near = difflib.get_close_matches(unknown[0], known, n=1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        rule = f"be an argument of a risk: {', '.join(known)}{meant}"
        _checks.refuse(unknown[0], rule, others[unknown[0]])
    usual = {name: each.default for name, each in known.items() if not each.required}
    given = usual | given | others
    checked = {
        name: known[name].check(**{name: value})
        for name, value in given.items()
        if value is not None or name in usual
    }
    further = [_checks.probability(delta=at) for at in more]
    readings: list[Reading] = []
    shown = curve.bound is Bound.UPPER
    for measure in MEASURES.values():
        if not checked.keys() >= set(measure.needs) or (measure.bound_only and shown):
            continue
        asked = {argument.key: checked[argument.key] for argument in measure.arguments}
        readings.append(measure.reading(curve, **asked))
        if measure.key == "epsilon":
            readings += [
                measure.reading(curve, delta=at)._replace(key=f"epsilon_at_{short(at)}")
                for at in further
            ]
    return tuple(readings)
