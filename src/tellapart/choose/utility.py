"""Utility: what noise costs in accuracy, as standard deviation and 95 % interval, and limits on it.

`answer_error` says how far a count, sum, mean, histogram, quantile or mean gradient may be off.
`error_at_most` and `utility_at_least` make a limit of that, or of a function of one's own, which
stands beside limits on risks: ``limit.value(mechanism)``, ``limit.kept(mechanism)``, and
`feasible` for whether a parameter keeps both kinds, else which of them clash.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from tellapart import _checks
from tellapart._numeric.text import fixed, short, to_digits
from tellapart.choose.calibrate import Choice, largest, least
from tellapart.choose.limit import Limit, checked_limits
from tellapart.choose.search import LEAST, MOST, Family
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.batches.poisson_replace_one import PoissonReplaceOne
from tellapart.mechanisms.batches.random_allocation import Allocated
from tellapart.mechanisms.batches.shuffled_epochs import ShuffledEpoch
from tellapart.mechanisms.batches.truncated_poisson import TruncatedPoisson
from tellapart.mechanisms.batches.with_replacement import WithReplacement
from tellapart.mechanisms.choice import (
    ExponentialMechanism,
    MaxNoise,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    UnaryEncoding,
)
from tellapart.mechanisms.combine import Sampled, parts_of
from tellapart.mechanisms.noise import Gaussian
from tellapart.mechanisms.shuffled import Shuffled
from tellapart.mechanisms.subject import NoisyAnswer, Subject

# Up to so many people a count by local answers is worked out for each true count.
_COUNTED = 2_000
# More than the rounding of a sum of so many probabilities.
_ROUNDING = 1e-9
# Laws worked out at a time; and the logarithm of 0, which times 0 is 0.
_BLOCK, _NOUGHT = 128, -1e300
# The Berry-Esseen constant for summands of different laws (Shevtsova 2010).
_BERRY_ESSEEN = 0.5600
_RESOLVED = 1e-9
# Steps whose noise is that of their base, however the batch was drawn.
_ON_BATCHES = (Sampled, Allocated, ShuffledEpoch, TruncatedPoisson, WithReplacement)


class Statistic(StrEnum):
    """What is computed from the data before noise is added to it."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    HISTOGRAM = "histogram"
    QUANTILE = "quantile"
    GRADIENT = "gradient"


@dataclass(frozen=True)
class AnswerError:
    """How far a noisy answer lies from the true one: standard deviation, and 95 % within ± margin.

    ``of`` says of what: of one release where there are several. ``deviation`` is None where it is
    not given; not ``exact``, both are the worst case over the data or an upper bound.
    """

    deviation: float | None
    margin: float
    of: str
    coverage: float = 0.95
    exact: bool = True

    def __str__(self) -> str:
        side = "" if self.exact else "at most "
        known = (
            "" if self.deviation is None else f"standard deviation {side}{_up(self.deviation)}; "
        )
        return (
            f"error of {self.of}: {known}{short(100 * self.coverage)} % within "
            f"± {side}{_up(self.margin)}"
        )


def _up(value: float) -> str:
    return fixed(value, up=True)


def answer_error(
    mechanism: Subject,
    statistic: str = "count",
    *,
    people: int | None = None,
    cells: int | None = None,
    candidates: int | None = None,
    batch_size: float | None = None,
    clipping_norm: float = 1.0,
    coverage: float = 0.95,
) -> AnswerError:
    """How far off the answer is that a mechanism gives: what privacy costs in accuracy.

    - ``"count"``, ``"sum"``: the noise itself; of local answers (randomised response) the unbiased
      estimate from so many ``people``, for the worst true count; beyond 2,000 an upper bound
      (Bernstein, Berry-Esseen).
    - ``"mean"``: a sum with this noise, divided by ``people``, whose number is public; where noise
      is added to the mean itself, ask for ``"sum"``.
    - ``"histogram"``: standard deviation of one cell, and the largest error of all ``cells``.
    - ``"quantile"``: by the exponential mechanism or permute-and-flip among ``candidates``, how
      much further from the asked rank the chosen one is than the best.
    - ``"gradient"``: noise on each coordinate of the mean of ``batch_size`` clipped gradients,
      σ·clipping_norm/batch_size.

    Of several releases it is the error of each, and of the least accurate where they differ.
    `Unsupported` says where it is not known.

    >>> import tellapart as ta
    >>> print(answer_error(ta.Laplace.with_epsilon(1)))
    error of the count: standard deviation 1.4143; 95 % within ± 2.9958
    >>> round(answer_error(ta.Gaussian(4), "histogram", cells=20).margin, 4)
    12.064
    >>> answer_error(ta.Gaussian(4).repeated(12)).of
    'each of 12 releases'
    """
    asked = _AskedStatistic(
        _statistic(statistic), people, cells, candidates, batch_size, clipping_norm, coverage
    )
    if not isinstance(mechanism, Mechanism):
        raise Unsupported("the error of an answer is that of a mechanism, not of a guarantee")
    steps = parts_of(mechanism)
    worst = max((asked.of_step(step) for step, _ in steps), key=lambda error: error.margin)
    releases = sum(count for _, count in steps)
    return replace(worst, of=asked.words(releases, len(steps)))


