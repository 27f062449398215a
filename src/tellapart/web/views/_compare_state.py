"""What the view that compares shows: up to five mechanisms and published deployments."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart import _checks
from tellapart.deployments import DEPLOYMENTS, Deployment

MOST = 5  # more curves than there are inks would look alike
PLACES = tuple(range(1, MOST + 1))
_KEYS = {one.key: one for one in DEPLOYMENTS}


@dataclass(frozen=True)
class State:
    """What the view shows: mechanisms as text, deployments by their keys, "" for none."""

    m1: str = "laplace:epsilon=1"
    m2: str = "gaussian:sigma=1"
    m3: str = ""
    m4: str = ""
    m5: str = ""
    d1: str = ""
    d2: str = ""
    d3: str = ""
    d4: str = ""
    d5: str = ""
    prior: float = 0.5
    fpr: float = 0.01
    at_delta: float = 1e-5
    pairs: bool = True
    picture: str = "roc"

    @property
    def mechanisms(self) -> dict[str, str]:
        """The mechanisms that are compared, by their fields."""
        every = {f"m{k}": getattr(self, f"m{k}") for k in PLACES}
        return {field: text for field, text in every.items() if text}

    @property
    def deployments(self) -> dict[str, Deployment]:
        """The deployments that are compared, by their fields."""
        every = {f"d{k}": getattr(self, f"d{k}") for k in PLACES}
        return {field: _deployment(key) for field, key in every.items() if key}

    @property
    def names(self) -> list[str]:
        """What all that is compared is called."""
        deployed = [one.name for one in self.deployments.values()]
        return list(dict.fromkeys([*self.mechanisms.values(), *deployed]))


def _deployment(key: str) -> Deployment:
    if key not in _KEYS:
        _checks.refuse("deployment", "be the key of one in the registry", key)
    return _KEYS[key]
