"""For test suites: one line that fails when a mechanism breaks its promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tellapart import _checks
from tellapart.audit import probe
from tellapart.curve.guarantees import guarantee


def assert_private(
    mechanism: Callable[..., Any],
    d0: Any,
    d1: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    false_alarm: float = 1e-6,
    samples: int = 100_000,
    seed: int = 0,
    timeout: float | None = None,
) -> None:
    """Fail if calls show that a mechanism breaks (ε, δ) on these two neighbouring inputs.

    A mechanism that keeps its promise fails with probability ``false_alarm`` at most, over seeds,
    and with one seed always or never. Passing proves nothing: another attack or another pair of
    inputs may show more.

    >>> def noisy_count(data, rng, size=None):
    ...     return len(data) + rng.laplace(0, 1, size)
    >>> assert_private(noisy_count, [1, 2], [1, 2, 3], epsilon=1)
    """
    alarm = _checks.inside_unit(false_alarm=false_alarm)
    claim = guarantee(epsilon=epsilon, delta=delta)
    verdict = probe(
        mechanism,
        d0,
        d1,
        claim=claim,
        samples=samples,
        confidence=1 - alarm,
        seed=seed,
        timeout=timeout,
    )
    if verdict.refuted:
        name = getattr(mechanism, "__qualname__", type(mechanism).__name__)
        raise AssertionError(
            f"{name} is not private as claimed (seed = {seed}, {samples:,} calls on each input).\n"
            f"{verdict}"
        )
