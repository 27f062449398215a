"""Parameters of mechanisms (ε, δ, σ, sampling rate, steps), each declared once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tellapart import _checks
from tellapart._numeric.text import Scale
from tellapart.curve.composition.best_of import (
    FixedNumber,
    Trials,
    geometric,
    negative_binomial,
    poisson,
)
from tellapart.mechanisms.base import Sampling
from tellapart.neighbours import Neighbours


class PrivateSide(StrEnum):
    """Which way of a parameter is more private; for some it depends, or matters to nobody."""

    LARGER = "larger"
    SMALLER = "smaller"
    NEITHER = "neither"


@dataclass(frozen=True)
class Parameter:
    """A number that mechanisms are made from, declared once for commands, page and choices.

    ``low`` and ``high`` are the ends of its dial, and ``ends`` what they mean where privacy is not
    what changes. ``start`` is what it is held at while another parameter is chosen, if at all. With
    the help text ``option`` it is an option of the commands.
    """

    key: str
    label: str
    low: float
    high: float
    scale: Scale = Scale.LOG
    private_side: PrivateSide = PrivateSide.SMALLER
    symbol: str = ""
    start: float | None = None
    ends: tuple[str, str] | None = None
    option: str = ""
    is_noise: bool = False  # what people configure, however the mechanism was chosen

    @property
    def whole(self) -> bool:
        """Whether it comes in whole numbers only."""
        return self.scale is Scale.WHOLE

    @property
    def grows_private(self) -> bool:
        """Whether a larger value means more privacy: more noise, or more people to hide among."""
        return self.private_side is PrivateSide.LARGER


_LARGER, _NEITHER = PrivateSide.LARGER, PrivateSide.NEITHER
_EVEN, _WHOLE = Scale.LINEAR, Scale.WHOLE

PARAMETERS: dict[str, Parameter] = {
    parameter.key: parameter
    for parameter in (
        Parameter(
            "epsilon",
            "ε, the privacy budget",
            0.01,
            20,
            symbol="ε",
            option="ε: an output changes the odds of membership by at most e^ε.",
        ),
        Parameter(
            "delta",
            "δ, the probability that ε fails",
            1e-12,
            0.1,
            symbol="δ",
            start=1e-5,
            option="δ of every ε that is given, limited or reported. Unless given it is 0 for one "
            "pure ε-DP mechanism (such as a bare --epsilon), and 1e-5 for others and compositions.",
        ),
        Parameter(
            "sigma",
            "σ, standard deviation of the noise",
            0.05,
            100,
            private_side=_LARGER,
            symbol="σ",
            option="Standard deviation of Gaussian noise.",
            is_noise=True,
        ),
        Parameter(
            "scale",
            "scale of the noise",
            0.05,
            100,
            private_side=_LARGER,
            option="Scale of Laplace noise: its mean distance from 0.",
            is_noise=True,
        ),
        Parameter(
            "sensitivity",
            "sensitivity",
            0.01,
            100,
            start=1,
            option="Sensitivity: how far one record moves the answer; 1 unless given.",
        ),
        Parameter(
            "mu",
            "μ of Gaussian DP",
            0.01,
            10,
            symbol="μ",
            option="μ of Gaussian differential privacy.",
        ),
        Parameter(
            "noise_multiplier",
            "noise multiplier",
            0.3,
            20,
            private_side=_LARGER,
            start=1,
            option="Noise multiplier of DP-SGD: σ in units of the clipping norm.",
        ),
        Parameter(
            "sampling_rate",
            "sampling rate",
            1e-6,
            1,
            start=0.01,
            option="Sampling rate: probability that a record is in a batch.",
        ),
        Parameter(
            "steps", "steps", 1, 1_000_000, _WHOLE, start=1_000, option="Number of steps (batches)."
        ),
        Parameter(
            "epochs", "epochs", 0.1, 1_000, option="Passes over the data, instead of --steps."
        ),
        Parameter(
            "batch_size",
            "expected size of a batch",
            1,
            100_000,
            _WHOLE,
            start=100,
            option="Expected records in a batch, for --epochs.",
        ),
        Parameter(
            "data_size",
            "records",
            10,
            100_000_000,
            _WHOLE,
            _LARGER,
            start=100,
            option="Records in the data, for --epochs.",
        ),
        Parameter(
            "largest_batch",
            "largest batch",
            1,
            1_000_000,
            _WHOLE,
            _LARGER,
            option="Most records in a batch, for --scheme truncated-poisson.",
        ),
        Parameter(
            "zcdp",
            "ρ of zero-concentrated DP",
            1e-4,
            20,
            option="ρ of zero-concentrated differential privacy.",
        ),
        Parameter(
            "cutoff", "where the noise is cut off", 0.1, 1_000, private_side=_LARGER, is_noise=True
        ),
        Parameter(
            "fraction",
            "share of the high step",
            0.01,
            0.99,
            _EVEN,
            _NEITHER,
            ends=("narrow high step", "wide high step"),
        ),
        Parameter("width", "width of the noise", 0.1, 1_000, private_side=_LARGER),
        Parameter(
            "atom",
            "probability of no noise",
            0,
            0.99,
            _EVEN,
            _NEITHER,
            ends=("always noise", "often none"),
        ),
        Parameter(
            "power",
            "power of the error to minimise",
            1,
            4,
            _EVEN,
            _NEITHER,
            ends=("small errors matter", "large errors matter"),
        ),
        Parameter(
            "categories", "categories", 2, 1_000, _WHOLE, _NEITHER, start=2, ends=("few", "many")
        ),
        Parameter("keep", "probability that a one stays", 0.01, 0.99, _EVEN),
        Parameter("flip", "probability that a zero flips", 0.01, 0.99, _EVEN, _LARGER),
        Parameter(
            "step_size",
            "step size",
            1e-4,
            10,
            private_side=_NEITHER,
            symbol="η",
            start=0.1,
            ends=("short steps", "long steps"),
        ),
        Parameter("strong_convexity", "strong convexity", 1e-3, 10, private_side=_LARGER, start=1),
        Parameter("smoothness", "smoothness", 0.01, 1_000, start=4),
        Parameter("gradient_sensitivity", "gradient sensitivity", 0.01, 100, start=2),
        Parameter("distance", "distance of two places", 0.01, 100, start=1),
        Parameter(
            "threshold_scale",
            "scale of the threshold's noise",
            0.05,
            100,
            private_side=_LARGER,
            is_noise=True,
        ),
        Parameter(
            "query_scale",
            "scale of the noise of each comparison",
            0.05,
            1_000,
            private_side=_LARGER,
            is_noise=True,
        ),
        Parameter("answers", "positive answers before it ends", 1, 100, _WHOLE, start=1),
        Parameter("threshold", "threshold of counts", 1, 1_000, private_side=_LARGER),
        Parameter("keys", "keys of one person", 1, 100, _WHOLE, start=1),
        Parameter("sampled", "subsampling rate", 1e-6, 1),
        Parameter("repeated", "number of compositions", 1, 100_000, _WHOLE),
        Parameter(
            "best_of",
            "number of runs",
            1,
            1_000,
            option="Publish only the best of so many runs, as after a hyper-parameter search.",
        ),
    )
}


@dataclass(frozen=True)
class WordParameter:
    """A parameter that is one of several words, the first of which goes without saying.

    ``words`` has what each stands for, and its name for people.
    """

    key: str
    label: str
    words: Mapping[str, tuple[object, str]]
    option: str

    @property
    def usual(self) -> str:
        """What is meant where it is not given."""
        return next(iter(self.words))

    def check(self, word: object) -> str:
        """The word, if it is one of them."""
        if not isinstance(word, str) or word not in self.words:
            _checks.refuse(self.key, f"be one of {', '.join(self.words)}", word)
        return word


def _logarithmic(mean: float) -> Trials:
    return negative_binomial(shape=0, mean=mean)


WORD_PARAMETERS: dict[str, WordParameter] = {
    parameter.key: parameter
    for parameter in (
        WordParameter(
            "scheme",
            "sampling scheme",
            {
                "poisson": (Sampling.POISSON, "Poisson: each record independently"),
                "fixed-size": (
                    Sampling.WITHOUT_REPLACEMENT,
                    "Fixed size: a random batch (replace-one)",
                ),
                "random-allocation": (
                    Sampling.RANDOM_ALLOCATION,
                    "Random allocation (balls in bins): one step of every epoch",
                ),
                "shuffled": (
                    Sampling.SHUFFLED,
                    "Shuffled: one random order an epoch (zero-out)",
                ),
                "truncated-poisson": (
                    Sampling.TRUNCATED_POISSON,
                    "Truncated Poisson: up to a largest batch",
                ),
            },
            option="How batches are drawn. poisson: each record independently (default); "
            "fixed-size: batches of one size, for neighbours that replace a record; "
            "random-allocation: each record in one random step of every epoch (balls in bins); "
            "shuffled: one random order an epoch, cut into batches, as most data loaders do, for "
            "neighbours that zero out a record; "
            "truncated-poisson: as poisson, cut down to --largest-batch.",
        ),
        WordParameter(
            "neighbours",
            "neighbours",
            {
                "of-scheme": (None, "Those that belong to the scheme"),
                "add-remove": (Neighbours.ADD_REMOVE, "Add or remove one record"),
                "zero-out": (Neighbours.ZERO_OUT, "Zero out one record"),
                "replace-one": (Neighbours.REPLACE, "Replace one record"),
            },
            option="Neighbours of DP-SGD: of-scheme (default), add-remove, zero-out or "
            "replace-one; those that no theorem covers are refused.",
        ),
        WordParameter(
            "monotone",
            "queries that all move the same way",
            {"no": (False, "No"), "yes": (True, "Yes, as counts do")},
            option="Whether a record moves all queries of above-threshold the same way, as it does "
            "counts: no (default) or yes.",
        ),
        WordParameter(
            "runs",
            "law of the number of runs",
            {
                "fixed": (FixedNumber, "Fixed: so many, always"),
                "geometric": (geometric, "Geometric, with this mean"),
                "logarithmic": (_logarithmic, "Logarithmic, with this mean"),
                "poisson": (poisson, "Poisson, with this mean"),
            },
            option="How the number of runs of --best-of is drawn, before any of them: fixed "
            "(default), geometric, logarithmic or poisson, which have it as their mean.",
        ),
    )
}
