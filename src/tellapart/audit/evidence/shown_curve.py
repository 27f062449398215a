"""Evidence that is a curve: whatever is asked is read off an attack shown to be possible."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.special import ndtri

from tellapart.audit.bounds import Basis
from tellapart.audit.evidence.base import Evidence
from tellapart.curve.atomic import AtomicCurve


class CurveEvidence(Evidence):
    """What is known is a curve from above; every answer is read off it."""

    @abstractmethod
    def curve(self) -> AtomicCurve: ...

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        shown = self.curve()
        return max(one.epsilon(delta) for one in (shown, shown.mirrored())), Basis.EXACT

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        shown = self.curve()
        return max(one.delta(epsilon) for one in (shown, shown.mirrored())), Basis.EXACT

    def _mu(self) -> tuple[float, Basis]:
        # A convex curve first crosses a polygon at a corner.
        fpr, fnr = self.curve().vertices()
        inside = (fpr > 0) & (fnr > 0) & (fpr < 1) & (fnr < 1)
        found = -ndtri(fnr[inside]) - ndtri(fpr[inside])
        return max(float(np.max(found, initial=0.0)), 0.0), Basis.EXACT
