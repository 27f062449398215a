"""Rényi divergence and mutual information of two laws of an answer under a release.

Every release is brought to finitely many log-masses: outputs of a channel as they are, the tails
of Laplace noise in one piece since ratios are constant there, everything else by the nodes of a
Gauss-Legendre rule in panels on which the densities are smooth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart._numeric.text import short
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.worlds.models.laws import FiniteLaw, NormalLaw, VectorLaw
from tellapart.worlds.pairs import normal_laplace
from tellapart.worlds.pairs.curves import Law, extremes
from tellapart.worlds.pairs.finite_outputs import log_chances
from tellapart.worlds.pairs.laplace import log_pieces
from tellapart.worlds.pairs.vectors import vector_log_masses
from tellapart.worlds.releases import Channel, Releases, each_release, one_release

_NODES = 16
# In units of Laplace noise. Logarithms of densities have their nearest singularities πi/2 off, so
# that a rule of 16 nodes is wrong by (π/2 + √(1 + π²/4))^−32 < 1e-17 there.
_WIDEST = 2.0
_MOST_WORK = 1 << 28
_MOST_SPAN = 1 << 24
# Bytes for each term, in the few arrays that are held at once.
_ARRAYS = 6 * 8
# e^−DEEP is lost beside 1 many times over.
_DEEP = 90.0
# Normal densities at that distance from all atoms are below e^−DEEP.
_BESIDE = math.sqrt(2 * _DEEP)
# Terms below e^−FAINT of the largest change no digit of a sum of millions.
_FAINT = 60.0
# So many outputs share a choice of atoms.
_CHUNK = 128
# Orders so close to 1 differ from it by a term of the second order.
_NEXT_TO_ONE = 1e-6


def mutual_information(laws: Sequence[Law], priors: Sequence[float], release: Releases) -> float:
    """How much an output tells on average of which law is true, in nats."""
    shares = _checks.pmf(priors=list(priors))
    if shares.size != len(laws):
        _checks.refuse("priors", f"be {len(laws)}, one for each law", shares.size)
    kept = [law for law, share in zip(laws, shares, strict=True) if share > 0]
    weights = np.log(shares[shares > 0])[:, None]
    logs = log_masses(kept, release)
    mean = logpoly.total(logs + weights, axis=0)
    possible = mean > -np.inf
    surprises = [_surprise(row[possible], mean[possible]) for row in logs]
    return math.fsum((np.exp(weights) * surprises).ravel())


def renyi(present: Law, absent: Law, release: Releases, order: float) -> float:
    """The Renyi divergence of this order of ``present`` from ``absent``, in nats."""
    order = _checks.above_zero(order=order)
    if order == math.inf:
        return extremes(present, absent, release)[0].log_ratio
    logs_1, logs_0 = log_masses([present, absent], release, order)
    if order >= 1 and np.any((logs_0 == -np.inf) & (logs_1 > -np.inf)):
        return math.inf
    either = (logs_1 > -np.inf) | (logs_0 > -np.inf)
    return _renyi(logs_1[either], logs_0[either], order)


def _renyi(logs_1: Array, logs_0: Array, order: float) -> float:
    both = (logs_1 > -np.inf) & (logs_0 > -np.inf)
    if abs(order - 1) < _NEXT_TO_ONE and np.all(both | (logs_1 == -np.inf)):
        # Powers have no digits left there: the mean loss, and half its variance for each unit.
        mean = math.fsum(_surprise(logs_1, logs_0))
        spread = np.exp(logs_1[both]) * (logs_1[both] - logs_0[both] - mean) ** 2
        return max(mean + (order - 1) / 2 * math.fsum(spread), 0.0)
    whole = float(logpoly.total(order * logs_1[both] + (1 - order) * logs_0[both]))
    if abs(whole) > 0.5:
        return max(whole / (order - 1), 0.0)
    # What the mean of e^(order·loss) exceeds 1 by, as a sum of terms of one sign.
    excess = math.fsum(_power_excess(logs_1[both], logs_0[both], order))
    excess += (order - 1) * math.fsum(np.exp(logs_0[logs_1 == -np.inf]))
    excess -= order * math.fsum(np.exp(logs_1[logs_0 == -np.inf]))
    return max(math.log1p(excess) / (order - 1), 0.0)


def log_masses(laws: Sequence[Law], release: Releases, order: float = 1.0) -> Array:
    """Log-masses that stand for all outputs, one row for each law.

    They serve averages of powers of ratios up to ``order``.
    """
    vectors = [law for law in laws if isinstance(law, VectorLaw)]
    if vectors and len(vectors) == len(laws):
        return vector_log_masses(vectors, each_release(release, vectors[0].answers))
    single = one_release(release)
    if isinstance(single, Channel):
        return np.array([log_chances(_finite(law), single) for law in laws])
    normals = [law for law in laws if isinstance(law, NormalLaw)]
    if len(normals) == len(laws):
        return _of_normals(normals, single, order)
    finite = [_finite(law) for law in laws]
    if isinstance(single, Laplace):
        return _under_laplace(finite, single.scale, order)
    return _under_gaussian(finite, single.sigma, order)


def _finite(law: Any) -> FiniteLaw:
    if isinstance(law, FiniteLaw):
        return law
    raise Unsupported("laws of a true answer must all be finite or, with noise, all be normal")


def _of_normals(laws: list[NormalLaw], release: Laplace | Gaussian, order: float) -> Array:
    if len({law.variance for law in laws}) > 1:
        raise Unsupported("normal answers of unlike variance are not averaged over here")
    deviation = math.sqrt(laws[0].variance)
    if isinstance(release, Gaussian):  # what the data themselves vary counts as noise
        points = [FiniteLaw(np.array([law.mean]), np.zeros(1)) for law in laws]
        return _under_gaussian(points, math.hypot(release.sigma, deviation), order)
    s = deviation / release.scale
    if s < 1e-9:
        points = [FiniteLaw(np.array([law.mean]), np.zeros(1)) for law in laws]
        return _under_laplace(points, release.scale, order)
    return _normal_laplace(np.array([law.mean for law in laws]) / release.scale, s, order)


def _normal_laplace(centres: Array, s: float, order: float) -> Array:
    centres = centres - centres.min()
    reach = s * (s + 10.0) + 1.0  # beyond it only the Laplace tail is left
    low, high = -reach, float(centres.max()) + reach
    edges = normal_laplace.panels(low, high, tuple(centres), s)
    outputs, weights = _nodes(edges, min(1.0, 8 / order) * max(1.0, s))
    _check_work(outputs.size * centres.size)
    rows = []
    for centre in centres:
        inner = normal_laplace.log_density(outputs - centre, s) + weights
        beyond = [normal_laplace.log_tail(x, s) for x in (centre - low, high - centre)]
        rows.append(np.concatenate([inner, beyond]))
    return np.array(rows)


def _under_laplace(laws: list[FiniteLaw], scale: float, order: float) -> Array:
    """Inner nodes, then the two tails."""
    atoms, logs = _beside(laws)
    atoms = atoms / scale
    gaps = np.diff(atoms)
    outputs, weights = _nodes_in(*_beside_atoms(atoms, order), min(_WIDEST, 8 / order))
    cell = np.clip(np.searchsorted(atoms, outputs, side="right") - 1, 0, max(gaps.size - 1, 0))
    _check_work(outputs.size * len(laws))
    rows = []
    for row in logs:
        deadline.check()
        law = log_pieces(gaps, row)
        away = outputs - atoms[cell] if outputs.size else outputs
        inner = np.logaddexp(law.falling[cell] - away, law.rising[cell] - (gaps[cell] - away))
        rows.append(np.concatenate([inner - math.log(2) + weights, [law.below, law.above]]))
    return np.array(rows)


def _under_gaussian(laws: list[FiniteLaw], sigma: float, order: float) -> Array:
    atoms, logs = _beside(laws)
    atoms = atoms / sigma
    _check_span(atoms)
    edges = _ends(atoms, logs, order)
    starts, ends = edges[:1], edges[1:]
    if order == 1:  # averages of logarithms count what is likely alone: what is beside an atom
        wide = np.flatnonzero(np.diff(atoms) > 2 * _BESIDE)
        starts = np.append(starts, atoms[wide + 1] - _BESIDE)
        ends = np.append(atoms[wide] + _BESIDE, ends)
    outputs, weights = _nodes_in(starts, ends, 0.25)
    _check_work(outputs.size * min(atoms.size, _CHUNK))
    nearest = np.clip(outputs, atoms[0], atoms[-1])
    shared = weights - (outputs - nearest) ** 2 / 2 - math.log(2 * math.pi) / 2
    parts = [slice(i, i + _CHUNK) for i in range(0, outputs.size, _CHUNK)]
    rows = [_each(outputs, parts, atoms, row) for row in logs]
    return np.array(rows) + shared


def _each(outputs: Array, parts: list[slice], atoms: Array, row: Array) -> Array:
    results = []
    for part in parts:
        deadline.check()
        results.append(_bells(outputs[part], atoms, row))
    return np.concatenate(results)


def _beside_atoms(atoms: Array, order: float) -> tuple[Array, Array]:
    """Stretches between neighbouring atoms, but for the middle of those far apart.

    Between two atoms each log-density is, within log 2, the larger of two lines with slopes −1 and
    1. For orders a from 1 on a·log p − (a − 1)·log q then has, within 2·(2a − 1)·log 2 < 3a, the
    slopes −1, ±(2a − 1) and 1 one after the other, so it falls from the nearer atom by the
    distance; and p·log(p/q) − p + q, being convex and homogeneous, is at most the sum of two such
    terms. What is left out is below e^−FAINT of what is next to an atom.
    """
    _check_span(atoms)
    low, high, reach = atoms[:-1], atoms[1:], _FAINT + 3 * order
    wide = (high - low > 2 * reach) & (order >= 1)
    return (
        np.concatenate([low, high[wide] - reach]),
        np.concatenate([np.where(wide, low + reach, high), high[wide]]),
    )


def _ends(atoms: Array, logs: Array, order: float) -> Array:
    """Outputs beyond which powers of ratios have no weight.

    The logarithm of p^a·q^(1−a) has the slope a·M1 − (a − 1)·M0 − output, M1 and M0 being the
    posterior means of the atom, so it falls a − 1 times their distance beyond the last atom.
    """
    ends = []
    for end, side in ((float(atoms[0]), -1), (float(atoms[-1]), 1)):
        away = atoms - end
        shares = np.exp(logs - away**2 / 2 - logpoly.total(logs - away**2 / 2, axis=1)[:, None])
        furthest = float(np.abs(shares @ away).max())
        ends.append(end + side * (math.sqrt(2 * _DEEP) + max(order - 1, 0.0) * furthest))
    return np.array(ends)


def _bells(outputs: Array, atoms: Array, log_weights: Array) -> Array:
    """Log-densities of a normal mixture at neighbouring outputs, over that of the nearest place."""
    kept = _near(float(outputs[0]), float(outputs[-1]), atoms, log_weights)
    nearest = np.clip(outputs, atoms[0], atoms[-1])
    away = atoms[kept] - nearest[:, None]
    heights = away * ((outputs - nearest)[:, None] - away / 2)
    return logpoly.total(log_weights[kept] + heights, axis=1)


def _near(low: float, high: float, atoms: Array, log_weights: Array) -> NDArray[np.bool_]:
    """The atoms whose terms may count at some output between two.

    By its logarithm a term over the largest is a concave function of the output, so that it lies
    below its tangents at both ends.
    """
    if atoms.size <= _CHUNK:
        return np.ones(atoms.size, dtype=bool)
    reached = np.full(atoms.size, np.inf)
    for output, side in ((low, 1), (high, -1)):
        nearest = min(max(output, float(atoms[0])), float(atoms[-1]))
        away = atoms - nearest
        terms = log_weights + away * (output - nearest - away / 2)
        best = int(np.argmax(terms))
        rise = np.maximum(side * (atoms - atoms[best]), 0.0) * (high - low)
        reached = np.minimum(reached, terms - terms[best] + rise)
    return np.asarray(reached > -_FAINT)


def _beside(laws: list[FiniteLaw]) -> tuple[Array, Array]:
    """All values of any law, with each law's log-weights there."""
    values = np.unique(np.concatenate([law.values for law in laws]))
    logs = np.full((len(laws), values.size), -np.inf)
    for row, law in zip(logs, laws, strict=True):
        row[np.searchsorted(values, law.values)] = law.log_weights
    return values, logs