def _statistic(name: object) -> Statistic:
    if name not in list(Statistic):
        _checks.refuse("statistic", f"be one of {', '.join(Statistic)}", name)
    return Statistic(str(name))


def noise_error(subject: Subject) -> AnswerError | None:
    """The error of whatever number is answered, of each release; None where it is not known."""
    try:
        error = answer_error(subject, Statistic.SUM)
    except (Unsupported, InvalidArgument):
        return None
    return replace(error, of="the answer") if error.of == "the sum" else error


class _AskedStatistic:
    """A statistic with what it takes beside the mechanism, each checked where it is needed."""

    def __init__(
        self,
        statistic: Statistic,
        people: int | None,
        cells: int | None,
        candidates: int | None,
        batch_size: float | None,
        clipping_norm: float,
        coverage: float,
    ) -> None:
        self.statistic = statistic
        self._given = {
            "people": people,
            "cells": cells,
            "candidates": candidates,
            "batch_size": batch_size,
        }
        self.norm = _checks.finite_above_zero(clipping_norm=clipping_norm)
        self.coverage = _checks.inside_unit(coverage=coverage)

    def _whole(self, name: str, lowest: int) -> int:
        if self._given[name] is None:
            raise InvalidArgument(f"{name} must be given for a {self.statistic}, as {name}=1000")
        return _checks.whole(lowest, **{name: self._given[name]})

    @property
    def cells(self) -> int:
        return self._whole("cells", 1) if self.statistic is Statistic.HISTOGRAM else 1

    def words(self, releases: int, kinds: int) -> str:
        name = {
            Statistic.QUANTILE: "rank of the quantile, beyond that of the best candidate",
            Statistic.GRADIENT: "mean gradient, for each coordinate",
            Statistic.MEAN: "mean (a sum with this noise, divided by a public number of people)",
        }.get(self.statistic, str(self.statistic))
        largest_of = f" (largest over {self.cells:,} cells)" * (self.cells > 1)
        if self.statistic is Statistic.GRADIENT or releases == 1:
            return f"the {name}{largest_of}"
        each = f"each of {releases:,} releases"
        if kinds > 1:
            each = f"the least accurate of {releases:,} releases"
        return f"{each}{largest_of}"

    def of_step(self, step: Mechanism) -> AnswerError:
        if self.statistic is Statistic.GRADIENT:
            return self._gradient(step)
        while isinstance(step, Sampled) and step.rate == 1:
            step = step.base
        if isinstance(step, Sampled):
            raise Unsupported(
                "the error of an answer from a sample of the data also depends on the data: "
                'ask for "gradient" for a training'
            )
        if self.statistic is Statistic.QUANTILE:
            return self._quantile(step)
        shrunk = 1 / self._whole("people", 1) if self.statistic is Statistic.MEAN else 1.0
        if isinstance(step, NoisyAnswer):
            often = () if self.cells == 1 else (self.cells,)
            deviation, margin = step.deviation(), step.margin(self.coverage, *often)
            return self._error(shrunk * deviation, shrunk * margin)
        return self._local(step, shrunk)

    def _error(self, deviation: float | None, margin: float, exact: bool = True) -> AnswerError:
        return AnswerError(deviation, margin, "", self.coverage, exact)

    def _gradient(self, step: Mechanism) -> AnswerError:
        inner = step
        while isinstance(inner, _ON_BATCHES):
            inner = inner.base
        if isinstance(inner, PoissonReplaceOne):  # the noise of its step, in clipping norms
            inner = Gaussian(inner.sigma)
        if not isinstance(inner, Gaussian):
            raise Unsupported("the noise on the mean gradient is known for DP-SGD (ta.dp_sgd)")
        if self._given["batch_size"] is None:
            raise InvalidArgument("batch_size must be given for a gradient, as batch_size=256")
        share = self.norm / _checks.finite_above_zero(batch_size=self._given["batch_size"])
        return self._error(
            share * inner.deviation(), share * inner.margin(self.coverage, self.cells)
        )

    def _quantile(self, step: Mechanism) -> AnswerError:
        """The utility bound of McSherry and Talwar (2007), with no constant lost.

        All other candidates a little further than t from the best are the worst case: they win
        with odds (m − 1)·e^(−t/s). Permute-and-flip errs no more (McKenna and Sheldon 2020).
        """
        known = isinstance(step, ExponentialMechanism | PermuteAndFlip) or (
            isinstance(step, ReportNoisyMax) and step.noise is MaxNoise.GUMBEL
        )
        if not known:
            raise Unsupported(
                "the error of a quantile is known for the exponential mechanism and "
                f"permute-and-flip, not for {type(step).__name__}"
            )
        others = self._whole("candidates", 2) - 1
        unit = step.sensitivity * (1 if step.monotone else 2)  # type: ignore[attr-defined]
        odds = others * self.coverage / (1 - self.coverage)
        epsilon = step.epsilon  # type: ignore[attr-defined]
        margin = unit * max(0.0, math.log(odds)) / epsilon if epsilon else math.inf
        return self._error(None, margin, exact=False)

    def _local(self, step: Mechanism, shrunk: float) -> AnswerError:
        if isinstance(step, Shuffled):
            self._given["people"], step = step.users, step.base
        if isinstance(step, RandomizedResponse):
            fall, others = math.exp(-step.epsilon), step.categories - 1
            keep, flip = 1 / (1 + others * fall), fall / (1 + others * fall)
        elif isinstance(step, UnaryEncoding):
            keep, flip = step.keep, step.flip
        else:
            raise Unsupported(
                f"no error of the answer is known for {type(step).__name__}: it must add noise "
                "to a number, or be randomised response or unary encoding"
            )
        people = self._whole("people", 1)
        if keep == flip:
            return self._error(math.inf, math.inf)
        # Cells of one person's answer are not independent: their chances of failure add up.
        missed = (1 - self.coverage) / self.cells
        deviation, margin, exact = _estimated(people, keep, flip, missed)
        return self._error(shrunk * deviation, shrunk * margin, exact and self.cells == 1)


