"""Mechanisms by name (Laplace, Gaussian, DP-SGD), and from which parameters each is made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tellapart.curve.guarantees import guarantee
from tellapart.mechanisms.catalogue.parameters import WORD_PARAMETERS
from tellapart.mechanisms.choice import (
    ExponentialMechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    UnaryEncoding,
)
from tellapart.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from tellapart.mechanisms.last_iterate import LastIterate
from tellapart.mechanisms.noise import Gaussian, Laplace, TruncatedLaplace
from tellapart.mechanisms.query_engines.partition_selection import PartitionSelection
from tellapart.mechanisms.query_engines.sparse_vector import AboveThreshold
from tellapart.mechanisms.query_engines.thresholded_histogram import ThresholdedHistogram
from tellapart.mechanisms.shapes import PlanarLaplace, Staircase, UniformNoise
from tellapart.mechanisms.subject import Subject
from tellapart.mechanisms.training import dp_sgd, dp_sgd_with_epsilon


@dataclass(frozen=True)
class Way:
    """One way to make a subject: from these parameters, the latter of which may be left out."""

    make: Callable[..., Subject]
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ",".join([f"{key}=…" for key in self.needs] + [f"[{key}=…]" for key in self.takes])

    def made(self, values: Mapping[str, Any]) -> Subject:
        """The subject with these values, words among them as what they stand for."""
        meant = {
            key: WORD_PARAMETERS[key].words[value][0] if key in WORD_PARAMETERS else value
            for key, value in values.items()
        }
        return self.make(**meant)

    def fits(self, given: Collection[str]) -> bool:
        """Whether these parameters make it."""
        return set(self.needs) <= set(given) <= {*self.needs, *self.takes}


@dataclass(frozen=True)
class Kind:
    """A mechanism by name, declared once for commands, page and choices.

    ``start`` are the numbers that a page shows it with first. ``choosable`` are the parameters that
    a page offers to choose, the usual first; without any it is the first that the first way needs.
    ``never_chosen`` are those with which its risks do not change in one direction.
    """

    name: str
    ways: tuple[Way, ...]
    start: str
    choosable: tuple[str, ...] = ()
    title: str = ""
    composition: bool = False  # of many steps, for which there is no formula
    never_chosen: tuple[str, ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """All that it may be made from."""
        return tuple(dict.fromkeys(key for way in self.ways for key in (*way.needs, *way.takes)))

    @property
    def words(self) -> str:
        """The name for people."""
        if self.title:
            return self.title
        first, *others = self.name.split("-")
        people = [word.capitalize() if word in ("laplace", "gaussian") else word for word in others]
        return " ".join([first.capitalize(), *people])

    @property
    def first_text(self) -> str:
        """The mechanism that a page starts with."""
        return f"{self.name}:{self.start}"


def _gaussian_histogram(
    sigma: float, threshold: float, keys: int = 1, sensitivity: float = 1.0
) -> ThresholdedHistogram:
    return ThresholdedHistogram(Gaussian(sigma, sensitivity), threshold, keys)


def _laplace_histogram(
    scale: float, threshold: float, keys: int = 1, sensitivity: float = 1.0
) -> ThresholdedHistogram:
    return ThresholdedHistogram(Laplace(scale, sensitivity), threshold, keys)


_SCALED = ("sensitivity",)
_ASKED = ("sensitivity", "answers", "monotone")
_COUNTED = ("keys", "sensitivity")
_DRAWN = ("scheme", "neighbours")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "any",
            (
                Way(guarantee, ("epsilon",), ("delta",)),
                Way(guarantee, ("mu",)),
                Way(guarantee, ("zcdp",)),
            ),
            "epsilon=1,delta=1e-5",
            ("epsilon", "mu"),
            title="Any mechanism with ε and δ",
        ),
        Kind(
            "laplace",
            (
                Way(Laplace.with_epsilon, ("epsilon",), _SCALED),
                Way(Laplace, ("scale",), _SCALED),
            ),
            "epsilon=1",
            ("epsilon", "scale"),
        ),
        Kind(
            "gaussian",
            (
                Way(Gaussian, ("sigma",), _SCALED),
                Way(Gaussian.with_epsilon, ("epsilon", "delta"), _SCALED),
            ),
            "sigma=1",
            ("sigma", "epsilon"),
        ),
        Kind(
            "gaussian-classic",
            (Way(Gaussian.classic, ("epsilon", "delta"), _SCALED),),
            "epsilon=0.5,delta=1e-5",
            title="Gaussian noise by the classic formula",
        ),
        Kind(
            "discrete-laplace",
            (
                Way(DiscreteLaplace.with_epsilon, ("epsilon",), _SCALED),
                Way(DiscreteLaplace, ("scale",), _SCALED),
            ),
            "epsilon=1",
            ("epsilon", "scale"),
        ),
        Kind("discrete-gaussian", (Way(DiscreteGaussian, ("sigma",), _SCALED),), "sigma=1"),
        Kind(
            "truncated-laplace",
            (
                Way(TruncatedLaplace.with_epsilon, ("epsilon", "delta"), _SCALED),
                Way(TruncatedLaplace, ("scale", "cutoff"), _SCALED),
            ),
            "epsilon=1,delta=1e-5",
        ),
        Kind(
            "staircase",
            (Way(Staircase, ("epsilon",), ("sensitivity", "fraction")),),
            "epsilon=1",
        ),
        Kind(
            "uniform",
            (
                Way(UniformNoise, ("width",), ("atom", "sensitivity")),
                Way(UniformNoise.optimal, ("delta",), ("sensitivity", "power")),
            ),
            "delta=0.1",
            ("width", "delta"),
        ),
        Kind(
            "randomized-response",
            (Way(RandomizedResponse, ("epsilon",), ("categories",)),),
            "epsilon=1",
            title="Randomised response",
        ),
        Kind(
            "unary-encoding",
            (
                Way(UnaryEncoding.optimised, ("epsilon",)),
                Way(UnaryEncoding, ("keep", "flip")),
            ),
            "epsilon=1",
        ),
        Kind(
            "symmetric-unary-encoding", (Way(UnaryEncoding.symmetric, ("epsilon",)),), "epsilon=1"
        ),
        Kind("exponential", (Way(ExponentialMechanism, ("epsilon",)),), "epsilon=1"),
        Kind("permute-and-flip", (Way(PermuteAndFlip, ("epsilon",)),), "epsilon=1"),
        Kind(
            "noisy-max",
            (Way(ReportNoisyMax, ("epsilon",)),),
            "epsilon=1",
            title="Report noisy max",
        ),
        Kind(
            "above-threshold",
            (
                Way(AboveThreshold.with_epsilon, ("epsilon",), _ASKED),
                Way(AboveThreshold, ("threshold_scale", "query_scale"), _ASKED),
            ),
            "epsilon=1",
            title="AboveThreshold (sparse vector)",
        ),
        Kind(
            "thresholded-histogram",
            (
                Way(_gaussian_histogram, ("sigma", "threshold"), _COUNTED),
                Way(_laplace_histogram, ("scale", "threshold"), _COUNTED),
            ),
            "sigma=5,threshold=25",
            ("threshold",),
            # More noise hides counts, and carries more new keys beyond the threshold.
            never_chosen=("sigma", "scale"),
        ),
        Kind(
            "partition-selection",
            (Way(PartitionSelection, ("epsilon", "delta")),),
            "epsilon=1,delta=1e-5",
            # The corner of (ε, δ) that no whole number of people reaches moves with both.
            never_chosen=("epsilon", "delta"),
        ),
        Kind("planar-laplace", (Way(PlanarLaplace, ("epsilon",), ("distance",)),), "epsilon=1"),
        Kind(
            "last-iterate",
            (
                Way(
                    LastIterate,
                    (
                        "sigma",
                        "steps",
                        "step_size",
                        "strong_convexity",
                        "smoothness",
                        "gradient_sensitivity",
                        "batch_size",
                        "data_size",
                    ),
                ),
            ),
            "sigma=0.1,steps=100,step_size=0.1,strong_convexity=1,smoothness=4,"
            "gradient_sensitivity=2,batch_size=100,data_size=100",
        ),
        Kind(
            "dpsgd",
            (
                Way(dp_sgd, ("noise_multiplier", "sampling_rate", "steps"), _DRAWN),
                Way(dp_sgd, ("noise_multiplier", "epochs", "batch_size", "data_size"), _DRAWN),
                Way(
                    dp_sgd,
                    ("noise_multiplier", "sampling_rate", "steps", "data_size", "largest_batch"),
                    _DRAWN,
                ),
                Way(
                    dp_sgd,
                    ("noise_multiplier", "epochs", "batch_size", "data_size", "largest_batch"),
                    _DRAWN,
                ),
                Way(dp_sgd_with_epsilon, ("epsilon", "delta", "sampling_rate", "steps"), _DRAWN),
                Way(
                    dp_sgd_with_epsilon,
                    ("epsilon", "delta", "epochs", "batch_size", "data_size"),
                    _DRAWN,
                ),
                Way(
                    dp_sgd_with_epsilon,
                    ("epsilon", "delta", "sampling_rate", "steps", "data_size", "largest_batch"),
                    _DRAWN,
                ),
                Way(
                    dp_sgd_with_epsilon,
                    ("epsilon", "delta", "epochs", "batch_size", "data_size", "largest_batch"),
                    _DRAWN,
                ),
            ),
            "noise_multiplier=1,sampling_rate=0.01,steps=1000",
            ("noise_multiplier", "steps", "sampling_rate"),
            title="DP-SGD",
            composition=True,
        ),
    )
}

# What every mechanism takes beside its own parameters: how often, and on a sample; and whether the
# best of several runs alone is published, and how many they are.
REPETITION = ("repeated", "sampled")
WRAPPERS = (*REPETITION, "best_of", "runs")
