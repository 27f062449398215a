"""From a ranking of outcomes to the largest ε under which the observed one is too unlikely."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric.safe import times_exp
from tellapart._numeric.solve import falling_root
from tellapart.audit import _tails
from tellapart.audit._orders import Forms
from tellapart.audit._tails import Claim, Proof, Region, Span
from tellapart.curve.closed import GuaranteeCurve

BUDGET = 400_000
# Nobody asks for more digits of ε than this.
_CLOSE = 5e-7


def claimed(epsilon: float, delta: float, forms: Forms) -> Claim:
    """The largest TPR that (ε, δ), or one form of it, allows at each FPR."""
    if forms is Forms.BOTH:
        curve = GuaranteeCurve(epsilon, delta)
        return lambda fpr: np.asarray(curve.tpr(fpr))
    return lambda fpr: np.minimum(delta + times_exp(fpr, epsilon), 1.0)


def largest(search: Search, proven: float, likely: float, scale: float, finest: float) -> float:
    """The largest ε up to a likely one at which the region is certified to be unlikely enough.

    Certificates are bought from cheap to dear, at distances from the goal that shrink from the
    scale down to its finest share, or until they cost too much; the last one bought counts.
    """
    budget = BUDGET
    for share in (1.0, 0.3, 0.03, 1e-3, 1e-5, 1e-7):
        if share < finest:
            break
        proof = Proof(math.inf, 0)
        while proof.bound > search.target:
            deadline.check()
            lost = max(share * scale, _CLOSE)
            if likely - lost <= proven:
                break
            claim = claimed(likely - lost, search.delta, search.forms)
            proof = _tails.certified(search.region, claim, search.span, search.target, budget)
            budget -= proof.spent
            if proof.bound > search.target:
                if proof.span is None:
                    return proven
                likely = search.below(likely - lost, proof.span)
        else:
            proven = likely - lost
        if lost == _CLOSE:
            break
    return proven


@dataclass(frozen=True)
class Search:
    """Where the worst FPR makes the region just as likely as the target; not certified."""

    region: Region
    delta: float
    forms: Forms
    span: Span
    target: float
    floor: float

    def highest(self) -> float:
        """An ε that all FPRs seem to allow, and hardly any larger one."""
        epsilon = self.floor
        for step in np.append(0.0, 2.0 ** np.arange(-8, 10)):
            epsilon = self.floor + float(step)
            claim = claimed(epsilon, self.delta, self.forms)
            _, worst = _tails.worst_fpr(self.region, claim, self.span, rounds=1)
            if max(worst, self._chance(epsilon, None)) >= self.target:
                break
        return self.below(epsilon, self.span)

    def below(self, epsilon: float, around: Span) -> float:
        """The largest ε below this one that the FPRs around a bad one seem to allow."""
        for _ in range(20):
            claim = claimed(epsilon, self.delta, self.forms)
            fpr, worst = _tails.worst_fpr(self.region, claim, around)
            at_corner = self._chance(epsilon, None)
            if max(worst, at_corner) <= self.target:
                break
            before, epsilon = epsilon, self._root(epsilon, None if at_corner >= worst else fpr)
            if before - epsilon <= _CLOSE / 10:
                break
        return epsilon

    def _root(self, epsilon: float, fpr: float | None) -> float:
        if self._chance(self.floor, fpr) >= self.target:
            return self.floor

        def slack(e: Array) -> Array:
            return np.array([self.target - self._chance(float(e[0]), fpr)])

        return float(falling_root(slack, np.array([self.floor]), np.array([epsilon]), 1e-9)[1][0])

    def _chance(self, epsilon: float, fpr: float | None) -> float:
        """How likely the region is at an FPR or, if None, where the claim has its corner."""
        if fpr is None:
            fpr = (1 - self.delta) * math.exp(-epsilon)
            fpr = fpr if self.forms is Forms.ACCUSED else fpr / (1 + math.exp(-epsilon))
            fpr = min(max(fpr, self.span.low), self.span.high)
        at = np.array([fpr])
        tpr = claimed(epsilon, self.delta, self.forms)(at)
        return float(_tails.probability(self.region, at, tpr)[0])