@lru_cache(maxsize=256)
def _estimated(people: int, keep: float, flip: float, missed: float) -> tuple[float, float, bool]:
    """Deviation and margin of the unbiased estimate of a count from local answers.

    Those with the trait say yes with chance ``keep``, all others with ``flip``, and the estimate is
    (yes − people·flip)/(keep − flip). Both numbers are for the worst true count.
    """
    variances = np.array([keep * (1 - keep), flip * (1 - flip)])
    apart = keep - flip
    spread = math.sqrt(people * variances.max())
    if people <= _COUNTED:
        return spread / apart, _counted(people, keep, flip, missed) / apart, True
    # Bernstein; and Berry-Esseen, where the third moments are small enough to use it.
    log_miss = math.log(2 / missed)
    margin = log_miss / 3 + math.sqrt(log_miss**2 / 9 + 2 * log_miss * spread**2)
    if variances.min() > 0:
        third = max(p * p + (1 - p) * (1 - p) for p in (keep, flip))
        distance = _BERRY_ESSEEN * third / math.sqrt(people * variances.min())
        if 2 * distance < missed:
            margin = min(margin, -spread * float(ndtri(missed / 2 - distance)))
    return spread / apart, margin / apart, False


def _counted(people: int, keep: float, flip: float, missed: float) -> float:
    """The least x with P(|yes − mean| > x) ≤ missed for every true count, by the exact laws."""
    turns = np.exp(-2j * np.pi * np.arange((people + 1) // 2 + 1) / (people + 1))
    with np.errstate(divide="ignore"):
        logs = [np.log(1 - chance + chance * turns) for chance in (keep, flip)]
    said_yes, said_no = (np.where(np.isfinite(log), log, _NOUGHT) for log in logs)
    wanted = 1 - missed + _ROUNDING
    # Yes-no answers are as far off for n − c as for c.
    counts = np.arange(people // 2 + 1 if keep + flip == 1 else people + 1)
    worst, totals = 0.0, np.arange(people + 1)
    for block in np.array_split(counts, -(-counts.size // _BLOCK)):
        # Powers of characteristic functions, and back: the law of Bin(c, keep) + Bin(n − c, flip).
        powers = np.multiply.outer(block, said_yes) + np.multiply.outer(people - block, said_no)
        for true, law in zip(block, np.fft.irfft(np.exp(powers), people + 1), strict=True):
            mean = true * keep + (people - true) * flip
            inside = law[max(math.ceil(mean - worst), 0) : math.floor(mean + worst) + 1]
            if worst and inside.sum() >= wanted:
                continue
            distance = np.abs(totals - mean)
            order = np.argsort(distance, kind="stable")
            place = int(np.searchsorted(np.cumsum(law[order]), wanted))
            worst = max(worst, float(distance[order[min(place, people)]]))
    return worst


@dataclass(frozen=True)
class UtilityLimit:
    """How far off an answer may be at most, or how useful it must be, to stand beside risks.

    Build one with `error_at_most` or `utility_at_least`. ``value`` is that of a mechanism, ``kept``
    whether it is accurate enough.
    """

    bound: float
    measure: Callable[[Any], float]
    name: str
    least: bool = False

    def value(self, mechanism: Subject) -> float:
        """The error of this mechanism's answer, or how useful it is."""
        return _checks.number(**{f"the value of {self.name}": self.measure(mechanism)})

    def kept(self, mechanism: Subject) -> bool:
        """Whether the mechanism is accurate enough."""
        value = self.value(mechanism)
        return value >= self.bound if self.least else value <= self.bound

    def __str__(self) -> str:
        return f"{self.name} {'≥' if self.least else '≤'} {short(self.bound)}"


def error_at_most(bound: float, statistic: str = "count", **about: Any) -> UtilityLimit:
    """How far off an answer may be at most, 95 % of the time: ``error_at_most(50, "count")``.

    The statistics and what they take, such as ``people=`` and ``coverage=``, are those of
    `answer_error`.

    >>> import tellapart as ta
    >>> limit = error_at_most(5, "histogram", cells=20)
    >>> print(limit, limit.kept(ta.Laplace(1)), round(limit.value(ta.Laplace(1)), 4))
    95 % interval of a histogram ≤ 5 False 5.9672
    """
    kind = _statistic(statistic)
    asked = dict(about)
    coverage = _checks.inside_unit(coverage=asked.get("coverage", 0.95))

    def margin(mechanism: Subject) -> float:
        return answer_error(mechanism, kind, **asked).margin

    most = _checks.finite_above_zero(bound=bound)
    return UtilityLimit(most, margin, f"{short(100 * coverage)} % interval of a {kind}")


def utility_at_least(bound: float, function: Callable[[Any], float]) -> UtilityLimit:
    """A utility of one's own that must not fall below this: any function of the mechanism.

    It is taken to fall as privacy grows.

    >>> import tellapart as ta
    >>> def share_kept(mechanism):
    ...     return 1 - mechanism.deviation() / 100
    >>> limit = utility_at_least(0.9, share_kept)
    >>> print(limit, limit.kept(ta.Gaussian(8)))
    share_kept ≥ 0.9 True
    """
    _checks.function(function=function)
    name = getattr(function, "__name__", "utility")
    return UtilityLimit(_checks.finite(bound=bound), function, name, least=True)


@dataclass(frozen=True)
class Feasibility:
    """Whether a parameter keeps limits on risks and on utility, and which of them clash.

    ``choice`` is the most accurate member that keeps the risks; ``utility`` has each utility limit
    with its value there. From ``choice.parameter`` to ``furthest`` every parameter keeps all
    limits. Else ``furthest`` is what the utility would ask, None where no member is that
    accurate, and each of ``clashes`` are two limits that no parameter keeps together.
    """

    choice: Choice
    utility: tuple[tuple[UtilityLimit, float], ...]
    furthest: float | None
    clashes: tuple[tuple[Limit, UtilityLimit], ...]

    @property
    def kept(self) -> bool:
        """Whether there is a parameter that keeps all limits."""
        return not self.clashes

    def __str__(self) -> str:
        if self.kept and self.furthest is not None:
            down = self.choice.rounds_down
            # The far end is known to nine digits: what misses a short number by less is that.
            far = self.furthest * (1 + 2 * (-_RESOLVED if down else _RESOLVED))
            ends = to_digits(self.choice.parameter, 6, not down), to_digits(far, 6, down)
            return f"feasible from {short(min(ends))} to {short(max(ends))}"
        said = "; ".join(f"{risk} clashes with {utility}" for risk, utility in self.clashes)
        return f"infeasible: {said}"


def feasible(
    family: Family,
    limits: Sequence[Limit],
    utility: Sequence[UtilityLimit],
    *,
    grows_private: bool = True,
    whole: bool = False,
) -> Feasibility:
    """Whether any parameter keeps the risks within their limits and the answer accurate enough.

    ``grows_private`` says that a larger parameter means more privacy, as for noise; for ε say
    False. Limits on utility are taken to break once privacy goes too far, and to stay broken. A
    risk that no parameter keeps at all raises `Infeasible`.

    >>> import tellapart as ta
    >>> from tellapart import choose, risk
    >>> accurate = error_at_most(10)
    >>> print(feasible(ta.Gaussian, [choose.at_most(0.1, risk.advantage)], [accurate]))
    feasible from 3.97895 to 5.10213
    >>> print(feasible(ta.Gaussian, [choose.at_most(0.01, risk.advantage)], [accurate]))
    infeasible: membership advantage ≤ 0.01 clashes with 95 % interval of a count ≤ 10
    """
    wanted = list(utility) if isinstance(utility, Sequence) else []
    if not wanted or not all(isinstance(limit, UtilityLimit) for limit in wanted):
        rule = "be a list of choose.error_at_most(...) or choose.utility_at_least(...)"
        _checks.refuse("utility", rule, utility)
    search = least if grows_private else largest
    risks = checked_limits(limits)
    choice = search(family, risks, whole=whole)
    at_choice = tuple((limit, limit.value(choice.subject)) for limit in wanted)

    def last(limits: list[UtilityLimit]) -> float | None:
        return _furthest(family, limits, choice.parameter, grows_private, whole)

    furthest = last(wanted)
    broken = [limit for limit in wanted if not limit.kept(choice.subject)]
    clashes: list[tuple[Limit, UtilityLimit]] = []
    for limit in broken:
        end = last([limit])
        alone = [search(family, [risk], whole=whole).parameter for risk in risks]
        clashes += [
            (risk, limit)
            for risk, at in zip(risks, alone, strict=True)
            if end is None or (at > end if grows_private else at < end)
        ]
    return Feasibility(choice, at_choice, furthest, tuple(clashes))


def _furthest(
    family: Family,
    limits: list[UtilityLimit],
    start: float,
    grows_private: bool,
    whole: bool,
) -> float | None:
    """The most private parameter that keeps all utility limits; None where none does."""

    def kept(parameter: float) -> bool:
        try:
            subject = family(parameter)
        except InvalidArgument:
            return False
        return all(limit.kept(subject) for limit in limits)

    more = 2.0 if grows_private else 0.5
    begun = kept(start)
    step = more if begun else 1 / more
    last, trial = start, start
    while kept(trial) is begun:
        last, trial = trial, trial * step
        if whole:
            trial = float(max(1, math.floor(trial)))
        if trial == last or not LEAST <= trial <= MOST:
            return last if begun else None
    inside, outside = (last, trial) if begun else (trial, last)
    while abs(inside - outside) > (1 if whole else _RESOLVED * inside):
        middle = math.sqrt(inside) * math.sqrt(outside)
        if whole:
            middle = float(math.floor((inside + outside) / 2))
        if kept(middle):
            inside = middle
        else:
            outside = middle
    return inside
