"""What a specimen of the zoo is: a release as people write it, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from numpy.random import Generator

from tellapart import _checks
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.guarantees import guarantee
from tellapart.mechanisms.noise import Gaussian
from tellapart.mechanisms.subject import Subject, curve_of

# Claims that name no δ, as those of Gaussian DP, are read at this one.
USUAL_DELTA = 1e-5
# What is claimed unless a specimen says otherwise.
_ONE = guarantee(epsilon=1)
# Where a mistake comes from, and how a truth is known, that many specimens have.
FOLKLORE = "a common mistake"
SUPPORT = "outputs that only one input can have"


class Release(Protocol):
    """A randomised answer about data: one output, or with ``size`` a batch of independent ones."""

    __name__: str

    def __call__(self, data: Any, rng: Generator, size: int | None = None) -> Any:
        """Draw one output, or ``size`` of them."""


class Flaw(Enum):
    """Where a bug shows: in the law of one output, in its last bits, or between calls."""

    LAW = "law"
    BITS = "bits"
    CALLS = "calls"


@dataclass(frozen=True, eq=False)
class Specimen:
    """A mechanism to hunt in, with the claim made for it and how much it truly leaks.

    ``mechanism(data, rng, size=None)`` draws outputs. ``pairs`` are neighbouring inputs, the most
    telling first. ``truth`` is the true ε at the claim's `delta` of that first pair in its worse
    order, with outputs read as real numbers unless the flaw is in their bits; None where it is
    not known. ``known`` says how the truth was found.
    """

    name: str
    mechanism: Release
    pairs: tuple[tuple[Any, Any], ...]
    claim: Subject
    truth: float | None
    flaw: Flaw | None
    words: str
    known: str
    source: str

    @property
    def correct(self) -> bool:
        """Whether the claim holds for every pair of neighbours."""
        return self.flaw is None

    @property
    def delta(self) -> float:
        """The δ at which ``truth`` is an ε: the claim's own, or 1e-5 for claims of Gaussian DP."""
        curve = curve_of(self.claim, "claim")
        return curve.claimed_delta if isinstance(curve, GuaranteeCurve) else USUAL_DELTA

    @property
    def claimed(self) -> float:
        """The ε that the claim allows at `delta`."""
        return curve_of(self.claim, "claim").epsilon(self.delta)


Draw = Callable[[Any, Generator, int], Any]


def batched(draw: Draw) -> Release:
    """A release from a function that draws many outputs at once."""

    def release(data: Any, rng: Generator, size: int | None = None) -> Any:
        if size is None:
            return draw(data, rng, 1)[0]
        return draw(data, rng, _checks.whole(1, size=size))

    # Not functools.wraps: its signature would be the inner one, whose size has no default.
    release.__name__, release.__qualname__ = draw.__name__, draw.__qualname__
    release.__module__, release.__doc__ = draw.__module__, draw.__doc__
    return release


def named_and_described(release: Release) -> tuple[str, str]:
    """What a release is called, and its docstring's first line."""
    return release.__name__.replace("_", "-"), (release.__doc__ or "").partition("\n")[0]


_DECLARED: list[Specimen] = []


def specimen(
    *pairs: tuple[Any, Any],
    truth: float | None,
    known: str,
    source: str,
    claim: Subject = _ONE,
    flaw: Flaw | None = Flaw.LAW,
) -> Callable[[Draw], Release]:
    """Declare a function that draws many outputs at once, with what is known of it."""

    def declare(draw: Draw) -> Release:
        release = batched(draw)
        name, words = named_and_described(release)
        _DECLARED.append(Specimen(name, release, pairs, claim, truth, flaw, words, known, source))
        return release

    return declare


def declared_in(module: str) -> tuple[Specimen, ...]:
    """The specimens that stand in one module, in their order."""
    return tuple(kept for kept in _DECLARED if kept.mechanism.__module__ == module)


def gaussian_epsilon(mu: float, delta: float = USUAL_DELTA) -> float:
    """The exact ε of Gaussian noise whose means lie μ deviations apart."""
    return Gaussian(1 / mu).curve().epsilon(delta)