def _nodes(edges: Array, widest: float) -> tuple[Array, Array]:
    """Nodes of a Gauss-Legendre rule in panels no wider than asked, and their log-weights."""
    return _nodes_in(edges[:-1], edges[1:], widest)


def _nodes_in(starts: Array, ends: Array, widest: float) -> tuple[Array, Array]:
    """The same in stretches from each start to its end."""
    gaps = ends - starts
    counts = np.ceil(gaps / widest)
    _check_work(float(counts.sum()) * _NODES)
    counts = counts.astype(int)
    width = np.repeat(gaps / np.maximum(counts, 1), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    start = np.repeat(starts, counts) + width * (np.arange(width.size) - first)
    x, w = roots_legendre(_NODES)
    outputs = start[:, None] + width[:, None] * (1 + x) / 2
    with np.errstate(divide="ignore"):
        return outputs.ravel(), np.log(width[:, None] * w / 2).ravel()


def _check_span(atoms: Array) -> None:
    """Places so many units of noise apart leave too few digits for what is between them."""
    if (span := float(atoms[-1] - atoms[0])) > _MOST_SPAN:
        raise Unsupported(
            f"answers lie {short(span, 2)} times the noise apart, more than "
            f"{short(_MOST_SPAN, 2)}: an average "
            "over outputs has too few digits. With so little noise whoever sees an output knows "
            "the answer: use a larger scale"
        )


def _check_work(work: float) -> None:
    deadline.check()
    deadline.check_memory(_ARRAYS * work)
    if work > _MOST_WORK:
        raise Unsupported(
            f"an average over outputs takes {short(work, 2)} terms here, more than "
            f"{short(_MOST_WORK, 2)}; use coarser units or a smaller order"
        )


def _surprise(logs_1: Array, logs_0: Array) -> Array:
    """q·(r·log r − r + 1) ≥ 0 for masses p = r·q; the sum is the divergence of p from q."""
    loss = np.where(logs_1 > -np.inf, logs_1 - logs_0, 0.0)
    p, q = np.exp(logs_1), np.exp(logs_0)
    series = q * loss**2 * (0.5 + loss * (1 / 3 + loss * (1 / 8 + loss / 30)))
    return np.asarray(np.where((np.abs(loss) < 1e-3) & (p > 0), series, p * loss - (p - q)))


def _power_excess(logs_1: Array, logs_0: Array, order: float) -> Array:
    """q·(r^a − 1 − a·(r − 1)) for masses p = r·q, with its digits where r is close to 1."""
    loss = logs_1 - logs_0
    p, q = np.exp(logs_1), np.exp(logs_0)
    plain = (np.exp(order * logs_1 + (1 - order) * logs_0) - q) - order * (p - q)
    near = np.clip(loss, -1.0, 1.0) if order < 1 else np.clip(loss, -1 / order, 1 / order)
    close = q * (np.expm1(order * near) - order * np.expm1(near))
    terms = [(order**n - order) / math.factorial(n) for n in (2, 3, 4, 5)]
    series = q * loss**2 * (terms[0] + loss * (terms[1] + loss * (terms[2] + loss * terms[3])))
    size = np.abs(loss) * max(order, 1.0)
    return np.select([size < 1e-3, size <= 1], [series, close], plain)
