"""Other auditors of mechanisms one can only call, each in its own words, in this process.

None of them is on a package index: a checkout of each is put on the path (cmla-psu/statdp,
eth-sri/dp-sniper, google/differential-privacy under python/dp_auditorium). StatDP needs numba and
tqdm; DP-Sniper torch, tensorboard and scikit-learn; dp_auditorium etils, and TensorFlow unless its
``testers/__init__.py`` is emptied. All are handed the same pair of inputs, the same mechanism and
the same confidence, 95 %.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.zoo.specimen import Specimen

LEVEL = 0.05
# The largest ε sought, and how often that is halved, where a peer answers for one ε at a time.
MOST, HALVINGS = 8.0, 8
# On each input: twice to learn, once for a threshold, twice to compare, once at the end.
SNIPED = 6


@dataclass(frozen=True)
class Prober:
    """A peer: what it is called, what must be importable, and how it is asked for a bound on ε.

    It calls the mechanism on each input in so many stages, each as often as it is told.
    """

    name: str
    module: str
    ask: Callable[[Specimen, int], float]
    stages: int
    left_out: dict[str, str]

    def missing(self) -> str:
        """Why it cannot run here; nothing if it can."""
        try:
            importlib.import_module(self.module)
        except ImportError as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def commit(self) -> str:
        """The version of its files: of their repository, or as a file COMMIT beside them says."""
        file = sys.modules[self.module].__file__
        folders = list(Path(str(file)).resolve().parents)
        for folder in folders:
            if (folder / "COMMIT").is_file():
                return (folder / "COMMIT").read_text(encoding="utf-8").strip()
        command = ["git", "-C", str(folders[0]), "rev-parse", "HEAD"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        return done.stdout.strip() or "unknown"


def timed(prober: Prober, specimen: Specimen, samples: int) -> tuple[float, float]:
    """What a peer proves, and the CPU seconds it takes."""
    start = time.process_time()
    bound = prober.ask(specimen, samples)
    return bound, time.process_time() - start


def largest(proves: Callable[[float], bool]) -> float:
    """The largest ε that is refuted, by halving."""
    low, high = 0.0, MOST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if proves(middle) else (low, middle)
    return low


# -- StatDP: half-lines or categories of each number, a p-value for one ε ------------------------


class _Here:
    """What StatDP asks of a pool of processes, done in this one so that its seconds count."""

    _processes = 1

    def imap_unordered(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        return map(task, items)


def statdp(specimen: Specimen, samples: int) -> float:
    """Its event selector and its test as `detect_counterexample` calls them, for one ε at a time.

    Fresh calls for every ε, none of which it corrects for: at each, ``samples`` to select and as
    many to test.
    """
    from statdp.hypotest import hypothesis_test
    from statdp.selectors import select_event

    def algorithm(prng: Any, data: Any) -> Any:
        output = specimen.mechanism(data, prng)
        return tuple(output) if np.ndim(output) else output

    def proves(epsilon: float) -> bool:
        pairs = ((*specimen.pairs[0], {}),)
        chosen = select_event(algorithm, pairs, epsilon, samples, _Here(), quiet=True)
        p = hypothesis_test(algorithm, *chosen, epsilon, samples, _Here(), report_p2=False)
        return bool(p < LEVEL)

    return largest(proves)


# -- DP-Sniper: a classifier, an event of probability 0.01, Clopper-Pearson ----------------------


def _sniper(factory: Callable[[int, Any], Any]) -> Callable[[Specimen, int], float]:
    def ask(specimen: Specimen, samples: int) -> float:
        from dpsniper.utils.paths import set_output_directory
        from dpsniper.utils.torch import torch_initialize

        torch_initialize(torch_threads=1)
        with tempfile.TemporaryDirectory() as folder:
            set_output_directory(folder)
            return _hunted(specimen, samples, factory)

    return ask


def _hunted(specimen: Specimen, samples: int, factory: Callable[[int, Any], Any]) -> float:
    """DD-Search over the two orders of one pair, with ``samples`` calls for each stage."""
    from dpsniper.attack.dpsniper import DPSniper
    from dpsniper.mechanisms.abstract import Mechanism
    from dpsniper.probability.estimators import EpsEstimator, PrEstimator
    from dpsniper.search.ddconfig import DDConfig
    from dpsniper.search.ddwitness import DDWitness

    rng = np.random.default_rng(0)

    class Adapted(Mechanism):  # type: ignore[misc, unused-ignore]
        def m(self, a: Any, n_samples: int = 1) -> Any:
            return np.asarray(specimen.mechanism(a, rng, n_samples), dtype=float)

    config = DDConfig(
        n_train=samples,
        n=samples,
        n_check=samples,
        n_final=samples,
        n_processes=1,
        confidence=1 - LEVEL,
    )
    mechanism = Adapted()
    width = int(np.size(specimen.mechanism(specimen.pairs[0][0], rng)))
    sniper = DPSniper(mechanism, factory(width, _flags(specimen)), config)
    witnesses = []
    for first, second in (specimen.pairs[0], specimen.pairs[0][::-1]):
        witness = DDWitness(first, second, sniper.best_attack(first, second))
        witness.compute_eps_using_estimator(EpsEstimator(PrEstimator(mechanism, samples, config)))
        witnesses.append(witness)
    best = max(witnesses, key=lambda witness: witness.eps)
    best.compute_eps_using_estimator(EpsEstimator(PrEstimator(mechanism, samples, config)))
    return max(float(best.lower_bound), 0.0)


def _flags(specimen: Specimen) -> Any:
    """As in its own experiments: −1 stands for "not asked" where searches stop."""
    if specimen.name in ("sparse-vector-1", "sparse-vector-4"):
        from dpsniper.classifiers.feature_transformer import FlagsFeatureTransformer

        return FlagsFeatureTransformer([-1])
    return None


def _logistic(width: int, flags: Any) -> Any:
    from dpsniper.classifiers.classifier_factory import LogisticRegressionFactory
    from dpsniper.classifiers.torch_optimizer_factory import SGDOptimizerFactory

    return LogisticRegressionFactory(
        in_dimensions=width * (2 if flags else 1),
        optimizer_factory=SGDOptimizerFactory(learning_rate=0.3, momentum=0.3, step_size=500),
        feature_transform=flags,
        regularization_weight=0.001,
        epochs=10,
    )


def _perceptron(width: int, flags: Any) -> Any:
    from dpsniper.classifiers.classifier_factory import MultiLayerPerceptronFactory
    from dpsniper.classifiers.torch_optimizer_factory import AdamOptimizerFactory

    return MultiLayerPerceptronFactory(
        in_dimensions=width * (2 if flags else 1),
        hidden_sizes=(10, 5),
        optimizer_factory=AdamOptimizerFactory(learning_rate=0.1, step_size=500),
        feature_transform=flags,
        regularization_weight=0.0001,
        epochs=10,
    )


# -- dp_auditorium: δ from a histogram of one number, for one ε ----------------------------------


def auditorium(specimen: Specimen, samples: int) -> float:
    """Its histogram tester in both orders, half the level each, over ε on the same calls.

    It must be told where numbers lie and how many bins to make: 50 between far quantiles.
    """
    from dp_auditorium.configs import privacy_property, property_tester_config
    from dp_auditorium.testers.histogram_tester import HistogramTester

    rng = np.random.default_rng(0)
    first, second = (np.asarray(specimen.mechanism(d, rng, samples)) for d in specimen.pairs[0])
    whole = bool(np.issubdtype(first.dtype, np.integer))
    low, high = np.quantile(first, [0.002, 0.998])

    def proves(epsilon: float) -> bool:
        config = property_tester_config.HistogramPropertyTesterConfig(
            test_discrete_mechanism=whole,
            histogram_size=len(specimen.pairs[0][0]) if whole else 50,
            min_value=float(low),
            max_value=float(high),
            approximate_dp=privacy_property.ApproximateDp(epsilon, 0.0),
        )
        tester = HistogramTester(config)
        both = ((first, second), (second, first))
        bounds = [tester.estimate_lower_bound(*pair, LEVEL / 2) for pair in both]
        return any(tester.reject_property(bound) for bound in bounds)

    return largest(proves)


_EVENTS = "39,366 events to count at each ε"
_ONE_NUMBER = "takes outputs of one number"
_VECTORS = ("sparse-vector-1", "sparse-vector-4", "histogram", "histogram-upside-down")
PROBERS = (
    Prober(
        "StatDP",
        "statdp.selectors",
        statdp,
        2 * HALVINGS,
        {"sparse-vector-1": _EVENTS, "sparse-vector-4": _EVENTS},
    ),
    Prober("DP-Sniper, logistic", "dpsniper.attack.dpsniper", _sniper(_logistic), SNIPED, {}),
    Prober("DP-Sniper, perceptron", "dpsniper.attack.dpsniper", _sniper(_perceptron), SNIPED, {}),
    Prober(
        "dp_auditorium, histogram",
        "dp_auditorium.testers.histogram_tester",
        auditorium,
        1,
        dict.fromkeys(_VECTORS, _ONE_NUMBER),
    ),
)
