"""What a claimed ε means: risk measures at a prior, beside their baselines, and in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tellapart import _checks, risk
from tellapart._numeric.text import fixed, related, short
from tellapart.audit.verdict import describe
from tellapart.choose.limit import FORMULAS
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import Combined
from tellapart.mechanisms.custom import Promise
from tellapart.mechanisms.subject import (
    Subject,
    attacked,
    curve_of,
    poisson_rates,
    sampling_assumption,
    scope,
)
from tellapart.report.curve_points import ERRS, RATES
from tellapart.report.model import EpsilonRow, Meaning, Risk
from tellapart.risk.catalogue import DELTA, FPR, PRIOR, Reading, in_words, stated

# The δ at which ε is reported besides the one asked for, where it is finite.
_DELTAS = (1e-9, 1e-6, 1e-5, 1e-3)
# A larger ε is no guarantee that a double can tell from none.
_MOST = 700

_SOURCE = "Noise comes from a sound source of randomness; floating-point errors leak nothing."
_SEEN = "The attacker sees all outputs and nothing else: no timings, errors or logs."
_ALONE = "Other releases from the same data are not counted here: they compose with this one."
_UNIT = (
    "All that one protected unit contributes is what neighbouring data differ in; whoever "
    "contributes more is protected less."
)
# What a unit is called that is a record by name, and words that speak of several records.
_RECORD = re.compile(r"(a|an|one|1|single|the|each)? *(record|row|example|data point|datum)", re.I)
_SEVERAL = re.compile(
    r"\b(all|every|each|whole|entire|any|several|many|multiple|history|lifetime|their|his|her|its"
    r"|days?|weeks?|months?|years?|households?|famil\w+|groups?|users?|customers?|clients?|accounts?"
    r"|devices?|subscribers?|compan\w+|organi[sz]ations?|schools?|hospitals?|\w+[^s]s)\b",
    re.I,
)
_SAMPLES = "Nobody learns who is in a batch."
_KEPT = "That the mechanism has this guarantee is claimed here, not shown."


def unit_words(unit: str, neighbours: str | None) -> tuple[str, ...]:
    """Assumptions about the unit of privacy, where it may be more than neighbours differ in.

    The unit is anybody's words, so this asks wherever they may mean more, and warns where they
    speak of several records.
    """
    if not unit or _RECORD.fullmatch(unit):
        return ()
    if neighbours is not None:
        relation = neighbours.removesuffix(" (unbounded)").removesuffix(" (bounded)")
        differ = f"the one record in which neighbours differ ({relation})"
    else:
        differ = "what neighbouring data differ in, which the claim does not say"
    mend = (
        "if it has up to k records, all numbers here are too small for it: use "
        "mechanism.for_group(k) in Python, or the sensitivity of all its records together (without "
        "subsampling: gaussian:sigma=2,sensitivity=k)"
    )
    if _SEVERAL.search(unit):
        return (f"WARNING: the unit of privacy, {unit!r}, may be more than {differ}; {mend}.",)
    return (f"Unit of privacy: {unit!r} is taken to be {differ}; {mend}.",)


@dataclass(frozen=True)
class ReportOptions:
    """What a reader wants to know of a claim: at which prior, FPR and δ, of how many people.

    The first of ``deltas`` is that of every ε; at the others ε is reported besides. ``attacker``
    has what further measures ask for, such as a baseline.
    """

    prior: float = PRIOR.default
    fpr: float = FPR.default
    deltas: tuple[float, ...] = ()
    out_of: int | None = None
    attacker: Mapping[str, float] = field(default_factory=dict)

    def checked(self) -> ReportOptions:
        """The same, refused where it makes no sense."""
        return ReportOptions(
            _checks.inside_unit(prior=self.prior),
            _checks.inside_unit(fpr=self.fpr),
            tuple(_checks.probability(delta=delta) for delta in self.deltas),
            None if self.out_of is None else _checks.whole(1, out_of=self.out_of),
            self.attacker,
        )

    def delta_of(self, curve: TradeoffCurve) -> float:
        """The δ of most interest: the one asked for, the guarantee's own, or the default."""
        if self.deltas:
            return self.deltas[0]
        return curve.claimed_delta if isinstance(curve, GuaranteeCurve) else DELTA.default

    def words(self, curve: TradeoffCurve) -> str:
        """That δ, and whether anyone asked for it."""
        nobody = not self.deltas and not isinstance(curve, GuaranteeCurve)
        return f"δ = {short(self.delta_of(curve))}{' (default)' if nobody else ''}"


class ClaimReading(NamedTuple):
    """A claim that could be read: its curve, what it means, and the δ of most interest."""

    curve: TradeoffCurve
    meaning: Meaning
    delta: float

    @property
    def budget(self) -> str:
        """The guarantee itself, or ε at the δ of most interest, in words."""
        if isinstance(self.curve, GuaranteeCurve) and self.delta == self.curve.claimed_delta:
            return describe(self.curve)
        return stated(self.meaning.epsilon.what, self.meaning.epsilon.words)

    def promise(self) -> GuaranteeCurve | None:
        """The (ε, δ) that the curve keeps at that δ; None where it is one itself, or has none."""
        epsilon = self.meaning.epsilon.value
        if isinstance(self.curve, GuaranteeCurve) or epsilon > _MOST:
            return None
        return GuaranteeCurve(float(fixed(epsilon, up=True)), self.delta)


