"""Distinguishers learnt on many features: logistic regression, or a classifier of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.special import expit

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.probing.features.extract import Features
from tellapart.audit.probing.scorers import CellScorer, OutputReading, Scorer
from tellapart.errors import Unsupported

NAMES = ("boosting", "tree", "logistic")
_NEEDED = "classifier needs scikit-learn: pip install 'tellapart[learn]'"
# Chances nearer to 0 or 1 than this are all the same.
_SURE = 1e-12


@dataclass(frozen=True, eq=False)
class ClassifierScorer(Scorer):
    """What a classifier makes of all numbers of an output."""

    model: Any
    title: str

    def __call__(self, features: Features) -> Array:
        matrix = _finite(features.matrix)
        with _one_thread():
            if hasattr(self.model, "decision_function"):
                scores = np.asarray(self.model.decision_function(matrix), dtype=float)
                return np.asarray(np.nan_to_num(scores))
            chance = np.clip(self.model.predict_proba(matrix)[:, 1], _SURE, 1 - _SURE)
        return np.asarray(np.log(chance) - np.log1p(-chance), dtype=float)

    @property
    def name(self) -> str:
        return f"score of {self.title}"


def checked(classifier: Any) -> Any:
    """A name or an estimator, told at once if it is neither."""
    if classifier is None or (isinstance(classifier, str) and classifier in NAMES):
        return classifier
    if isinstance(classifier, str) or not hasattr(classifier, "fit"):
        rule = f"be {', '.join(map(repr, NAMES))} or an estimator of scikit-learn"
        _checks.refuse("classifier", rule, classifier)
    if not any(hasattr(classifier, method) for method in ("decision_function", "predict_proba")):
        _checks.refuse("classifier", "have decision_function or predict_proba", classifier)
    return classifier


def fitted(classifier: Any, first: Features, second: Features) -> ClassifierScorer:
    """A classifier that learnt these outputs apart."""
    try:
        from sklearn.base import clone
    except ImportError as error:
        raise Unsupported(_NEEDED) from error
    title = f"the {classifier} classifier"
    model = _named(classifier) if isinstance(classifier, str) else clone(classifier)
    if not isinstance(classifier, str):
        title = type(classifier).__name__
    matrix = _finite(np.concatenate([first.matrix, second.matrix]))
    with _one_thread():
        model.fit(matrix, np.repeat([0, 1], [len(first), len(second)]))
    return ClassifierScorer(model, title)


def _named(name: str) -> Any:
    if name == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, random_state=0)
    if name == "tree":
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_leaf_nodes=32, min_samples_leaf=20, random_state=0)
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    filled = SimpleImputer(add_indicator=True, keep_empty_features=True)
    return make_pipeline(filled, StandardScaler(), LogisticRegression(max_iter=1000))


def _one_thread() -> AbstractContextManager[Any]:
    """Threads of its own wait for each other where workers share the cores already."""
    from threadpoolctl import threadpool_limits

    return cast(AbstractContextManager[Any], threadpool_limits(1))


def _finite(matrix: Array) -> Array:
    """Infinite numbers as large ones, which classifiers can read; missing ones stay missing."""
    return np.clip(matrix, -1e30, 1e30)


_ROUNDS = 25
_STILL = 1e-6


def logistic(design: Array, label: Array, ridge: float = 1.0) -> tuple[float, ...]:
    """Weights of the columns by Newton's method, kept small by a ridge.

    >>> design, label = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> [round(weight, 2) for weight in logistic(design, label)]
    [0.45]
    """
    rows = np.column_stack([design, np.ones(len(design))])
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 1e-9  # where the two samples differ in size, that is no evidence
    weights = np.zeros(rows.shape[1])
    for _ in range(_ROUNDS):
        chance = expit(rows @ weights)
        slope = rows.T @ (label - chance) - penalty * weights
        bend = (rows.T * (chance * (1 - chance))) @ rows + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        # A step that changes the odds a hundredfold overshoots.
        furthest = float(np.abs(rows @ step).max(initial=0.0))
        weights = weights + step * min(1.0, 5.0 / furthest if furthest > 0 else 1.0)
        if float(np.abs(step).max(initial=0.0)) < _STILL:
            break
    return tuple(weights[:-1].tolist())


# Numbers that say nothing by themselves are left out, and of the others the most telling kept.
_TELLING = 3.0
_MOST_PARTS = 48
_NAMED = 3
_WIDEST = 50.0


@dataclass(frozen=True)
class AdditiveScorer(Scorer):
    """The sum of what several numbers say, each by its cell and with its weight."""

    parts: tuple[CellScorer, ...]
    weights: tuple[float, ...]

    def __call__(self, features: Features) -> Array:
        pairs = zip(self.parts, self.weights, strict=True)
        return np.asarray(sum(weight * part(features) for part, weight in pairs))

    @property
    def name(self) -> str:
        return f"what {_listed(part.reading for part in self.parts)} say together"


@dataclass(frozen=True)
class LinearScorer(Scorer):
    """A weighed sum of several numbers themselves; one that is missing counts as its mean."""

    parts: tuple[OutputReading, ...]
    means: tuple[float, ...]
    widths: tuple[float, ...]
    weights: tuple[float, ...]

    def __call__(self, features: Features) -> Array:
        scales = zip(self.parts, self.means, self.widths, self.weights, strict=True)
        return np.asarray(
            sum(
                weight * _standard(part(features), mean, width)
                for part, mean, width, weight in scales
            )
        )

    @property
    def name(self) -> str:
        return f"a weighed sum of {_listed(self.parts)}"


def combined(cells: list[CellScorer], first: Features, second: Features) -> Iterator[Scorer]:
    """Sums over the cells and over the numbers, weighed on calls the cells were not learnt on."""
    said = [(part, part(first), part(second)) for part in cells]
    telling = sorted(
        ((_apart(before, two), k) for k, (_, before, two) in enumerate(said)), reverse=True
    )
    kept = [said[k] for strength, k in telling[:_MOST_PARTS] if strength > _TELLING]
    if len(kept) < 2:
        return
    fit = _weighed([before for _, before, _ in kept], [two for _, _, two in kept])
    yield AdditiveScorer(tuple(part for part, _, _ in kept), fit)
    numbers = tuple(part.reading for part, _, _ in kept if not part.reading.categories)
    if len(numbers) < 2:
        return
    sides = [[part(features) for part in numbers] for features in (first, second)]
    columns = [np.concatenate(both) for both in zip(*sides, strict=True)]
    means = tuple(float(np.nanmean(column)) for column in columns)
    widths = tuple(float(np.nanstd(column)) or 1.0 for column in columns)
    scaled = (
        [_standard(*each) for each in zip(side, means, widths, strict=True)] for side in sides
    )
    yield LinearScorer(numbers, means, widths, _weighed(*scaled))


def _apart(first: Array, second: Array) -> float:
    """By how many deviations the means of two sides differ."""
    spread = np.sqrt(first.var() / len(first) + second.var() / len(second))
    return float(abs(second.mean() - first.mean()) / spread) if spread > 0 else 0.0


def _weighed(first: list[Array], second: list[Array]) -> tuple[float, ...]:
    design = np.concatenate([np.column_stack(first), np.column_stack(second)])
    return logistic(design, np.repeat([0.0, 1.0], [len(first[0]), len(second[0])]))


def _standard(values: Array, mean: float, width: float) -> Array:
    return np.nan_to_num(np.clip((values - mean) / width, -_WIDEST, _WIDEST))


def _listed(parts: Iterable[OutputReading]) -> str:
    names = [part.name for part in parts]
    if len(names) > _NAMED:
        names = [*names[:_NAMED], f"{len(names) - _NAMED} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}"
