"""Scores by a classifier of scikit-learn, for leaks that no sum over single numbers shows."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.probing.features.extract import Features
from tellapart.audit.probing.scorers import Scorer
from tellapart.errors import Unsupported

NAMES = ("boosting", "tree", "logistic")
_NEEDED = "classifier needs scikit-learn: pip install 'tellapart[learn]'"
# Chances nearer to 0 or 1 than this are all the same.
_SURE = 1e-12


@dataclass(frozen=True, eq=False)
class ByClassifier(Scorer):
    """What a classifier makes of all numbers of an output."""

    model: Any
    title: str

    def __call__(self, features: Features) -> Array:
        matrix = _finite(features.matrix)
        with _one_thread():
            if hasattr(self.model, "decision_function"):
                found = np.asarray(self.model.decision_function(matrix), dtype=float)
                return np.asarray(np.nan_to_num(found))
            chance = np.clip(self.model.predict_proba(matrix)[:, 1], _SURE, 1 - _SURE)
        return np.asarray(np.log(chance) - np.log1p(-chance), dtype=float)

    @property
    def name(self) -> str:
        return f"score of {self.title}"

    def beyond(self, threshold: float, higher: bool) -> str:
        return f"{self.name} {'>' if higher else '<'} {threshold:.6g}"


def checked(classifier: Any) -> Any:
    """A name or an estimator, told at once if it is neither."""
    if classifier is None or (isinstance(classifier, str) and classifier in NAMES):
        return classifier
    if isinstance(classifier, str) or not hasattr(classifier, "fit"):
        rule = f"be {', '.join(map(repr, NAMES))} or an estimator of scikit-learn"
        _checks.refuse("classifier", rule, classifier)
    if not any(hasattr(classifier, one) for one in ("decision_function", "predict_proba")):
        _checks.refuse("classifier", "have decision_function or predict_proba", classifier)
    return classifier


def fitted(classifier: Any, first: Features, second: Features) -> ByClassifier:
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
    return ByClassifier(model, title)


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
