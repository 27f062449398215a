"""How far off a release is (utility), and which limits ask for more noise than that allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tellapart.choose.utility import (
    AnswerError,
    UtilityLimit,
    answer_error,
    error_at_most,
    noise_error,
)
from tellapart.decision.limits import LimitAnswer
from tellapart.decision.record import Decision, naming
from tellapart.errors import InvalidArgument, Unsupported


def _numbers(decision: Decision, value: float) -> dict[str, Any]:
    """What is fixed of the mechanism, with this value of the parameter to choose."""
    return {**decision.mechanism.fixed, decision.mechanism.choose: value}


def _about(decision: Decision, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """What the error of an answer takes beside the mechanism."""
    utility = decision.utility
    asked = () if utility is None else (utility.cells, utility.candidates, utility.clipping_norm)
    names = ("cells", "candidates", "clipping_norm")
    about = {name: value for name, value in zip(names, asked, strict=False) if value is not None}
    batch = (None if utility is None else utility.batch_size) or numbers.get("batch_size")
    return {**about, "people": decision.release.people, "batch_size": batch}


def release_error(decision: Decision, value: float) -> tuple[AnswerError | None, str]:
    """How far off the release is, all of the statistic; or why a limit on that is not judged."""
    mechanism, utility = decision.family().make(value), decision.utility
    if utility is None or utility.statistic is None:
        return noise_error(mechanism), ""
    about = _about(decision, _numbers(decision, value))
    try:
        with naming("utility", dict.fromkeys((*about, "cells"))):
            return answer_error(mechanism, utility.statistic, **about), ""
    except Unsupported as unknown:
        return None, "" if utility.at_most is None else str(unknown)


def accuracy_of(decision: Decision, value: float) -> UtilityLimit | None:
    """The limit on the error of the release, where there is one and with this value."""
    utility = decision.utility
    if utility is None or utility.statistic is None or utility.at_most is None:
        return None
    about = _about(decision, _numbers(decision, value))
    return error_at_most(utility.at_most, utility.statistic, **about)


def clashes(
    decision: Decision, limits: Sequence[LimitAnswer], value: float
) -> tuple[LimitAnswer, ...]:
    """The limits that ask, each alone, for more noise than the utility allows."""

    def inaccurate(value: float) -> bool:
        accuracy = accuracy_of(decision, value)
        return accuracy is not None and not accuracy.kept(decision.family().make(value))

    if not inaccurate(value):
        return ()
    return tuple(
        limit
        for limit in limits
        if limit.binding or (limit.alone is not None and inaccurate(limit.alone))
    )


def asked_error(decision: Decision, subject: Any, numbers: Mapping[str, Any]) -> AnswerError | None:
    """How far off an alternative is, where utility names a statistic and that is known."""
    utility = decision.utility
    if utility is None or utility.statistic is None:
        return None
    with suppress(Unsupported, InvalidArgument):
        return answer_error(subject, utility.statistic, **_about(decision, numbers))
    return None
