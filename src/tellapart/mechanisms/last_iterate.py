"""The last iterate of noisy gradient descent (hidden state): only the final weights are seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.guarantees import nothing
from tellapart.mechanisms.base import EpsilonAtDelta, Mechanism, Sampling
from tellapart.neighbours import Neighbours


@dataclass(frozen=True, repr=False)
class LastIterate(EpsilonAtDelta):
    """Noisy gradient descent on all records, of which only the final weights are seen.

    Each of the ``steps`` is x ← x − η·(∇F(x) + N(0, σ²I)), then perhaps a projection onto a convex
    set; F is the mean loss of all records and η the ``step_size``. What is asked for by name must
    hold, and is not checked on any data:

    - each record's loss is convex, with ``strong_convexity`` m and ``smoothness`` M: the
      eigenvalues of its Hessian lie in [m, M] everywhere;
    - η < 2/M, so that a step brings any two points closer by c = max(abs(1 − ηm), abs(1 − ηM)) < 1;
    - the full batch: ``batch_size`` is ``data_size``, n;
    - replacing a record changes its gradient by at most ``gradient_sensitivity`` L at any x: twice
      the norm of a gradient, if that is bounded. Clipping breaks the other conditions.

    Neighbours replace one record. The weights are then μ-GDP with
    μ = √((1 − cᵗ)/(1 + cᵗ)·(1 + c)/(1 − c))·L/(nσ), by shifted interpolation (Bok, Su and
    Altschuler 2024, noisy gradient descent on strongly convex losses): of all shifts aₖ that undo
    in t steps what the record moves, Σ c^(t−k)·aₖ = ηL/n·Σ c^(t−k), those of least Σ aₖ², which is
    (ησμ)². As c → 1 this is composition, √t·L/(nσ). It is exact where c = 1 − ηm, that is for
    η ≤ 2/(m + M): the losses m·‖x‖²/2 + ⟨a, x⟩ attain it. For longer steps it is a guarantee
    (`Bound.LOWER`).

    >>> training = LastIterate(
    ...     0.01, 100, step_size=0.1, strong_convexity=1.0, smoothness=4.0,
    ...     gradient_sensitivity=2.0, batch_size=1_000, data_size=1_000,
    ... )
    >>> round(training.mu, 4), round(training.epsilon(delta=1e-5), 4)
    (0.8718, 3.7368)
    """

    sigma: float
    steps: int
    step_size: float = field(kw_only=True)
    strong_convexity: float = field(kw_only=True)
    smoothness: float = field(kw_only=True)
    gradient_sensitivity: float = field(kw_only=True)
    batch_size: int = field(kw_only=True)
    data_size: int = field(kw_only=True)
    neighbours: Neighbours = field(default=Neighbours.REPLACE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours is not Neighbours.REPLACE:
            rule = "be Neighbours.REPLACE for a last iterate: the theorem replaces one record"
            _checks.refuse("neighbours", rule, self.neighbours)
        convexity = _checks.finite_at_least_zero(strong_convexity=self.strong_convexity)
        if convexity == 0:
            rule = (
                "be greater than 0 for a last iterate; of losses that are not strongly convex "
                "account for all iterates, ta.Gaussian(...).repeated(steps)"
            )
            _checks.refuse("strong_convexity", rule, self.strong_convexity)
        smoothness = _checks.finite_above_zero(smoothness=self.smoothness)
        if smoothness < convexity:
            rule = f"be at least the strong_convexity ({short(convexity)})"
            _checks.refuse("smoothness", rule, self.smoothness)
        step = _checks.finite_above_zero(step_size=self.step_size)
        if not step * smoothness < 2:
            rule = (
                f"be less than 2 / smoothness ({short(2 / smoothness)}), so that steps bring "
                "weights closer"
            )
            _checks.refuse("step_size", rule, self.step_size)
        size = _checks.whole(1, data_size=self.data_size)
        batch = _checks.whole(1, batch_size=self.batch_size)
        if batch != size:
            rule = (
                f"be the data_size ({size}), the full batch: no bound that is tight is known for "
                "the last iterate on smaller ones; use ta.dp_sgd"
            )
            _checks.refuse("batch_size", rule, self.batch_size)
        self._set(
            sigma=_checks.finite_above_zero(sigma=self.sigma),
            steps=_checks.whole(1, 10**15, steps=self.steps),
            step_size=step,
            strong_convexity=convexity,
            smoothness=smoothness,
            gradient_sensitivity=_checks.finite_at_least_zero(
                gradient_sensitivity=self.gradient_sensitivity
            ),
            batch_size=batch,
            data_size=size,
        )

    @property
    def contraction(self) -> float:
        """By how much a step brings any two points closer: max(abs(1 − ηm), abs(1 − ηM))."""
        return 1 - self._gap

    @property
    def _gap(self) -> float:
        """1 − c with all its digits."""
        return min(self.step_size * self.strong_convexity, 2 - self.step_size * self.smoothness)

    @property
    def mu(self) -> float:
        """The μ of Gaussian DP that the final weights have."""
        gap = self._gap
        if gap >= 1:  # c = 0: only the last step is left
            shrunk = 1.0
        else:  # (1 − cᵗ)/(1 + cᵗ) for c near 1, too
            shrunk = math.tanh(-self.steps * math.log1p(-gap) / 2) * (2 - gap) / gap
        return math.sqrt(shrunk) * self.gradient_sensitivity / (self.data_size * self.sigma)

    def _present_test(self) -> TradeoffCurve:
        tight = self.step_size * (self.strong_convexity + self.smoothness) <= 2
        side = Bound.EXACT if tight else Bound.LOWER
        return GaussianCurve(self.mu, side) if self.mu > 0 else nothing()

    def _grouped(self, size: int) -> Mechanism:
        return replace(self, gradient_sensitivity=size * self.gradient_sensitivity)

    def _unsampled(self, scheme: Sampling) -> str:
        return (
            "LastIterate takes the full batch in every step: leave .sampled out, or use ta.dp_sgd "
            "for samples, with all iterates seen"
        )
