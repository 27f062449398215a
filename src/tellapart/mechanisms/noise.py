"""Additive noise: the Laplace, Gaussian and truncated Laplace mechanisms."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._numeric import solve
from tellapart._numeric.text import short
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.base import ADD_REMOVE, EpsilonAtDelta, Mechanism
from tellapart.mechanisms.laws import (
    GaussianLaw,
    LaplaceLaw,
    NoiseLaw,
    TruncatedLaplaceLaw,
    missed,
)
from tellapart.mechanisms.neyman_pearson import (
    LaplaceVectorTest,
    ShiftTest,
    plausibly_deniable,
    shift_test,
)
from tellapart.neighbours import Neighbours

if TYPE_CHECKING:
    from tellapart.mechanisms.batches.random_allocation import Allocated
    from tellapart.mechanisms.batches.shuffled_epochs import ShuffledEpoch


class AdditiveNoise(EpsilonAtDelta):
    """Adds noise of one law; the worst neighbours move the answer by the whole sensitivity."""

    sensitivity: float

    @property
    @abstractmethod
    def noise(self) -> NoiseLaw:
        """The law of what is added to each coordinate of the answer."""

    def _present_test(self) -> TradeoffCurve:
        return self.noise.curve(self.sensitivity)

    def _grouped(self, size: int) -> Mechanism:
        return replace(self, sensitivity=size * self.sensitivity)  # type: ignore[call-arg]

    def deviation(self) -> float:
        """How far the noisy answer usually lies from the true one (standard deviation)."""
        return self.noise.deviation()

    def margin(self, coverage: float = 0.95, cells: int = 1) -> float:
        """How far the noisy answer lies from the true one at most, this share of the time.

        Of so many ``cells`` with independent noise, how far the one lies that is furthest off.

        >>> round(Laplace.with_epsilon(1).margin(0.95), 4)
        2.9957
        """
        tail = missed(coverage, cells) / 2
        if math.isinf(self.deviation()):
            return math.inf
        with np.errstate(all="ignore"):
            return max(0.0, float(self.noise.cut(np.array([tail]))[0]))

    def test(self, absent: Any, present: Any) -> ShiftTest | LaplaceVectorTest:
        """The best attack on an output, when the true answers of both worlds are known.

        The Neyman-Pearson test of a number or of a vector: with Gaussian noise only the length of
        the shift counts, with Laplace noise it is the composition of its coordinates.

        >>> attack = Laplace.with_epsilon(1).test(absent=10, present=11)
        >>> round(attack.threshold(fpr=0.1), 4)
        11.6094
        >>> pair = Laplace(1).test(absent=[0, 0], present=[0.5, 0.5])
        >>> round(pair.curve().epsilon(0), 4), round(pair.curve().tpr(fpr=0.01), 4)
        (1.0, 0.0272)
        """
        return shift_test(self.noise, self.sensitivity, absent, present)

    def plausibly_deniable(
        self, output: float, answers: ArrayLike, *, record: int, ratio: float, k: int
    ) -> bool:
        """Whether at least k records, this one among them, could about as well have led here.

        ``answers[i]`` is the true answer had record i been the source of the output.

        >>> Laplace(2).plausibly_deniable(0.3, [0, 1, 2, 8], record=0, ratio=2, k=2)
        True
        """
        seen, centres = _checks.finite(output=output), _checks.vector(answers=answers)
        start = float(centres.min())
        with np.errstate(all="ignore"):
            logs = np.array(
                [
                    float(self.noise.log_ratio(np.asarray(seen - start), float(centre - start)))
                    for centre in centres
                ]
            )
        if np.isnan(logs).any():
            raise Unsupported(
                "this noise rules some of these answers out, so that they cannot be compared"
            )
        return plausibly_deniable(np.exp(logs - logs.max()), record, ratio, k)


@dataclass(frozen=True, repr=False)
class Laplace(AdditiveNoise):
    """Adds Laplace noise of a given scale; ``sensitivity`` is the L1 norm for a vector answer.

    The worst neighbours move a single coordinate by the whole sensitivity: spreading the same
    change over several coordinates can only help the defender.

    >>> round(Laplace.with_epsilon(1).curve().tpr(fpr=0.01), 6)
    0.027183
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            scale=_checks.above_zero(scale=self.scale),
            sensitivity=_checks.finite_at_least_zero(sensitivity=self.sensitivity),
        )

    @classmethod
    def with_epsilon(
        cls, epsilon: float, sensitivity: float = 1.0, *, neighbours: Neighbours = ADD_REMOVE
    ) -> Self:
        """The mechanism whose noise gives this ε: scale = sensitivity / ε."""
        e = _checks.finite_at_least_zero(epsilon=epsilon)
        size = _checks.finite_above_zero(sensitivity=sensitivity)
        return cls(size / e if e else math.inf, size, neighbours=neighbours)

    @property
    def noise(self) -> LaplaceLaw:
        return LaplaceLaw(self.scale)


