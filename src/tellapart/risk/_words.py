"""A curve in sentences, for people who would rather not read one."""

from __future__ import annotations

import math

from tellapart import _checks
from tellapart._numeric.rounding import to_digits
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.risk.decisions import max_posterior, ppv
from tellapart.risk.rates import advantage


def words(
    curve: TradeoffCurve, *, prior: float = 0.5, out_of: int = 1_000, fpr: float = 0.01
) -> str:
    """What an attacker can do, in sentences about so many people.

    Every number is read off the curve and rounded so that privacy is never overstated: up for a
    guarantee or an exact curve, down for what an attack has shown.

    >>> import tellapart as ta
    >>> told = words(ta.guarantee(epsilon=1), prior=0.01).splitlines()
    >>> print(told[2])
    Of 100 such accusations, at most 2.68 are right; of 100 guesses, 1.
    >>> print(told[3])
    No output raises the odds of membership from 1 to 99 to more than 1 to 36.4.
    """
    check_curve(curve=curve)
    before = _checks.inside_unit(prior=prior)
    size = _checks.inside_unit(fpr=fpr)
    people = _checks.whole(1, out_of=out_of)
    members, others = before * people, (1 - before) * people
    shown = curve.bound is Bound.UPPER
    limit = "at least" if shown else "at most"

    def risk(value: float, digits: int = 2) -> str:
        return _number(value, up=not shown, digits=digits)

    found = float(curve.tpr(size)) * members
    right = 100 * float(ppv(curve, fpr=size, prior=before))
    lead = 100 * float(advantage(curve))
    return "\n".join(
        [
            f"Of {_plain(people)} {_noun(people, 'person', 'people')}, {_plain(members)} "
            f"{_noun(members, 'is a member', 'are members')}{_average(members)}.",
            f"An attacker who wrongly accuses {_plain(100 * size)} % of the others "
            f"({_plain(size * others)} of {_plain(others)}) finds {limit} {risk(found)} of the "
            f"{_plain(members)} {_noun(members, 'member', 'members')}; "
            f"a guess would find {_plain(size * members)}.",
            f"Of 100 such accusations, {limit} {risk(right, 3)} {_noun(right, 'is', 'are')} right; "
            f"of 100 guesses, {_plain(100 * before)}.",
            _odds(curve, before, shown),
            f"Whatever share it accuses, it finds members {limit} {risk(lead)} percentage "
            f"{_noun(lead, 'point', 'points')} more often than it accuses others.",
        ]
    )


def _odds(curve: TradeoffCurve, prior: float, shown: bool) -> str:
    belief = float(max_posterior(curve, prior=prior))
    start = f"the odds of membership from {_against(prior, up=not shown)}"
    if belief >= 1:
        # A promise only allows such outputs; a mechanism that keeps it need not have any.
        verb = "may make" if curve.bound is Bound.LOWER else "make"
        return f"Some outputs, however rare, {verb} membership as good as certain."
    end = _against(belief, up=not shown)
    if shown:
        return f"Some output raises {start} to at least {end}."
    return f"No output raises {start} to more than {end}."


def _against(belief: float, up: bool) -> str:
    """Odds with a 1 on the smaller side; rounded towards a stronger belief if asked."""
    if belief <= 0.5:
        return f"1 to {_number((1 - belief) / belief, up=not up, digits=3)}"
    return f"{_number(belief / (1 - belief), up=up, digits=3)} to 1"


def _number(value: float, up: bool, digits: int = 2) -> str:
    """A few digits, rounded to the asked side; a value that is exact stays itself.

    Near 1 the digits that matter are those of what is beyond it.
    """
    beyond = abs(value - 1)
    if digits > 2 and 0 < beyond < 0.1:
        digits += min(-math.floor(math.log10(beyond)) - 1, 6)
    digits = max(digits, 3 if value >= 10 else 0, math.floor(math.log10(value)) + 1 if value else 0)
    nearest = float(f"{value:.{digits - 1}e}")
    if abs(nearest - value) > 1e-9 * abs(value):
        nearest = to_digits(value, digits, up)
    return f"{nearest:,.0f}" if nearest >= 1000 else f"{nearest:.{digits}g}"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.4g}"


def _average(count: float) -> str:
    return "" if abs(count - round(count)) < 1e-9 * max(count, 1) else " on average"


def _noun(count: float, one: str, many: str) -> str:
    return one if count == 1 else many
