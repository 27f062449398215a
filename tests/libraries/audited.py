"""Releases of other libraries as probes see them: the function, two neighbours and the claim."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tellapart as ta
from tellapart import audit


@dataclass(frozen=True)
class Release:
    """A function of a library, neighbours as the library means them, and what it promises."""

    name: str
    mechanism: Callable[..., Any]
    d0: Any
    d1: Any
    claim: Any

    def probed(self, samples: int, confidence: float, seed: int = 0) -> audit.Verdict:
        return audit.probe(
            self.mechanism,
            self.d0,
            self.d1,
            claim=self.claim,
            samples=samples,
            confidence=confidence,
            seed=seed,
        )


def pure(epsilon: float) -> ta.TradeoffCurve:
    return ta.guarantee(epsilon=epsilon)
