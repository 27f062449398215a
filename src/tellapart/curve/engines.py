"""Two ways to the tails of a sum of losses: a contour where it has the digits, else folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric.contour import REFUSED, Atlas, Line, Moments
from tellapart.curve.threshold import Tails
from tellapart.errors import NotCertified

_Answer = TypeVar("_Answer")


class Engine(Protocol):
    """Tails at thresholds strictly between the ends of the loss, and where to look for them."""

    def tails(self, t: Array) -> Tails: ...
    def guess_fpr(self, fpr: Array) -> Array: ...
    def guess_delta(self, log_delta: Array) -> Array: ...
    def deviation(self) -> float: ...


class Contour:
    """Tails from the moments of the sum: a few milliseconds, whatever the number of steps."""

    def __init__(self, moments: Moments) -> None:
        self._atlas = Atlas(moments)
        self._ends = moments.least, moments.largest

    def tails(self, t: Array) -> Tails:
        out = np.empty((len(Tails._fields), t.size))
        for line, part in self._by_line(t):
            out[:, part] = _read(line, t[part])
        if not np.isfinite(out).all():
            raise NotCertified(REFUSED)
        return Tails(*out)

    def guess_fpr(self, fpr: Array) -> Array:
        rough = self._atlas.guess_fpr(fpr)
        if fpr.size < 200:
            return rough
        # Many are worth a table: the root is then a step or two away.
        low, high = float(rough.min()), float(rough.max())
        margin = 0.1 * (high - low)
        table = np.linspace(low - margin, high + margin, 96)
        table = table[(table >= self._ends[0]) & (table < self._ends[1])]
        tails = self.tails(table)
        with np.errstate(all="ignore"):
            logit = np.log(tails.fpr) - np.log(tails.tnr)
            asked = np.log(fpr) - np.log1p(-fpr)
        known = np.isfinite(logit)
        return np.asarray(np.interp(-asked, -logit[known], table[known]))

    def guess_delta(self, log_delta: Array) -> Array:
        return self._atlas.guess(log_delta)

    def deviation(self) -> float:
        return self._atlas.deviation

    def _by_line(self, t: Array) -> list[tuple[Line, NDArray[np.intp]]]:
        c, centres = self._atlas.rungs(float(t.min()), float(t.max()))
        right = np.clip(np.searchsorted(centres, t), 1, max(len(c) - 1, 1))
        if len(c) == 1:
            nearest = np.zeros(t.shape, dtype=int)
        else:
            nearest = np.where(t - centres[right - 1] < centres[right] - t, right - 1, right)
        return [
            (self._atlas.line(float(c[k]), float(centres[k])), np.flatnonzero(nearest == k))
            for k in np.unique(nearest)
        ]


class FirstToAnswer:
    """Several engines, asked in turn: the first that does not refuse answers each question."""

    def __init__(self, make: Sequence[Callable[[], Engine]]) -> None:
        self._make = list(make)
        self._made: dict[int, Engine] = {}
        self._last: tuple[Array, Tails] | None = None

    def first(self) -> Engine:
        """The one that is asked before all others."""
        return self._engine(0)

    def tails(self, t: Array) -> Tails:
        last = self._last
        if last is not None and np.array_equal(t, last[0]):
            return last[1]
        return self._ask(lambda engine: engine.tails(t))

    def guess_fpr(self, fpr: Array) -> Array:
        return self._ask(lambda engine: self._checked(engine, engine.guess_fpr(fpr)))

    def guess_delta(self, log_delta: Array) -> Array:
        return self._ask(lambda engine: self._checked(engine, engine.guess_delta(log_delta)))

    def deviation(self) -> float:
        return self._ask(lambda engine: engine.deviation())

    def _checked(self, engine: Engine, guess: Array) -> Array:
        """A guess, which is to be made by the engine that can also answer there."""
        if len(self._make) > 1 and guess.size:
            self._last = guess.copy(), engine.tails(guess)
        return guess

    def _engine(self, k: int) -> Engine:
        if k not in self._made:
            self._made[k] = self._make[k]()
        return self._made[k]

    def _ask(self, question: Callable[[Engine], _Answer]) -> _Answer:
        for k in range(len(self._make)):
            try:
                return question(self._engine(k))
            except NotCertified:
                if k == len(self._make) - 1:
                    raise
        raise NotCertified("there is no engine to ask")


def _read(line: Line, t: Array) -> Tails:
    """The rates from a line: those with small values directly, the others as complements."""
    sums, scale = line.sums(t), line.scale(t)
    with np.errstate(over="ignore"):
        plain, lifted = np.exp(scale), np.exp(scale + t)
    by_z, by_other, by_both = plain * sums.by_z, lifted * sums.by_z_less_one, lifted * sums.by_both
    density = plain * sums.density
    if line.c > 1:
        return Tails(by_z, by_other, 1 - by_other, 1 - by_z, by_both, density)
    if line.c > 0:
        return Tails(by_z, 1 + by_other, -by_other, 1 - by_z, 1 + by_both, density)
    return Tails(1 + by_z, 1 + by_other, -by_other, -by_z, by_both - np.expm1(t), density)
