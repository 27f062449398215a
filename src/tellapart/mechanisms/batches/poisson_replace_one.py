"""Poisson-sampled Gaussian sums under replace-one: a record in the data is this one or that one."""

from __future__ import annotations

from dataclasses import dataclass, field

from tellapart import _checks
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.group_privacy import OneStep
from tellapart.curve.composition.replaced_sample import ReplacedSampleLoss
from tellapart.curve.guarantees import nothing
from tellapart.mechanisms.base import BatchStep, Sampling
from tellapart.neighbours import Neighbours


@dataclass(frozen=True, repr=False)
class PoissonReplaceOne(BatchStep):
    """A noisy sum of a Poisson sample, in which your record may be yours or another in its place.

    Each record adds a vector of at most ``norm`` to the sum, so that replacing one moves it by
    twice that, and leaving one out by once. The curve is exact: see
    `tellapart.curve.composition.replaced_sample` for the proof. Build one with
    ``ta.dp_sgd(..., neighbours=ta.Neighbours.REPLACE)``.

    >>> round(PoissonReplaceOne(sigma=1, rate=0.01).repeated(1_000).epsilon(delta=1e-5), 4)
    2.8434
    """

    sigma: float
    rate: float
    norm: float = 1.0
    neighbours: Neighbours = field(init=False, default=Neighbours.REPLACE)

    def __post_init__(self) -> None:
        self._set(
            sigma=_checks.finite_above_zero(sigma=self.sigma),
            rate=_checks.probability(rate=self.rate),
            norm=_checks.finite_at_least_zero(norm=self.norm),
        )

    def _present_test(self) -> TradeoffCurve:
        shift = self.norm / self.sigma
        if self.rate == 0 or shift == 0:
            return nothing()
        if self.rate == 1:
            return GaussianCurve(2 * shift)
        return OneStep(ReplacedSampleLoss(shift, self.rate))

    def _unsampled(self, scheme: Sampling) -> str:
        return "it is a sample already: multiply its rate, and leave .sampled out"
