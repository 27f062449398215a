"""Releases of a true answer: additive noise, or a channel with finitely many outputs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.mechanisms.noise import Gaussian, Laplace


@dataclass(frozen=True, eq=False)
class Channel:
    """Says one of finitely many things, with chances that depend on the true answer alone.

    ``rows`` gives for each true answer the chances of the ``outputs``, which are called 0, 1, ...
    unless they are named.

    >>> Channel({0: [0.75, 0.25], 1: [0.25, 0.75]}, outputs=["no", "yes"]).outputs
    ('no', 'yes')
    """

    rows: Mapping[float, Sequence[float]]
    outputs: Sequence[Hashable] | None = None
    _answers: Array = field(init=False, repr=False)
    _log_rows: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _checks.instance(Mapping, "a mapping of answers to chances", rows=self.rows)
        if not self.rows:
            _checks.refuse("rows", "not be empty", self.rows)
        answers = _checks.vector(rows=list(self.rows))
        table = [_checks.pmf(**{f"rows[{answer!r}]": row}) for answer, row in self.rows.items()]
        sizes = {row.size for row in table}
        if len(sizes) > 1:
            _checks.refuse("rows", "all have the same number of outputs", sorted(sizes))
        (size,) = sizes
        outputs: tuple[Any, ...] = tuple(range(size) if self.outputs is None else self.outputs)
        if len(outputs) != size:
            _checks.refuse("outputs", f"be {size} names, one for each chance", self.outputs)
        order = np.argsort(answers)
        with np.errstate(divide="ignore"):
            logs = np.log(np.array(table)[order])
        fields = {"outputs": outputs, "_answers": answers[order], "_log_rows": logs}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def randomized_response(cls, epsilon: float, values: Sequence[float]) -> Channel:
        """Says the true one of k values with the highest odds that ε allows, else any other.

        >>> Channel.randomized_response(epsilon=0, values=[1, 2, 5]).outputs
        (1, 2, 5)
        """
        names = tuple(values)
        fall = math.exp(-_checks.at_least_zero(epsilon=epsilon))
        whole = 1 + (len(names) - 1) * fall
        rows = {
            value: [(1.0 if output == value else fall) / whole for output in names]
            for value in names
        }
        if len(rows) != len(names):
            _checks.refuse("values", "differ from each other", values)
        return cls(rows, names)

    def log_chances(self, answers: Array) -> Array:
        """Logarithms of the outputs' chances, one row for each of these true answers."""
        places = np.searchsorted(self._answers, answers)
        known = self._answers[np.minimum(places, self._answers.size - 1)] == answers
        if not np.all(known):
            missing = float(answers[~known][0])
            _checks.refuse("rows", "cover every possible answer", f"none for {short(missing)}")
        return np.asarray(self._log_rows[places])


Release = Laplace | Gaussian | Channel
# One release for each of several answers, with noise of its own.
Releases = Release | tuple[Release, ...]


def check_release(release: object) -> None:
    """Refuse what is no release of one answer."""
    _checks.instance(
        Release, "ta.Laplace(scale), ta.Gaussian(sigma) or worlds.Channel(rows)", release=release
    )


def one_release(release: Any) -> Release:
    """The release of one answer, as it was given."""
    check_release(release)
    return release  # type: ignore[no-any-return]


def each_release(release: Any, answers: int) -> tuple[Release, ...]:
    """A release for each of several answers; a single one serves them all."""
    if not isinstance(release, list | tuple):
        return (one_release(release),) * answers
    if len(release) != answers:
        _checks.refuse("release", f"be one, or one for each of {answers} answers", release)
    return tuple(one_release(part) for part in release)