def read_claim(subject: Subject, options: ReportOptions) -> ClaimReading:
    """What the claim means; by a certified curve from below where the plain one refuses."""
    curve = curve_of(subject)
    delta = options.delta_of(curve)
    try:
        return ClaimReading(curve, _meaning(subject, curve, options, delta), delta)
    except NotCertified:
        if not isinstance(subject, Mechanism):
            raise
        sure = subject.bracket(delta if 0 < delta < 1 else DELTA.default).lower
        return ClaimReading(sure, _meaning(subject, sure, options, delta), delta)


def promised(subject: Subject) -> bool:
    """Whether a claim is a guarantee of any mechanism, rather than one mechanism."""
    return not isinstance(subject, Mechanism) or isinstance(subject, Promise)


def _meaning(
    subject: Subject, curve: TradeoffCurve, options: ReportOptions, delta: float
) -> Meaning:
    curve.tpr(RATES)  # refuses here rather than halfway through a picture
    readings = risk.summary(
        curve, prior=options.prior, fpr=options.fpr, delta=delta, **options.attacker
    )
    words = risk.words(curve, prior=options.prior, out_of=options.out_of, fpr=options.fpr)
    return Meaning(
        mechanism=None if promised(subject) else repr(subject),
        holds=scope(subject),
        side=curve.bound.value,
        errs=_errs(curve),
        certified=certified(subject, delta),
        prior=options.prior,
        delta=delta,
        budgets=_budgets(curve, delta, options),
        risks=tuple(beside_baseline(each) for each in readings if each.key != "epsilon"),
        words=(*words.splitlines(), *in_words(readings)),
        assumptions=assumptions(subject),
    )


def beside_baseline(reading: Reading) -> Risk:
    """A risk in a few digits: without the output, with it, and the gain."""
    without, shown, gain = reading.columns
    return Risk(
        reading.name, reading.value, shown, reading.meaning, reading.baseline, without, gain
    )


def _errs(curve: TradeoffCurve) -> str:
    if curve.bound is Bound.EXACT and curve._accuracy > FORMULAS:
        return "the best attacker does exactly this, up to numerical error"
    return ERRS[curve.bound]


def _budgets(curve: TradeoffCurve, delta: float, options: ReportOptions) -> tuple[EpsilonRow, ...]:
    """ε at the δ of most interest, where else it was asked for, and at others that have one."""
    relation = "=" if curve.bound is Bound.EXACT else "≤"
    rows: list[EpsilonRow] = []
    for at_delta in dict.fromkeys((delta, *options.deltas, 0.0, *_DELTAS)):
        epsilon = float(curve.epsilon(at_delta))
        shown = related(relation, epsilon)
        new = epsilon < _MOST and shown not in [row.words for row in rows]
        if at_delta == delta or at_delta in options.deltas or new:
            at = options.words(curve) if at_delta == delta else f"δ = {short(at_delta)}"
            rows.append(EpsilonRow(f"ε at {at}", epsilon, shown, "read off the curve", at_delta))
    return tuple(sorted(rows, key=lambda row: row.delta))


def certified(subject: Subject, delta: float) -> str | None:
    """Where numbers are not formulas: what is certain of ε, every error counted."""
    if not isinstance(subject, Mechanism):
        return None
    at = delta if 0 < delta < 1 else DELTA.default
    if curve_of(subject)._accuracy <= FORMULAS and attacked(subject, at) is None:
        return None
    try:
        bracket = subject.bracket(at)
    except (NotCertified, Unsupported):
        return None
    most, least = float(bracket.lower.epsilon(at)), float(bracket.upper.epsilon(at))
    low = "" if bracket.one_sided else f" and at least {fixed(least, up=False)}"
    high = f"ε at δ = {short(at)} is at most {fixed(most, up=True)}"
    return f"{high}{low}, every numerical error counted"


def assumptions(subject: Subject) -> tuple[str, ...]:
    """What must be true of code, batches and attacker for the numbers to hold."""
    if promised(subject):
        return (_KEPT, _UNIT, _SEEN, _ALONE)
    kind = "this composition" if isinstance(subject, Combined) else type(subject).__name__
    runs = f"The code implements {kind} with these parameters: an audit can test that."
    sampled: tuple[str, ...] = ()
    if sampling := sampling_assumption(subject):
        poisson = (
            f"Each record is in a batch independently with probability {short(rate)} (Poisson)."
            for rate in poisson_rates(subject)
        )
        sampled = (sampling, *poisson, _SAMPLES)
    return (runs, _UNIT, _SOURCE, *sampled, _SEEN, _ALONE)
