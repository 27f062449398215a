"""The catalogue of mechanisms and their parameters, by name: ``laplace:epsilon=1``.

A mechanism is one `Kind`, a number that mechanisms are made from one `Parameter`, and one of
several words a `WordParameter`: options, dials and tables all derive from these records.

A name may be made in several ways, each from its own parameters; the parameters that are given
decide which is meant. ``any`` stands for every mechanism that keeps a promise. Every mechanism
also takes ``sampled`` and ``repeated``, then ``best_of`` (with the law ``runs`` of that number),
and ``+`` puts a mechanism after another:
``gaussian:sigma=2,sampled=0.01,repeated=100+laplace:epsilon=0.5``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import combinations
from typing import Any

from tellapart import _checks
from tellapart._decimals import plain_exponent
from tellapart._numeric.text import Scale, short
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.composition.best_of import (
    FixedNumber,
    Trials,
    geometric,
    negative_binomial,
    poisson,
)
from tellapart.curve.guarantees import guarantee
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.choice import (
    ExponentialMechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    UnaryEncoding,
)
from tellapart.mechanisms.combine import compose
from tellapart.mechanisms.custom import Promise
from tellapart.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from tellapart.mechanisms.last_iterate import LastIterate
from tellapart.mechanisms.noise import Gaussian, Laplace, TruncatedLaplace
from tellapart.mechanisms.query_engines.partition_selection import PartitionSelection
from tellapart.mechanisms.query_engines.sparse_vector import AboveThreshold
from tellapart.mechanisms.query_engines.thresholded_histogram import ThresholdedHistogram
from tellapart.mechanisms.shapes import PlanarLaplace, Staircase, UniformNoise
from tellapart.mechanisms.subject import Subject
from tellapart.mechanisms.training import dp_sgd, dp_sgd_with_epsilon
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

    def families(self) -> dict[str, str]:
        """Each parameter that can be chosen, and the text that leaves it alone open."""
        keys = self.choosable or self.ways[0].needs[:1]
        return {key: self._leaving_open(key) for key in keys if key not in self.never_chosen}

    def _leaving_open(self, parameter: str) -> str:
        way = next(way for way in self.ways if parameter in way.needs)
        own, needed = terms(self.first_text)[0].values, set(way.needs)
        starts = {
            key: own.get(key) if key in needed and known.start is None else known.start
            for key in (*way.needs, *way.takes)
            if key != parameter and (known := PARAMETERS.get(key))
        }
        numbers = {key: start for key, start in starts.items() if start is not None}
        return str(Term(self.name, numbers))


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
_THEN = re.compile(r"\+(?=\s*[a-zA-Z])")  # the plus of 1e+5 has a digit after it


@dataclass(frozen=True)
class NamedFamily:
    """What a name leaves open: a family in one parameter, and which way it grows."""

    name: str
    parameter: str
    fixed: Mapping[str, Any]
    make: Callable[[float], Subject]

    @property
    def grows_private(self) -> bool:
        """Whether a larger parameter means more privacy."""
        return PARAMETERS[self.parameter].grows_private

    @property
    def composed(self) -> bool:
        """Whether the parameter is that of one step among several, or on a sample."""
        return any(key in self.fixed for key in WRAPPERS)

    @property
    def slow(self) -> bool:
        """Whether what it makes are compositions, which take more than a formula."""
        return self.composed or KINDS[self.name].composition

    @property
    def whole(self) -> bool:
        """Whether the parameter comes in whole numbers only."""
        return PARAMETERS[self.parameter].whole


@dataclass(frozen=True)
class Term:
    """One mechanism of a text, as it was typed: its name and its numbers (or words)."""

    name: str
    values: Mapping[str, Any]

    def __str__(self) -> str:
        numbers = ",".join(f"{key}={_short(value)}" for key, value in self.values.items())
        return f"{self.name}:{numbers}" if numbers else self.name


def terms(text: str) -> tuple[Term, ...]:
    """What a text is made of, whether or not it is complete.

    >>> [str(term) for term in terms("gaussian:sigma=2 , repeated=1e1 + laplace")]
    ['gaussian:sigma=2,repeated=10', 'laplace']
    """
    return tuple(Term(*_parsed(part, {})) for part in _terms(text))


def _short(value: float | str) -> str:
    """The shortest text that reads back as the same number; a word as it is."""
    if isinstance(value, str):
        return value
    whole = abs(value) < 1e6 and value == int(value)
    return str(int(value)) if whole else plain_exponent(repr(float(value)))


def parse(text: str, **given: float | str) -> Subject:
    """The mechanism, or the (ε, δ) promise, that a short text stands for, as on the command line.

    ``name:key=number,key=number``; the keys say how the mechanism is made: ``gaussian:sigma=2`` or
    ``gaussian:epsilon=1,delta=1e-5``. Every mechanism also takes ``sampled`` and ``repeated``, then
    ``best_of`` and ``runs`` (fixed, geometric, logarithmic or poisson), and ``+`` puts another
    after it. ``any`` is every mechanism that keeps a promise: a curve, not one
    mechanism. Numbers may also be ``given`` by keyword. ``dpsgd`` also takes a sampling ``scheme``:
    poisson, fixed-size, random-allocation, shuffled or truncated-poisson, and ``neighbours``. Names
    and keys are those of ``tellapart risk --help``.

    >>> parse("laplace:epsilon=1")
    Laplace(scale=1.0)
    >>> parse("gaussian:sigma=2,sampled=0.1,repeated=9+laplace:epsilon=1")
    Gaussian(sigma=2.0).sampled(0.1).repeated(9).then(Laplace(scale=1.0))
    >>> parse("any:epsilon=1,delta=1e-5")
    <curve of guarantee(epsilon=1.0, delta=1e-05), guarantee (f from below)>
    >>> parse("gaussian:sigma=4,best_of=10,runs=geometric")
    Gaussian(sigma=4.0).best_of(geometric(mean=10.0))

    See Also
    --------
    tellapart.dp_sgd : the same for DP-SGD, with its numbers checked as they are typed
    """
    first, *later = _terms(text)
    if not later:
        return _made(first, given)
    return compose([_step(_made(first, given), first), *(_step(_made(x, {}), x) for x in later)])


named = parse  # what `tellapart.mechanisms.named`, a path of 0.1, has it under


def _terms(text: str) -> list[str]:
    if not isinstance(text, str):
        _checks.refuse("mechanism", "be a text such as laplace:epsilon=1", text)
    return [part.strip() for part in _THEN.split(text)]


def _made(text: str, given: Mapping[str, Any]) -> Subject:
    name, values, often = _apart(text, given)
    for way in KINDS[name].ways:
        if way.fits(values):
            return _taken(way.made(values), often, text)
    return _refuse(name, values)


def _taken(subject: Subject, often: Mapping[str, Any], text: str) -> Subject:
    """The subject on a sample, so many times over, and the best of so many runs of all that."""
    if not often:
        return subject
    step = _step(subject, text)
    if "sampled" in often:
        step = step.sampled(often["sampled"])
    if "repeated" in often:
        step = step.repeated(_checks.whole(1, repeated=often["repeated"]))
    if "best_of" in often:
        word = WORD_PARAMETERS["runs"]
        law: Any = word.words[often.get("runs", word.usual)][0]
        return step.best_of(law(often["best_of"]))
    if "runs" in often:
        _checks.refuse("mechanism", "have best_of, too: runs is the law of that number", text)
    return step


_COMPOSED = "compose a mechanism or a guarantee of epsilon and delta, not one of mu or zcdp"


def _step(subject: Subject, text: str) -> Mechanism:
    """A subject as a step of a composition: of a guarantee, the worst mechanism that has it."""
    if isinstance(subject, Mechanism):
        return subject
    if isinstance(subject, GuaranteeCurve):
        return Promise(subject.claimed_epsilon, subject.claimed_delta)
    return _checks.refuse("mechanism", _COMPOSED, text)


def named_family(text: str, parameter: str | None = None, **given: float | str) -> NamedFamily:
    """The family that a short text leaves open in one parameter: in ε wherever it can be.

    >>> named_family("laplace").parameter, named_family("gaussian").parameter
    ('epsilon', 'sigma')
    >>> named_family("gaussian:delta=1e-5").parameter
    'epsilon'
    """
    if len(_terms(text)) > 1:
        rule = "be one mechanism where a parameter is left open, not several joined by +"
        _checks.refuse("mechanism", rule, text)
    name, values, often = _apart(text, given)
    every = _left_open(name, values)
    ways = {key: way for key, way in every.items() if key not in KINDS[name].never_chosen}
    if every and not ways:
        rule = f"leave open what its risks change with in one direction, not {' or '.join(every)}"
        _checks.refuse("mechanism", rule, text)
    if parameter is not None:
        if parameter not in ways:
            rule = f"be one that {text!r} leaves open ({', '.join(ways) or 'none'})"
            _checks.refuse("parameter", rule, parameter)
        ways = {parameter: ways[parameter]}
    if not ways:
        _refuse_several_open(name, values, text)
        _refuse_apart(name, values, _shown(name, values))
        options = " or ".join(dict.fromkeys(key for way in KINDS[name].ways for key in way.needs))
        rule = f"leave one parameter of {name} open ({options}; ways to make it: {_ways(name)})"
        _checks.refuse("mechanism", rule, text)
    free = "epsilon" if "epsilon" in ways else next(iter(ways))
    if often and name == "any" and free in ("mu", "zcdp"):  # whatever the number
        _checks.refuse("mechanism", _COMPOSED, text)

    def make(value: float) -> Subject:
        return _taken(ways[free].made({free: value, **values}), often, text)

    return NamedFamily(name, free, {**values, **often}, make)


def _refuse_several_open(name: str, values: Mapping[str, Any], text: str) -> None:
    """Say what else to give where more than what is usually chosen is left open."""
    kind = KINDS[name]
    aim = (kind.choosable or kind.ways[0].needs)[0]
    lacking = [
        [key for key in way.needs if key != aim and key not in values]
        for way in kind.ways
        if aim in way.needs and set(values) <= {*way.needs, *way.takes}
    ]
    if aim in values or not lacking or not all(lacking):
        return
    rule = f"have {_fewest(lacking)}, too; {aim} is then chosen"
    _checks.refuse("mechanism", rule, text)


def _fewest(lacking: list[list[str]]) -> str:
    """What could be given besides, without what only asks for more."""
    fewest = [keys for keys in lacking if not any(set(few) < set(keys) for few in lacking)]
    first, *others = dict.fromkeys(" and ".join(keys) for keys in fewest)
    return f"{first} (or {' or '.join(others)})" if others else first


def _refuse_apart(name: str, values: Mapping[str, Any], shown: str) -> None:
    """Name two parameters that no way takes together, and what goes with each."""
    ways = [{*way.needs, *way.takes} for way in KINDS[name].ways]
    for pair in combinations(values, 2):
        either = [[keys for keys in ways if key in keys] for key in pair]
        if not all(either) or any(set(pair) <= keys for keys in ways):
            continue
        fits = [min(found, key=lambda keys: len(keys - set(values))) for found in either]
        needs = [
            [x for x in KINDS[name].parameters if x in fit - other - set(pair)]
            for fit, other in (fits, fits[::-1])
        ]
        goes = [
            f"{key} (with {' and '.join(keys)})" if keys else key
            for key, keys in zip(pair, needs, strict=True)
        ]
        _checks.refuse("mechanism", f"have either {' or '.join(goes)}, not both", shown)


def open_parameters(text: str, **given: float | str) -> tuple[str, ...]:
    """What one mechanism leaves to be chosen: each of these alone would complete it.

    >>> open_parameters("gaussian"), open_parameters("gaussian", delta=1e-6)
    (('sigma',), ('epsilon',))
    """
    name, values, _ = _apart(text, given)
    return tuple(_left_open(name, values))


def takes_delta(text: str, **given: float | str) -> bool:
    """Whether a δ among these, and not in the text, completes the first mechanism.

    >>> takes_delta("gaussian", epsilon=1, delta=1e-6), takes_delta("gaussian", sigma=2, delta=1e-6)
    (True, False)
    """
    first = _terms(text)[0]
    if "delta" in terms(first)[0].values:
        return False
    name, values, _ = _apart(first, given)
    return any(way.fits(values) for way in KINDS[name].ways)


SENSITIVITY_ASSUMED = "sensitivity 1 (default): the most by which one record moves the answer"


def assumes_sensitivity(text: str, **given: float | str) -> bool:
    """Whether noise is given by its size alone, and so for a sensitivity of 1 that nobody stated.

    >>> assumes_sensitivity("laplace", scale=100), assumes_sensitivity("laplace", epsilon=1)
    (True, False)
    """
    first, *later = terms(text)
    return any(
        "sensitivity" not in values
        and any(
            "sensitivity" in way.takes
            and set(way.needs) <= set(values)
            and any(PARAMETERS[key].grows_private for key in way.needs)
            for way in KINDS[name].ways
        )
        for name, values in (
            (first.name, {**first.values, **given}),
            *((term.name, term.values) for term in later),
        )
    )


def own_delta(text: str) -> float | None:
    """The δ by which a mechanism is given; None where it has none, or it is that of a step.

    >>> own_delta("gaussian:epsilon=1,delta=1e-6"), own_delta("any:epsilon=1,delta=1e-6,repeated=9")
    (1e-06, None)
    """
    return None if is_composed(text) else terms(text)[0].values.get("delta")


def is_pure(text: str, given: Collection[str] = ()) -> bool:
    """Whether it is one pure ε-DP mechanism: ε alone makes it, and at δ = 0 its ε is finite.

    >>> is_pure("laplace:scale=2"), is_pure("any", ["mu"]), is_pure("laplace:epsilon=1,repeated=9")
    (True, False, False)
    """
    if is_composed(text):
        return False
    (term,) = terms(text)
    impure = {"delta", "mu", "zcdp"}.intersection((*term.values, *given))
    return not impure and any(way.needs == ("epsilon",) for way in KINDS[term.name].ways)


def is_composed(text: str) -> bool:
    """Whether a text is of several steps or of a sample, so that a δ in it is not that of all."""
    first, *later = terms(text)
    return bool(later) or any(key in first.values for key in WRAPPERS)


def labelled(text: str, given: Mapping[str, Any]) -> str:
    """A text with numbers that were given beside it, which are those of its first mechanism.

    >>> labelled("gaussian+laplace:epsilon=1", {"sigma": 2})
    'gaussian:sigma=2+laplace:epsilon=1'
    """
    first, *later = _terms(text)
    numbers = _listed(given)
    if numbers:
        first = f"{first}{',' if ':' in first else ':'}{numbers}"
    return "+".join([first, *later]) if numbers else text


def _listed(values: Mapping[str, Any]) -> str:
    return ",".join(
        f"{key}={value if isinstance(value, str) else short(value)}"
        for key, value in values.items()
    )


def _apart(text: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A name, its own numbers, and on what sample, how often and the best of how many."""
    name, values = _parsed(text, given)
    often = {key: values.pop(key) for key in WRAPPERS if key in values}
    return name, values, often