@dataclass(frozen=True, repr=False)
class Gaussian(AdditiveNoise):
    """Adds normal noise of deviation sigma; ``sensitivity`` is the L2 norm for a vector answer.

    >>> round(Gaussian(sigma=1).curve().epsilon(delta=1e-5), 4)
    4.3772
    """

    sigma: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            sigma=_checks.above_zero(sigma=self.sigma),
            sensitivity=_checks.finite_at_least_zero(sensitivity=self.sensitivity),
        )

    def allocated(self, steps: int, participations: int = 1) -> Allocated:
        """An epoch of so many steps with this noise, a record in one of them, drawn at random.

        ``allocated(steps=100).repeated(10)`` draws its step anew in each of ten epochs. With more
        ``participations`` it is in so many different steps, all choices of them equally likely.
        """
        # Imported here: an epoch is made of Gaussian steps, and is a mechanism itself.
        from tellapart.mechanisms.batches.random_allocation import Allocated

        return Allocated(self, steps, participations)

    def shuffled_batches(self, steps: int, last: float = 0.0, used: float = 1.0) -> ShuffledEpoch:
        """An epoch of so many steps with this noise, on batches cut from a random order.

        ``last`` is the size of a smaller batch after them, as a share of a full one, and ``used``
        the share of the records that an epoch uses, less than 1 where it drops the last ones.
        """
        # Imported here: an epoch is made of Gaussian steps, and is a mechanism itself.
        from tellapart.mechanisms.batches.shuffled_epochs import ShuffledEpoch

        return ShuffledEpoch(self, steps, last, used)

    @classmethod
    def classic(
        cls,
        epsilon: float,
        delta: float,
        sensitivity: float = 1.0,
        *,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> Self:
        """The textbook noise σ = √(2·log(1.25/δ))·Δ/ε, whose proof covers ε ≤ 1 only.

        Beyond that it is checked against the exact curve and refused where it breaks its
        promise (for δ = 1e-5: from ε = 8.42 on). `with_epsilon` needs less noise and always holds.

        >>> round(Gaussian.classic(epsilon=0.5, delta=1e-5).sigma, 4)
        9.6896
        """
        e, d = _checks.finite_above_zero(epsilon=epsilon), _checks.inside_unit(delta=delta)
        size = _checks.finite_above_zero(sensitivity=sensitivity)
        sigma = math.sqrt(2 * math.log(1.25 / d)) * size / e
        reached = GaussianCurve(size / sigma).delta(e)
        if reached > d:
            raise InvalidArgument(
                f"epsilon must be small enough for the classic calibration (its proof covers "
                f"epsilon ≤ 1), got {e!r}: σ = {short(sigma)} has "
                f"δ = {short(reached, up=True)} there, not {short(d)}; use Gaussian.with_epsilon"
            )
        return cls(sigma, size, neighbours=neighbours)

    @classmethod
    def with_epsilon(
        cls,
        epsilon: float,
        delta: float,
        sensitivity: float = 1.0,
        *,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> Self:
        """The least noise that keeps (ε, δ): the analytic Gaussian mechanism (Balle, Wang 2018).

        From the exact curve, rounded conservatively: δ is missed by less than 1e-12 of itself.
        ``Gaussian.analytic`` is another name of it.

        >>> round(Gaussian.with_epsilon(epsilon=1, delta=1e-5).sigma, 4)
        3.7306
        """
        e, d = _checks.finite_at_least_zero(epsilon=epsilon), _checks.inside_unit(delta=delta)
        size = _checks.finite_above_zero(sensitivity=sensitivity)
        d *= 1 - 5e-13  # more than the rounding of δ, less than anyone can see

        at = np.array([e])

        def too_leaky(log_sigma: Any) -> Any:
            mu = max(math.exp(-log_sigma[0]), np.finfo(float).tiny)
            reached = float(GaussianCurve(mu)._profile(at)[0])
            return np.array([math.log(reached / d) if reached > 0 else -math.inf])

        with np.errstate(all="ignore"):
            # The classic σ is near the answer wherever it is proved.
            start = np.array(
                [math.log(2 * (math.log(1.25) - math.log(d))) / 2 - math.log(max(e, 0.1))]
            )
            low, high = (solve.climb(too_leaky, start, step) for step in (-0.25, 0.25))
            leaky, _ = solve.falling_root(too_leaky, low, high)
        sigma = size * math.exp(float(leaky[0]))
        while GaussianCurve(size / sigma).delta(e) > d:  # the last few ulp, in σ itself
            sigma = math.nextafter(sigma, math.inf)
        return cls(sigma, size, neighbours=neighbours)

    analytic = with_epsilon

    @property
    def noise(self) -> GaussianLaw:
        return GaussianLaw(self.sigma)


@dataclass(frozen=True, repr=False)
class TruncatedLaplace(AdditiveNoise):
    """Adds Laplace noise that never exceeds a cut-off, at the price of a δ.

    >>> bounded = TruncatedLaplace.with_epsilon(1, delta=1e-5)
    >>> round(bounded.cutoff, 3), round(bounded.curve().epsilon(delta=1e-5), 6)
    (11.361, 1.0)
    """

    scale: float
    cutoff: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            scale=_checks.finite_above_zero(scale=self.scale),
            cutoff=_checks.finite_above_zero(cutoff=self.cutoff),
            sensitivity=_checks.finite_at_least_zero(sensitivity=self.sensitivity),
        )

    @classmethod
    def with_epsilon(
        cls,
        epsilon: float,
        delta: float,
        sensitivity: float = 1.0,
        *,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> Self:
        """The shortest cut-off that keeps (ε, δ) at scale Δ/ε (Geng et al. 2020, Theorem 1)."""
        e, d = _checks.finite_above_zero(epsilon=epsilon), _checks.inside_unit(delta=delta)
        if d > 0.5:
            _checks.refuse("delta", "be at most 0.5 for truncated Laplace noise", delta)
        size = _checks.finite_above_zero(sensitivity=sensitivity)
        scale = size / e
        # log(1 + (e^ε − 1)/(2δ)) without forming e^ε
        grown = e + math.log(-math.expm1(-e)) - math.log(2 * d)
        reach = float(np.logaddexp(0.0, grown))
        cutoff = scale * reach
        while TruncatedLaplaceLaw(scale, cutoff).curve(size).delta(math.inf) > d:  # rounding
            cutoff = math.nextafter(cutoff, math.inf)
        return cls(scale, cutoff, size, neighbours=neighbours)

    @property
    def noise(self) -> TruncatedLaplaceLaw:
        return TruncatedLaplaceLaw(self.scale, self.cutoff)
