"""Truncated Poisson sampling: a sample larger than the largest batch is cut down at random."""

from __future__ import annotations

from dataclasses import dataclass, field

from tellapart import _checks
from tellapart._numeric.binomial import upper_tail
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.announced import AnnouncedCurve
from tellapart.curve.composition.group_privacy import OneStep
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss
from tellapart.curve.composition.subsampling import SampledCurve
from tellapart.curve.guarantees import nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.combine import Enclosed, Fineness
from tellapart.mechanisms.noise import Gaussian
from tellapart.neighbours import Neighbours


@dataclass(frozen=True, repr=False)
class TruncatedPoisson(Enclosed):
    """A noisy sum of a Poisson sample, of which no more than the largest batch is kept.

    The curve is a guarantee (`Bound.LOWER`). Let n be the records of the larger data set, yours
    among them, q the rate, B the largest batch, and m how many other records are drawn. Whether
    m ≥ B, with probability τ = P(Bin(n − 1, q) ≥ B), is the same in both worlds, so by joint
    convexity δ(ε) is at most the mean of the two cases.

    - m < B: nothing is cut, and your record is in with probability q: a Poisson sample.
    - m ≥ B: without your record the batch is a uniform B-set R of the others, whatever m. With it,
      it takes the place of a uniform y in R with probability q·B/(m + 1), of mean
      p = B·P(Bin(n, q) > B)/(n·τ). Given R and y, the sum moves by x − y, of norm at most 2, with
      probability p: a Poisson sample at rate p of an answer with twice the sensitivity.

    Under zero-out a blanked record takes y's place all the same: given m ≥ B and that it does,
    both sums lack y, and differ by x: a Gaussian answer with probability p, and else nothing.

    **The other side of its bracket is an attack** (`Bound.UPPER`): if all other records add 0,
    yours is seen as often as it is kept, with probability (1 − τ)·q + τ·p, cap or no cap.

    Under add/remove ``data_size`` counts the data set with your record. The cap is not free:

    >>> import tellapart as ta
    >>> capped = TruncatedPoisson(ta.Gaussian(1), rate=0.05, largest_batch=60, data_size=1_000)
    >>> round(capped.repeated(200).epsilon(delta=1e-5), 2)
    10.55
    >>> round(ta.dp_sgd(1, 0.05, 200).curve().epsilon(delta=1e-5), 2)
    4.77
    """

    base: Gaussian
    rate: float
    largest_batch: int
    data_size: int
    neighbours: Neighbours = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base, Gaussian):
            raise Unsupported(
                f"truncated Poisson samples are accounted for Gaussian noise, got {self.base!r}"
            )
        if self.base.neighbours is Neighbours.REPLACE:
            raise Unsupported(
                "truncated Poisson samples are accounted for neighbours that add or remove, or "
                "zero out, one record; no theorem is known for those that replace one"
            )
        size = _checks.whole(1, data_size=self.data_size)
        rate = _checks.probability(rate=self.rate)
        largest = _checks.whole(1, largest_batch=self.largest_batch)
        self._set(rate=rate, largest_batch=largest, data_size=size, neighbours=self.base.neighbours)

    @property
    def _cut(self) -> tuple[float, float]:
        """How likely a batch is to be full without your record, and then to take it in."""
        n, b = self.data_size, self.largest_batch
        full = float(upper_tail(b, n - 1, self.rate))
        more = float(upper_tail(b + 1, n, self.rate))
        return full, min(b * more / (n * full), 1.0) if full > 0 else 0.0

    @property
    def closes(self) -> bool:
        return False

    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """One step on this side of the truth: the guarantee, or what an attack reaches."""
        full, taken = self._cut
        kept = (1 - full) * self.rate + full * taken
        if side is Bound.LOWER or kept == 0 or self.base.sensitivity == 0:
            return self._present_test()
        shift = self.base.sensitivity / self.base.sigma
        if kept == 1:
            return GaussianCurve(shift)
        return OneStep(MixtureLoss(shift, (1 - kept, kept)))

    def _present_test(self) -> TradeoffCurve:
        full, taken = self._cut
        shift = self.base.sensitivity / self.base.sigma
        if self.rate == 0 or shift == 0:
            return nothing()
        parts = [(1 - full, _sampled(shift, self.rate))]
        if full > 0 and self.neighbours is Neighbours.ADD_REMOVE:
            parts.append((full, _sampled(2 * shift, taken)))
        elif full > 0:
            parts += [(full * taken, GaussianCurve(shift)), (full * (1 - taken), nothing())]
        return AnnouncedCurve(tuple(part for part in parts if part[0] > 0), Bound.LOWER)

    def _grouped(self, size: int) -> Mechanism:
        if self.neighbours is Neighbours.ADD_REMOVE:
            # Each who leaves makes the data smaller, and a cap on less data may leak more.
            raise Unsupported(
                "a group that leaves changes the size of the data, by which truncated Poisson "
                "samples are accounted for: give the Gaussian neighbours=Neighbours.ZERO_OUT"
            )
        return super()._grouped(size)

    def _unsampled(self, scheme: Sampling) -> str:
        return "it is a sample already: leave .sampled out"


def _sampled(shift: float, rate: float) -> TradeoffCurve:
    if rate == 0:
        return nothing()
    return GaussianCurve(shift) if rate == 1 else SampledCurve(GaussianCurve(shift), rate)