def _left_open(name: str, values: Mapping[str, Any]) -> dict[str, Way]:
    """The parameters of which one alone is missing, and the way that it completes."""
    completed_by: dict[str, Way] = {}
    for way in KINDS[name].ways:
        missing = set(way.needs) - set(values)
        if set(values) <= {*way.needs, *way.takes} and len(missing) == 1:
            completed_by.setdefault(missing.pop(), way)
    return completed_by


def _parsed(text: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name, _, rest = text.strip().partition(":")
    if name not in KINDS:
        near = get_close_matches(name.lower(), KINDS, n=1)
        perhaps = f" (did you mean {near[0]}?)" if near else ""
        _checks.refuse("mechanism", f"be one of {', '.join(KINDS)}{perhaps}", text)
    values = {
        key: WORD_PARAMETERS[key].check(value)
        if key in WORD_PARAMETERS
        else _checks.number(**{key: value})
        for key, value in given.items()
    }
    for item in rest.split(",") if rest else []:
        key, _, value = (part.strip() for part in item.partition("="))
        if key in values:
            _checks.refuse("mechanism", f"give {key} only once", text)
        word = WORD_PARAMETERS.get(key)
        values[key] = word.check(value) if word else _number(key, value, text)
    return name, values


def _number(key: str, value: str, text: str) -> float:
    for kind in (int, float):
        try:
            number = kind(value)
        except ValueError:
            continue
        if abs(number) > sys.float_info.max:
            _checks.refuse("mechanism", f"have a {key} that a double can hold", text[:80])
        return number
    rule = "be written as name:key=number,key=number"
    return _checks.refuse("mechanism", f"{rule} ({key or value!r} has no number)", text)


def _ways(name: str) -> str:
    return " or ".join(f"{name}:{way}" for way in KINDS[name].ways)


def _shown(name: str, values: Mapping[str, Any]) -> str:
    got = _listed(values)
    return f"{name}:{got}" if got else name


def _refuse(name: str, values: Mapping[str, Any]) -> Subject:
    shown = _shown(name, values)
    lacking = [
        [key for key in way.needs if key not in values]
        for way in KINDS[name].ways
        if values and set(values) <= {*way.needs, *way.takes}
    ]
    if lacking == [["delta"]] and "epsilon" in values:
        raise InvalidArgument(
            f"mechanism must have delta, too, got {shown!r}; write {shown},delta=1e-5, as it has "
            "no finite ε at δ = 0"
        )
    if lacking:
        return _checks.refuse("mechanism", f"have {_fewest(lacking)}, too", shown)
    _refuse_apart(name, values, shown)
    return _checks.refuse("mechanism", f"be given as {_ways(name)}", shown)
