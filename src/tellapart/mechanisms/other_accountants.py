"""Other accountants: Rényi DP, zero-concentrated DP and the central limit, and where they err.

The Rényi and concentrated curves are bounds: they show a stronger attacker than there is. The
central limit is no bound. It stands in no curve of the mechanism itself, so that no guarantee and
no choice uses it by accident: it is another mechanism, and its error is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit

from tellapart import _checks
from tellapart._checks import Array, shaped
from tellapart.curve.algebra import gap
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.composition.compose import Steps, together
from tellapart.curve.composition.loss_laws import GaussianLoss, LossLaw
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss
from tellapart.curve.guarantees import everything, from_renyi, guarantee, nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import Repeated, Sequence, loss_laws, parts_of, reveals_all
from tellapart.mechanisms.discrete import DiscreteGaussian
from tellapart.mechanisms.noise import Gaussian

# The TPRs at which to take the lines of the usual orders: from nearly 1 to less than any double,
# finest where δ ≥ 1e-26.
_LOGITS = np.concatenate([np.linspace(-740.0, -60.0, 3401), np.linspace(-59.98, 20.0, 4000)])
_COARSE = np.linspace(-20.0, 20.0, 161)
_ROUNDING = 32 * 2.0**-53


@dataclass(frozen=True)
class CentralLimit:
    """The Gaussian noise that many small steps resemble; an attacker may do better than it says.

    ``stand_in`` is a mechanism of its own, and its curve is not that of ``mechanism``: at small δ
    it usually overstates privacy.
    """

    mechanism: Mechanism
    stand_in: Gaussian

    @property
    def mu(self) -> float:
        """How many deviations apart the two worlds seem to be (μ of Gaussian DP)."""
        return self.stand_in.sensitivity / self.stand_in.sigma

    @overload
    def epsilon_error(self, delta: float) -> float: ...
    @overload
    def epsilon_error(self, delta: ArrayLike) -> Array: ...
    def epsilon_error(self, delta: ArrayLike) -> float | Array:
        """The ε that the stand-in claims, less the true one; below 0 it claims too little leak."""
        asked = _checks.probabilities(delta=delta)
        claimed, true = self.stand_in.curve().epsilon(asked), self.mechanism.curve().epsilon(asked)
        return shaped(np.asarray(claimed - true), asked)

    def overlooked(self) -> float:
        """How much less an attacker can err than the stand-in says, at most, over all priors."""
        return gap(self.stand_in.curve(), self.mechanism.curve())


def central_limit(mechanism: Mechanism) -> CentralLimit:
    """The Gaussian approximation of many steps (GDP accounting), usually too optimistic.

    μ² = Σ χ²(present, absent) over the steps, in the worse order; T·q²·(e^(1/σ²) − 1) for DP-SGD
    (Bu, Dong, Long and Su 2020). Gaussian steps on all of the data count with their own μ².

    >>> import tellapart as ta
    >>> found = central_limit(ta.dp_sgd(noise_multiplier=1, sampling_rate=0.01, steps=1_000))
    >>> round(found.stand_in.curve().epsilon(delta=1e-5), 5)
    1.61771
    >>> round(found.epsilon_error(delta=1e-5), 5)      # the truth is 1.82824
    -0.21052
    """
    steps = _merged(mechanism)
    ends = np.array([2.0, -1.0])
    with np.errstate(over="ignore"):
        squares = [count * _square(law, ends) for law, count in steps]
    largest = float(np.max(np.sum([np.zeros(2), *squares], axis=0)))
    if not math.isfinite(largest):
        raise Unsupported("a central limit needs steps that each reveal little, not overflowing χ²")
    sigma = 1 / math.sqrt(largest) if largest else math.inf
    return CentralLimit(mechanism, Gaussian(sigma, neighbours=mechanism.neighbours))


def _square(law: LossLaw, ends: Array) -> Array:
    if isinstance(law, GaussianLoss):
        return np.full(2, law.mu**2)
    return np.asarray(np.expm1(law.cumulants(ends).value))


def renyi(mechanism: Mechanism, orders: Iterable[float] | None = None) -> TradeoffCurve:
    """What Rényi accounting (RDP) lets an attacker do: more than the mechanism really does.

    The moments of all steps, in the worse order, and from them the lines that no attack crosses
    (as in `guarantee`). Without ``orders`` a fine ladder of the useful ones is taken.

    >>> import tellapart as ta
    >>> training = ta.dp_sgd(noise_multiplier=1, sampling_rate=0.01, steps=1_000)
    >>> round(renyi(training).epsilon(delta=1e-5), 4)  # the truth is 1.8282
    2.1009
    """
    asked = None if orders is None else _orders(orders)
    steps = _merged(mechanism)
    if not steps:
        return nothing(Bound.LOWER)
    ladder = _usual(steps) if asked is None else asked
    logs = _moments(steps, ladder)[0].max(axis=0)
    kept = np.isfinite(logs)
    if not kept.any():
        return everything(Bound.LOWER)
    return _from_ladder(ladder[kept], logs[kept])


@overload
def renyi_divergence(mechanism: Mechanism, order: float) -> float: ...
@overload
def renyi_divergence(mechanism: Mechanism, order: ArrayLike) -> Array: ...
def renyi_divergence(mechanism: Mechanism, order: ArrayLike) -> float | Array:
    """How far apart the outputs of neighbouring data are: the ε of Rényi DP at this order.

    The larger of D(present, absent) and D(absent, present), orders above 1; of steps known from
    below a bound. Rounded up, and inf where a moment is infinite or an output may reveal all.

    >>> import tellapart as ta
    >>> round(renyi_divergence(ta.Gaussian(sigma=2), order=8), 12)     # α/(2σ²)
    1.0
    >>> renyi_divergence(ta.Promise(epsilon=1, delta=1e-5), order=[2, 3])
    array([inf, inf])
    """
    _checks.instance(Mechanism, "a mechanism", mechanism=mechanism)
    asked = _checks.reals(order=order)
    if not np.all((asked > 1) & (asked < math.inf)):
        _checks.refuse("order", "be a finite number greater than 1", order)
    plain = _with_moments(mechanism)
    if reveals_all(plain):
        return shaped(np.full(asked.shape, math.inf), asked)
    flat = np.ravel(asked)
    logs = _moments(_merged(plain), flat)[0].max(axis=0)
    divergence = np.maximum(logs / (flat - 1) * (1 + _ROUNDING), 0.0)
    return shaped(divergence.reshape(asked.shape), asked)


def _with_moments(mechanism: Mechanism) -> Mechanism:
    """The same steps, but for discrete Gaussian ones, whose far outputs no double holds.

    Those diverge no more than the Gaussian of the same σ, at whole orders exactly as much
    (Canonne, Kamath and Steinke 2020, Proposition 5).
    """
    steps = [
        Gaussian(step.sigma, step.sensitivity, neighbours=step.neighbours).repeated(count)
        if isinstance(step, DiscreteGaussian)
        else Repeated(step, count)
        for step, count in parts_of(mechanism)
    ]
    return Sequence(tuple(steps))


def _usual(steps: Steps) -> Array:
    """From near 1 to where an order speaks only of TPRs less than any double."""
    spread = math.sqrt(sum(n * float(law.cumulants(np.ones(1)).variance[0]) for law, n in steps))
    low, high = 0.01 * min(1.0, 1 / spread), 60 / spread
    rough = _above_one(np.geomspace(low, max(high, 100 * low), 120))
    logs, means = _moments(steps, rough)
    with np.errstate(invalid="ignore"):
        within = (logs - (rough - 1) * means > _LOGITS[0]).any(axis=0)
    if not within.any():
        return rough
    return _above_one(np.geomspace(low, float(rough[within].max()) - 1, 800))


def _above_one(excess: Array) -> Array:
    orders = 1 + excess
    return orders[(orders > 1) & (orders < math.inf)]


def _from_ladder(orders: Array, logs: Array) -> TradeoffCurve:
    """At each TPR the order that allows the least FPR, by its first term; near 1 several."""
    best = [
        np.argmax((np.multiply.outer(log_expit(part), orders) - logs) / (orders - 1), axis=1)
        for part in np.array_split(_LOGITS, 20)
    ]
    some = np.arange(0, orders.size, 1 + orders.size // 60)
    chosen = np.concatenate([*best, np.repeat(some, _COARSE.size)])
    logits = np.concatenate([_LOGITS, np.tile(_COARSE, some.size)])
    return from_renyi(orders[chosen], logs[chosen] / (orders[chosen] - 1), logits)


def concentrated(mechanism: Mechanism) -> TradeoffCurve:
    """What zero-concentrated accounting (zCDP) lets an attacker do: more than there is.

    ρ adds up over the steps: μ²/2 of a Gaussian one, ε·tanh(ε/2) of one with losses up to ε. It
    gains nothing from sampling Gaussian steps, which is why DP-SGD is not accounted this way.

    >>> import tellapart as ta
    >>> counts = ta.RandomizedResponse(0.1).repeated(100)
    >>> round(concentrated(counts).epsilon(delta=1e-5), 3), round(counts.curve().epsilon(1e-5), 3)
    (4.726, 4.307)
    """
    return guarantee(zcdp=zcdp_rho(mechanism))


def zcdp_rho(mechanism: Mechanism) -> float:
    """How much of a zCDP budget the mechanism takes: a ρ that it keeps, rounded up.

    >>> import tellapart as ta
    >>> round(zcdp_rho(ta.Gaussian(sigma=2)), 9), round(zcdp_rho(ta.Promise(epsilon=1)), 9)
    (0.125, 0.462117157)
    """
    steps = _merged(_with_moments(mechanism))
    return math.fsum(n * _rho(law) for law, n in steps) * (1 + 1e-13)


def _rho(law: LossLaw) -> float:
    """Of Gaussian steps exactly (Bun and Steinke 2016); of losses up to ε, that of ε-DP.

    Any ε-DP step is randomised response, processed (Kairouz et al. 2015), whose divergence at order
    α is α·(h(x²) − h(1/4))/(x² − 1/4), x = α − 1/2, with h(u) = log cosh(ε·√u), which is concave:
    at most α·h′(1/4) = α·ε·tanh(ε/2), and no less as α tends to 1. A mixture diverges no more than
    its furthest part.
    """
    furthest = max(abs(law.least), abs(law.largest))
    bounded = furthest * math.tanh(furthest / 2)
    if isinstance(law, GaussianLoss):
        return law.mu**2 / 2
    if isinstance(law, MixtureLoss):
        return law.reach**2 / 2
    if math.isinf(bounded):
        raise Unsupported(f"zCDP of a {type(law).__name__} with unbounded losses is not known")
    return bounded


# -- moments ------------------------------------------------------------------------------------


def _merged(mechanism: Mechanism) -> Steps:
    return together(loss_laws(mechanism))


def _moments(steps: Steps, orders: Array) -> tuple[Array, Array]:
    """Log M and its derivative for both orders of hypotheses, log M raised by its rounding.

    A log-sum-exp loses an ulp of the mean size of its terms: of c·loss, and of the exponents of
    a normal law, whose mean is at most 1 + 2·KL = 1 + 2·(c·mean − log M).
    """
    values, means = np.zeros((2, orders.size)), np.zeros((2, orders.size))
    # In parts: far orders need more points, and the near ones need not pay for them.
    for part in np.array_split(np.arange(orders.size), -(-orders.size // 100)):
        for law, count in steps:
            for row, c, sign in ((0, orders[part], 1.0), (1, 1 - orders[part], -1.0)):
                value, mean, _ = law.cumulants(c)
                with np.errstate(invalid="ignore"):
                    slip = _ROUNDING * (2 + np.abs(value) + 3 * np.abs(c * mean))
                    values[row, part] += count * (value + np.where(np.isnan(slip), math.inf, slip))
                    means[row, part] += count * sign * mean
    # So many terms add up to a few ulp more.
    return values * (1 + len(steps) * 2.0**-52), means


def _orders(orders: Iterable[float]) -> Array:
    listed = _checks.reals(orders=list(orders) if isinstance(orders, Iterable) else orders)
    if listed.ndim != 1 or not listed.size or not np.all((listed > 1) & (listed < math.inf)):
        _checks.refuse("orders", "list finite numbers greater than 1", orders)
    return listed
