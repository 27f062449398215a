"""Exact tails ask of every claim that it is concave, between any two places they look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import expit, logit
from test_curve_laws import RELATIVE, SOURCES, curves_from

from tellapart.audit.counts import exact_tails

RATES = st.one_of(
    st.sampled_from([0.0, 1.0]),
    st.floats(1e-12, 1.0),
    st.floats(1e-9, 1e-3).map(lambda rate: 1 - rate),
)


@pytest.mark.parametrize("source", SOURCES, ids=str)
@given(data=st.data(), ends=st.tuples(RATES, RATES), parts=st.integers(1, 40))
def test_straight_paths_lie_over_every_claim(source: Any, data: Any, ends: Any, parts: int) -> None:
    claim = data.draw(curves_from(source)).tpr
    edges = np.linspace(min(ends), max(ends), parts + 1)
    low, high = edges[:-1], edges[1:]
    assume(np.all(low < high))
    some = exact_tails.region(50, 50, np.zeros_like, exact_tails.Span(), 0.05)
    paths = exact_tails.straight_paths(some, claim, low, high)
    fpr = low + (high - low) * np.linspace(0, 1, 41)[:, None]
    with np.errstate(all="ignore"):
        (x, end), (y, top) = logit(paths.fpr), logit(paths.tpr)
        way = np.clip((logit(fpr) - x) / (end - x), 0, 1)
        path = np.where(paths.bend > 0, expit(y + way * (top - y)), paths.tpr[0])
    assert np.all(path >= claim(fpr.ravel()).reshape(fpr.shape) * (1 - 2 * RELATIVE))
