"""Membership inference in sentences: what a trade-off curve means for so many people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from tellapart import _checks
from tellapart._numeric.text import fixed, short, to_digits
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.errors import NotCertified
from tellapart.risk.catalogue import (
    IN_THE_DATA,
    MEASURES,
    PREDICATE_WEIGHT,
    SUCH_PEOPLE,
    Reading,
)
from tellapart.risk.decisions import ppv, steepest
from tellapart.risk.rates import advantage

# Odds beyond 1e300 to 1 are as good as certain, and as far as doubles go.
_CERTAIN = 300 * math.log(10)
_LEAST_PRIOR = 1e-300
# By how much fewer people an attacker flags who wants to be surer; and the least FPR told of.
_FEWER, _LEAST_FPR = 100, 1e-12
# From here on counts are given by their order of magnitude, and no population is chosen larger.
_HUGE = 1e15
# As many people as a share is counted of.
_MOST_PEOPLE = 10**9


def words(
    curve: TradeoffCurve, *, prior: float = 0.5, out_of: int | None = None, fpr: float = 0.01
) -> str:
    """What an attacker can do, in sentences about so many people, beside what a guess would do.

    Every number is read off the curve and rounded conservatively: up for a guarantee or an exact
    curve, down for what an attack has shown. Unless ``out_of`` is given, there are as many people
    as it takes for every count to be at least 1.

    >>> import tellapart as ta
    >>> for sentence in words(ta.guarantee(epsilon=1), prior=0.01).splitlines()[:3:2]:
    ...     print(sentence)
    Of 10,000 people, 100 are members.
    Of 100 people flagged at this FPR, at most 2.68 are members; without the output, 1.
    """
    check_curve(curve=curve)
    before = _checks.inside_unit(prior=prior)
    if before < _LEAST_PRIOR:
        _checks.refuse("prior", f"be at least {short(_LEAST_PRIOR)} to be put in words", prior)
    size = _checks.inside_unit(fpr=fpr)
    people = population(before, size) if out_of is None else _checks.whole(1, out_of=out_of)
    count, rest = before * people, (1 - before) * people
    shown = curve.bound is Bound.UPPER
    limit = "at least" if shown else "at most"

    def risk(value: float, digits: int = 2) -> str:
        return _number(value, up=not shown, digits=digits)

    crowd, members, caught = in_full(people), in_full(count), risk(float(curve.tpr(size)) * count)
    if _value(caught) > _value(members):  # rounded up, no more than all of them are flagged
        members = caught = _number(count, up=True, digits=4)
    right = _of_hundred(curve, size, before)
    lead = risk(100 * float(advantage(curve)))
    return "\n".join(
        [
            f"Of {crowd} {_noun(crowd, 'person', 'people')}, {members} "
            f"{_noun(members, 'is a member', 'are members')}{_average(count)}.",
            f"At FPR {short(size)} ({in_full(size * rest)} of {in_full(rest)} non-members flagged)"
            f", {limit} {caught} of the {members} {_noun(members, 'member', 'members')} "
            f"{_noun(caught, 'is', 'are')} flagged; without the output, {in_full(size * count)}.",
            f"Of 100 people flagged at this FPR, {limit} {right} "
            f"{_noun(right, 'is a member', 'are members')}; without the output, "
            f"{in_full(100 * before)}.{'' if shown else _surer(curve, size, before, right)}",
            _odds(curve, before, shown),
            f"At {'some' if shown else 'every'} FPR, members are flagged {limit} {lead} percentage "
            f"{_noun(lead, 'point', 'points')} more often than non-members.",
        ]
    )


class CountedRisk(NamedTuple):
    """A risk as a count of people: of so many, so many without the output and so many with it."""

    out_of: int
    without: float
    with_output: int
    side: str  # at most, or at least
    sentence: str
    caption: str  # of a picture in which each of them is a dot
    of_people: bool

    def accepted(self, bound: float, least: bool = False) -> int:
        """A limit as a count of as many, rounded so that it never accepts more."""
        return _whole(self.out_of * bound, up=least)


def counted(
    reading: Reading,
    about: Mapping[str, Any],
    release: str = "output",
    *,
    bound: float | None = None,
    known_members: bool = False,
) -> CountedRisk | None:
    """A risk as a count of people, for people who read no rates; None where it is no share.

    ``about`` are the attacker's parameters that were asked for. With the output the count is
    rounded so that the attack never looks weaker, without it so that the gain never looks smaller.
    A risk that keeps the limit ``bound`` keeps it as a count, too: there are as many people as it
    takes. With ``known_members`` an attack is to find a value
    of a record, not whether it is in the data.

    >>> import tellapart as ta
    >>> from tellapart.risk.catalogue import MEASURES
    >>> about = {"fpr": 0.01, "prior": 0.1}
    >>> reading = MEASURES["ppv"].reading(ta.guarantee(1), **about)
    >>> counted(reading, about).sentence.partition(" (")[0]
    'Of 1,000 people whom the attacker flags, at most 232 are in the data'
    """
    measure = MEASURES[reading.key]
    if measure.counted is None or not math.isfinite(reading.value):
        return None
    people = 1_000
    least = min((x for x in (reading.baseline, reading.gain) if x > 0), default=1.0)
    words = measure.counted
    up = {"≤": True, "≥": False}.get(reading.relation, not measure.smaller_is_worse)
    side = "at most" if up else "at least"
    while people < _MOST_PEOPLE and (
        people * least < 1 - 1e-9 or _looks_broken(people, reading.value, bound, up)
    ):
        people *= 10
    count = _whole(people * reading.value, up)
    without = _value(_number(people * reading.baseline, up=not up, digits=3))
    shares = {key: f"{short(100 * value, 3)} %" for key, value in about.items() if value < 1}
    weight = about.get(PREDICATE_WEIGHT.key, 0)
    shares[PREDICATE_WEIGHT.key] = f"1 in {in_full(1 / weight)}" if weight else "no"
    named = {**shares, **(SUCH_PEOPLE if known_members else IN_THE_DATA)}
    where = f" ({words.where.format(**named)})" if words.where else ""
    of, dot = words.of.format(**named), (words.dot or words.one).format(**named)
    caption = f"Each dot is one of {people:,} {of}; a filled one {dot}{where}."
    sentence = (
        f"Of {people:,} {of}, {side} "
        f"{count:,} {_noun(str(count), words.one, words.many).format(**named)}{where}; "
        f"without the {release}, {in_full(without)}."
    )
    return CountedRisk(people, without, count, side, sentence, caption, words.people)


def _looks_broken(people: int, value: float, bound: float | None, up: bool) -> bool:
    """Whether counts of so many people break a limit that the risk itself keeps."""
    if bound is None:
        return False
    count, accepted = _whole(people * value, up), _whole(people * bound, not up)
    return value <= bound and count > accepted if up else value >= bound and count < accepted


def _whole(count: float, up: bool) -> int:
    """A whole number on the asked side; one that is whole but for rounding stays itself."""
    exact = _unless_whole(count)
    return math.ceil(exact) if up else math.floor(exact)


def _unless_whole(count: float) -> float:
    nearest = round(count)
    return float(nearest) if abs(count - nearest) <= 1e-9 * max(count, 1.0) else count


def rare_outputs(curve: TradeoffCurve, *, prior: float = 0.5) -> str:
    """That some outputs as good as prove membership; empty where none does.

    A limit on a PPV at one FPR does not rule them out.
    """
    if math.log(prior) - math.log1p(-prior) + steepest(curve) <= _CERTAIN:
        return ""
    # A promise only allows such outputs; a mechanism that keeps it need not have any.
    verb = "may make" if curve.bound is Bound.LOWER else "make"
    return f"Some outputs, however rare, {verb} membership as good as certain."


def _of_hundred(curve: TradeoffCurve, fpr: float, prior: float) -> str:
    """The members among 100 people flagged, in the digits that tables show of the PPV."""
    share = float(ppv(curve, fpr=fpr, prior=prior))
    return short(100 * float(fixed(share, up=curve.bound is not Bound.UPPER)))


def _surer(curve: TradeoffCurve, fpr: float, prior: float, right: str) -> str:
    """How sure an attacker can be who flags fewer people; empty where no surer."""
    fewer = fpr / _FEWER
    if fewer < _LEAST_FPR:
        return ""
    with suppress(NotCertified):  # a curve may have no digits that far down
        if (surer := _of_hundred(curve, fewer, prior)) != right:
            return (
                " An attacker who flags fewer people can be surer: "
                f"at FPR {short(fewer)}, at most {surer} of 100."
            )
    return ""


def population(prior: float, fpr: float) -> int:
    """The least power of ten, 1,000 or more, in which members flagged by a guess are counted."""
    rarest = min(prior, 1 - prior) * fpr
    people = 1_000
    while people * rarest < 1 - 1e-9 and people < _HUGE:
        people *= 10
    return people


def _odds(curve: TradeoffCurve, prior: float, shown: bool) -> str:
    """The largest loss added to the log-odds before: a belief near 1 has no digits for its odds."""
    before = math.log(prior) - math.log1p(-prior)
    if certain := rare_outputs(curve, prior=prior):
        return certain
    after = before + steepest(curve)
    start = f"the odds of membership from {_against(before, up=not shown)}"
    end = _against(after, up=not shown)
    if shown:
        return f"Some output raises {start} to at least {end}."
    return f"No output raises {start} to more than {end}."


def _against(log_odds: float, up: bool) -> str:
    """Odds with a 1 on the smaller side; rounded towards a stronger belief if asked."""
    if log_odds <= 0:
        return f"1 to {_number(math.exp(-log_odds), up=not up, digits=3, most=6)}"
    return f"{_number(math.exp(log_odds), up=up, digits=3, most=6)} to 1"


def _number(value: float, up: bool, digits: int = 2, most: int = 15) -> str:
    """A few digits, rounded to the asked side; a value that is exact stays itself.

    Near 1 the digits that matter are those of what is beyond it; whole numbers show up to ``most``.
    """
    beyond = abs(value - 1)
    if digits > 2 and 0 < beyond < 0.1:
        digits += min(-math.floor(math.log10(beyond)) - 1, 6)
    if value >= 10:
        digits = max(digits, min(math.floor(math.log10(value)) + 1, most), 3)
    if value >= _HUGE:
        digits = 4
    nearest = float(f"{value:.{digits - 1}e}")
    if abs(nearest - value) > 1e-12 * abs(value):
        nearest = to_digits(value, digits, up)
    return in_full(nearest) if nearest >= 1000 else short(nearest, digits)


def in_full(value: float) -> str:
    """A count as people write it: 1,000,000 in full, four digits of one that is small or huge."""
    return f"{value:,.0f}" if 1000 <= value < _HUGE else short(value, 4)


def _value(shown: str) -> float:
    return float(shown.replace(",", ""))


def _average(count: float) -> str:
    return "" if abs(count - round(count)) < 1e-9 * count else " on average"


def _noun(shown: str, single: str, many: str) -> str:
    return single if shown == "1" else many
