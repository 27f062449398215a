"""Private training, in words: recipes that expand into trees of mechanisms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.mechanisms.base import Neighbours, Sampling
from tellapart.mechanisms.combine import Repeated
from tellapart.mechanisms.noise import Gaussian

# Curves of compositions have about ten digits: noise is told apart to nine.
_RESOLVED = 1e-9


def dp_sgd(
    noise_multiplier: float,
    sampling_rate: float | None = None,
    steps: int | None = None,
    *,
    epochs: float | None = None,
    batch_size: float | None = None,
    data_size: int | None = None,
    scheme: Sampling = Sampling.POISSON,
) -> Repeated:
    """Training by noisy, clipped gradients on random samples (DP-SGD), all models seen.

    Give the sampling rate and the number of steps, or epochs, expected batch size and size of the
    data set. ``noise_multiplier`` is the noise in units of the clipping norm. With Poisson samples
    neighbours add or remove one record. Batches of fixed size (`Sampling.WITHOUT_REPLACEMENT`) are
    for neighbours that replace one, which moves a sum by twice the norm. Batches in shuffled
    order are another mechanism.

    >>> training = dp_sgd(noise_multiplier=1.0, sampling_rate=0.01, steps=1_000)
    >>> round(training.curve().epsilon(delta=1e-5), 6)
    1.828237
    >>> dp_sgd(noise_multiplier=1.0, epochs=10, batch_size=600, data_size=60_000) == training
    True
    """
    noise = _checks.finite_above_zero(noise_multiplier=noise_multiplier)
    step = Gaussian(noise)
    if _checks.member(Sampling, scheme=scheme) is Sampling.WITHOUT_REPLACEMENT:
        step = Gaussian(noise, sensitivity=2.0, neighbours=Neighbours.REPLACE)
    if sampling_rate is not None and steps is not None:
        if not (epochs is None and batch_size is None and data_size is None):
            rule = "be given as sampling_rate and steps, or as epochs, batch_size and data_size"
            _checks.refuse("the schedule", rule, (sampling_rate, steps, epochs, batch_size))
        return step.sampled(sampling_rate, scheme).repeated(steps)
    if epochs is None or batch_size is None or data_size is None:
        rule = "be given as sampling_rate and steps, or as epochs, batch_size and data_size"
        given = (sampling_rate, steps, epochs, batch_size, data_size)
        _checks.refuse("the schedule", rule, given)
    size = _checks.whole(1, data_size=data_size)
    batch = _checks.finite_above_zero(batch_size=batch_size)
    if batch > size:
        _checks.refuse("batch_size", f"be at most data_size ({size})", batch_size)
    rounds = _checks.finite_above_zero(epochs=epochs) * size / batch
    # A schedule that comes out whole but for rounding is whole.
    count = round(rounds) if abs(rounds - round(rounds)) < 1e-9 * rounds else math.ceil(rounds)
    return step.sampled(batch / size, scheme).repeated(max(count, 1))


def dp_sgd_with_epsilon(
    epsilon: float,
    delta: float,
    sampling_rate: float | None = None,
    steps: int | None = None,
    **schedule: float,
) -> Repeated:
    """DP-SGD with the least noise that keeps (ε, δ), the schedule told as in `dp_sgd`.

    The noise is a billionth above what the curve asks for, never below.

    >>> training = dp_sgd_with_epsilon(2.0, 1e-5, sampling_rate=0.01, steps=1_000)
    >>> round(training.base.base.sigma, 6)
    0.959102
    """
    asked = _checks.finite_above_zero(epsilon=epsilon)
    target = math.log(_checks.inside_unit(delta=delta))

    def training(noise: float) -> Repeated:
        return dp_sgd(noise, sampling_rate, steps, **schedule)  # type: ignore[arg-type]

    def excess(log_noise: Array) -> Array:
        leak = training(math.exp(float(log_noise[0]))).curve().delta(asked)
        return np.array([math.log(leak) - target if leak > 0 else -1e3])

    start = np.zeros(1)
    high = solve.climb(excess, start, 0.5)
    low = solve.climb(excess, high - 0.5, -0.5)
    _, found = solve.falling_root(excess, low, high, _RESOLVED)
    while excess(found)[0] > -_RESOLVED:
        found = found + _RESOLVED
    return training(math.exp(float(found[0])))


def matrix_mechanism(
    strategy: ArrayLike, sigma: float, participations: Iterable[Sequence[int]]
) -> Gaussian:
    """Training with correlated noise (DP-FTRL, matrix factorisation), all outputs seen.

    Noise of deviation ``sigma`` is added to ``strategy`` times the gradients, each clipped to
    norm 1; one record takes part in the rounds of one of the ``participations``. It leaks as much
    as one Gaussian answer whose sensitivity is the largest of √(Σ |CᵀC|_ij) over the rounds of a
    participation, whatever the directions of its gradients.

    >>> matrix_mechanism(np.eye(4), sigma=2.0, participations=[[0, 2], [1, 3]]).sensitivity
    1.4142135623730951
    """
    matrix = _checks.reals("be a matrix of numbers", strategy=strategy)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        _checks.refuse("strategy", "be a matrix of finite numbers", strategy)
    gram = np.abs(matrix.T @ matrix)
    largest = 0.0
    listed = list(participations) if isinstance(participations, Iterable) else []
    if not listed:
        _checks.refuse("participations", "list the rounds of at least one record", participations)
    for rounds in listed:
        chosen = [_checks.whole(0, matrix.shape[1] - 1, participations=one) for one in rounds]
        if len(set(chosen)) != len(chosen):
            _checks.refuse("participations", "name each round of a record once", rounds)
        largest = max(largest, float(np.sqrt(gram[np.ix_(chosen, chosen)].sum())))
    return Gaussian(sigma, largest)
