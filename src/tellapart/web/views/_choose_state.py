"""What the view that chooses shows: limits that are on or off, an attacker, a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.choose._answering import ACCEPTED
from tellapart.web._controls import told_at


@dataclass(frozen=True)
class State:
    """A mechanism, of each limit whether it is on and where it lies, and the attacker."""

    mechanism: str = "laplace:sensitivity=1"
    parameter: str = ""  # the one that is chosen usually
    on_max_advantage: bool = True
    max_advantage: float = 0.1
    on_max_tpr: bool = False
    max_tpr: float = 0.02
    on_max_ppv: bool = False
    max_ppv: float = 0.6
    on_max_precision: bool = False
    max_precision: float = 0.6
    on_max_f_score: bool = False
    max_f_score: float = 0.7
    on_max_posterior: bool = False
    max_posterior: float = 0.7
    on_max_success: bool = False
    max_success: float = 0.6
    on_max_auc: bool = False
    max_auc: float = 0.6
    on_max_epsilon: bool = False
    max_epsilon: float = 1.0
    on_min_bayes_error: bool = False
    min_bayes_error: float = 0.4
    prior: float = 0.5
    fpr: float = 0.01
    recall: float = 0.5
    weight: float = 1.0
    at_delta: float = 1e-5
    certified: bool = False
    picture: str = "cost"

    @property
    def bounds(self) -> dict[str, float]:
        """The limits that are on."""
        return {key: getattr(self, key) for key in ACCEPTED if getattr(self, f"on_{key}")}

    @property
    def attacker(self) -> dict[str, float]:
        """What the risks are about, in the words of `risk.summary`."""
        about = {key: getattr(self, key) for key in ("prior", "fpr", "recall", "weight")}
        return {**about, "delta": told_at(self.mechanism, self.at_delta)}
