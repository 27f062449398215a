"""What a specimen of the zoo is: a release as people write it, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from numpy.random import Generator

from tellapart import _checks
from tellapart.curve.closed import GuaranteeCurve
from tellapart.mechanisms.subject import Subject, curve_of

# Claims that name no δ, as those of Gaussian DP, are read at this one.
USUAL_DELTA = 1e-5


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


def batched(draw: Callable[[Any, Generator, int], Any]) -> Release:
    """A release from a function that draws many outputs at once."""

    def release(data: Any, rng: Generator, size: int | None = None) -> Any:
        if size is None:
            return draw(data, rng, 1)[0]
        return draw(data, rng, _checks.whole(1, size=size))

    # Not functools.wraps: its signature would be the inner one, whose size has no default.
    release.__name__, release.__qualname__ = draw.__name__, draw.__qualname__
    release.__module__, release.__doc__ = draw.__module__, draw.__doc__
    return release


def specimen(
    mechanism: Release,
    *pairs: tuple[Any, Any],
    claim: Subject,
    truth: float | None,
    known: str,
    source: str,
    flaw: Flaw | None = Flaw.LAW,
) -> Specimen:
    """A specimen named and described as its function is."""
    name = mechanism.__name__.replace("_", "-")
    words = (mechanism.__doc__ or "").partition("\n")[0]
    return Specimen(name, mechanism, pairs, claim, truth, flaw, words, known, source)
